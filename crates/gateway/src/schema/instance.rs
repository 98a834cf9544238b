//! Values as validators see them: read from their text by an index, never as a tree, which would
//! take many times the memory of the text.

use std::borrow::Cow;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

use gantry_protocol::json::{FlatElements, FlatJson, FlatMembers, FlatNode, JsonKind};
use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, cmp};
use serde_json::{Number, Value};

/// The most bytes of a string that an error is given.
const SHOWN: usize = 1024;

/// The form of JSON that validators are compiled for.
pub(super) struct Flat;

/// A value, or the name of a member, which is checked like one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Instance<'a> {
    Value(FlatNode<'a>),
    Name(&'a str),
}

impl Json for Flat {
    type Node<'a> = Instance<'a>;
    type PreparedKey = Box<str>;
    type StringBuffer = ();

    // A search looks at every key of a small object, and at a few of a large one.
    const KEYS_PER_LOOKUP: usize = 4;

    fn prepare_key(key: &str) -> Box<str> {
        key.into()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Self::Node<'_>) -> T) -> T {
        f(Instance::Name(string))
    }
}

impl<'a> Instance<'a> {
    fn node(self) -> Option<FlatNode<'a>> {
        match self {
            Self::Value(node) => Some(node),
            Self::Name(_) => None,
        }
    }

    fn kind(self) -> JsonKind {
        self.node().map_or(JsonKind::String, FlatNode::kind)
    }
}

impl<'a> Node<'a, Flat> for Instance<'a> {
    type Object = Members<'a>;
    type Array = Elements<'a>;
    type Number = Number;

    fn as_object(&self) -> Option<Members<'a>> {
        self.node().filter(|node| node.kind() == JsonKind::Object).map(Members)
    }

    fn as_array(&self) -> Option<Elements<'a>> {
        self.node().filter(|node| node.kind() == JsonKind::Array).map(Elements)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match *self {
            Self::Value(node) => node.as_text(),
            Self::Name(name) => Some(Cow::Borrowed(name)),
        }
    }

    fn as_number(&self) -> Option<Number> {
        self.node()?.as_number()
    }

    fn is_number(&self) -> bool {
        self.kind() == JsonKind::Number
    }

    fn as_boolean(&self) -> Option<bool> {
        self.node()?.as_boolean()
    }

    fn is_null(&self) -> bool {
        self.kind() == JsonKind::Null
    }

    fn json_type(&self) -> JsonType {
        match self.kind() {
            JsonKind::Object => JsonType::Object,
            JsonKind::Array => JsonType::Array,
            JsonKind::String => JsonType::String,
            JsonKind::Number => JsonType::Number,
            JsonKind::Boolean => JsonType::Boolean,
            JsonKind::Null => JsonType::Null,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match self {
            Self::Value(node) => equals(*node, expected),
            Self::Name(name) => expected.as_str() == Some(name),
        }
    }

    /// For errors, which are told from the index: of an array or an object only the kind is needed.
    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(match self.kind() {
            JsonKind::Object => Value::Object(serde_json::Map::new()),
            JsonKind::Array => Value::Array(Vec::new()),
            JsonKind::String => {
                let text = self.as_string().unwrap_or_default();
                Value::String(text[..text.floor_char_boundary(SHOWN)].to_owned())
            }
            JsonKind::Number => self.as_number().map_or(Value::Null, Value::Number),
            JsonKind::Boolean => Value::Bool(self.as_boolean().unwrap_or_default()),
            JsonKind::Null => Value::Null,
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(match self {
            Self::Value(node) => {
                let address = std::ptr::from_ref::<FlatJson>(node.json()) as usize;
                NodeIdentity::tagged(address, node.index())
            }
            Self::Name(name) => NodeIdentity::new(name.as_ptr() as usize),
        })
    }
}

/// An object.
pub(super) struct Members<'a>(FlatNode<'a>);

impl<'a> Object<'a, Flat> for Members<'a> {
    type Node = Instance<'a>;
    type MemberName = Cow<'a, str>;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.0.members().count()
    }

    fn is_empty(&self) -> bool {
        self.0.members().next().is_none()
    }

    fn get(&self, key: &Box<str>) -> Option<Instance<'a>> {
        self.0.get(key).map(Instance::Value)
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter(self.0.members())
    }
}

pub(super) struct MembersIter<'a>(FlatMembers<'a>);

impl<'a> Iterator for MembersIter<'a> {
    type Item = (Cow<'a, str>, Instance<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.0.next()?;
        Some((key.as_text().unwrap_or_default(), Instance::Value(value)))
    }
}

/// An array.
pub(super) struct Elements<'a>(FlatNode<'a>);

impl<'a> Array<'a, Flat> for Elements<'a> {
    type Node = Instance<'a>;
    type ElementsIter = std::iter::Map<FlatElements<'a>, fn(FlatNode<'a>) -> Instance<'a>>;

    fn len(&self) -> usize {
        self.0.elements().count()
    }

    fn elements(&self) -> Self::ElementsIter {
        self.0.elements().map(Instance::Value)
    }

    fn is_unique(&self) -> bool {
        is_unique(self.0)
    }
}

/// Whether no two elements are equal: sorted by their hashes, equal ones stand side by side.
fn is_unique(array: FlatNode<'_>) -> bool {
    let state = RandomState::new();
    let mut hashes: Vec<u64> = array.elements().map(|node| hash_of(node, &state)).collect();
    hashes.sort_unstable();
    let pairs = hashes.windows(2).filter(|pair| pair[0] == pair[1]);
    let mut doubled: Vec<u64> = pairs.map(|pair| pair[0]).collect();
    doubled.dedup();
    drop(hashes);
    // The keys of the hash are random, so that others come to the same once in a blue moon.
    doubled.iter().all(|hash| {
        let mut same = array.elements().filter(|node| hash_of(*node, &state) == *hash);
        let Some(first) = same.next() else { return true };
        !same.any(|other| first.equals(other, cmp::equal_numbers))
    })
}

fn hash_of(node: FlatNode<'_>, state: &RandomState) -> u64 {
    let mut hasher = state.build_hasher();
    match node.kind() {
        JsonKind::Object => {
            // The order of members means nothing.
            let member = |(key, value): (FlatNode<'_>, FlatNode<'_>)| {
                state.hash_one((key.as_text(), hash_of(value, state)))
            };
            let sum = node.members().map(member).fold(0_u64, u64::wrapping_add);
            (1_u8, sum).hash(&mut hasher);
        }
        JsonKind::Array => {
            2_u8.hash(&mut hasher);
            node.elements().for_each(|element| hash_of(element, state).hash(&mut hasher));
        }
        JsonKind::String => (3_u8, node.as_text()).hash(&mut hasher),
        JsonKind::Number => {
            let number = node.as_number().and_then(|number| number.as_f64()).unwrap_or_default();
            // Zero has two forms that are equal.
            (4_u8, (number + 0.0).to_bits()).hash(&mut hasher);
        }
        JsonKind::Boolean => (5_u8, node.as_boolean()).hash(&mut hasher),
        JsonKind::Null => 6_u8.hash(&mut hasher),
    }
    hasher.finish()
}

/// Whether a value is equal to one of a schema.
fn equals(node: FlatNode<'_>, expected: &Value) -> bool {
    match expected {
        Value::Object(members) => {
            node.kind() == JsonKind::Object
                && node.members().take(members.len() + 1).count() == members.len()
                && members.iter().all(|(key, expected)| {
                    node.get(key).is_some_and(|value| equals(value, expected))
                })
        }
        Value::Array(items) => {
            node.kind() == JsonKind::Array
                && node.elements().take(items.len() + 1).count() == items.len()
                && node.elements().zip(items).all(|(node, expected)| equals(node, expected))
        }
        Value::String(text) => node.is_text(text),
        Value::Number(number) => {
            node.as_number().is_some_and(|own| cmp::equal_numbers(&own, number))
        }
        Value::Bool(flag) => node.as_boolean() == Some(*flag),
        Value::Null => node.kind() == JsonKind::Null,
    }
}
