//! Negotiates era and revision with a server. `server/discover` is the probe (2026-07-28,
//! versioning); a legacy server that does not know it gets `initialize` (2025-11-25, lifecycle). A
//! server over HTTP can be replaced by one of another era between two requests, so a refusal that
//! may mean this is checked with another probe.

use super::call::exchange;
use std::sync::Arc;
use std::time::Duration;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use gantry_protocol::{Method, ParamsHead, RawJson, Revision, RpcError, code, compat, jsonrpc};

use super::compose;
use super::connection_inner::{ConnectionInner, Negotiated, Transport};
use super::response::rpc_error;
use crate::error::{ClientError, HttpError};
use crate::peer::Peer;
use crate::request::Request;
use crate::settings::Era;

/// Why negotiation failed.
#[derive(Debug)]
pub(super) enum NegotiationError {
    /// The connection ended during the probe, which an old program may not survive.
    DiedOnProbe(String),
    /// The endpoint does not accept messages of this transport (HTTP 400, 404 or 405).
    OtherTransport(ClientError),
    /// Anything else.
    Failed(ClientError),
}

impl From<ClientError> for NegotiationError {
    fn from(error: ClientError) -> Self {
        Self::Failed(error)
    }
}

/// The outcome of the probe.
pub(super) enum ProbeOutcome {
    Modern(Negotiated),
    Handshake,
    /// No response in time; the server may only be slow.
    NoAnswer,
}

/// Detects the era, unless it is known, and negotiates. An era that is known from an earlier
/// connection, and not from the settings, may be wrong by now.
pub(super) async fn negotiate(
    inner: &ConnectionInner,
    era: Era,
) -> Result<Negotiated, NegotiationError> {
    let is_given = era == inner.settings.era;
    match era {
        Era::Legacy if is_given => return handshake(inner, EraDoubt::None).await,
        Era::Legacy => return handshake(inner, EraDoubt::Some).await,
        // Over HTTP a fallback costs no extra wait.
        Era::Modern if is_given || inner.is_pipe() => return Ok(discover_only(inner).await?),
        Era::Modern | Era::Auto => {}
    }
    let within = match inner.is_pipe() {
        true => inner.settings.probe_within,
        false => inner.settings.connect_within,
    };
    match probe(inner, within).await? {
        ProbeOutcome::Modern(negotiated) => Ok(negotiated),
        ProbeOutcome::Handshake => handshake(inner, EraDoubt::Some).await,
        ProbeOutcome::NoAnswer => handshake(inner, EraDoubt::Much).await,
    }
}

/// Probes the era of the server.
pub(super) async fn probe(
    inner: &ConnectionInner,
    within: Duration,
) -> Result<ProbeOutcome, NegotiationError> {
    let (outcome, refused) = discover(inner, within).await;
    match outcome {
        Ok(Ok(result)) => Ok(read_discover(&result)?),
        Ok(Err(error)) => Ok(read_refusal(&error)?),
        Err(ClientError::Timeout(_)) if inner.is_pipe() => Ok(ProbeOutcome::NoAnswer),
        Err(
            ClientError::Lost(reason)
            | ClientError::Reset(reason)
            | ClientError::Unreachable(reason),
        ) if inner.is_pipe() => Err(NegotiationError::DiedOnProbe(reason)),
        // An overloaded server (429, 5xx) does not reveal its era.
        Err(ClientError::Http(_))
            if refused.is_some_and(|status| status < 500 && status != 429) =>
        {
            Ok(ProbeOutcome::Handshake)
        }
        Err(error) => Err(NegotiationError::Failed(unreachable(error))),
    }
}

type Discovered = (Result<Result<RawJson, RpcError>, ClientError>, Option<u16>);

/// Sends `server/discover` in the newest revision, a second time if the server refuses the revision
/// and lists it as supported.
async fn discover(inner: &ConnectionInner, within: Duration) -> Discovered {
    match discover_once(inner, within).await {
        (Ok(Err(error)), _) if names_ours(&error) => discover_once(inner, within).await,
        discovered => discovered,
    }
}

fn names_ours(error: &RpcError) -> bool {
    let named = || supported(error).and_then(|supported| pick(&supported).ok());
    error.code == code::UNSUPPORTED_VERSION && matches!(named(), Some(Selected::Stateless(_)))
}

async fn discover_once(inner: &ConnectionInner, within: Duration) -> Discovered {
    let mut request = Request::new(Method::Discover, RawJson::EMPTY_OBJECT);
    request.capabilities = inner.settings.capabilities.clone();
    let (revision, head) = (Revision::LATEST, ParamsHead::default());
    let params = compose::stateless_params(revision, &inner.settings, &request, &head, 0);
    let headers = match inner.is_pipe() {
        true => Vec::new(),
        false => compose::repeated_headers(revision, &request, &head, None),
    };
    let exchange = exchange(inner, Method::Discover, &params, headers, within).await;
    let outcome = match exchange.outcome {
        Ok(Ok(result)) => Ok(Ok(result)),
        Ok(Err(error)) => rpc_error(&error).map(Err),
        Err(ClientError::Answered(error)) => Ok(Err(error)),
        Err(error) => Err(error),
    };
    (outcome, exchange.refused)
}

/// Negotiates with a server that is known to be modern.
pub(super) async fn discover_only(inner: &ConnectionInner) -> Result<Negotiated, ClientError> {
    let unknown = |text: String| Err(ClientError::Unreachable(text));
    match discover(inner, inner.settings.connect_within).await.0 {
        Ok(Ok(result)) => match read_discover(&result)? {
            ProbeOutcome::Modern(negotiated) => Ok(negotiated),
            ProbeOutcome::Handshake | ProbeOutcome::NoAnswer => unknown(format!(
                "the server does not support revision {}; set `era` to `legacy`",
                Revision::LATEST
            )),
        },
        Ok(Err(error)) => unknown(format!("the server refused `server/discover`: {error}")),
        Err(error) => Err(unreachable(error)),
    }
}

fn read_discover(result: &RawJson) -> Result<ProbeOutcome, ClientError> {
    // A legacy server may return anything at all; this member identifies a discover result.
    let supported = result.get("supportedVersions").and_then(|it| it.read::<Vec<String>>());
    let Some(supported) = supported else { return Ok(ProbeOutcome::Handshake) };
    match pick(&supported)? {
        Selected::Handshake => Ok(ProbeOutcome::Handshake),
        Selected::Stateless(revision) => {
            let empty = || RawJson::EMPTY_OBJECT;
            let peer = Peer {
                revision,
                info: result.at(&[key::META, key::SERVER_INFO]).unwrap_or_else(empty),
                capabilities: result.get("capabilities").unwrap_or_else(empty),
                instructions: result.get("instructions").and_then(|it| it.to_text()),
            };
            Ok(ProbeOutcome::Modern(Negotiated {
                peer: Arc::new(peer),
                tasks: false,
                session: false,
            }))
        }
    }
}

/// An error code of the newest revision identifies a modern server; any other code, a legacy one.
fn read_refusal(error: &RpcError) -> Result<ProbeOutcome, ClientError> {
    match error.code {
        code::UNSUPPORTED_VERSION => match supported(error) {
            Some(supported) => match pick(&supported)? {
                Selected::Handshake => Ok(ProbeOutcome::Handshake),
                Selected::Stateless(revision) => Err(ClientError::Unreachable(format!(
                    "the server refused revision {revision} and lists it as supported"
                ))),
            },
            None => Err(refused_discover(error)),
        },
        code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY => Err(refused_discover(error)),
        _ => Ok(ProbeOutcome::Handshake),
    }
}

fn refused_discover(error: &RpcError) -> ClientError {
    ClientError::Unreachable(format!("the server refused `server/discover`: {error}"))
}

pub(super) fn supported(error: &RpcError) -> Option<Vec<String>> {
    error.data.as_ref()?.get("supported")?.read()
}

pub(super) enum Selected {
    Stateless(Revision),
    Handshake,
}

/// The newest revision that both sides support.
pub(super) fn pick(supported: &[String]) -> Result<Selected, ClientError> {
    let known = supported.iter().filter_map(|name| Revision::parse(name)).max();
    match known {
        Some(revision) if revision.is_stateless() => Ok(Selected::Stateless(revision)),
        Some(_) => Ok(Selected::Handshake),
        None => Err(stranger(&supported.join(", "))),
    }
}

fn stranger(theirs: &str) -> ClientError {
    let ours: Vec<_> = Revision::ALL.iter().map(|revision| revision.as_str()).collect();
    ClientError::Unreachable(format!(
        "the server supports protocol revision {theirs}, and this client only {}",
        ours.join(", ")
    ))
}

/// How likely it is that the server is modern after all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EraDoubt {
    None,
    /// Its error may list a modern revision.
    Some,
    /// It has not responded to anything yet.
    Much,
}

impl EraDoubt {
    /// Whether to probe a server again that refused `initialize` with this error.
    fn is_raised_by(self, error: &RpcError) -> bool {
        let names_stateless =
            || supported(error).is_some_and(|it| matches!(pick(&it), Ok(Selected::Stateless(_))));
        match self {
            Self::None => false,
            Self::Some => names_stateless(),
            Self::Much => true,
        }
    }
}

/// Sends `initialize`. A server that refuses it may be modern after all.
pub(super) async fn handshake(
    inner: &ConnectionInner,
    doubt: EraDoubt,
) -> Result<Negotiated, NegotiationError> {
    let settings = &inner.settings;
    let offer = settings.offer;
    let params = ObjectWriter::new()
        .value("protocolVersion", offer.as_str())
        .raw("capabilities", &compat::lower_client_capabilities(offer, &settings.capabilities))
        .raw("clientInfo", &settings.info)
        .finish();
    let within = settings.connect_within;
    let exchange = exchange(inner, Method::Initialize, &params, Vec::new(), within).await;
    let error = match exchange.outcome {
        Ok(Ok(result)) => return Ok(agree(inner, &result, exchange.session).await?),
        Ok(Err(error)) => ClientError::Answered(rpc_error(&error)?),
        Err(error) => error,
    };
    if let ClientError::Answered(error) = &error
        && doubt.is_raised_by(error)
        && let Ok(negotiated) = discover_only(inner).await
    {
        return Ok(negotiated);
    }
    match exchange.refused {
        Some(400 | 404 | 405) => Err(NegotiationError::OtherTransport(unreachable(error))),
        _ => Err(NegotiationError::Failed(unreachable(error))),
    }
}

/// Accepts the server's revision and sends `notifications/initialized`.
async fn agree(
    inner: &ConnectionInner,
    result: &RawJson,
    session: Option<String>,
) -> Result<Negotiated, ClientError> {
    let version = result.get("protocolVersion").and_then(|version| version.to_text());
    let Some(version) = version else {
        let text = "the server's answer to `initialize` names no `protocolVersion`";
        return Err(ClientError::Unreachable(text.to_owned()));
    };
    let revision = Revision::parse(&version).filter(|revision| !revision.is_stateless());
    let revision = revision.ok_or_else(|| {
        ClientError::Unreachable(format!(
            "the server answered the offer of revision {} with `{version}`, which is not a legacy revision",
            inner.settings.offer
        ))
    })?;
    let capabilities = result.get("capabilities").unwrap_or(RawJson::EMPTY_OBJECT);
    let tasks = revision == Revision::V2025_11_25
        && capabilities.at(&["tasks", "requests", "tools", "call"]).is_some();
    let peer = Peer {
        revision,
        info: result.get("serverInfo").unwrap_or(RawJson::EMPTY_OBJECT),
        capabilities: compat::lift_server_capabilities(revision, &capabilities),
        instructions: result.get("instructions").and_then(|it| it.to_text()),
    };
    let negotiated = Negotiated { peer: Arc::new(peer), tasks, session: session.is_some() };
    if let Transport::Http { http, .. } = &inner.transport {
        http.negotiated(revision, session);
    }
    // Set first: the server may send requests as soon as it has read the next message.
    inner.agree(negotiated.clone());
    match inner.say(jsonrpc::notification(Method::Initialized.as_str(), None)).await {
        // A server that rejects this notification may still serve.
        Ok(()) | Err(ClientError::Lost(_) | ClientError::Http(_)) => Ok(negotiated),
        Err(error) => Err(unreachable(error)),
    }
}

/// No request of a caller was sent during negotiation, so every error is one of an unreachable
/// server.
pub(super) fn unreachable(error: ClientError) -> ClientError {
    match error {
        ClientError::Unauthorized { .. }
        | ClientError::Unreachable(_)
        | ClientError::ConnectionRefused(_) => error,
        ClientError::Answered(error) => {
            ClientError::Unreachable(format!("the server refused `initialize`: {error}"))
        }
        // `Retry-After` is kept.
        ClientError::Http(refusal) => {
            ClientError::Http(Box::new(HttpError { is_unsent: true, ..*refusal }))
        }
        other => ClientError::Unreachable(format!("negotiation with the server failed: {other}")),
    }
}

/// The error of a failed request, after checking whether it failed because the server changed its
/// era. `refused` is the HTTP status of the refusal.
pub(super) async fn check_era(
    inner: &ConnectionInner,
    refused: Option<u16>,
    error: ClientError,
) -> ClientError {
    if holds(inner, refused, &error).await {
        return error;
    }
    inner.era_changed.cancel();
    ClientError::Outdated(error.to_string())
}

async fn holds(inner: &ConnectionInner, refused: Option<u16>, error: &ClientError) -> bool {
    let said = match error {
        ClientError::Answered(error) => Some(error.code),
        ClientError::Http(_) => None,
        _ => return true,
    };
    // An era in the settings means that the server must not be probed.
    let Some(revision) = inner.revision().filter(|_| inner.settings.era == Era::Auto) else {
        return true;
    };
    let is_stateless = revision.is_stateless();
    if is_stateless && said == Some(code::UNSUPPORTED_VERSION) {
        return false;
    }
    // Servers of both eras use these statuses for requests of the other era, before they run
    // anything. The probe decides what was meant: a second run of a tool would be worse than an
    // error.
    if !matches!(refused, Some(400 | 404 | 405 | 406 | 422)) || is_stateless && is_usual(said) {
        return true;
    }
    match probe(inner, inner.settings.probe_within).await {
        Ok(ProbeOutcome::Modern(_)) => is_stateless,
        Ok(ProbeOutcome::Handshake) => !is_stateless,
        Ok(ProbeOutcome::NoAnswer) | Err(_) => true,
    }
}

/// Whether a modern server uses this code with such a status for its own requests (2026-07-28,
/// Streamable HTTP).
fn is_usual(said: Option<i64>) -> bool {
    let usual = [
        code::METHOD_NOT_FOUND,
        code::INVALID_PARAMS,
        code::HEADER_MISMATCH,
        code::MISSING_CLIENT_CAPABILITY,
    ];
    said.is_some_and(|said| usual.contains(&said))
}
