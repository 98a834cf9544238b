//! `call`, `tools` and `tools show` beside a running gateway, which they use.

use std::fs;
use std::time::{Duration, Instant};

use gantry_tests::temp_folder::{Bench, program};
use gantry_tests::test_server::soon;
use serde_json::{Value, json};

use crate::gateway::{Gateway, TOOL, gantry};

/// How long a call of a running gateway may take here, where other tests run too. Starting its servers
/// again takes longer than this.
const BRIEF: Duration = Duration::from_secs(3);

/// A folder with a gateway's configuration: a tool that needs an approval, one that does not, one that
/// a rule denies, and a server that writes down each start and needs a while for it.
fn bench(name: &str) -> Bench {
    let bench = crate::gateway::bench(&format!("calls-{name}"));
    for tool in ["text.plain", "text.denied"] {
        let manifest = json!({
            "name": tool, "version": "1.2.0", "description": "Says hello.",
            "command": ["sh", "-c", "echo '{\"said\": \"hello\"}'"],
            "annotations": {"readOnlyHint": true, "destructiveHint": false},
            "inputSchema": {"type": "object", "properties": {
                "count": {"type": "integer", "description": "How often."},
            }},
            "outputSchema": {"type": "object", "properties": {
                "said": {"type": "string", "description": "What it says."},
            }},
        });
        bench.write(&format!("tools/{tool}.tool.json"), &manifest.to_string());
    }
    let start =
        format!("echo start >> starts; sleep 4; exec {} serve --stdio", program().display());
    let inner = bench.write("inner.json", "{}");
    let config = json!({
        "tools": ["./tools"],
        "policy": {
            "trust": "verified",
            "approvals": {"wait": "1s"},
            "rules": [{"name": "no", "effect": "deny", "what": {"tools": ["text.denied"]}}],
        },
        "mcpServers": {"slow": {"command": "sh", "args": ["-c", start],
            "env": {"XDG_STATE_HOME": bench.folder.join("inner"), "GANTRY_CONFIG": inner}}},
    });
    for file in ["gantry.json", "other.json"] {
        bench.write(file, &config.to_string());
    }
    bench
}

fn starts(bench: &Bench) -> usize {
    fs::read_to_string(bench.folder.join("starts")).unwrap_or_default().lines().count()
}

#[tokio::test]
async fn the_running_gateway_is_used_and_named() {
    let bench = bench("used");
    let gateway = Gateway::start(&bench, &[], &[]).await;
    let id = gateway.pid().to_string();
    let cases: [(&[&str], i32, &str, &str); 10] = [
        (&["call", "text.plain", "count=1"], 0, "hello", ""),
        (&["call", "text.plain@1.2.0"], 0, "hello", ""),
        (&["call", "text.plain", "--contract"], 0, "\"status\": \"success\"", ""),
        (&["call", "text.plain", "cuont=1"], 2, "", "did you mean `count`?"),
        (&["call", "text.plane"], 4, "", "did you mean"),
        (&["call", "text.denied"], 5, "", "rule `no`"),
        (&["call", TOOL, "path=a", "--yes"], 0, "wiped", ""),
        (&["tools"], 0, "Says hello.", ""),
        (&["tools", "show", "text.plain"], 0, "gantry call", ""),
        (&["tools", "show", TOOL], 0, "waits for a person", ""),
    ];
    for (words, code, out, err) in cases {
        let begin = Instant::now();
        let run = gantry(&bench, words, &[]).await;
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        assert!(run.out.contains(out) && run.err.contains(err), "{words:?}: {run:?}");
        assert!(run.err.contains("running gateway") && run.err.contains(&id), "{words:?}: {run:?}");
        // The first list waits for servers that are being started, and later ones do not.
        assert!(begin.elapsed() < BRIEF || words[1].contains("plain"), "{words:?}");
    }
    assert_eq!(starts(&bench), 1, "nothing was started again");
}

#[tokio::test]
async fn a_call_passes_every_policy_as_the_local_user() {
    let bench = bench("policy");
    let _gateway = Gateway::start(&bench, &[], &[]).await;
    let waits = gantry(&bench, &["call", TOOL, "path=b"], &[]).await;
    assert_eq!(waits.code, Some(5), "{waits:?}");
    let all = gantry(&bench, &["approve", "--json"], &[]).await;
    let all: Value = serde_json::from_str(&all.out).expect("JSON");
    let (id, by) = (&all["pending"][0]["id"], &all["pending"][0]["principal"]);
    assert_eq!(by, "local", "{all}");
    let id = id.as_str().expect("a call that waits");
    assert!(waits.err.contains(id), "{waits:?}");
    assert_eq!(gantry(&bench, &["approve", id], &[]).await.code, Some(0));
    let runs = gantry(&bench, &["call", TOOL, "path=b"], &[]).await;
    assert!(runs.code == Some(0) && runs.out.contains("wiped"), "{runs:?}");
    // Records are written a moment after the answer.
    let recorded = async {
        loop {
            let tail = gantry(&bench, &["audit", "tail", "--json"], &[]).await;
            if tail.out.contains("file") && tail.out.contains("local") {
                return;
            }
        }
    };
    soon("the record of the call", recorded).await;
}

#[tokio::test]
async fn one_of_several_or_none_is_chosen() {
    let bench = crate::gateway::bench("calls-chosen");
    let here = gantry(&bench, &["tools"], &[]).await;
    assert!(here.code == Some(0) && here.out.contains("Wipes"), "no gateway: {here:?}");
    assert!(!here.err.contains("running gateway"), "{here:?}");
    let one = Gateway::start(&bench, &["--config", "gantry.json"], &[]).await;
    let two = Gateway::start(&bench, &["--config", "other.json", "--stdio"], &[]).await;
    let (first, second) = (one.pid().to_string(), two.pid().to_string());
    let cases: [(&[&str], &str, i32, &[&str]); 6] = [
        (&[], "", 0, &[&first]),
        (&["--config", "other.json"], "", 0, &[&second]),
        (&["--instance", &second], "", 0, &[&second]),
        (&["--instance", "1"], "", 6, &["`1`", &first, &second]),
        (&[], "/none.json", 2, &["--instance", &first, &second]),
        (&["--config", "gantry.json", "--instance", &first], "", 0, &[&first]),
    ];
    for verb in [&["tools"][..], &["call", TOOL, "--yes"], &["tools", "show", TOOL]] {
        for (words, config, code, expected) in &cases {
            let words = [verb, *words].concat();
            let variables: Vec<_> = Some(("GANTRY_CONFIG", *config))
                .into_iter()
                .filter(|it| !it.1.is_empty())
                .collect();
            let run = gantry(&bench, &words, &variables).await;
            assert_eq!(run.code, Some(*code), "{words:?}: {run:?}");
            assert!(expected.iter().all(|it| run.err.contains(it)), "{words:?}: {run:?}");
        }
        for option in [&["--local"][..], &["--tools", "tools"]] {
            let run = gantry(&bench, &[verb, option].concat(), &[]).await;
            assert_eq!(run.code, Some(0), "{option:?}: {run:?}");
            assert!(!run.err.contains("running gateway"), "{option:?}: {run:?}");
        }
    }
}
