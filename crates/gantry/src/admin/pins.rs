//! `/api/pins`: which definitions are pinned and which are held back, and their acceptance.

use bytes::Bytes;
use gantry_gateway::contract::ErrorType;
use gantry_policy::Pins;
use gantry_policy::pins::{Key, PinError};
use gantry_protocol::json::ObjectWriter;
use http::{Method, Request, StatusCode};

use super::servers::decode;
use super::{Answer, refuse};

/// Who accepts, as far as is known here.
const BY: &str = "administrator";

/// The answer, or the method that the page would take; none if the page is none of these.
pub(super) fn answer(
    pins: &Pins,
    request: &Request<Bytes>,
) -> Option<Result<Answer, &'static str>> {
    let rest = super::path(request).strip_prefix("pins")?;
    if rest.is_empty() || rest == "/lock" {
        let is_asked = request.method() == Method::GET;
        let told = || if rest.is_empty() { pins.report() } else { pins.to_lock() };
        return Some(if is_asked { Ok((StatusCode::OK, told())) } else { Err("GET") });
    }
    let (name, deed) = rest.strip_prefix('/')?.split_once('/')?;
    let name = decode(name).filter(|name| !name.is_empty())?;
    let done: fn(&Pins, &str, Option<&str>) -> Result<Key, PinError> = match deed {
        "accept" => |pins, name, digest| pins.accept(name, digest, BY),
        "unpin" => |pins, name, _| pins.unpin(name),
        _ => return None,
    };
    if request.method() != Method::POST {
        return Some(Err("POST"));
    }
    let digest = request.uri().query().and_then(|query| query.strip_prefix("digest="));
    Some(Ok(done(pins, &name, digest).map_or_else(|error| refused(&error), |key| told(&key, deed))))
}

fn told(key: &Key, deed: &str) -> Answer {
    let told = ObjectWriter::new()
        .value("path", &key.path())
        .value("kind", key.kind.word())
        .value("done", deed)
        .finish();
    (StatusCode::OK, told)
}

fn refused(error: &PinError) -> Answer {
    let (status, kind) = match error {
        PinError::Unknown(_) => (StatusCode::NOT_FOUND, ErrorType::ResourceNotFound),
        PinError::Ambiguous { .. } => (StatusCode::CONFLICT, ErrorType::ValidationError),
        PinError::ChangedAgain(_) => (StatusCode::CONFLICT, ErrorType::PermissionError),
    };
    refuse(status, kind, (&error.to_string(), "GET /api/pins lists what there is"))
}
