//! Parked calls: a stateless client cannot be sent a request, so a call that needs input is parked,
//! and answered with `input_required` and a sealed `requestState`. The retry resumes the call, on
//! whatever connection.
//!
//! A parked call is not polled: its timers stand still and nothing runs while no client waits. An
//! expired one is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gantry_gateway::{
    CallError, CallStream, ErrorKind, InputRequired, PendingInputRequest, TokenLease,
};
use gantry_protocol::json::{FlatJson, FlatNode, JsonKind, ObjectWriter};
use gantry_protocol::{Method, RawJson};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::quota::{Permit, Resource};
use crate::request::RequestContext;
use crate::seal::{Purpose, random_name};
use crate::server_state::ServerState;

/// The parked calls by id.
#[derive(Debug, Default)]
pub(crate) struct ParkedCalls(Mutex<HashMap<String, ParkedCall>>);

#[derive(Debug)]
struct ParkedCall {
    stream: CallStream,
    input_requests: Vec<PendingInputRequest>,
    /// Responses to some of the input requests, kept until all are there.
    responses: HashMap<String, RawJson>,
    /// The token that it was called with.
    lease: Option<Arc<TokenLease>>,
    /// The virtual server that it was called on.
    virtual_server: Option<Arc<str>>,
    expires: Instant,
    /// The bytes of its request, its input requests and their responses.
    bytes: Permit,
    _number: Permit,
}

/// The content of a `requestState`.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// The id of a parked call; none if no call is parked here.
    #[serde(rename = "place")]
    call_id: Option<String>,
    /// The provider's own state, if it keeps that with the client.
    carried: Option<String>,
    principal: String,
    digest: String,
    expires: u64,
}

/// What a retry resumes.
pub(super) enum Resumed {
    /// All responses are there: the call goes on.
    Call(CallStream),
    /// Some responses are missing: the result that asks for them again.
    Incomplete(RawJson),
    /// The provider resumes from its own state.
    Carried(Option<RawJson>),
}

impl ParkedCalls {
    /// Parks a call until its input requests have responses. Returns the result that asks for them.
    pub(super) fn park(
        &self,
        server_state: &ServerState,
        request_context: &RequestContext,
        stream: CallStream,
        input_requests: Vec<PendingInputRequest>,
    ) -> Result<RawJson, CallError> {
        self.sweep();
        let lease = request_context.caller.lease.clone();
        if let Some(lease) = &lease {
            server_state.revocation.watch(server_state, lease);
        }
        let account = server_state.quota.account(&request_context.caller.principal);
        let number = account.acquire(Resource::Parked, 1)?;
        let asked: usize = input_requests.iter().map(|it| it.request.to_json().bytes().len()).sum();
        let bytes =
            account.acquire(Resource::Held, request_context.params.bytes().len() + asked)?;
        let expires = Instant::now() + server_state.settings.parked_for;
        let (responses, virtual_server) = (HashMap::new(), server_state.virtual_server.clone());
        let parked = ParkedCall {
            stream,
            input_requests,
            responses,
            lease,
            virtual_server,
            expires,
            bytes,
            _number: number,
        };
        let id = random_name();
        let result = parked.input_required(server_state, request_context, &id)?;
        let mut calls = self.calls();
        // Checked with the lock held: if the token is revoked later, the call is found here.
        if parked.lease.as_ref().is_some_and(|lease| lease.is_ended()) {
            let text = "the credential of this call was revoked or has expired";
            return Err(CallError::new(ErrorKind::Refused, text));
        }
        calls.insert(id, parked);
        Ok(result)
    }

    /// Resumes what the `requestState` of a retry stands for.
    pub(super) fn resume(
        &self,
        server_state: &ServerState,
        request_context: &RequestContext,
    ) -> Result<Resumed, CallError> {
        let state = State::open(server_state, request_context)?;
        let responses = request_context.params.get("inputResponses");
        let Some(id) = state.call_id else {
            let carried = state.carried.map(|text| RawJson::string(&text));
            return Ok(Resumed::Carried(carried));
        };
        let mut calls = self.calls();
        let Some(mut parked) = calls.remove(&id).filter(|it| it.expires > Instant::now()) else {
            return Err(CallError::new(
                ErrorKind::InputLost,
                "this call no longer waits for input: it was resumed, expired, or lost in a restart. \
                 Nothing was run again; start the call over",
            ));
        };
        if let Err(error) = parked.add_responses(responses.as_ref()) {
            calls.insert(id, parked);
            return Err(error);
        }
        if parked.responses.len() < parked.input_requests.len() {
            let result = parked.input_required(server_state, request_context, &id);
            calls.insert(id, parked);
            return result.map(Resumed::Incomplete);
        }
        Ok(Resumed::Call(parked.into_stream()))
    }

    /// Drops expired calls.
    pub(crate) fn sweep(&self) {
        self.calls().retain(|_, parked| parked.expires > Instant::now());
    }

    /// Drops the calls that were made with a token.
    pub(crate) fn end_credential(&self, lease: &Arc<TokenLease>) {
        let is_with =
            |parked: &ParkedCall| parked.lease.as_ref().is_some_and(|own| Arc::ptr_eq(own, lease));
        self.calls().retain(|_, parked| !is_with(parked));
    }

    /// Drops the calls of a virtual server.
    pub(crate) fn end_virtual_server(&self, name: &str) {
        self.calls().retain(|_, parked| parked.virtual_server.as_deref() != Some(name));
    }

    /// The number of parked calls.
    pub(crate) fn count(&self) -> usize {
        self.calls().len()
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, ParkedCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ParkedCall {
    /// The result with the input requests that have no response yet.
    fn input_required(
        &self,
        server_state: &ServerState,
        request_context: &RequestContext,
        id: &str,
    ) -> Result<RawJson, CallError> {
        let mut requests = ObjectWriter::new();
        for input_request in &self.input_requests {
            if !self.responses.contains_key(&input_request.key) {
                requests = requests.raw(&input_request.key, &input_request.request.to_json());
            }
        }
        let state = State::of(server_state, request_context, Some(id.to_owned()), None);
        Ok(input_required(Some(&requests.finish()), &state.seal(server_state)?))
    }

    /// Adds responses. One that does not have the shape of its request is an error.
    fn add_responses(&mut self, responses: Option<&RawJson>) -> Result<(), CallError> {
        let Some(responses) = responses else {
            return Ok(());
        };
        if !responses.is_object() {
            return Err(CallError::invalid_params("`inputResponses` must be an object"));
        }
        let mut added = Vec::new();
        for input_request in &self.input_requests {
            let Some(response) = responses.get(&input_request.key) else {
                continue;
            };
            if !is_response_to(&input_request.request.method, &response) {
                let text = format!(
                    "the response `{}` is not a result of {}",
                    input_request.key, input_request.request.method
                );
                return Err(CallError::invalid_params(text));
            }
            added.push((input_request.key.clone(), response));
        }
        self.bytes.grow(added.iter().map(|(_, response)| response.bytes().len()).sum())?;
        self.responses.extend(added);
        Ok(())
    }

    fn into_stream(mut self) -> CallStream {
        for input_request in self.input_requests {
            if let Some(response) = self.responses.remove(&input_request.key) {
                // The provider may have stopped waiting for it.
                let _ = input_request.answer.send(Ok(response));
            }
        }
        self.stream
    }
}

/// The result for a provider that keeps its state with the client: nothing is parked, only the
/// provider's state is sealed.
pub(super) fn carry(
    server_state: &ServerState,
    request_context: &RequestContext,
    required: &InputRequired,
) -> Result<RawJson, CallError> {
    let carried = required.state.as_ref().and_then(RawJson::to_text);
    let state = State::of(server_state, request_context, None, carried);
    Ok(input_required(required.requests.as_ref(), &state.seal(server_state)?))
}

fn input_required(requests: Option<&RawJson>, state: &str) -> RawJson {
    ObjectWriter::new()
        .value("resultType", "input_required")
        .raw_some("inputRequests", requests)
        .value("requestState", state)
        .finish()
}

impl State {
    fn of(
        server_state: &ServerState,
        request_context: &RequestContext,
        call_id: Option<String>,
        carried: Option<String>,
    ) -> Self {
        let lifetime: Duration = server_state.settings.parked_for;
        Self {
            call_id,
            carried,
            principal: request_context.caller.principal.to_string(),
            digest: digest(request_context),
            expires: unix_seconds() + lifetime.as_secs(),
        }
    }

    fn seal(&self, server_state: &ServerState) -> Result<String, CallError> {
        let text = serde_json::to_vec(self).unwrap_or_default();
        server_state.seal.seal(Purpose::RequestState, &text).ok_or_else(|| {
            CallError::new(ErrorKind::Internal, "the request state could not be sealed")
        })
    }

    /// Opens the state of a retry and checks that it belongs to this call of this principal.
    fn open(
        server_state: &ServerState,
        request_context: &RequestContext,
    ) -> Result<Self, CallError> {
        let invalid = |what: &str| {
            Err(CallError::invalid_params(format!("`requestState` {what}; start the call over")))
        };
        let sealed = request_context.params.get("requestState").and_then(|state| state.to_text());
        let opened =
            sealed.and_then(|sealed| server_state.seal.open(Purpose::RequestState, &sealed));
        let state = opened.and_then(|text| serde_json::from_slice::<Self>(&text).ok());
        // Any other principal gets the same error as for a state that never existed.
        let own = state.filter(|state| state.principal == *request_context.caller.principal);
        let Some(state) = own else {
            return invalid("was not issued by this server");
        };
        if state.digest != digest(request_context) {
            return invalid("belongs to another call");
        }
        if state.expires < unix_seconds() {
            return invalid("has expired");
        }
        Ok(state)
    }
}

/// Whether a response has the shape that the method of its request gives it.
pub(crate) fn is_response_to(method: &Method, response: &RawJson) -> bool {
    match method {
        Method::Elicit => {
            let action = response.get("action").and_then(|action| action.to_text());
            matches!(action.as_deref(), Some("accept" | "decline" | "cancel"))
                && response
                    .get("content")
                    .is_none_or(|content| content.is_object() || content.is_null())
        }
        Method::CreateMessage => {
            response.get("content").is_some() && response.get("role").is_some()
        }
        Method::RootsList => {
            response.get("roots").is_some_and(|roots| roots.bytes().starts_with(b"["))
        }
        _ => response.is_object(),
    }
}

/// The digest of method and params, without the members that a retry adds: a state is valid only for
/// its own call.
fn digest(request_context: &RequestContext) -> String {
    let bare = request_context
        .params
        .edit()
        .remove("_meta")
        .remove("inputResponses")
        .remove("requestState");
    let mut hash = Sha256::new();
    hash.update(request_context.method.as_str());
    match FlatJson::new(&bare.apply()) {
        Ok(params) => hash_value(&mut hash, params.root()),
        // Params that cannot be read as a value are compared as text.
        Err(_) => hash.update(request_context.params.bytes()),
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hashes a value, not its text: a client may write the members of an object in another order.
fn hash_value(hash: &mut Sha256, value: FlatNode<'_>) {
    match value.kind() {
        JsonKind::Object => {
            hash.update(b"{");
            for (key, value) in value.sorted_members() {
                hash.update(RawJson::string(&key.as_text().unwrap_or_default()).bytes());
                hash_value(hash, value);
            }
            hash.update(b"}");
        }
        JsonKind::Array => {
            hash.update(b"[");
            value.elements().for_each(|element| hash_value(hash, element));
            hash.update(b"]");
        }
        kind => {
            match kind {
                JsonKind::String => {
                    hash.update(RawJson::string(&value.as_text().unwrap_or_default()).bytes());
                }
                JsonKind::Number => {
                    hash.update(value.as_number().map(|it| it.to_string()).unwrap_or_default());
                }
                JsonKind::Boolean => {
                    hash.update(value.as_boolean().unwrap_or_default().to_string());
                }
                _ => hash.update(b"null"),
            }
            hash.update(b",");
        }
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
