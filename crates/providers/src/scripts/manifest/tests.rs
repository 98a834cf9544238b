//! What people write into a folder, and what becomes of it.

mod folder;
mod json;
mod script;
mod seeds;
mod words;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use gantry_protocol::RawJson;
use serde_json::{Value, json};

use super::{Manifest, Problem, read_file};

/// A folder that goes away with the test.
pub(crate) struct Folder(pub(in crate::scripts) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("manifest-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn program(self, name: &str) -> Self {
        let folder = self.with(name, "#!/bin/sh\n");
        fs::set_permissions(folder.0.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    fn read(&self, name: &str) -> Option<Result<Manifest, Problem>> {
        read_file(&self.0.join(name), &environment).pop()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn environment(name: &str) -> Option<String> {
    match name {
        "PATH" => Some("relative:/bin:/usr/bin".into()),
        "TOKEN" => Some("secret".into()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

/// A manifest in JSON, one member a line, with some members replaced or, by null, taken out.
pub(crate) fn json_with(changes: &Value) -> String {
    let mut manifest = json!({
        "name": "text.count",
        "version": "1.0.0",
        "description": "Counts.",
        "inputSchema": {"type": "object", "properties": {}},
        "outputSchema": {"type": "string"},
    });
    let members = manifest.as_object_mut().unwrap();
    members.extend(changes.as_object().unwrap().clone());
    members.retain(|_, value| !value.is_null());
    let lines: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}

fn json_tool(changes: &Value) -> (Folder, Result<Manifest, Problem>) {
    let folder = Folder::new().program("count").with("count.tool.json", json_with(changes));
    let read = folder.read("count.tool.json").unwrap();
    (folder, read)
}

/// A script whose block begins in line 3; `lines` follow `[tool.gantry]` in line 5.
pub(crate) fn script(lines: &str) -> String {
    let lines: Vec<_> = lines.lines().map(|line| format!("# {}\n", line.trim())).collect();
    let lines = lines.concat().replace("# \n", "#\n");
    format!(
        "#!/usr/bin/env python\n\n# /// script\n# dependencies = []\n# [tool.gantry]\n{lines}# ///\n"
    )
}

pub(crate) const HEAD: &str = "name = 'text.count'\nversion = '1.0.0'\ndescription = 'Counts.'\n";

/// A script with these lines after the head, and with an output if they have none.
fn script_tool(lines: &str) -> Result<Manifest, Problem> {
    let output = if lines.contains("output") { "" } else { "\n[tool.gantry.output]" };
    let folder = Folder::new().with("count.py", script(&format!("{HEAD}{lines}{output}")));
    folder.read("count.py").unwrap()
}

/// `line: message; advice`
fn told(problem: &Problem) -> String {
    let line = problem.line.map_or_else(String::new, |line| format!("{line}: "));
    format!("{line}{}; {}", problem.message, problem.advice)
}

fn as_value(raw: &RawJson) -> Value {
    raw.read().unwrap()
}
