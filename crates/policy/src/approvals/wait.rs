//! The approval of one call: it is covered by a grant, was approved before, or waits for an answer. The wait
//! is bounded: a call that nobody answers in time is told so and may be repeated.

use std::convert::Infallible;
use std::sync::Arc;

use gantry_gateway::filter::{OnEnd, Permit, PolicyDecision, Verdict as Leave};
use gantry_gateway::{
    CallContext, CallError, Caller, ErrorKind, Outcome, Progress, Reply, Resolved,
    check_arguments_early, offload,
};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Level, RawJson};
use tokio::sync::watch;
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout_at};

use super::approval_request::Asking;
use super::pending::{Past, Pending, Verdict};
use super::queue::Begun;
use super::{Approvals, GRANTS, complain, elicitation, messages, pending, random};

/// How often a client that wants progress hears that its call still waits.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// How much progress a wait makes each time. Progress must rise, and the tool begins at 1 or less.
const PROGRESS_STEP: f64 = 0.001;

/// Why a call needs an approval.
#[derive(Debug, Clone)]
pub(crate) struct Need {
    /// In words.
    pub(crate) reason: Arc<str>,
    /// The rule that wants it, if one does.
    pub(crate) rule: Option<String>,
    /// Whether a tool that is trusted would not need it.
    pub(crate) trust_helps: bool,
}

impl Need {
    /// What a caller is told of it: which rule wants it is for who runs the gateway.
    fn shown_to(self, caller: &Caller) -> Self {
        match self.rule.is_some() && !caller.is_local() {
            true => Self { reason: "a policy wants it to be approved".into(), ..self },
            false => self,
        }
    }
}

/// What came of waiting.
enum Waited {
    /// Somebody decided.
    Decided(Past),
    /// Nobody has decided yet, and the approval stays open.
    Open(Pending),
    /// Nobody decided in time, or nobody could.
    Expired(Pending),
}

/// What came of asking the client's user.
enum Elicited {
    Answered(super::Answer),
    /// The user gave no answer.
    Dismissed,
    /// The client could not be asked after all.
    Failed,
}

impl Approvals {
    /// Waits until the call may run, or may not.
    pub(crate) async fn seek(
        &self,
        resolved: &Resolved,
        context: &CallContext,
        need: Need,
    ) -> Leave {
        let (approvers, asked) = (self.approvers_of(&need), resolved.clone());
        let asking = offload(resolved.size(), move || Asking::of(&asked, approvers)).await;
        if self.queue().continues(&asking) {
            note(context, true, "continues an approved call");
            return Ok(self.pass(asking));
        }
        let (grant, over) = self.queue().grant_for(&asking, self.clock());
        for grant in over {
            complain(self.signed_store().remove(GRANTS, &grant.id).await.map(drop));
        }
        if let Some(grant) = grant {
            note(context, true, &format!("grant {} by {} ({})", grant.id, grant.by, grant.via));
            return Ok(self.pass(asking));
        }
        // Nobody is asked about a call that would fail anyway.
        check_arguments_early(resolved)?;
        let deadline = Instant::now() + self.0.settings.load().wait;
        let waited = loop {
            let answer = self.queue().take_answer(&asking, None);
            if let Some(past) = answer {
                break Waited::Decided(past);
            }
            // None if another call that is the same has used the approval: each run needs its own.
            if let Some(waited) = self.wait(&asking, context, &need, deadline).await? {
                break waited;
            }
        };
        self.write_past().await;
        self.conclude(asking, context, &need.shown_to(context.caller()), waited)
    }

    /// Who may approve a call that a rule stops, if the rule says so.
    fn approvers_of(&self, need: &Need) -> Option<Vec<String>> {
        let settings = self.0.settings.load();
        need.rule.as_ref().and_then(|rule| settings.rule_approvers.get(rule)).cloned()
    }

    /// Lets the call through, or tells it why not.
    fn conclude(
        &self,
        asking: Asking,
        context: &CallContext,
        need: &Need,
        waited: Waited,
    ) -> Leave {
        match waited {
            Waited::Decided(past) => {
                let is_approved = past.verdict == Verdict::Approved;
                note(context, is_approved, &past.recorded());
                match is_approved {
                    true => Ok(self.pass(asking)),
                    false => Err(messages::denied(&past, need)),
                }
            }
            Waited::Open(shown) => {
                note(context, false, &format!("waits for approval {}", shown.id));
                let settings = self.0.settings.load();
                let now = self.clock().seconds();
                Err(messages::open(&shown, need, &settings, self.page(), now))
            }
            Waited::Expired(shown) => {
                note(context, false, "expired");
                Err(messages::expired(&shown, need))
            }
        }
    }

    /// Waits for the first answer: of somebody elsewhere, or of the client's own user. None if that
    /// was an approval that another call has used.
    async fn wait(
        &self,
        asking: &Asking,
        context: &CallContext,
        need: &Need,
        deadline: Instant,
    ) -> Result<Option<Waited>, CallError> {
        let begun = self.begin(asking, need).await;
        let begun = begun.inspect_err(|_| note(context, false, "too many"));
        let Begun { shown, until, mut verdict } = begun?;
        let mut reports = Reports::new(&shown, context, self.is_client_only());
        let asked = async {
            let is_able = context.caller().capabilities.elicitation_form;
            if is_able && self.is_elicited(&shown) {
                // The form may stay open for minutes, and a client that hears nothing gives up.
                let elicited = tokio::select! {
                    elicited = self.elicit(&shown, context) => elicited,
                    never = reports.send_each_interval() => match never {},
                };
                match elicited {
                    Elicited::Failed => {}
                    elicited => return elicited,
                }
            }
            if !self.is_client_only() {
                reports.wait_elsewhere(deadline).await;
            }
            Elicited::Dismissed
        };
        let elicited = tokio::select! {
            // What was said while the call was set aside counts before what its client brings.
            biased;
            past = decided(&mut verdict) => return Ok(self.collect(asking, past)),
            () = sleep_until(until) => Elicited::Dismissed,
            elicited = asked => elicited,
        };
        if let Elicited::Answered(answer) = elicited {
            match self.answer(&shown.id, &answer).await {
                // It is this call's own, and stands nowhere else.
                Ok(_) => {
                    let past = verdict.borrow().clone();
                    return past.map(|past| Some(Waited::Decided(past))).ok_or_else(lost);
                }
                Err(error) => tracing::debug!(id = shown.id, %error, "an answer came too late"),
            }
        }
        if self.is_client_only() {
            let settings = self.0.settings.load();
            self.queue().abandon(&shown.id, &settings, self.clock());
        }
        // Somebody may have been faster, or its time is over.
        self.sweep();
        let past = verdict.borrow().clone();
        match past {
            None => Ok(Some(Waited::Open(shown))),
            Some(past) => Ok(self.collect(asking, past)),
        }
    }

    /// What an answer means for a call that waited for it; nothing if another call has used it.
    fn collect(&self, asking: &Asking, past: Past) -> Option<Waited> {
        let taken = self.queue().take_answer(asking, Some(&past.pending.id));
        match past.verdict {
            Verdict::Approved => taken.map(Waited::Decided),
            Verdict::Denied => Some(Waited::Decided(past)),
            Verdict::Expired => Some(Waited::Expired(past.pending)),
        }
    }

    /// The open approval of the same call, or a new one.
    async fn begin(&self, asking: &Asking, need: &Need) -> Result<Begun, CallError> {
        self.sweep();
        let settings = self.0.settings.load_full();
        let full = |full| messages::too_many(&asking.tool, full);
        let known = {
            let queue = self.queue();
            let known = queue.join(asking);
            // Before work that grows with the arguments.
            if known.is_none() {
                queue.room(asking, asking.arguments.bytes().len(), &settings).map_err(full)?;
            }
            known
        };
        if let Some(begun) = known {
            return Ok(begun);
        }
        let given = asking.arguments.clone();
        let arguments = offload(given.bytes().len(), move || pending::shown(&given)).await;
        let since = self.clock().seconds();
        let token = settings.webhook.is_some().then(random::<32>);
        let mut queue = self.queue();
        // The same call may have come meanwhile.
        if let Some(begun) = queue.join(asking) {
            return Ok(begun);
        }
        let id = loop {
            let id = random::<4>();
            if !queue.is_taken(&id) {
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
            arguments,
            reason: need.reason.to_string(),
            since,
            expires: since.saturating_add(settings.expires.as_secs()),
            approvers: asking.approvers.clone(),
            waiting: true,
        };
        let begun = queue.begin(asking, shown, token.clone(), &settings);
        drop(queue);
        let begun = begun.map_err(full)?;
        tracing::info!(
            id = begun.shown.id,
            tool = asking.tool,
            principal = %asking.principal,
            reason = %need.reason,
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

    /// Asks the client's own user.
    async fn elicit(&self, shown: &Pending, context: &CallContext) -> Elicited {
        // Never what came along with the call: nobody was asked then.
        match context.ask_again(elicitation::QUESTION, elicitation::input_request(shown)).await {
            Ok(answer) => {
                elicitation::read(&answer, shown).map_or(Elicited::Dismissed, Elicited::Answered)
            }
            Err(error) => {
                tracing::debug!(id = shown.id, %error, "the client did not answer");
                Elicited::Failed
            }
        }
    }

    fn pass(&self, asking: Asking) -> Permit {
        Permit::holding(Approved { approvals: self.clone(), asking: Some(asking) })
    }
}

/// Ends when somebody has decided.
async fn decided(verdict: &mut watch::Receiver<Option<Past>>) -> Past {
    match verdict.wait_for(Option::is_some).await.map(|past| past.clone()) {
        Ok(Some(past)) => past,
        _ => std::future::pending().await,
    }
}

/// Tells the client why its call takes so long, if it wants to know. The model does not hear of it.
struct Reports<'a> {
    context: &'a CallContext,
    text: String,
    progress: Progress,
}

impl<'a> Reports<'a> {
    fn new(shown: &Pending, context: &'a CallContext, is_client_only: bool) -> Self {
        let Pending { id, tool, .. } = shown;
        let text = match is_client_only {
            true => format!("`{tool}` waits for an approval by the user of this client"),
            false => format!("`{tool}` waits for an approval: `gantry approve {id}`"),
        };
        let progress = Progress { progress: 0.0, total: None, message: Some(text.clone()) };
        Self { context, text, progress }
    }

    /// Waits for an answer from elsewhere until the deadline.
    async fn wait_elsewhere(&mut self, deadline: Instant) {
        let data = RawJson::string(&self.text);
        // A client that reads nothing must not make it wait longer.
        let _ = timeout_at(deadline, self.context.log(Level::Notice, Some("gantry"), &data)).await;
        self.send();
        let _ = timeout_at(deadline, self.send_each_interval()).await;
    }

    async fn send_each_interval(&mut self) -> Infallible {
        loop {
            sleep(PROGRESS_INTERVAL).await;
            self.send();
        }
    }

    fn send(&mut self) {
        self.context.progress(&self.progress);
        self.progress.progress += PROGRESS_STEP;
    }
}

fn lost() -> CallError {
    CallError::new(ErrorKind::Internal, "an approval was lost; start the call over")
}

fn note(context: &CallContext, allowed: bool, rule: &str) {
    context.note_decision(PolicyDecision { allowed, policy: "approval", rule: rule.into() });
}

/// A call that was let through. If its provider asks the client something by way of the reply, the
/// client comes back with a new call that is part of this one.
struct Approved {
    approvals: Approvals,
    asking: Option<Asking>,
}

impl OnEnd for Approved {
    fn ended(&mut self, outcome: &Outcome) -> Result<(), CallError> {
        if let (Ok(Reply::InputRequired(_)), Some(asking)) = (outcome, self.asking.take()) {
            let settings = self.approvals.0.settings.load();
            self.approvals.queue().may_continue(asking, &settings);
        }
        Ok(())
    }
}
