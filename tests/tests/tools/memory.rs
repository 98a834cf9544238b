//! What a message costs while it passes: a small multiple of its bytes, whatever is in it.

use gantry_tests::processes;
use gantry_tests::tool_fixture::{Folder, ToolFixture};
use serde_json::{Value, json};

/// Bytes of one message.
const SIZE: usize = 1 << 20;

/// Bytes of memory that one byte of a message may take.
const EACH: u64 = 8;

/// Texts that are small for how many values they hold.
const SHAPES: [&str; 6] = ["0", "[]", "{}", "[0]", r#"{"a":0}"#, r#"[[[{"a":[{"b":""}]}]]]"#];

/// An array of that value, as long as a message may be.
fn array_of(shape: &str) -> String {
    let repeated = format!("{shape},").repeat(SIZE / (shape.len() + 1));
    format!("[{}]", repeated.trim_end_matches(','))
}

/// By how many bytes the gateway grows for each byte of the arguments of a call.
async fn growth(shape: &str) -> u64 {
    let folder = Folder::new();
    let items = json!({"type": ["number", "array", "object", "string"]});
    let all = json!({"type": "array", "items": items});
    let input = json!({"type": "object", "properties": {"all": all}});
    folder.shell_with("read.all", "cat >/dev/null; echo '{}'", json!({"inputSchema": input}));
    let mut tool_fixture = ToolFixture::open(folder).await;
    let warm = tool_fixture.call("read.all", json!({"all": []})).await;
    assert_eq!(warm["isError"], false, "{warm}");
    let before = processes::memory(tool_fixture.id(), "VmHWM");
    let all: Value = serde_json::from_str(&array_of(shape)).expect("JSON");
    let result = tool_fixture.call("read.all", json!({"all": all})).await;
    assert_eq!(result["isError"], false, "{shape}: {result}");
    let grown = processes::memory(tool_fixture.id(), "VmHWM") - before;
    grown * 1024 / SIZE as u64
}

#[tokio::test]
async fn arguments_take_a_small_multiple_of_their_bytes() {
    for shape in SHAPES {
        let each = growth(shape).await;
        assert!(each <= EACH, "{each} bytes for each byte of {shape}");
    }
}
