//! Servers that do one thing wrong: programs for the gateway to start, and some that listen.

use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::task::JoinHandle;

use crate::temp_folder::command;
use crate::test_server::soon;

/// A server that listens. Dropping it ends it.
#[derive(Debug)]
pub struct Scripted {
    /// Its address.
    pub url: String,
    _child: Child,
    log: JoinHandle<()>,
}

impl Scripted {
    /// Starts a server with that conduct, and whatever else it is told.
    pub async fn start(words: &[&str]) -> Self {
        Self::run(beside("scripted-server"), words).await
    }

    /// The same with another program that listens as this one does.
    pub async fn run(program: PathBuf, words: &[&str]) -> Self {
        let mut command = command(program);
        command.arg("--http").args(words).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut log = BufReader::new(child.stderr.take().expect("its log")).lines();
        let line = soon("a port", log.next_line()).await.expect("text").expect("a line");
        let port = line.strip_prefix("listening ").expect("a port");
        let url = format!("http://127.0.0.1:{port}/mcp");
        let log = tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
        Self { url, _child: child, log }
    }

    /// Its entry in a configuration, with more members.
    pub fn entry(&self, more: Value) -> Value {
        joined(json!({"url": self.url}), more)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.log.abort();
    }
}

/// The entry of a program with that conduct, and more members.
pub fn scripted(words: &[&str], more: Value) -> Value {
    joined(json!({"command": beside("scripted-server"), "args": words}), more)
}

fn joined(mut entry: Value, more: Value) -> Value {
    let Value::Object(more) = more else { return entry };
    for (key, value) in more {
        entry[key] = value;
    }
    entry
}

/// A program of the tests, which stands beside the gateway.
pub fn beside(name: &str) -> PathBuf {
    crate::temp_folder::program().with_file_name(name)
}
