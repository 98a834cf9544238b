//! The tools of `examples/tools`, each called through the real binary.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use gantry_tests::temp_folder::{Bench, WatchedFixture, command, finish, root};
use serde_json::{Value, json};

/// A bench with the examples on it, the native one compiled, and some files to work on.
async fn bench(name: &str) -> Bench {
    let bench = Bench::new(&format!("examples-{name}"));
    copy(&root().join("examples/tools"), &bench.tools());
    let [source, binary] =
        ["distance/distance.rs", "distance/distance"].map(|it| bench.tools().join(it));
    finish(command("rustc").arg("--edition=2024").arg("-o").args([binary, source])).await;
    for (path, text) in [("files/a.txt", "alpha\n"), ("files/deep/b.txt", "beta\n"), ("out", "")] {
        bench.write(path, text);
    }
    symlink("../out", bench.folder.join("files/link")).expect("a link");
    symlink("..", bench.folder.join("files/up")).expect("a link");
    bench
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in from.read_dir().expect("the examples").flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            // Keeps the mode: a script stays executable.
            fs::copy(&source, &target).expect("a copy");
        }
    }
}

fn text(result: &Value) -> &str {
    let blocks = result["content"].as_array().expect("content");
    let text = blocks.iter().find_map(|block| block["text"].as_str());
    text.expect("a text block")
}

#[tokio::test]
async fn each_is_listed_with_schemas_and_hints() {
    let bench = bench("list").await;
    let mut watched_fixture = WatchedFixture::open(&bench).await;
    let listed = watched_fixture.ask("tools/list", json!({})).await;
    let tools = listed["tools"].as_array().expect("tools");
    let shown: Vec<_> = tools
        .iter()
        .map(|tool| {
            let hint = |name: &str| tool["annotations"][name].as_bool();
            let name = tool["name"].as_str().expect("a name");
            for schema in ["inputSchema", "outputSchema"] {
                assert_eq!(tool[schema]["type"], "object", "{schema} of {name}");
            }
            (name, hint("readOnlyHint"), hint("destructiveHint"))
        })
        .collect();
    let reads = |name| (name, Some(true), None);
    let expected = [
        reads("chart_bars"),
        reads("disk_usage"),
        ("files_delete", None, Some(true)),
        reads("files_hash"),
        reads("git_summary"),
        ("text_count", None, None),
        reads("text_distance"),
        reads("text_to_html"),
    ];
    assert_eq!(shown, expected);
}

#[tokio::test]
async fn each_answers() {
    let bench = bench("answers").await;
    let mut watched_fixture = WatchedFixture::open(&bench).await;
    let alpha = "9f9f90dbe3e5ee1218c86b8839db1995";
    let cases = [
        ("text.count", json!({"text": "one  two\nthree"}), json!({"words": 3})),
        (
            "text.to_html",
            json!({"markdown": "# A & B\n\ntext\n\n## C"}),
            json!({"html": "<h1 id=\"a-b\">A &amp; B</h1>\n<p>text</p>\n<h2 id=\"c\">C</h2>",
                "headings": ["A & B", "C"]}),
        ),
        (
            "files.hash",
            json!({"folder": bench.folder.join("files"), "algorithm": "md5", "most": 1}),
            json!({"files": {"a.txt": alpha}, "left_out": 1}),
        ),
        (
            "text.distance",
            json!({"left": "kitten", "right": "sitting"}),
            json!({"distance": 3, "similarity": 0.5714}),
        ),
        (
            "text.distance",
            json!({"left": "right", "right": "\"left\" \\ 🏗"}),
            json!({"distance": 9, "similarity": 0.1}),
        ),
        (
            "text.distance",
            json!({"left": "", "right": ""}),
            json!({"distance": 0, "similarity": 1.0}),
        ),
    ];
    for (name, arguments, expected) in cases {
        let result = watched_fixture.call(name, &arguments).await;
        assert_eq!(result["structuredContent"], expected, "{name} {arguments}: {result}");
    }
}

#[tokio::test]
async fn each_says_what_is_wrong() {
    let bench = bench("wrong").await;
    let mut watched_fixture = WatchedFixture::open(&bench).await;
    let cases = [
        ("text.count", json!({}), "argument `text` is required"),
        ("text.to_html", json!({"markdown": 1}), "argument `markdown`"),
        ("files.hash", json!({"folder": "/no/such"}), "there is no folder /no/such"),
        ("files.hash", json!({"folder": "relative"}), "argument `folder`"),
        ("chart.bars", json!({"values": {"a": -1}}), "argument `values.a`"),
        ("disk.usage", json!({"path": "/no/such"}), "exit status 1; it said: df:"),
        ("disk.usage", json!({"path": "/\" quoted"}), "argument `path`"),
        ("git.summary", json!({"repository": bench.folder}), "not a git repository"),
        ("text.distance", json!({"left": "a"}), "argument `right` is required"),
        ("files.delete", json!({"path": "../out", "dry_run": false}), "outside of the folder"),
        ("files.delete", json!({"path": "up/out", "dry_run": false}), "outside of the folder"),
        ("files.delete", json!({"path": "/etc/passwd"}), "outside of the folder"),
        ("files.delete", json!({"path": "deep", "dry_run": false}), "deep is not a file"),
        ("files.delete", json!({"path": "deep/.."}), "is not a file"),
        ("files.delete", json!({"path": "gone"}), "gone cannot be deleted"),
    ];
    for (name, arguments, expected) in cases {
        let result = watched_fixture.call(name, &arguments).await;
        assert_eq!(result["isError"], true, "{name} {arguments}: {result}");
        assert!(text(&result).contains(expected), "{name} {arguments}: {}", text(&result));
    }
    assert!(bench.folder.join("out").exists(), "nothing outside was touched");
}

#[tokio::test]
async fn deleting_takes_two_steps() {
    let bench = bench("delete").await;
    let mut watched_fixture = WatchedFixture::open(&bench).await;
    let cases = [
        (json!({"path": "a.txt"}), 6, false),
        (json!({"path": "a.txt", "dry_run": false}), 6, true),
        (json!({"path": "deep/../deep/b.txt", "dry_run": false}), 5, true),
        (json!({"path": "link", "dry_run": false}), 6, true),
    ];
    for (arguments, bytes, deleted) in cases {
        let result = watched_fixture.call("files.delete", &arguments).await;
        let told = &result["structuredContent"];
        assert_eq!(
            (&told["bytes"], &told["deleted"]),
            (&json!(bytes), &json!(deleted)),
            "{result}"
        );
        let path = bench.folder.join("files").join(told["path"].as_str().expect("a path"));
        assert_eq!(path.symlink_metadata().is_err(), deleted, "{arguments}");
    }
    assert!(bench.folder.join("out").exists(), "the link is gone, not what it led to");
}

#[tokio::test]
async fn hashing_tells_of_progress() {
    let bench = bench("progress").await;
    let mut watched_fixture = WatchedFixture::open(&bench).await;
    let arguments = json!({"folder": bench.folder.join("files")});
    let params =
        json!({"name": "files.hash", "arguments": arguments, "_meta": {"progressToken": "p"}});
    let (result, notices) = watched_fixture.hear("tools/call", params).await;
    assert_eq!(result["structuredContent"]["left_out"], 0, "{result}");
    let told: Vec<_> = notices.iter().map(|it| &it["params"]).collect();
    let told_of = |number, name| json!({"progressToken": "p", "progress": number, "total": 2, "message": name});
    assert_eq!(told, [&told_of(1, "a.txt"), &told_of(2, "deep/b.txt")]);
}

#[tokio::test]
async fn a_chart_is_an_image() {
    let bench = bench("chart").await;
    let mut watched_fixture = WatchedFixture::open(&bench).await;
    let arguments = json!({"values": {"cats": 1, "dogs": 2.5}, "width": 100});
    let result = watched_fixture.call("chart.bars", &arguments).await;
    let block = &result["content"][0];
    assert_eq!((&block["type"], &block["mimeType"]), (&json!("image"), &json!("image/png")));
    let image = BASE64_STANDARD.decode(block["data"].as_str().expect("data")).expect("base64");
    assert_eq!(image[..8], *b"\x89PNG\r\n\x1a\n", "the signature");
    assert_eq!(image[12..24], *b"IHDR\0\0\0\x64\0\0\x01\x40", "100 by 320 pixels");
    assert_eq!(image[image.len() - 8..], *b"IEND\xae\x42\x60\x82", "it is whole");
    let bars = json!([{"name": "cats", "value": 1, "color": "#4477aa"},
        {"name": "dogs", "value": 2.5, "color": "#ee6677"}]);
    assert_eq!(result["structuredContent"], json!({"width": 100, "height": 320, "bars": bars}));
}

#[tokio::test]
async fn what_the_machine_says_is_plausible() {
    let bench = bench("machine").await;
    let mut watched_fixture = WatchedFixture::open(&bench).await;
    let disk = watched_fixture.call("disk.usage", &json!({})).await;
    let bytes = |name: &str| disk["structuredContent"][name].as_u64().expect("a size");
    assert!(bytes("total_bytes") >= bytes("used_bytes"), "{disk}");

    let repository = bench.folder.join("repository");
    finish(command("git").args(["init", "--quiet"]).arg(&repository)).await;
    bench.write("repository/new.txt", "");
    let state = watched_fixture.call("git.summary", &json!({"repository": repository})).await;
    let state = &state["structuredContent"];
    assert_eq!((&state["commit"], &state["untracked"]), (&json!("(initial)"), &json!(1)));
}
