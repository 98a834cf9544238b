//! Any bytes are read as a message or refused; what is read can be written and read again.
#![no_main]

use gantry_protocol::jsonrpc::{self, Incoming, Message, decode};
use gantry_protocol::{ClientCapabilities, JsonLimits, RequestMeta, RpcError};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let limits = JsonLimits { size: 1 << 16, depth: 64 };
    match decode(data.to_vec(), limits) {
        Ok(Incoming::Single(message)) => again(&message),
        Ok(Incoming::Batch(batch)) => {
            let elements = batch.elements(usize::MAX).unwrap_or_default();
            elements.iter().flat_map(Message::read).for_each(|message| again(&message));
        }
        Err(malformed) => drop(malformed.to_error().to_json()),
    }
});

/// Writes the message, reads it, and compares.
fn again(message: &Message) {
    let written = match message {
        Message::Request(request) => {
            let meta = RequestMeta::read(request.params.as_ref());
            let _ = meta.capabilities.as_ref().map(|it| ClientCapabilities::read(it.raw.clone()));
            jsonrpc::request(&request.id, request.method.as_str(), request.params.as_ref())
        }
        Message::Notification(notification) => {
            jsonrpc::notification(notification.method.as_str(), notification.params.as_ref())
        }
        Message::Response(response) => match (&response.id, &response.outcome) {
            (Some(id), Ok(result)) => jsonrpc::result(id, result).into_bytes(),
            (Some(id), Err(error)) => {
                let error = RpcError::new(0, "the peer's").with_data(error.clone());
                jsonrpc::error(id, &error).into_bytes()
            }
            (None, _) => return,
        },
    };
    match (decode(written, JsonLimits::default()), message) {
        (Ok(Incoming::Single(Message::Request(read))), Message::Request(sent)) => {
            assert_eq!((read.id, read.method, read.params), parts(sent));
        }
        (Ok(Incoming::Single(Message::Notification(read))), Message::Notification(sent)) => {
            assert_eq!((&read.method, &read.params), (&sent.method, &sent.params));
        }
        (Ok(Incoming::Single(Message::Response(read))), Message::Response(sent)) => {
            assert_eq!(read.id, sent.id);
            assert_eq!(read.outcome.is_ok(), sent.outcome.is_ok());
        }
        (other, _) => panic!("{message:?} came back as {other:?}"),
    }
}

fn parts(
    request: &gantry_protocol::Request,
) -> (gantry_protocol::Id, gantry_protocol::Method, Option<gantry_protocol::RawJson>) {
    (request.id.clone(), request.method.clone(), request.params.clone())
}
