//! Who may answer an approval: administrators, approvers, and the local user in their own client. A caller
//! cannot approve its own call unless the settings allow it.

use std::sync::Arc;

use gantry_gateway::glob::matches;

use super::ApprovalSettings;
use super::pending::Pending;
use crate::tokens::Role;

/// The principal of callers without a token.
const LOCAL: &str = "local";

/// In what capacity somebody answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authority {
    /// As an administrator, who may answer everything.
    Administrator,
    /// As the webhook of the configuration, with the token made for this approval.
    Webhook,
    /// As the user of the client that makes the call, who was asked through elicitation.
    Elicitation,
    /// As a principal that showed its own token.
    Approver(Arc<str>),
}

/// The role of a principal's token.
pub type RoleOf = Arc<dyn Fn(&str) -> Role + Send + Sync>;

/// What decides who may answer.
pub(super) struct Authorization<'a> {
    pub(super) settings: &'a ApprovalSettings,
    pub(super) role_of: Option<&'a RoleOf>,
}

impl Authority {
    /// The word for it in the audit log.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Administrator => "administrator",
            Self::Webhook => "webhook",
            Self::Elicitation => "elicitation",
            Self::Approver(_) => "approver",
        }
    }
}

impl Authorization<'_> {
    /// Why an answer of this authority does not count for that call; none if it does.
    pub(super) fn objection(&self, authority: &Authority, call: &Pending) -> Option<&'static str> {
        match authority {
            Authority::Administrator | Authority::Webhook => None,
            Authority::Elicitation => (!self.is_elicited(call))
                .then_some("the caller may not approve its own calls; an approver must"),
            Authority::Approver(name) => self.approver_objection(name, call),
        }
    }

    /// Whether the user of the client that makes the call is asked, and the answer counts.
    pub(super) fn is_elicited(&self, call: &Pending) -> bool {
        let who = &call.principal;
        let is_named = |names: &[String]| names.iter().any(|name| matches(name, who));
        let is_excluded = call.approvers.as_ref().is_some_and(|approvers| !is_named(approvers));
        if !self.settings.elicitation || is_excluded {
            return false;
        }
        let is_local = who == LOCAL || self.role(who) == Role::User;
        is_local
            || is_named(&self.settings.elicitation_principals)
            || (self.settings.self_approval && self.is_approver(who, call))
    }

    /// Whether a principal may approve some calls.
    pub(super) fn may_approve_any(&self, who: &str) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| matches(name, who));
        self.role(who) == Role::Approver
            || is_named(&self.settings.approvers)
            || self.settings.rule_approvers.values().any(|names| is_named(names))
    }

    fn approver_objection(&self, who: &str, call: &Pending) -> Option<&'static str> {
        if !self.is_approver(who, call) {
            return Some("it is for other approvers to answer");
        }
        let is_own = *call.principal == *who;
        (is_own && !self.settings.self_approval)
            .then_some("approvers may not answer their own calls; another approver must")
    }

    /// Whether a principal is an approver of this call. A rule that names approvers knows no others.
    fn is_approver(&self, who: &str, call: &Pending) -> bool {
        let is_named = |names: &[String]| names.iter().any(|name| matches(name, who));
        match &call.approvers {
            Some(approvers) => is_named(approvers),
            None => self.role(who) == Role::Approver || is_named(&self.settings.approvers),
        }
    }

    fn role(&self, who: &str) -> Role {
        self.role_of.map(|role_of| role_of(who)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of these tests: the one of the first start, an approver's, and a caller's.
    fn role_of(name: &str) -> Role {
        match name {
            "default" => Role::User,
            "ann" | "bea" => Role::Approver,
            _ => Role::Caller,
        }
    }

    /// Every kind of principal that calls, and every way to answer its call.
    #[test]
    fn principals_and_ways_to_answer() {
        let usual = ApprovalSettings::default;
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let off = ApprovalSettings { elicitation: false, ..usual() };
        let restored = ApprovalSettings { elicitation_principals: names(&["ci*"]), ..usual() };
        let own = ApprovalSettings { self_approval: true, ..usual() };
        let named = ApprovalSettings { approvers: names(&["ci", "ops*"]), ..usual() };
        let rule = Some(names(&["ops", "default"]));
        // For each caller: elicitation, administrator, webhook, then tokens of a caller (`ci`, or
        // `other` where that one calls), of an approver, of the caller itself, of somebody named
        // `ops`.
        let cases = [
            ("usual", &usual(), None, "local", "yes yes yes no yes no no"),
            ("usual", &usual(), None, "default", "yes yes yes no yes no no"),
            ("usual", &usual(), None, "ci", "no yes yes no yes no no"),
            ("usual", &usual(), None, "bea", "no yes yes no yes no no"),
            ("usual", &usual(), None, "nobody", "no yes yes no yes no no"),
            ("off", &off, None, "local", "no yes yes no yes no no"),
            ("off", &off, None, "ci", "no yes yes no yes no no"),
            ("restored", &restored, None, "ci-7", "yes yes yes no yes no no"),
            ("restored", &restored, None, "bea", "no yes yes no yes no no"),
            ("restored", &restored, None, "local", "yes yes yes no yes no no"),
            ("own", &own, None, "bea", "yes yes yes no yes yes no"),
            ("own", &own, None, "ci", "no yes yes no yes no no"),
            ("named", &named, None, "bea", "no yes yes yes yes no yes"),
            ("named", &named, None, "ops-2", "no yes yes yes yes no yes"),
            ("rule", &usual(), rule.clone(), "ci", "no yes yes no no no yes"),
            ("rule", &usual(), rule.clone(), "local", "no yes yes no no no yes"),
            ("rule", &usual(), rule.clone(), "default", "yes yes yes no no no yes"),
            ("rule", &named, rule, "ops", "no yes yes no no no no"),
        ];
        let role_of: RoleOf = Arc::new(role_of);
        for (case, settings, approvers, principal, expected) in cases {
            let call = Pending { principal: principal.to_owned(), approvers, ..Pending::default() };
            let authorization = Authorization { settings, role_of: Some(&role_of) };
            let approver = |name: &str| Authority::Approver(name.into());
            let ways = [
                Authority::Elicitation,
                Authority::Administrator,
                Authority::Webhook,
                approver(if principal == "ci" { "other" } else { "ci" }),
                approver("ann"),
                approver(principal),
                approver("ops"),
            ];
            let counts = ways.map(|way| match authorization.objection(&way, &call) {
                None => "yes",
                Some(_) => "no",
            });
            assert_eq!(counts.join(" "), expected, "{case}: {principal}");
        }
    }

    #[test]
    fn without_tokens_only_the_local_user_is_known() {
        let settings = ApprovalSettings::default();
        let authorization = Authorization { settings: &settings, role_of: None };
        for (principal, expected) in [("local", true), ("default", false), ("ann", false)] {
            let call = Pending { principal: principal.to_owned(), ..Pending::default() };
            assert_eq!(authorization.is_elicited(&call), expected, "{principal}");
            assert!(!authorization.may_approve_any(principal), "{principal}");
        }
    }
}
