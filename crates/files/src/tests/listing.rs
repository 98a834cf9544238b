//! Which files are listed.

use std::fs;

use super::{Fixture, path};
use crate::ScanOptions;

fn listed(fixture: &Fixture, options: &ScanOptions) -> Vec<String> {
    let scan = fixture.root.scan(None, options, || true).expect("a scan");
    let mut files: Vec<_> = scan.files.iter().map(|file| file.path.to_string()).collect();
    files.sort();
    for file in &files {
        assert!(fixture.root.is_listed(&path(file), options), "{file} is listed");
    }
    files
}

#[test]
fn rules_of_gitignore() {
    let fixture = Fixture::new();
    let files = [
        ".gitignore",
        ".hidden",
        "a.log",
        "keep.log",
        "folder/b.log",
        "folder/.gitignore",
        "folder/c.txt",
        "target/out",
        "folder/target",
        ".git/config",
        ".gantry-write-1",
        "x.tmp",
        ".ignore",
    ];
    for file in files {
        let at = fixture.at(file);
        fs::create_dir_all(at.parent().expect("a parent")).expect("a folder");
        fs::write(at, "x").expect("a file");
    }
    fs::write(fixture.at(".gitignore"), "*.log\n!keep.log\n/target/\n").expect("rules");
    fs::write(fixture.at(".ignore"), "*.tmp\n").expect("rules");
    fs::write(fixture.at("folder/.gitignore"), "!b.log\n").expect("rules");
    let options = ScanOptions::default();
    let ignored = ["a.log", ".hidden", "target/out", ".git/config", ".gantry-write-1", "x.tmp"];
    assert_eq!(
        listed(&fixture, &options),
        ["file", "folder/b.log", "folder/c.txt", "folder/target", "keep.log"]
    );
    for file in ignored {
        assert!(!fixture.root.is_listed(&path(file), &options), "{file} is not listed");
    }
    let all = ScanOptions { hidden: true, ignore_files: false, ..options };
    let all = listed(&fixture, &all);
    assert_eq!(all.len(), 12, "all but those of git and of unfinished writes: {all:?}");
}

#[test]
fn bounds() {
    let fixture = Fixture::new();
    for number in 0..20 {
        fs::write(fixture.at(&format!("folder/{number}")), "x").expect("a file");
    }
    fs::create_dir_all(fixture.at("a/b/c/d")).expect("folders");
    fs::write(fixture.at("a/b/c/d/deep"), "x").expect("a file");
    let few = ScanOptions { max_files: 10, ..ScanOptions::default() };
    let scan = fixture.root.scan(None, &few, || true).expect("a scan");
    assert_eq!((scan.files.len(), scan.is_cut), (10, true));
    let flat = ScanOptions { max_depth: 2, ..ScanOptions::default() };
    assert!(!listed(&fixture, &flat).iter().any(|file| file.contains("deep")));
    let mut folders = 0;
    let cancelled = fixture.root.scan(None, &ScanOptions::default(), || {
        folders += 1;
        folders < 2
    });
    assert!(cancelled.expect("a scan").files.len() < 22);
}
