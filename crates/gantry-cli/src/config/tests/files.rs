//! Files that a configuration takes in, and those it is looked for in.

use std::path::{Path, PathBuf};

use gantry_client::Target;
use gantry_protocol::Secret;

use crate::config::{Config, find};
use crate::secrets::Vault;

/// A folder that goes when the test ends.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let unique = format!("gantry-config-{name}-{}", std::process::id());
        let folder = Self(std::env::temp_dir().join(unique));
        for (file, text) in files {
            folder.write(file, text);
        }
        folder
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn environment(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| self.0.to_string_lossy().into_owned())
    }

    pub(crate) fn read(&self, file: &str) -> Result<Config, String> {
        let read = Config::read(&self.0.join(file), &|name| self.environment(name));
        read.map_err(|error| error.to_string().replace(&*self.0.to_string_lossy(), "."))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn includes_of_any_dialect() {
    let folder = Folder::new(
        "include",
        &[
            (
                "gantry.json",
                r#"{"mcpServers": {"a": {"command": "./a"}}, "tools": ["./t"],
                    "include": ["sub/mcp.json", "~/c.toml", "team.gantry.json", "sub/more.json"]}"#,
            ),
            ("sub/mcp.json", r#"{"servers": {"b": {"command": "./b"}}, "what": 1}"#),
            ("sub/more.json", r#"{"mcp": {"d": {"command": ["d"]}}, "include": "mcp.json"}"#),
            ("c.toml", "[mcp_servers.c]\ncommand = 'c'\n[mcp_servers.a]\ncommand = 'no'"),
            ("team.gantry.json", r#"{"listen": "127.0.0.1:1", "tools": ["u"]}"#),
        ],
    );
    let config = folder.read("gantry.json").expect("it is right");
    let programs: Vec<String> = config
        .servers
        .iter()
        .map(|server| match &server.target {
            Ok(Target::Program(program)) => program.program.display().to_string(),
            other => panic!("{other:?}"),
        })
        .map(|program| program.replace(&*folder.0.to_string_lossy(), "."))
        .collect();
    assert_eq!(programs, ["./a", "./sub/b", "c", "d"]);
    assert_eq!(config.listen.as_deref(), Some("127.0.0.1:1"));
    assert_eq!(config.folders, [folder.0.join("t"), folder.0.join("u")]);
    assert_eq!(config.warnings.len(), 1, "{:?}", config.warnings);
    assert!(config.warnings[0].contains("c.toml:3:14: the server `a` is given at"), "{config:?}");
    assert_eq!(config.files.len(), 5, "{:?}", config.files);
}

#[test]
fn wrong_includes() {
    let cases = [
        (
            r#"{"include": ["no.json"]}"#,
            "",
            "./gantry.json:1:14: the included file ./no.json cannot",
        ),
        (
            r#"{"include": 1}"#,
            "",
            "./gantry.json:1:13: `include` has the wrong form; write a file or",
        ),
        (
            r#"{"include": ["b.json"]}"#,
            "{\n\"include\": \"./sub/../gantry.json\"}",
            "./b.json:2:12: the files include each other; break the chain ./gantry.json -> \
             ./b.json -> ./sub/../gantry.json",
        ),
        (r#"{"include": ["b.json"]}"#, "{\n", "./b.json:2:1: not valid JSON"),
        (r#"{"include": ["b.toml"]}"#, "", "./b.toml:2:5: not valid TOML"),
    ];
    for (text, other, expected) in cases {
        let files =
            [("gantry.json", text), ("b.json", other), ("b.toml", "[a]\nb = "), ("sub/x", "")];
        let folder = Folder::new("wrong-include", &files);
        let error = folder.read("gantry.json").expect_err(text);
        assert!(error.starts_with(expected), "{text}: {error}");
    }
}

#[test]
fn files_of_variables_texts_and_secrets() {
    let folder = Folder::new(
        "values",
        &[
            (
                "gantry.json",
                r#"{"mcpServers": {"s": {"command": "x", "envFile": "./.env", "env": {"B": "mine"},
                    "args": ["${file:./token}", "{file:token}", "${keychain:search}"]},
                    "t": {"command": "${keychain:open}"}}}"#,
            ),
            (".env", "A=1\nB=2\n"),
            ("token", "tok-en\n"),
            (".local/state/gantry/key", "01234567890123456789012345678901"),
        ],
    );
    let vault = Vault::new(&folder.0.join(".local/state/gantry"), &|name| folder.environment(name));
    vault.set("search", &Secret::new("hush")).expect("it is kept");
    let config = folder.read("gantry.json").expect("it is right");
    let Ok(Target::Program(program)) = &config.servers[0].target else { panic!("{config:?}") };
    assert_eq!(program.args, ["tok-en", "tok-en", "hush"]);
    for (name, value) in [("A", "1"), ("B", "mine")] {
        assert!(program.env.contains(&(name.to_owned(), value.to_owned())), "{program:?}");
    }
    let problem = config.servers[1].target.clone().expect_err("nobody has set it");
    assert!(problem.contains("`gantry secret set open` keeps one"), "{problem}");
    let files = ["gantry.json", "token", ".local/state/gantry/secrets.json", ".env"];
    for file in files.map(|file| folder.0.join(file)) {
        assert!(config.files.contains(&file), "{file:?} {:?}", config.files);
    }
}

#[test]
fn erasmus_counts_from_the_home_where_its_file_does_not() {
    let text = r#"{"mcpServers": {"g": {"command": "./erasmus/mcp/github/server"}}}"#;
    let places = [
        ".erasmus/mcp/erasmus/mcp/github/server",
        "erasmus/mcp/github/server",
        ".erasmus/mcp/github/server",
    ];
    for place in places {
        let folder = Folder::new("erasmus", &[(".erasmus/mcp/config.json", text), (place, "")]);
        let config = folder.read(".erasmus/mcp/config.json").expect("it is right");
        let Ok(Target::Program(program)) = &config.servers[0].target else { panic!("{config:?}") };
        assert_eq!(program.program, folder.0.join(place));
    }
}

#[test]
fn the_first_that_is_there_is_used() {
    let order = [
        "here/gantry.json",
        "here/anvil.json",
        ".config/gantry/gantry.json",
        ".erasmus/mcp/config.json",
    ];
    let folder = Folder::new("search", &order.map(|file| (file, "{}")));
    let here = folder.0.join("here");
    let stated = |name: &str| (name == "GANTRY_CONFIG").then(|| "/by/variable".to_owned());
    let given = Path::new("/given");
    assert_eq!(find(Some(given), &stated, &here), Some(given.to_owned()));
    assert_eq!(find(None, &stated, &here), Some("/by/variable".into()));
    for file in order {
        let expected = folder.0.join(file);
        assert_eq!(find(None, &|name| folder.environment(name), &here), Some(expected.clone()));
        std::fs::remove_file(expected).expect("it goes");
    }
    assert_eq!(find(None, &|name| folder.environment(name), &here), None);
}
