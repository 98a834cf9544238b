//! Names, versions, lengths of time, variables, misspelt words and blocks.

use std::time::Duration;

use gantry_protocol::RawJson;
use serde_json::json;

use super::environment;
use crate::scripts::manifest::draft::{ExpandError, expand};
use crate::scripts::manifest::script::find_blocks;
use crate::scripts::manifest::{is_name, is_version};
use crate::suggestion::nearest;
use crate::units;

#[test]
fn names() {
    for name in ["a.b", "text.count", "a_1.b_2.c", "0.0", "_._"] {
        assert!(is_name(name), "{name}");
    }
    let long = format!("a.{}", "b".repeat(127));
    for name in ["", "a", ".", "a.", ".a", "a..b", "A.b", "a.b-c", "a/b.c", "a.b\n", "ä.b", &long]
    {
        assert!(!is_name(name), "{name}");
    }
}

#[test]
fn versions() {
    for version in ["0.0.0", "1.2.3", "10.20.30", "1.0.0-beta.1", "1.0.0-x-y", "1.0.0-0a"] {
        assert!(is_version(version), "{version}");
    }
    let wrong = [
        "",
        "1",
        "1.0",
        "1.0.0.0",
        "01.0.0",
        "1.0.x",
        "v1.0.0",
        "1.0.0-",
        "1.0.0-a..b",
        "1.0.0-01",
        "1.0.-1",
        "+1.0.0",
        "1.0.99999999999999999999",
        "1.0.0-ä",
    ];
    for version in wrong {
        assert!(!is_version(version), "{version}");
    }
}

#[test]
fn lengths_of_time() {
    let cases = [
        (json!(1500), Some(1_500)),
        (json!("500ms"), Some(500)),
        (json!("30s"), Some(30_000)),
        (json!("2 m"), Some(120_000)),
        (json!("1h"), Some(3_600_000)),
        (json!(0), None),
        (json!(-1), None),
        (json!(1.5), None),
        (json!("30"), None),
        (json!("0s"), None),
        (json!("s"), None),
        (json!("30 days"), None),
        (json!("99999999999999999h"), None),
        (json!(true), None),
    ];
    for (value, milliseconds) in cases {
        let read = units::duration(&RawJson::from(value.clone()));
        assert_eq!(read, milliseconds.map(Duration::from_millis), "{value}");
    }
}

#[test]
fn amounts_of_memory() {
    let cases = [
        (json!(4096), Some(4096)),
        (json!("512MB"), Some(512_000_000)),
        (json!("2 GiB"), Some(2 << 30)),
        (json!("1kB"), Some(1000)),
        (json!(0), None),
        (json!("0MB"), None),
        (json!("512"), None),
        (json!("512mb"), None),
        (json!(-1), None),
        (json!("99999999999GiB"), None),
    ];
    for (value, bytes) in cases {
        assert_eq!(units::size(&RawJson::from(value.clone())), bytes, "{value}");
    }
}

#[test]
fn variables() {
    let unset = |name: &str| Err(ExpandError::Unset(name.into()));
    let cases = [
        ("plain $HOME {x}", Ok("plain $HOME {x}")),
        ("Bearer ${TOKEN}!", Ok("Bearer secret!")),
        ("${TOKEN}${env:TOKEN}", Ok("secretsecret")),
        ("${MISSING:-else}${EMPTY:-too}", Ok("elsetoo")),
        ("[${EMPTY}${MISSING:-}]", Ok("[]")),
        ("${MISSING}", unset("MISSING")),
        ("${}", unset("")),
        ("${TOKEN", Err(ExpandError::Open)),
    ];
    for (text, expected) in cases {
        assert_eq!(expand(text, &environment), expected.map(str::to_owned), "{text}");
    }
}

#[test]
fn misspelt_words() {
    let known = ["inputSchema", "env", "command", "read_only"];
    let cases = [
        ("input_schema", Some("inputSchema")),
        ("inputShema", Some("inputSchema")),
        ("readOnly", Some("read_only")),
        ("comand", Some("command")),
        ("envs", Some("env")),
        ("parameters", None),
        ("", None),
    ];
    for (word, expected) in cases {
        assert_eq!(nearest(word, &known), expected, "{word}");
    }
}

#[test]
fn blocks() {
    type Found<'a> = &'a [(&'a str, usize, bool)];
    let cases: &[(&str, Found<'_>)] = &[
        ("", &[]),
        ("# /// other\n# a\n# ///\n", &[]),
        ("# /// script\n# a\n#\n# b\n# ///\n", &[("a\n\nb", 1, true)]),
        ("x\r\n# /// script\r\n# a\r\n# ///", &[("a", 2, true)]),
        ("# /// script\n# a\nx\n# ///\n", &[("a", 1, false)]),
        ("# /// script\n#a\n# ///\n", &[("", 1, false)]),
        ("# /// script\n# a\n# ///\n# b\n# ///\n", &[("a\n///\nb", 1, true)]),
        ("# /// script\n# ///\n\n# /// script\n# ///", &[("", 1, true), ("", 4, true)]),
    ];
    for (source, expected) in cases {
        let found = find_blocks(source.as_bytes());
        let found: Vec<_> = found
            .iter()
            .map(|it| (std::str::from_utf8(&it.text).unwrap(), it.line, it.closed))
            .collect();
        assert_eq!(found, *expected, "{source:?}");
    }
}
