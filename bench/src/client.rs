//! A small MCP client over HTTP/1.1 and one over stdio. They do no more work
//! than a measurement needs, so that two cores can be shared with the server under test.

pub(crate) mod answer;
pub(crate) mod connection;
pub(crate) mod pipe;
pub(crate) mod request;

use crate::fault::Fault;
use connection::Connection;
use request::{Address, Era, Request, Work};

/// A connection that has done what its era asks for before the first call.
pub(crate) struct Client {
    connection: Connection,
    address: Address,
    era: Era,
    session: Option<String>,
}

impl Client {
    /// Connects, and in the session era opens a session.
    pub(crate) async fn open(address: &Address, era: Era) -> Result<Self, Fault> {
        let connection = Connection::open(address).await?;
        let mut client = Self { connection, address: address.clone(), era, session: None };
        if era == Era::Legacy {
            client.open_session().await?;
        }
        Ok(client)
    }

    /// Does the handshake of 2025-11-25 and keeps the session id, if the server gave one.
    pub(crate) async fn open_session(&mut self) -> Result<(), Fault> {
        let request = Request::initialize(&self.address);
        let reply = self.connection.context(request.bytes()).await?;
        self.connection.expect(&reply, "initialize", 200)?;
        self.session = reply.session;
        let request = Request::initialized(&self.address, self.session.as_deref());
        let reply = self.connection.context(request.bytes()).await?;
        self.connection.expect(&reply, "notifications/initialized", 202)
    }

    /// The session in use.
    pub(crate) fn session(&self) -> Option<String> {
        self.session.clone()
    }

    /// Goes on with another session.
    pub(crate) fn use_session(&mut self, session: Option<String>) {
        self.session = session;
    }

    /// The request this connection repeats.
    pub(crate) fn prepare(&self, work: Work) -> Request {
        Request::call(&self.address, self.era, self.session.as_deref(), work)
    }

    /// Sends a prepared request; the answer's message is in [`Client::body`] afterwards.
    pub(crate) async fn send(&mut self, request: &Request) -> Result<(), Fault> {
        let reply = self.connection.context(request.bytes()).await?;
        self.connection.expect(&reply, "the call", 200)
    }

    /// The body of the latest reply, without HTTP framing.
    pub(crate) fn body(&self) -> &[u8] {
        self.connection.body()
    }

    /// The connection alone.
    pub(crate) fn into_connection(self) -> Connection {
        self.connection
    }

    /// Opens this era's stream of notices and returns the connection that holds it open.
    pub(crate) async fn into_stream(mut self) -> Result<Connection, Fault> {
        let request = Request::stream(&self.address, self.era, self.session.as_deref());
        let reply = self.connection.open_stream(request.bytes()).await?;
        if reply.status != 200 || !reply.events {
            let body = String::from("no event stream");
            return Err(Fault::Status { what: "the stream request", status: reply.status, body });
        }
        Ok(self.connection)
    }
}
