//! Calls that wait for a client which cannot be asked on the spot: the call is set aside, the
//! client gets a sealed state, and its retry takes the call up again, on whatever connection.

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

use super::request_context::RequestContext;
use crate::quota::{Permit, Resource};
use crate::seal::{Purpose, random_name};
use crate::server_state::ServerState;

/// The calls that wait.
#[derive(Debug, Default)]
pub(crate) struct Parking(Mutex<HashMap<String, Parked>>);

#[derive(Debug)]
struct Parked {
    running: CallStream,
    input_requests: Vec<PendingInputRequest>,
    /// Answers to some of the questions, kept until all are there.
    answers: HashMap<String, RawJson>,
    /// The credential that it was called with.
    lease: Option<Arc<TokenLease>>,
    /// Where it was called.
    virtual_server: Option<Arc<str>>,
    until: Instant,
    /// The bytes of its request, its questions and their answers.
    bytes: Permit,
    _number: Permit,
}

/// What is sealed into a request state.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// The place of a parked call; none when the provider keeps nothing here.
    place: Option<String>,
    /// The provider's own state, when it keeps that with the client.
    carried: Option<String>,
    principal: String,
    digest: String,
    expires: u64,
}

/// What a retry finds.
pub(super) enum Resumed {
    /// All answers are there: the call goes on.
    CallStream(CallStream),
    /// Some answers are missing: this is to be asked again.
    Incomplete(RawJson),
    /// The provider takes up its own state.
    Carried(Option<RawJson>),
}

impl Parking {
    /// Sets a call aside until its questions are answered. Gives the result that asks them.
    pub(super) fn park(
        &self,
        server_state: &ServerState,
        request_context: &RequestContext,
        running: CallStream,
        input_requests: Vec<PendingInputRequest>,
    ) -> Result<RawJson, CallError> {
        self.sweep();
        let lease = request_context.caller.lease.clone();
        if let Some(lease) = &lease {
            server_state.watch_credential(lease);
        }
        let account = server_state.quota.account(&request_context.caller.principal);
        let number = account.take(Resource::Parked, 1)?;
        let asked: usize = input_requests.iter().map(|it| it.request.to_json().bytes().len()).sum();
        let bytes = account.take(Resource::Held, request_context.params.bytes().len() + asked)?;
        let until = Instant::now() + server_state.settings.parked_for;
        let (answers, virtual_server) = (HashMap::new(), server_state.virtual_server.clone());
        let parked = Parked {
            running,
            input_requests,
            answers,
            lease,
            virtual_server,
            until,
            bytes,
            _number: number,
        };
        let place = random_name();
        let result = parked.requires_credentials(server_state, request_context, &place)?;
        let mut places = self.places();
        // Looked at with the lock held: a credential that ends later finds the call here.
        if parked.lease.as_ref().is_some_and(|lease| lease.is_ended()) {
            let text = "the credential of this call was revoked or has expired";
            return Err(CallError::new(ErrorKind::Refused, text));
        }
        places.insert(place, parked);
        Ok(result)
    }

    /// Takes up what a request state stands for.
    pub(super) fn resume(
        &self,
        server_state: &ServerState,
        request_context: &RequestContext,
    ) -> Result<Resumed, CallError> {
        let state = State::open(server_state, request_context)?;
        let responses = request_context.params.get("inputResponses");
        let Some(place) = state.place else {
            let carried = state.carried.map(|text| RawJson::string(&text));
            return Ok(Resumed::Carried(carried));
        };
        let mut places = self.places();
        let Some(mut parked) = places.remove(&place).filter(|it| it.until > Instant::now()) else {
            return Err(CallError::new(
                ErrorKind::InputLost,
                "this call no longer waits for answers: it was answered, expired, or lost in a \
                 restart. Nothing was run again; start the call over",
            ));
        };
        if let Err(error) = parked.take_answers(responses.as_ref()) {
            places.insert(place, parked);
            return Err(error);
        }
        if parked.answers.len() < parked.input_requests.len() {
            let again = parked.requires_credentials(server_state, request_context, &place);
            places.insert(place, parked);
            return again.map(Resumed::Incomplete);
        }
        Ok(Resumed::CallStream(parked.go_on()))
    }

    /// Drops calls whose client did not come back in time.
    pub(crate) fn sweep(&self) {
        self.places().retain(|_, parked| parked.until > Instant::now());
    }

    /// Drops the calls that were made with a credential.
    pub(crate) fn end_credential(&self, lease: &Arc<TokenLease>) {
        let is_with =
            |parked: &Parked| parked.lease.as_ref().is_some_and(|own| Arc::ptr_eq(own, lease));
        self.places().retain(|_, parked| !is_with(parked));
    }

    /// Drops the calls of a face.
    pub(crate) fn end_virtual_server(&self, name: &str) {
        self.places().retain(|_, parked| parked.virtual_server.as_deref() != Some(name));
    }

    /// Calls waiting now.
    pub(crate) fn count(&self) -> usize {
        self.places().len()
    }

    fn places(&self) -> MutexGuard<'_, HashMap<String, Parked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Parked {
    /// The result that asks what is not yet answered.
    fn requires_credentials(
        &self,
        server_state: &ServerState,
        request_context: &RequestContext,
        place: &str,
    ) -> Result<RawJson, CallError> {
        let mut requests = ObjectWriter::new();
        for input_request in &self.input_requests {
            if !self.answers.contains_key(&input_request.key) {
                requests = requests.raw(&input_request.key, &input_request.request.to_json());
            }
        }
        let state = State::of(server_state, request_context, Some(place.to_owned()), None);
        Ok(input_required(Some(&requests.finish()), &state.seal(server_state)?))
    }

    /// Takes the answers that fit; one that does not fit its question is an error.
    fn take_answers(&mut self, responses: Option<&RawJson>) -> Result<(), CallError> {
        let Some(responses) = responses else {
            return Ok(());
        };
        if !responses.is_object() {
            return Err(CallError::invalid_params("`inputResponses` must be an object"));
        }
        let mut taken = Vec::new();
        for input_request in &self.input_requests {
            let Some(answer) = responses.get(&input_request.key) else {
                continue;
            };
            if !fits(&input_request.request.method, &answer) {
                let text = format!(
                    "the answer `{}` is not a result of {}",
                    input_request.key, input_request.request.method
                );
                return Err(CallError::invalid_params(text));
            }
            taken.push((input_request.key.clone(), answer));
        }
        self.bytes.grow(taken.iter().map(|(_, answer)| answer.bytes().len()).sum())?;
        self.answers.extend(taken);
        Ok(())
    }

    fn go_on(mut self) -> CallStream {
        for input_request in self.input_requests {
            if let Some(answer) = self.answers.remove(&input_request.key) {
                // The asker may have stopped waiting: then the answer is of no use to anyone.
                let _ = input_request.answer.send(Ok(answer));
            }
        }
        self.running
    }
}

/// A provider's questions for a client that takes them over: only the provider's state is sealed.
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
        place: Option<String>,
        carried: Option<String>,
    ) -> Self {
        let lifetime: Duration = server_state.settings.parked_for;
        Self {
            place,
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
        let refuse = |what: &str| {
            Err(CallError::invalid_params(format!("`requestState` {what}; start the call over")))
        };
        let sealed = request_context.params.get("requestState").and_then(|state| state.to_text());
        let opened =
            sealed.and_then(|sealed| server_state.seal.open(Purpose::RequestState, &sealed));
        let state = opened.and_then(|text| serde_json::from_slice::<Self>(&text).ok());
        // Another's is as unknown as one that never was.
        let own = state.filter(|state| state.principal == *request_context.caller.principal);
        let Some(state) = own else {
            return refuse("is not one that this server gave");
        };
        if state.digest != digest(request_context) {
            return refuse("belongs to another call");
        }
        if state.expires < unix_seconds() {
            return refuse("has expired");
        }
        Ok(state)
    }
}

/// Whether an answer has the shape that the question's method gives it.
pub(super) fn fits(method: &Method, answer: &RawJson) -> bool {
    match method {
        Method::Elicit => {
            let action = answer.get("action").and_then(|action| action.to_text());
            matches!(action.as_deref(), Some("accept" | "decline" | "cancel"))
                && answer
                    .get("content")
                    .is_none_or(|content| content.is_object() || content.is_null())
        }
        Method::CreateMessage => answer.get("content").is_some() && answer.get("role").is_some(),
        Method::RootsList => {
            answer.get("roots").is_some_and(|roots| roots.bytes().starts_with(b"["))
        }
        _ => answer.is_object(),
    }
}

/// What makes two calls the same call: method and parameters, without what a retry adds.
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
        // What has no value is only the same if it is written the same.
        Err(_) => hash.update(request_context.params.bytes()),
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hashes by meaning: a client may write the members of an object in another order.
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
