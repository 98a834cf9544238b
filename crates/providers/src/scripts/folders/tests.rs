//! Folders with tools and with other things in them, looked at more than once.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;

use super::Folders;
use crate::scripts::manifest::tests::{Folder, HEAD, json_with, script};

fn tool(name: &str) -> String {
    json_with(&json!({"name": name, "command": "sh"}))
}

/// The names of the tools that a look finds, and the problems with paths seen from the folder.
fn scan(folder: &Folder) -> (Vec<String>, Vec<String>) {
    let mut folders = Folders::new(vec![folder.0.clone()]);
    folders.scan();
    let place = format!("{}/", folder.0.display());
    let problems = folders.latest().problems.iter();
    let problems = problems.map(|it| it.to_string().replace(&place, "")).collect();
    (names(&folders), problems)
}

fn names(folders: &Folders) -> Vec<String> {
    folders.latest().manifests.iter().map(|it| it.name.clone()).collect()
}

#[test]
fn a_folder() {
    let elsewhere =
        Folder::new().with("out.tool.json", tool("x.out")).with("d/tool.json", tool("x.d"));
    let folder = Folder::new()
        .with("b.tool.json", tool("x.b"))
        .with("a.py", script(&format!("{HEAD}input = {{}}\noutput = {{}}")))
        .with("c/tool.json", tool("x.c"))
        .with("c/deeper/tool.json", tool("x.deeper"))
        .with("c/other.tool.json", tool("x.other"))
        .with("f.tool.json", "{")
        .with(".hidden.tool.json", tool("x.hidden"))
        .with(".cache/tool.json", tool("x.cache"))
        .with("empty/readme", "")
        .with("linked/readme", "");
    let link = |target: PathBuf, name: &str| symlink(target, folder.0.join(name)).unwrap();
    link(elsewhere.0.join("out.tool.json"), "out.tool.json");
    link(elsewhere.0.join("d"), "d");
    link(elsewhere.0.join("d/tool.json"), "linked/tool.json");
    link(folder.0.join(".hidden.tool.json"), "inside.tool.json");
    link(folder.0.join("nowhere"), "broken.tool.json");
    fs::create_dir(folder.0.join("folder.py")).unwrap();
    let (names, problems) = scan(&folder);
    assert_eq!(names, ["text.count", "x.b", "x.c", "x.hidden"]);
    let expected = [
        "f.tool.json:1: the manifest is not valid JSON: EOF while parsing an object; correct the \
         JSON here",
    ];
    assert_eq!(problems, expected);
}

#[test]
fn a_socket_is_passed_over() {
    let folder = Folder::new();
    let socket = UnixListener::bind(folder.0.join("a.py")).unwrap();
    assert_eq!(scan(&folder), (Vec::new(), Vec::new()));
    drop(socket);
}

#[test]
fn folders_that_cannot_be_read_whole() {
    let mut gone = Folders::new(vec!["/no/such/folder".into()]);
    gone.scan();
    let problem = gone.latest().problems[0].to_string();
    assert!(problem.starts_with("/no/such/folder: the folder cannot be read: "), "{problem}");
    let crowded = Folder::new();
    for number in 0..=10_000 {
        fs::write(crowded.0.join(number.to_string()), "").unwrap();
    }
    let (_, problems) = scan(&crowded);
    assert!(problems[0].contains("has more than 10000 files"), "{problems:?}");
}

#[test]
fn only_what_changed_is_read_again() {
    let folder = Folder::new().program("count");
    let own = json_with(&json!({"name": "x.own", "command": "./count"}));
    let folder = folder.with("a.tool.json", tool("x.a")).with("own.tool.json", own);
    let mut folders = Folders::new(vec![folder.0.clone()]);
    assert!(folders.scan());
    assert!(!folders.scan(), "nothing happened");
    let before = folders.latest().manifests.clone();

    let folder = folder.with("b.tool.json", tool("x.b"));
    assert!(folders.scan());
    assert_eq!(names(&folders), ["x.a", "x.b", "x.own"]);
    assert!(Arc::ptr_eq(&before[0], &folders.latest().manifests[0]), "it was not read again");

    fs::remove_file(folder.0.join("count")).unwrap();
    assert!(folders.scan(), "its program is gone");
    assert_eq!((names(&folders).len(), folders.latest().problems.len()), (2, 1));
    let folder = folder.program("count");
    assert!(folders.scan(), "its program is back");
    assert_eq!(names(&folders), ["x.a", "x.b", "x.own"]);

    fs::remove_file(folder.0.join("a.tool.json")).unwrap();
    assert!(folders.scan());
    assert_eq!(names(&folders), ["x.b", "x.own"]);
}

/// A file that is the same is read again after the time that its tools say, and after no other.
#[test]
fn a_file_is_read_again_when_its_tools_say() {
    for (cache_ttl, is_read_again) in [(json!(0), true), (json!(1000), false), (json!(null), false)]
    {
        let manifest =
            json!({"name": "x.a", "command": "sh", "metadata": {"cache_ttl": cache_ttl}});
        let folder = Folder::new().with("a.tool.json", json_with(&manifest));
        let file = folder.0.join("a.tool.json");
        let mut folders = Folders::new(vec![folder.0.clone()]);
        folders.scan();
        let (first, manifest) = (folders.read[&file].read, folders.latest().manifests[0].clone());
        assert!(!folders.scan(), "{cache_ttl}: it says the same");
        assert_eq!(folders.read[&file].read > first, is_read_again, "{cache_ttl}");
        assert!(Arc::ptr_eq(&folders.latest().manifests[0], &manifest), "{cache_ttl}");
    }
}
