//! `gantry policy`: which rule decides a call, and whether the rules are in order.

pub(crate) mod explain;

use clap::{Args, Subcommand};
use gantry_gateway::Snapshot;

use crate::args::GatewayTarget;
use crate::commands::tools::{self, Opened};
use crate::config::Config;
use crate::exit::{Code, Exit};
use crate::render::{self, Style, Table};
use crate::runtime::policies;
use crate::tool_sources;

/// What to look at.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyVerb {
    /// Explain which rule decides a call, and why.
    Explain(Box<explain::ExplainOptions>),
    /// List the rules, with warnings about probable mistakes.
    Check(CheckOptions),
}

/// Which rules.
#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    #[command(flatten)]
    reach: GatewayTarget,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(verb: PolicyVerb) -> Result<(), Exit> {
    match verb {
        PolicyVerb::Explain(options) => explain::run(&options).await,
        PolicyVerb::Check(options) => check(&options).await,
    }
}

/// What the rules of a configuration miss of what is there, by the case of its letters.
pub(crate) fn lookalikes(opened: &Opened, config: &Config) -> Vec<String> {
    let targets = opened.server.gateway().catalog().with(Snapshot::targets);
    policies::rules(Some(config)).current().lookalikes(&targets)
}

async fn check(options: &CheckOptions) -> Result<(), Exit> {
    let config = tool_sources::configuration(options.reach.origin.config.as_deref())?;
    let config = config.unwrap_or_default();
    let opened = tools::open_target(&options.reach, None).await?;
    let mut warnings = config.warnings.clone();
    warnings.extend(lookalikes(&opened, &config));
    match options.json {
        true => render::print(&render::pretty(&findings(&config, &warnings)))?,
        false => list(&config, &warnings)?,
    }
    match warnings.len() {
        0 => Ok(()),
        _ => Err(Exit::silent(Code::Configuration)),
    }
}

fn list(config: &Config, warnings: &[String]) -> Result<(), Exit> {
    let mut table = Table::default();
    for rule in &config.policy.rules {
        let place = rule.place.as_deref().unwrap_or_default();
        let note = if rule.shadow { "shadow" } else { "" };
        table.row([&rule.name, rule.effect.as_str(), note, place]);
    }
    render::print(&table.to_text(Style::of_stdout()))?;
    for warning in warnings {
        render::say(&format!("warning: {warning}"));
    }
    let otherwise = if config.policy.default_allows == Some(false) { "refused" } else { "allowed" };
    render::say(&format!("calls without a matching rule are {otherwise}"));
    Ok(())
}

fn findings(config: &Config, warnings: &[String]) -> gantry::RawJson {
    let rule = |rule: &gantry::policy::Rule| {
        gantry::ObjectWriter::new()
            .value("name", &*rule.name)
            .value("effect", rule.effect.as_str())
            .value("shadow", &rule.shadow)
            .value_some("place", rule.place.as_deref())
            .finish()
    };
    let rules: Vec<gantry::RawJson> = config.policy.rules.iter().map(rule).collect();
    let allows = config.policy.default_allows.unwrap_or(true);
    gantry::ObjectWriter::new()
        .value("default", if allows { "allow" } else { "deny" })
        .array("rules", &rules)
        .value("warnings", &warnings)
        .finish()
}
