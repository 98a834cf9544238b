//! Documents, and what becomes of them.

mod check;
mod examples;
mod read;
mod round_trip;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use gantry_protocol::{RawJson, Secret};
use serde_json::json;

use super::FILE_NAME;
use crate::scripts::manifest::{Answer, Manifest, Problem, Runtime};

/// A folder that goes away with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(programs: &[&str]) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("specification-{}-{number}", std::process::id());
        let folder = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(&folder.0).unwrap();
        for program in programs {
            folder.put(program, "#!/bin/sh\n");
            let path = folder.0.join(program);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn document(&self) -> PathBuf {
        self.0.join(FILE_NAME)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn raw(value: &serde_json::Value) -> RawJson {
    RawJson::from(value.clone())
}

/// A tool in order, whose document would stand in the folder.
fn tool(folder: &Path) -> Manifest {
    let text = json!({"type": "string", "description": "The text."});
    let least = json!({"type": "integer", "description": "The least.", "default": 1});
    let words = json!({"type": "integer", "description": "How many."});
    Manifest {
        name: "text.count".to_owned(),
        written: None,
        warnings: Vec::new(),
        version: "1.2.3".to_owned(),
        description: "Counts words.".to_owned(),
        runtime: Runtime::Process,
        command: folder.join("count"),
        args: vec!["--fast".to_owned()],
        env: vec![("TOKEN".to_owned(), "hunter2".to_owned())],
        // A document names variables, it does not hold their values.
        secrets: vec![Secret::new("hunter2")],
        directory: folder.to_owned(),
        input_schema: raw(
            &json!({"type": "object", "properties": {"text": text, "least": least}, "required": ["text"]}),
        ),
        output_schema: Some(raw(
            &json!({"type": "object", "properties": {"words": words}, "required": ["words"]}),
        )),
        annotations: Some(raw(&json!({"readOnlyHint": true, "openWorldHint": false}))),
        title: None,
        answer: Answer::End,
        task: false,
        timeout: Some(std::time::Duration::from_secs(5)),
        memory: None,
        metadata: Some(raw(&json!({"module": "text", "standby": 2}))),
        source: folder.join(FILE_NAME),
    }
}

fn environment(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "hunter2".to_owned())
}

/// `line: message; advice`
fn told(problem: &Problem) -> String {
    let line = problem.line.map_or_else(String::new, |line| format!("{line}: "));
    format!("{line}{}; {}", problem.message, problem.advice)
}
