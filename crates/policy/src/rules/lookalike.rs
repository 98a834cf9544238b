//! Patterns that fit nothing, while a name that differs in its letters' case only is there: names
//! are compared exactly, so that such a rule does not do what was meant.

use gantry_gateway::{Caller, Target};

use super::compiled::{Fit, NameGlob};
use super::set::RuleSet;
use super::thing::{Kind, Thing};

impl RuleSet {
    /// What is most likely not meant, given everything that is there.
    pub fn lookalikes(&self, targets: &[Target]) -> Vec<String> {
        let nobody = Caller::default();
        let things: Vec<Thing<'_>> =
            targets.iter().map(|target| Thing::of(target, &nobody, &self.prefixes)).collect();
        let mut warnings = Vec::new();
        for compiled in &self.rules {
            let rule = &compiled.rule;
            let has_servers = !rule.what.servers.is_empty();
            let place = rule.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
            let names = [
                (Kind::Tool, &rule.what.tools),
                (Kind::Resource, &rule.what.resources),
                (Kind::Prompt, &rule.what.prompts),
            ];
            let patterns = names.iter().flat_map(|(kind, texts)| {
                texts.iter().map(|text| (text, lookalike(&things, *kind, text, has_servers)))
            });
            let servers = rule.what.servers.iter().map(|text| (text, server_like(&things, text)));
            for (text, found) in patterns.chain(servers) {
                if let Some(found) = found {
                    warnings.push(format!(
                        "{place}`{text}` of the rule `{}` fits nothing, but there is `{found}`; \
                         names are compared exactly",
                        rule.name
                    ));
                }
            }
        }
        warnings
    }
}

/// A name that the pattern would fit if case did not matter, when it fits none as it is.
fn lookalike<'a>(
    things: &'a [Thing<'_>],
    kind: Kind,
    text: &str,
    has_servers: bool,
) -> Option<&'a str> {
    let of_kind = || things.iter().filter(|thing| thing.kind == kind);
    let glob = NameGlob::new(text);
    if of_kind().any(|thing| glob.fits(thing, has_servers) != Fit::None) {
        return None;
    }
    let folded = NameGlob::new(&text.to_lowercase());
    let fits_folded = |thing: &&Thing<'_>| {
        let server = thing.server.map(str::to_lowercase);
        let same = Thing {
            kind,
            server: server.as_deref(),
            main: thing.main.to_lowercase().into(),
            own: thing.own.to_lowercase().into(),
            is_template: thing.is_template,
        };
        folded.fits(&same, has_servers) != Fit::None
    };
    of_kind().find(fits_folded).map(|thing| &*thing.main)
}

/// The same for the name of a server.
fn server_like<'a>(things: &[Thing<'a>], text: &str) -> Option<&'a str> {
    use gantry_gateway::pattern::matches;
    let servers = || things.iter().filter_map(|thing| thing.server);
    if servers().any(|server| matches(text, server)) {
        return None;
    }
    let folded = text.to_lowercase();
    servers().find(|server| matches(&folded, &server.to_lowercase()))
}
