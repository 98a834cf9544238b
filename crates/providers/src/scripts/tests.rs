//! The limits of tools that are programs, with real programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use gantry_gateway::{
    Call, CallError, CallEvent, CallNotification, Caller, Gateway, Reply, ServerInfo,
};
use gantry_process::ChildLimits;
use gantry_protocol::{JsonLimits, Method, RawJson};
use rustix::fs::{FileType, Mode};
use serde_json::json;

use super::manifest::{Manifest, read_json};
use super::{Registration, ToolSettings, Tools};

/// A gateway over one script, in a folder that goes with it.
struct Bench {
    folder: PathBuf,
    gateway: Arc<Gateway>,
    tools: Tools,
}

impl Bench {
    fn new(name: &str, script: &str, settings: ToolSettings) -> Self {
        Self::with(name, script, &json!({}), settings)
    }

    /// The same, with more members in the manifest.
    fn with(name: &str, script: &str, more: &serde_json::Value, settings: ToolSettings) -> Self {
        let folder = std::env::temp_dir().join(format!("gantry-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("tool.sh"), format!("#!/bin/sh\n{script}\n")).expect("a script");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.join("tool.sh"), mode).expect("its mode");
        let mut manifest = json!({
            "name": "test.tool", "version": "1.0.0", "description": "For a test.",
            "command": "./tool.sh", "inputSchema": {"type": "object", "properties": {}},
            "outputSchema": {"type": "integer"},
        });
        let members = manifest.as_object_mut().expect("an object");
        members.extend(more.as_object().expect("members").clone());
        fs::write(folder.join("one.tool.json"), manifest.to_string()).expect("a manifest");
        let tools = Tools::open(vec![folder.clone()], settings);
        assert!(tools.problems().is_empty(), "{:?}", tools.problems());
        let gateway = Gateway::builder(ServerInfo::new("test", "1")).build();
        tools.publish_to(gateway.attach(Arc::new(tools.clone())));
        Self { folder, gateway, tools }
    }

    async fn call(&self) -> RawJson {
        self.call_named("test.tool").await.expect("a result")
    }

    async fn call_named(&self, name: &str) -> Result<RawJson, CallError> {
        let params = json!({"name": name}).to_string();
        let params = RawJson::parse(params, JsonLimits::default()).expect("JSON");
        let caller = Arc::new(Caller::new("test"));
        let mut running = self.gateway.start(Call::new(Method::ToolsCall, params, caller));
        loop {
            match running.next_event().await {
                CallEvent::Done(Ok(Reply::Result(result))) => return Ok(result.into_raw()),
                CallEvent::Done(Err(error)) => return Err(error),
                CallEvent::Done(other) => panic!("{other:?}"),
                _ => {}
            }
        }
    }

    /// A pipe on which a script can wait.
    fn gate(&self) -> PathBuf {
        let gate = self.folder.join("gate");
        rustix::fs::mknodat(rustix::fs::CWD, &gate, FileType::Fifo, Mode::RWXU, 0).expect("a fifo");
        gate
    }

    async fn fails_with(&self, words: &str) {
        let result = self.call().await;
        assert_eq!(result.get("isError").expect("a flag").as_str(), "true", "{result}");
        assert!(result.as_str().contains(words), "{result}");
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test]
async fn children() {
    let script = "echo start >> log; cat > /dev/null; echo end >> log; echo 1";
    let settings = ToolSettings { children: 1, ..ToolSettings::default() };
    let bench = Bench::new("children", script, settings);
    join_all((0..20).map(|_| bench.call())).await;
    let log = fs::read_to_string(bench.folder.join("log")).expect("a log");
    assert_eq!(log, "start\nend\n".repeat(20), "one after the other, and none lost");
}

#[tokio::test]
async fn timeout() {
    let settings = ToolSettings { timeout: Duration::from_millis(200), ..ToolSettings::default() };
    Bench::new("timeout", "sleep 600", settings).fails_with("did not finish within 200ms").await;
}

#[tokio::test]
async fn queue() {
    let settings = ToolSettings { children: 1, queue: Duration::ZERO, ..ToolSettings::default() };
    let bench = Bench::new("queue", "echo >> log; read line < gate; echo 1", settings);
    let gate = bench.gate();
    let second = async {
        while !bench.folder.join("log").exists() {
            tokio::task::yield_now().await;
        }
        let failed = bench.call_named("test.tool").await;
        fs::write(&gate, "go\n").expect("the first one reads");
        failed
    };
    let (first, second) = tokio::join!(bench.call(), second);
    assert_eq!(first.get("isError").expect("a flag").as_str(), "false", "{first}");
    let text = second.unwrap_err().public;
    assert!(
        text.starts_with("`test.tool` waited 0ns for a slot: all 1 programs that may run"),
        "{text}"
    );
}

#[test]
fn waiting_for_a_turn_is_no_work() {
    let settings = ToolSettings::default();
    let manifest = versioned("1.0.0", &json!({"type": "object", "properties": {}}));
    assert_eq!(
        settings.deadline_of(&manifest),
        settings.queue + settings.timeout + settings.child.grace * 2
    );
}

#[tokio::test]
async fn an_answer_need_not_wait_for_the_end() {
    let line = json!({"answer": "line"});
    let settings = ToolSettings { children: 1, ..ToolSettings::default() };
    let script = "echo 7; read line < gate; echo $line > ended; exit 3";
    let bench = Bench::with("line", script, &line, settings);
    let gate = bench.gate();
    let answer = bench.call().await;
    assert_eq!(answer.get("structuredContent").expect("a value").as_str(), "7");
    assert!(!bench.folder.join("ended").exists(), "the process still works");
    let open = tokio::task::spawn_blocking(move || fs::write(gate, "go\n"));
    open.await.expect("no panic").expect("the process waits there");
    // There is one place, and the process holds it until it has ended.
    bench.call().await;
    assert_eq!(fs::read_to_string(bench.folder.join("ended")).expect("a word"), "go\n");
}

#[tokio::test]
async fn without_a_line_the_end_tells_why() {
    let line = json!({"answer": "line", "timeout": "300ms"});
    let cases = [
        ("ends", "exit 4", "exit status 4"),
        ("half", "printf 7; exit 0", "\"structuredContent\":7"),
        ("hangs", "printf 7; sleep 600", "did not finish within 300ms"),
        ("floods", "yes | tr -d '\\n'", "wrote more to standard output"),
    ];
    for (name, script, words) in cases {
        let settings = ToolSettings::default();
        let result = Bench::with(name, script, &line, settings).call().await;
        assert!(result.as_str().contains(words), "{name}: {result}");
    }
}

#[tokio::test]
async fn memory() {
    let settings = ToolSettings { memory: Some(200_000_000), ..ToolSettings::default() };
    let script = "exec python3 -c 'print(len(bytes(1 << 30)))'";
    Bench::new("memory", script, settings).fails_with("MemoryError").await;
    Bench::new("memories", script, ToolSettings::default()).call().await;
}

#[tokio::test]
async fn output() {
    let child = ChildLimits { stdout: 1000, ..ChildLimits::default() };
    let settings = ToolSettings { child, ..ToolSettings::default() };
    Bench::new("output", "yes", settings).fails_with("wrote more to standard output").await;
}

#[tokio::test]
async fn a_program_that_went_away() {
    let bench = Bench::new("gone", "echo 1", ToolSettings::default());
    fs::remove_file(bench.folder.join("tool.sh")).expect("it was there");
    bench.fails_with("was not found").await;
}

/// A version of another tool that prints its own version.
fn versioned(version: &str, input: &serde_json::Value) -> Manifest {
    let manifest = json!({
        "name": "test.other", "version": version, "description": "For a test.",
        "command": ["sh", "-c", format!("echo '\"{version}\"'")],
        "inputSchema": input, "outputSchema": {"type": "string"},
    });
    let path = |name: &str| (name == "PATH").then(|| "/bin:/usr/bin".to_owned());
    read_json("/registered".as_ref(), &RawJson::from(manifest), &path).expect("a manifest")
}

#[tokio::test]
async fn registered_at_run_time() {
    let bench = Bench::new("registered", "echo 1", ToolSettings::default());
    let none = json!({"type": "object", "properties": {}});
    let one = json!({"type": "object", "properties": {"x": {"type": "string", "default": ""}}});
    let says = async |name: &str| {
        let result = bench.call_named(name).await.map_err(|error| error.public)?;
        Ok::<_, String>(result.get("structuredContent").and_then(|it| it.to_text()))
    };
    let no_tool = |answer: Result<_, String>| answer.unwrap_err().starts_with("there is no tool");

    assert!(no_tool(says("test.other").await));
    assert_eq!(bench.tools.register(versioned("1.0.0", &none)), Ok(Registration::New));
    assert_eq!(bench.tools.register(versioned("1.0.0", &none)), Ok(Registration::Unchanged));
    assert_eq!(says("test.other").await, Ok(Some("1.0.0".to_owned())));

    let refused = bench.tools.register(versioned("1.0.0", &one)).unwrap_err();
    assert!(refused.advice.starts_with("raise the version to "), "{refused}");
    assert_eq!(bench.tools.register(versioned("2.0.0", &one)), Ok(Registration::New));
    for (name, version) in
        [("test.other", "2.0.0"), ("test.other@2.0.0", "2.0.0"), ("test.other@1.0.0", "1.0.0")]
    {
        assert_eq!(says(name).await, Ok(Some(version.to_owned())), "{name}");
    }
    assert!(no_tool(says("test.other@3.0.0").await));
    assert_eq!(bench.tools.count(), 2, "versions of a tool are one tool");

    assert!(bench.tools.unregister("test.other", Some("1.0.0")));
    assert!(no_tool(says("test.other@1.0.0").await));
    assert!(bench.tools.unregister("test.other", None));
    assert!(no_tool(says("test.other").await));
    assert!(!bench.tools.unregister("test.tool", None), "it belongs to its folder");
    assert!(says("test.tool").await.is_ok());
}

#[tokio::test]
async fn one_that_runs_long_says_so_before_it_works() {
    for (more, expected) in [(json!({"task": true}), true), (json!({}), false)] {
        let name = format!("task-{expected}");
        let bench = Bench::with(&name, "cat > /dev/null; echo 1", &more, ToolSettings::default());
        let snapshot = bench.gateway.catalog().snapshot();
        let listed = &snapshot.tool("test.tool").expect("a tool").definition;
        let support = listed.at(&["execution", "taskSupport"]).and_then(|it| it.to_text());
        assert_eq!(support.as_deref() == Some("optional"), expected, "{listed}");
        let params = RawJson::from_static(r#"{"name":"test.tool"}"#);
        let caller = Arc::new(Caller::new("test"));
        let mut running = bench.gateway.start(Call::new(Method::ToolsCall, params, caller));
        let first = running.next_event().await;
        assert_eq!(
            matches!(first, CallEvent::Notification(CallNotification::Task { .. })),
            expected,
            "{first:?}"
        );
    }
}
