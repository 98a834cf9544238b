//! Who gets in, and in place of whom.

use std::path::PathBuf;
use std::sync::Arc;

use gantry_protocol::RawJson;
use serde_json::{Value, json};

use super::Registry;
use crate::scripts::ToolSettings;
use crate::scripts::manifest::{Answer, Manifest, Runtime};
use crate::scripts::served_versions::ServedTools;

/// A tool `text.count` from a file, with some parameters, all of them required.
fn tool(file: &str, version: &str, parameters: &[&str]) -> Arc<Manifest> {
    let properties: serde_json::Map<String, Value> =
        parameters.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    let input = json!({"type": "object", "properties": properties, "required": parameters});
    Arc::new(Manifest {
        name: "text.count".to_owned(),
        written: None,
        warnings: Vec::new(),
        version: version.to_owned(),
        description: "Counts.".to_owned(),
        runtime: Runtime::Process,
        command: "/bin/sh".into(),
        args: Vec::new(),
        env: Vec::new(),
        secrets: Vec::new(),
        directory: "/".into(),
        input_schema: RawJson::from(input),
        output_schema: Some(RawJson::from(json!({"type": "string"}))),
        annotations: None,
        title: None,
        answer: Answer::End,
        task: false,
        timeout: None,
        memory: None,
        metadata: None,
        source: PathBuf::from("/tools").join(file),
    })
}

/// The versions that a registry holds after each step, newest first, and what was refused.
fn steps(steps: &[Vec<Arc<Manifest>>]) -> (Vec<String>, Vec<String>) {
    let settings = ToolSettings { older_versions: 2, ..ToolSettings::default() };
    let (mut registry, mut refused) = (Registry::default(), Vec::new());
    for manifests in steps {
        (registry, refused) = registry.rebuild(manifests, &mut ServedTools::default(), &settings);
    }
    let held = registry.manifests().map(|it| it.version.clone()).collect();
    let refused = refused.iter().map(|(_, problem)| problem.to_string()).collect();
    (held, refused)
}

#[test]
fn who_gets_in() {
    let one = |version, parameters: &[&str]| vec![tool("a", version, parameters)];
    let two = |lower, parameters: &[&str], upper, others: &[&str]| {
        vec![tool("b", upper, others), tool("a", lower, parameters)]
    };
    type Case<'a> = (&'a str, Vec<Vec<Arc<Manifest>>>, &'a [&'a str], &'a [&'a str]);
    let cases: &[Case<'_>] = &[
        ("a new one", vec![one("1.0.0", &["x"])], &["1.0.0"], &[]),
        ("the same again", vec![one("1.0.0", &["x"]), one("1.0.0", &["x"])], &["1.0.0"], &[]),
        (
            "another schema under the same version",
            vec![one("1.0.0", &["x"]), one("1.0.0", &["x", "y"])],
            &["1.0.0"],
            &[
                "`text.count` has changed (",
                "but its version is still 1.0.0; raise the version to 2.0.0",
            ],
        ),
        (
            "a version that rises too little",
            vec![one("1.0.0", &["x"]), one("1.1.0", &["x", "y"])],
            &["1.0.0"],
            &["from 1.0.0 to 1.1.0 `text.count` changes more", "raise the version to 2.0.0"],
        ),
        (
            "a version that rises enough takes the place of its own file",
            vec![one("1.0.0", &["x"]), one("2.0.0", &["x", "y"])],
            &["2.0.0"],
            &[],
        ),
        (
            "a version that falls",
            vec![one("2.0.0", &["x"]), one("1.0.0", &["x"])],
            &["2.0.0"],
            &["fell from 2.0.0 to 1.0.0"],
        ),
        (
            "one that went away may come back",
            vec![one("2.0.0", &[]), vec![], one("1.0.0", &["x"])],
            &["1.0.0"],
            &[],
        ),
        ("two versions", vec![two("1.0.0", &[], "2.0.0", &["x"])], &["2.0.0", "1.0.0"], &[]),
        (
            "two versions, too near",
            vec![two("1.0.0", &[], "1.0.1", &["x"])],
            &["1.0.0"],
            &["/tools/b: from 1.0.0 to 1.0.1 `text.count` changes more than"],
        ),
        ("one tool told of twice", vec![two("1.0.0", &["x"], "1.0.0", &["x"])], &["1.0.0"], &[]),
        (
            "one version twice",
            vec![two("1.0.0", &["x"], "1.0.0", &["y"])],
            &["1.0.0"],
            &["/tools/a: version 1.0.0 of `text.count` is version_taken by /tools/b"],
        ),
        (
            "an older one comes later",
            vec![one("2.0.0", &["x"]), vec![tool("a", "2.0.0", &["x"]), tool("b", "1.0.0", &[])]],
            &["2.0.0", "1.0.0"],
            &[],
        ),
        (
            "as many as are kept",
            vec![["1", "2", "3", "4"].map(|it| tool(it, &format!("{it}.0.0"), &[])).into()],
            &["4.0.0", "3.0.0", "2.0.0"],
            &[],
        ),
    ];
    for (name, given, held, told) in cases {
        let (versions, refused) = steps(given);
        assert_eq!(versions, *held, "{name}: {refused:?}");
        assert_eq!(refused.is_empty(), told.is_empty(), "{name}: {refused:?}");
        for words in *told {
            assert!(refused[0].contains(words), "{name}: {refused:?}");
        }
    }
}

#[test]
fn a_schema_that_is_none() {
    let mut wrong = Arc::unwrap_or_clone(tool("a", "1.0.0", &[]));
    wrong.output_schema = Some(RawJson::from(json!({"type": "strung"})));
    let (held, refused) = steps(&[vec![Arc::new(wrong)]]);
    assert!(held.is_empty());
    assert!(
        refused[0].starts_with("/tools/a: the outputSchema of tool `text.count`"),
        "{refused:?}"
    );
}

/// The versions that are held when a run after the first one finds these, and what was refused.
fn after_restart(first: &[Arc<Manifest>], then: &[Arc<Manifest>]) -> (Vec<String>, Vec<String>) {
    let settings = ToolSettings::default();
    let mut served = ServedTools::default();
    served.restore(Vec::new());
    Registry::default().rebuild(first, &mut served, &settings);
    let written = served.take_changes().into_iter();
    let mut served = ServedTools::default();
    served.restore(written.filter_map(|(key, content)| Some((key, content?))).collect());
    let (registry, refused) = Registry::default().rebuild(then, &mut served, &settings);
    let held = registry.manifests().map(|it| it.version.clone()).collect();
    (held, refused.iter().map(|(_, problem)| problem.to_string()).collect())
}

#[test]
fn what_was_served_is_held_to() {
    let changed = |version: &str, change: fn(&mut Manifest)| {
        let mut manifest = Arc::unwrap_or_clone(tool("a", version, &["x"]));
        change(&mut manifest);
        Arc::new(manifest)
    };
    let as_it_is: fn(&mut Manifest) = |_| {};
    let other_command: fn(&mut Manifest) = |it| it.args = vec!["-x".to_owned()];
    let other_text: fn(&mut Manifest) = |it| it.description = "Counts more.".to_owned();
    let other_type: fn(&mut Manifest) = |it| {
        let input = json!({"type": "object", "properties": {"x": {"type": "integer"}}});
        it.input_schema = RawJson::from(input);
    };
    // The name, the version and the change that come after 1.0.0 and 1.2.0, and what is refused.
    let cases = [
        ("the same", "1.2.0", as_it_is, None),
        ("the one before", "1.0.0", as_it_is, None),
        ("another text", "1.2.0", other_text, None),
        ("another command", "1.2.0", other_command, Some("was served with another command")),
        ("a newer command", "1.2.1", other_command, None),
        ("another type", "1.2.0", other_type, Some("raise the version to 2.0.0")),
        ("another type, newer", "1.3.0", other_type, Some("raise the version to 2.0.0")),
        ("another type, new enough", "2.0.0", other_type, None),
        ("an older one of another type", "1.1.0", other_type, Some("raise the version to 2.0.0")),
        ("an older one of another type", "0.9.0", other_type, Some("give it a version above")),
        ("a version between", "1.1.0", as_it_is, None),
    ];
    let before = [tool("a", "1.0.0", &["x"]), tool("b", "1.2.0", &["x"])];
    for (name, version, change, expected) in cases {
        let (held, refused) = after_restart(&before, &[changed(version, change)]);
        assert_eq!(refused.is_empty(), expected.is_none(), "{name}: {refused:?}");
        assert_eq!(held.is_empty(), expected.is_some(), "{name}: {held:?}");
        assert!(expected.is_none_or(|words| refused[0].contains(words)), "{name}: {refused:?}");
    }
    // The tool of that name of another project is another tool.
    let mut elsewhere = Arc::unwrap_or_clone(changed("1.2.0", other_type));
    elsewhere.source = "/other/a".into();
    assert_eq!(after_restart(&before, &[Arc::new(elsewhere)]).1, [] as [String; 0]);
}
