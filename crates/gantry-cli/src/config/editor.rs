//! The servers that a configuration file names: put in, taken out, and the file written again with
//! everything else as it was.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use gantry::{ObjectWriter, RawJson};

use crate::config::edit::{self, Document, EditError};
use crate::config::{self, Config, ConfigError};
use crate::exit::{Code, Exit};
use crate::{render, tool_sources};

/// Where servers stand in a file, in the order in which a place for a new one is looked for.
const SECTIONS: [&[&str]; 5] =
    [&["mcpServers"], &["servers"], &["mcp", "servers"], &["mcp"], &["context_servers"]];

/// Which configuration is written.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConfigTarget {
    /// The configuration to change; by default that of the user.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Whose configuration to change.
    #[arg(short, long, value_enum, conflicts_with = "config")]
    pub(crate) scope: Option<Scope>,
}

/// Whose configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// That of the user, for every folder.
    User,
    /// ./gantry.json, for this folder.
    Project,
}

impl ConfigTarget {
    /// The file that something new is written to, whether it is there or not.
    pub(crate) fn file(&self) -> Result<PathBuf, Exit> {
        match self.chosen()? {
            Some(file) => Ok(file),
            None => of_user(),
        }
    }

    /// The files that may have what is changed, the one that counts most first.
    pub(crate) fn existing(&self) -> Result<Vec<PathBuf>, Exit> {
        match self.chosen()? {
            Some(file) => Ok(vec![file]),
            None => Ok(tool_sources::layers(None)),
        }
    }

    /// The file with a server of that name. Of several, one must be named.
    pub(crate) fn holding(&self, name: &str) -> Result<Option<PathBuf>, Exit> {
        let files = self.existing()?;
        let mut found = Vec::new();
        for file in &files {
            if ConfigEditor::open(file.clone())?.has(name) {
                found.push(file);
            }
        }
        match found.as_slice() {
            [] => Ok(files.into_iter().next()),
            [one] => Ok(Some((*one).clone())),
            several => {
                let text = format!("{} files have a server `{name}`", several.len());
                let choices: Vec<String> =
                    several.iter().map(|it| format!("\n  --config {}", it.display())).collect();
                Err(Exit::new(Code::Usage, text).hint(format!("choose one:{}", choices.concat())))
            }
        }
    }

    /// The file that the command line or the environment names.
    fn chosen(&self) -> Result<Option<PathBuf>, Exit> {
        match (&self.config, self.scope) {
            (Some(file), _) => Ok(Some(file.clone())),
            (None, Some(Scope::Project)) => Ok(Some(Self::of_project())),
            (None, Some(Scope::User)) => of_user().map(Some),
            (None, None) => Ok(tool_sources::stated(None)),
        }
    }

    /// The configuration of the current folder.
    pub(crate) fn of_project() -> PathBuf {
        PathBuf::from("gantry.json")
    }
}

fn of_user() -> Result<PathBuf, Exit> {
    config::of_user(&tool_sources::variable).ok_or_else(|| {
        Exit::new(Code::Configuration, "there is no place for the configuration of the user")
            .hint("set HOME or XDG_CONFIG_HOME")
    })
}

/// The files that are read now and would not be any more when a new one is written, as they are named
/// in the new one.
fn hidden_by(new: &Path) -> Vec<String> {
    let absolute = |file: &Path| std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let new = absolute(new);
    let [of_project, of_anvil] = config::of_project(&tool_sources::here());
    let of_user = config::of_user(&tool_sources::variable);
    let is_project = new == of_project;
    let is_user = of_user.as_deref() == Some(&new);
    let mut hidden = Vec::new();
    if is_project && of_anvil.is_file() {
        hidden.push("./anvil.json".to_owned());
    }
    let has_other = of_user.is_some_and(|file| file.is_file()) || of_anvil.is_file();
    let of_erasmus = config::of_erasmus(&tool_sources::variable).filter(|file| file.is_file());
    if let Some(file) = of_erasmus.filter(|_| is_user || (is_project && !has_other)) {
        hidden.push(file.display().to_string());
    }
    hidden
}

/// A file and the servers in it.
#[derive(Debug)]
pub(crate) struct ConfigEditor {
    pub(crate) file: PathBuf,
    document: Document,
    /// Whether the whole of it could be used when it was opened.
    was_in_order: bool,
    /// Other files that are included so that they are still read.
    hidden: Vec<String>,
}

impl ConfigEditor {
    /// Opens a file; one that is not there, or empty, names no servers yet.
    pub(crate) fn open(file: PathBuf) -> Result<Self, Exit> {
        if file.extension().is_some_and(|it| it.eq_ignore_ascii_case("toml")) {
            let text = format!("{} is TOML, which is only read here", file.display());
            let hint = "change it by hand, or give --config the path of a JSON file";
            return Err(Exit::new(Code::Configuration, text).hint(hint));
        }
        let text = match std::fs::read_to_string(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| unreadable(&file, &error))?,
        };
        let text = if text.trim().is_empty() { "{}\n".to_owned() } else { text };
        let is_new = !file.exists();
        let mut document = Document::parse(text).map_err(|error| wrong(&file, &error))?;
        let hidden = if is_new { hidden_by(&file) } else { Vec::new() };
        if !hidden.is_empty() {
            let list = RawJson::of(&hidden).unwrap_or(RawJson::NULL);
            document.set(&["include"], &list).map_err(|error| wrong(&file, &error))?;
        }
        let was_in_order = problem(&file, &document).is_none();
        Ok(Self { file, document, was_in_order, hidden })
    }

    /// What the file says.
    pub(crate) fn json(&self) -> &RawJson {
        self.document.json()
    }

    /// The servers with their entries, in order.
    pub(crate) fn entries(&self) -> Vec<(String, RawJson)> {
        let sections = sections(self.json()).filter_map(|section| self.json().at(section));
        let named = |section: RawJson| {
            section.members().map(|it| (it.key().into_owned(), it.value())).collect::<Vec<_>>()
        };
        sections.flat_map(named).collect()
    }

    /// The names of the servers, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        self.entries().into_iter().map(|(name, _)| name).collect()
    }

    /// Whether there is a server of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.section_of(name).is_some()
    }

    /// Puts a server in, in the place of the one that has its name, and gives what is written. One
    /// that would spoil a configuration that is in order is refused.
    pub(crate) fn put(&mut self, name: &str, entry: &RawJson) -> Result<RawJson, Exit> {
        let section = self.section_of(name).or_else(|| sections(self.json()).next());
        let section = section.unwrap_or(SECTIONS[0]);
        let path = [section, &[name]].concat();
        let entry = written(entry, section);
        self.change(|document| document.set(&path, &entry))?;
        Ok(entry)
    }

    /// Puts other values in the place of some that the file has. Nothing else changes.
    pub(crate) fn rewrite(&mut self, changes: &[(RawJson, RawJson)]) -> Result<(), Exit> {
        self.change(|document| document.rewrite(changes))
    }

    fn change(
        &mut self,
        change: impl FnOnce(&mut Document) -> Result<(), EditError>,
    ) -> Result<(), Exit> {
        let mut document = self.document.clone();
        change(&mut document).map_err(|error| wrong(&self.file, &error))?;
        match problem(&self.file, &document).filter(|_| self.was_in_order) {
            Some(problem) => Err(Exit::new(Code::Configuration, problem).hint(UNCHANGED)),
            None => {
                self.document = document;
                Ok(())
            }
        }
    }

    /// Takes a server out; false if there is none of that name.
    pub(crate) fn remove(&mut self, name: &str) -> Result<bool, Exit> {
        let Some(section) = self.section_of(name) else { return Ok(false) };
        let path = [section, &[name]].concat();
        self.document.remove(&path).map_err(|error| wrong(&self.file, &error))
    }

    /// Writes the file.
    pub(crate) fn save(&self) -> Result<(), Exit> {
        for other in &self.hidden {
            let file = self.file.display();
            render::say(&format!("note: {file} includes {other}, which was read in its place"));
        }
        edit::save(&self.file, self.document.text()).map(drop).map_err(|error| {
            let text = format!("{} cannot be written: {error}", self.file.display());
            Exit::new(Code::Failed, text).hint("give --config a file that can be written")
        })
    }

    fn section_of(&self, name: &str) -> Option<&'static [&'static str]> {
        let names = |section: &&[&str]| self.json().at(&[*section, &[name]].concat()).is_some();
        sections(self.json()).find(names)
    }
}

/// Where the servers of a file stand.
pub(crate) fn sections(json: &RawJson) -> impl Iterator<Item = &'static [&'static str]> {
    let is_object = |path: &[&str]| json.at(path).is_some_and(|it| it.is_object());
    let nested = is_object(&["mcp", "servers"]);
    let present = SECTIONS.map(|section| {
        // `mcp` holds the servers itself, or a member that does.
        is_object(section) && !(nested && *section == ["mcp"])
    });
    SECTIONS.into_iter().zip(present).filter_map(|(section, is_there)| is_there.then_some(section))
}

/// Why a configuration could not be used; a key that has its meaning in another version is none.
fn problem(file: &Path, document: &Document) -> Option<String> {
    let variable = |name: &str| std::env::var(name).ok();
    match Config::parse(file, document.text().as_bytes(), &variable) {
        Ok(_) | Err(ConfigError::NotYet { .. }) => None,
        Err(error) => {
            let text = error.to_string();
            // The text that the place belongs to is never written.
            let placed = text.starts_with(&format!("{}:", file.display()));
            let bare = text.split_once(": ").filter(|_| placed).map(|it| it.1.to_owned());
            Some(bare.unwrap_or(text))
        }
    }
}

const UNCHANGED: &str = "mend it, and try again; nothing was changed";

/// What to say of a file that cannot be read.
pub(crate) fn unreadable(file: &Path, error: &std::io::Error) -> Exit {
    Exit::new(Code::Configuration, format!("{} cannot be read: {error}", file.display()))
        .hint("give the path of a file that is there and can be read")
}

/// What to say of a file that is not in order.
pub(crate) fn wrong(file: &Path, error: &EditError) -> Exit {
    let place = match error {
        EditError::Syntax { .. } => format!("{}:{error}", file.display()),
        EditError::NotAnObject(_) => format!("{}: {error}", file.display()),
    };
    Exit::new(Code::Configuration, place).hint(UNCHANGED)
}

/// The entry as it is written into a section. Where that is `mcp` or a part of it, servers are
/// `local` or `remote`, and a command is one list.
pub(crate) fn written(entry: &RawJson, section: &[&str]) -> RawJson {
    if section.first() != Some(&"mcp") {
        return entry.clone();
    }
    let command = entry.get("command");
    let kind = if command.is_some() { "local" } else { "remote" };
    let args = entry.get("args").map(|it| it.elements().collect::<Vec<_>>()).unwrap_or_default();
    let words: Vec<RawJson> = command.iter().cloned().chain(args).collect();
    let mut out = ObjectWriter::new().value("type", kind);
    if command.is_some() {
        out = out.array("command", &words);
    }
    for member in entry.members() {
        out = match &*member.key() {
            "type" | "command" | "args" => out,
            "env" => out.raw("environment", &member.value()),
            "disabled" => out.value("enabled", &(member.value().read() != Some(true))),
            key => out.raw(key, &member.value()),
        };
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_file() {
        let cases = [
            (
                r#"{"command":"npx","args":["-y","p"],"env":{"A":"b"},"disabled":true}"#,
                r#"{"type":"local","command":["npx","-y","p"],"environment":{"A":"b"},"enabled":false}"#,
            ),
            (
                r#"{"type":"http","url":"https://h","headers":{"A":"b"}}"#,
                r#"{"type":"remote","url":"https://h","headers":{"A":"b"}}"#,
            ),
        ];
        for (text, expected) in cases {
            let entry = RawJson::from_static(text);
            assert_eq!(written(&entry, &["mcp", "servers"]).as_str(), expected, "{text}");
            assert_eq!(written(&entry, &["mcpServers"]), entry, "{text}");
        }
    }
}
