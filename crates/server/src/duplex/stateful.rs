//! A client with a handshake on a connection of its own.

use std::pin::pin;
use std::sync::Arc;

use gantry_gateway::Call;
use gantry_protocol::jsonrpc;
use tokio::sync::OwnedSemaphorePermit;

use super::turns::Turn;
use super::{Connection, in_use};
use crate::era::{
    Handled, Handshake, ParsedRequest, RequestContext, Session, Wire, drive, listen_for,
};
use crate::in_flight::InFlightGuard;

impl Connection {
    pub(super) async fn shake_hands(self: &Arc<Self>, request: &ParsedRequest) {
        match Handshake::read(&self.server_state, &self.client_identity, request) {
            Ok(Handshake { session, answer }) => {
                let session = self.session.get_or_init(|| Arc::new(session)).clone();
                // From here on, so that nothing between the client's first list and its
                // readiness to hear of changes is lost.
                let changes = session.changes(&self.server_state);
                self.send(answer).await;
                let connection = self.clone();
                self.tasks.spawn(async move {
                    let wire = Wire::Channel(connection.out.clone());
                    let listening = async {
                        connection.initialized.cancelled().await;
                        listen_for(&connection.server_state, &session, changes, &wire).await;
                    };
                    connection.closed.run_until_cancelled(listening).await;
                });
            }
            Err(error) => {
                self.send(jsonrpc::error(&request.id, &error).into_bytes()).await;
            }
        }
    }

    pub(super) async fn take_stateful(
        self: Arc<Self>,
        session: Arc<Session>,
        request: ParsedRequest,
        bytes: usize,
    ) {
        let (request_context, call) = match session.handle(&self.server_state, request) {
            Handled::Answered(reply) => return self.send(reply.into_bytes()).await,
            Handled::Call(request_context, call) => (request_context, *call),
        };
        let turn = match self.turn(bytes).await {
            Ok(turn) => turn,
            Err(error) => return self.refuse(&request_context.id, &error).await,
        };
        // Registered before anything else is read, so that a cancellation cannot come too early.
        let Some(guard) = session.calls.register(&request_context.id) else {
            return self.send(jsonrpc::error(&request_context.id, &in_use()).into_bytes()).await;
        };
        let connection = self.clone();
        self.tasks.spawn(async move {
            let ended =
                connection.run_stateful(&session, &request_context, call, guard, turn).await;
            if let Some((reply, _slot)) = ended {
                connection.send(reply.into_bytes()).await;
            }
        });
    }

    /// Runs a call to its end when it is its turn: the reply, and the slot, which is to be kept
    /// until that is sent. None when the client gave it up.
    pub(super) async fn run_stateful(
        &self,
        session: &Session,
        request_context: &RequestContext,
        call: Call,
        guard: InFlightGuard,
        turn: Turn,
    ) -> Option<(jsonrpc::Reply, Option<OwnedSemaphorePermit>)> {
        let wire = Wire::Channel(self.out.clone());
        let driving = pin!(async {
            let slot = match self.take_turn(turn).await {
                Ok(slot) => slot,
                Err(error) => return (jsonrpc::error(&request_context.id, &error), None),
            };
            let mut running = session.start(&self.server_state, request_context, call);
            (drive(session, request_context, &mut running, None, &wire).await, Some(slot))
        });
        tokio::select! {
            biased;
            () = self.closed.cancelled() => None,
            reply = guard.drive(driving) => reply,
        }
    }
}
