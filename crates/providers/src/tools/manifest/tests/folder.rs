//! Folders with tools and with other things in them.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::super::{read_file, scan};
use super::{Folder, HEAD, environment, json_with, script};

#[test]
fn files_that_are_no_tool() {
    let cases = [
        ("a.py", "print('tool.gantry')\n"),
        ("b.py", "# /// script\n# dependencies = ['gantry']\n# ///\n"),
        ("c.py", "# /// script\n# dependencies = ['gantry'\n# ///\n"),
        ("d.py", "# /// script\n# [tool.other]\n# name = 'gantry'\n# ///\n"),
        ("e.json", "{}"),
        ("tool.json.bak", "{}"),
        ("README.md", "[tool.gantry]"),
    ];
    for (name, text) in cases {
        assert!(Folder::new().with(name, text).read(name).is_none(), "{name}");
    }
    assert!(read_file(Path::new("/"), &environment).is_none());
}

#[test]
fn a_folder() {
    let tool = |name: &str| json_with(&json!({"name": name, "command": "sh"}));
    let elsewhere =
        Folder::new().with("out.tool.json", tool("x.out")).with("d/tool.json", tool("x.d"));
    let folder = Folder::new()
        .with("b.tool.json", tool("x.b"))
        .with("a.py", script(&format!("{HEAD}input = {{}}")))
        .with("c/tool.json", tool("x.c"))
        .with("c/deeper/tool.json", tool("x.deeper"))
        .with("c/other.tool.json", tool("x.other"))
        .with("e.tool.json", tool("x.b"))
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
    let (names, problems) = folder.scan();
    assert_eq!(names, ["text.count", "x.b", "x.c", "x.hidden"]);
    let expected = [
        "e.tool.json: the name `x.b` is taken by b.tool.json; give one of the two another name",
        "f.tool.json:1: the manifest is not valid JSON: EOF while parsing an object; correct the \
         JSON here",
    ];
    assert_eq!(problems, expected);
}

#[test]
fn a_socket_is_passed_over() {
    let folder = Folder::new();
    let socket = UnixListener::bind(folder.0.join("a.py")).unwrap();
    assert_eq!(folder.scan(), (Vec::new(), Vec::new()));
    drop(socket);
}

#[test]
fn folders_that_cannot_be_read_whole() {
    let (_, problems) = scan(Path::new("/no/such/folder"), &environment);
    assert!(problems[0].to_string().starts_with("/no/such/folder: the folder cannot be read: "));
    let crowded = Folder::new();
    for number in 0..=10_000 {
        fs::write(crowded.0.join(number.to_string()), "").unwrap();
    }
    let (_, problems) = crowded.scan();
    assert!(problems[0].contains("has more than 10000 files"), "{problems:?}");
}
