//! What is hidden, what is left, and that JSON stays JSON.

use std::time::{Duration, Instant};

use super::*;

#[test]
fn what_has_the_shape_of_a_secret_is_hidden() {
    let cases = [
        ("key ghp_0123456789abcdef0123 given", "key … given"),
        ("Authorization: Bearer abc.def-0123456789", "Authorization: Bearer …"),
        ("password=hunter2hunter2", "password=…"),
        (r#"{"api_key":"a1b2c3d4e5","n":1}"#, r#"{"api_key":"…","n":1}"#),
        (r#"{\"token\":\"a1b2c3d4e5\"}"#, r#"{\"token\":\"…\"}"#),
        ("token: 0123456789abcdef", "token: …"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLWhlcmU", "…"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----…-----END RSA PRIVATE KEY-----",
        ),
        ("https://host/?api-key=abcdef0123&b=1", "https://host/?api-key=…&b=1"),
    ];
    for (text, expected) in cases {
        assert_eq!(Redactor::default().text(text), expected, "{text}");
    }
}

#[test]
fn ordinary_text_is_left_alone() {
    let cases = [
        "the commit 9fceb02d0ae598e95dc970b74767f19372d61af8 is fine",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "a token: string, the secret of success",
        "sk-learn is a library, skip-level",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB",
        r#"{"private":true,"key":"name","token":"opaque"}"#,
        "",
    ];
    for text in cases {
        assert!(matches!(Redactor::default().text(text), Cow::Borrowed(_)), "{text}");
    }
}

#[test]
fn known_secrets_are_hidden_wherever_they_stand() {
    let lines = "-----BEGIN-----\nfirst line of several\nshort line\nlast line of several\n";
    let redactor = Redactor::new(["abcdef", "abcdefgh", "short", "se\"cret", "", "xyz", lines]);
    let cases = [
        (r#"{"a":"xabcdefghx"}"#, r#"{"a":"x…x"}"#),
        (r#"{"a":"my se\"cret"}"#, r#"{"a":"my …"}"#),
        (r#"{"a":"short"}"#, r#"{"a":"…"}"#),
        (r#"{"a":"a short=shorter short_ xyz"}"#, r#"{"a":"a …=shorter short_ xyz"}"#),
        (r#"{"a":"last line of several!"}"#, r#"{"a":"…!"}"#),
        (r#"{"abcdef":1}"#, r#"{"…":1}"#),
    ];
    for (value, expected) in cases {
        assert_eq!(redactor.json(RawJson::from_static(value)).as_str(), expected);
    }
    let number = Redactor::new(["123456"]).json(RawJson::from_static(r#"{"a":123456}"#));
    assert_eq!(number.as_str(), r#""…""#, "what is no JSON any more is hidden whole");
}

#[test]
fn values_are_shown_but_for_secrets() {
    let redactor = Redactor::new(["known-phrase"]);
    let cases = [
        (
            r#"{ "path":"/tmp/a", "n":1.50, "b": [true, null] }"#,
            r#"{"path":"/tmp/a","n":1.50,"b":[true,null]}"#,
        ),
        (r#"{"password":"x","token":true}"#, r#"{"password":"…","token":true}"#),
        (
            r#"{"API_KEY":12,"accessKey":"x","Cookie":"y"}"#,
            r#"{"API_KEY":"…","accessKey":"…","Cookie":"…"}"#,
        ),
        (
            r#"{"auth":{"accessToken":"x","user":"u"}}"#,
            r#"{"auth":{"accessToken":"…","user":"u"}}"#,
        ),
        (r#"{"max_tokens":5,"keyboard":"k"}"#, r#"{"max_tokens":5,"keyboard":"k"}"#),
        (r#"{"my_secret":{"deep":[1]}}"#, r#"{"my_secret":"…"}"#),
        (r#"{"\u0074oken":"x"}"#, r#"{"token":"…"}"#),
        (r#"["sk-0123456789abcdef!","a known-phrase","\n"]"#, r#"["…!","a …","\n"]"#),
        (r#"{"known-phrase":1}"#, r#"{"…":1}"#),
    ];
    for (given, expected) in cases {
        assert_eq!(redactor.value(&RawJson::from_static(given)).as_str(), expected, "{given}");
    }
}

#[test]
fn command_lines_are_shown_without_secrets_of_any_length() {
    let redactor = Redactor::new(["abcdef", "word", "xyz", "7"]);
    let cases = [
        ("xyz", "…"),
        ("--level=7", "--level=…"),
        ("-n7", "-n7"),
        ("xyzzy", "xyzzy"),
        ("preabcdefpost", "pre…post"),
        ("http://a/word/7/17", "http://a/…/…/17"),
        ("--api-key=anything", "--api-key=…"),
    ];
    for (argument, expected) in cases {
        let shown = redactor.arguments(&[argument.to_owned()]);
        assert_eq!(shown, [expected], "{argument}");
    }
    let line = ["--token", "anything", "rest"].map(str::to_owned);
    assert_eq!(redactor.arguments(&line), ["--token", "…", "rest"]);
}

/// A server writes its errors as it likes, and they are searched in linear time.
#[test]
fn no_text_takes_longer_than_it_is_long() {
    let redactor = Redactor::new(["a-known-secret"]);
    let cases = [
        ("PRIVATE KEY-----x-----END", 80_000),
        ("PRIVATE KEY-----", 120_000),
        ("-----BEGIN", 200_000),
        ("-----BEGIN PRIVATE KEY-----x-----END", 60_000),
        ("token=", 300_000),
        ("eyJ.", 500_000),
        ("a.", 1_000_000),
        ("Bearer ", 300_000),
    ];
    for (part, times) in cases {
        let text = part.repeat(times);
        let started = Instant::now();
        let _ = redactor.text(&text);
        assert!(started.elapsed() < Duration::from_secs(5), "{part}: {:?}", started.elapsed());
    }
}
