//! `gantry token`: who may call this gateway.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand, ValueEnum};
use gantry::{ObjectWriter, RawJson};
use gantry_policy::{Role, TokenError, Tokens};
use http::Method;
use serde::Deserialize;

use crate::admin::tokens::{lifetime, row};
use crate::admin_client::{AdminClient, GatewayTarget, Kind};
use crate::exit::{Code, Exit};
use crate::render::{self, Style, Table};
use crate::runtime::{callers, policies};
use crate::tool_sources;

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenVerb {
    /// Create a token for a client. It is shown once.
    Create(CreateOptions),
    /// List tokens and their last use.
    #[command(visible_alias = "ls")]
    List(TokensOptions),
    /// Revoke a token at once.
    Revoke(RevokeOptions),
}

/// What the token is to be.
#[derive(Debug, Args)]
pub(crate) struct CreateOptions {
    /// Name of the token, which is the principal of its calls.
    #[arg(long)]
    pub(crate) name: String,

    /// Scope: a pattern of tools, prompts or resources; repeatable. Without any it may use everything.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow: Vec<String>,

    /// Role; an `approver` may also approve calls of others.
    #[arg(long, value_enum, default_value_t = RoleOption::Caller)]
    pub(crate) role: RoleOption,

    /// Lifetime, such as 12h, 30d or 8w; by default it does not expire.
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<String>,

    #[command(flatten)]
    pub(crate) which: TokensOptions,
}

/// The roles that a token can be made with. The local user's is made at the first start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleOption {
    /// May make calls.
    Caller,
    /// May also approve calls of others.
    Approver,
}

impl From<RoleOption> for Role {
    fn from(option: RoleOption) -> Self {
        match option {
            RoleOption::Caller => Self::Caller,
            RoleOption::Approver => Self::Approver,
        }
    }
}

/// Which token.
#[derive(Debug, Args)]
pub(crate) struct RevokeOptions {
    /// Name or id.
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) which: TokensOptions,
}

/// Whose tokens, and how they are shown.
#[derive(Debug, Args)]
pub(crate) struct TokensOptions {
    #[command(flatten)]
    pub(crate) reach: GatewayTarget,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Where tokens are changed: in the gateway that runs, else in what it will read when it starts.
enum TokenClient {
    AdminClient(AdminClient),
    Store(Arc<Tokens>),
}

pub(crate) async fn run(verb: &TokenVerb) -> Result<(), Exit> {
    match verb {
        TokenVerb::Create(options) => create(options).await,
        TokenVerb::List(options) => list(options).await,
        TokenVerb::Revoke(options) => revoke(options).await,
    }
}

async fn create(options: &CreateOptions) -> Result<(), Exit> {
    let expires = options.expires.as_deref();
    let wrong = |text: &str| Exit::new(Code::Usage, format!("`{text}` is not a duration"));
    let read =
        expires.map(|text| lifetime(text).ok_or_else(|| wrong(text).hint("write it as 30d")));
    let lifetime = read.transpose()?;
    // Not given means everything, which is not what an empty list says.
    let allow = Some(options.allow.clone()).filter(|allow| !allow.is_empty());
    let role = Role::from(options.role);
    let made = match TokenClient::open(&options.which.reach).await? {
        TokenClient::AdminClient(running) => {
            let wanted = ObjectWriter::new()
                .value("name", &options.name)
                .value_some("allow", allow.as_ref())
                .value("role", role.as_str())
                .value_some("expires", expires)
                .finish();
            running.send(Method::POST, PAGE, Some(&wanted)).await?
        }
        TokenClient::Store(tokens) => {
            let until = lifetime.map(|lifetime| tokens.clock().now() + lifetime);
            let made = tokens.create_as(role, &options.name, allow, until).await;
            let (token, record) = made.map_err(|error| failed(&error))?;
            row(&record, tokens.clock())
                .edit()
                .set("token", RawJson::string(token.expose()))
                .apply()
        }
    };
    if options.which.json {
        return render::print(&render::pretty(&made));
    }
    let token = made.get("token").and_then(|it| it.to_text()).unwrap_or_default();
    render::say(&format!(
        "the token of `{}`, which is not shown again; a client sends it as `Authorization: Bearer TOKEN`:",
        options.name
    ));
    render::print(&token)
}

async fn list(options: &TokensOptions) -> Result<(), Exit> {
    let tokens = match TokenClient::open(&options.reach).await? {
        TokenClient::AdminClient(running) => {
            let answer = running.get(PAGE).await?;
            answer.get("tokens").unwrap_or(RawJson::NULL)
        }
        TokenClient::Store(tokens) => {
            let rows = tokens.list();
            let rows: Vec<RawJson> = rows.iter().map(|it| row(it, tokens.clock())).collect();
            RawJson::array(&rows)
        }
    };
    if options.json {
        return render::print(&render::pretty(&tokens));
    }
    let read = tokens.try_read();
    let rows: Vec<Row> =
        read.map_err(|error| Exit::bug(format!("invalid list of tokens: {error}")))?;
    if rows.is_empty() {
        render::say("there are no tokens; create one with `gantry token create --name NAME`");
    }
    render::print(&all(&rows, SystemTime::now(), Style::of_stdout()))
}

async fn revoke(options: &RevokeOptions) -> Result<(), Exit> {
    let name = options.name.as_str();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._@-".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_name) {
        return Err(failed(&TokenError::Unknown(name.to_owned())));
    }
    let revoked = match TokenClient::open(&options.which.reach).await? {
        TokenClient::AdminClient(running) => {
            running.send(Method::DELETE, &format!("{PAGE}/{name}"), None).await?
        }
        TokenClient::Store(tokens) => {
            let record = tokens.revoke(name).await.map_err(|error| failed(&error))?;
            row(&record, tokens.clock())
        }
    };
    if options.which.json {
        return render::print(&render::pretty(&revoked));
    }
    render::say(&format!("the token `{name}` is revoked"));
    Ok(())
}

/// The page of tokens.
const PAGE: &str = "/api/tokens";

impl TokenClient {
    /// The gateway that runs, if one does; a gateway that is named must.
    async fn open(reach: &GatewayTarget) -> Result<Self, Exit> {
        match AdminClient::find_kind(reach, Kind::Listening).await {
            Ok(running) => return Ok(Self::AdminClient(running)),
            Err(exit) if exit.code != Code::Unreachable || reach.is_named() => return Err(exit),
            Err(_) => {}
        }
        let config = tool_sources::configuration(reach.config.as_deref())?;
        let policies = policies::open(config.as_ref()).await?.policies;
        Ok(Self::Store(callers::tokens(policies.storage()).await?))
    }
}

fn failed(error: &TokenError) -> Exit {
    let code = match error {
        TokenError::Unknown(_) => Code::NotFound,
        TokenError::Taken(_) | TokenError::TooMany(_) => Code::Refused,
        TokenError::Unwritten(..) | TokenError::DocumentStore(_) => Code::Failed,
        _ => Code::Usage,
    };
    let text = error.to_string();
    match text.rsplit_once("; ") {
        Some((message, hint)) => Exit::new(code, message).hint(hint),
        None => Exit::new(code, text),
    }
}

/// A token as it is listed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Row {
    name: String,
    id: String,
    state: String,
    allow: Vec<String>,
    role: String,
    created: u64,
    expires: Option<u64>,
    last_used: Option<u64>,
}

/// All tokens, a line each.
pub(crate) fn all(rows: &[Row], now: SystemTime, style: Style) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut table = Table::default();
    table.row(["NAME", "ID", "STATE", "CREATED", "EXPIRES", "LAST USE", "ROLE", "ALLOWS"]);
    for row in rows {
        let allows = match row.allow.as_slice() {
            [] => "everything".to_owned(),
            allow => allow.join(", "),
        };
        table.row([
            &row.name,
            &row.id,
            &row.state,
            &when(row.created, now),
            &row.expires.map_or_else(|| "never".to_owned(), |at| when(at, now)),
            &row.last_used.map_or_else(|| "never".to_owned(), |at| when(at, now)),
            &row.role,
            &allows,
        ]);
    }
    table.to_text(style)
}

/// A time as people say it.
fn when(at: u64, now: u64) -> String {
    match now.checked_sub(at) {
        Some(0..=1) => "now".to_owned(),
        Some(since) => format!("{} ago", span(since)),
        None => format!("in {}", span(at - now)),
    }
}

/// A length of time in its largest unit.
fn span(seconds: u64) -> String {
    let units = [("d", 86_400), ("h", 3600), ("m", 60)];
    let unit = units.iter().find(|(_, length)| seconds >= 2 * length);
    unit.map_or_else(
        || format!("{seconds}s"),
        |(unit, length)| format!("{}{unit}", seconds / length),
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_line_each() {
        let text = r#"[
            {"name": "default", "id": "0a", "state": "active", "allow": [], "created": 1000,
             "expires": null, "revoked": null, "last_used": 99990, "role": "user"},
            {"name": "ci", "id": "0b", "state": "expired", "allow": ["a*", "b"], "created": 99999,
             "expires": 5000000, "role": "caller"}
        ]"#;
        let rows: Vec<Row> = serde_json::from_str(text).expect("tokens");
        let expected = "\
NAME     ID  STATE    CREATED  EXPIRES  LAST USE  ROLE    ALLOWS
default  0a  active   27h ago  never    10s ago   user    everything
ci       0b  expired  now      in 56d   never     caller  a*, b";
        let now = UNIX_EPOCH + Duration::from_secs(100_000);
        assert_eq!(all(&rows, now, Style::PLAIN), expected);
        assert_eq!(all(&[], now, Style::PLAIN), "");
    }
}
