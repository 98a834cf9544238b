//! The limits on calls.

use std::time::Duration;

use gantry_policy::{
    BreakerSettings, ConcurrencySettings, DailySettings, DefaultRate, LimitSettings, Patterns, Rate,
};

use crate::config::tests::parse;

fn rate(text: &str) -> Option<Rate> {
    Some(text.parse().expect("a rate"))
}

fn by<T: Copy>(values: &[(&str, Option<T>)]) -> Patterns<Option<T>> {
    Patterns::new(values.iter().map(|(name, value)| ((*name).to_owned(), *value)))
}

fn read(text: &str) -> LimitSettings {
    let config = parse(&format!(r#"{{"limits": {text}}}"#)).expect(text);
    config.limits.expect("limits").settings
}

#[test]
fn everything() {
    let text = r#"{"default": "100/min burst 5", "perTool": {"a_*": "60/min", "b": "off"},
        "perServer": {"s": "5/s"}, "perPrincipal": {"*": "1000/h"}, "overall": "50/s",
        "refused": "9/min",
        "arguments": "1MiB", "response": 2048,
        "concurrency": {"default": 8, "perTool": {"a": 1}, "perServer": {"s": 2},
            "perPrincipal": {"me": "off"}, "overall": 9, "queue": 3, "wait": "5s"},
        "daily": {"perTool": {"a": 7}, "perPrincipal": {"*": 100}},
        "breaker": {"failures": 2, "window": "10s", "wait": 500, "longest": "1m"}}"#;
    let second = Duration::from_secs(1);
    let expected = LimitSettings {
        default: DefaultRate::Every("100/min burst 5".parse().expect("a rate")),
        per_tool: by(&[("a_*", rate("60/min")), ("b", None)]),
        per_server: by(&[("s", rate("5/s"))]),
        per_principal: by(&[("*", rate("1000/h"))]),
        overall: rate("50/s"),
        refused: rate("9/min"),
        arguments: Some(1 << 20),
        response: Some(2048),
        concurrency: ConcurrencySettings {
            per_principal: by(&[("*", Some(8)), ("me", None)]),
            per_tool: by(&[("a", Some(1))]),
            per_server: by(&[("s", Some(2))]),
            overall: Some(9),
            queue: 3,
            wait: 5 * second,
        },
        daily: DailySettings {
            per_principal: by(&[("*", Some(100))]),
            per_tool: by(&[("a", Some(7))]),
        },
        breaker: BreakerSettings {
            failures: 2,
            window: 10 * second,
            wait: second / 2,
            longest: 60 * second,
            ..BreakerSettings::default()
        },
        ..LimitSettings::default()
    };
    assert_eq!(read(text), expected);
}

#[test]
fn what_is_not_said_is_as_usual() {
    let usual = LimitSettings::default();
    assert_eq!(read("{}"), usual);
    assert_eq!(read(r#"{"concurrency": {}, "daily": {}, "breaker": {}}"#), usual);
    assert_eq!(read(r#"{"default": "off"}"#).default, DefaultRate::Off);
    assert_eq!(read(r#"{"refused": "off"}"#).refused, None);
    assert_eq!(read(r#"{"breaker": "off"}"#).breaker.failures, 0);
    let all = read(r#"{"concurrency": {"default": 3, "perPrincipal": {"*": 2}}}"#).concurrency;
    assert_eq!(all.per_principal, by(&[("*", Some(2))]));
}

#[test]
fn mistakes() {
    let cases = [
        ("1", "12: `limits` has the wrong form; write an object with limits"),
        (r#"{"defualt": "1/s"}"#, "13: unknown key `defualt`; write `default`"),
        (r#"{"default": "1"}"#, "24: `default` has the wrong form; write a rate such as"),
        (r#"{"default": 60}"#, "24: `default` has the wrong form; write a rate such as"),
        (r#"{"overall": "0/s"}"#, "24: `overall` has the wrong form; write a rate such as"),
        (r#"{"perTool": "1/s"}"#, "24: `perTool` has the wrong form; write an object"),
        (r#"{"perTool": {"a": "1/x"}}"#, "30: `a` has the wrong form; write a rate such as"),
        (r#"{"perTool": {"a": "1/s", "a": "2/s"}}"#, "37: the key `a` is given twice"),
        (r#"{"concurrency": 5}"#, "28: `concurrency` has the wrong form; write an object"),
        (r#"{"concurrency": {"overall": 0}}"#, "40: `overall` has the wrong form; write a number"),
        (r#"{"concurrency": {"wiat": 1}}"#, "29: unknown key `wiat`; write `wait`"),
        (r#"{"daily": {"perTool": {"a": "1/s"}}}"#, "40: `a` has the wrong form; write a number"),
        (r#"{"daily": {"perServer": {}}}"#, "23: unknown key `perServer`"),
        (r#"{"arguments": "1"}"#, "26: `arguments` has the wrong form; write bytes"),
        (r#"{"breaker": {"failures": 0}}"#, "37: `failures` has the wrong form"),
        (r#"{"breaker": true}"#, "24: `breaker` has the wrong form"),
    ];
    for (text, expected) in cases {
        let error = parse(&format!(r#"{{"limits": {text}}}"#)).expect_err(text);
        let expected = format!("/etc/g.json:1:{expected}");
        assert!(error.starts_with(&expected), "{text}: {error}");
    }
}
