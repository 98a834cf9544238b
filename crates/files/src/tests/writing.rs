//! What writes and removals leave behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Fixture, names, path};
use crate::{Expected, FileError, Removal, Version};

#[test]
fn created_and_replaced_are_told_apart() {
    let fixture = Fixture::new();
    let new = path("new/folders/file");
    let created = fixture.root.write(&new, b"one", &Expected::Any).expect("written");
    assert_eq!(created.before, None);
    let replaced = fixture.root.write(&new, b"two", &Expected::Any).expect("written");
    assert_eq!(replaced.before, Some(Version::of_content(b"one")));
    assert_eq!(fs::read(fixture.at("new/folders/file")).expect("a file"), b"two");
    assert_eq!(names(&fixture.at("new/folders")), ["file"], "no temporary file is left");
}

#[test]
fn a_lost_update_is_a_conflict() {
    let fixture = Fixture::new();
    let file = path("file");
    let read = fixture.root.read(&file, None, 100).expect("contents");
    let first = Expected::Version(read.version);
    fixture.root.write(&file, b"first", &first).expect("nobody was faster");
    let second = fixture.root.write(&file, b"second", &first);
    let now = Version::of_content(b"first");
    assert!(matches!(&second, Err(FileError::Conflict { found: Some(it) }) if *it == now));
    let absent = fixture.root.write(&file, b"third", &Expected::Absent);
    assert!(matches!(absent, Err(FileError::Conflict { found: Some(_) })));
    let gone = fixture.root.write(&path("no/such"), b"x", &first);
    assert!(matches!(gone, Err(FileError::Conflict { found: None })));
    assert!(!fixture.at("no").exists(), "no folder is made for a write that is refused");
    let removed = fixture.root.remove(&file, &first, Removal::Delete);
    assert!(matches!(removed, Err(FileError::Conflict { .. })));
    assert_eq!(fs::read(fixture.at("file")).expect("a file"), b"first");
}

#[test]
fn of_many_writers_of_one_version_one_succeeds() {
    let fixture = Fixture::new();
    let expected = Expected::Version(Version::of_content(b"inside"));
    let succeeded = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (fixture, expected, succeeded) = (&fixture, &expected, &succeeded);
            scope.spawn(move || {
                let content = format!("writer {number}");
                if fixture.root.write(&path("file"), content.as_bytes(), expected).is_ok() {
                    succeeded.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(succeeded.into_inner(), 1);
}

#[test]
fn permissions_stay() {
    let fixture = Fixture::new();
    fs::set_permissions(fixture.at("file"), fs::Permissions::from_mode(0o750))
        .expect("permissions");
    fixture.root.write(&path("file"), b"new", &Expected::Any).expect("written");
    let mode = fs::metadata(fixture.at("file")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o7777, 0o750);
}

#[test]
fn removed_or_put_into_the_trash() {
    let fixture = Fixture::new();
    fs::write(fixture.at("folder/other"), "other").expect("a file");
    let version =
        fixture.root.remove(&path("file"), &Expected::Any, Removal::Delete).expect("removed");
    assert_eq!(version, Version::of_content(b"inside"));
    assert!(!fixture.at("file").exists());
    fixture.root.remove(&path("folder/other"), &Expected::Any, Removal::Trash).expect("removed");
    let [kept] = &names(&fixture.at(".gantry-trash"))[..] else { panic!("one file in the trash") };
    assert!(kept.ends_with("-other"), "{kept}");
    let again = fixture.root.remove(&path("file"), &Expected::Any, Removal::Delete);
    assert!(matches!(again, Err(FileError::NotFound)));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "this test program is started again, and waited for")]
fn a_full_disk_leaves_the_file_as_it_was() {
    // The kernel's own full disk needs a mount; a limit on the size of files fails at the same place.
    if std::env::var_os("GANTRY_FILES_LIMITED").is_none() {
        let program = std::env::current_exe().expect("this program");
        let line = "ulimit -f 1; trap '' XFSZ; exec \"$0\" --exact tests::writing::a_full_disk_leaves_the_file_as_it_was";
        let mut command = std::process::Command::new("sh");
        command.args(["-c", line]).arg(program).env("GANTRY_FILES_LIMITED", "1");
        let output = command.output().expect("the test runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let fixture = Fixture::new();
    let written = fixture.root.write(&path("file"), &[b'x'; 100_000], &Expected::Any);
    assert!(written.is_err(), "{written:?}");
    assert_eq!(fs::read(fixture.at("file")).expect("a file"), b"inside");
    assert_eq!(names(fixture.root.path()), ["file", "folder"], "no part of the new file is left");
}
