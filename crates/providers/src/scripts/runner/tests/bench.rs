//! A runner with tools of its own, in a folder that goes with it.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use gantry_gateway::{
    Call, CallContext, CallEvent, Caller, Gateway, Listing, Outcome, Provider, Reply, Resolved,
    ServerInfo, ToolEntry, ToolStatistics,
};
use gantry_protocol::{JsonLimits, Method, RawJson};
use serde_json::{Value, json};

use crate::scripts::ToolSettings;
use crate::scripts::manifest::{Manifest, read_file};
use crate::scripts::runner::Runner;

/// A runner and its tools, behind a gateway.
pub(super) struct Bench {
    pub(super) folder: PathBuf,
    pub(super) runner: Arc<Runner>,
    pub(super) tools: HashMap<String, Arc<Manifest>>,
    gateway: Option<Arc<Gateway>>,
}

/// Gives every call to the runner.
struct Straight {
    runner: Arc<Runner>,
    tools: HashMap<String, Arc<Manifest>>,
}

impl Provider for Straight {
    fn name(&self) -> &str {
        "straight"
    }

    fn serve(&self, call: &Resolved, context: &CallContext) -> BoxFuture<'static, Outcome> {
        let (runner, context) = (self.runner.clone(), context.clone());
        let name = call.target.name().strip_prefix("test.").unwrap();
        let manifest = self.tools[name].clone();
        let arguments = call.call.head.arguments.clone().unwrap_or(RawJson::EMPTY_OBJECT);
        Box::pin(async move { runner.run(&manifest, arguments, None, context).await })
    }
}

impl Bench {
    pub(super) fn new(settings: ToolSettings) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("gantry-runner-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).unwrap();
        // What a test installs as `uv` is in its own folder.
        let uv = folder.join(&settings.uv);
        let runner = Arc::new(Runner::new(ToolSettings { uv, ..settings }));
        Self { folder, runner, tools: HashMap::new(), gateway: None }
    }

    /// Adds a shell script, with what its manifest says about waiting.
    pub(super) fn shell(self, name: &str, script: &str, standby: &str) -> Self {
        let file = format!("{name}.sh");
        self.write(&file, &format!("#!/bin/sh\n{script}\n"));
        self.tool(name, &file, "process", standby)
    }

    /// Adds a Python script that says nothing about waiting.
    pub(super) fn python(self, name: &str, script: &str) -> Self {
        let file = format!("{name}.py");
        self.write(&file, script);
        self.tool(name, &file, "python-uv-script", "null")
    }

    fn tool(mut self, name: &str, file: &str, runtime: &str, standby: &str) -> Self {
        let standby: Value = serde_json::from_str(standby).unwrap();
        let mut manifest = json!({
            "name": format!("test.{name}"), "version": "1.0.0", "description": "For a test.",
            "runtime": runtime, "command": format!("./{file}"), "timeout": "60s",
            "inputSchema": {"type": "object", "properties": {}},
            "outputSchema": {"anyOf": [true]},
        });
        if !standby.is_null() {
            manifest["metadata"] = json!({"standby": standby});
        }
        let path = self.folder.join(format!("{name}.tool.json"));
        fs::write(&path, manifest.to_string()).unwrap();
        let manifest = read_file(&path, &|_| None).pop().unwrap().unwrap();
        self.tools.insert(name.to_owned(), Arc::new(manifest));
        self
    }

    /// What the gateway has counted.
    pub(super) fn statistics(&self) -> Vec<ToolStatistics> {
        self.gateway.as_ref().expect("it is open").statistics()
    }

    /// Opens the gateway.
    pub(super) fn open(mut self) -> Self {
        let gateway = Gateway::builder(ServerInfo::new("test", "1")).build();
        let straight = Straight { runner: self.runner.clone(), tools: self.tools.clone() };
        let entry = |tool: &Arc<Manifest>| Arc::new(ToolEntry::new(tool.definition()).unwrap());
        let tools = self.tools.values().map(entry).collect();
        gateway.attach(Arc::new(straight)).publish(Listing { tools, ..Listing::default() });
        self.gateway = Some(gateway);
        self
    }

    /// Calls a tool and gives its result as text.
    pub(super) async fn call(&self, name: &str) -> String {
        let params = json!({"name": format!("test.{name}")}).to_string();
        let params = RawJson::parse(params, JsonLimits::default()).unwrap();
        let call = Call::new(Method::ToolsCall, params, Arc::new(Caller::new("test")));
        let mut running = self.gateway.as_ref().unwrap().start(call);
        loop {
            match running.next_event().await {
                CallEvent::Done(Ok(Reply::Result(result))) => return result.as_str().to_owned(),
                CallEvent::Done(other) => return format!("{other:?}"),
                _ => {}
            }
        }
    }

    /// Calls a tool that tells its process.
    pub(super) async fn process(&self, name: &str) -> u32 {
        let result = self.call(name).await;
        let value: Value = serde_json::from_str(&result).unwrap();
        let process = value["structuredContent"]["process"].as_u64();
        process.unwrap_or_else(|| panic!("{result}")).try_into().unwrap()
    }

    /// Tells the runner of all tools.
    pub(super) fn refresh(&self) {
        self.runner.refresh(&self.tools.values().cloned().collect::<Vec<_>>());
    }

    /// The processes that wait.
    pub(super) fn waiting(&self) -> Vec<u32> {
        self.runner.warm_pool.waiting()
    }

    /// Writes a file that may be executed, in one step as an editor does.
    pub(super) fn write(&self, name: &str, text: &str) {
        let part = self.folder.join(format!("{name}.part"));
        fs::write(&part, text).unwrap();
        fs::set_permissions(&part, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(part, self.folder.join(name)).unwrap();
    }

    /// A file that a tool wrote; empty as long as it did not.
    pub(super) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.runner.stop();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Waits for something that another process does.
pub(super) async fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !condition() {
        assert!(Instant::now() < deadline, "it has not come to pass");
        tokio::task::yield_now().await;
    }
}

/// Whether there is such a process, even one that waits to be reaped.
pub(super) fn alive(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

/// Kills a process as the kernel does when memory runs out, and sees it end.
#[expect(clippy::disallowed_methods, reason = "there is no safe call for a number alone")]
pub(super) async fn kill(process: u32) {
    let status = std::process::Command::new("kill").args(["-9", &process.to_string()]).status();
    assert!(status.unwrap().success());
    // Until then it may still be given an input, and nobody could tell that it was not read.
    let state = || fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    until(|| state().is_empty() || state().contains("State:\tZ")).await;
}
