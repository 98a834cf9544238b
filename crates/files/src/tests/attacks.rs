//! Nothing outside of the root can be reached. All of it runs as the user of the tests and, where that is
//! root, as an ordinary user too: for root, permissions protect nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Fixture, SECRET, path};
use crate::{
    Expected, FileError, FileKind, PathError, RelativePath, Removal, ScanOptions, UriError,
};
use crate::{file_uri, path_of_uri};

/// The user and group `nobody`.
const NOBODY: u32 = 65534;

#[test]
fn paths_that_are_none() {
    let cases = [
        ("", PathError::Empty),
        ("/etc/passwd", PathError::Absolute),
        ("..", PathError::DotSegment),
        ("../secret", PathError::DotSegment),
        ("folder/../../secret", PathError::DotSegment),
        ("folder/..", PathError::DotSegment),
        ("./file", PathError::DotSegment),
        ("folder//file", PathError::EmptySegment),
        ("folder/", PathError::EmptySegment),
        ("file\0.txt", PathError::Nul),
    ];
    for (text, expected) in cases {
        assert_eq!(RelativePath::new(text), Err(expected), "{text:?}");
    }
    assert_eq!(RelativePath::new("a/".repeat(2048) + "b"), Err(PathError::TooLong));
}

#[test]
fn uris_that_name_no_file_of_the_root() {
    let fixture = Fixture::new();
    let root = fixture.root.path();
    let below = |rest: &str| format!("file://{}/{rest}", root.display());
    let cases = [
        (below("../secret"), UriError::Path(PathError::DotSegment)),
        (below("%2e%2e/secret"), UriError::Path(PathError::DotSegment)),
        (below("folder/%2E%2E/%2e%2e/secret"), UriError::Path(PathError::DotSegment)),
        (below("..%2fsecret"), UriError::EncodedSeparator),
        (below("..%5csecret"), UriError::EncodedSeparator),
        (below("file%00.txt"), UriError::EncodedSeparator),
        (below("fi%le"), UriError::Encoding),
        (below("file%4"), UriError::Encoding),
        (below("/file"), UriError::Path(PathError::Absolute)),
        (below("folder//file"), UriError::Path(PathError::EmptySegment)),
        (below(""), UriError::Path(PathError::Empty)),
        ("file:///etc/passwd".to_owned(), UriError::Elsewhere),
        (format!("file://{}-beside/file", root.display()), UriError::Elsewhere),
        (format!("file://host{}/file", root.display()), UriError::NotAFile),
        (format!("http://{}/file", root.display()), UriError::NotAFile),
        ("file".to_owned(), UriError::NotAFile),
    ];
    for (uri, expected) in cases {
        assert_eq!(path_of_uri(root, &uri), Err(expected), "{uri}");
    }
    // Encoded twice: decoded once, it is a name with a percent sign, which no file has.
    let twice = path_of_uri(root, &below("%252e%252e%252fsecret")).expect("a name");
    assert!(matches!(fixture.root.read(&twice, None, 100), Err(FileError::NotFound)));
}

#[test]
fn links_that_lead_out() {
    let fixture = Fixture::new();
    let outside = fixture.outside();
    symlink(&outside, fixture.at("absolute")).expect("a link");
    symlink("../secret", fixture.at("relative")).expect("a link");
    symlink("..", fixture.at("up")).expect("a link");
    symlink("/", fixture.at("top")).expect("a link");
    symlink("relative", fixture.at("chain")).expect("a link");
    symlink("/proc/self/cwd", fixture.at("magic")).expect("a link");
    symlink("loop", fixture.at("loop")).expect("a link");
    symlink("../../secret", fixture.at("folder/deep")).expect("a link");
    let through = format!("top{}", outside.display());
    let cases = [
        "absolute",
        "relative",
        "up/secret",
        &through,
        "chain",
        "magic/secret",
        "loop",
        "folder/deep",
    ];
    for case in cases {
        let case = path(case);
        let read = fixture.root.read(&case, None, 100);
        assert!(read.is_err(), "{case}: {read:?}");
        let written = fixture.root.write(&case, b"overwritten", &Expected::Any);
        assert!(written.is_err(), "{case}: {written:?}");
        assert!(fixture.is_secret_whole(), "{case}");
    }
    for removal in [Removal::Delete, Removal::Trash] {
        let removed = fixture.root.remove(&path("up/secret"), &Expected::Any, removal);
        assert!(removed.is_err(), "{removed:?}");
    }
    let scan = fixture.root.scan(None, &ScanOptions::default(), || true).expect("a scan");
    let found: Vec<_> = scan.files.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(found, ["file"], "links that lead out are not listed");
    assert!(fixture.is_secret_whole());
}

#[test]
fn links_that_stay_inside() {
    let fixture = Fixture::new();
    symlink("../file", fixture.at("folder/link")).expect("a link");
    let read = fixture.root.read(&path("folder/link"), None, 100).expect("a file");
    assert_eq!(read.bytes, b"inside");
    let written = fixture.root.write(&path("folder/link"), b"new", &Expected::Any);
    assert!(matches!(written, Err(FileError::IsLink)), "{written:?}");
}

#[test]
fn what_is_no_regular_file() {
    let fixture = Fixture::new();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, fixture.at("fifo"), rustix::fs::FileType::Fifo, mode, 0)
        .expect("a FIFO");
    let _socket = std::os::unix::net::UnixListener::bind(fixture.at("socket")).expect("a socket");
    for (name, kind) in
        [("fifo", FileKind::Other), ("socket", FileKind::Other), ("folder", FileKind::Folder)]
    {
        // A FIFO without a writer would let a read wait for ever.
        let read = fixture.root.read(&path(name), None, 100);
        assert!(matches!(&read, Err(FileError::NotAFile(it)) if *it == kind), "{name}: {read:?}");
        let written = fixture.root.write(&path(name), b"x", &Expected::Any);
        assert!(matches!(&written, Err(FileError::NotAFile(_))), "{name}: {written:?}");
        let removed = fixture.root.remove(&path(name), &Expected::Any, Removal::Delete);
        assert!(matches!(&removed, Err(FileError::NotAFile(_))), "{name}: {removed:?}");
    }
}

#[test]
fn a_folder_that_becomes_a_link_and_back_all_the_time() {
    let fixture = Fixture::new();
    fs::create_dir(fixture.folder.join("elsewhere")).expect("a folder");
    fs::write(fixture.folder.join("elsewhere/file"), SECRET).expect("a file");
    fs::write(fixture.at("folder/file"), "inside").expect("a file");
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                // Nothing here may fail the test: the other thread has a folder, a link or nothing.
                let _ = fs::rename(fixture.at("folder"), fixture.at("aside"));
                let _ = symlink("../elsewhere", fixture.at("folder"));
                let _ = fs::remove_file(fixture.at("folder"));
                let _ = fs::rename(fixture.at("aside"), fixture.at("folder"));
            }
        });
        let target = path("folder/file");
        for round in 0..3_000 {
            if let Ok(read) = fixture.root.read(&target, None, 100) {
                assert_ne!(read.bytes, SECRET.as_bytes(), "round {round}");
            }
            if round % 10 == 0 {
                let _ = fixture.root.write(&target, b"inside", &Expected::Any);
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let beside = fs::read_to_string(fixture.folder.join("elsewhere/file")).expect("a file");
    assert_eq!(beside, SECRET);
    assert_eq!(super::names(&fixture.folder.join("elsewhere")), ["file"]);
}

#[test]
fn a_root_that_is_replaced() {
    let fixture = Fixture::new();
    fs::rename(fixture.root.path(), fixture.folder.join("moved")).expect("a rename");
    assert!(!fixture.root.is_in_place());
    symlink(&fixture.folder, fixture.folder.join("root")).expect("a link");
    // The descriptor stays on the folder that was opened; nothing is looked up by the path again.
    let secret = fixture.root.read(&path("secret"), None, 100);
    assert!(matches!(secret, Err(FileError::RootGone)), "{secret:?}");
    fs::remove_dir_all(fixture.folder.join("moved")).expect("removed");
    let gone = fixture.root.read(&path("file"), None, 100);
    assert!(matches!(gone, Err(FileError::RootGone)), "{gone:?}");
}

#[test]
fn other_letters_are_other_names() {
    let fixture = Fixture::new();
    for name in ["FILE", "File", "file ", "file."] {
        let read = fixture.root.read(&path(name), None, 100);
        assert!(matches!(read, Err(FileError::NotFound)), "{name}: {read:?}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "this test program is started again, and waited for")]
fn the_same_as_an_ordinary_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // The folder of the tests may be closed to others.
    let folder =
        std::env::temp_dir().join(format!("gantry-files-user-{:016x}", rand::random::<u64>()));
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("permissions");
    let program = folder.join("tests");
    fs::copy(std::env::current_exe().expect("this program"), &program).expect("a copy");
    let mut command = Command::new(&program);
    command.args(["tests::attacks", "--test-threads", "1"]).current_dir("/");
    let output = command.uid(NOBODY).gid(NOBODY).output().expect("the tests run");
    let _ = fs::remove_dir_all(&folder);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("passed"), "{text}");
}

proptest::proptest! {
    #[test]
    fn uris_of_files_lead_back(name in "[^/\0]{1,40}", folder in "[a-z%. ]{1,8}") {
        let text = format!("{folder}/{name}");
        if let Ok(path) = RelativePath::new(text) {
            let root = std::path::Path::new("/a root/with %20");
            let uri = file_uri(root, &path);
            // A backslash in a name cannot be told from a separator by other readers.
            match name.contains('\\') {
                true => assert!(path_of_uri(root, &uri).is_err()),
                false => assert_eq!(path_of_uri(root, &uri), Ok(path)),
            }
        }
    }

    #[test]
    fn no_uri_leaves_the_root(rest in ".{0,60}") {
        let root = std::path::Path::new("/root");
        if let Ok(path) = path_of_uri(root, &format!("file:///root/{rest}")) {
            let segments: Vec<_> = path.as_path().components().collect();
            assert!(segments.iter().all(|it| matches!(it, std::path::Component::Normal(_))), "{path}");
        }
    }
}
