//! `gantry approve` and `gantry deny`: what a person says to calls that wait.

use std::io::{IsTerminal, stdin};

use clap::Args;
use gantry::{ObjectWriter, RawJson};
use gantry_policy::approvals::time;
use gantry_protocol::redact::HIDDEN;
use http::Method;
use serde::Deserialize;

use crate::admin_client::{AdminClient, Candidate, GatewayTarget, page_in};
use crate::commands::call;
use crate::exit::{Code, Exit};
use crate::render::{self, Style, one_line};
use crate::tool_sources;

/// Where approvals are.
const PAGE: &str = "/api/approvals";

/// The scope of a grant that lasts.
const ALWAYS: &str = "always";

/// What to approve, and how far that reaches.
#[derive(Debug, Args)]
pub(crate) struct ApproveOptions {
    /// Id of the approval; without it, waiting calls are listed, and asked about on a terminal.
    pub(crate) id: Option<String>,

    /// Approve this call only, which is the default.
    #[arg(long, requires = "id", conflicts_with_all = ["session", "for_time", "matching", "always"])]
    pub(crate) once: bool,

    /// Approve calls of this tool while the client's session lasts.
    #[arg(long, requires = "id")]
    pub(crate) session: bool,

    /// Approve calls of this tool for this long: 30m, 1h, 7d.
    #[arg(long = "for", value_name = "TIME", requires = "id")]
    pub(crate) for_time: Option<String>,

    /// Approve calls of this tool with the same arguments, or with the members of JSON.
    #[arg(long, value_name = "JSON", num_args = 0..=1, default_missing_value = "", requires = "id")]
    pub(crate) matching: Option<String>,

    /// Approve all calls of this tool by this caller, until the grant is revoked or the tool changes.
    #[arg(long, requires = "id", conflicts_with_all = ["session", "for_time", "matching"])]
    pub(crate) always: bool,

    /// Show the call with its arguments unredacted, without answering.
    #[arg(long, requires = "id", conflicts_with_all = ["once", "session", "for_time", "matching", "always"])]
    pub(crate) show: bool,

    #[command(flatten)]
    pub(crate) reach: GatewayTarget,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to deny.
#[derive(Debug, Args)]
pub(crate) struct DenyOptions {
    /// Id of the approval; `gantry approve` lists them.
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) reach: GatewayTarget,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A call that waits, as the gateway tells it.
#[derive(Debug, Deserialize)]
struct Waiting {
    id: String,
    principal: String,
    client: Option<String>,
    tool: String,
    server: Option<String>,
    #[serde(rename = "argumentsText")]
    arguments: String,
    reason: String,
}

/// What is held back of a server, or has changed.
#[derive(Debug, Deserialize)]
struct Definitions {
    text: String,
}

pub(crate) async fn approve(options: &ApproveOptions) -> Result<(), Exit> {
    let gateways = AdminClient::find_all(&options.reach).await?;
    let Some(id) = &options.id else { return look(&gateways, options.json).await };
    if options.show {
        return show(&gateways, id, options.json).await;
    }
    let scope = scope(options)?;
    let body = answer("approve").raw_some("scope", scope.as_ref()).finish();
    say(&gateways, id, &body, options.json).await
}

pub(crate) async fn deny(options: &DenyOptions) -> Result<(), Exit> {
    let gateways = AdminClient::find_all(&options.reach).await?;
    say(&gateways, &options.id, &answer("deny").finish(), options.json).await
}

/// Asks about a call at the gateway where it waits. Each client may have started a gateway of its
/// own, and the advice to approve a call names the id alone. Ids are random, so one gateway at most
/// knows it, and asking the others changes nothing.
async fn ask_owner(
    gateways: &[Candidate],
    ask: impl AsyncFn(&AdminClient) -> Result<RawJson, Exit>,
) -> Result<RawJson, Exit> {
    let mut failure = None;
    for Candidate { client, description, .. } in gateways {
        match ask(client).await {
            // One that has ended meanwhile, or hangs, must not hide the one that knows the call.
            Err(exit) if is_elsewhere(exit.code) => failure = failure.or(Some(exit)),
            answered => {
                if gateways.len() > 1 {
                    render::say(&format!("asking the gateway {description}"));
                }
                return answered;
            }
        }
    }
    Err(failure.unwrap_or_else(|| Exit::bug("no gateway was asked".to_owned())))
}

fn is_elsewhere(code: Code) -> bool {
    matches!(code, Code::NotFound | Code::Unreachable | Code::Timeout)
}

/// Shows one call that waits, with its real arguments. The gateway records that.
async fn show(gateways: &[Candidate], id: &str, json: bool) -> Result<(), Exit> {
    let page = page_in(&format!("{PAGE}/"), id, "?reveal=1");
    let shown = ask_owner(gateways, async |gateway| gateway.get(&page).await).await?;
    if json {
        return render::print(&render::pretty(&shown));
    }
    let waiting: Waiting = shown.try_read().map_err(not_understood)?;
    render::print(&waiting.describe(Style::of_stdout()))
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn not_understood(error: serde_json::Error) -> Exit {
    Exit::bug(format!("invalid response of the gateway: {error}"))
}

/// Lists the calls that wait at each gateway; a person at a terminal is asked about each.
async fn look(gateways: &[Candidate], json: bool) -> Result<(), Exit> {
    let mut pages = Vec::new();
    for gateway in gateways {
        pages.push((gateway, gateway.client.get(PAGE).await?));
    }
    if json {
        return render::print(&render::pretty(&together(&pages)));
    }
    let mut is_empty = true;
    for (gateway, page) in &pages {
        let pending = page.get("pending").unwrap_or(RawJson::NULL);
        let waiting: Vec<Waiting> = pending.try_read().map_err(not_understood)?;
        let definitions = page.get("definitions").and_then(|it| it.read::<Vec<Definitions>>());
        let definitions = definitions.unwrap_or_default();
        is_empty &= waiting.is_empty();
        if gateways.len() > 1 && !(waiting.is_empty() && definitions.is_empty()) {
            render::say(&format!("at the gateway {}:", gateway.description));
        }
        for line in &definitions {
            render::say(&one_line(&line.text));
        }
        for one in &waiting {
            present(gateway, one).await?;
        }
    }
    if is_empty {
        render::say("no call waits for an approval");
    }
    Ok(())
}

/// What several gateways say, as one page in which each thing names its gateway.
fn together(pages: &[(&Candidate, RawJson)]) -> RawJson {
    if let [(_, only)] = pages {
        return only.clone();
    }
    let members = |member: &str| {
        let of_one = |(gateway, page): &(&Candidate, RawJson)| -> Vec<RawJson> {
            let instance = gateway.instance.as_deref().map(RawJson::string);
            let all = page.get(member).unwrap_or(RawJson::NULL);
            let marked = |it: RawJson| it.edit().set_some("instance", instance.clone()).apply();
            all.elements().map(marked).collect()
        };
        pages.iter().flat_map(of_one).collect::<Vec<_>>()
    };
    let names = ["pending", "past", "grants", "definitions"];
    names.iter().fold(ObjectWriter::new(), |it, name| it.array(name, &members(name))).finish()
}

/// Shows a call that waits, and asks a person at a terminal about it.
async fn present(gateway: &Candidate, one: &Waiting) -> Result<(), Exit> {
    render::print(&one.describe(Style::of_stdout()))?;
    if one.arguments.contains(HIDDEN) {
        render::say(&format!("  `gantry approve {} --show` shows what is left out", one.id));
    }
    if !(stdin().is_terminal() && render::is_watched()) {
        return Ok(());
    }
    render::say("Approve it? y: once, a: always for this tool, anything else: no");
    let said = match call::said().await.as_deref() {
        Some("y" | "yes") => answer("approve").finish(),
        Some("a" | "always") => answer("approve").value("scope", ALWAYS).finish(),
        _ => answer("deny").finish(),
    };
    if let Err(exit) = say(std::slice::from_ref(gateway), &one.id, &said, false).await {
        render::failure(&exit);
    }
    Ok(())
}

/// Sends an answer, and tells what came of it.
async fn say(gateways: &[Candidate], id: &str, body: &RawJson, json: bool) -> Result<(), Exit> {
    let page = page_in(&format!("{PAGE}/"), id, "");
    let answered =
        ask_owner(gateways, async |gateway| gateway.send(Method::POST, &page, Some(body)).await);
    let answered = answered.await?;
    if json {
        return render::print(&render::pretty(&answered));
    }
    let verdict = answered.get("verdict").and_then(|it| it.to_text()).unwrap_or_default();
    let more = match answered.get("grant") {
        Some(_) => format!(", and more of its kind; `gantry trust revoke grant:{id}` ends that"),
        None => String::new(),
    };
    render::say(&format!("`{id}` is {verdict}{more}"));
    Ok(())
}

/// An answer of whoever runs this program.
fn answer(decision: &str) -> ObjectWriter {
    let user = tool_sources::variable("USER").unwrap_or_else(|| "unknown".to_owned());
    let user: String = user.chars().take(40).collect();
    ObjectWriter::new().value("decision", decision).value("by", &format!("`{user}` at a terminal"))
}

/// How far the approval reaches; nothing if it is for this once.
fn scope(options: &ApproveOptions) -> Result<Option<RawJson>, Exit> {
    if options.always {
        return Ok(Some(RawJson::string(ALWAYS)));
    }
    let usage = |text: String, hint: &str| Exit::new(Code::Usage, text).hint(hint);
    if let Some(text) = options.for_time.as_deref().filter(|text| time(text).is_none()) {
        return Err(usage(format!("`{text}` is not a time"), "write --for 30m, 1h or 7d"));
    }
    let matching = match options.matching.as_deref() {
        None => None,
        Some("") => Some(RawJson::from_static("true")),
        Some(text) => {
            let read = RawJson::parse(text.to_owned(), Default::default()).ok();
            let wrong = || {
                let hint = "write --matching alone, or --matching '{\"path\": \"/tmp/a\"}'";
                usage(format!("`{text}` is no JSON object"), hint)
            };
            Some(read.filter(RawJson::is_object).ok_or_else(wrong)?)
        }
    };
    let scope = ObjectWriter::new()
        .value_some("session", Some(true).filter(|_| options.session))
        .value_some("for", options.for_time.as_ref())
        .raw_some("matching", matching.as_ref())
        .finish();
    Ok(Some(scope).filter(|scope| *scope != RawJson::EMPTY_OBJECT))
}

impl Waiting {
    /// For people. No part of it can begin a line of its own or hide another.
    fn describe(&self, style: Style) -> String {
        let Self { id, tool, principal, arguments, reason, .. } = self;
        let of = self.server.as_ref().map(|it| format!(" of the server `{it}`"));
        let with = self.client.as_ref().map(|it| format!(" with `{it}`"));
        let (of, with) = (of.unwrap_or_default(), with.unwrap_or_default());
        let head = style.bold(&one_line(&format!("{id}  {tool}")));
        let lines = [
            format!("{of}, called by `{principal}`{with}"),
            format!("waits because {reason}"),
            // In the escapes of JSON, so that the text is still exact.
            format!("arguments: {}", render::json_text(arguments)),
        ];
        let [called, because, arguments] = lines.map(|line| one_line(&line));
        let gap = if of.is_empty() { "" } else { " " };
        format!("{head}{gap}{called}\n  {because}\n  {arguments}")
    }
}
