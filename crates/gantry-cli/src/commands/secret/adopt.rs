//! `gantry secret adopt`: moves secrets that stand in a configuration in plain text to where secrets
//! are kept. In the file only their values change, to references.

use clap::Args;
use clap_complete::ArgValueCompleter;
use gantry::{ObjectWriter, RawJson};
use gantry_protocol::redact::HIDDEN;

use crate::commands::{completions, remove};
use crate::config;
use crate::config::editor::{ConfigEditor, ConfigTarget};
use crate::exit::{Code, Exit};
use crate::render::{self, Style, Table};
use crate::secrets::scan::{self, PlainSecret};
use crate::secrets::{Place, Vault, VaultError};

/// How many names are tried for a secret when others have the same.
const TRIES: usize = 100;

/// The longest name that is made for a secret, with room for a number.
const LONGEST: usize = 120;

/// What to move.
#[derive(Debug, Args)]
pub(crate) struct AdoptOptions {
    /// Server whose secrets are moved; by default all servers.
    #[arg(add = ArgValueCompleter::new(completions::servers))]
    pub(crate) server: Option<String>,

    /// Show what would be moved, without changing anything.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) target: ConfigTarget,
}

/// A secret on its way.
struct Move {
    exposed: PlainSecret,
    /// What it is called where it is kept.
    name: String,
    /// Whether it is kept under that name already.
    is_kept: bool,
    /// Where it went, once it did.
    place: Option<Place>,
}

impl Move {
    /// What stands in the file instead.
    fn reference(&self) -> String {
        format!("{}${{keychain:{}}}", self.exposed.before, self.name)
    }

    fn to_json(&self) -> RawJson {
        ObjectWriter::new()
            .value("server", &self.exposed.server)
            .value("in", self.exposed.group)
            .value("name", &self.exposed.name)
            .value("secret", &self.name)
            .value_some("place", self.place.map(Place::word))
            .finish()
    }
}

pub(crate) fn run(vault: &Vault, options: &AdoptOptions) -> Result<(), Exit> {
    let mut editor = open(options)?;
    let mut moves = Vec::new();
    for exposed in scan::of_book(&editor, options.server.as_deref()) {
        let (name, is_kept) = choose(vault, &moves, &exposed)?;
        moves.push(Move { exposed, name, is_kept, place: None });
    }
    if !options.dry_run && !moves.is_empty() {
        let moved = keep(vault, &mut moves).and_then(|()| write(&mut editor, &moves));
        // What the file still holds need not be kept a second time.
        moved.inspect_err(|_| forget(vault, &moves))?;
    }
    report(&editor, &moves, options)
}

/// The file to change. One that other programs read stays as it is: they know no references.
fn open(options: &AdoptOptions) -> Result<ConfigEditor, Exit> {
    let file = match options.server.as_deref() {
        Some(name) => options.target.holding(name)?,
        None => options.target.existing()?.into_iter().next(),
    };
    let file = file.map_or_else(|| options.target.file(), Ok)?;
    if !file.exists() {
        let text = format!("there is no configuration {}", file.display());
        return Err(Exit::new(Code::NotFound, text).hint("give --config the path of one"));
    }
    if !config::is_own(&file) {
        let text = format!("{} belongs to another program", file.display());
        let hint = "import its servers with `gantry import FILE`, then adopt their secrets there";
        return Err(Exit::new(Code::Configuration, text).hint(hint));
    }
    let editor = ConfigEditor::open(file)?;
    match options.server.as_deref().filter(|name| !editor.has(name)) {
        Some(name) => Err(remove::unknown(name, &editor)),
        None => Ok(editor),
    }
}

/// A name for a secret: one that is free, or that has the same text already.
fn choose(vault: &Vault, moves: &[Move], exposed: &PlainSecret) -> Result<(String, bool), Exit> {
    let first = name_of(exposed);
    for number in 1..=TRIES {
        let name = if number == 1 { first.clone() } else { format!("{first}-{number}") };
        let secret = match moves.iter().find(|it| it.name == name) {
            Some(other) => Some(other.exposed.secret.clone()),
            None => vault.get(&name).map_err(|error| failed(&error))?,
        };
        match secret {
            None => return Ok((name, false)),
            Some(secret) if secret.expose() == exposed.secret.expose() => return Ok((name, true)),
            Some(_) => {}
        }
    }
    let text = format!("there is no free name for {}; `{first}` is taken", exposed.place());
    Err(Exit::new(Code::Failed, text).hint("`gantry secret remove NAME` deletes one"))
}

/// `x-api-key` for `API_KEY` of the server `x`.
fn name_of(exposed: &PlainSecret) -> String {
    let plain = |letter: char| match letter.is_ascii_alphanumeric() || letter == '.' {
        true => letter.to_ascii_lowercase(),
        false => '-',
    };
    let name = exposed.name.trim_matches('-');
    format!("{}-{name}", exposed.server).chars().map(plain).take(LONGEST).collect()
}

/// Keeps every secret, and makes sure that it comes back as it was: this may be the only copy.
fn keep(vault: &Vault, moves: &mut [Move]) -> Result<(), Exit> {
    for it in moves.iter_mut().filter(|it| !it.is_kept) {
        it.place = Some(vault.set(&it.name, &it.exposed.secret).map_err(|error| failed(&error))?);
        let kept = vault.get(&it.name).map_err(|error| failed(&error))?;
        if kept.is_none_or(|kept| kept.expose() != it.exposed.secret.expose()) {
            let text = format!("the stored secret `{}` could not be read back", it.name);
            return Err(Exit::new(Code::Failed, text).hint("nothing was changed in the file"));
        }
    }
    Ok(())
}

fn write(editor: &mut ConfigEditor, moves: &[Move]) -> Result<(), Exit> {
    let changes: Vec<(RawJson, RawJson)> = moves
        .iter()
        .map(|it| (it.exposed.value.clone(), RawJson::string(&it.reference())))
        .collect();
    editor.rewrite(&changes)?;
    editor.save()
}

fn forget(vault: &Vault, moves: &[Move]) {
    for it in moves.iter().filter(|it| it.place.is_some()) {
        if let Err(error) = vault.remove(&it.name) {
            render::say(&format!("`{}` could not be deleted again: {error}", it.name));
        }
    }
}

fn report(editor: &ConfigEditor, moves: &[Move], options: &AdoptOptions) -> Result<(), Exit> {
    let file = editor.file.display();
    if options.json {
        let rows: Vec<RawJson> = moves.iter().map(Move::to_json).collect();
        let whole = ObjectWriter::new()
            .value("file", &editor.file)
            .value("dry_run", &options.dry_run)
            .array("moved", &rows);
        return render::print(&render::pretty(&whole.finish()));
    }
    let mut table = Table::default();
    for it in moves {
        let before = format!("{}{HIDDEN}", it.exposed.before);
        table.row([&it.exposed.server, &it.exposed.place(), &before, &it.reference()]);
    }
    render::print(&table.to_text(Style::of_stdout()))?;
    let noun = if moves.len() == 1 { "secret" } else { "secrets" };
    let done = if options.dry_run { "would move" } else { "moved" };
    render::say(&match moves.len() {
        0 => format!("{file} has no secrets in plain text"),
        count => format!("{done} {count} {noun} out of {file}"),
    });
    if !moves.is_empty() && !options.dry_run {
        render::say(
            "hint: copies of the file, such as in version control, still have the old text",
        );
    }
    Ok(())
}

fn failed(error: &VaultError) -> Exit {
    Exit::new(Code::Failed, error.to_string())
}
