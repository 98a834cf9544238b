//! Greeting a server: finding out which era it speaks (2026-07-28, versioning), and what it says of
//! itself.

use std::sync::Arc;
use std::time::Duration;

use gantry_protocol::meta::key;
use gantry_protocol::{Method, ParamsHead, RawJson, Revision, RpcError, code};

use super::answer::rpc_error;
use super::compose;
use super::connection_inner::{Agreed, ConnectionInner};
use super::handshake::{EraDoubt, handshake, unreachable};
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
pub(super) enum Verdict {
    Modern(Agreed),
    Handshake,
    /// It said nothing, and may only be slow.
    Silence,
}

/// Finds out the era, if it is not known, and greets the server. What is known from before, and not
/// from the settings, may be wrong by now.
pub(super) async fn greet(inner: &ConnectionInner, era: Era) -> Result<Agreed, Unwelcome> {
    let is_given = era == inner.settings.era;
    match era {
        Era::Legacy if is_given => return handshake(inner, EraDoubt::None).await,
        Era::Legacy => return handshake(inner, EraDoubt::Some).await,
        // Over HTTP it takes no longer to be ready for another answer.
        Era::Modern if is_given || inner.is_pipe() => return Ok(discover_only(inner).await?),
        Era::Modern | Era::Auto => {}
    }
    let within = match inner.is_pipe() {
        true => inner.settings.probe_within,
        false => inner.settings.connect_within,
    };
    match probe(inner, within).await? {
        Verdict::Modern(agreed) => Ok(agreed),
        Verdict::Handshake => handshake(inner, EraDoubt::Some).await,
        Verdict::Silence => handshake(inner, EraDoubt::Much).await,
    }
}

/// Asks the server for its era.
pub(super) async fn probe(inner: &ConnectionInner, within: Duration) -> Result<Verdict, Unwelcome> {
    let (outcome, refused) = discover(inner, within).await;
    match outcome {
        Ok(Ok(result)) => Ok(read_discover(&result)?),
        Ok(Err(error)) => Ok(read_refusal(&error)?),
        Err(ClientError::Timeout(_)) if inner.is_pipe() => Ok(Verdict::Silence),
        Err(
            ClientError::Lost(reason)
            | ClientError::Reset(reason)
            | ClientError::Unreachable(reason),
        ) if inner.is_pipe() => Err(Unwelcome::DiedOnProbe(reason)),
        // Whoever has too much to do now says nothing of the era.
        Err(ClientError::Http(_))
            if refused.is_some_and(|status| status < 500 && status != 429) =>
        {
            Ok(Verdict::Handshake)
        }
        Err(error) => Err(Unwelcome::Failed(unreachable(error))),
    }
}

type Discovered = (Result<Result<RawJson, RpcError>, ClientError>, Option<u16>);

/// Asks the server for what it is, in the newest revision. One that refuses a revision and names it
/// as one that it speaks is asked once more.
async fn discover(inner: &ConnectionInner, within: Duration) -> Discovered {
    match discover_once(inner, within).await {
        (Ok(Err(error)), _) if names_ours(&error) => discover_once(inner, within).await,
        discovered => discovered,
    }
}

fn names_ours(error: &RpcError) -> bool {
    let named = || supported(error).and_then(|supported| pick(&supported).ok());
    error.code == code::UNSUPPORTED_VERSION && matches!(named(), Some(Picked::Stateless(_)))
}

async fn discover_once(inner: &ConnectionInner, within: Duration) -> Discovered {
    let mut request = Request::new(Method::Discover, RawJson::EMPTY_OBJECT);
    request.capabilities = inner.settings.capabilities.clone();
    let (revision, head) = (Revision::LATEST, ParamsHead::default());
    let params = compose::standing_alone(revision, &inner.settings, &request, &head, 0);
    let headers = match inner.is_pipe() {
        true => Vec::new(),
        false => compose::repeated(revision, &request, &head, None),
    };
    let exchange = inner.exchange(Method::Discover, &params, headers, within).await;
    let outcome = match exchange.outcome {
        Ok(Ok(result)) => Ok(Ok(result)),
        Ok(Err(error)) => rpc_error(&error).map(Err),
        Err(ClientError::Answered(error)) => Ok(Err(error)),
        Err(error) => Err(error),
    };
    (outcome, exchange.refused)
}

/// Greets a server that is known to have no handshake.
pub(super) async fn discover_only(inner: &ConnectionInner) -> Result<Agreed, ClientError> {
    let unknown = |text: String| Err(ClientError::Unreachable(text));
    match discover(inner, inner.settings.connect_within).await.0 {
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

pub(super) fn supported(error: &RpcError) -> Option<Vec<String>> {
    error.data.as_ref()?.get("supported")?.read()
}

pub(super) enum Picked {
    Stateless(Revision),
    Handshake,
}

/// The best revision that both know.
pub(super) fn pick(supported: &[String]) -> Result<Picked, ClientError> {
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
