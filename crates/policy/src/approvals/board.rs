//! The calls that wait, the grants and the past: everything that answers race for, in one place.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use subtle::ConstantTimeEq;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::ApprovalSettings;
use super::answer::{Answer, AnswerError};
use super::asking::Asking;
use super::counts::Counts;
use super::grant::{Grant, InForce};
use super::pending::{Past, Pending, Verdict};
use crate::clock::Clock;

/// How long a call that asked its client something may take to come back without a person being
/// asked again.
const CONTINUED_WITHIN: Duration = Duration::from_secs(15 * 60);

/// What is known of approvals. Whoever removes a call from `pending` has answered it: that is done
/// under one lock, so that of two answers one wins.
#[derive(Debug, Default)]
pub(super) struct Board {
    pending: BTreeMap<String, Waiting>,
    past: VecDeque<Past>,
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
    tell: oneshot::Sender<Past>,
}

/// A call whose wait has begun.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) shown: Pending,
    pub(super) until: Instant,
    pub(super) answered: oneshot::Receiver<Past>,
}

/// What came of an answer.
#[derive(Debug)]
pub(super) struct Concluded {
    pub(super) past: Past,
    pub(super) grant: Option<Grant>,
    /// A grant that had to give way.
    pub(super) displaced: Option<Grant>,
}

impl Board {
    pub(super) fn restore(past: Vec<Past>, grants: Vec<InForce>) -> Self {
        Self { past: past.into(), grants, ..Self::default() }
    }

    pub(super) fn pending(&self) -> Vec<Pending> {
        let now = Instant::now();
        let live = self.pending.values().filter(|it| it.until > now);
        let mut all: Vec<Pending> = live.map(|it| it.shown.clone()).collect();
        all.sort_by_key(|it| it.since);
        all
    }

    /// Writes how many wait, and how many did.
    pub(super) fn write_metrics(&self, out: &mut String) {
        let now = Instant::now();
        self.counts.write(self.pending.values().filter(|it| it.until > now).count(), out);
    }

    /// The past, the latest first.
    pub(super) fn past(&self) -> Vec<Past> {
        self.past.iter().rev().cloned().collect()
    }

    pub(super) fn grants(&self) -> Vec<Grant> {
        self.grants.iter().map(|it| it.grant.clone()).collect()
    }

    /// Lets a call wait, unless too many do.
    pub(super) fn begin(
        &mut self,
        asking: &Asking,
        shown: Pending,
        token: Option<String>,
        settings: &ApprovalSettings,
    ) -> Result<Begun, usize> {
        let of_principal =
            self.pending.values().filter(|it| it.asking.principal == asking.principal).count();
        if self.pending.len() >= settings.pending {
            return Err(settings.pending);
        }
        if of_principal >= settings.pending_of_principal {
            return Err(settings.pending_of_principal);
        }
        let (tell, answered) = oneshot::channel();
        let until = Instant::now() + settings.wait;
        let waiting = Waiting { shown: shown.clone(), asking: asking.clone(), until, token, tell };
        self.pending.insert(shown.id.clone(), waiting);
        Ok(Begun { shown, until, answered })
    }

    pub(super) fn is_taken(&self, id: &str) -> bool {
        self.pending.contains_key(id)
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
        settings: &ApprovalSettings,
        clock: &Clock,
    ) -> Result<Concluded, AnswerError> {
        let Some(waiting) = self.pending.get(id) else {
            return Err(self.absent(id));
        };
        if waiting.until <= Instant::now() {
            self.conclude(id, Verdict::Expired, NOBODY, settings, clock);
            return Err(self.absent(id));
        }
        if answer.approve && answer.scope.session && waiting.asking.session.is_none() {
            return Err(AnswerError::NoSession(id.to_owned()));
        }
        let granted = Grant::of(id, &waiting.asking, &answer.scope, &answer.by, clock.seconds());
        let grant = granted.filter(|_| answer.approve);
        let mut displaced = None;
        if let Some(in_force) = grant.clone().and_then(|grant| InForce::new(grant, clock)) {
            if self.grants.len() >= settings.grants.max(1) {
                displaced = Some(self.grants.remove(0).grant);
            }
            self.grants.push(in_force);
        }
        let verdict = if answer.approve { Verdict::Approved } else { Verdict::Denied };
        match self.conclude(id, verdict, &answer.by, settings, clock) {
            Some(past) => Ok(Concluded { past, grant, displaced }),
            None => Err(self.absent(id)),
        }
    }

    /// Ends the wait of a call, unless it has ended.
    pub(super) fn conclude(
        &mut self,
        id: &str,
        verdict: Verdict,
        by: &str,
        settings: &ApprovalSettings,
        clock: &Clock,
    ) -> Option<Past> {
        let waiting = self.pending.remove(id)?;
        self.counts.add(verdict);
        let granted = self.grants.iter().any(|it| it.grant.id == id);
        let (by, at) = (by.to_owned(), clock.seconds());
        let past = Past { pending: waiting.shown, verdict, by, at, granted };
        self.past.push_back(past.clone());
        let beyond = self.past.len().saturating_sub(settings.past);
        // Those whose client left were never written down.
        let kept = self.past.drain(..beyond).filter(|it| it.verdict != Verdict::Withdrawn);
        self.forgotten.extend(kept.map(|it| it.pending.id));
        // Nobody may be there to hear it any more.
        let _ = waiting.tell.send(past.clone());
        Some(past)
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

    pub(super) fn end_grant(&mut self, id: &str) -> Option<Grant> {
        let at = self.grants.iter().position(|it| it.grant.id == id)?;
        Some(self.grants.remove(at).grant)
    }

    /// Notes that a call may be taken up once more without a person.
    pub(super) fn may_continue(&mut self, asking: Asking, settings: &ApprovalSettings) {
        if self.continued.len() >= settings.pending.max(1) {
            self.continued.pop_front();
        }
        self.continued.push_back((asking, Instant::now() + CONTINUED_WITHIN));
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

/// By whose word a wait ends when nobody says anything.
pub(super) const NOBODY: &str = "nobody";
