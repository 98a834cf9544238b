//! The client of a call, as the server that works on it reaches it.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use gantry_client::{Line, Question, Refusal};
use gantry_gateway::{Ask, AskError, Exchange};
use gantry_protocol::{Level, Method, RawJson};

use super::redaction::Redaction;

/// The client of one call.
#[derive(Debug)]
pub(super) struct CallLine {
    exchange: Exchange,
    identity: String,
    redaction: Redaction,
    said: Mutex<Said>,
}

#[derive(Debug, Default)]
struct Said {
    /// Names that questions of this call had.
    keys: HashSet<String>,
    /// What the client would have had to declare to answer a question.
    missing: Option<RawJson>,
}

impl CallLine {
    pub(super) fn new(exchange: Exchange, redaction: Redaction) -> Self {
        let caller = exchange.caller();
        let client = caller.client_info.as_ref().map_or("", |info| info.as_str());
        let session = caller.session.as_deref().unwrap_or(client);
        let identity = format!("{}\n{session}", caller.principal);
        Self { exchange, identity, redaction, said: Mutex::default() }
    }

    /// What the client would have had to declare, if the server asked for more than that.
    pub(super) fn missing(&self) -> Option<RawJson> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).missing.clone()
    }

    /// Asks the client. A name that was used before would bring the answer of then.
    pub(super) async fn put(&self, key: Option<String>, ask: Ask) -> Result<RawJson, AskError> {
        let key = self.key(key, &ask.method);
        let answer = self.exchange.ask(&key, ask).await;
        if let Err(AskError::Unsupported { required }) = &answer {
            let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
            said.missing.get_or_insert_with(|| required.clone());
        }
        answer
    }

    fn key(&self, hint: Option<String>, method: &Method) -> String {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hint) = hint.filter(|hint| said.keys.insert(hint.clone())) {
            return hint;
        }
        let kind = method.as_str().split('/').next().unwrap_or_default();
        loop {
            let key = format!("{kind}-{}", self.exchange.number_question());
            if said.keys.insert(key.clone()) {
                return key;
            }
        }
    }
}

impl Line for CallLine {
    fn progress(&self, params: RawJson) {
        self.exchange.progress_raw(params);
    }

    fn log(&self, level: Level, params: RawJson) -> BoxFuture<'_, ()> {
        Box::pin(self.exchange.log_raw(level, self.redaction.json(params)))
    }

    fn ask(&self, question: Question) -> BoxFuture<'_, Result<RawJson, Refusal>> {
        let Question { method, params, key } = question;
        let asked = self.put(key, Ask { method, params });
        Box::pin(async move { asked.await.map_err(|error| refusal(&error)) })
    }

    fn identity(&self) -> &str {
        &self.identity
    }
}

fn refusal(error: &AskError) -> Refusal {
    let text = error.to_string();
    match error {
        AskError::Unsupported { .. } | AskError::Inexpressible(_) => Refusal::Unsupported(text),
        AskError::Refused { .. } => Refusal::Refused(text),
        AskError::Unanswered(_) | AskError::Gone => Refusal::Gone(text),
    }
}
