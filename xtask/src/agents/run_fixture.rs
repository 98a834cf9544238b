//! What one run needs: a folder for what it leaves behind, empty homes, the tools and the
//! configuration of the gateway, the gateway itself where it listens, and the model.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{self as own, Command, Stdio};

use serde_json::{Map, Value, json};

use super::Places;
use super::fill::Values;
use crate::failure::{Failure, Outcome};
use crate::gateway::Gateway;
use crate::process::{self, Group};
use crate::{everything, provision, workspace};

/// The places of one run. The homes go when it is dropped.
pub(super) struct RunFixture {
    /// What stays: journals, logs and what was printed.
    pub(super) folder: PathBuf,
    /// Where the homes are. Its path is short, since sockets in it may not have a long one.
    homes: PathBuf,
    cache: PathBuf,
    tests: PathBuf,
    gantry: PathBuf,
    values: Values,
}

/// A program of `tests/agents` that listens; ended when dropped.
pub(super) struct Listener {
    _group: Group,
    pub(super) port: u16,
}

impl RunFixture {
    /// Makes the folders and writes the tools.
    pub(super) fn prepare(places: &Places, folder: &Path) -> Outcome<Self> {
        let homes = env::temp_dir().join(format!("gantry-agents-{}", own::id()));
        workspace::fresh(folder)?;
        workspace::fresh(&homes)?;
        let mut fixture = Self {
            folder: folder.to_path_buf(),
            cache: places.cache.to_path_buf(),
            tests: places.root.join("tests/agents"),
            gantry: places.gantry.to_path_buf(),
            values: Values::default(),
            homes,
        };
        for place in [fixture.home(), fixture.gateway_home(), fixture.work()] {
            fs::create_dir_all(&place).map_err(|source| Failure::file(&place, source))?;
        }
        fixture.values = fixture.values_at_first();
        fixture.write_tools()?;
        Ok(fixture)
    }

    /// Writes the configuration of a gateway with the tools and these servers behind it, and with
    /// these settings.
    pub(super) fn configure(
        &self,
        servers: &Map<String, Value>,
        mut settings: Map<String, Value>,
    ) -> Outcome {
        settings.insert("tools".to_owned(), json!([shown(&self.tools())]));
        settings.insert("mcpServers".to_owned(), json!(servers));
        write(&self.config(), &self.values.fill(&settings.into()).to_string())
    }

    /// The home of the agent, and of a gateway that the agent starts.
    pub(super) fn home(&self) -> PathBuf {
        self.homes.join("agent")
    }

    /// The home of a gateway that listens.
    pub(super) fn gateway_home(&self) -> PathBuf {
        self.homes.join("gateway")
    }

    /// The folder in which the agent works.
    pub(super) fn work(&self) -> PathBuf {
        self.homes.join("work")
    }

    /// What every placeholder stands for that is known before anything runs.
    pub(super) fn values(&self) -> Values {
        self.values.clone()
    }

    /// A script of `tests/agents`.
    pub(super) fn script(&self, path: &str) -> PathBuf {
        self.tests.join(path)
    }

    /// Lines of JSON that a journal of this run has.
    pub(super) fn journal(&self, file: &str) -> Outcome<Vec<Value>> {
        let path = self.folder.join(file);
        if !path.exists() {
            return Ok(Vec::new());
        }
        let parse = |line: &str| serde_json::from_str(line);
        let lines: Result<_, _> = workspace::read(&path)?.lines().map(parse).collect();
        lines.map_err(|source| Failure::file(&path, source))
    }

    /// A command with nothing of our environment. No proxy answers at the address that is named for
    /// the network, so that what heeds it reaches this machine only.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>, home: &Path) -> Command {
        let node = provision::node(&self.cache);
        let folder = node.parent().map(shown).unwrap_or_default();
        let mut command = process::command(program);
        command
            .env_clear()
            .env("HOME", home)
            .env("PATH", format!("{folder}:/usr/local/bin:/usr/bin:/bin"))
            .env("LANG", "C.UTF-8")
            .env("npm_config_offline", "true")
            .env("npm_config_update_notifier", "false")
            .env("NO_PROXY", "127.0.0.1,localhost")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null());
        for name in ["HTTP_PROXY", "HTTPS_PROXY"] {
            command.env(name, "http://127.0.0.1:9");
        }
        command
    }

    /// A command of the gateway's program that means the gateway with that home.
    pub(super) fn gantry(&self, home: &Path) -> Command {
        self.command(&self.gantry, home)
    }

    /// The command that starts a gateway on standard input and output.
    pub(super) fn serve(&self) -> [String; 5] {
        let words = [&shown(&self.gantry), "serve", "--stdio", "--config", &shown(&self.config())];
        words.map(str::to_owned)
    }

    /// Starts a gateway that listens.
    pub(super) fn gateway(&self) -> Outcome<Gateway> {
        let log = self.file("gateway.log")?;
        let mut command = self.gantry(&self.gateway_home());
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(self.config());
        command.current_dir(self.work());
        Gateway::listening(&mut command, log)
    }

    /// The token that a listening gateway made for its user.
    pub(super) fn token(&self) -> Outcome<String> {
        workspace::read(&self.gateway_home().join(".local/state/gantry/client-token"))
            .map(|token| token.trim().to_owned())
    }

    /// Starts the model.
    pub(super) fn model(&self) -> Outcome<Listener> {
        let journal = self.folder.join("model.jsonl");
        self.listen("model.mjs", &[&shown(&journal)], "agent-model")
    }

    /// Starts a script of `tests/agents` that prints the port on which it listens.
    pub(super) fn listen(&self, script: &str, words: &[&str], peer: &str) -> Outcome<Listener> {
        let mut command = self.command(provision::node(&self.cache), &self.work());
        command
            .arg(self.script(script))
            .args(words)
            .env("GANTRY_MODULES", self.cache.join(peer).join("node_modules"))
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut group = Group::start(&mut command)?;
        let lines = group.error_lines();
        let port = everything::listening(&format!("`{script}`"), &lines)?;
        Ok(Listener { _group: group, port })
    }

    /// A new file among what stays.
    pub(super) fn file(&self, name: &str) -> Outcome<File> {
        let path = self.folder.join(name);
        File::create(&path).map_err(|source| Failure::file(&path, source))
    }

    fn config(&self) -> PathBuf {
        self.folder.join("gantry.json")
    }

    fn tools(&self) -> PathBuf {
        self.folder.join("tools")
    }

    fn values_at_first(&self) -> Values {
        let mut values = Values::default();
        let serve = self.serve();
        values.set("gantry", shown(&self.gantry));
        values.set("serve", serve[1..].to_vec());
        values.set("serve with program", serve.to_vec());
        values.set("node", shown(&provision::node(&self.cache)));
        values.set("tests", shown(&self.tests));
        values.set("cache", shown(&self.cache));
        values.set("home", shown(&self.home()));
        values.set("journal", shown(&self.folder.join("journal.jsonl")));
        values
    }

    /// The tools are copied, since their manifest names the journal.
    fn write_tools(&self) -> Outcome {
        let (from, to) = (self.script("tools"), self.tools());
        fs::create_dir_all(&to).map_err(|source| Failure::file(&to, source))?;
        let entries = fs::read_dir(&from).map_err(|source| Failure::file(&from, source))?;
        for entry in entries {
            let path = entry.map_err(|source| Failure::file(&from, source))?.path();
            let copy = to.join(path.file_name().unwrap_or_default());
            fs::copy(&path, &copy).map_err(|source| Failure::file(&path, source))?;
            if path.extension().is_some_and(|ending| ending == "json") {
                let manifest: Value = serde_json::from_str(&workspace::read(&path)?)
                    .map_err(|source| Failure::file(&path, source))?;
                write(&copy, &self.values.fill(&manifest).to_string())?;
            }
        }
        Ok(())
    }
}

impl Drop for RunFixture {
    fn drop(&mut self) {
        // What cannot be removed lies among temporary files.
        let _ = fs::remove_dir_all(&self.homes);
    }
}

/// Writes a file and the folders above it.
pub(super) fn write(path: &Path, text: &str) -> Outcome {
    let failed = |source| Failure::file(path, source);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, text).map_err(failed)
}

/// A path as the data has it.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}
