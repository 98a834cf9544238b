//! Requests that stand alone on a connection they share with others.

use std::pin::pin;
use std::sync::Arc;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Id, Method, RpcError, code, jsonrpc};

use super::{Connection, in_use};
use crate::era::{Listening, Outbound, ParsedRequest, Prepared, StatelessCall, prepare};

impl Connection {
    pub(super) async fn take_stateless(self: Arc<Self>, request: ParsedRequest, bytes: usize) {
        let id = request.id.clone();
        let Some(guard) = self.calls.register(&id) else {
            return self.send(jsonrpc::error(&id, &in_use()).into_bytes()).await;
        };
        match prepare(&self.server_state, &self.client_identity, request, None) {
            Ok(Prepared::StatelessCall(live)) => {
                let turn = match self.turn(bytes).await {
                    Ok(turn) => turn,
                    Err(error) => return self.refuse(&id, &error).await,
                };
                let connection = self.clone();
                self.tasks.spawn(async move {
                    let running = pin!(async {
                        match connection.take_turn(turn).await {
                            Ok(_slot) => connection.run_live(live).await,
                            Err(error) => connection.refuse(&id, &error).await,
                        }
                    });
                    guard.drive(running).await;
                });
            }
            Ok(Prepared::Listening(listening)) => {
                let connection = self.clone();
                self.tasks.spawn(async move {
                    guard.drive(pin!(connection.run_listening(&id, listening))).await;
                });
            }
            Ok(Prepared::Answered(answer)) => self.send(answer).await,
            Err(refusal) => {
                self.send(jsonrpc::error(&refusal.id, &refusal.error).into_bytes()).await;
            }
        }
    }

    async fn run_live(&self, mut live: Box<StatelessCall>) {
        while let Some(said) = live.next().await {
            match said {
                Outbound::Notification(message) => self.send(message).await,
                Outbound::Answer(reply, _) => return self.send(reply.into_bytes()).await,
            }
        }
    }

    async fn run_listening(&self, id: &Id, mut listening: Box<Listening>) {
        let Ok(_place) = self.listeners.try_acquire() else {
            return self.refuse(id, &self.too_many_listeners()).await;
        };
        let _permit = match self.server_state.open_stream(&self.client_identity.identity.principal)
        {
            Ok(permit) => permit,
            Err(exceeded) => return self.refuse(id, &exceeded.into()).await,
        };
        self.send(listening.acknowledgement(&self.server_state).await).await;
        while let Some(message) = listening.next(&self.server_state).await {
            self.send(message).await;
        }
        // The revision's pages disagree on how such a stream ends here; a client that waits for
        // either of the two is served.
        self.send(listening.end(&self.server_state)).await;
        let params = ObjectWriter::new().raw("requestId", id.raw()).finish();
        self.send(jsonrpc::notification(Method::Cancelled.as_str(), Some(&params))).await;
    }

    fn too_many_listeners(&self) -> RpcError {
        let limit = self.server_state.settings.streams_of_session;
        let text = format!("this connection has its limit of {limit} streams; close one first");
        RpcError::new(code::LIMIT_EXCEEDED, text)
    }
}
