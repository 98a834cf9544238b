//! What is called, under all the names by which a rule may mean it.
//!
//! Names come from [`TargetNames`]; here the addresses of resources are brought into the one form in
//! which they are compared, and a template is told from the addresses that it covers.

use std::borrow::Cow;

use gantry_gateway::{Target, TargetKind, TargetNames, resource_uri};

/// What a pattern is for, which says by which names it may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    /// It takes rights away: any name counts.
    Restrict,
    /// It gives rights: only names count that a server cannot choose.
    Permit,
}

/// What is called.
#[derive(Debug, Clone)]
pub(super) struct RuleTarget<'a> {
    pub(super) kind: TargetKind,
    pub(super) server: Option<&'a str>,
    /// The canonical name or address.
    pub(super) main: Cow<'a, str>,
    /// What its server calls it.
    pub(super) own: Cow<'a, str>,
    /// The form of the canonical name that clients see.
    pub(super) shown: Option<Cow<'a, str>>,
    /// Other names, which only restrict: of an address what is left of it where a server takes no
    /// notice of its ending.
    pub(super) others: Vec<Cow<'a, str>>,
    /// Whether the canonical name may permit.
    pub(super) main_permits: bool,
    /// Whether this is a template as it is listed, which stands for many addresses.
    pub(super) is_template: bool,
}

impl<'a> RuleTarget<'a> {
    /// The thing itself, even if it is called like the template that covers it.
    pub(super) fn called(target: &'a Target) -> Self {
        Self { is_template: false, ..Self::of(target) }
    }

    /// The thing as it is listed.
    pub(super) fn of(target: &'a Target) -> Self {
        let names = TargetNames::of(target);
        let (kind, server) = (names.kind, names.server);
        let main_permits = names.permitting().next().is_some();
        if kind == TargetKind::Resource {
            let is_template =
                matches!(target, Target::Template(entry, uri) if entry.uri_template == *uri);
            let own = resource_uri::normalize(names.own());
            let main: Cow<'a, str> = match names.into_canonical() {
                Cow::Borrowed(uri) => resource_uri::normalize(uri),
                Cow::Owned(uri) => resource_uri::normalize(&uri).into_owned().into(),
            };
            // A template as it is listed is no address, and ends as it is written.
            let bare = |it: &str| {
                let bare = resource_uri::without_ending(it).filter(|_| !is_template);
                bare.map(|bare| Cow::Owned(bare.to_owned()))
            };
            let (shown, others) = (None, [bare(&main), bare(&own)].into_iter().flatten().collect());
            return Self { kind, server, main, own, shown, others, main_permits, is_template };
        }
        let (own, shown) = (names.own(), names.canonical_shown());
        let is_other = |it: &&str| *it != own && *it != names.canonical() && Some(*it) != shown;
        let others = names.other_names().filter(is_other).map(Cow::Borrowed).collect();
        let (own, shown, main) = (own.into(), shown.map(Cow::Borrowed), names.into_canonical());
        Self { kind, server, main, own, shown, others, main_permits, is_template: false }
    }

    /// The names by which a pattern may go that does not name a server. `is_of_server` says that
    /// the rule names it elsewhere.
    pub(super) fn names(&self, claim: Claim, is_of_server: bool) -> impl Iterator<Item = &str> {
        let restricts = claim == Claim::Restrict;
        // Any server may list any address, at its own endpoint and elsewhere, and who allows one
        // allows it whosever it is. So the address before it got an alias gives nothing away.
        let is_own_meant = restricts || is_of_server || self.kind == TargetKind::Resource;
        let is_main_meant = restricts || self.main_permits || is_of_server;
        let main = is_main_meant.then_some(&*self.main);
        let shown = self.shown.as_deref().filter(|_| is_main_meant);
        let own = is_own_meant.then_some(&*self.own);
        let others = self.others.iter().filter(move |_| restricts).map(|it| &**it);
        main.into_iter().chain(shown).chain(own).chain(others)
    }
}
