//! The beginning of a request, before anything is waited for: entered on the board, and written as it
//! will be sent.

use bytes::Bytes;
use gantry_protocol::{Id, Level, Method, ParamsHead, jsonrpc};
use http::{HeaderName, HeaderValue};

use super::call::InFlightRequest;
use super::compose;
use super::connection_inner::{Agreed, ConnectionInner};
use super::pending_requests::{About, Call};
use crate::error::ClientError;
use crate::request::Request;
use crate::request_handler::RequestHandler;

/// A request that was entered, and what is to be sent.
pub(super) struct Begun<'a> {
    pub(super) in_flight: InFlightRequest<'a>,
    pub(super) message: Bytes,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl ConnectionInner {
    /// Enters a request, and writes it down as it will be sent.
    pub(super) fn begin(
        &self,
        agreed: &Agreed,
        request: &Request,
        line: &dyn RequestHandler,
    ) -> Result<Begun<'_>, ClientError> {
        let revision = agreed.revision();
        let read;
        let head = match &request.head {
            Some(head) => head,
            None => {
                read = ParamsHead::read(&request.params);
                &read
            }
        };
        // Only a question whose call must be guessed needs to know who makes it.
        let identity = match revision.is_stateless() {
            true => String::new(),
            false => line.identity().to_owned(),
        };
        let (method, name) = (request.method.clone(), named(request, head));
        let about = About { method, name, identity, log_level: request.log_level };
        let in_flight = InFlightRequest::begin(self, about)?;
        let Call { id, about, .. } = &*in_flight.call;
        let params = compose::params(&self.settings, agreed, request, head, *id);
        let message = jsonrpc::request(&Id::number(*id), request.method.as_str(), Some(&params));
        let headers = match revision.is_stateless() && !self.is_pipe() {
            true => compose::repeated(revision, request, head, about.name.as_deref()),
            false => Vec::new(),
        };
        Ok(Begun { in_flight, message, headers })
    }

    /// Whether a request has to wait until no other of its kind is under way.
    pub(super) fn runs_alone(&self, request: &Request) -> bool {
        let name = || named(request, &ParamsHead::read(&request.params));
        request.method == Method::ToolsCall && self.pending_requests.runs_alone(name)
    }

    /// How much a request wants logged, when an older server has not been told so before.
    pub(super) fn unheard_level(&self, request: &Request) -> Option<Level> {
        let (level, agreed) = (request.log_level?, self.agreed()?);
        let tells = !agreed.revision().is_stateless() && self.is_lower(level);
        let told = tells && agreed.peer.has(&["logging"]) && self.lowers_level(level);
        told.then_some(level)
    }
}

/// What the request is about.
fn named(request: &Request, head: &ParamsHead) -> Option<String> {
    match request.method {
        Method::TasksResult => request.params.get("taskId")?.to_text(),
        _ => compose::name(request, head),
    }
}
