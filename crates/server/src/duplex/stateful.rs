//! A client with a handshake on a connection of its own.

use std::pin::pin;
use std::sync::Arc;

use gantry_gateway::Call;
use gantry_protocol::jsonrpc;
use tokio::sync::OwnedSemaphorePermit;

use super::turns::Turn;
use super::{Connection, in_use};
use crate::era::{Arrival, Handled, Handshake, Session, Ticket, Wire, drive, listen_for};
use crate::underway::Enrolled;

impl Connection {
    pub(super) async fn shake_hands(self: &Arc<Self>, request: &Arrival) {
        match Handshake::read(&self.lobby, &self.guest, request) {
            Ok(Handshake { session, answer }) => {
                let session = self.session.get_or_init(|| Arc::new(session)).clone();
                // From here on, so that nothing between the client's first list and its
                // readiness to hear of changes is lost.
                let changes = session.changes(&self.lobby);
                self.send(answer).await;
                let connection = self.clone();
                self.tasks.spawn(async move {
                    let wire = Wire::Channel(connection.out.clone());
                    let listening = async {
                        connection.initialized.cancelled().await;
                        listen_for(&connection.lobby, &session, changes, &wire).await;
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
        request: Arrival,
        bytes: usize,
    ) {
        let (ticket, call) = match session.handle(&self.lobby, request) {
            Handled::Answered(reply) => return self.send(reply.into_bytes()).await,
            Handled::Call(ticket, call) => (ticket, *call),
        };
        let turn = match self.turn(bytes).await {
            Ok(turn) => turn,
            Err(error) => return self.refuse(&ticket.id, &error).await,
        };
        // Registered before anything else is read, so that a cancellation cannot come too early.
        let Some(enrolled) = session.calls.enrol(&ticket.id) else {
            return self.send(jsonrpc::error(&ticket.id, &in_use()).into_bytes()).await;
        };
        let connection = self.clone();
        self.tasks.spawn(async move {
            let ended = connection.run_stateful(&session, &ticket, call, enrolled, turn).await;
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
        ticket: &Ticket,
        call: Call,
        enrolled: Enrolled,
        turn: Turn,
    ) -> Option<(jsonrpc::Reply, Option<OwnedSemaphorePermit>)> {
        let wire = Wire::Channel(self.out.clone());
        let driving = pin!(async {
            let slot = match self.take_turn(turn).await {
                Ok(slot) => slot,
                Err(error) => return (jsonrpc::error(&ticket.id, &error), None),
            };
            let mut running = session.start(&self.lobby, ticket, call);
            (drive(session, ticket, &mut running, None, &wire).await, Some(slot))
        });
        tokio::select! {
            biased;
            () = self.closed.cancelled() => None,
            reply = enrolled.drive(driving) => reply,
        }
    }
}
