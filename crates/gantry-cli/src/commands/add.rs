//! `gantry add` and `gantry add-json`: more servers in the configuration.

pub(crate) mod marks;
pub(crate) mod parse;

use std::path::Path;

use clap::{Args, ValueEnum};
use gantry::RawJson;
use gantry_protocol::JsonLimits;

use crate::commands::call::read_file;
use crate::commands::import::read::of_text;
use crate::commands::import::translate::{self, Translated};
use crate::config::editor::{ConfigEditor, ConfigTarget};
use crate::exit::{Code, Exit};
use crate::secrets::scan;
use crate::{admin_client, config, render};

/// What to add.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gantry add files -- npx -y @modelcontextprotocol/server-filesystem /data\n  \
    gantry add --env 'TOKEN=${GITHUB_TOKEN}' github -- docker run -i ghcr.io/github/server\n  \
    gantry add --header 'Authorization: Bearer ${KEY}' search https://example.com/mcp")]
pub(crate) struct AddOptions {
    /// Name of the server: letters, digits, `-`, `_` and `.`.
    pub(crate) name: String,

    /// URL of the server, or the command after `--`.
    #[arg(value_name = "URL|COMMAND", required = true)]
    pub(crate) words: Vec<String>,

    /// Transport; by default from the URL, stdio for a command.
    #[arg(short, long, value_enum)]
    pub(crate) transport: Option<Transport>,

    /// Environment variable of the program; repeatable.
    #[arg(short, long, value_name = "KEY=VALUE")]
    pub(crate) env: Vec<String>,

    /// HTTP header of every request; repeatable.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,

    /// Replace a server of that name.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) target: ConfigTarget,
}

/// What to add, as it stands in other configurations.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gantry add-json files '{\"command\": \"npx\", \"args\": [\"-y\", \"server-files\"]}'\n  \
    gantry add-json '{\"mcpServers\": {\"files\": {\"command\": \"npx\"}}}'\n  \
    gantry add-json - < mcp.json")]
pub(crate) struct AddJsonOptions {
    /// Name of the server, if the JSON is one entry: letters, digits, `-`, `_` and `.`.
    #[arg(value_name = "NAME")]
    pub(crate) first: String,

    /// An entry, such as {"command": "npx", "args": ["-y", "…"]}, or a block of several, such as
    /// {"mcpServers": {…}}; `-` reads it from standard input.
    #[arg(value_name = "JSON")]
    pub(crate) json: Option<String>,

    /// Replace servers of these names.
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) target: ConfigTarget,
}

/// How to speak to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// A program, over standard input and output.
    Stdio,
    /// Streamable HTTP.
    #[value(alias = "streamable-http")]
    Http,
    /// HTTP+SSE of revision 2024-11-05.
    Sse,
    /// WebSocket.
    #[value(alias = "websocket")]
    Ws,
}

pub(crate) async fn run(options: &AddOptions) -> Result<(), Exit> {
    let entry = parse::entry(options)?;
    check_name(&options.name)?;
    add(&[(options.name.clone(), entry)], &options.target, options.force).await
}

pub(crate) async fn run_json(options: &AddJsonOptions) -> Result<(), Exit> {
    let (name, json) = match &options.json {
        Some(json) => (Some(options.first.as_str()), json.clone()),
        None => (None, options.first.clone()),
    };
    let entries = entries(name, &json)?;
    for (name, translated) in &entries {
        check_name(name)?;
        for note in &translated.notes {
            render::say(&format!("note: `{name}`: {note}"));
        }
    }
    let entries: Vec<(String, RawJson)> =
        entries.into_iter().map(|(name, translated)| (name, translated.entry)).collect();
    add(&entries, &options.target, options.force).await
}

/// Writes entries, all or none, and says what was written and where.
async fn add(
    entries: &[(String, RawJson)],
    target: &ConfigTarget,
    force: bool,
) -> Result<(), Exit> {
    let mut editor = ConfigEditor::open(target.file()?)?;
    if let Some((name, _)) = entries.iter().find(|(name, _)| !force && editor.has(name)) {
        let text = format!("the server `{name}` is in {} already", editor.file.display());
        let hint = "give it another name, or `--force` to replace it";
        return Err(Exit::new(Code::Failed, text).hint(hint));
    }
    let mut written = Vec::new();
    for (name, entry) in entries {
        let done = if editor.has(name) { "replaced" } else { "added" };
        written.push((name, done, editor.put(name, entry)?));
    }
    editor.save()?;
    for (name, done, _) in &written {
        render::say(&format!("{done} `{name}` in {}", editor.file.display()));
    }
    for name in entries.iter().flat_map(|(_, entry)| scan::exposed(entry)) {
        render::say(&format!(
            "hint: `{name}` stands in the file for all who can read it; \
             '${{VARIABLE}}' would be read from the environment, and \
             `gantry secret adopt` moves a secret to where secrets are kept"
        ));
    }
    let gateway = admin_client::warn_of_unread(&editor.file).await;
    for (name, _, entry) in &written {
        let shown = render::pretty(&scan::masked(entry));
        render::print(&format!("{}: {shown}", RawJson::string(name).as_str()))?;
    }
    let names: Vec<&str> = written.iter().map(|(name, ..)| name.as_str()).collect();
    marks::tell(gateway.as_ref(), &names).await;
    Ok(())
}

/// Lets a name pass that can be the beginning of the names of tools, and a part of an address.
fn check_name(name: &str) -> Result<(), Exit> {
    if translate::plain_name(name) == name && !name.is_empty() {
        return Ok(());
    }
    let text = format!("`{name}` is not a valid server name");
    let hint = "use letters, digits, `-`, `_` and `.`";
    Err(Exit::new(Code::Usage, text).hint(hint))
}

const HINT: &str = "write an entry such as {\"command\": \"npx\", \"args\": [\"-y\", \"…\"]} \
                    after its name, or a block such as {\"mcpServers\": {…}} alone";

/// The servers of a text with their names; `-` is standard input. A name that is given beside a block
/// chooses one of its servers, or names the only one.
pub(crate) fn entries(name: Option<&str>, given: &str) -> Result<Vec<(String, Translated)>, Exit> {
    let text = match given {
        "-" => read_file("-").map_err(|error| usage(&format!("standard input: {error}")))?,
        given => given.to_owned(),
    };
    let plain = config::plain_json(text.as_bytes())
        .map_err(|_| usage("the JSON has an unclosed comment"))?;
    let json = RawJson::parse(plain, JsonLimits::default())
        .map_err(|error| usage(&format!("the entry is not valid JSON: {error}")))?;
    let mut found = of_text(&json);
    if found.is_empty() {
        let name = name.ok_or_else(|| usage("a single entry needs a name before it"))?;
        let translated = translate::translate(Path::new(""), &json);
        let translated =
            translated.map_err(|why| usage(&format!("the entry is invalid: {why}")))?;
        return Ok(vec![(name.to_owned(), translated)]);
    }
    if let Some(name) = name {
        match found.iter().position(|it| it.name == name) {
            Some(chosen) => found = vec![found.swap_remove(chosen)],
            None if found.len() == 1 => found[0].name = name.to_owned(),
            None => {
                let names: Vec<&str> = found.iter().map(|it| it.name.as_str()).collect();
                let text = format!("the block has no server `{name}`; it has {}", names.join(", "));
                return Err(usage(&text));
            }
        }
    }
    let taken = found.into_iter().map(|it| match it.translated {
        Ok(translated) => Ok((translate::plain_name(&it.name), translated)),
        Err(why) => Err(usage(&format!("the server `{}` is invalid: {why}", it.name))),
    });
    taken.collect()
}

fn usage(text: &str) -> Exit {
    Exit::new(Code::Usage, text).hint(HINT)
}
