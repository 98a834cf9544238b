//! A call that needs an approval: covered by a grant, or waiting for the first word of anyone.

use std::future::pending;
use std::sync::Arc;

use gantry_gateway::policy::{Decision, Held, Pass, Verdict as Leave, check_arguments};
use gantry_gateway::{CallError, ErrorKind, Exchange, Outcome, Reply, Resolved};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Level, RawJson};

use super::asking::Asking;
use super::board::{Begun, NOBODY};
use super::pending::{Past, Pending, Verdict};
use super::{Approvals, complain, question, random};
use crate::approvals::GRANTS;
use crate::mask;

impl Approvals {
    /// Waits until the call may run, or may not.
    pub(crate) async fn seek(
        &self,
        resolved: &Resolved,
        exchange: &Exchange,
        reason: Arc<str>,
    ) -> Leave {
        let asking = Asking::of(resolved);
        if self.board().continues(&asking) {
            note(exchange, true, "continues an approved call");
            return Ok(self.pass(asking));
        }
        let (grant, over) = self.board().grant_for(&asking, self.clock());
        for grant in over {
            complain(self.archive().remove(GRANTS, &grant.id).await.map(drop));
        }
        if let Some(grant) = grant {
            note(exchange, true, &format!("grant {} by {}", grant.id, grant.by));
            return Ok(self.pass(asking));
        }
        // Nobody is asked about a call that would fail anyway.
        check_arguments(resolved.clone())?;
        let past = self.wait(&asking, exchange, &reason).await?;
        let is_approved = past.verdict == Verdict::Approved;
        note(exchange, is_approved, &format!("{} by {}", past.verdict.as_str(), past.by));
        match is_approved {
            true => Ok(self.pass(asking)),
            false => Err(self.refusal(&past)),
        }
    }

    /// Lets the call wait for the first word: from outside, from the client's user, or of the clock.
    async fn wait(
        &self,
        asking: &Asking,
        exchange: &Exchange,
        reason: &str,
    ) -> Result<Past, CallError> {
        let Begun { shown, until, mut answered } = self.begin(asking, reason)?;
        let id = &shown.id;
        // A client that leaves drops all this.
        let _withdrawn = Withdrawn { approvals: self, id };
        let elicited = async {
            match self.elicit(&shown, exchange).await {
                Some(answer) => answer,
                None => pending().await,
            }
        };
        let timeout = tokio::time::sleep_until(until);
        tokio::select! {
            // What was said while the call was set aside counts before what its client brings.
            biased;
            Ok(past) = &mut answered => return Ok(past),
            () = timeout => self.expire(id).await,
            answer = elicited => drop(self.answer(id, &answer).await),
        }
        // Whoever was first has told it.
        answered.await.map_err(|_| {
            CallError::new(ErrorKind::Internal, "an approval was lost; start the call over")
        })
    }

    fn begin(&self, asking: &Asking, reason: &str) -> Result<Begun, CallError> {
        let settings = self.0.settings.load();
        let since = self.clock().seconds();
        let token = settings.webhook.is_some().then(random::<32>);
        let mut board = self.board();
        let id = loop {
            let id = random::<4>();
            if !board.is_taken(&id) {
                break id;
            }
        };
        let shown = Pending {
            id,
            principal: asking.principal.to_string(),
            client: asking.client.clone(),
            session: asking.session.as_deref().map(str::to_owned),
            tool: asking.tool.clone(),
            server: asking.server.clone(),
            arguments: mask::shown(&asking.arguments),
            reason: reason.to_owned(),
            since,
            expires: since.saturating_add(settings.wait.as_secs()),
        };
        let begun = board.begin(asking, shown, token.clone(), &settings);
        drop(board);
        let begun = begun.map_err(|limit| {
            let kind = ErrorKind::LimitExceeded { retry_after: None };
            let text = format!(
                "`{}` needs an approval, and {limit} calls wait for one already; answer some \
                 first: `gantry approve`",
                asking.tool
            );
            CallError::new(kind, text)
        })?;
        tracing::info!(
            id = begun.shown.id,
            tool = asking.tool,
            principal = %asking.principal,
            reason,
            "a call waits for an approval; `gantry approve` lists and answers those that do"
        );
        if let Some(token) = token {
            self.write_letter(&begun.shown, &token);
        }
        Ok(begun)
    }

    /// Tells who is far away. A letter too many is not written: the call can be answered elsewhere.
    fn write_letter(&self, shown: &Pending, token: &str) {
        let path = format!("/api/approvals/{}", shown.id);
        let answer = ObjectWriter::new().value("path", &path).value("token", token).finish();
        let letter = shown.to_json().edit().set("answer", answer).apply();
        if self.0.letters.try_send(letter).is_err() {
            tracing::warn!(id = shown.id, "too many letters are under way; this one is left out");
        }
    }

    /// Asks the client's own user, if that client can be asked. A client that fails to answer is
    /// not the end: somebody else may.
    async fn elicit(&self, shown: &Pending, exchange: &Exchange) -> Option<super::Answer> {
        let is_able = exchange.caller().capabilities.elicitation_form;
        if !is_able || !self.0.settings.load().elicitation {
            tell(shown, exchange).await;
            return None;
        }
        // Never what came along with the call: nobody was asked then.
        match exchange.ask_anew(question::QUESTION, question::question(shown)).await {
            Ok(answer) => Some(question::read(&answer, shown)),
            Err(error) => {
                tracing::debug!(id = shown.id, %error, "the client did not answer");
                None
            }
        }
    }

    async fn expire(&self, id: &str) {
        let settings = self.0.settings.load_full();
        let ended = self.board().conclude(id, Verdict::Expired, NOBODY, &settings, self.clock());
        if let Some(past) = ended {
            self.keep(&past).await;
        }
    }

    fn refusal(&self, past: &Past) -> CallError {
        let Pending { id, tool, reason, .. } = &past.pending;
        let text = match past.verdict {
            Verdict::Expired => format!(
                "`{tool}` was not run: {reason}, and nobody approved it in time; call it again \
                 and answer with `gantry approve {id}`, or trust it: `gantry trust grant {tool}`"
            ),
            _ => format!("`{tool}` was not run: {reason}, and {} denied it", past.by),
        };
        CallError::new(ErrorKind::Refused, text)
    }

    fn pass(&self, asking: Asking) -> Pass {
        Pass::holding(Approved { approvals: self.clone(), asking: Some(asking) })
    }
}

/// Tells a client that cannot be asked why its call takes so long, if it wants to know. The model
/// does not hear of it.
async fn tell(shown: &Pending, exchange: &Exchange) {
    let Pending { id, tool, .. } = shown;
    let text = format!("`{tool}` waits for an approval; `gantry approve {id}` gives it");
    exchange.log(Level::Notice, Some("gantry"), &RawJson::string(&text)).await;
}

fn note(exchange: &Exchange, allowed: bool, rule: &str) {
    exchange.note_decision(Decision { allowed, policy: "approval", rule: rule.into() });
}

/// A call that was let through. If its provider asks the client something by way of the reply, the
/// client comes back with a new call that is part of this one.
struct Approved {
    approvals: Approvals,
    asking: Option<Asking>,
}

impl Held for Approved {
    fn ended(&mut self, outcome: &Outcome) -> Result<(), CallError> {
        if let (Ok(Reply::InputRequired(_)), Some(asking)) = (outcome, self.asking.take()) {
            let settings = self.approvals.0.settings.load();
            self.approvals.board().may_continue(asking, &settings);
        }
        Ok(())
    }
}

/// Ends the wait of a call whose client has left.
struct Withdrawn<'a> {
    approvals: &'a Approvals,
    id: &'a str,
}

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        let settings = self.approvals.0.settings.load();
        let clock = self.approvals.clock();
        let by = "the client";
        self.approvals.board().conclude(self.id, Verdict::Withdrawn, by, &settings, clock);
    }
}
