//! Names and addresses of many servers in one listing, and the way back.

use gantry_client::List;
use gantry_gateway::Target;

use super::super::tests::fixture::{lists, tools, upstream};
use super::*;

fn part(server: &str, given: &[(List, &str)]) -> Part {
    let exports = Exports::read(&upstream(server), &lists(given), &Exports::default());
    assert!(exports.problems.is_empty(), "{:?}", exports.problems);
    Part { server: server.into(), prefix: server.to_owned(), exports: Arc::new(exports) }
}

/// A listing of parts that are all there are.
fn composed(parts: &[Part], scope: Scope<'_>, before: &Routes) -> Composed {
    compose(parts, scope, &CanonicalNames::assign(parts, 64), before)
}

fn everything(parts: &[Part]) -> Composed {
    composed(parts, Scope::Everything, &Routes::default())
}

fn tool_names(composed: &Composed) -> Vec<&str> {
    composed.listing.tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn names_lead_back_to_their_servers() {
    let parts = [
        part("a", &[(List::Tools, &tools(&["b_c", "x"])), (List::Prompts, r#"[{"name":"p q"}]"#)]),
        part("a_b", &[(List::Tools, &tools(&["c"]))]),
    ];
    let composed = everything(&parts);
    let names = tool_names(&composed);
    assert_eq!(names[..2], ["a_b_c", "a_x"]);
    assert!(names[2].starts_with("a_b_c_"), "{names:?}");
    let routes: Vec<_> = names
        .iter()
        .map(|name| &composed.routes.tools[*name].route)
        .map(|route| (&*route.server, route.own.as_str()))
        .collect();
    assert_eq!(routes, [("a", "b_c"), ("a", "x"), ("a_b", "c")]);
    assert_eq!(composed.problems.keys().map(|it| &**it).collect::<Vec<_>>(), ["a_b"]);
    assert_eq!(composed.routes.prompts["a_p_q"].own, "p q");
    let definition = composed.listing.tools[1].definition.as_str();
    assert_eq!(definition, r#"{"name":"a_x","inputSchema":{"type":"object"}}"#);
}

#[test]
fn alone_a_server_has_its_own_names() {
    let parts = [part(
        "a",
        &[(List::Tools, &tools(&["a/b", "x y", "x_y"])), (List::Prompts, r#"[{"name":"p q"}]"#)],
    )];
    let composed = composed(&parts, Scope::Alone, &Routes::default());
    let names = tool_names(&composed);
    assert_eq!(names[..2], ["a/b", "x_y"]);
    assert!(names[2].starts_with("x_y_"), "{names:?}");
    assert_eq!(composed.routes.tools["x_y"].route.own, "x y");
    assert_eq!(composed.listing.prompts[0].name, "p q");
}

#[test]
fn a_profile_selects_but_does_not_rename() {
    let parts = [
        part("a", &[(List::Tools, &tools(&["b_c", "x"]))]),
        part("a_b", &[(List::Tools, &tools(&["c", "d"])), (List::Prompts, r#"[{"name":"p"}]"#)]),
    ];
    let all = everything(&parts);
    let later = tool_names(&all)[2].to_owned();
    let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let cases = [
        (Profile::default(), vec!["a_b_c", "a_x", &later, "a_b_d"]),
        (Profile { servers: list(&["a_b"]), ..Profile::default() }, vec![&later, "a_b_d"]),
        (Profile { include: list(&["a_x", "*_d"]), ..Profile::default() }, vec!["a_x", "a_b_d"]),
        (Profile { exclude: list(&["a_b*"]), ..Profile::default() }, vec!["a_x"]),
    ];
    for (profile, expected) in cases {
        let composed = composed(&parts, Scope::Selected(&profile), &Routes::default());
        assert_eq!(tool_names(&composed), expected, "{profile:?}");
    }
}

#[test]
fn equal_addresses_are_told_apart() {
    let given = [
        (List::Resources, r#"[{"uri":"x:one","name":"1"},{"uri":"x:two","name":"2"}]"#),
        (List::Templates, r#"[{"uriTemplate":"t:{id}","name":"t"}]"#),
    ];
    let parts = [part("a", &given), part("b", &given), part("c", &[])];
    let composed = everything(&parts);
    let uris: Vec<_> = composed.listing.resources.iter().map(|it| it.uri.as_str()).collect();
    assert_eq!(uris, ["x:one", "x:two", "gantry://b/x:one", "gantry://b/x:two"]);
    let definition = composed.listing.resources[2].definition.as_str();
    assert_eq!(definition, r#"{"uri":"gantry://b/x:one","name":"1"}"#);
    assert!(composed.routes.aliases("a").is_none());
    let aliases = composed.routes.aliases("b").unwrap();
    let cases = [
        ("x:one", Some(("a", "x:one"))),
        ("gantry://b/x:one", Some(("b", "x:one"))),
        ("t:7", Some(("a", "t:7"))),
        ("gantry://b/t:7", Some(("b", "t:7"))),
        ("gantry://c/t:7", None),
        ("y:1", None),
    ];
    for (uri, expected) in cases {
        let server = composed.routes.server_of(uri).map(|server| &**server);
        let own = if server == Some("b") { aliases.inward(uri) } else { uri };
        assert_eq!(server.map(|server| (server, own)), expected, "{uri}");
    }
}

#[test]
fn what_did_not_change_is_used_again() {
    let parts = [part("a", &[(List::Tools, &tools(&["x", "y"]))])];
    let before = everything(&parts);
    let after = composed(&parts, Scope::Everything, &before.routes);
    let same = before.listing.tools.iter().zip(&after.listing.tools);
    assert!(same.into_iter().all(|(one, other)| Arc::ptr_eq(one, other)));
    let schemas = (&parts[0].exports.tools[0].entry.input, &after.listing.tools[0].input);
    assert!(Arc::ptr_eq(schemas.0, schemas.1), "schemas are not compiled again");
}

#[test]
fn what_is_away_keeps_its_names_and_addresses() {
    let given = [
        (List::Tools, &*tools(&["x"])),
        (List::Prompts, r#"[{"name":"p"}]"#),
        (List::Resources, r#"[{"uri":"x:one","name":"1"}]"#),
        (List::Templates, r#"[{"uriTemplate":"t:{a}","name":"t"}]"#),
    ];
    let covering = r#"[{"uriTemplate":"t:{+b}","name":"t"},{"uriTemplate":"x:{id}","name":"x"}]"#;
    let plain = |part: Part| Part { prefix: String::new(), ..part };
    let here = || plain(part("a", &given));
    let away = || Part { exports: Arc::new(here().exports.withdrawn()), ..here() };
    let other = || plain(part("b", &given));
    let wide = || plain(part("b", &[(List::Templates, covering)]));
    let cases = [
        (vec![here(), other()], "x", Some("a")),
        (vec![away(), other()], "x", None),
        (vec![other()], "x", Some("b")),
        (vec![here(), other()], "x:one", Some("a")),
        (vec![away(), other()], "x:one", None),
        (vec![other()], "x:one", Some("b")),
        (vec![away(), other()], "t:7", None),
        (vec![away(), other()], "gantry://b/t:7", Some("b")),
        (vec![here(), wide()], "x:one", Some("a")),
        (vec![away(), wide()], "x:one", None),
        (vec![away(), wide()], "x:two", Some("b")),
        (vec![here(), wide()], "t:7", Some("b")),
        (vec![away(), wide()], "t:7", Some("b")),
    ];
    for (parts, name, expected) in cases {
        let servers: Vec<_> =
            parts.iter().map(|it| (&*it.server, it.exports.is_withdrawn)).collect();
        let composed = everything(&parts);
        let tool = composed.routes.tools.get(name).map(|tool| &tool.route.server);
        let found = tool.or(composed.routes.server_of(name)).map(|server| &**server);
        assert_eq!(found, expected, "{name} of {servers:?}");
    }
    let composed = everything(&[away(), other()]);
    let prompts: Vec<_> = composed.routes.prompts.keys().collect();
    assert!(prompts.len() == 1 && prompts[0].starts_with("p_"), "{prompts:?}");
    assert_eq!(composed.routes.reserved_for("x").map(|it| &**it), Some("a"));
    assert_eq!(composed.listing.resources.len(), 1);
}

#[test]
fn canonical_names_are_the_same_at_every_endpoint() {
    let given = [(List::Resources, r#"[{"uri":"x:one","name":"1"}]"#)];
    let long = "x".repeat(80);
    let parts = [
        part("a", &[(List::Tools, &*tools(&["b_c", &long, "x"])), given[0]]),
        part(
            "a_b",
            &[(List::Tools, &*tools(&["c"])), (List::Prompts, r#"[{"name":"p"}]"#), given[0]],
        ),
    ];
    let names = CanonicalNames::assign(&parts, 64);
    let profile = Profile::default();
    let all = compose(&parts, Scope::Everything, &names, &Routes::default());
    let selected = compose(&parts, Scope::Selected(&profile), &names, &Routes::default());
    let alone = [0, 1].map(|at| compose(&parts[at..=at], Scope::Alone, &names, &Routes::default()));
    let canonical = |composed: &Composed| {
        let tools = composed.listing.tools.iter().cloned().map(Target::Tool);
        let prompts = composed.listing.prompts.iter().cloned().map(Target::Prompt);
        let resources = composed.listing.resources.iter().cloned().map(Target::Resource);
        let name = |target: Target| {
            let names = target.names();
            let path = format!("{} {}", names.server.unwrap(), names.own());
            let full = names.full().map(str::to_owned);
            (path, (names.canonical().to_owned(), full, names.permitting().next().is_some()))
        };
        tools.chain(prompts).chain(resources).map(name).collect::<BTreeMap<_, _>>()
    };
    let expected = canonical(&all);
    assert_eq!(expected.len(), 7, "{expected:?}");
    assert_eq!(canonical(&selected), expected);
    let [one, other] = &alone;
    assert_eq!(
        canonical(one).into_iter().chain(canonical(other)).collect::<BTreeMap<_, _>>(),
        expected
    );
    // The server, its own name; the full name where it has another, and whether it may permit.
    let cases = [
        ("a b_c", None, false),
        ("a x", None, true),
        ("a_b c", Some("a_b_c".to_owned()), true),
        ("a_b p", None, true),
        ("a_b x:one", None, true),
    ];
    for (path, full, permits) in cases {
        assert_eq!((&expected[path].1, expected[path].2), (&full, permits), "{path}");
    }
    assert_eq!(expected["a_b x:one"].0, "gantry://a_b/x:one");
    assert_eq!(expected[&format!("a {long}")].1.as_deref(), Some(&*format!("a_{long}")));
}

#[test]
fn a_name_that_another_server_takes_is_noticed() {
    let one = || part("a", &[(List::Tools, &tools(&["x"]))]);
    let grown = || part("a", &[(List::Tools, &tools(&["b_c", "x"]))]);
    let other = || part("a_b", &[(List::Tools, &tools(&["c"]))]);
    let before = CanonicalNames::assign(&[one(), other()], 64);
    let same = CanonicalNames::assign(&[one(), other()], 64);
    assert!(same.changed_since(&before).is_empty());
    let after = CanonicalNames::assign(&[grown(), other()], 64);
    let changed: Vec<_> = after.changed_since(&before).into_iter().collect();
    assert_eq!(changed, ["a".into(), "a_b".into()] as [Arc<str>; 2]);
}
