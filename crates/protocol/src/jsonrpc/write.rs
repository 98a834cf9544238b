//! Writing envelopes around raw text.

use bytes::{BufMut, Bytes, BytesMut};

use super::Id;
use crate::error::RpcError;
use crate::json::RawJson;

/// A response in up to three pieces, so that a large shared result is written without a copy.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Everything before the result.
    pub head: Bytes,
    /// The result or the error object.
    pub body: Bytes,
}

/// Results up to this size are copied into one piece: one small write beats two.
const COPY_LIMIT: usize = 16 * 1024;

impl Reply {
    /// What follows the body.
    pub const TAIL: &'static [u8] = b"}";

    /// The response as one piece.
    pub fn into_bytes(self) -> Bytes {
        let mut out = BytesMut::with_capacity(self.head.len() + self.body.len() + 1);
        out.put_slice(&self.head);
        out.put_slice(&self.body);
        out.put_slice(Self::TAIL);
        out.freeze()
    }

    /// The response as one piece when it is small, as three when it is not.
    pub fn into_pieces(self) -> [Bytes; 3] {
        if self.body.len() <= COPY_LIMIT {
            return [self.into_bytes(), Bytes::new(), Bytes::new()];
        }
        [self.head, self.body, Bytes::from_static(Self::TAIL)]
    }
}

/// A successful response.
pub fn result(id: &Id, result: &RawJson) -> Reply {
    Reply { head: head(Some(id), b"\"result\":"), body: result.bytes().clone() }
}

/// A failed response.
pub fn error(id: &Id, error: &RpcError) -> Reply {
    Reply { head: head(Some(id), b"\"error\":"), body: error.to_json().bytes().clone() }
}

/// A failed response to something whose id could not be read. Revisions up to 2025-06-18 demand
/// the member and JSON-RPC gives it the value null; later ones leave it out.
pub fn error_without_id(error: &RpcError, null_id: bool) -> Reply {
    let head = match null_id {
        true => Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":"),
        false => Bytes::from_static(b"{\"jsonrpc\":\"2.0\",\"error\":"),
    };
    Reply { head, body: error.to_json().bytes().clone() }
}

/// A notification.
pub fn notification(method: &str, params: Option<&RawJson>) -> Bytes {
    call(None, method, params)
}

/// A request.
pub fn request(id: &Id, method: &str, params: Option<&RawJson>) -> Bytes {
    call(Some(id), method, params)
}

fn head(id: Option<&Id>, member: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(64);
    put_head(&mut out, id);
    out.put_slice(member);
    out.freeze()
}

fn put_head(out: &mut BytesMut, id: Option<&Id>) {
    out.put_slice(b"{\"jsonrpc\":\"2.0\",");
    if let Some(id) = id {
        out.put_slice(b"\"id\":");
        out.put_slice(id.raw().bytes());
        out.put_u8(b',');
    }
}

fn call(id: Option<&Id>, method: &str, params: Option<&RawJson>) -> Bytes {
    let room = params.map_or(0, |params| params.bytes().len()) + method.len() + 96;
    let mut out = BytesMut::with_capacity(room);
    put_head(&mut out, id);
    out.put_slice(b"\"method\":");
    out.put_slice(RawJson::string(method).bytes());
    if let Some(params) = params {
        out.put_slice(b",\"params\":");
        out.put_slice(params.bytes());
    }
    out.put_u8(b'}');
    out.freeze()
}
