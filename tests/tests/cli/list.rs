//! `list`: what is there, and what to know of it before it is called.

use serde_json::{Value, json};

use crate::bench::Bench;

#[test]
fn marks_stand_before_the_description() {
    let bench = Bench::new("list-marks");
    let cases = [
        ("test.harsh", json!({"destructiveHint": true}), json!({}), "destructive  Does it."),
        ("test.silent", json!({}), json!({}), "             Does it."),
        ("test.reads", json!({"readOnlyHint": true}), json!({}), "             Does it."),
        ("test.mild", json!({"destructiveHint": false}), json!({}), "             Does it."),
        (
            "test.old",
            json!({"readOnlyHint": true}),
            json!({"deprecated_in": "1.0.0"}),
            "deprecated   Does it. (Deprecated in 1.0.0.)",
        ),
    ];
    let write = |name: &str, annotations: &Value, metadata: &Value| {
        let manifest = json!({"name": name, "version": "1.0.0", "description": "Does it.",
            "command": "true", "annotations": annotations, "metadata": metadata,
            "inputSchema": {"type": "object", "properties": {}}, "outputSchema": {"type": "string"}});
        bench.write(&format!("tools/{name}.tool.json"), &manifest.to_string());
    };
    for (name, annotations, metadata, _) in &cases {
        write(name, annotations, metadata);
    }
    let listed = bench.run(&["tools", "--tools", "tools"]);
    for (name, _, _, expected) in &cases {
        let line = format!("{:<11}  1.0.0  {expected}", name.replace('.', "_"));
        assert!(listed.out.lines().any(|it| it == line), "{line}: {listed:?}");
    }
    let both = (json!({}), json!({"destructive": true, "deprecated_in": "1.0.0"}));
    write("test.both", &both.0, &both.1);
    let listed = bench.run(&["tools", "--tools", "tools"]);
    assert!(listed.out.contains("destructive, deprecated  Does it."), "{listed:?}");
}

#[test]
fn an_empty_folder_says_what_to_do() {
    let bench = Bench::new("list-empty");
    let advice = "`gantry tools new python text.count` writes one";
    for words in
        [&["tools", "list", "--tools", "tools"][..], &["serve", "--stdio", "--tools", "tools"]]
    {
        let run = bench.run(words);
        assert_eq!(run.code, Some(0), "{words:?}: {run:?}");
        assert!(run.err.contains(advice), "{words:?}: {run:?}");
    }
}
