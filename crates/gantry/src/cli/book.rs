//! The servers that a configuration file names: put in, taken out, and the file written again with
//! everything else as it was.

mod dialect;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, ValueHint};
use gantry::RawJson;
use gantry::config::{Config, ConfigError};
use gantry::edit::{self, Document, EditError};

use super::exit::{Code, Exit};
use super::origin;

/// Where servers stand in a file, in the order in which a place for a new one is looked for.
const SECTIONS: [&[&str]; 5] =
    [&["mcpServers"], &["servers"], &["mcp", "servers"], &["mcp"], &["context_servers"]];

/// Which configuration is written.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Shelf {
    /// The configuration to change; by default the one in force, else ./gantry.json.
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
    /// ./gantry.json.
    Project,
}

impl Shelf {
    /// The file that is meant, whether it is there or not.
    pub(crate) fn file(&self) -> Result<PathBuf, Exit> {
        match (&self.config, self.scope) {
            (Some(file), _) => Ok(file.clone()),
            (None, Some(Scope::Project)) => Ok(Self::of_project()),
            (None, Some(Scope::User)) => of_user(),
            (None, None) => Ok(origin::find(None).unwrap_or_else(Self::of_project)),
        }
    }

    /// The configuration of the current folder.
    pub(crate) fn of_project() -> PathBuf {
        PathBuf::from("gantry.json")
    }
}

fn of_user() -> Result<PathBuf, Exit> {
    let given = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let base = given("XDG_CONFIG_HOME").or_else(|| given("HOME").map(|it| it.join(".config")));
    base.map(|base| base.join("gantry/gantry.json")).ok_or_else(|| {
        Exit::new(Code::Configuration, "there is no place for the configuration of the user")
            .hint("set HOME or XDG_CONFIG_HOME")
    })
}

/// A file and the servers in it.
#[derive(Debug)]
pub(crate) struct Book {
    pub(crate) file: PathBuf,
    document: Document,
    /// Whether the whole of it could be used when it was opened.
    was_in_order: bool,
}

impl Book {
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
        let document = Document::parse(text).map_err(|error| wrong(&file, &error))?;
        let was_in_order = problem(&file, &document).is_none();
        Ok(Self { file, document, was_in_order })
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
        let entry = dialect::written(entry, section);
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
