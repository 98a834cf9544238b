//! A folder of tools for one measurement, with a place for the gateway's state beside it. Removed
//! at the end.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use serde_json::{Value, json};

use crate::fault::Fault;

const SCRIPT: &str = include_str!("folder/echo.py");

/// A folder of tools.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// One native tool, with so many processes of it kept waiting, that has answered at its `end`
    /// or with its `line`.
    pub(crate) fn native(program: &Path, standby: usize, answer: &str) -> Result<Self, Fault> {
        let folder = Self::new()?;
        let mut manifest = manifest("bench.echo", program, standby);
        manifest["answer"] = answer.into();
        folder.write("echo.tool.json", &manifest.to_string())?;
        Ok(folder)
    }

    /// One Python script, with or without processes of it kept waiting, that has answered at its
    /// `end` or with its `line`.
    pub(crate) fn python(standby: bool, answer: &str) -> Result<Self, Fault> {
        let folder = Self::new()?;
        let text = SCRIPT.replace("standby = true", &format!("standby = {standby}"));
        let text = text.replace("answer = \"end\"", &format!("answer = \"{answer}\""));
        folder.write("echo.py", &text)?;
        Ok(folder)
    }

    /// Many native tools, each with a manifest of its own.
    pub(crate) fn many(program: &Path, count: usize) -> Result<Self, Fault> {
        let folder = Self::new()?;
        for number in 0..count {
            let name = format!("bench.echo_{number}");
            let text = manifest(&name, program, 0).to_string();
            folder.write(&format!("echo_{number}.tool.json"), &text)?;
        }
        Ok(folder)
    }

    /// No tools, but a configuration that names other servers, and whatever more it says.
    pub(crate) fn servers(servers: &Value, more: &Value) -> Result<Self, Fault> {
        let folder = Self::new()?;
        let mut config = more.clone();
        config["mcpServers"] = servers.clone();
        if config.get("limits").is_none() {
            // What is measured is called more often than anybody should.
            config["limits"] = json!({"default": "off"});
        }
        let (path, text) = (folder.config(), config.to_string());
        std::fs::write(&path, text).map_err(Fault::machine(format!("write {}", path.display())))?;
        Ok(folder)
    }

    /// The configuration.
    pub(crate) fn config(&self) -> PathBuf {
        self.0.join("gantry.json")
    }

    /// Where the tools are.
    pub(crate) fn tools(&self) -> PathBuf {
        self.0.join("tools")
    }

    /// Where the gateway may keep its state.
    pub(crate) fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    /// The Python script.
    pub(crate) fn script(&self) -> PathBuf {
        self.tools().join("echo.py")
    }

    fn new() -> Result<Self, Fault> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("gantry-bench-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let folder = Self(std::env::temp_dir().join(name));
        let failed = Fault::machine(format!("make {}", folder.0.display()));
        std::fs::create_dir_all(folder.tools()).map_err(failed)?;
        Ok(folder)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), Fault> {
        let path = self.tools().join(name);
        std::fs::write(&path, text).map_err(Fault::machine(format!("write {}", path.display())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left in the temporary folder does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn manifest(name: &str, program: &Path, standby: usize) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    });
    json!({
        "name": name,
        "version": "1.0.0",
        "description": "Gives its text back.",
        "runtime": "binary",
        "command": program,
        "standby": standby,
        "inputSchema": schema,
        "outputSchema": schema,
    })
}

#[cfg(test)]
mod tests {
    use gantry::{ToolSettings, Tools};

    use super::*;

    #[test]
    fn the_registry_takes_every_folder() {
        let program = std::env::current_exe().expect("a running test");
        for (folder, count) in [
            (Folder::native(&program, 0, "end"), 1),
            (Folder::native(&program, 4, "line"), 1),
            (Folder::python(true, "line"), 1),
            (Folder::python(false, "end"), 1),
            (Folder::many(&program, 20), 20),
        ] {
            let folder = folder.expect("a temporary folder");
            let tools = Tools::open(vec![folder.tools()], ToolSettings::default());
            let problems: Vec<_> = tools.problems().iter().map(ToString::to_string).collect();
            assert_eq!((tools.count(), problems), (count, Vec::new()));
        }
    }
}
