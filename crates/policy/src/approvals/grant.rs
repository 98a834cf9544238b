//! What a person approved beyond one call: whose calls, of what, with which arguments, until when.

use std::time::Duration;

use gantry_protocol::{JsonLimits, RawJson};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::answer::{Answer, Matching};
use super::approval_request::{Asking, has_all};
use crate::clock::Clock;

/// How far a clock may have gone back since a grant was written down. One that went further is not
/// believed.
const SLACK: u64 = 60;

/// What is granted, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its name: that of the call that was approved.
    pub id: String,
    /// Whose calls.
    pub principal: String,
    /// Of what, by name.
    pub tool: String,
    /// What that was when it was approved.
    pub bound: String,
    /// In which session only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// With which arguments only: a digest, for arguments may be secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// With arguments that have all of this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subset: Option<String>,
    /// Until when, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<u64>,
    /// Since when.
    pub at: u64,
    /// By whose word.
    pub by: String,
    /// In what capacity.
    #[serde(default)]
    pub via: String,
}

/// A grant in force. Its time is measured twice: the time of day may be set back, and the machine
/// may sleep.
#[derive(Debug, Clone)]
pub(super) struct InForce {
    pub(super) grant: Grant,
    deadline: Option<Instant>,
}

impl Grant {
    /// What a scope grants beyond the call itself; nothing if it is for this once.
    pub(super) fn of(id: &str, asking: &Asking, answer: &Answer, now: u64) -> Option<Self> {
        let scope = &answer.scope;
        if scope.is_once() {
            return None;
        }
        let (arguments, subset) = match &scope.matching {
            None => (None, None),
            // Arguments that two readers may read differently match nothing, ever.
            Some(Matching::Exact) => (Some(asking.digest()?), None),
            Some(Matching::Subset(object)) => (None, Some(object.compact().to_string())),
        };
        Some(Self {
            id: id.to_owned(),
            principal: asking.principal.to_string(),
            tool: asking.tool.clone(),
            bound: asking.bound.clone(),
            session: asking.session.as_deref().filter(|_| scope.session).map(str::to_owned),
            arguments,
            subset,
            expires: scope.lasting.map(|lasting| now.saturating_add(lasting.as_secs())),
            at: now,
            by: answer.by.clone(),
            via: answer.authority.as_str().to_owned(),
        })
    }

    /// Whether it outlives the program: a session does not.
    pub(super) fn is_kept(&self) -> bool {
        self.session.is_none()
    }

    fn fits(&self, asking: &Asking) -> bool {
        let subset = || {
            let text = self.subset.clone()?;
            Some(RawJson::parse(text, JsonLimits::default()))
        };
        *self.principal == *asking.principal
            && self.tool == asking.tool
            && self.bound == asking.bound
            && self.session.as_deref().is_none_or(|it| asking.session.as_deref() == Some(it))
            && self.arguments.as_ref().is_none_or(|it| asking.digest().as_ref() == Some(it))
            && subset().is_none_or(|subset| {
                subset.is_ok_and(|it| asking.canonical.is_some() && has_all(&asking.arguments, &it))
            })
    }
}

impl InForce {
    /// A grant from now on; none if its time is over, or if the clock cannot be right.
    pub(super) fn new(grant: Grant, clock: &Clock) -> Option<Self> {
        let now = clock.seconds();
        let is_possible = clock.wall_seconds().saturating_add(SLACK) >= grant.at;
        let left = grant.expires.map(|expires| expires.saturating_sub(now));
        if left == Some(0) || (left.is_some() && !is_possible) {
            return None;
        }
        let deadline = left.map(|left| Instant::now() + Duration::from_secs(left));
        Some(Self { grant, deadline })
    }

    /// Whether its time is over, by either clock.
    pub(super) fn is_over(&self, clock: &Clock) -> bool {
        let by_day = self.grant.expires.is_some_and(|expires| clock.seconds() >= expires);
        by_day || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(super) fn fits(&self, asking: &Asking) -> bool {
        self.grant.fits(asking)
    }
}
