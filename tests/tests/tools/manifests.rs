//! Files that mean to be tools and are none: each is told with its file, its line and what to do,
//! and takes nothing else down.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use gantry_tests::tool_fixture::{Folder, ToolFixture, description};
use serde_json::{Value, json};

/// Starts a gateway over the folder with one good tool added, and gives what was left out.
async fn left_out(folder: Folder) -> (Vec<String>, ToolFixture) {
    folder.shell("good.tool", "echo '{\"a\": 1}'");
    let mut tool_fixture = ToolFixture::open(folder).await;
    let result = tool_fixture.call("good.tool", json!({})).await;
    assert_eq!(result["structuredContent"], json!({"a": 1}), "{result}");
    assert_eq!(tool_fixture.names().await, ["good_tool"]);
    let place = format!("{}/", tool_fixture.folder.tools("").display());
    let place = place.replace("//", "/");
    let log = tool_fixture.log().replace(&place, "");
    let told = log.lines().filter_map(|line| line.split_once("left out ")).map(|(_, it)| it.into());
    (told.collect(), tool_fixture)
}

/// Checks that a manifest of that text is told with those words.
async fn check(text: impl AsRef<[u8]>, expected: &str) {
    let folder = Folder::new();
    folder.program("run", "#!/bin/sh\necho '{}'\n");
    folder.file("bad.tool.json", text.as_ref());
    let (told, _tool_fixture) = left_out(folder).await;
    let shown: String = String::from_utf8_lossy(text.as_ref()).chars().take(200).collect();
    assert_eq!(told.len(), 1, "{shown}: {told:?}");
    assert!(told[0].starts_with(expected), "{shown}: {}", told[0]);
}

/// A manifest with one member replaced or, by null, left out; one member a line, sorted.
#[expect(clippy::needless_pass_by_value, reason = "cases write the members in place")]
fn with(members: Value) -> String {
    let mut manifest = description("bad.name", json!({"command": "./run"}));
    let object = manifest.as_object_mut().expect("an object");
    object.extend(members.as_object().expect("members").clone());
    object.retain(|_, value| !value.is_null());
    let lines: Vec<_> = object.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}

#[tokio::test]
async fn text_that_cannot_be_read_is_told_with_its_line() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    let deep_schema = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let cases: [(&[u8], &str); 9] = [
        (b"", "bad.tool.json:1: the manifest is not valid JSON"),
        (b"\n\n", "bad.tool.json:"),
        (b"{", "bad.tool.json:1: the manifest is not valid JSON"),
        (b"{\n\"name\": \"a.b\",\n}", "bad.tool.json:3: the manifest is not valid JSON"),
        (b"[]", "bad.tool.json:1: the manifest is not a JSON object; write an object with"),
        (b"{\n\"name\": \"\xff\"}", "bad.tool.json:2: the manifest is not UTF-8; save the file"),
        (b"\x00\x01\x02", "bad.tool.json:1: the manifest is not valid JSON"),
        (deep.as_bytes(), "bad.tool.json: the manifest is nested deeper than"),
        (deep_schema.as_bytes(), "bad.tool.json: the manifest is nested deeper than"),
    ];
    for (text, expected) in cases {
        check(text, expected).await;
    }
}

#[tokio::test]
async fn a_manifest_of_ten_megabytes_is_not_read() {
    let expected = "bad.tool.json: the manifest has more than 1048576 bytes; make it smaller";
    check(with(json!({"description": "x".repeat(10 << 20)})), expected).await;
    check(vec![b' '; 10 << 20], expected).await;
}

#[tokio::test]
async fn what_is_given_twice_is_refused() {
    let twice = with(json!({})).replacen('{', "{\n\"name\": \"a.b\",", 1);
    check(twice, "bad.tool.json:6: the key `name` is given twice; remove one of them").await;
    let schema = with(json!({})).replace(",\"type\":", ",\"type\":\n\"string\",\n\"type\":");
    check(schema, "bad.tool.json:6: the key `type` is given twice; remove one of them").await;
}

#[tokio::test]
async fn what_is_missing_or_wrong_is_named() {
    let cases = [
        (json!({"command": "./missing"}), "4: the program `./missing` is not there; put it into"),
        (json!({"command": "."}), "1: the program `.` is not there"),
        (json!({"command": "/tmp"}), "1: the program `/tmp` is not there"),
        (json!({"cwd": "nowhere"}), "2: the folder nowhere is not there; create it"),
        (json!({"inputSchema": null}), "1: the tool has no input schema; add `inputSchema`"),
        (json!({"version": "1"}), "9: `1` is no semantic version; write three numbers"),
        (json!({"runtime": "docker"}), "7: there is no runtime `docker`; write `process`"),
        (json!({"timeout": "soon"}), "7: `timeout` has the wrong form; write milliseconds"),
        (json!({"comand": "x"}), "2: unknown key `comand`; write `command`"),
    ];
    for (members, expected) in cases {
        let expected = expected.split_once(": ").expect("a line");
        let text = with(members.clone());
        let folder = Folder::new();
        folder.program("run", "#!/bin/sh\necho '{}'\n");
        folder.file("bad.tool.json", text);
        let (told, _tool_fixture) = left_out(folder).await;
        assert!(told.len() == 1 && told[0].contains(expected.1), "{members}: {told:?}");
        let line = told[0].split(':').nth(1).and_then(|it| it.parse::<usize>().ok());
        assert!(line.is_some(), "{members}: a line is named: {told:?}");
    }
}

#[tokio::test]
async fn a_program_that_may_not_run_is_told_with_the_command_that_helps() {
    let folder = Folder::new();
    folder.file("plain", "#!/bin/sh\n");
    folder.manifest("bad.tool", json!({"command": "./plain"}));
    let (told, _tool_fixture) = left_out(folder).await;
    assert!(
        told.len() == 1 && told[0].contains("plain is not executable; run: chmod +x"),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_name_is_module_and_tool_in_small_letters() {
    let long = format!("a.{}", "b".repeat(127));
    let names = [
        "Count",
        "Text.count",
        "text.Count",
        "text-a.count",
        "text/count",
        "text..count",
        ".count",
        "text.",
        "text.count ",
        "text count.a",
        "text.cöunt",
        "text.count\n",
        "text.count\u{0}",
        "../a.b",
        "text.\u{202e}b",
        "text.count;rm -rf",
        &long,
    ];
    let folder = Folder::new();
    folder.program("run", "#!/bin/sh\necho '{}'\n");
    for (number, name) in names.iter().enumerate() {
        folder.file(&format!("n{number:02}.tool.json"), with(json!({"name": name})));
    }
    let (told, _tool_fixture) = left_out(folder).await;
    let text = told.join("\n");
    for (number, name) in names.iter().enumerate() {
        // What a terminal would obey is shown, not sent.
        let name = name.escape_debug();
        let expected = format!("n{number:02}.tool.json:5: `{name}` is no name for a tool");
        assert!(text.contains(&expected), "{name}: {text}");
    }
    assert!(text.contains("write module and tool in small letters"), "{text}");
}

#[tokio::test]
async fn what_is_no_file_of_text_harms_nobody() {
    let folder = Folder::new();
    folder.latch("pipe.tool.json");
    folder.latch("pipe.py");
    symlink("loop.tool.json", folder.tools("loop.tool.json")).expect("a link");
    symlink("nowhere.tool.json", folder.tools("dangling.tool.json")).expect("a link");
    symlink("/etc/passwd", folder.tools("outside.tool.json")).expect("a link");
    symlink("/dev/zero", folder.tools("endless.tool.json")).expect("a link");
    symlink("..", folder.tools("up")).expect("a link");
    symlink(".", folder.tools("self")).expect("a link");
    fs::create_dir(folder.tools("folder.tool.json")).expect("a folder");
    fs::create_dir_all(folder.tools("deep/tool.json")).expect("a folder");
    let (told, _tool_fixture) = left_out(folder).await;
    assert!(!told.iter().any(|it| it.contains("root:")), "nothing of a stranger's file is shown");
}

#[tokio::test]
async fn a_file_that_may_not_be_read_is_told() {
    let folder = Folder::new();
    folder.file("shut.tool.json", "{}");
    let shut = folder.tools("shut.tool.json");
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).expect("its mode");
    // Whoever may do anything is not kept out, and reads a manifest without a name.
    let expected = match fs::read(&shut) {
        Ok(_) => "shut.tool.json:1: the tool has no name",
        Err(_) => "shut.tool.json: the file cannot be read",
    };
    let (told, _tool_fixture) = left_out(folder).await;
    assert!(told.len() == 1 && told[0].starts_with(expected), "{told:?}");
}
