//! What is tried in every cell, and what each pair of revisions allows: the one table that both
//! the tests and the page in the documents come from.

use gantry::Revision;

use crate::checks::{asking, calls, changes, content};
use crate::client::Client;
use crate::peers::Kind;

/// One feature: its name, what it means, the file that tries it.
pub(crate) struct Feature {
    pub(crate) name: &'static str,
    pub(crate) file: &'static str,
    pub(crate) check: Check,
    limits: &'static [Limit],
}

/// What a check is told of its cell.
pub(crate) struct Cell {
    pub(crate) client: Revision,
    pub(crate) server: Revision,
    pub(crate) kind: Kind,
    /// Whether the gateway is in between.
    pub(crate) is_bridged: bool,
}

/// Something that a revision cannot say.
struct Limit {
    /// The first revision that can.
    since: Revision,
    /// Whether it reaches the client in another form anyway.
    form: Option<&'static str>,
    /// What the older ones lack.
    lacks: &'static str,
    /// How the capability that is missing begins where an error names it.
    capability: &'static str,
}

/// What a pair of revisions allows.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The feature itself.
    Works,
    /// The same in the form of an older revision.
    Lowered(&'static str),
    /// Not at all: who lacks what.
    Impossible(String),
}

type Outcome<'a> = std::pin::Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;
/// A check: what went wrong, if something did.
pub(crate) type Check = for<'a> fn(&'a mut Client, &'a Cell) -> Outcome<'a>;

const STRUCTURED: Limit = Limit {
    since: Revision::V2025_06_18,
    form: Some("as text"),
    lacks: "structured output",
    capability: "",
};
const FORMS: Limit = Limit {
    since: Revision::V2025_06_18,
    form: None,
    lacks: "elicitation",
    capability: r#"{"elicitation":{"#,
};
const URLS: Limit = Limit {
    since: Revision::V2025_11_25,
    form: None,
    lacks: "elicitation by URL",
    capability: r#"{"elicitation":{"url":"#,
};
const MODEL_TOOLS: Limit = Limit {
    since: Revision::V2025_11_25,
    form: None,
    lacks: "sampling with tools",
    capability: r#"{"sampling":{"tools":"#,
};

/// A row of the table. The boxed future is the price of a table of async functions.
macro_rules! feature {
    ($name:literal, $module:ident :: $check:ident, $limits:expr) => {
        Feature {
            name: $name,
            file: concat!("tests/tests/matrix/checks/", stringify!($module), ".rs"),
            check: |client, cell| Box::pin($module::$check(client, cell)),
            limits: $limits,
        }
    };
}

/// All features, the first of which tells whether a server is there at all.
pub(crate) const FEATURES: &[Feature] = &[
    feature!("list", content::list, &[]),
    feature!("call", calls::call, &[]),
    feature!("structured output", calls::structured, &[STRUCTURED]),
    feature!("progress", calls::progress, &[]),
    feature!("log", calls::log, &[]),
    feature!("cancel", calls::cancel, &[]),
    feature!("resource read", content::read, &[]),
    feature!("prompt", content::prompt, &[]),
    feature!("completion", content::completion, &[]),
    feature!("subscribe and update", changes::subscribe, &[]),
    feature!("list changed", changes::list_changed, &[]),
    feature!("elicitation by form", asking::form, &[FORMS]),
    feature!("elicitation by URL", asking::url, &[URLS]),
    feature!("sampling", asking::model, &[]),
    feature!("sampling with tools", asking::model_tools, &[MODEL_TOOLS]),
    feature!("roots", asking::roots, &[]),
    feature!("several inputs at once", asking::many, &[]),
    feature!("several rounds", asking::rounds, &[]),
    feature!("errors", calls::errors, &[]),
    feature!("big integers and unknown members", calls::kept, &[]),
];

impl Feature {
    /// What a pair of revisions allows.
    pub(crate) fn verdict(&self, client: Revision, server: Revision) -> Verdict {
        for limit in self.limits {
            let who = match (client < limit.since, server < limit.since) {
                (false, false) => continue,
                (true, false) => format!("clients of {client} have no {}", limit.lacks),
                (false, true) => format!("servers of {server} have no {}", limit.lacks),
                (true, true) => format!("neither {client} nor {server} has {}", limit.lacks),
            };
            return match limit.form {
                Some(form) => Verdict::Lowered(form),
                None => Verdict::Impossible(who),
            };
        }
        Verdict::Works
    }

    /// Whether an outcome is what the pair of revisions allows.
    pub(crate) fn judge(&self, cell: &Cell, outcome: Result<(), String>) -> Result<(), String> {
        let verdict = self.verdict(cell.client, cell.server);
        match (verdict, outcome) {
            (Verdict::Works | Verdict::Lowered(_), outcome) => outcome,
            (Verdict::Impossible(_), Err(reason)) => self.refused(cell, &reason),
            // A server may ask for what its revision lacks, and a client that knows it may answer.
            (Verdict::Impossible(why), Ok(())) => {
                let beyond = |limit: &Limit| cell.client < limit.since;
                match cell.is_bridged && self.limits.iter().any(beyond) {
                    true => Err(format!("it works, although {why}")),
                    false => Ok(()),
                }
            }
        }
    }

    /// What cannot be is refused, and nobody is left waiting; the gateway names what is missing.
    fn refused(&self, cell: &Cell, reason: &str) -> Result<(), String> {
        let named = |limit: &Limit| {
            reason.contains(&format!("\"requiredCapabilities\":{}", limit.capability))
        };
        let is_named = !cell.is_bridged || self.limits.iter().any(named);
        if is_named && !reason.contains("in time") {
            return Ok(());
        }
        Err(format!("the error does not name what is missing: {reason}"))
    }
}

#[test]
fn only_what_a_revision_lacks_is_impossible() {
    let verdict = |name: &str, client, server| {
        let feature = FEATURES.iter().find(|it| it.name == name).expect("a feature");
        feature.verdict(client, server)
    };
    let (old, new) = (Revision::V2024_11_05, Revision::V2026_07_28);
    assert_eq!(verdict("elicitation by form", new, new), Verdict::Works);
    assert_eq!(verdict("structured output", old, new), Verdict::Lowered("as text"));
    let reason = "clients of 2024-11-05 have no elicitation".to_owned();
    assert_eq!(verdict("elicitation by form", old, new), Verdict::Impossible(reason));
}
