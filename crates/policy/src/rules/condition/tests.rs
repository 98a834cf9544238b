//! What conditions say, and that no text and no arguments make them fail in any other way.

use gantry_protocol::RawJson;
use proptest::prelude::*;

use super::*;

fn condition(text: &str) -> Result<Condition, ConditionError> {
    Condition::new(text, ConditionBounds::default())
}

fn ask(text: &str, arguments: &str) -> Result<bool, Unanswered> {
    let definition = RawJson::from_static(r#"{"annotations":{"readOnlyHint":true,"title":"T"}}"#);
    let arguments = RawJson::parse(arguments.to_owned(), Default::default()).expect(arguments);
    let eval_context = EvalContext {
        principal: "ci-7",
        client: "editor",
        virtual_server: "",
        server: "github",
        tool: "github_search",
        method: "tools/call",
        definition: Some(&definition),
        arguments: Some(&arguments),
        ..EvalContext::default()
    };
    condition(text).unwrap_or_else(|error| panic!("{text}: {error}")).holds(&eval_context)
}

#[test]
fn answers() {
    let cases = [
        ("true", "{}", true),
        ("principal == 'ci-7' && client != 'x'", "{}", true),
        ("principal.startsWith('ci-') && face == ''", "{}", true),
        ("server == 'github' && tool.endsWith('_search')", "{}", true),
        ("method == 'tools/call' && uri == '' && prompt == ''", "{}", true),
        ("annotations.readOnlyHint", "{}", true),
        ("has(annotations.destructiveHint)", "{}", false),
        ("args.count == 3", r#"{"count":3}"#, true),
        ("args.count > 2.5", r#"{"count":3}"#, true),
        ("args.count < 3", r#"{"count":2.5}"#, true),
        ("args.count == -1", r#"{"count":-1}"#, true),
        ("args.count > 1", r#"{"count":18446744073709551615}"#, true),
        ("'a' in args.tags", r#"{"tags":["b","a"]}"#, true),
        ("args.tags.all(tag, tag in ['a', 'b'])", r#"{"tags":["b","a"]}"#, true),
        ("args.tags.exists(tag, tag == principal)", r#"{"tags":["ci-7"]}"#, true),
        ("args.tags.exists(args, args == 'x')", r#"{"tags":["x"]}"#, true),
        ("args.path.matches('^/tmp/[a-z]+$')", r#"{"path":"/tmp/a"}"#, true),
        ("args.a.b[0].c == null", r#"{"a":{"b":[{"c":null}]}}"#, true),
        ("has(args.missing) && args.missing == 1", "{}", false),
        ("size(args) == 0", "null", true),
        ("type(args.x) == string", r#"{"x":"1"}"#, true),
    ];
    for (text, arguments, expected) in cases {
        assert_eq!(ask(text, arguments), Ok(expected), "{text} with {arguments}");
    }
}

#[test]
fn what_cannot_be_answered() {
    let many = format!(r#"{{"a":[{}0]}}"#, "0,".repeat(10_000));
    let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(2 * 1024 * 1024));
    let cases = [
        ("args.missing == 1", "{}", "there is no `missing`"),
        ("args.a + 1 == 2", r#"{"a":"xxxx"}"#, "its values cannot be used like that"),
        ("size(args.a) == 1", r#"{"a":1}"#, "found no matching overload"),
        ("args.a", r#"{"a":1}"#, "it is neither true nor false"),
        ("1 / args.a == 1", r#"{"a":0}"#, "its values cannot be used like that"),
        ("args.a == 1", r#"{"a":1,"a":2}"#, "the arguments have a member twice"),
        ("args.a.b == 1", r#"{"a":{"b":1,"\u0062":2}}"#, "the arguments have a member twice"),
        ("has(args.force) && args.force", r#"{"Force":true}"#, "in capital letters only"),
        ("args.force", r#"{"force":false,"FORCE":true}"#, "in capital letters only"),
        ("args['force']", r#"{"force":false,"Force":true}"#, "in capital letters only"),
        ("'force' in args", r#"{"x":1,"f\u006fRce":true}"#, "in capital letters only"),
        ("args.a.b == 1", r#"{"a":{"b":1,"B":2}}"#, "in capital letters only"),
        ("args.sort", r#"{"sort":false,"\u017fort":true}"#, "in capital letters only"),
        ("args.a == 1", &many, "the arguments have too many values"),
        ("args.a == ''", &large, "the arguments are too large"),
        ("'a'.matches('(')", "{}", "its values cannot be used like that"),
    ];
    for (text, arguments, expected) in cases {
        let error = ask(text, arguments).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
        assert!(!error.contains("xxxx"), "{text}: {error}");
    }
    assert_eq!(ask("principal == 'ci-7'", &many), Ok(true), "arguments nobody asks for");
}

#[test]
fn mistakes() {
    let long = format!("'{}' == ''", "x".repeat(3000));
    let open = "(".repeat(1000);
    let round = format!("{}true{}", "(".repeat(100), ")".repeat(100));
    let chain = format!("args{}", ".a".repeat(900));
    let sum = format!("1{} == 0", "+1".repeat(900));
    let minus = format!("1{} == 1", "- -1".repeat(400));
    let choice = format!("{}true", "true?true:".repeat(50));
    let index = format!("args{}", "[0]".repeat(600));
    let cases = [
        ("", "the condition is not valid CEL"),
        ("principal =", "the condition is not valid CEL"),
        ("principl == 'x'", "the condition names `principl`; it can use principal, client"),
        ("env.HOME == ''", "the condition names `env`"),
        ("args.a.contians('x')", "the condition calls `contians`; it can use size"),
        ("args.a.all(x, args.b.all(y, x == y))", "the condition has a macro"),
        (&long, "the condition has more than 2048 characters"),
        (&open, "the condition is nested more than 16 deep"),
        (&round, "the condition is nested more than 16 deep"),
        (&chain, "the condition is nested more than 16 deep"),
        (&sum, "the condition is nested more than 16 deep"),
        (&minus, "the condition is nested more than 16 deep"),
        (&choice, "the condition is nested more than 16 deep"),
        (&index, "the condition is nested more than 16 deep"),
    ];
    for (text, expected) in cases {
        let start: String = text.chars().take(40).collect();
        let error = condition(text).err().unwrap_or_else(|| panic!("{start} is taken")).to_string();
        assert!(error.starts_with(expected), "{start}: {error}");
    }
}

/// On a stack as small as that of a worker, with little of it left.
fn with_little_stack(work: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(1024 * 1024);
        thread.spawn_scoped(scope, work).expect("a thread").join().expect("it has enough");
    });
}

#[test]
fn the_deepest_that_is_let_through_can_be_run() {
    let deep = |count: usize| format!("{}1{}", "[".repeat(count), "]".repeat(count));
    let texts = [
        format!("{}1{} == 1", "(".repeat(16), ")".repeat(16)),
        format!("true{}", "&&true".repeat(300)),
        format!("true{}", "||false&&true".repeat(150)),
        format!("{}true", "!".repeat(2000)),
        format!("{}1 == 1", "-".repeat(2000)),
        format!("1{} == 0", "+1".repeat(14)),
        format!("args{} == 0", "[0]".repeat(13)),
        format!("args{} == 1", ".filter(x,true)".repeat(6)),
        format!("{} == 1", deep(15)),
        "args == args && args == args.a".to_owned(),
    ];
    let mut deepest = 0;
    for text in &texts {
        with_little_stack(|| {
            for arguments in ["{}".to_owned(), deep(100), format!(r#"{{"a":{}}}"#, deep(100))] {
                let arguments = RawJson::parse(arguments, Default::default()).expect("JSON");
                let eval_context =
                    EvalContext { arguments: Some(&arguments), ..EvalContext::default() };
                if let Ok(condition) = condition(text) {
                    let _ = condition.holds(&eval_context);
                }
            }
        });
        deepest += usize::from(condition(text).is_ok());
    }
    assert!(deepest >= 6, "most of them are let through: {deepest}");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,60}") {
        if let Ok(condition) = condition(&text) {
            let _ = condition.holds(&EvalContext::default());
        }
    }

    #[test]
    fn no_expression_makes_it_panic(
        parts in prop::collection::vec(prop::sample::select(vec![
            "args", "principal", ".a", "[0]", "[", "]", "(", ")", "{", "}", ":", ",", "'a'", "1",
            "-", "!", "==", "&&", "||", "?", " in ", "size", ".all(x, ", "x", "true", "1u", "b'a'",
            "null", "has(", "+", "%", "/", "9223372036854775807", "-9223372036854775808", "*", "int(",
            ".matches(", ".map(y, ", "'\\u0000'", "1e400", "type(", "<", "\"",
        ]), 0..24),
        arguments in prop::sample::select(vec!["{}", r#"{"a":[1,"x",null]}"#, r#"{"a":{"a":-1}}"#]),
    ) {
        let text = parts.concat();
        if let Ok(condition) = condition(&text) {
            let arguments = RawJson::from_static(arguments);
            let eval_context = EvalContext { arguments: Some(&arguments), ..EvalContext::default() };
            let _ = condition.holds(&eval_context);
        }
    }
}
