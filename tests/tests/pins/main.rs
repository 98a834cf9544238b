//! Pins before a real server on the Python SDK, behind the real binary: one word of a description
//! changes, and nobody sees or calls the tool until a person has accepted it.

mod compatible;
mod live;
mod lock;
mod shown;

use std::fs;

use gantry_tests::temp_folder::{Bench, cache, command, program, root};
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::UpstreamFixture;
use serde_json::{Value, json};

/// A gateway with pins before the server, and the file that describes its tool.
struct Stand {
    fixture: UpstreamFixture,
    words: Bench,
}

/// How a run of the program ended.
#[derive(Debug)]
struct Run {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Stand {
    /// A stand whose tool is described by this text.
    async fn open(name: &str, pins: Value, text: &str) -> Self {
        let words = Bench::new(&format!("words-{name}"));
        describe(&words, text);
        let more = json!({"pins": pins});
        let fixture =
            UpstreamFixture::open_with(&format!("pins-{name}"), more, servers(&words, &[])).await;
        let stand = Self { fixture, words };
        stand.until_known().await;
        stand
    }

    async fn until_known(&self) {
        let is_known = |status: &Value| status["state"] == "ready" && status["tools"] == 2;
        self.fixture.until("words", "ready", is_known).await;
    }

    /// Describes the tool otherwise, and has the server say so.
    async fn change(&self, text: &str) {
        describe(&self.words, text);
        self.fixture.call("words_look", json!({})).await.expect("it looks");
    }

    /// Waits until exactly these tools are listed.
    async fn until_listed(&self, expected: &[&str]) {
        let listed = async { while self.fixture.tools("words").await != expected {} };
        soon(&format!("the list {expected:?}"), listed).await;
    }

    /// Runs `gantry tools …` for the gateway that runs.
    async fn tools(&self, words: &[&str]) -> Run {
        tools(&self.fixture.bench, words).await
    }
}

/// Runs `gantry tools …` with the configuration and the state of a bench.
async fn tools(bench: &Bench, words: &[&str]) -> Run {
    let mut run = command(program());
    run.arg("tools").args(words).arg("--config").arg(bench.folder.join("gantry.json"));
    let run = run.env("XDG_STATE_HOME", &bench.folder).output();
    let output = soon("the end of the program", run).await.expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Run { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

fn describe(words: &Bench, text: &str) {
    fs::write(words.folder.join("text"), text).expect("a file");
}

/// The server's entry, with more words for its program.
fn servers(words: &Bench, more: &[&str]) -> Value {
    let python = cache().join("python-mcp-1/bin/python");
    let script = root().join("tests/tests/pins/words.py").display().to_string();
    let text = words.folder.join("text").display().to_string();
    let words = [&[script.as_str(), text.as_str()], more].concat();
    json!({"words": {"command": python, "args": words}})
}
