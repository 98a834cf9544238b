//! Writing envelopes around raw text.

use bytes::{BufMut, Bytes, BytesMut};

use super::Id;
use crate::error::RpcError;
use crate::json::{RawJson, put_string};

/// A response, not yet written: a large shared result goes out without being copied.
#[derive(Debug, Clone)]
pub struct Reply {
    id: ReplyId,
    member: &'static [u8],
    body: Bytes,
}

#[derive(Debug, Clone)]
enum ReplyId {
    Known(Id),
    /// Revisions up to 2025-06-18 demand the member and JSON-RPC gives it the value null.
    Null,
    /// Later ones leave it out.
    Absent,
}

/// Results up to this size are copied into one piece: one small write beats two.
const COPY_LIMIT: usize = 16 * 1024;
/// Room for everything around a result.
const AROUND: usize = 64;
const RESULT: &[u8] = b"\"result\":";
const ERROR: &[u8] = b"\"error\":";

impl Reply {
    /// The response as one piece.
    pub fn into_bytes(self) -> Bytes {
        let mut out = self.head(self.body.len());
        out.put_slice(&self.body);
        out.put_u8(b'}');
        out.freeze()
    }

    /// The response as one piece when it is small, as three when it is not.
    pub fn into_pieces(self) -> [Bytes; 3] {
        if self.body.len() <= COPY_LIMIT {
            return [self.into_bytes(), Bytes::new(), Bytes::new()];
        }
        [self.head(0).freeze(), self.body, Bytes::from_static(b"}")]
    }

    fn head(&self, more: usize) -> BytesMut {
        let mut out = BytesMut::with_capacity(AROUND + more);
        match &self.id {
            ReplyId::Known(id) => put_head(&mut out, Some(id)),
            ReplyId::Null => out.put_slice(b"{\"jsonrpc\":\"2.0\",\"id\":null,"),
            ReplyId::Absent => put_head(&mut out, None),
        }
        out.put_slice(self.member);
        out
    }
}

/// A successful response.
pub fn result(id: &Id, result: &RawJson) -> Reply {
    Reply { id: ReplyId::Known(id.clone()), member: RESULT, body: result.bytes().clone() }
}

/// A failed response.
pub fn error(id: &Id, error: &RpcError) -> Reply {
    failed(ReplyId::Known(id.clone()), error)
}

/// A failed response to something whose id could not be read.
pub fn error_without_id(error: &RpcError, null_id: bool) -> Reply {
    failed(if null_id { ReplyId::Null } else { ReplyId::Absent }, error)
}

fn failed(id: ReplyId, error: &RpcError) -> Reply {
    Reply { id, member: ERROR, body: error.to_json().bytes().clone() }
}

/// A notification.
pub fn notification(method: &str, params: Option<&RawJson>) -> Bytes {
    call(None, method, params)
}

/// A request.
pub fn request(id: &Id, method: &str, params: Option<&RawJson>) -> Bytes {
    call(Some(id), method, params)
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
    put_string(&mut out, method);
    if let Some(params) = params {
        out.put_slice(b",\"params\":");
        out.put_slice(params.bytes());
    }
    out.put_u8(b'}');
    out.freeze()
}
