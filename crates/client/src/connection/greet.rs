//! Greeting a server: which era it speaks, and the handshake of the older one (2026-07-28,
//! versioning; 2025-11-25, lifecycle).

use std::sync::Arc;
use std::time::Duration;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use gantry_protocol::{Method, RawJson, Revision, RpcError, code, jsonrpc, wire};

use super::answer::rpc_error;
use super::compose;
use super::link::{Agreed, Link, Way};
use crate::error::ClientError;
use crate::peer::Peer;
use crate::request::Request;
use crate::settings::Era;

/// Why a server could not be greeted.
#[derive(Debug)]
pub(super) enum Unwelcome {
    /// The connection ended on the question for the era, which an older program may not survive.
    DiedOnProbe(String),
    /// The address does not take messages this way (HTTP 400, 404 or 405).
    OtherTransport(ClientError),
    /// Anything else.
    Failed(ClientError),
}

impl From<ClientError> for Unwelcome {
    fn from(error: ClientError) -> Self {
        Self::Failed(error)
    }
}

/// What the question for the era brought to light.
enum Verdict {
    Modern(Agreed),
    Handshake,
    /// It said nothing, and may only be slow.
    Silence,
}

/// Finds out the era, if it is not given, and greets the server.
pub(super) async fn greet(link: &Link, era: Era) -> Result<Agreed, Unwelcome> {
    match era {
        Era::Auto => match probe(link).await? {
            Verdict::Modern(agreed) => Ok(agreed),
            Verdict::Handshake => handshake(link, Doubt::Some).await,
            Verdict::Silence => handshake(link, Doubt::Much).await,
        },
        Era::Modern => Ok(discover_only(link).await?),
        Era::Legacy => handshake(link, Doubt::None).await,
    }
}

async fn probe(link: &Link) -> Result<Verdict, Unwelcome> {
    let within = match link.is_pipe() {
        true => link.settings.probe_within,
        false => link.settings.connect_within,
    };
    let (outcome, refused) = discover(link, within).await;
    match outcome {
        Ok(Ok(result)) => Ok(read_discover(&result)?),
        Ok(Err(error)) => Ok(read_refusal(&error)?),
        Err(ClientError::Timeout(_)) if link.is_pipe() => Ok(Verdict::Silence),
        Err(ClientError::Lost(reason) | ClientError::Unreachable(reason)) if link.is_pipe() => {
            Err(Unwelcome::DiedOnProbe(reason))
        }
        Err(ClientError::Lost(_)) if refused.is_some_and(|status| status < 500) => {
            Ok(Verdict::Handshake)
        }
        Err(error) => Err(Unwelcome::Failed(unreachable(error))),
    }
}

/// Asks the server for what it is, in the newest revision.
async fn discover(
    link: &Link,
    within: Duration,
) -> (Result<Result<RawJson, RpcError>, ClientError>, Option<u16>) {
    let mut request = Request::new(Method::Discover, RawJson::EMPTY_OBJECT);
    request.capabilities = link.settings.capabilities.clone();
    let params = compose::standing_alone(Revision::LATEST, &link.settings, &request, 0);
    let headers = match link.is_pipe() {
        true => Vec::new(),
        false => compose::repeated(Revision::LATEST, &request),
    };
    let exchange = link.exchange(Method::Discover, &params, headers, within).await;
    let outcome = match exchange.outcome {
        Ok(Ok(result)) => Ok(Ok(result)),
        Ok(Err(error)) => rpc_error(&error).map(Err),
        Err(ClientError::Answered(error)) => Ok(Err(error)),
        Err(error) => Err(error),
    };
    (outcome, exchange.refused)
}

/// Greets a server that is known to have no handshake.
async fn discover_only(link: &Link) -> Result<Agreed, ClientError> {
    let unknown = |text: String| Err(ClientError::Unreachable(text));
    match discover(link, link.settings.connect_within).await.0 {
        Ok(Ok(result)) => match read_discover(&result)? {
            Verdict::Modern(agreed) => Ok(agreed),
            Verdict::Handshake | Verdict::Silence => unknown(format!(
                "the server does not speak revision {}; let it be greeted with a handshake",
                Revision::LATEST
            )),
        },
        Ok(Err(error)) => unknown(format!("the server refused `server/discover`: {error}")),
        Err(error) => Err(unreachable(error)),
    }
}

fn read_discover(result: &RawJson) -> Result<Verdict, ClientError> {
    // An older server may answer anything at all; this member is what makes it an answer.
    let supported = result.get("supportedVersions").and_then(|it| it.read::<Vec<String>>());
    let Some(supported) = supported else { return Ok(Verdict::Handshake) };
    match pick(&supported)? {
        Picked::Handshake => Ok(Verdict::Handshake),
        Picked::Stateless(revision) => {
            let empty = || RawJson::EMPTY_OBJECT;
            let peer = Peer {
                revision,
                info: result.at(&[key::META, key::SERVER_INFO]).unwrap_or_else(empty),
                capabilities: result.get("capabilities").unwrap_or_else(empty),
                instructions: result.get("instructions").and_then(|it| it.to_text()),
            };
            Ok(Verdict::Modern(Agreed { peer: Arc::new(peer), tasks: false, session: false }))
        }
    }
}

/// An error of the newest revision says that the server knows it; any other says nothing.
fn read_refusal(error: &RpcError) -> Result<Verdict, ClientError> {
    match error.code {
        code::UNSUPPORTED_VERSION => match supported(error) {
            Some(supported) => match pick(&supported)? {
                Picked::Handshake => Ok(Verdict::Handshake),
                Picked::Stateless(revision) => Err(ClientError::Unreachable(format!(
                    "the server refused revision {revision} and names it as one that it speaks"
                ))),
            },
            None => Err(refused_discover(error)),
        },
        code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY => Err(refused_discover(error)),
        _ => Ok(Verdict::Handshake),
    }
}

fn refused_discover(error: &RpcError) -> ClientError {
    ClientError::Unreachable(format!("the server refused `server/discover`: {error}"))
}

fn supported(error: &RpcError) -> Option<Vec<String>> {
    error.data.as_ref()?.get("supported")?.read()
}

enum Picked {
    Stateless(Revision),
    Handshake,
}

/// The best revision that both know.
fn pick(supported: &[String]) -> Result<Picked, ClientError> {
    let known = supported.iter().filter_map(|name| Revision::parse(name)).max();
    match known {
        Some(revision) if revision.is_stateless() => Ok(Picked::Stateless(revision)),
        Some(_) => Ok(Picked::Handshake),
        None => Err(stranger(&supported.join(", "))),
    }
}

fn stranger(theirs: &str) -> ClientError {
    let ours: Vec<_> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
    ClientError::Unreachable(format!(
        "the server speaks revision {theirs} of the protocol, and this client only {}",
        ours.join(", ")
    ))
}

/// How sure it is that the server wants a handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    None,
    /// It may say otherwise.
    Some,
    /// It was not heard yet at all.
    Much,
}

impl Doubt {
    /// Whether a server that refuses the handshake with this is to be asked without one.
    fn is_raised_by(self, error: &RpcError) -> bool {
        let names_stateless =
            || supported(error).is_some_and(|it| matches!(pick(&it), Ok(Picked::Stateless(_))));
        match self {
            Self::None => false,
            Self::Some => names_stateless(),
            Self::Much => true,
        }
    }
}

/// The handshake. A server that refuses it may be one that has none after all.
async fn handshake(link: &Link, doubt: Doubt) -> Result<Agreed, Unwelcome> {
    let settings = &link.settings;
    let offer = settings.offer;
    let params = ObjectWriter::new()
        .value("protocolVersion", offer.as_str())
        .raw("capabilities", &wire::lower_client_capabilities(offer, &settings.capabilities))
        .raw("clientInfo", &settings.info)
        .finish();
    let within = settings.connect_within;
    let exchange = link.exchange(Method::Initialize, &params, Vec::new(), within).await;
    let error = match exchange.outcome {
        Ok(Ok(result)) => return Ok(agree(link, &result, exchange.session).await?),
        Ok(Err(error)) => ClientError::Answered(rpc_error(&error)?),
        Err(error) => error,
    };
    if let ClientError::Answered(error) = &error
        && doubt.is_raised_by(error)
        && let Ok(agreed) = discover_only(link).await
    {
        return Ok(agreed);
    }
    match exchange.refused {
        Some(400 | 404 | 405) => Err(Unwelcome::OtherTransport(unreachable(error))),
        _ => Err(Unwelcome::Failed(unreachable(error))),
    }
}

/// Takes what the server offers, and ends the handshake.
async fn agree(
    link: &Link,
    result: &RawJson,
    session: Option<String>,
) -> Result<Agreed, ClientError> {
    let version = result.get("protocolVersion").and_then(|version| version.to_text());
    let Some(version) = version else {
        let text = "the server's answer to `initialize` names no `protocolVersion`";
        return Err(ClientError::Unreachable(text.to_owned()));
    };
    let revision = Revision::parse(&version).filter(|revision| !revision.is_stateless());
    let revision = revision.ok_or_else(|| {
        ClientError::Unreachable(format!(
            "the server answered the offer of revision {} with `{version}`, which cannot be agreed on by a handshake here",
            link.settings.offer
        ))
    })?;
    let capabilities = result.get("capabilities").unwrap_or(RawJson::EMPTY_OBJECT);
    let tasks = revision == Revision::V2025_11_25
        && capabilities.at(&["tasks", "requests", "tools", "call"]).is_some();
    let peer = Peer {
        revision,
        info: result.get("serverInfo").unwrap_or(RawJson::EMPTY_OBJECT),
        capabilities: wire::lift_server_capabilities(revision, &capabilities),
        instructions: result.get("instructions").and_then(|it| it.to_text()),
    };
    let agreed = Agreed { peer: Arc::new(peer), tasks, session: session.is_some() };
    if let Way::Http { wire, .. } = &link.way {
        wire.agreed(revision, session);
    }
    // Set before the server may ask anything, which it may as soon as it hears the next message.
    link.agree(agreed.clone());
    match link.say(jsonrpc::notification(Method::Initialized.as_str(), None)).await {
        // One that refuses to hear it may still serve.
        Ok(()) | Err(ClientError::Lost(_)) => Ok(agreed),
        Err(error) => Err(unreachable(error)),
    }
}

/// Whatever went wrong here, no request of anyone's was sent.
fn unreachable(error: ClientError) -> ClientError {
    match error {
        ClientError::Unauthorized { .. } | ClientError::Unreachable(_) => error,
        ClientError::Answered(error) => {
            ClientError::Unreachable(format!("the server refused the handshake: {error}"))
        }
        other => ClientError::Unreachable(format!("the server could not be greeted: {other}")),
    }
}
