//! The comparison of two schemas, which descends both at once.
//!
//! A schema is the conjunction of its keywords, so if every keyword of the new one accepts at least what that of
//! the old one accepts, the whole does too. A reference that leads back to a pair of schemas under comparison is
//! assumed to hold; if that is wrong, the pair itself is reported.

use serde_json::Value;

use super::document::{ANYTHING, Budget, Document, differ_in_texts_only, mentions_reference};
use super::kinds::Kinds;
use super::node::Node;
use super::place::{Place, Side, quote};
use super::{ChangeClass, DefinitionChange};
use super::{choice, number, object, value};

/// The most steps of one comparison.
const STEPS: usize = 200_000;

/// Bytes of a text that count as one step.
pub(super) const BYTES: usize = 64;

/// The deepest nesting that is followed.
const DEPTH: usize = 64;

/// What the new schema does compared to the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It lets more values pass.
    Wider,
    /// It lets fewer values pass.
    Narrower,
    /// Neither can be shown.
    Unclear,
}

impl Effect {
    /// The effect when something is there only before or only after.
    pub(super) fn of_constraint(before: bool) -> Self {
        if before { Self::Wider } else { Self::Narrower }
    }

    /// The effect when the new set of what passes holds all of the old one, or the other way.
    pub(super) fn of_sets(new_holds_old: bool, old_holds_new: bool) -> Option<Self> {
        match (new_holds_old, old_holds_new) {
            (true, true) => None,
            (true, false) => Some(Self::Wider),
            (false, true) => Some(Self::Narrower),
            (false, false) => Some(Self::Unclear),
        }
    }
}

/// Compares two schemas for one side of a tool.
pub(super) fn compare(side: Side, old: &Document, new: &Document) -> Vec<DefinitionChange> {
    if old.root == new.root {
        return Vec::new();
    }
    let place = Place::root(side);
    let major = |text: &str| {
        vec![DefinitionChange {
            class: ChangeClass::Major,
            place: place.at(""),
            text: text.to_owned(),
        }]
    };
    let texts_only = differ_in_texts_only(old, new);
    if !texts_only && (old.dialect.is_none() || old.dialect != new.dialect) {
        return major("the schema changed, and with its `$schema` the change cannot be judged");
    }
    let budget = Budget::new(STEPS);
    let mut comparison = Comparison::new(side, old, new, &budget);
    comparison.root(&place);
    let mut found = comparison.found;
    if texts_only {
        found.retain(|change| change.class == ChangeClass::Patch);
    } else if budget.exhausted() {
        return major("the schema is too large to compare, so the change counts as breaking");
    }
    if texts_only && found.is_empty() {
        let text = "texts of the schema changed".to_owned();
        found.push(DefinitionChange { class: ChangeClass::Patch, place: place.at(""), text });
    }
    found
}

/// A pair of schemas under comparison.
#[derive(Debug, PartialEq, Eq)]
struct Pair {
    old: *const Value,
    new: *const Value,
    exact: bool,
}

/// The state of a comparison.
pub(super) struct Comparison<'a> {
    pub(super) side: Side,
    pub(super) old: &'a Document,
    pub(super) new: &'a Document,
    pub(super) budget: &'a Budget,
    /// Whether any difference matters, because it stands below something like `not`.
    pub(super) exact: bool,
    /// The pairs that led here, each with the descents at its beginning.
    open: Vec<(Pair, usize)>,
    /// How often the comparison went from a value into a part of it.
    descents: usize,
    depth: usize,
    pub(super) found: Vec<DefinitionChange>,
}

impl<'a> Comparison<'a> {
    fn new(side: Side, old: &'a Document, new: &'a Document, budget: &'a Budget) -> Self {
        let (open, found) = (Vec::new(), Vec::new());
        Self { side, old, new, budget, exact: false, open, descents: 0, depth: 0, found }
    }

    /// Arguments are always an object, so the root of an input speaks of nothing else.
    fn root(&mut self, place: &Place) {
        let (old, new) = (&self.old.root, &self.new.root);
        let (mut before, mut after) = (self.old_node(old), self.new_node(new));
        if self.side == Side::Input {
            before.mask = Kinds::OBJECT;
            after.mask = Kinds::OBJECT;
        }
        self.nodes(&before, &after, place);
    }

    pub(super) fn old_node(&self, value: &'a Value) -> Node<'a> {
        Node::of(self.old, value, self.budget)
    }

    pub(super) fn new_node(&self, value: &'a Value) -> Node<'a> {
        Node::of(self.new, value, self.budget)
    }

    /// Compares the schemas of a part of the value.
    pub(super) fn part(&mut self, old: Option<&'a Value>, new: Option<&'a Value>, place: &Place) {
        self.descents += 1;
        self.schemas(old, new, place);
        self.descents -= 1;
    }

    /// Compares two schemas of the same value.
    pub(super) fn schemas(
        &mut self,
        old: Option<&'a Value>,
        new: Option<&'a Value>,
        place: &Place,
    ) {
        let (old, new) = (old.unwrap_or(&ANYTHING), new.unwrap_or(&ANYTHING));
        let no_references = !self.old.has_references && !self.new.has_references;
        if no_references && old == new {
            return;
        }
        let pair = Pair { old, new, exact: self.exact };
        if let Some((_, descents)) = self.open.iter().find(|(open, _)| *open == pair) {
            // Without a descent in between the schema says nothing but itself.
            if *descents == self.descents {
                self.note(Effect::Unclear, place, "$ref", "refers to itself without end");
            }
            return;
        }
        self.open.push((pair, self.descents));
        let (before, after) = (self.old_node(old), self.new_node(new));
        self.nodes(&before, &after, place);
        self.open.pop();
    }

    /// Compares two nodes.
    pub(super) fn nodes(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        let cost = 1 + old.weight() + new.weight();
        if self.depth == DEPTH || !self.budget.spend(cost) {
            self.note(Effect::Unclear, place, "", "is nested too deep to compare");
            return;
        }
        self.depth += 1;
        value::compare_annotations(self, old, new, place);
        match (old.is_never(), new.is_never()) {
            (true, true) => {}
            (true, false) => self.note(Effect::Wider, place, "", "is now allowed"),
            (false, true) => self.note(Effect::Narrower, place, "", "is no longer allowed"),
            (false, false) => self.constraints(old, new, place),
        }
        self.depth -= 1;
    }

    fn constraints(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        if !self.exact && (old.has_unevaluated() || new.has_unevaluated()) {
            if !self.exactly(|comparison| comparison.nodes(old, new, place)) {
                let text = "changed beside `unevaluatedProperties` or `unevaluatedItems`, and what \
                            that does cannot be shown";
                self.note(Effect::Unclear, place, "", text);
            }
            return;
        }
        if choice::compare_choices(self, old, new, place) {
            return;
        }
        value::compare_values(self, old, new, place);
        number::compare_numbers(self, old, new, place);
        object::compare_objects(self, old, new, place);
        object::compare_arrays(self, old, new, place);
        choice::compare_conditions(self, old, new, place);
        choice::compare_conjuncts(self, old, new, place);
        self.unknown(old, new, place);
    }

    /// Keywords that nobody here understands. Equal texts that refer elsewhere may still differ.
    fn unknown(&mut self, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        let keys = old
            .keywords
            .keys()
            .chain(new.keywords.keys().filter(|key| !old.keywords.contains_key(*key)));
        for key in keys.copied().filter(|key| !is_known(key)) {
            self.opaque(key, old, new, place);
        }
    }

    /// A keyword that is equal or cannot be judged.
    pub(super) fn opaque(&mut self, key: &str, old: &Node<'a>, new: &Node<'a>, place: &Place) {
        let (before, after) = (old.keywords.get(key), new.keywords.get(key));
        let refers =
            key.contains("Ref") || key == "$ref" || before.is_some_and(|it| mentions_reference(it));
        if before != after || refers && before.is_some() {
            let what = match key {
                "$ref" | "$dynamicRef" | "$recursiveRef" => "refers to what cannot be followed",
                _ => "changed in a way that cannot be judged",
            };
            self.note(Effect::Unclear, place, key, what);
        }
    }

    /// Runs a comparison aside and returns what it found.
    pub(super) fn aside(&mut self, compare: impl FnOnce(&mut Self)) -> Vec<DefinitionChange> {
        let kept = std::mem::take(&mut self.found);
        compare(self);
        std::mem::replace(&mut self.found, kept)
    }

    /// Whether two schemas mean exactly the same. Changed texts are noted.
    pub(super) fn exactly(&mut self, compare: impl FnOnce(&mut Self)) -> bool {
        let before = std::mem::replace(&mut self.exact, true);
        let found = self.aside(compare);
        self.exact = before;
        let same = is_same(&found);
        if same {
            self.found.extend(found);
        }
        same
    }

    /// Notes an effect on what passes: "the parameter `a` is no longer allowed".
    pub(super) fn note(&mut self, effect: Effect, place: &Place, keyword: &str, what: &str) {
        let class = match (self.side, effect) {
            (Side::Input, Effect::Wider) | (Side::Output, Effect::Narrower) => ChangeClass::Minor,
            _ => ChangeClass::Major,
        };
        self.report(class, place.at(keyword), format!("{} {what}", place.subject()));
    }

    /// Notes that a keyword has another value: "`maximum` of the parameter `a` …".
    pub(super) fn note_keyword(
        &mut self,
        effect: Effect,
        place: &Place,
        keyword: &str,
        values: (Option<&Value>, Option<&Value>),
    ) {
        let what = match values {
            (None, Some(new)) => format!("got `{keyword}` {}", quote(new)),
            (Some(old), None) => format!("lost `{keyword}` {}", quote(old)),
            (Some(old), Some(new)) => {
                let (old, new) = (quote(old), quote(new));
                format!("has `{keyword}` {new} instead of {old}")
            }
            (None, None) => format!("changed `{keyword}`"),
        };
        self.note(effect, place, keyword, &format!("{what}{}", self.meaning(effect)));
    }

    /// What an effect means to a caller.
    pub(super) fn meaning(&self, effect: Effect) -> &'static str {
        match (self.side, effect) {
            (Side::Input, Effect::Wider) => ", so more is accepted",
            (Side::Input, Effect::Narrower) => ", so less is accepted",
            (Side::Output, Effect::Wider) => ", so less is promised",
            (Side::Output, Effect::Narrower) => ", so more is promised",
            (_, Effect::Unclear) => ", and what fitted before may not fit now",
        }
    }

    pub(super) fn report(&mut self, class: ChangeClass, place: String, text: String) {
        // What is found is kept, and its place may be much longer than what differs there.
        if !self.budget.spend((place.len() + text.len()) / BYTES) {
            return;
        }
        self.found.push(DefinitionChange { class, place, text });
    }
}

/// Whether nothing was found but texts.
pub(super) fn is_same(found: &[DefinitionChange]) -> bool {
    found.iter().all(|change| change.class == ChangeClass::Patch)
}

/// Whether nothing breaks.
pub(super) fn is_compatible(found: &[DefinitionChange]) -> bool {
    found.iter().all(|change| change.class < ChangeClass::Major)
}

/// Whether one of the comparisons looks at a keyword.
pub(super) fn is_known(keyword: &str) -> bool {
    use super::{choice, number, object, value};
    [
        object::KNOWN_OF_ARRAYS,
        choice::KNOWN,
        choice::KNOWN_CONDITIONS,
        number::KNOWN,
        object::KNOWN,
        value::KNOWN,
    ]
    .iter()
    .any(|known| known.contains(&keyword))
}
