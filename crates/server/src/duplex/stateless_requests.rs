//! Stateless requests on a bidirectional connection.

use std::pin::pin;
use std::sync::Arc;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Id, Method, RpcError, code, jsonrpc};

use super::Connection;
use crate::in_flight::duplicate_id;
use crate::request::ParsedRequest;
use crate::stateless::listen_stream::ListenStream;
use crate::stateless::{Outbound, Started, StatelessCall, start};

/// Handles one request: replies, or spawns its call or listen stream.
pub(super) async fn handle(connection: &Arc<Connection>, request: ParsedRequest, bytes: usize) {
    let id = request.id.clone();
    // Registered before anything else is read, so that a cancellation cannot come too early.
    let Some(guard) = connection.calls.register(&id) else {
        return connection.send_error(&id, &duplicate_id()).await;
    };
    match start(&connection.server_state, &connection.client, request, None) {
        Ok(Started::Call(call)) => {
            let session = connection.session.get().map(|session| &**session);
            let account = || connection.account();
            let admission = connection.limiter.acquire_or_queue(account, session, bytes).await;
            let admission = match admission {
                Ok(admission) => admission,
                Err(error) => return connection.send_error(&id, &error).await,
            };
            let own = connection.clone();
            connection.tasks.spawn(async move {
                let deadline = own.server_state.gateway.deadline();
                let running = pin!(async {
                    match own.limiter.wait(admission, deadline).await {
                        Ok(_permit) => run_call(&own, call).await,
                        Err(error) => own.send_error(&id, &error).await,
                    }
                });
                guard.run_until_cancelled(running).await;
            });
        }
        Ok(Started::Listen(stream)) => {
            let own = connection.clone();
            connection.tasks.spawn(async move {
                guard.run_until_cancelled(pin!(run_listen_stream(&own, &id, stream))).await;
            });
        }
        Ok(Started::Replied(reply)) => connection.send(reply).await,
        Err(rejection) => connection.send_error(&id, &rejection.error).await,
    }
}

async fn run_call(connection: &Connection, mut call: Box<StatelessCall>) {
    while let Some(message) = call.next().await {
        match message {
            Outbound::Notification(message) => connection.send(message).await,
            Outbound::Response(reply, _) => return connection.send(reply.into_bytes()).await,
        }
    }
}

async fn run_listen_stream(connection: &Connection, id: &Id, mut stream: Box<ListenStream>) {
    let Ok(_slot) = connection.listen_streams.try_acquire() else {
        let limit = connection.server_state.settings.streams_of_session;
        let text = format!(
            "too many open event streams on this connection (limit {limit}); close one or retry later"
        );
        return connection.send_error(id, &RpcError::new(code::LIMIT_EXCEEDED, text)).await;
    };
    let principal = &connection.client.identity.principal;
    let _permit = match connection.server_state.open_stream(principal) {
        Ok(permit) => permit,
        Err(exceeded) => return connection.send_error(id, &exceeded.into()).await,
    };
    connection.send(stream.acknowledgement(&connection.server_state).await).await;
    while let Some(message) = stream.next(&connection.server_state).await {
        connection.send(message).await;
    }
    // The pages of the revision disagree on how such a stream ends here: clients that wait for
    // either message are served.
    connection.send(stream.end(&connection.server_state)).await;
    let params = ObjectWriter::new().raw("requestId", id.raw()).finish();
    connection.send(jsonrpc::notification(Method::Cancelled.as_str(), Some(&params))).await;
}
