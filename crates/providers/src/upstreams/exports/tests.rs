//! What of a server's lists is offered.

use gantry_client::List;
use gantry_gateway::Caller;
use gantry_protocol::ClientCapabilities;

use super::super::tests::fixture::{lists, tools, upstream, web};
use super::*;

const GOOD: &str = r#"{"name":"good","inputSchema":{"type":"object"}}"#;

fn read(upstream: &UpstreamConfig, given: &[(List, &str)]) -> Exports {
    Exports::read(upstream, &lists(given), &Exports::default())
}

fn names(exports: &Exports) -> Vec<&str> {
    exports.tools.iter().map(|tool| tool.own.as_str()).collect()
}

#[test]
fn a_bad_tool_is_left_out_and_named_and_the_others_stay() {
    let header = r#"{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"array","x-mcp-header":"A"}}}}"#;
    let cases = [
        (r#"{"name":"bad","inputSchema":{"type":"objekt"}}"#, "`bad`"),
        (r#"{"name":"bad"}"#, "`bad` is left out: a tool lacks `inputSchema`"),
        (r#"{"inputSchema":{"type":"object"}}"#, "without a name"),
        (r#"{"name":"","inputSchema":{"type":"object"}}"#, "lacks `name`"),
        (r#""no object""#, "without a name"),
        (r#"{"name":"good","inputSchema":{}}"#, "`good` is listed twice"),
        (header, "`bad`"),
    ];
    for (bad, problem) in cases {
        let exports = read(&web("s"), &[(List::Tools, &format!("[{GOOD},{bad}]"))]);
        assert_eq!(names(&exports), ["good"], "{bad}");
        assert_eq!(exports.problems.len(), 1, "{:?}", exports.problems);
        assert!(exports.problems[0].contains(problem), "{:?} lacks {problem}", exports.problems);
    }
    let exports = read(&upstream("s"), &[(List::Tools, &format!("[{header}]"))]);
    assert_eq!(names(&exports), ["bad"], "a program is told nothing in headers");
    assert!(exports.tools[0].entry.headers.is_empty());
}

#[test]
fn only_the_members_that_must_change_are_changed() {
    let source = r#"{ "x-vendor":1.50,"name":"a/ü","description":"old","inputSchema":{"type":"object"}, "big":12345678901234567890 }"#;
    let mut upstream = upstream("s");
    let exports = read(&upstream, &[(List::Tools, &format!("[{source}]"))]);
    let expected = source.replace("a/ü", "a__");
    assert_eq!(exports.tools[0].entry.definition.as_str(), expected);
    assert_eq!(exports.tools[0].own, "a/ü");
    let instead = Override { description: Some("new".to_owned()), ..Override::default() };
    upstream.overrides.insert("a/ü".to_owned(), instead);
    let exports = read(&upstream, &[(List::Tools, &format!("[{source}]"))]);
    let expected = expected.replace("old", "new");
    assert_eq!(exports.tools[0].entry.definition.as_str(), expected);
    assert!(!exports.tools[0].entry.fill_defaults);
    let longest = upstream.client.at_most + upstream.client.connect_within;
    assert_eq!(exports.tools[0].entry.timeout, Some(longest));
}

#[test]
fn tools_are_chosen_by_the_servers_own_names() {
    let mut upstream = upstream("s");
    upstream.include = vec!["get_*".to_owned()];
    upstream.exclude = vec!["*_secret".to_owned()];
    let tools = tools(&["get_b", "set_a", "get_secret", "get_a"]);
    let exports = read(&upstream, &[(List::Tools, &tools)]);
    assert_eq!(names(&exports), ["get_a", "get_b"]);
    assert!(exports.problems.is_empty(), "{:?}", exports.problems);
}

#[test]
fn what_is_the_same_is_not_read_again() {
    let upstream = upstream("s");
    let before = read(&upstream, &[(List::Tools, &tools(&["a", "b"]))]);
    let changed = tools(&["a", "c"]).replace(r#""c","#, r#""b","title":"new","#);
    let after = Exports::read(&upstream, &lists(&[(List::Tools, &changed)]), &before);
    assert!(Arc::ptr_eq(&before.tools[0].entry, &after.tools[0].entry));
    assert!(!Arc::ptr_eq(&before.tools[1].entry, &after.tools[1].entry));
}

#[test]
fn what_a_server_that_makes_tasks_offers_may_be_a_task() {
    let cases = [
        ("", r#","execution":{"taskSupport":"optional"}"#, TaskSupport::Optional),
        (
            r#","execution":{"x":1.50}"#,
            r#","execution":{"x":1.50,"taskSupport":"optional"}"#,
            TaskSupport::Optional,
        ),
        (r#","execution":{"taskSupport":"forbidden"}"#, "", TaskSupport::Forbidden),
        (r#","execution":{"taskSupport":"required"}"#, "", TaskSupport::Optional),
    ];
    for (said, expected, support) in cases {
        let tool =
            |more: &str| format!(r#"{{"name":"a","inputSchema":{{"type":"object"}}{more}}}"#);
        let listed = |makes_tasks| {
            let mut listed = lists(&[(List::Tools, &format!("[{}]", tool(said)))]);
            listed.makes_tasks = makes_tasks;
            listed
        };
        let before = Exports::read(&upstream("s"), &listed(false), &Exports::default());
        assert_eq!(before.tools[0].entry.definition.as_str(), tool(said));
        let exports = Exports::read(&upstream("s"), &listed(true), &before);
        let entry = &exports.tools[0].entry;
        let expected = if expected.is_empty() { said } else { expected };
        assert_eq!(entry.definition.as_str(), tool(expected));
        assert_eq!(entry.task_support, support, "{said}");
        assert_eq!(entry.own.definition.as_str(), tool(said), "no word of the server's");
        assert!(Arc::ptr_eq(
            entry,
            &Exports::read(&upstream("s"), &listed(true), &exports).tools[0].entry
        ));
    }
}

#[test]
fn who_takes_no_tasks_is_refused_only_where_the_server_says_so() {
    let cases = [
        ("optional", "{}", TaskSupport::Optional, [false, true]),
        ("required", "{}", TaskSupport::Optional, [true, true]),
        ("required", r#"{"gantry/tasks-only":false}"#, TaskSupport::Optional, [true, true]),
        ("required", r#"{"gantry/tasks-only":true}"#, TaskSupport::Required, [true, true]),
        ("forbidden", r#"{"gantry/tasks-only":true}"#, TaskSupport::Forbidden, [false, false]),
    ];
    let taker =
        Caller { capabilities: ClientCapabilities::default().with_tasks(), ..Caller::new("me") };
    for (said, meta, support, wanted) in cases {
        let source = format!(
            r#"{{"name":"a","inputSchema":{{"type":"object"}},"execution":{{"taskSupport":"{said}"}},"_meta":{meta}}}"#
        );
        let exports = read(&upstream("s"), &[(List::Tools, &format!("[{source}]"))]);
        let tool = &exports.tools[0];
        let are_wanted = [&Caller::new("me"), &taker].map(|caller| tool.tasks.are_wanted(caller));
        assert_eq!((tool.entry.task_support, are_wanted), (support, wanted), "{source}");
        assert_eq!(tool.entry.definition.as_str(), source);
    }
}

#[test]
fn what_is_configured_to_run_long_may_be_a_task() {
    let (optional, required) = (Some("optional"), Some("required"));
    let cases = [
        (false, None, None, None, false),
        (true, None, None, optional, true),
        (false, Some(true), None, optional, true),
        (true, Some(false), None, None, false),
        (true, None, Some("forbidden"), optional, true),
        (true, None, required, required, true),
        (false, None, optional, optional, false),
    ];
    for (number, (server, tool, said, shown, is_long)) in cases.into_iter().enumerate() {
        let mut upstream = UpstreamConfig { task: server, ..upstream("s") };
        let instead = Override { task: tool, ..Override::default() };
        upstream.overrides.insert("good".to_owned(), instead);
        let execution = |said| format!(r#","execution":{{"taskSupport":"{said}"}}}}"#);
        let source = match said {
            Some(said) => GOOD.replace("}}", &format!("}}{}", execution(said))),
            None => GOOD.to_owned(),
        };
        let exports = read(&upstream, &[(List::Tools, &format!("[{source}]"))]);
        let offered = &exports.tools[0];
        let support = offered.entry.definition.at(&["execution", "taskSupport"]);
        let support = support.and_then(|it| it.to_text());
        assert_eq!(support.as_deref(), shown, "case {number}");
        assert_eq!(offered.tasks.is_long, is_long, "case {number}");
        let asks_server = offered.tasks.are_wanted(&Caller::new("me"));
        assert_eq!(asks_server, said == required, "case {number}");
        assert_eq!(offered.entry.own.definition.as_str(), source);
    }
}

#[test]
fn other_things_are_left_out_alike() {
    let exports = read(
        &upstream("s"),
        &[
            (List::Prompts, r#"[{"name":"p"},{"name":"p"},{}]"#),
            (List::Resources, r#"[{"uri":"a:b","name":"x"},{"uri":"a:c"}]"#),
            (
                List::Templates,
                r#"[{"uriTemplate":"a:{b}","name":"x"},{"uriTemplate":"a:{","name":"y"}]"#,
            ),
        ],
    );
    assert_eq!(
        (exports.prompts.len(), exports.resources.len(), exports.templates.len()),
        (1, 1, 2)
    );
    assert_eq!(exports.templates.iter().filter(|(_, parsed)| parsed.is_some()).count(), 1);
    assert_eq!(exports.problems.len(), 4, "{:?}", exports.problems);
}

#[test]
fn problems_are_counted_when_they_are_many() {
    let many = vec!["{}"; PROBLEMS + 5].join(",");
    let exports = read(&upstream("s"), &[(List::Tools, &format!("[{many}]"))]);
    assert_eq!(exports.problems.len(), PROBLEMS + 1);
    assert_eq!(exports.problems[PROBLEMS], "and 5 more");
}

#[test]
fn compiled_templates_of_a_server_have_a_memory_limit() {
    let item = |number| format!(r#"{{"name":"t","uriTemplate":"x{number}://{{a}}/{{?b,c,d}}"}}"#);
    let list: Vec<String> = (0..200).map(item).collect();
    let list = format!("[{}]", list.join(","));
    let mut upstream = upstream("s");
    let readable = |exports: &Exports| exports.templates.iter().filter(|it| it.1.is_some()).count();
    let exports = read(&upstream, &[(List::Templates, &list)]);
    assert_eq!((readable(&exports), exports.problems.len()), (200, 0), "{:?}", exports.problems);
    upstream.templates = 64 * 1024;
    let exports = read(&upstream, &[(List::Templates, &list)]);
    assert_eq!(exports.templates.len(), 200, "all are listed");
    assert!((1..100).contains(&readable(&exports)), "{}", readable(&exports));
    assert!(exports.problems[0].contains("raise `limits.templates`"), "{:?}", exports.problems);
}
