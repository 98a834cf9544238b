//! Files that are no tool.

use std::path::Path;

use super::super::read_file;
use super::{Folder, environment};

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
    assert!(read_file(Path::new("/"), &environment).is_empty());
}
