//! A folder of tools of a test's own. What runs from it and the folder itself go with it.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use crate::processes;

/// The variable that every tool of a test is given.
const MARK: &str = "FOUNDRY";

/// A folder with a part for tools and room beside it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    mark: String,
}

impl Folder {
    /// An empty folder.
    #[expect(clippy::new_without_default, reason = "a folder on the disk is no default value")]
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let unique = format!("gantry-foundry-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(&unique);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("tools")).expect("a folder can be made");
        Self { path, mark: format!("{MARK}={unique}.") }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The part that the gateway is given, or a file in it.
    pub fn tools(&self, file: &str) -> PathBuf {
        self.path.join("tools").join(file)
    }

    /// What the environment of every process of the tools holds.
    pub fn mark(&self) -> &str {
        &self.mark
    }

    /// Adds a file.
    pub fn file(&self, file: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.tools(file), bytes).expect("a file can be written");
    }

    /// Adds or replaces a program.
    pub fn program(&self, file: &str, text: &str) {
        self.put(&self.tools(file), text, 0o755);
    }

    /// Adds or replaces a file anywhere. It is there all at once, so that nobody sees half of it.
    pub fn put(&self, path: &Path, text: &str, mode: u32) {
        let draft = self.path.join("draft");
        fs::write(&draft, text).expect("a file can be written");
        fs::set_permissions(&draft, fs::Permissions::from_mode(mode)).expect("its mode");
        fs::rename(draft, path).expect("a file can be moved");
    }

    /// Adds a gate: whoever opens it for reading waits until it is open.
    pub fn latch(&self, file: &str) {
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, self.tools(file), FileType::Fifo, mode, 0).expect("a pipe can be made");
    }

    /// Opens a gate for as long as the file is kept.
    pub fn open(&self, file: &str) -> File {
        let both = File::options().read(true).write(true).open(self.tools(file));
        both.expect("the gate is there")
    }

    /// Adds a tool that is a shell script.
    pub fn shell(&self, name: &str, script: &str) {
        self.shell_with(name, script, json!({}));
    }

    /// Adds a tool that is a shell script, with other members in its manifest.
    pub fn shell_with(&self, name: &str, script: &str, members: Value) {
        self.program(&format!("{name}.sh"), &format!("#!/bin/sh\n{script}\n"));
        let mut members = members;
        members["command"] = json!(format!("./{name}.sh"));
        self.manifest(name, members);
    }

    /// Adds a manifest.
    pub fn manifest(&self, name: &str, members: Value) {
        let mark = self.mark.split_once('=').expect("a name and a value").1;
        let mut manifest = description(name, members);
        manifest["env"] = json!({MARK: mark});
        self.file(&format!("{name}.tool.json"), manifest.to_string());
    }
}

/// A manifest that lacks nothing but a command, with some members replaced.
#[expect(clippy::needless_pass_by_value, reason = "cases write the members in place")]
pub fn description(name: &str, members: Value) -> Value {
    let mut manifest = json!({
        "name": name, "version": "1.0.0", "description": "For a test.", "timeout": "20s",
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "object", "properties": {}},
    });
    let members = members.as_object().expect("the members of a manifest").clone();
    manifest.as_object_mut().expect("an object").extend(members);
    manifest
}

impl Drop for Folder {
    fn drop(&mut self) {
        processes::end(&self.mark);
        let _ = fs::remove_dir_all(&self.path);
    }
}
