//! What a shell sees: help, exit codes, completion.

use std::process::Command;

use serde_json::json;

use crate::bench::{Bench, path, program};

#[test]
fn help_and_usage() {
    let bench = Bench::new("help");
    let cases: [(&[&str], _, _); 8] = [
        (&["help"], 0, "Commands:"),
        (&["help", "call"], 0, "text=@FILE"),
        (&["help", "tools", "show"], 0, "--json"),
        (&["help", "nonsense"], 2, ""),
        (&["--help"], 0, "   70  a bug: please report it"),
        (&["call", "--help"], 0, "text=@FILE"),
        (&["version"], 0, "gantry "),
        (&["nonsense"], 2, ""),
    ];
    for (words, code, expected) in cases {
        let run = bench.run(words);
        assert_eq!(run.code, Some(code), "{words:?}: {run:?}");
        assert!(run.out.contains(expected), "{words:?}: {run:?}");
    }
}

#[test]
fn what_holds_for_every_verb_is_apart_and_short() {
    let bench = Bench::new("help-global");
    for verb in ["add", "call", "serve", "status"] {
        for words in [[verb, "-h"], [verb, "--help"]] {
            let run = bench.run(&words);
            let (_, global) = run.out.split_once("Global options:\n").expect("a heading");
            let global = global.split("\n\n").next().unwrap_or_default();
            assert!(global.contains("--log-format <FORMAT>"), "{words:?}: {run:?}");
            assert!(global.lines().count() <= 2, "{words:?}: {global}");
            assert_eq!(run.out.matches("log-format").count(), 1, "{words:?}: {run:?}");
        }
    }
}

/// Completes a line in a real shell, as it does when someone presses Tab.
const COMPLETE: &str = r#"
source <(gantry completions bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9; COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
_clap_complete_gantry gantry "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

#[test]
#[expect(clippy::disallowed_methods, reason = "the shell is the client here")]
fn bash_completes_names() {
    let bench = Bench::new("bash");
    bench.tool("test.echo", "echo 1\n", &json!({"text": {"type": "string"}}));
    let beside = program().parent().expect("a folder").display().to_string();
    bench.write("servers.json", "{\"mcpServers\": {\"files\": {}, \"search\": {}}}");
    let cases: [(&[&str], &[&str]); 8] = [
        (&["tools", "sh"], &["show"]),
        (&["remove", "--config", "servers.json", "fi"], &["files"]),
        (&["logs", "--config=servers.json", "s"], &["search"]),
        (&["tools", "show", "--tools", "tools", "te"], &["test.echo"]),
        (&["call", "--tools=tools", "te"], &["test.echo"]),
        (&["call", "--tools", "tools", "test.echo", "te"], &["text="]),
        (&["call", "wor"], &["word_count"]),
        (&["call", "--tools", "nowhere", "te"], &[""]),
    ];
    for (words, expected) in cases {
        let mut bash = Command::new("bash");
        bash.args(["-c", COMPLETE, "bash", "gantry"]).args(words).current_dir(bench.path());
        bash.env("PATH", format!("{beside}:{}", path())).env("XDG_CONFIG_HOME", bench.path());
        let output = bash.env_remove("GANTRY_CONFIG").output().expect("bash runs");
        let found = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(found.lines().map(str::trim).collect::<Vec<_>>(), expected, "{words:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{words:?}");
    }
}
