//! Which spellings are refused, and that no other one leads out of a folder.

use proptest::prelude::*;

use super::*;

#[test]
fn spellings_that_may_mean_something_else_are_refused() {
    use UnsafeUri::{
        ControlCharacter, DotSegment, EncodedSeparator, Nested, NoAuthority, OddHost,
        UserInformation,
    };
    let cases = [
        ("file:///a/../b", Err(DotSegment)),
        ("file:///a/./b", Err(DotSegment)),
        ("file:///a/..", Err(DotSegment)),
        ("note://../a", Err(DotSegment)),
        ("x:..", Err(DotSegment)),
        ("file:///a/..\\b", Err(DotSegment)),
        ("file:///a/%2e%2E/b", Err(DotSegment)),
        ("file:///a/%252e./b", Err(DotSegment)),
        ("file:///a/..%2fb", Err(DotSegment)),
        ("file:///a%2fb", Err(EncodedSeparator)),
        ("file:///a%5Cb", Err(EncodedSeparator)),
        ("file:///a%255cb", Err(EncodedSeparator)),
        ("file:///a%c0%afb", Err(EncodedSeparator)),
        ("file:///a%00", Err(ControlCharacter)),
        ("file:///a\tb", Err(ControlCharacter)),
        ("file:///a%2525252525b", Err(Nested)),
        ("file:/a", Err(NoAuthority)),
        ("FILE:a", Err(NoAuthority)),
        ("file:\\\\\\a", Err(NoAuthority)),
        ("file:/\\a", Err(NoAuthority)),
        ("file://\\a", Err(OddHost)),
        ("file://%6cocalhost/a", Err(OddHost)),
        ("https:/host/a", Err(NoAuthority)),
        ("https:host/a", Err(NoAuthority)),
        ("https:\\\\host/a", Err(NoAuthority)),
        ("https:///host/a", Err(NoAuthority)),
        ("https://me@host/a", Err(UserInformation)),
        ("https://a@b@host/", Err(UserInformation)),
        ("https://x\\@host/", Err(OddHost)),
        ("https://host\\x", Err(OddHost)),
        ("https://\u{ff49}nternal/", Err(OddHost)),
        ("https://h%6fst/", Err(OddHost)),
        ("https://host../", Err(OddHost)),
        ("https://host:0443/", Err(OddHost)),
        ("https://host:44a/", Err(OddHost)),
        ("http://127.1/", Err(OddHost)),
        ("http://2130706433/", Err(OddHost)),
        ("http://0x7f.0.0.1/", Err(OddHost)),
        ("http://127.0.0.0x1/", Err(OddHost)),
        ("http://0177.0.0.1/", Err(OddHost)),
        ("http://[::ffff:127.0.0.1]/", Err(OddHost)),
        ("http://[::1/", Err(OddHost)),
        ("http://127.0.0.1:8080/", Ok(())),
        ("http://[::1]:80/", Ok(())),
        ("https://Host.example.:443/a", Ok(())),
        ("file://localhost/a", Ok(())),
        ("file://server/share/a", Ok(())),
        ("file:///a", Ok(())),
        ("file:///", Ok(())),
        ("file:///a/.hidden/...", Ok(())),
        ("file:///a..b/100%25/%", Ok(())),
        ("file:///a%20b/gr%C3%BC%C3%9Fe", Ok(())),
        ("test://static-text", Ok(())),
        ("test://template/123/data", Ok(())),
        ("https://host/a?next=../b%2Fc#./d", Ok(())),
        ("gantry://two/file:///a//b", Ok(())),
        ("urn:isbn:1", Ok(())),
        ("", Ok(())),
    ];
    for (uri, expected) in cases {
        assert_eq!(check(uri), expected, "{uri}");
    }
}

#[test]
fn one_form_for_all_spellings() {
    let cases = [
        ("file:///a/b", "file:///a/b"),
        ("FILE:///a//b", "file:///a/b"),
        ("file:///a/./b/../c", "file:///a/c"),
        ("file:///a\\b", "file:///a/b"),
        ("file:///%61%2D%2f%2a", "file:///a-%2F%2A"),
        ("file:///a/", "file:///a/"),
        ("file:///a/..", "file:///"),
        ("file:////", "file:///"),
        ("file://host//a", "file://host/a"),
        ("file:/a", "file:///a"),
        ("file:a", "file:a"),
        ("file://localhost/a", "file:///a"),
        ("file://LocalHost./a", "file:///a"),
        ("file://*", "file://*"),
        ("https://HOST.example:443/A", "https://host.example/A"),
        ("https://host.:/", "https://host/"),
        ("https://host..", "https://host"),
        ("http://host:8080/a", "http://host:8080/a"),
        ("http://host:443/a", "http://host:443/a"),
        ("http://[0:0::1]:80/", "http://[::1]/"),
        ("https://*.Example.com/*", "https://*.example.com/*"),
        ("https://host:*/x", "https://host:*/x"),
        ("note://Host:443/a", "note://Host:443/a"),
        ("x:one//two", "x:one/two"),
        ("x:a?b=c//../d%7e", "x:a?b=c//../d~"),
        ("gantry://b/file:///a", "gantry://b/file:/a"),
        ("file:///a/*", "file:///a/*"),
        ("*", "*"),
        ("*/secret//*", "*/secret/*"),
        // A stray `%` must not become an encoding with what is decoded behind it.
        ("%zz%", "%25zz%25"),
        ("%a%61", "%25aa"),
    ];
    for (uri, expected) in cases {
        assert_eq!(normalize(uri), expected, "{uri}");
        assert_eq!(normalize(expected), expected, "it is the last word");
    }
}

#[test]
fn the_host_of_a_file_must_be_that_of_its_template() {
    let cases = [
        ("file:///a", "file://{+path}", true),
        ("file://host/a", "file://{+path}", false),
        ("FILE://127.0.0.1/a", "file://{+path}", false),
        ("file://host/a", "file://host/{+path}", true),
        ("file://hostile/a", "file://host/{+path}", false),
        ("file://host/a", "{+uri}", false),
        ("https://host/a", "https://{+rest}", true),
        ("note://host/a", "note://{+rest}", true),
    ];
    for (uri, template, expected) in cases {
        // `localhost` is no other host, and refused all the same: nobody needs it.
        assert_eq!(check_host(uri, template).is_ok(), expected, "{uri} of {template}");
    }
}

#[test]
fn what_a_server_may_leave_out_at_the_end() {
    let cases = [
        ("file:///a/b", None),
        ("file:///", None),
        ("file:///a/b/", Some("file:///a/b")),
        ("file:///a/b#", Some("file:///a/b")),
        ("file:///a/b?c/d", Some("file:///a/b")),
        ("file:///a/b;c", Some("file:///a/b")),
        ("file:///a/b;c=d;e/", Some("file:///a/b;c=d;e")),
        ("file:///a/b/;c?d#e", Some("file:///a/b")),
        ("file:///a;b/c", None),
        ("https://host?x", None),
        ("urn:a#b", Some("urn:a")),
        ("", None),
    ];
    for (uri, expected) in cases {
        assert_eq!(without_ending(uri), expected, "{uri}");
    }
}

/// What a server finds that decodes so many times, takes `\` for `/` and follows dots.
fn found(uri: &str, decodings: usize) -> Vec<u8> {
    let mut path = uri.strip_prefix("file://").unwrap_or_default().as_bytes().to_vec();
    for _ in 0..decodings {
        path = decode(&path).unwrap_or(path);
    }
    let mut segments: Vec<&[u8]> = Vec::new();
    for segment in path.split(|byte| is_separator(*byte)) {
        match segment {
            b"" | b"." => {}
            b".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    [b"/".to_vec(), segments.join(&b'/')].concat()
}

proptest! {
    #[test]
    fn no_spelling_leads_out_of_a_folder(
        pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "/", "//", "\\", ".", "..", "%2e", "%2E", "%252e", "%2f", "%5c", "%252F", "%25",
                "%", "a", "%61", "2e", "secret", "public", "x y", "é",
            ]),
            0..12,
        ),
    ) {
        let uri = format!("file:///srv/public/{}", pieces.concat());
        let normal = normalize(&uri).into_owned();
        prop_assert_eq!(&*normalize(&normal), &*normal);
        if check(&uri).is_ok() {
            prop_assert!(normal.starts_with("file:///srv/public/"), "{}", normal);
            for decodings in 0..=ENCODINGS {
                let found = found(&uri, decodings);
                let is_inside = found.starts_with(b"/srv/public/") || found == b"/srv/public";
                prop_assert!(is_inside, "{} leads to {:?}", uri, found);
            }
        }
    }

    #[test]
    fn equal_spellings_have_one_form(text in "[a-z./%-]{0,20}", index in any::<prop::sample::Index>()) {
        let uri = format!("file:///srv/{text}");
        // Any one unreserved character written as its code is the same address.
        let letters: Vec<usize> = uri
            .char_indices()
            .skip("file:///".len())
            .filter(|(_, it)| it.is_ascii_lowercase())
            .map(|(at, _)| at)
            .collect();
        let at = letters[index.index(letters.len())];
        let before = &uri[..at];
        // Behind a `%` a letter may be a digit of a code.
        prop_assume!(!before.ends_with('%') && !before.get(at.saturating_sub(2)..).is_some_and(|it| it.starts_with('%')));
        let spelt = format!("{before}%{:02x}{}", uri.as_bytes()[at], &uri[at + 1..]);
        prop_assert_eq!(normalize(&spelt), normalize(&uri));
    }
}
