//! Streamable HTTP.

use bytes::Bytes;
use gantry_protocol::Revision;
use http::{HeaderName, HeaderValue};

use crate::error::ClientError;
use crate::settings::Settings;
use crate::target::Endpoint;

pub(crate) struct Streamable {}

pub(crate) enum Posted {
    Answer { body: Bytes, session: Option<String> },
    Stream { messages: Messages, session: Option<String> },
    Accepted,
    Refused { status: u16, body: Bytes },
}

pub(crate) struct Messages {}

impl Streamable {
    pub(crate) fn new(_endpoint: &Endpoint, _settings: &Settings) -> Result<Self, ClientError> {
        todo!()
    }
    pub(crate) fn agreed(&self, _revision: Revision, _session: Option<String>) {
        todo!()
    }
    pub(crate) async fn post(
        &self,
        _message: Bytes,
        _headers: &[(HeaderName, HeaderValue)],
    ) -> Result<Posted, ClientError> {
        todo!()
    }
    pub(crate) async fn listen(&self) -> Result<Option<Messages>, ClientError> {
        todo!()
    }
    pub(crate) async fn end_session(&self) {
        todo!()
    }
}

impl Messages {
    pub(crate) fn done(self) {}
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        todo!()
    }
}
