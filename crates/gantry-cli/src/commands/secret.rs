//! `gantry secret`: keeps what the configuration names with `${keychain:NAME}`.

pub(crate) mod adopt;

use std::io::{BufRead, IsTerminal, Read, stdin};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueHint};
use gantry::{ObjectWriter, RawJson};
use gantry_protocol::Secret;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use crate::commands::secret::adopt::AdoptOptions;
use crate::exit::{Code, Exit};
use crate::render::{self, Style, Table};
use crate::secrets::{Vault, VaultError};
use crate::{state_dir, tool_sources};

/// The most bytes of a secret.
const LARGEST: u64 = 1024 * 1024;

/// What to do with secrets.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretVerb {
    /// Store a secret; it is prompted for, or read from standard input.
    Set(SetOptions),
    /// List the names of stored secrets.
    List(ListSecretsOptions),
    /// Move plain-text secrets out of the configuration.
    Adopt(AdoptOptions),
    /// Delete a secret.
    #[command(visible_alias = "rm")]
    Remove(RemoveSecretOptions),
}

/// What to keep.
#[derive(Debug, Args)]
pub(crate) struct SetOptions {
    /// Name, as in `${keychain:NAME}`.
    pub(crate) name: String,

    /// Read the secret from this file; `-` is standard input.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_file: Option<PathBuf>,
}

/// How to list.
#[derive(Debug, Args)]
pub(crate) struct ListSecretsOptions {
    /// Configuration file whose references are shown; by default the effective one.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to forget.
#[derive(Debug, Args)]
pub(crate) struct RemoveSecretOptions {
    /// Name.
    pub(crate) name: String,
}

pub(crate) fn run(verb: SecretVerb) -> Result<(), Exit> {
    // The key is made here, so that the vault finds one.
    state_dir::key()?;
    let vault = Vault::new(&state_dir::directory()?, &tool_sources::variable);
    match verb {
        SecretVerb::Set(options) => set(&vault, &options),
        SecretVerb::List(options) => list(&vault, &options),
        SecretVerb::Adopt(options) => adopt::run(&vault, &options),
        SecretVerb::Remove(options) => remove(&vault, &options.name),
    }
}

fn set(vault: &Vault, options: &SetOptions) -> Result<(), Exit> {
    let name = &options.name;
    let secret = match options.from_file.as_deref() {
        Some(path) if path != Path::new("-") => from_file(path)?,
        None if stdin().is_terminal() => ask(name)?,
        _ => read(stdin().lock()).map_err(|error| unread("standard input", &error))?,
    };
    if secret.expose().is_empty() {
        return Err(Exit::new(Code::Usage, "the secret is empty; nothing was stored"));
    }
    let place = vault.set(name, &secret).map_err(|error| failed(&error))?;
    render::say(&format!(
        "stored `{name}` in the {}; write ${{keychain:{name}}} in the configuration",
        place.word()
    ));
    Ok(())
}

fn remove(vault: &Vault, name: &str) -> Result<(), Exit> {
    match vault.remove(name).map_err(|error| failed(&error))? {
        true => render::say(&format!("forgot `{name}`")),
        false => {
            return Err(Exit::new(Code::NotFound, format!("there is no secret `{name}`"))
                .hint("`gantry secret list` shows those there are"));
        }
    }
    Ok(())
}

fn list(vault: &Vault, options: &ListSecretsOptions) -> Result<(), Exit> {
    let names = vault.names().map_err(|error| failed(&error))?;
    let config = tool_sources::configuration(options.config.as_deref())?;
    let files = config.map(|config| config.files).unwrap_or_default();
    let texts: Vec<(String, String)> = files
        .iter()
        .filter_map(|file| Some((file.display().to_string(), std::fs::read_to_string(file).ok()?)))
        .collect();
    let users = |name: &str| -> Vec<&str> {
        let reference = format!("{{keychain:{name}}}");
        let uses = texts.iter().filter(|(_, text)| text.contains(&reference));
        uses.map(|(file, _)| file.as_str()).collect()
    };
    if options.json {
        let row = |(name, place): &(String, crate::secrets::Place)| {
            ObjectWriter::new()
                .value("name", name)
                .value("place", place.word())
                .value("used_in", &users(name))
                .finish()
        };
        let rows: Vec<RawJson> = names.iter().map(row).collect();
        return render::print(&render::pretty(&RawJson::array(&rows)));
    }
    if names.is_empty() {
        render::say("no secrets are stored yet; `gantry secret set NAME` stores one");
    }
    let mut table = Table::default();
    for (name, place) in &names {
        let users = users(name).join(", ");
        table.row([name, place.word(), if users.is_empty() { "not used" } else { &users }]);
    }
    render::print(&table.to_text(Style::of_stdout()))
}

fn from_file(path: &Path) -> Result<Secret, Exit> {
    let opened = std::fs::File::open(path).and_then(read);
    opened.map_err(|error| unread(&path.display().to_string(), &error))
}

fn read(from: impl Read) -> std::io::Result<Secret> {
    let mut text = String::new();
    from.take(LARGEST).read_to_string(&mut text)?;
    Ok(Secret::new(text.trim_end_matches(['\r', '\n'])))
}

/// Asks the one at the terminal, who does not see what is typed.
fn ask(name: &str) -> Result<Secret, Exit> {
    let failed = |error: std::io::Error| unread("the terminal", &error);
    let input = stdin();
    let before = tcgetattr(&input).map_err(|error| failed(error.into()))?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    render::ask(&format!("`{name}`: "));
    tcsetattr(&input, OptionalActions::Flush, &silent).map_err(|error| failed(error.into()))?;
    let mut line = String::new();
    let read = input.lock().read_line(&mut line);
    let restored = tcsetattr(&input, OptionalActions::Flush, &before);
    render::say("");
    read.map_err(failed)?;
    restored.map_err(|error| failed(error.into()))?;
    Ok(Secret::new(line.trim_end_matches(['\r', '\n'])))
}

fn unread(what: &str, error: &std::io::Error) -> Exit {
    Exit::new(Code::Failed, format!("{what} cannot be read: {error}"))
}

fn failed(error: &VaultError) -> Exit {
    let code = if matches!(error, VaultError::Name(_)) { Code::Usage } else { Code::Failed };
    Exit::new(code, error.to_string())
}
