//! `gantry import`: takes over the servers of another client's configuration.

pub(crate) mod clients;
pub(crate) mod read;
pub(crate) mod translate;

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use gantry::{ObjectWriter, RawJson};

use crate::admin_client;
use crate::commands::add;
use crate::commands::import::clients::{CLIENTS, Client};
use crate::commands::import::read::Found;
use crate::config::editor::{ConfigEditor, ConfigTarget};
use crate::exit::{Code, Exit};
use crate::render::{self, Style, Table};
use crate::runtime::DEFAULT_ADDRESS;
use crate::secrets::scan;

/// What to take over.
#[derive(Debug, Args)]
pub(crate) struct ImportOptions {
    /// Client or file; without it, the clients found here are listed.
    #[arg(value_name = "CLIENT|FILE", value_hint = ValueHint::FilePath)]
    pub(crate) source: Option<String>,

    /// Show what would be imported, without changing anything.
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) target: ConfigTarget,
}

/// What became of a server.
struct Outcome {
    name: String,
    /// Its entry as it was taken, or why it was left.
    taken: Result<RawJson, String>,
    notes: Vec<String>,
}

pub(crate) async fn run(options: &ImportOptions) -> Result<(), Exit> {
    let Some(source) = options.source.as_deref() else { return overview(options.json) };
    let files = files(source)?;
    let mut editor = ConfigEditor::open(target(&options.target, &files)?)?;
    let mut outcomes = Vec::new();
    for file in &files {
        for found in read::servers(file)? {
            outcomes.push(take(&mut editor, file, found));
        }
    }
    let count = outcomes.iter().filter(|it| it.taken.is_ok()).count();
    if count > 0 && !options.dry_run {
        editor.save()?;
    }
    report(&outcomes, &editor.file, options)?;
    let noun = if count == 1 { "server" } else { "servers" };
    let done = if options.dry_run { "would take" } else { "took" };
    render::say(&format!("{done} {count} {noun} into {}", editor.file.display()));
    if count > 0 && !options.dry_run {
        let gateway = admin_client::warn_of_unread(&editor.file).await;
        let taken = outcomes.iter().filter(|it| it.taken.is_ok());
        let names: Vec<&str> = taken.map(|it| it.name.as_str()).collect();
        add::marks::tell(gateway.as_ref(), &names).await;
    }
    Ok(())
}

/// The files that are meant, the nearest first.
fn files(source: &str) -> Result<Vec<PathBuf>, Exit> {
    let Some(client) = CLIENTS.iter().find(|it| it.name == source) else {
        let file = PathBuf::from(source);
        return if file.is_file() { Ok(vec![file]) } else { Err(unknown(source)) };
    };
    let files = client.files();
    if files.is_empty() {
        let places: Vec<String> =
            client.places().iter().map(|it| it.display().to_string()).collect();
        let text = format!("{} has no configuration here", client.title);
        let hint = format!("looked for {}; a file can be given too", places.join(", "));
        return Err(Exit::new(Code::NotFound, text).hint(hint));
    }
    Ok(files)
}

fn unknown(source: &str) -> Exit {
    let names: Vec<&str> = CLIENTS.iter().map(|it| it.name).collect();
    let text = format!("`{source}` is neither a file nor a known client");
    Exit::new(Code::NotFound, text).hint(format!("the clients are {}", names.join(", ")))
}

/// The file to write. A source that is in force itself stays as it is.
fn target(target: &ConfigTarget, sources: &[PathBuf]) -> Result<PathBuf, Exit> {
    let file = target.file()?;
    let whole = |file: &Path| std::fs::canonicalize(file).ok();
    let is_source = |file: &Path| {
        whole(file).is_some_and(|file| sources.iter().any(|it| whole(it).as_ref() == Some(&file)))
    };
    let is_chosen = target.config.is_some() || target.scope.is_some();
    match is_source(&file) {
        true if is_chosen || is_source(&ConfigTarget::of_project()) => {
            let text = format!("{} would be imported into itself", file.display());
            Err(Exit::new(Code::Usage, text).hint("give --config another file"))
        }
        true => Ok(ConfigTarget::of_project()),
        false => Ok(file),
    }
}

/// Puts a server into the configuration, unless its name is there or it cannot be taken.
fn take(editor: &mut ConfigEditor, file: &Path, found: Found) -> Outcome {
    let name = translate::plain_name(&found.name);
    let translated = match found.translated {
        Ok(_) if name.is_empty() => Err("it has no usable name".to_owned()),
        Ok(translated) if is_gantry(&translated.entry) => Err("it is this gateway".to_owned()),
        Ok(_) if editor.has(&name) => Err("a server of that name exists already".to_owned()),
        other => other,
    };
    let translated = match translated {
        Ok(translated) => translated,
        Err(why) => return Outcome { name, taken: Err(why), notes: Vec::new() },
    };
    let entry = translate::rooted(&translated.entry, &base(file), &folder(&editor.file));
    if let Err(exit) = editor.put(&name, &entry) {
        return Outcome { name, taken: Err(exit.message), notes: Vec::new() };
    }
    let mut notes = translated.notes;
    if name != found.name {
        notes.push(format!("`{}` is called `{name}` here", found.name));
    }
    let exposed = scan::exposed(&entry);
    notes.extend(exposed.iter().map(|it| format!("`{it}` is a secret in plain text")));
    Outcome { name, taken: Ok(entry), notes }
}

/// Whether an entry is the one by which a client reaches a gateway: behind itself it would turn in
/// a circle.
fn is_gantry(entry: &RawJson) -> bool {
    let text = |key: &str| entry.get(key).and_then(|it| it.to_text());
    let args = entry.get("args").and_then(|it| it.read::<Vec<String>>()).unwrap_or_default();
    let program = text("command").map(PathBuf::from);
    let is_program = program.is_some_and(|it| it.file_name().is_some_and(|it| it == "gantry"));
    let authority = text("url").and_then(|it| it.parse::<http::Uri>().ok()?.into_parts().authority);
    let port = DEFAULT_ADDRESS.rsplit(':').next().unwrap_or_default();
    let is_here = authority.is_some_and(|it| {
        matches!(it.host(), "127.0.0.1" | "localhost" | "[::1]") && it.as_str().ends_with(port)
    });
    is_here || (is_program && args.first().is_some_and(|it| it == "serve"))
}

/// The folder from which a client sees the paths in its file.
fn base(file: &Path) -> PathBuf {
    let folder = folder(file);
    let is_hidden = folder.file_name().is_some_and(|it| it == ".vscode" || it == ".cursor");
    if is_hidden { folder.parent().map(Path::to_owned).unwrap_or(folder) } else { folder }
}

fn folder(file: &Path) -> PathBuf {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    file.parent().map(Path::to_owned).unwrap_or_default()
}

fn report(outcomes: &[Outcome], file: &Path, options: &ImportOptions) -> Result<(), Exit> {
    if options.json {
        let servers: Vec<RawJson> = outcomes.iter().map(Outcome::to_json).collect();
        let whole = ObjectWriter::new().value("file", file).array("servers", &servers).finish();
        return render::print(&render::pretty(&whole));
    }
    let mut table = Table::default();
    for outcome in outcomes {
        match &outcome.taken {
            Ok(entry) => {
                let shown = scan::masked(entry).compact();
                table.row([&outcome.name, "taken", shown.as_str()]);
            }
            Err(why) => table.row([&outcome.name, "left", why]),
        }
        for note in &outcome.notes {
            table.row(["", "", &format!("note: {note}")]);
        }
    }
    render::print(&table.to_text(Style::of_stdout()))
}

impl Outcome {
    fn to_json(&self) -> RawJson {
        let shown = self.taken.as_ref().ok().map(scan::masked);
        ObjectWriter::new()
            .value("name", &self.name)
            .value("taken", &self.taken.is_ok())
            .value_some("reason", self.taken.as_ref().err())
            .value("notes", &self.notes)
            .raw_some("entry", shown.as_ref())
            .finish()
    }
}

/// What every client that is known has, to choose from.
fn overview(json: bool) -> Result<(), Exit> {
    let found = CLIENTS.iter().flat_map(|it| it.files().into_iter().map(move |file| (it, file)));
    let found: Vec<(&Client, PathBuf)> = found.collect();
    let names = |file: &Path| -> Result<Vec<String>, String> {
        let servers = read::servers(file).map_err(|exit| exit.message)?;
        Ok(servers.into_iter().map(|it| it.name).collect())
    };
    if json {
        let row = |(client, file): &(&Client, PathBuf)| {
            let row = ObjectWriter::new().value("client", client.name).value("file", file);
            let names = names(file);
            let row = row.value_some("servers", names.as_ref().ok());
            row.value_some("problem", names.as_ref().err()).finish()
        };
        let rows: Vec<RawJson> = found.iter().map(row).collect();
        return render::print(&render::pretty(&RawJson::array(&rows)));
    }
    let mut table = Table::default();
    for (client, file) in &found {
        let text = match names(file) {
            Ok(names) if names.is_empty() => "no servers".to_owned(),
            Ok(names) => names.join(", "),
            Err(problem) => problem,
        };
        table.row([client.name, &file.display().to_string(), &text]);
    }
    render::say(match found.is_empty() {
        true => "no configuration of a known client was found; a file can be given",
        false => "`gantry import CLIENT` imports the servers of one; `--dry-run` only shows them",
    });
    render::print(&table.to_text(Style::of_stdout()))
}
