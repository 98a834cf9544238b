//! What reads return.

use std::fs;

use super::{Fixture, path};
use crate::{FileError, ReadRange, Version};

#[test]
fn whole_files_and_ranges() {
    let fixture = Fixture::new();
    fs::write(fixture.at("digits"), "0123456789").expect("a file");
    let digits = path("digits");
    let cases = [
        (None, "0123456789"),
        (Some((0, None)), "0123456789"),
        (Some((3, Some(6))), "345"),
        (Some((8, Some(100))), "89"),
        (Some((10, None)), ""),
        (Some((5, Some(2))), ""),
    ];
    for (range, expected) in cases {
        let range = range.map(|(start, end)| ReadRange { start, end });
        let read = fixture.root.read(&digits, range, 100).expect("contents");
        assert_eq!(String::from_utf8_lossy(&read.bytes), expected, "{range:?}");
        assert_eq!(read.status.size, 10);
    }
    let read = fixture.root.read(&digits, None, 100).expect("contents");
    assert_eq!(read.version, Version::of_content(b"0123456789"));
    assert_eq!(Version::parse(read.version.as_str()), Some(read.version));
}

#[test]
fn refusals() {
    let fixture = Fixture::new();
    fs::write(fixture.at("digits"), "0123456789").expect("a file");
    let read = |name: &str, range: Option<(u64, Option<u64>)>, limit| {
        let range = range.map(|(start, end)| ReadRange { start, end });
        fixture.root.read(&path(name), range, limit).expect_err("a refusal")
    };
    assert!(matches!(read("digits", None, 9), FileError::TooLarge { size: 10, limit: 9, .. }));
    assert!(matches!(read("digits", Some((0, Some(8))), 7), FileError::TooLarge { size: 8, .. }));
    assert!(matches!(
        read("digits", Some((11, None)), 9),
        FileError::Range { start: 11, size: 10 }
    ));
    assert!(matches!(read("missing", None, 9), FileError::NotFound));
    assert!(matches!(read("digits/more", None, 9), FileError::NotAFolder));
    assert!(matches!(read(&"n".repeat(300), None, 9), FileError::NameTooLong));
    // 4 GB that take no space: the size is known before anything is read.
    let large = fs::File::create(fixture.at("large")).expect("a file");
    large.set_len(4 << 30).expect("a sparse file");
    assert!(matches!(
        read("large", None, 1 << 20),
        FileError::TooLarge { size: 4_294_967_296, .. }
    ));
    let part = ReadRange { start: (4 << 30) - 3, end: None };
    let part = fixture.root.read(&path("large"), Some(part), 1 << 20).expect("the end");
    assert_eq!(part.bytes, [0; 3]);
}
