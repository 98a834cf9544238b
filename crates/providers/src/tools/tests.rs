//! The limits of tools that are programs, with real programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use gantry_gateway::{Call, Caller, Gateway, Identity, Reply, Step};
use gantry_protocol::{JsonLimits, Method, RawJson};
use gantry_transport::child::ChildLimits;
use serde_json::json;

use super::{ToolSettings, Tools};

/// A gateway over one script, in a folder that goes with it.
struct Bench {
    folder: PathBuf,
    gateway: Arc<Gateway>,
}

impl Bench {
    fn new(name: &str, script: &str, settings: ToolSettings) -> Self {
        let folder = std::env::temp_dir().join(format!("gantry-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("tool.sh"), format!("#!/bin/sh\n{script}\n")).expect("a script");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.join("tool.sh"), mode).expect("its mode");
        let manifest = json!({
            "name": "test.tool", "version": "1.0.0", "description": "For a test.",
            "command": "./tool.sh", "inputSchema": {"type": "object"},
        });
        fs::write(folder.join("one.tool.json"), manifest.to_string()).expect("a manifest");
        let tools = Tools::open(vec![folder.clone()], settings);
        assert!(tools.problems().is_empty(), "{:?}", tools.problems());
        let gateway = Gateway::builder(Identity::new("test", "1")).build();
        tools.publish_to(gateway.attach(Arc::new(tools.clone())));
        Self { folder, gateway }
    }

    async fn call(&self) -> RawJson {
        let params = json!({"name": "test.tool"}).to_string();
        let params = RawJson::parse(params, JsonLimits::default()).expect("JSON");
        let caller = Arc::new(Caller::new("test"));
        let mut running = self.gateway.start(Call::new(Method::ToolsCall, params, caller));
        loop {
            match running.step().await {
                Step::Done(Ok(Reply::Result(result))) => return result,
                Step::Done(other) => panic!("{other:?}"),
                _ => {}
            }
        }
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
