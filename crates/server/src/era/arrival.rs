//! A request as it arrived, with what everyone needs of it found once.

use gantry_protocol::meta::RequestMeta;
use gantry_protocol::{Id, Method, ParamsHead, RawJson, Request};

/// A request as it arrived.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub(crate) id: Id,
    pub(crate) method: Method,
    /// An empty object when there were none.
    pub(crate) params: RawJson,
    pub(crate) head: ParamsHead,
    pub(crate) meta: RequestMeta,
}

impl Arrival {
    pub(crate) fn new(request: Request) -> Self {
        let Request { id, method, params } = request;
        let params = params.unwrap_or(RawJson::EMPTY_OBJECT);
        let head = ParamsHead::read(&params);
        let meta = RequestMeta::read(head.meta.as_ref());
        Self { id, method, params, head, meta }
    }

    /// Whether the request says that it stands alone.
    pub(crate) fn is_stateless(&self) -> bool {
        self.meta.version.is_some()
    }
}
