//! `gantry add` and `gantry add-json`: a server more in the configuration.

mod words;

use clap::{Args, ValueEnum};
use gantry::RawJson;
use gantry_protocol::JsonLimits;

use super::book::{Book, Shelf};
use super::exit::{Code, Exit};
use super::import::translate;
use super::{exposure, render};

/// What to add.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gantry add files -- npx -y @modelcontextprotocol/server-filesystem /data\n  \
    gantry add --env 'TOKEN=${GITHUB_TOKEN}' github -- docker run -i ghcr.io/github/server\n  \
    gantry add --header 'Authorization: Bearer ${KEY}' search https://example.com/mcp")]
pub(crate) struct AddOptions {
    /// What the server is called here: letters, digits, `-`, `_` and `.`.
    pub(crate) name: String,

    /// The address of the server, or after `--` the command that starts it.
    #[arg(value_name = "URL|COMMAND", required = true)]
    pub(crate) words: Vec<String>,

    /// How to speak to it; by default as the address says, stdio for a command.
    #[arg(short, long, value_enum)]
    pub(crate) transport: Option<Transport>,

    /// A variable for its program; may be given more than once.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,

    /// A header for every request to it; may be given more than once.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,

    /// Take the place of a server of that name.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) shelf: Shelf,
}

/// What to add, as it stands in other configurations.
#[derive(Debug, Args)]
pub(crate) struct AddJsonOptions {
    /// What the server is called here: letters, digits, `-`, `_` and `.`.
    pub(crate) name: String,

    /// Its entry, such as {"command": "npx", "args": ["-y", "…"]}.
    pub(crate) json: String,

    /// Take the place of a server of that name.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) shelf: Shelf,
}

/// How to speak to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// A program, over its standard streams.
    Stdio,
    /// Streamable HTTP.
    #[value(alias = "streamable-http")]
    Http,
    /// HTTP+SSE, of servers of the first revision.
    Sse,
    /// WebSocket.
    #[value(alias = "websocket")]
    Ws,
}

pub(crate) fn run(options: &AddOptions) -> Result<(), Exit> {
    let entry = words::entry(options)?;
    add(&options.name, &entry, &options.shelf, options.force)
}

pub(crate) fn run_json(options: &AddJsonOptions) -> Result<(), Exit> {
    let usage = |text: String| Exit::new(Code::Usage, text);
    let json = RawJson::parse(options.json.clone(), JsonLimits::default())
        .map_err(|error| usage(format!("the entry is not valid JSON: {error}")))?;
    let translated = translate::translate(&json);
    let translated = translated.map_err(|why| {
        let hint = "write an entry such as {\"command\": \"npx\", \"args\": [\"-y\", \"…\"]}";
        usage(format!("the entry cannot be taken: {why}")).hint(hint)
    })?;
    for note in &translated.notes {
        render::say(&format!("note: {note}"));
    }
    add(&options.name, &translated.entry, &options.shelf, options.force)
}

/// Writes an entry, and says what was written and where.
fn add(name: &str, entry: &RawJson, shelf: &Shelf, force: bool) -> Result<(), Exit> {
    check_name(name)?;
    let mut book = Book::open(shelf.file()?)?;
    let is_there = book.has(name);
    if is_there && !force {
        let text = format!("the server `{name}` is in {} already", book.file.display());
        let hint = "give it another name, or `--force` to take its place";
        return Err(Exit::new(Code::Failed, text).hint(hint));
    }
    let written = book.put(name, entry)?;
    book.save()?;
    let done = if is_there { "replaced" } else { "added" };
    render::say(&format!("{done} `{name}` in {}", book.file.display()));
    for name in exposure::exposed(entry) {
        render::say(&format!(
            "hint: `{name}` stands in the file for all who can read it; \
             '${{VARIABLE}}' would be read from the environment, and \
             `gantry secret adopt` moves a secret to where secrets are kept"
        ));
    }
    let shown = render::pretty(&exposure::masked(&written));
    render::print(&format!("{}: {shown}", RawJson::string(name).as_str()))
}

/// Lets a name pass that can be the beginning of the names of tools, and a part of an address.
fn check_name(name: &str) -> Result<(), Exit> {
    if translate::plain_name(name) == name && !name.is_empty() {
        return Ok(());
    }
    let text = format!("`{name}` is no name for a server");
    let hint = "use letters, digits, `-`, `_` and `.`";
    Err(Exit::new(Code::Usage, text).hint(hint))
}
