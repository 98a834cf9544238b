//! What someone may do to a record without its key, and that it is found.

use std::fs;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sha2::{Digest, Sha256};

use super::Folder;

/// Lines that are changed, and what is said of it. Line 0 is the head, line 6 the foot.
#[test]
fn damage_is_found_and_named() {
    type Damage = fn(&mut Vec<String>);
    let cases: [(&str, Damage, &[&str]); 12] = [
        ("nothing", |_| {}, &[]),
        ("a byte", |lines| lines[3] = lines[3].replace("call", "cell"), &["record 3: changed"]),
        (
            "a number",
            |lines| lines[3] = lines[3].replace("\"n\":3", "\"n\":4"),
            &["record 3: changed"],
        ),
        ("a code", |lines| forge(&mut lines[3]), &["record 3: changed"]),
        ("a frame", |lines| lines[3].insert(0, ' '), &["record 3: changed"]),
        ("one removed", |lines| drop(lines.remove(3)), &["record 3: removed"]),
        ("two removed", |lines| drop(lines.drain(3..5)), &["records 3 to 4: removed"]),
        ("two swapped", |lines| lines.swap(2, 3), &["record 2: moved behind a later one"]),
        (
            "one doubled",
            |lines| lines.insert(3, lines[3].clone()),
            &["record 3: there more than once"],
        ),
        ("the end cut", |lines| lines.truncate(5), &["records 5 to 6: cut off at the end"]),
        ("a line added", |lines| lines.push("{}".to_owned()), &["something was added"]),
        ("the head removed", |lines| drop(lines.remove(0)), &["record 0: removed"]),
    ];
    for (case, damage, expected) in cases {
        let folder = Folder::new();
        folder.write(5);
        let segment = folder.segments().remove(0);
        let text = fs::read_to_string(&segment).expect("a volume");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 7, "{text}");
        damage(&mut lines);
        fs::write(&segment, lines.join("\n") + "\n").expect("a file");
        let found = folder.complaints();
        let is_expected = expected.iter().all(|it| found.iter().any(|found| found.contains(it)));
        assert!(is_expected && found.is_empty() == expected.is_empty(), "{case}: {found:?}");
        let most = expected.len().max(usize::from(case == "a line added") * 2);
        assert!(found.len() <= most, "{case}: {found:?}");
    }
}

/// Puts a code that only a key could have made right.
fn forge(line: &mut String) {
    let at = line.find(",\"mac\"").expect("a code");
    let hash = Sha256::digest(&line.as_bytes()[..at]);
    let code: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    line.truncate(at);
    line.push_str(&format!(",\"mac\":\"{code}\"}}"));
}

#[test]
fn a_record_made_again_without_the_key_is_found() {
    let folder = Folder::new();
    folder.write(5);
    let segment = folder.segments().remove(0);
    let text = fs::read_to_string(&segment).expect("a volume");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[2] = lines[2].replace("\"call\":1", "\"call\":9");
    lines.iter_mut().skip(2).for_each(forge);
    fs::write(&segment, lines.join("\n") + "\n").expect("a file");
    let found = folder.complaints();
    assert!(found.contains(&"records 2 to 6: changed".to_owned()), "{found:?}");
    lines.iter_mut().take(2).for_each(forge);
    fs::write(&segment, lines.join("\n") + "\n").expect("a file");
    let found = folder.complaints();
    assert!(found[0].contains("another key"), "{found:?}");
}

#[test]
fn volumes_are_missed_when_they_go() {
    type Damage = fn(&Folder);
    let cases: [(&str, Damage, &str); 6] = [
        (
            "removed",
            |folder| fs::remove_file(&folder.segments()[0]).expect("a file"),
            "was removed",
        ),
        (
            "renamed",
            |folder| {
                let segment = folder.segments().remove(0);
                fs::rename(&segment, segment.with_file_name("1.jsonl")).expect("a file");
            },
            "renamed",
        ),
        (
            "exchanged",
            |folder| {
                let segments = folder.segments();
                fs::copy(&segments[0], &segments[1]).expect("a file");
            },
            "renamed",
        ),
        (
            "unlisted",
            |folder| fs::remove_file(folder.path().join("index.jsonl")).expect("a file"),
            "not in the index",
        ),
        (
            "index cut",
            |folder| {
                let index = folder.path().join("index.jsonl");
                let text = fs::read_to_string(&index).expect("a list");
                let kept: Vec<&str> = text.lines().take(2).collect();
                fs::write(index, kept.join("\n") + "\n").expect("a file");
            },
            "not in the index",
        ),
        (
            "index changed",
            |folder| {
                let index = folder.path().join("index.jsonl");
                let text = fs::read_to_string(&index).expect("a list");
                fs::write(index, text.replacen("closed", "opened", 1)).expect("a file");
            },
            "record 1: changed",
        ),
    ];
    for (case, damage, expected) in cases {
        let folder = Folder::new();
        folder.write(3);
        folder.write(3);
        assert_eq!(folder.complaints(), Vec::<String>::new(), "{case}");
        damage(&folder);
        let found = folder.complaints();
        assert!(found.iter().any(|it| it.contains(expected)), "{case}: {found:?}");
    }
}

#[test]
fn any_change_of_a_byte_is_found() {
    let folder = Folder::new();
    folder.write(4);
    let files = [folder.path().join("index.jsonl"), folder.segments().remove(0)];
    let config = ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() };
    let changes = (0.0..1.0_f64, 1..=255_u8, 0..files.len());
    let found = TestRunner::new(config).run(&changes, |(offset, change, file)| {
        let sound = fs::read(&files[file]).expect("a file");
        let at = (offset * sound.len() as f64) as usize;
        let mut bytes = sound.clone();
        bytes[at] ^= change;
        fs::write(&files[file], &bytes).expect("a file");
        let found = folder.complaints();
        fs::write(&files[file], &sound).expect("a file");
        prop_assert!(!found.is_empty(), "byte {at} of {}", sound.len());
        Ok(())
    });
    found.expect("every change is found");
    assert_eq!(folder.complaints(), Vec::<String>::new());
}
