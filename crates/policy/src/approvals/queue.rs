//! The approval queue: open approvals, grants and history behind one lock, since answers race for them.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::time::Duration;

use gantry_protocol::RawJson;
use subtle::ConstantTimeEq;
use tokio::sync::watch;
use tokio::time::Instant;

use super::ApprovalSettings;
use super::answer::{Answer, AnswerError};
use super::approval_request::Asking;
use super::approver::{Authority, Authorization};
use super::grant::{Grant, InForce};
use super::pending::{Past, Pending, Verdict};
use crate::clock::Clock;

/// How long a call that asked its client something may take to come back without a person being
/// asked again.
const CONTINUED_WITHIN: Duration = Duration::from_secs(15 * 60);

/// How many principals share the bytes that open approvals may hold.
const SHARES: usize = 4;

/// What is known of approvals. Whoever removes a call from `pending` has answered it: that is done
/// under one lock, so that of two answers one wins.
#[derive(Debug, Default)]
pub(super) struct ApprovalQueue {
    pending: BTreeMap<String, Waiting>,
    /// Answers that calls have yet to collect.
    answered: VecDeque<Answered>,
    past: VecDeque<Past>,
    /// Past approvals that are to be written down.
    unwritten: Vec<Past>,
    /// Past calls that had to give way and may still be written down somewhere.
    forgotten: Vec<String>,
    grants: Vec<InForce>,
    /// Calls that were let through, and whose provider then asked the client something.
    continued: VecDeque<(Asking, Instant)>,
    counts: Counts,
}

/// A call that waits.
#[derive(Debug)]
struct Waiting {
    shown: Pending,
    asking: Asking,
    until: Instant,
    /// What a webhook may answer with, once.
    token: Option<String>,
    /// Every call that waits for this approval listens here.
    verdict: watch::Sender<Option<Past>>,
}

/// An answer for the next call that is the same: one that waits, or one that is repeated. Exactly
/// one call takes it.
#[derive(Debug)]
struct Answered {
    asking: Asking,
    past: Past,
    until: Instant,
}

/// An approval that a call waits for.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) shown: Pending,
    pub(super) until: Instant,
    pub(super) verdict: watch::Receiver<Option<Past>>,
}

/// Why no approval can be opened.
#[derive(Debug, Clone, Copy)]
pub(super) enum Full {
    /// So many are open.
    Number(usize),
    /// The arguments of those that are open may have so many bytes.
    Bytes(usize),
}

/// What came of an answer.
#[derive(Debug)]
pub(super) struct Concluded {
    pub(super) past: Past,
    pub(super) grant: Option<Grant>,
    /// A grant that had to give way.
    pub(super) displaced: Option<Grant>,
}

impl ApprovalQueue {
    pub(super) fn restore(past: Vec<Past>, grants: Vec<InForce>) -> Self {
        Self { past: past.into(), grants, ..Self::default() }
    }

    pub(super) fn pending(&self) -> Vec<Pending> {
        let shown = |it: &Waiting| Pending { waiting: it.is_awaited(), ..it.shown.clone() };
        let mut all: Vec<Pending> = self.pending.values().map(shown).collect();
        all.sort_by_key(|it| it.since);
        all
    }

    pub(super) fn reveal(&self, id: &str) -> Option<(Pending, RawJson)> {
        let waiting = self.pending.get(id).filter(|it| it.until > Instant::now())?;
        Some((waiting.shown.clone(), waiting.asking.arguments.clone()))
    }

    /// Writes how many wait, and how many did.
    pub(super) fn write_metrics(&self, out: &mut String) {
        self.counts.write(self.pending.len(), out);
    }

    /// The past, the latest first.
    pub(super) fn past(&self) -> Vec<Past> {
        self.past.iter().rev().cloned().collect()
    }

    pub(super) fn grants(&self) -> Vec<Grant> {
        self.grants.iter().map(|it| it.grant.clone()).collect()
    }

    /// The open approval of the same call, if there is one.
    pub(super) fn join(&self, asking: &Asking) -> Option<Begun> {
        let waiting = self.pending.values().find(|it| it.asking.is_same_call(asking))?;
        let (shown, verdict) = (waiting.shown.clone(), waiting.verdict.subscribe());
        Some(Begun { shown, until: waiting.until, verdict })
    }

    /// Opens an approval, unless too many are open.
    pub(super) fn begin(
        &mut self,
        asking: &Asking,
        shown: Pending,
        token: Option<String>,
        settings: &ApprovalSettings,
    ) -> Result<Begun, Full> {
        self.room(asking, asking.arguments.bytes().len() + shown.arguments.len(), settings)?;
        let (sender, verdict) = watch::channel(None);
        let until = Instant::now() + settings.expires;
        // A part of the request would keep all of it in memory.
        let asking = Asking { arguments: asking.arguments.detached(), ..asking.clone() };
        let waiting = Waiting { shown: shown.clone(), asking, until, token, verdict: sender };
        self.pending.insert(shown.id.clone(), waiting);
        Ok(Begun { shown, until, verdict })
    }

    /// Whether another approval of so many bytes may be open.
    pub(super) fn room(
        &self,
        asking: &Asking,
        new: usize,
        settings: &ApprovalSettings,
    ) -> Result<(), Full> {
        let own = || self.pending.values().filter(|it| it.asking.principal == asking.principal);
        if self.pending.len() >= settings.pending {
            return Err(Full::Number(settings.pending));
        }
        if own().count() >= settings.pending_of_principal {
            return Err(Full::Number(settings.pending_of_principal));
        }
        let share = settings.held / SHARES;
        if new + own().map(Waiting::bytes).sum::<usize>() > share {
            return Err(Full::Bytes(share));
        }
        if new + self.pending.values().map(Waiting::bytes).sum::<usize>() > settings.held {
            return Err(Full::Bytes(settings.held));
        }
        Ok(())
    }

    /// Takes the answer that is there for a call: to an approval that it waited for, or to an
    /// earlier call that was the same. Only one call gets it.
    pub(super) fn take_answer(&mut self, asking: &Asking, id: Option<&str>) -> Option<Past> {
        let now = Instant::now();
        self.answered.retain(|it| it.until > now);
        let is_for =
            |it: &Answered| id == Some(&*it.past.pending.id) || it.asking.is_same_call(asking);
        let at = self.answered.iter().position(is_for)?;
        self.answered.remove(at).map(|it| it.past)
    }

    pub(super) fn is_taken(&self, id: &str) -> bool {
        self.pending.contains_key(id)
            || self.answered.iter().any(|it| it.past.pending.id == id)
            || self.past.iter().any(|it| it.pending.id == id)
            || self.grants.iter().any(|it| it.grant.id == id)
    }

    /// Whether this is the token that was given out for that call. Takes the same time whatever
    /// differs.
    pub(super) fn is_token(&self, id: &str, token: &str) -> bool {
        let known = self.pending.get(id).and_then(|it| it.token.as_deref());
        known.is_some_and(|known| bool::from(known.as_bytes().ct_eq(token.as_bytes())))
    }

    /// Answers a call. The first answer counts, and only that.
    pub(super) fn answer(
        &mut self,
        id: &str,
        answer: &Answer,
        authorization: &Authorization<'_>,
        clock: &Clock,
    ) -> Result<Concluded, AnswerError> {
        let settings = authorization.settings;
        let Some(waiting) = self.pending.get(id) else {
            return Err(self.absent(id));
        };
        if let Some(why) = authorization.objection(&answer.authority, &waiting.shown) {
            return Err(AnswerError::NotEntitled { id: id.to_owned(), why });
        }
        if answer.approve && answer.scope.session && waiting.asking.session.is_none() {
            return Err(AnswerError::NoSession(id.to_owned()));
        }
        let (asking, is_awaited) = (waiting.asking.clone(), waiting.is_awaited());
        let granted = Grant::of(id, &asking, answer, clock.seconds());
        let asking = asking.without_arguments();
        let grant = granted.filter(|_| answer.approve);
        let mut displaced = None;
        if let Some(in_force) = grant.clone().and_then(|grant| InForce::new(grant, clock)) {
            if self.grants.len() >= settings.grants.max(1) {
                displaced = Some(self.grants.remove(0).grant);
            }
            self.grants.push(in_force);
        }
        let verdict = if answer.approve { Verdict::Approved } else { Verdict::Denied };
        let by = (answer.by.as_str(), answer.authority.as_str());
        let kept = answer.scope.lasting.map_or(settings.repeat_within, |it| {
            // What is approved for a time is not left over when that time has passed.
            it.min(settings.repeat_within)
        });
        // A call whose own user was asked goes on with that answer; nobody else may take it. A
        // denial is kept for a call that has been told that the approval is open.
        let is_kept = match answer.approve {
            true => answer.authority != Authority::Elicitation,
            false => !is_awaited,
        };
        let Some(past) = self.conclude(id, verdict, by, settings, clock) else {
            return Err(self.absent(id));
        };
        if is_kept {
            if self.answered.len() >= settings.pending.max(1) {
                self.answered.pop_front();
            }
            let (past, until) = (past.clone(), Instant::now() + kept);
            self.answered.push_back(Answered { asking, past, until });
        }
        Ok(Concluded { past, grant, displaced })
    }

    /// Ends the approvals that have been open for too long.
    pub(super) fn expire(&mut self, settings: &ApprovalSettings, clock: &Clock) {
        let now = Instant::now();
        let over = |(id, it): (&String, &Waiting)| (it.until <= now).then(|| id.clone());
        let over: Vec<String> = self.pending.iter().filter_map(over).collect();
        for id in over {
            self.abandon(&id, settings, clock);
        }
    }

    /// Ends an approval that nobody can answer any more.
    pub(super) fn abandon(&mut self, id: &str, settings: &ApprovalSettings, clock: &Clock) {
        self.conclude(id, Verdict::Expired, (NOBODY, ""), settings, clock);
    }

    /// Ends an approval, unless it has ended.
    fn conclude(
        &mut self,
        id: &str,
        verdict: Verdict,
        (by, via): (&str, &str),
        settings: &ApprovalSettings,
        clock: &Clock,
    ) -> Option<Past> {
        let waiting = self.pending.remove(id)?;
        self.counts.add(verdict);
        let granted = self.grants.iter().any(|it| it.grant.id == id);
        let (by, via, at) = (by.to_owned(), via.to_owned(), clock.seconds());
        let pending = waiting.shown.shortened();
        let past = Past { pending, verdict, by, via, at, granted };
        self.past.push_back(past.clone());
        self.unwritten.push(past.clone());
        let beyond = self.past.len().saturating_sub(settings.past);
        self.forgotten.extend(self.past.drain(..beyond).map(|it| it.pending.id));
        waiting.verdict.send_replace(Some(past.clone()));
        Some(past)
    }

    /// Past approvals that are to be written down.
    pub(super) fn take_unwritten(&mut self) -> Vec<Past> {
        std::mem::take(&mut self.unwritten)
    }

    /// Past calls that are to be removed from where they are written down.
    pub(super) fn take_forgotten(&mut self) -> Vec<String> {
        std::mem::take(&mut self.forgotten)
    }

    /// The grant that covers a call, and those whose time is over.
    pub(super) fn grant_for(
        &mut self,
        asking: &Asking,
        clock: &Clock,
    ) -> (Option<Grant>, Vec<Grant>) {
        let over = self.sweep(clock);
        let found = self.grants.iter().find(|it| it.fits(asking));
        (found.map(|it| it.grant.clone()), over)
    }

    /// Removes grants whose time is over: they do not come back, whatever clocks say later.
    fn sweep(&mut self, clock: &Clock) -> Vec<Grant> {
        let (over, left) =
            std::mem::take(&mut self.grants).into_iter().partition(|it| it.is_over(clock));
        self.grants = left;
        over.into_iter().map(|it: InForce| it.grant).collect()
    }

    /// Ends what was approved: a grant, and an answer that no call has collected. Gives whether
    /// there was any of it.
    pub(super) fn end_grant(&mut self, id: &str) -> bool {
        let before = self.grants.len() + self.answered.len();
        self.grants.retain(|it| it.grant.id != id);
        self.answered.retain(|it| it.past.pending.id != id);
        self.grants.len() + self.answered.len() < before
    }

    /// Notes that a call may be taken up once more without a person.
    pub(super) fn may_continue(&mut self, asking: Asking, settings: &ApprovalSettings) {
        if self.continued.len() >= settings.pending.max(1) {
            self.continued.pop_front();
        }
        self.continued.push_back((asking.without_arguments(), Instant::now() + CONTINUED_WITHIN));
    }

    /// Whether a call takes up one that was let through. That counts once.
    pub(super) fn continues(&mut self, asking: &Asking) -> bool {
        let now = Instant::now();
        self.continued.retain(|(_, until)| *until > now);
        let found = self.continued.iter().position(|(it, _)| it.is_again(asking));
        found.filter(|_| asking.continues).and_then(|at| self.continued.remove(at)).is_some()
    }

    fn absent(&self, id: &str) -> AnswerError {
        match self.past.iter().rev().find(|it| it.pending.id == id) {
            Some(past) => AnswerError::AlreadyAnswered {
                id: id.to_owned(),
                by: past.by.clone(),
                verdict: past.verdict.verb(),
            },
            None => AnswerError::Unknown(id.to_owned()),
        }
    }
}

impl Waiting {
    /// Bytes that it holds.
    fn bytes(&self) -> usize {
        self.asking.arguments.bytes().len() + self.shown.arguments.len()
    }

    /// Whether a call still waits for it.
    fn is_awaited(&self) -> bool {
        self.verdict.receiver_count() > 0
    }
}

/// By whose word a wait ends when nobody says anything.
const NOBODY: &str = "nobody";

/// Calls that wait no longer, by how their wait ended.
#[derive(Debug, Default)]
pub(super) struct Counts([u64; Verdict::ALL.len()]);

impl Counts {
    pub(super) fn add(&mut self, verdict: Verdict) {
        self.0[verdict as usize] += 1;
    }

    /// Writes them with the number of those that wait, as Prometheus reads it. There is no label
    /// but the outcome: names of callers and tools have no limit.
    pub(super) fn write(&self, waiting: usize, out: &mut String) {
        let _ = write!(
            out,
            "# HELP gantry_approvals_pending Calls that wait for a person.\n\
             # TYPE gantry_approvals_pending gauge\n\
             gantry_approvals_pending {waiting}\n\
             # HELP gantry_approvals_total Calls that waited for a person, by how that ended.\n\
             # TYPE gantry_approvals_total counter\n"
        );
        for (verdict, count) in Verdict::ALL.iter().zip(self.0) {
            let outcome = verdict.as_str();
            let _ = writeln!(out, "gantry_approvals_total{{outcome=\"{outcome}\"}} {count}");
        }
    }
}
