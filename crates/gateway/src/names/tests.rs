//! Every name of every target at every endpoint, and which patterns mean it.

use super::*;
use crate::entry::{Origin, ResourceEntry, TemplateEntry, ToolEntry, UpstreamDefinition};
use gantry_protocol::{JsonLimits, RawJson};

fn json(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).unwrap()
}

/// A tool of the server `db`, which has the prefix `base`, as an endpoint shows it.
fn tool(shown: &str, own: &str, canonical: Option<(&str, Option<&str>, bool)>) -> Target {
    let definition = format!(r#"{{"name":"{shown}","inputSchema":{{"type":"object"}}}}"#);
    let mut tool = ToolEntry::new(json(&definition)).unwrap();
    tool.own =
        Arc::new(UpstreamDefinition { name: own.to_owned(), definition: tool.definition.clone() });
    tool.origin = Some(Arc::new(Origin { server: "db".into(), identity: "x".into() }));
    let named = |(name, full, is_contested): (&str, Option<&str>, bool)| CanonicalName {
        name: name.into(),
        full: full.map(Arc::from),
        is_contested,
    };
    tool.canonical = canonical.map(|it| Arc::new(named(it)));
    Target::Tool(Arc::new(tool))
}

#[test]
fn a_pattern_means_a_tool_at_every_endpoint_alike() {
    let endpoints = [
        ("aggregate", tool("base_drop", "drop", None)),
        ("alone", tool("drop", "drop", Some(("base_drop", None, false)))),
    ];
    // The pattern, whether it restricts, whether it permits.
    let cases = [
        ("base_drop", true, true),
        ("base_*", true, true),
        ("*", true, true),
        ("db/drop", true, true),
        ("db/*", true, true),
        ("*/drop", true, true),
        ("db/base_drop", true, true),
        // What the server calls it may take rights away, but gives none.
        ("drop", true, false),
        ("d*", true, false),
        ("base/drop", false, false),
        ("other/drop", false, false),
        ("Base_drop", false, false),
    ];
    for (endpoint, target) in &endpoints {
        let names = TargetNames::of(target);
        assert_eq!((names.canonical(), names.own()), ("base_drop", "drop"), "{endpoint}");
        for (pattern, restricts, permits) in cases {
            let found = (names.is_restricted_by(pattern), names.is_permitted_by(pattern));
            assert_eq!(found, (restricts, permits), "{pattern} at {endpoint}");
        }
    }
}

/// The form of its own name that a server's own endpoint shows.
#[test]
fn the_shown_form_of_an_own_name_restricts() {
    let Target::Tool(tool) = tool("base_table.drop", "table.drop", None) else { unreachable!() };
    let mut tool = (*tool).clone();
    tool.client_names = Some(Arc::new(ClientNames {
        shown: "base_table_drop".into(),
        canonical: "base_table_drop".into(),
        own: "table_drop".into(),
        distinct: "base_table_drop_12345678".into(),
        contract: Some("db.table_drop".into()),
        is_taken: false,
    }));
    let target = Target::Tool(Arc::new(tool));
    let cases = [
        ("table_drop", true, false),
        ("db/table_drop", true, false),
        ("db/base_table_drop", true, true),
        ("db/base_table.drop", true, true),
        ("other/table_drop", false, false),
    ];
    for (pattern, restricts, permits) in cases {
        let names = TargetNames::of(&target);
        let found = (names.is_restricted_by(pattern), names.is_permitted_by(pattern));
        assert_eq!(found, (restricts, permits), "{pattern}");
    }
}

#[test]
fn a_name_that_was_cut_or_contested() {
    let cut =
        tool("base_dro_1234abcd", "drop", Some(("base_dro_1234abcd", Some("base_drop"), false)));
    let foreign = tool("base_other_get", "other_get", Some(("base_other_get", None, true)));
    let slash = tool("base_x_y", "x/y", None);
    // The target, the pattern, whether it restricts, whether it permits.
    let cases = [
        (&cut, "base_drop", true, false),
        (&cut, "base_dro_1234abcd", true, true),
        (&foreign, "base_other_*", true, false),
        (&foreign, "db/other_get", true, true),
        // A server cannot take the name of another one by a name with a slash.
        (&slash, "x/y", true, false),
        (&slash, "db/x/y", true, true),
    ];
    for (target, pattern, restricts, permits) in cases {
        let names = TargetNames::of(target);
        let found = (names.is_restricted_by(pattern), names.is_permitted_by(pattern));
        assert_eq!(found, (restricts, permits), "{pattern} for {}", names.canonical());
    }
}

#[test]
fn an_address_has_one_canonical_form() {
    let resource = |uri: &str, alias: Option<bool>| {
        let definition = json(&format!(r#"{{"uri":"{uri}","name":"r"}}"#));
        let mut entry = ResourceEntry::new(definition).unwrap();
        let prefix = "gantry://db/".into();
        entry.alias = alias.map(|is_shown| AddressAlias { prefix, is_shown });
        Target::Resource(Arc::new(entry))
    };
    let cases = [
        (resource("x:1", None), "x:1", "x:1"),
        (resource("x:1", Some(false)), "gantry://db/x:1", "x:1"),
        (resource("gantry://db/x:1", Some(true)), "gantry://db/x:1", "x:1"),
        // One that a server made up itself is no alias.
        (resource("gantry://db/x:1", None), "gantry://db/x:1", "gantry://db/x:1"),
    ];
    for (target, canonical, own) in cases {
        let names = TargetNames::of(&target);
        assert_eq!((names.canonical(), names.own()), (canonical, own));
    }
    let definition = json(r#"{"uriTemplate":"x:{id}","name":"t"}"#);
    let mut entry = TemplateEntry::new(definition).unwrap();
    entry.alias = Some(AddressAlias { prefix: "gantry://db/".into(), is_shown: false });
    let target = Target::Template(Arc::new(entry), "x:7".to_owned());
    assert_eq!(TargetNames::of(&target).canonical(), "gantry://db/x:7");
}
