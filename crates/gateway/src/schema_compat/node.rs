//! One subschema in the form that is compared: references followed, and what stands in `allOf`
//! beside the rest wherever that says the same.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::comparison::{BYTES, is_known};
use super::document::{Budget, Dialect, Document};
use super::kinds::Kinds;

/// The longest chain of `$ref` and `allOf` that is followed in one place.
const CHAIN: usize = 32;

/// Keywords that constrain nothing.
const NOTES: [&str; 15] = [
    "$anchor",
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "$dynamicAnchor",
    "$vocabulary",
    "default",
    "definitions",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// Keywords that mean something only together.
const GROUPS: [&[&str]; 4] = [
    &["properties", "patternProperties", "additionalProperties"],
    &["prefixItems", "items"],
    &["contains", "minContains", "maxContains"],
    &["if", "then", "else"],
];

/// One subschema.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    /// The kinds of values that are looked at, whatever the schema says.
    pub(super) mask: Kinds,
    /// Whether it is `false`.
    refuses_all: bool,
    /// What constrains, but for what follows.
    pub(super) keywords: BTreeMap<&'a str, &'a Value>,
    /// What does not constrain.
    pub(super) notes: BTreeMap<&'a str, &'a Value>,
    pub(super) required: BTreeSet<&'a str>,
    /// What must hold besides and cannot stand beside the keywords.
    pub(super) besides: Vec<Node<'a>>,
    /// Steps that all the data in it takes, however often it is compared.
    pub(super) bulk: usize,
}

impl<'a> Node<'a> {
    fn empty() -> Self {
        Self {
            mask: Kinds::ALL,
            refuses_all: false,
            keywords: BTreeMap::new(),
            notes: BTreeMap::new(),
            required: BTreeSet::new(),
            besides: Vec::new(),
            bulk: 0,
        }
    }

    /// The node that a schema describes.
    pub(super) fn of(document: &'a Document, value: &'a Value, budget: &Budget) -> Self {
        Builder { document, budget }.build(value, 0)
    }

    /// Whether this constrains nothing.
    pub(super) fn is_anything(&self) -> bool {
        let bare = self.keywords.is_empty() && self.required.is_empty() && self.besides.is_empty();
        bare && !self.refuses_all && self.mask == Kinds::ALL
    }

    /// Whether nothing fits.
    pub(super) fn is_never(&self) -> bool {
        self.refuses_all || self.kinds().is_empty()
    }

    /// How much there is to compare, but for what lies deeper. Listed values weigh little.
    pub(super) fn weight(&self) -> usize {
        self.keywords.len() + self.bulk
    }

    /// How many values are listed.
    pub(super) fn listed_count(&self) -> usize {
        self.keywords.get("enum").and_then(|it| it.as_array()).map_or(0, Vec::len)
    }

    /// The kinds of values that can fit, as far as this node itself tells.
    pub(super) fn kinds(&self) -> Kinds {
        let typed = self.typed();
        match self.listed() {
            Some(values) => values
                .iter()
                .map(|value| Kinds::of(value))
                .filter(|kind| typed.contains(*kind))
                .fold(Kinds::NONE, |all, kind| all | kind),
            None => typed,
        }
    }

    /// The texts of the values that can fit, when they are listed.
    pub(super) fn values(&self) -> Option<BTreeSet<String>> {
        let typed = self.typed();
        let fitting = |value: &&&Value| typed.contains(Kinds::of(value));
        let values = self.listed()?;
        Some(values.iter().filter(fitting).map(ToString::to_string).collect())
    }

    /// A subschema of a keyword that maps names to subschemas.
    pub(super) fn named(&self, keyword: &str, name: &str) -> Option<&'a Value> {
        self.keywords.get(keyword)?.as_object()?.get(name)
    }

    /// Whether it depends on what other keywords have looked at.
    pub(super) fn has_unevaluated(&self) -> bool {
        self.keywords.keys().any(|key| key.starts_with("unevaluated"))
    }

    /// Adds what must hold besides.
    pub(super) fn absorb(&mut self, other: Self) {
        // `unevaluated…` sees what stands beside it and nothing else, so it stays where it is.
        if other.has_unevaluated() {
            self.besides.push(other);
            return;
        }
        self.mask = self.mask & other.mask;
        self.refuses_all |= other.refuses_all;
        self.bulk += other.bulk;
        self.required.extend(&other.required);
        let clash = other.keywords.iter().any(|(key, value)| self.clashes(key, value));
        if clash {
            let bulk = other.bulk;
            let apart = Node { keywords: other.keywords, bulk, ..Node::empty() };
            self.besides.push(apart);
        } else {
            self.keywords.extend(other.keywords);
        }
        self.besides.extend(other.besides);
        for (key, value) in other.notes {
            self.notes.entry(key).or_insert(value);
        }
    }

    /// The node for some kinds of values only.
    pub(super) fn limited_to(&self, kinds: Kinds) -> Self {
        Self { mask: self.mask & kinds, ..self.clone() }
    }

    /// The kinds that `type` names.
    pub(super) fn typed(&self) -> Kinds {
        let named = self.keywords.get("type").and_then(|value| Kinds::read(value));
        self.mask & named.unwrap_or(Kinds::ALL)
    }

    fn listed(&self) -> Option<Vec<&'a Value>> {
        let constant = self.keywords.get("const").copied();
        let Some(listed) = self.keywords.get("enum").and_then(|value| value.as_array()) else {
            return constant.map(|value| vec![value]);
        };
        Some(listed.iter().filter(|value| constant.is_none_or(|it| it == *value)).collect())
    }

    fn clashes(&self, key: &str, value: &Value) -> bool {
        match GROUPS.iter().find(|group| group.contains(&key)) {
            Some(group) => group.iter().any(|key| self.keywords.contains_key(key)),
            None => self.keywords.get(key).is_some_and(|own| *own != value || !is_plain(value)),
        }
    }
}

/// Whether a value is plain data, so that saying it twice is saying it once.
fn is_plain(value: &Value) -> bool {
    match value {
        Value::Object(_) => false,
        Value::Array(elements) => elements.iter().all(is_plain),
        _ => true,
    }
}

/// How much of a member is looked at whenever it is compared: all of it if it is data, and nothing if
/// it holds subschemas, which are compared by themselves.
fn bulk_of(key: &str, value: &Value) -> usize {
    match key {
        "enum" | "const" | "required" | "dependentRequired" => size(value),
        "$defs" | "definitions" | "allOf" | "additionalItems" => 0,
        key if NOTES.contains(&key) || key.starts_with("x-") || !is_known(key) => size(value),
        _ => 0,
    }
}

/// Values in a value, and its texts.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => 1 + text.len() / BYTES,
        Value::Array(elements) => 1 + elements.iter().map(size).sum::<usize>(),
        Value::Object(members) => {
            let each = |(key, value): (&String, &Value)| 1 + key.len() / BYTES + size(value);
            1 + members.iter().map(each).sum::<usize>()
        }
        _ => 1,
    }
}

struct Builder<'a, 'b> {
    document: &'a Document,
    budget: &'b Budget,
}

impl<'a> Builder<'a, '_> {
    fn build(&self, value: &'a Value, depth: usize) -> Node<'a> {
        let mut node = Node::empty();
        let Value::Object(members) = value else {
            match value {
                Value::Bool(allowed) => node.refuses_all = !allowed,
                other => drop(node.keywords.insert("", other)),
            }
            return node;
        };
        let is_root = std::ptr::eq(value, &raw const self.document.root);
        if !self.budget.exhausted() {
            let is_foreign = members.contains_key("$id") && !is_root;
            let bulk = || members.iter().map(|(key, value)| bulk_of(key, value)).sum();
            node.bulk = if is_foreign { size(value) } else { bulk() } / 4;
        }
        let too_far = depth > CHAIN || !self.budget.spend(1 + members.len() + node.bulk);
        if too_far || (members.contains_key("$id") && !is_root) {
            node.keywords.insert("$id", value);
            return node;
        }
        let silenced = self.document.dialect == Some(Dialect::Draft7);
        let silenced = silenced && members.contains_key("$ref");
        for (key, value) in members.iter().filter(|(key, _)| !silenced || *key == "$ref") {
            self.member(&mut node, key, value);
        }
        self.items_of_older_drafts(&mut node);
        self.conjuncts(&mut node, depth);
        node
    }

    fn member(&self, node: &mut Node<'a>, key: &'a str, value: &'a Value) {
        let names = || value.as_array()?.iter().map(Value::as_str).collect::<Option<BTreeSet<_>>>();
        if NOTES.contains(&key) || key.starts_with("x-") {
            node.notes.insert(key, value);
        } else if let Some(names) = names().filter(|_| key == "required") {
            node.required = names;
        } else {
            node.keywords.insert(key, value);
        }
    }

    /// Before 2020-12 a list of items was called `items`, and the rest `additionalItems`.
    fn items_of_older_drafts(&self, node: &mut Node<'a>) {
        if self.document.dialect == Some(Dialect::Latest) {
            return;
        }
        let rest = node.keywords.remove("additionalItems");
        node.keywords.remove("prefixItems");
        if node.keywords.get("items").is_some_and(|items| items.is_array()) {
            let list = node.keywords.remove("items").map(|list| ("prefixItems", list));
            node.keywords.extend(list.into_iter().chain(rest.map(|rest| ("items", rest))));
        }
    }

    /// Takes in the targets of `$ref` and the members of `allOf`.
    fn conjuncts(&self, node: &mut Node<'a>, depth: usize) {
        let target = node.keywords.get("$ref").and_then(|value| value.as_str());
        if let Some(target) = target.and_then(|target| self.document.resolve(target)) {
            node.keywords.remove("$ref");
            node.absorb(self.build(target, depth + 1));
        }
        if let Some(Value::Array(members)) = node.keywords.get("allOf")
            && !members.is_empty()
        {
            node.keywords.remove("allOf");
            for member in members {
                node.absorb(self.build(member, depth + 1));
            }
        }
    }
}
