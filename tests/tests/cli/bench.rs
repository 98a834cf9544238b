//! A folder of its own for a test, and the program run in it.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// A folder that goes with the test. No configuration but its own is found from it.
pub(crate) struct Bench(PathBuf);

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Bench {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("gantry-cli-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("tools")).expect("a folder");
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file that may be executed.
    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    }

    /// Writes a tool: a shell script, and a manifest with these arguments.
    pub(crate) fn tool(&self, name: &str, script: &str, properties: &Value) {
        let manifest = json!({
            "name": name, "version": "1.0.0", "description": "For a test.",
            "command": ["sh", format!("./{name}.sh")], "timeout": "20s",
            "inputSchema": {"type": "object", "properties": properties},
            "outputSchema": {"type": ["object", "string", "number"]},
        });
        self.write(&format!("tools/{name}.tool.json"), &manifest.to_string());
        self.write(&format!("tools/{name}.sh"), script);
    }

    #[expect(clippy::disallowed_methods, reason = "the program itself is what is tested")]
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(words).current_dir(&self.0).env("PATH", path());
        command.env("XDG_CONFIG_HOME", self.0.join("user")).env("XDG_STATE_HOME", &self.0);
        command.env_remove("GANTRY_CONFIG").env_remove("GANTRY_LOG");
        command.env_remove("XDG_RUNTIME_DIR").env_remove("GANTRY_ADMIN_TOKEN");
        command.env("GANTRY_TRUST", "trusted").env_remove("DBUS_SESSION_BUS_ADDRESS");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        Run::of(&self.command(words).output().expect("it runs"))
    }

    pub(crate) fn run_with_input(&self, words: &[&str], input: &str) -> Run {
        let mut child = self.command(words).stdin(Stdio::piped()).spawn().expect("it starts");
        let mut stdin = child.stdin.take().expect("its input");
        stdin.write_all(input.as_bytes()).expect("it reads");
        drop(stdin);
        Run::of(&child.wait_with_output().expect("it ends"))
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Run {
    pub(crate) fn of(output: &std::process::Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub(crate) fn program() -> PathBuf {
    let beside = std::env::current_exe().expect("a path");
    let target = beside.parent().and_then(Path::parent).expect("cargo's folder");
    let program = target.join("gantry");
    assert!(program.exists(), "{} is missing; run `cargo build` first", program.display());
    program
}

/// `PATH`, with the `uv` that `cargo xtask provision` installs in front of what is there.
pub(crate) fn path() -> String {
    let given = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = given("GANTRY_CACHE")
        .or_else(|| given("XDG_CACHE_HOME").map(|base| base.join("gantry-dev")))
        .or_else(|| given("HOME").map(|home| home.join(".cache/gantry-dev")))
        .expect("a home");
    let rest = std::env::var("PATH").unwrap_or_default();
    format!("{}:{rest}", cache.join("uv/bin").display())
}
