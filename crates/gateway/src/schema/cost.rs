//! A cost model of validation: how many steps a value takes, counted before it is validated, since a validator
//! cannot be interrupted. A value that exceeds the budget is refused. Most values are so small that the size of the
//! schema alone shows that they need no counting.

use std::collections::{HashMap, HashSet};

use gantry_protocol::json::{FlatElements, FlatMembers, FlatNode, JsonKind};
use jsonschema::Draft;
use referencing::Resolver;
use serde_json::{Map, Value};

use super::bounds::{address, children, references};
use super::{SchemaError, SchemaLimits, regex};

/// Bytes of a text that are looked at in one step.
const BYTES: usize = 64;

/// Steps of a `$ref` to a value that it was held against before: validators remember most of it.
const REMEMBERED: usize = 16;

/// The deepest nesting of checks. Validators recurse, and the stack of a thread is limited.
const DEPTH: usize = 1000;

/// A schema, reduced to what decides how long checking takes.
#[derive(Debug, Default)]
pub(super) struct CostModel {
    nodes: Vec<Node>,
}

/// One subschema.
#[derive(Debug, Default)]
struct Node {
    /// The types that it takes, one bit each. Others are refused before anything else is done.
    types: u8,
    /// Steps that every value takes.
    weight: usize,
    /// Steps for every [`BYTES`] of a text, and for every member's name.
    text: usize,
    name: usize,
    is_unique: bool,
    /// Whether it is the target of a reference, so that its results are remembered.
    is_target: bool,
    edges: Vec<(Place, usize)>,
}

/// Which part of a value a subschema is held against.
#[derive(Debug)]
enum Place {
    Same,
    Member(Box<str>),
    EachMember,
    EachName,
    EachElement,
    Element(usize),
}

impl CostModel {
    /// Reduces a document that is known to be a schema within the limits.
    pub(super) fn new(
        document: &Value,
        resolver: &Resolver<'_>,
        draft: Draft,
        limits: SchemaLimits,
    ) -> Result<Self, SchemaError> {
        let mut builder = Builder { work: Self::default(), seen: HashMap::new(), limits };
        builder.visit(document, resolver, draft, limits.chain)?;
        Ok(builder.work)
    }

    /// Whether a value is checked within that many steps. `is_remembered` says whether results of
    /// references are remembered, as they are unless violations are collected.
    pub(super) fn is_within(
        &self,
        value: FlatNode<'_>,
        budget: usize,
        is_remembered: bool,
    ) -> bool {
        let mut walk = Walk {
            nodes: &self.nodes,
            left: budget,
            seen: is_remembered.then(HashSet::new),
            stack: Vec::new(),
        };
        walk.run(value).is_some()
    }
}

struct Builder {
    work: CostModel,
    /// Nodes by where their subschemas stand in memory.
    seen: HashMap<usize, usize>,
    limits: SchemaLimits,
}

impl Builder {
    fn visit(
        &mut self,
        schema: &Value,
        resolver: &Resolver<'_>,
        draft: Draft,
        chain: usize,
    ) -> Result<usize, SchemaError> {
        if let Some(known) = self.seen.get(&address(schema)) {
            return Ok(*known);
        }
        let chain =
            chain.checked_sub(1).ok_or(SchemaError::TooDeep { limit: self.limits.chain })?;
        let index = self.work.nodes.len();
        self.seen.insert(address(schema), index);
        self.work.nodes.push(Node::new(schema, self.limits));
        let mut edges = Vec::new();
        for reference in references(schema) {
            let (target, resolver, draft) = resolver.lookup(reference)?.into_inner();
            let target = self.visit(target, &resolver, draft, chain)?;
            self.work.nodes[target].is_target = true;
            edges.push((Place::Same, target));
        }
        let placed = schema.as_object().map(places).unwrap_or_default();
        for child in children(schema, draft) {
            let resolver = resolver.in_subresource(draft.create_resource_ref(child))?;
            let target = self.visit(child, &resolver, draft, chain)?;
            let place = placed.get(&address(child)).map_or(Place::Same, |place| place());
            edges.push((place, target));
        }
        if is_unevaluated(schema) {
            // What was evaluated is found out by checking everything in place a second time.
            let again = edges.iter().filter(|(place, _)| matches!(place, Place::Same));
            let again: Vec<_> = again.map(|(_, target)| (Place::Same, *target)).collect();
            edges.extend(again);
        }
        self.work.nodes[index].edges = edges;
        Ok(index)
    }
}

fn is_unevaluated(schema: &Value) -> bool {
    ["unevaluatedProperties", "unevaluatedItems"].iter().any(|key| schema.get(key).is_some())
}

type MakePlace<'a> = Box<dyn Fn() -> Place + 'a>;

/// What the subschemas that are not held against the same value are held against.
fn places(schema: &Map<String, Value>) -> HashMap<usize, MakePlace<'_>> {
    let mut places: HashMap<usize, MakePlace<'_>> = HashMap::new();
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(named)) => {
                for (name, child) in named {
                    let make = move || Place::Member(name.as_str().into());
                    places.insert(address(child), Box::new(make));
                }
            }
            ("patternProperties", Value::Object(named)) => {
                for child in named.values() {
                    places.insert(address(child), Box::new(|| Place::EachMember));
                }
            }
            ("additionalProperties" | "unevaluatedProperties", child) => {
                places.insert(address(child), Box::new(|| Place::EachMember));
            }
            ("propertyNames", child) => {
                places.insert(address(child), Box::new(|| Place::EachName));
            }
            ("prefixItems" | "items", Value::Array(list)) => {
                for (index, child) in list.iter().enumerate() {
                    places.insert(address(child), Box::new(move || Place::Element(index)));
                }
            }
            ("items" | "contains" | "unevaluatedItems" | "additionalItems", child) => {
                places.insert(address(child), Box::new(|| Place::EachElement));
            }
            _ => {}
        }
    }
    places
}

impl Node {
    fn new(schema: &Value, limits: SchemaLimits) -> Self {
        let Some(members) = schema.as_object() else {
            return Self { types: u8::MAX, weight: 1, ..Self::default() };
        };
        let steps = |text: &str| regex::steps(text, limits.backtracks);
        let named = members.get("patternProperties").and_then(Value::as_object);
        Self {
            types: types(members.get("type")),
            weight: weight(members),
            text: 1 + members.get("pattern").and_then(Value::as_str).map_or(0, steps),
            name: named.map_or(0, |named| named.keys().map(|name| 2 * steps(name)).sum()),
            is_unique: members.get("uniqueItems") == Some(&Value::Bool(true)),
            ..Self::default()
        }
    }
}

/// Steps that a subschema takes for every value, whatever it holds.
pub(super) fn weight(members: &Map<String, Value>) -> usize {
    let sizes = ["enum", "const", "required", "dependentRequired", "dependencies"];
    let listed = sizes.iter().filter_map(|key| members.get(*key)).map(listed_size).sum::<usize>();
    1 + members.len() + listed
}

/// Values in a part of a schema, such as `enum`, itself counted.
fn listed_size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(listed_size).sum(),
        Value::Object(members) => members.values().map(listed_size).sum(),
        Value::String(text) => text.len() / BYTES,
        _ => 0,
    }
}

/// Values in a value, itself counted.
fn size(value: FlatNode<'_>) -> usize {
    1 + match value.kind() {
        JsonKind::Array => value.elements().map(size).sum(),
        JsonKind::Object => value.members().map(|(_, value)| size(value)).sum(),
        JsonKind::String => length(value) / BYTES,
        _ => 0,
    }
}

/// Bytes of a text.
fn length(text: FlatNode<'_>) -> usize {
    text.as_text().map_or(0, |text| text.len())
}

fn types(given: Option<&Value>) -> u8 {
    let bit = |name: &str| match name {
        "null" => 1,
        "boolean" => 2,
        "integer" | "number" => 4,
        "string" => 8,
        "array" => 16,
        "object" => 32,
        _ => u8::MAX,
    };
    match given {
        Some(Value::String(name)) => bit(name),
        Some(Value::Array(names)) => {
            names.iter().map(|name| name.as_str().map_or(u8::MAX, bit)).fold(0, |all, it| all | it)
        }
        _ => u8::MAX,
    }
}

fn type_of(kind: JsonKind) -> u8 {
    match kind {
        JsonKind::Null => 1,
        JsonKind::Boolean => 2,
        JsonKind::Number => 4,
        JsonKind::String => 8,
        JsonKind::Array => 16,
        JsonKind::Object => 32,
    }
}

/// One walk over a value. Ends early, with none, when the budget is used up.
struct Walk<'a> {
    nodes: &'a [Node],
    left: usize,
    /// What was held against what, as far as validators remember it.
    seen: Option<HashSet<(usize, u32)>>,
    stack: Vec<Frame<'a>>,
}

struct Frame<'a> {
    node: usize,
    value: FlatNode<'a>,
    edge: usize,
    parts: Parts<'a>,
}

/// What is left of the parts that the current edge leads to.
enum Parts<'a> {
    None,
    Elements(FlatElements<'a>),
    Members(FlatMembers<'a>),
    Names(FlatMembers<'a>),
}

impl<'a> Walk<'a> {
    fn run(&mut self, value: FlatNode<'a>) -> Option<()> {
        self.enter(0, value)?;
        while let Some(mut frame) = self.stack.pop() {
            let target = self.nodes[frame.node].edges.get(frame.edge.wrapping_sub(1));
            let target = target.map_or(0, |(_, target)| *target);
            let next = match &mut frame.parts {
                Parts::None => None,
                Parts::Elements(elements) => elements.next(),
                Parts::Members(members) => members.next().map(|(_, value)| value),
                Parts::Names(names) => {
                    // A name is a text, and nothing is below it.
                    for (name, _) in names {
                        self.charge(self.text_steps(target, length(name)))?;
                    }
                    None
                }
            };
            match next {
                Some(part) => {
                    self.stack.push(frame);
                    self.enter(target, part)?;
                }
                None => self.follow(frame)?,
            }
        }
        Some(())
    }

    /// Goes on with the next edge of a subschema.
    fn follow(&mut self, mut frame: Frame<'a>) -> Option<()> {
        let Some((place, target)) = self.nodes[frame.node].edges.get(frame.edge) else {
            return Some(());
        };
        frame.edge += 1;
        let value = frame.value;
        let mut part = None;
        frame.parts = match (place, value.kind()) {
            (Place::EachElement, JsonKind::Array) => Parts::Elements(value.elements()),
            (Place::EachMember, JsonKind::Object) => Parts::Members(value.members()),
            (Place::EachName, JsonKind::Object) => Parts::Names(value.members()),
            (Place::Element(index), JsonKind::Array) => {
                // Elements are found one after the other.
                self.charge(index / BYTES)?;
                part = value.elements().nth(*index);
                Parts::None
            }
            (Place::Member(name), JsonKind::Object) => {
                part = value.get(name);
                Parts::None
            }
            (Place::Same, _) => {
                part = Some(value).filter(|_| !self.is_under_way(&frame, *target));
                Parts::None
            }
            _ => Parts::None,
        };
        self.charge(1)?;
        self.stack.push(frame);
        match part {
            Some(part) => self.enter(*target, part),
            None => Some(()),
        }
    }

    /// Whether a subschema is being held against this very value already: references in a circle
    /// are followed once.
    fn is_under_way(&self, frame: &Frame<'a>, target: usize) -> bool {
        let same = |it: &&Frame<'a>| it.value.index() == frame.value.index();
        frame.node == target || self.stack.iter().rev().take_while(same).any(|it| it.node == target)
    }

    fn enter(&mut self, index: usize, value: FlatNode<'a>) -> Option<()> {
        let (node, kind) = (self.nodes.get(index)?, value.kind());
        if node.types & type_of(kind) == 0 {
            return self.charge(1);
        }
        if node.is_target
            && let Some(seen) = &mut self.seen
            && matches!(kind, JsonKind::Array | JsonKind::Object)
            && !seen.insert((index, value.index()))
        {
            return self.charge(REMEMBERED);
        }
        let more = match kind {
            JsonKind::String => self.text_steps(index, length(value)),
            JsonKind::Array if node.is_unique => size(value),
            JsonKind::Object if node.name > 0 => {
                let steps = |name| node.name * (1 + length(name) / BYTES);
                value.members().map(|(name, _)| steps(name)).sum()
            }
            _ => 0,
        };
        self.charge(node.weight.saturating_add(more))?;
        if self.stack.len() >= DEPTH {
            return None;
        }
        self.stack.push(Frame { node: index, value, edge: 0, parts: Parts::None });
        Some(())
    }

    fn text_steps(&self, index: usize, length: usize) -> usize {
        let text = self.nodes.get(index).map_or(0, |node| node.text);
        text.saturating_mul(1 + length / BYTES)
    }

    fn charge(&mut self, steps: usize) -> Option<()> {
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }
}
