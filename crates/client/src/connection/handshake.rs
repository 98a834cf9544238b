//! The handshake of all revisions but the newest (2025-11-25, lifecycle).

use std::sync::Arc;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson, Revision, RpcError, compat, jsonrpc};

use super::answer::rpc_error;
use super::connection_inner::{Agreed, ConnectionInner, Transport};
use super::negotiate::{Picked, Unwelcome, discover_only, pick, supported};
use crate::error::{ClientError, HttpError};
use crate::peer::Peer;

/// How sure it is that the server wants a handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EraDoubt {
    None,
    /// It may say otherwise.
    Some,
    /// It was not heard yet at all.
    Much,
}

impl EraDoubt {
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
pub(super) async fn handshake(
    inner: &ConnectionInner,
    doubt: EraDoubt,
) -> Result<Agreed, Unwelcome> {
    let settings = &inner.settings;
    let offer = settings.offer;
    let params = ObjectWriter::new()
        .value("protocolVersion", offer.as_str())
        .raw("capabilities", &compat::lower_client_capabilities(offer, &settings.capabilities))
        .raw("clientInfo", &settings.info)
        .finish();
    let within = settings.connect_within;
    let exchange = inner.exchange(Method::Initialize, &params, Vec::new(), within).await;
    let error = match exchange.outcome {
        Ok(Ok(result)) => return Ok(agree(inner, &result, exchange.session).await?),
        Ok(Err(error)) => ClientError::Answered(rpc_error(&error)?),
        Err(error) => error,
    };
    if let ClientError::Answered(error) = &error
        && doubt.is_raised_by(error)
        && let Ok(agreed) = discover_only(inner).await
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
    inner: &ConnectionInner,
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
    let agreed = Agreed { peer: Arc::new(peer), tasks, session: session.is_some() };
    if let Transport::Http { wire, .. } = &inner.way {
        wire.agreed(revision, session);
    }
    // Set before the server may ask anything, which it may as soon as it hears the next message.
    inner.agree(agreed.clone());
    match inner.say(jsonrpc::notification(Method::Initialized.as_str(), None)).await {
        // One that refuses to hear it may still serve.
        Ok(()) | Err(ClientError::Lost(_) | ClientError::Http(_)) => Ok(agreed),
        Err(error) => Err(unreachable(error)),
    }
}

/// Whatever went wrong here, no request of anyone's was sent.
pub(super) fn unreachable(error: ClientError) -> ClientError {
    match error {
        ClientError::Unauthorized { .. }
        | ClientError::Unreachable(_)
        | ClientError::ConnectionRefused(_) => error,
        ClientError::Answered(error) => {
            ClientError::Unreachable(format!("the server refused the handshake: {error}"))
        }
        // A wait that the server asks for is heeded.
        ClientError::Http(refusal) => {
            ClientError::Http(Box::new(HttpError { is_unsent: true, ..*refusal }))
        }
        other => ClientError::Unreachable(format!("the server could not be greeted: {other}")),
    }
}
