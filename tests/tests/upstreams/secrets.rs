//! A secret that the configuration names: the server has it, and nobody else sees it.

use std::process::Stdio;

use gantry_tests::request::call;
use gantry_tests::temp_folder::{command, program, root};
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::{UpstreamFixture, scripted};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

const TEXT: &str = "hush-hush-0123";

/// The scripted server fails with its secret in the text.
#[tokio::test]
async fn a_secret_reaches_its_server_and_no_reader() {
    let entry = scripted(&["tells"], json!({"env": {"SCRIPTED_SECRET": "${keychain:search}"}}));
    let fixture = UpstreamFixture::open("keychain", json!({"odd": entry})).await;
    let missing = fixture.until("odd", "told of", |status| status["reason"].is_string()).await;
    let reason = missing["reason"].as_str().expect("a reason");
    assert!(reason.contains("`gantry secret set search` keeps one"), "{missing}");

    // The file of secrets is one of the configuration's files: a change of it is seen at once.
    keep(&fixture, "search", TEXT).await;
    fixture.until_listed("odd").await;
    let failed = fixture.call("odd_odd", json!({})).await.expect_err("it tells");
    assert!(failed.contains("the key … is not valid"), "{failed}");
    let shown = [fixture.log(), fixture.status("odd").await.to_string(), failed];
    for text in shown {
        assert!(!text.contains(TEXT), "{text}");
    }
    fixture.close().await;
}

async fn keep(fixture: &UpstreamFixture, name: &str, text: &str) {
    let mut child = command(program())
        .args(["secret", "set", name])
        .env("XDG_STATE_HOME", &fixture.bench.folder)
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(text.as_bytes()).await.expect("it reads");
    drop(input);
    assert!(child.wait().await.expect("it ends").success());
}

/// What every secret below has in it, so that one search finds any of them.
const COMMON: &str = "s3cret";

/// Variables that are referred to below, each with a value of another form.
const VARIABLES: [(&str, &str); 8] = [
    ("PLAIN", "plain-s3cret-1"),
    ("SLASH", "/slash+s3cret-2"),
    ("QUOTED", "quo\"ted-s3cret\\3"),
    ("ANSWER", "asked-s3cret-4"),
    ("LISTED", "/listed-s3cret-5"),
    // Too short to be replaced within a word, but not where it stands alone.
    ("SHORT", "Qz7w5"),
    ("TINY", "Qz7"),
    ("HOST_PART", "127.0.0.1"),
];

/// Every place where a reference can stand, in every form of reference.
fn everywhere() -> Value {
    let script = root().join("tests/tests/upstreams/discloses.py");
    json!({
        "program": {
            "command": "python3",
            "args": [script, "${PLAIN}", "--key=${env:SLASH}", "{env:QUOTED}", "-n${input:answer}",
                "${file:text}", "{file:text}", "${keychain:kept}", "${NONE:-${PLAIN}}", "${SHORT}",
                "${HOME}/visible"],
            "env": {"REVEAL_ENV": "${SLASH}", "REVEAL_MORE": "a ${QUOTED} b"},
            "env_vars": ["REVEAL_LISTED"],
            "envFile": "variables",
        },
        "missing": {"command": "./${PLAIN}/no-such", "args": ["${TINY}", "--level=${TINY}"],
            "cwd": "/tmp/${PLAIN}"},
        "file": {"command": "true", "envFile": "${SLASH}/no-such"},
        "web": {
            "url": "http://me:${PLAIN}@${HOST_PART}:1/${PLAIN}/mcp?key=${PLAIN}",
            "headers": {"Authorization": "Bearer ${SLASH}", "X-Other": "${QUOTED}"},
        },
        "socket": {"type": "ws", "url": "ws://127.0.0.1:1/${PLAIN}?key=${keychain:kept}"},
    })
}

/// Everything that people read: the administration, the command line, errors, lists and the log.
async fn outputs(fixture: &UpstreamFixture) -> Vec<(String, String)> {
    let mut outputs = vec![("log".to_owned(), fixture.log())];
    let mut pages = vec!["/api/servers".to_owned()];
    for server in ["program", "missing", "file", "web", "socket"] {
        pages.push(format!("/api/servers/{server}"));
        pages.push(format!("/api/servers/{server}/log"));
    }
    for page in pages {
        let shown = fixture.admin("GET", &page).await.to_string();
        outputs.push((page, shown));
    }
    for tool in ["error", "result", "die"] {
        let answer = call(&format!("program_{tool}"), json!({})).ask(fixture.address).await;
        outputs.push((format!("the call of {tool}"), answer.to_string()));
    }
    let commands: [&[&str]; 5] =
        [&["status"], &["logs", "program"], &["config", "show"], &["config", "check"], &["list"]];
    for words in commands {
        let mut program = command(program());
        program.args(words).current_dir(&fixture.bench.folder);
        program.env("XDG_STATE_HOME", &fixture.bench.folder).envs(VARIABLES);
        program.env("REVEAL_LISTED", "/listed-s3cret-5");
        // Some fail, for servers that cannot be used; what they say then counts as well.
        let output = soon("its end", program.output()).await.expect("it runs");
        let printed = [output.stdout, output.stderr].concat();
        outputs.push((words.join(" "), String::from_utf8_lossy(&printed).into_owned()));
    }
    outputs
}

#[tokio::test]
async fn no_value_of_a_reference_is_shown_anywhere() {
    let variables = VARIABLES.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut variables = Vec::from(variables);
    variables.push(("REVEAL_LISTED".to_owned(), "/listed-s3cret-5".to_owned()));
    let config = json!({"pins": "off", "mcpServers": {}});
    let fixture = UpstreamFixture::with_variables("references", config, variables).await;
    fixture.bench.write("text", "first-line-of-s3cret-6\nsecond-line-of-s3cret-7\n");
    fixture.bench.write("variables", "REVEAL_FILE=/file-s3cret-8\n");
    keep(&fixture, "kept", "kept-s3cret-9").await;
    fixture.configure(everywhere());
    fixture.until_listed("program").await;
    for server in ["missing", "file", "web", "socket"] {
        fixture.until(server, "told of", |status| status["reason"].is_string()).await;
    }
    let place = fixture.status("program").await["place"].to_string();
    let home = std::env::var("HOME").expect("a home");
    let visible = format!("{home}/visible");
    assert!(place.contains(&visible), "folders of the user are no secrets: {place}");
    let place = fixture.status("missing").await["place"].to_string();
    assert!(!place.contains("Qz7"), "no length is too short in a command line: {place}");
    let outputs = outputs(&fixture).await;
    assert!(outputs.iter().all(|(_, text)| !text.is_empty()), "each says something: {outputs:?}");
    for (what, text) in outputs {
        assert!(!text.contains(COMMON) && !text.contains("Qz7w5"), "{what}: {text}");
    }
    fixture.close().await;
}
