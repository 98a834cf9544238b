//! `gantry policy explain`: every rule in its order, and which one decides.

use std::sync::Arc;

use clap::{ArgGroup, Args};
use clap_complete::ArgValueCompleter;
use gantry::policy::{Explanation, Finding};
use gantry::{Caller, Method, ObjectWriter, RawJson};
use gantry_gateway::{Call, CanonicalName, ClientNames, Effect, PromptEntry, Scope, Target};
use gantry_policy::trust::{Outcome, TrustInputs, decide};
use gantry_protocol::JsonLimits;

use crate::args::GatewayTarget;
use crate::commands::call::arguments;
use crate::commands::completions;
use crate::commands::tools::policy_status::{effect_words, gate_words};
use crate::commands::tools::{self, Opened};
use crate::config::Config;
use crate::exit::{Code, Exit};
use crate::render::{self, Style, Table};
use crate::runtime::{callers, policies};
use crate::tool_sources;

/// Which call to explain.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["tool", "resource", "prompt"]))]
pub(crate) struct ExplainOptions {
    /// Principal: the name of a token, or `local`.
    #[arg(long = "as", value_name = "NAME", default_value = "local")]
    principal: String,

    /// Client name.
    #[arg(long, value_name = "NAME")]
    client: Option<String>,

    /// Virtual server that the call comes through: NAME of `/mcp/NAME`.
    #[arg(long = "face", alias = "virtual-server", value_name = "NAME")]
    virtual_server: Option<String>,

    /// Scope to try instead of the token's own; repeatable.
    #[arg(long, value_name = "PATTERN")]
    allow: Vec<String>,

    /// The tool.
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(completions::names))]
    tool: Option<String>,

    /// URI of a resource.
    #[arg(long, value_name = "URI")]
    resource: Option<String>,

    /// The prompt.
    #[arg(long, value_name = "NAME")]
    prompt: Option<String>,

    /// Arguments as a JSON object; KEY=VALUE overrides members.
    #[arg(long, value_name = "JSON")]
    args: Option<String>,

    /// Arguments, read according to the tool's schema.
    #[arg(value_name = "KEY=VALUE")]
    words: Vec<String>,

    #[command(flatten)]
    reach: GatewayTarget,

    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(options: &ExplainOptions) -> Result<(), Exit> {
    let config = tool_sources::configuration(options.reach.origin.config.as_deref())?;
    let opened = tools::open_target(&options.reach, options.tool.as_deref()).await?;
    let scope = options.scope(config.as_ref()).await?;
    let caller = Arc::new(options.caller(scope));
    let (method, target) = options.target(&opened, &caller)?;
    let target = options.at_endpoint(target);
    let arguments = options.arguments(&target)?;
    let rules = policies::rules(config.as_ref()).current();
    let arguments = match &target {
        Target::Tool(tool) => tool.effective_arguments(Some(&arguments)),
        _ => arguments,
    };
    let explained = rules.explain(&caller, &target, &method, Some(&arguments));
    let trust = opened.guarding.as_ref().map(|it| it.policies.trust());
    let gate = trust.map(|it| it.inputs(&target, explained.needs_approval));
    let gate = gate.filter(|_| explained.allowed && options.tool.is_some());
    match options.json {
        true => {
            let json = to_json(&explained, options, &target, gate.as_ref());
            render::print(&render::pretty(&json))?;
        }
        false => {
            tell(&explained, options, &target)?;
            if let Some(inputs) = &gate {
                render::print(&gate_words(inputs))?;
            }
        }
    }
    let held = opened.guarding.as_ref().and_then(|it| it.policies.pins().held_of(&target));
    if let Some(held) = held.as_ref().filter(|_| !options.json) {
        let reason = held.reason.word();
        render::print(&format!("its definition is held back: {reason}; its calls do not run"))?;
    }
    let is_stopped = gate.is_some_and(|inputs| matches!(decide(&inputs), Outcome::Refuse(_)));
    match explained.allowed && held.is_none() && !is_stopped {
        true => Ok(()),
        false => Err(Exit::silent(Code::Refused)),
    }
}

impl ExplainOptions {
    /// What the token of the caller is good for; none for everything. Who has no token that is good
    /// makes no calls.
    async fn scope(&self, config: Option<&Config>) -> Result<Option<Scope>, Exit> {
        let name = &self.principal;
        if name == Caller::LOCAL {
            return Ok(scope_of(&self.allow));
        }
        let storage = policies::storage(config).await?;
        let tokens = callers::tokens(&storage).await?.list();
        let now = storage.clock.seconds();
        let good = tokens.iter().find(|it| it.name == *name && !it.is_dead(now));
        let Some(token) = good else {
            let is_over = tokens.iter().any(|it| it.name == *name);
            let text = match is_over {
                true => format!("the token `{name}` is revoked or has expired"),
                false => format!("there is no token `{name}`"),
            };
            let code = if is_over { Code::Refused } else { Code::NotFound };
            let hint = "`gantry token list` shows the tokens; `local` needs none";
            return Err(Exit::new(code, text).hint(hint));
        };
        let given = if self.allow.is_empty() { &token.allow } else { &self.allow };
        Ok(scope_of(given))
    }

    fn caller(&self, scope: Option<Scope>) -> Caller {
        let client = self.client.as_ref();
        Caller {
            client_info: client.map(|name| ObjectWriter::new().value("name", name).finish()),
            scope: scope.map(Arc::new),
            virtual_server: self.virtual_server.as_deref().map(Arc::from),
            ..Caller::new(self.principal.as_str())
        }
    }

    /// What the call is for, as it is listed at the main endpoint.
    fn target(&self, opened: &Opened, caller: &Arc<Caller>) -> Result<(Method, Target), Exit> {
        let (method, key, name) = match (&self.tool, &self.resource, &self.prompt) {
            (Some(tool), ..) => {
                // Whatever is close to the name is told.
                opened.find(tool)?;
                (Method::ToolsCall, "name", tool)
            }
            (None, Some(uri), _) => (Method::ResourcesRead, "uri", uri),
            (None, None, Some(prompt)) => (Method::PromptsGet, "name", prompt),
            (None, None, None) => return Err(Exit::bug("nothing is named")),
        };
        let params = ObjectWriter::new().value(key, name).finish();
        let call = Call::new(method.clone(), params, caller.clone());
        let target = opened.server.gateway().target(call);
        let target = target.map_err(|error| Exit::new(Code::NotFound, error.public))?;
        Ok((method, target))
    }

    /// The same as it is listed at the endpoint of its own server, which has the server's own names.
    fn at_endpoint(&self, target: Target) -> Target {
        let server = target.origin().map(|origin| &*origin.server);
        if server.is_none() || self.virtual_server.as_deref() != server {
            return target;
        }
        match &target {
            Target::Tool(tool) => {
                let canonical = Some(canonical(&target));
                let names = tool.client_names.clone();
                let renamed = tool.shown_as(&tool.own.name, canonical);
                renamed.map_or(target.clone(), |mut tool| {
                    tool.client_names = endpoint_names(names);
                    Target::Tool(Arc::new(tool))
                })
            }
            Target::Prompt(prompt) => Target::Prompt(Arc::new(PromptEntry {
                name: prompt.own.name.clone(),
                definition: prompt.definition.clone(),
                origin: prompt.origin.clone(),
                own: prompt.own.clone(),
                offered: prompt.offered.clone(),
                canonical: Some(canonical(&target)),
                is_cached: prompt.is_cached,
                client_names: endpoint_names(prompt.client_names.clone()),
            })),
            Target::Resource(_) | Target::Template(..) => target,
        }
    }

    /// The arguments; some that are missing do not matter here.
    fn arguments(&self, target: &Target) -> Result<RawJson, Exit> {
        let given = self.args.as_deref().unwrap_or("{}");
        let wrong = |text: String| {
            let hint = "write them as --args '{\"key\": \"value\"}', or KEY=VALUE";
            Exit::new(Code::Usage, text).hint(hint)
        };
        let base = RawJson::parse(given.to_owned(), JsonLimits::default())
            .map_err(|error| wrong(format!("the arguments are not valid JSON: {error}")))?;
        if !base.is_object() {
            return Err(wrong("the arguments are not a JSON object".to_owned()));
        }
        if self.words.is_empty() {
            return Ok(base);
        }
        let schema = target.definition().get("inputSchema").unwrap_or(RawJson::EMPTY_OBJECT);
        let schema = schema.edit().set("required", RawJson::from_static("[]")).apply();
        let files = |path: &str| std::fs::read_to_string(path);
        arguments::read(&schema, &base, &self.words, &files)
            .map_err(|error| wrong(error.to_string()))
    }
}

fn scope_of(allow: &[String]) -> Option<Scope> {
    Some(Scope { allow: allow.to_vec() }).filter(|it| !it.allow.is_empty())
}

/// The names for clients at an endpoint that shows a thing under its own name.
fn endpoint_names(names: Option<Arc<ClientNames>>) -> Option<Arc<ClientNames>> {
    names.map(|it| Arc::new(ClientNames { shown: it.canonical.clone(), ..(*it).clone() }))
}

/// What policies know of a name that the endpoint does not show.
fn canonical(target: &Target) -> Arc<CanonicalName> {
    let known = match target {
        Target::Tool(tool) => tool.canonical.clone(),
        Target::Prompt(prompt) => prompt.canonical.clone(),
        Target::Resource(_) | Target::Template(..) => None,
    };
    let named = || CanonicalName { name: target.name().into(), full: None, is_contested: false };
    known.unwrap_or_else(|| Arc::new(named()))
}

fn tell(explained: &Explanation, options: &ExplainOptions, target: &Target) -> Result<(), Exit> {
    let (who, name) = (&options.principal, target.name());
    let verdict = match (explained.allowed, explained.needs_approval) {
        (true, true) => format!("may use `{name}` once a person approves"),
        (true, false) => format!("may use `{name}`"),
        (false, _) => format!("may not use `{name}`"),
    };
    let by = match &*explained.by {
        "default" if explained.allowed => "no rule matches, and `default` allows".to_owned(),
        "default" => "no rule allows it, and `default` denies".to_owned(),
        "token scope" => "it is not in the scope of the token".to_owned(),
        rule => format!("rule `{rule}` decides"),
    };
    let mut table = Table::indented(2);
    for Finding { rule, judged } in &explained.findings {
        let place = rule.place.as_deref().unwrap_or_default();
        table.row([&rule.name, rule.effect.as_str(), place, &judged.to_string()]);
    }
    let server = target.origin().map(|origin| format!(", of the server `{}`", origin.server));
    let seen = if explained.is_seen { "seen" } else { "not seen" };
    render::print(&render::visible(&format!("`{who}` {verdict}: {by}")))?;
    if !explained.findings.is_empty() {
        render::print(&table.to_text(Style::of_stdout()))?;
    }
    let (effect, server) = (effect(target), server.unwrap_or_default());
    let words = format!("`{name}` {effect}{server}; it is {seen} in the lists of `{who}`");
    render::print(&render::visible(&words))
}

fn to_json(
    explained: &Explanation,
    options: &ExplainOptions,
    target: &Target,
    gate: Option<&TrustInputs>,
) -> RawJson {
    let finding = |Finding { rule, judged }: &Finding| {
        ObjectWriter::new()
            .value("rule", &*rule.name)
            .value("effect", rule.effect.as_str())
            .value("shadow", &rule.shadow)
            .value_some("place", rule.place.as_deref())
            .value("decides", &judged.decides())
            .value("why", &judged.to_string())
            .finish()
    };
    let findings: Vec<RawJson> = explained.findings.iter().map(finding).collect();
    ObjectWriter::new()
        .value("principal", &options.principal)
        .value("name", target.name())
        .value_some("server", target.origin().map(|origin| &*origin.server))
        .value("allowed", &explained.allowed)
        .value("needsApproval", &explained.needs_approval)
        .value("by", &*explained.by)
        .value("seen", &explained.is_seen)
        .value("effect", effect(target))
        .value_some("trust", gate.map(|inputs| inputs.level().as_str()))
        .value_some("gate", gate.map(gate_words))
        .array("rules", &findings)
        .finish()
}

/// What a call may do, in words.
fn effect(target: &Target) -> &'static str {
    match target {
        Target::Tool(tool) => effect_words(tool.effect()),
        _ => effect_words(Effect::ReadOnly),
    }
}
