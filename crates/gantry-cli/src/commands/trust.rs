//! `gantry trust`: how far the gateway, its servers and its tools are trusted.

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::ArgValueCompleter;
use gantry::{ObjectWriter, RawJson};
use gantry_policy::Trust;
use gantry_policy::trust::{Level, Subject, TrustDecision, TrustError};
use http::Method;

use crate::admin_client::{AdminClient, GatewayTarget, page_in};
use crate::commands::{completions, tools};
use crate::exit::{Code, Exit};
use crate::render::{self, Style, Table};
use crate::runtime::policies;
use crate::{args, tool_sources};

/// Where decisions are.
const PAGE: &str = "/api/trust";

/// Who decides here.
const BY: &str = "the command line";

/// What to do about trust: show it, unless told otherwise.
#[derive(Debug, Args)]
pub(crate) struct TrustOptions {
    #[command(subcommand)]
    pub(crate) verb: Option<TrustVerb>,

    #[command(flatten)]
    pub(crate) reach: GatewayTarget,

    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What to do about trust.
#[derive(Debug, Subcommand)]
pub(crate) enum TrustVerb {
    /// Show the level of the gateway, and all decisions.
    Show,
    /// Set the level of the gateway, or of one server or tool.
    Level {
        /// untrusted: nothing runs; verified: everything but destructive tools; trusted: everything.
        level: Word,
        /// A tool, or server:NAME; by default the gateway.
        #[arg(add = ArgValueCompleter::new(completions::names))]
        subject: Option<String>,
    },
    /// Trust a tool or a server in its current definition.
    Grant {
        /// A tool, or server:NAME.
        #[arg(add = ArgValueCompleter::new(completions::names))]
        subject: String,
    },
    /// Revoke a decision; the next level up applies again.
    Revoke {
        /// A tool, server:NAME, gateway, or grant:ID of an approval.
        subject: String,
    },
}

/// A level, as it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Word {
    Untrusted,
    Verified,
    Trusted,
}

/// Where decisions are taken: by the gateway that runs, so that they are in force at once, or in the
/// store if none does.
enum TrustClient {
    AdminClient(AdminClient),
    Store(Box<Trust>),
}

pub(crate) async fn run(options: TrustOptions) -> Result<(), Exit> {
    let reach = options.reach;
    let client = TrustClient::find(&reach).await?;
    match options.verb.unwrap_or(TrustVerb::Show) {
        TrustVerb::Show => show(&client.shown().await?, options.json),
        TrustVerb::Level { level, subject } => {
            let subject = subject.as_deref().unwrap_or("gateway");
            let ruled = client.rule(&reach, parsed(subject)?, level.into()).await?;
            told(&ruled, options.json)
        }
        TrustVerb::Grant { subject } => {
            let ruled = client.rule(&reach, parsed(&subject)?, Level::Trusted).await?;
            told(&ruled, options.json)
        }
        TrustVerb::Revoke { subject } => {
            let revoked = client.revoke(&subject).await?;
            if options.json {
                return render::print(&render::pretty(&revoked));
            }
            render::say(&format!("the decision about `{subject}` is revoked"));
            Ok(())
        }
    }
}

impl TrustClient {
    async fn find(reach: &GatewayTarget) -> Result<Self, Exit> {
        match AdminClient::find(reach).await {
            Ok(running) => Ok(Self::AdminClient(running)),
            Err(exit) if exit.code == Code::Unreachable && !reach.is_named() => {
                let config = tool_sources::configuration(reach.config.as_deref())?;
                let policies = policies::open(config.as_ref()).await?;
                Ok(Self::Store(Box::new(policies.policies.trust().clone())))
            }
            Err(exit) => Err(exit),
        }
    }

    async fn shown(&self) -> Result<RawJson, Exit> {
        match self {
            Self::AdminClient(running) => running.get(PAGE).await,
            Self::Store(trust) => {
                let decisions: Vec<RawJson> = trust.decisions().iter().map(row).collect();
                let level = ObjectWriter::new().value("level", &trust.level());
                Ok(level.array("rulings", &decisions).finish())
            }
        }
    }

    async fn rule(
        &self,
        reach: &GatewayTarget,
        subject: Subject,
        level: Level,
    ) -> Result<RawJson, Exit> {
        match self {
            Self::AdminClient(running) => {
                let decision = ObjectWriter::new()
                    .value("subject", &subject.to_string())
                    .value("level", &level)
                    .finish();
                running.send(Method::POST, PAGE, Some(&decision)).await
            }
            Self::Store(trust) => {
                // Trust is bound to what a thing is, so that has to be looked at.
                let origin = args::Origin { config: reach.config.clone(), tools: Vec::new() };
                let wanted = match &subject {
                    Subject::Tool(name) => Some(name.as_str()),
                    _ => None,
                };
                let here = args::GatewayTarget { origin, ..args::GatewayTarget::default() };
                let opened = match subject {
                    Subject::Gateway => tools::open(&here.origin)?,
                    _ => tools::open_target(&here, wanted).await?,
                };
                let snapshot = opened.server.gateway().catalog().snapshot();
                trust
                    .rule(subject, level, BY, &snapshot)
                    .await
                    .map(|it| row(&it))
                    .map_err(|it| failed(&it))
            }
        }
    }

    async fn revoke(&self, subject: &str) -> Result<RawJson, Exit> {
        let done = || ObjectWriter::new().value("revoked", subject).finish();
        let unknown = || {
            Exit::new(Code::NotFound, format!("there is no decision about `{subject}`"))
                .hint("`gantry trust` lists decisions")
        };
        match (self, subject.strip_prefix("grant:")) {
            (Self::AdminClient(running), Some(id)) => {
                running.delete(&page_in("/api/approvals/", id, "")).await
            }
            (Self::AdminClient(running), None) => {
                let subject = parsed(subject)?.to_string();
                running.delete(&page_in("/api/trust/", &subject, "")).await
            }
            (Self::Store(trust), Some(id)) => {
                let ended = trust.approvals().end_grant(id).await;
                let ended = ended.map_err(|error| failed(&TrustError::DocumentStore(error)))?;
                ended.then(done).ok_or_else(unknown)
            }
            (Self::Store(trust), None) => {
                let revoked =
                    trust.revoke(&parsed(subject)?, BY).await.map_err(|it| failed(&it))?;
                revoked.then(done).ok_or_else(unknown)
            }
        }
    }
}

impl From<Word> for Level {
    fn from(word: Word) -> Self {
        match word {
            Word::Untrusted => Self::Untrusted,
            Word::Verified => Self::Verified,
            Word::Trusted => Self::Trusted,
        }
    }
}

fn parsed(subject: &str) -> Result<Subject, Exit> {
    Subject::parse(subject).ok_or_else(|| {
        Exit::new(Code::Usage, format!("`{subject}` cannot be trusted"))
            .hint("name a tool, or a server as server:NAME")
    })
}

fn failed(error: &TrustError) -> Exit {
    let code = match error {
        TrustError::Unknown(_) => Code::NotFound,
        TrustError::DocumentStore(_) => Code::Configuration,
    };
    Exit::new(code, error.to_string())
}

fn row(decision: &TrustDecision) -> RawJson {
    RawJson::of(decision).unwrap_or(RawJson::NULL)
}

fn show(all: &RawJson, json: bool) -> Result<(), Exit> {
    if json {
        return render::print(&render::pretty(all));
    }
    let level = all.get("level").and_then(|it| it.to_text()).unwrap_or_default();
    let mut table = Table::default();
    table.row(["gateway", &level, "", ""]);
    for decision in all.get("rulings").into_iter().flat_map(|it| it.elements().collect::<Vec<_>>())
    {
        let text = |key| decision.get(key).and_then(|it| it.to_text()).unwrap_or_default();
        if text("subject") != "gateway" {
            table.row([&text("subject"), &text("level"), "by", &text("by")]);
        }
    }
    render::print(&table.to_text(Style::of_stdout()))
}

fn told(decision: &RawJson, json: bool) -> Result<(), Exit> {
    if json {
        return render::print(&render::pretty(decision));
    }
    let text = |key| decision.get(key).and_then(|it| it.to_text()).unwrap_or_default();
    render::say(&format!("`{}` is {} from now on", text("subject"), text("level")));
    Ok(())
}
