//! The commands of docs/call.md, run as they are printed.

use std::fs;

use gantry_tests::temp_folder::{Bench, command, root};
use gantry_tests::test_server::soon;
use serde_json::json;

use crate::gateway::Gateway;

#[tokio::test]
async fn the_calls_that_are_printed_answer_as_printed() {
    let document = fs::read_to_string(root().join("docs/call.md")).expect("a document");
    let bench = Bench::new("control-documents");
    let count = json!({
        "name": "text.count", "version": "1.0.0", "description": "Counts the words of a text.",
        "command": ["python3", "-c", "import json, sys\n\
            text = json.load(sys.stdin)['arguments']['text']\n\
            print(json.dumps({'words': len(text.split())}))"],
        "annotations": {"readOnlyHint": true},
        "inputSchema": {"type": "object", "required": ["text"],
            "properties": {"text": {"type": "string", "description": "The text."}}},
        "outputSchema": {"type": "object",
            "properties": {"words": {"type": "integer", "description": "How many."}}},
    });
    bench.write("tools/count.tool.json", &count.to_string());
    let fill = document.split_once("`tools/fill.tool.json`").expect("the tool that fails").1;
    let fill =
        fill.split_once("```json\n").and_then(|it| it.1.split_once("\n```")).expect("a block").0;
    bench.write("tools/fill.tool.json", fill);
    let gateway = Gateway::start(&bench, &["--tools", "tools"], &[("GANTRY_AUTH", "token")]).await;
    let address = gateway.address.clone().expect("it listens");
    let state = bench.folder.join("gantry").display().to_string();
    let here = |text: &str| {
        let text = text.replace("127.0.0.1:4268", &address);
        text.replace("~/.local/state/gantry", &state)
    };
    let blocks = document.split("```sh\n$ ").skip(1);
    let blocks: Vec<&str> = blocks.map(|it| it.split("\n```").next().unwrap_or_default()).collect();
    let [token, calls @ ..] = blocks.as_slice() else { panic!("no commands in {document}") };
    assert!(token.contains("client-token") && calls.len() >= 4, "{blocks:?}");
    for call in calls {
        let (typed, expected) = call.rsplit_once('\n').expect("a command and its answer");
        let mut bash = command("bash");
        bash.args(["-c", &format!("{}\n{}", here(token), here(typed))]);
        let output = soon("an answer", bash.output()).await.expect("bash runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), expected, "{typed}");
    }
}
