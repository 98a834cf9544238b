//! JSON as people and programs write it: any whitespace, any escapes, any numbers, names twice.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// A JSON value that remembers where its whitespace stands.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// A string, number, boolean or null as it is written.
    Leaf(String),
    /// Elements, each with the whitespace around it.
    Array(Vec<(String, Node, String)>),
    /// Members in order.
    Object(Vec<Field>),
}

/// A member of an object.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    /// Whitespace before and after.
    pub(crate) around: (String, String),
    /// The quoted name, as it is written.
    pub(crate) key: String,
    /// What stands between the name and the value.
    pub(crate) colon: String,
    /// The value.
    pub(crate) value: Node,
}

impl Field {
    /// The member without the whitespace around it.
    pub(crate) fn text(&self) -> String {
        [&self.key, &self.colon, &self.value.text()].map(String::as_str).concat()
    }
}

impl Node {
    /// The value as it is written.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Leaf(text) => text.clone(),
            Self::Array(elements) => {
                let texts = elements.iter().map(|(before, value, after)| {
                    [before, &value.text(), after].map(String::as_str).concat()
                });
                format!("[{}]", texts.collect::<Vec<_>>().join(","))
            }
            Self::Object(fields) => {
                let texts = fields.iter().map(|field| {
                    [&field.around.0, &field.text(), &field.around.1].map(String::as_str).concat()
                });
                format!("{{{}}}", texts.collect::<Vec<_>>().join(","))
            }
        }
    }
}

// Building a strategy costs more than drawing from it, and these stand in every message.
thread_local! {
    static SPACE: BoxedStrategy<String> =
        prop_oneof![3 => Just(String::new()), 1 => "[ \t\r\n]{1,3}"].boxed();
    static STRING: BoxedStrategy<String> = new_string();
    static LEAF: BoxedStrategy<String> = new_leaf();
    static TEXT: BoxedStrategy<String> = value().prop_map(|value| value.text()).boxed();
}

fn space() -> BoxedStrategy<String> {
    SPACE.with(Clone::clone)
}

const ESCAPES: &[&str] = &["\\n", "\\\"", "\\\\", "\\/", "\\u0041", "\\ud83d\\ude00", "\\u0000"];

/// A quoted string as it is written.
pub(crate) fn string() -> BoxedStrategy<String> {
    STRING.with(Clone::clone)
}

fn new_string() -> BoxedStrategy<String> {
    let piece = prop_oneof![
        "[a-z]{1,4}",
        "[ -!#-\\[\\]-~]{1,3}",
        select(ESCAPES).prop_map(str::to_owned),
        select(&["é", "日", "😀", "{", "}", "[", "]", ",", ":"][..]).prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..4)
        .prop_map(|pieces| format!("\"{}\"", pieces.concat()))
        .boxed()
}

const COMMON_KEYS: &[&str] =
    &["\"a\"", "\"\\u0061\"", "\"b\"", "\"\"", "\"_meta\"", "\"a\\\"b\"", "\"ä\""];

/// A quoted name as it is written; often one of a few, sometimes in disguise.
fn key() -> BoxedStrategy<String> {
    prop_oneof![4 => select(COMMON_KEYS).prop_map(str::to_owned), 1 => string()].boxed()
}

/// A value that holds no other.
pub(crate) fn leaf() -> BoxedStrategy<String> {
    LEAF.with(Clone::clone)
}

fn new_leaf() -> BoxedStrategy<String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?",
        string(),
        select(&["true", "false", "null"][..]).prop_map(str::to_owned),
    ]
    .boxed()
}

fn fields(value: BoxedStrategy<Node>) -> impl Strategy<Value = Vec<Field>> {
    let colon = (space(), space()).prop_map(|(before, after)| format!("{before}:{after}"));
    let field = ((space(), space()), key(), colon, value)
        .prop_map(|(around, key, colon, value)| Field { around, key, colon, value });
    proptest::collection::vec(field, 0..5)
}

/// Any value.
pub(crate) fn value() -> BoxedStrategy<Node> {
    leaf()
        .prop_map(Node::Leaf)
        .prop_recursive(4, 24, 5, |inner| {
            let element = (space(), inner.clone(), space());
            prop_oneof![
                proptest::collection::vec(element, 0..5).prop_map(Node::Array),
                fields(inner.boxed()).prop_map(Node::Object),
            ]
        })
        .boxed()
}

/// Any object, as its members.
pub(crate) fn object() -> impl Strategy<Value = Vec<Field>> {
    fields(value())
}

/// The text of any value.
pub(crate) fn text() -> BoxedStrategy<String> {
    TEXT.with(Clone::clone)
}

/// A member with a name of ours and a value of some kind.
pub(crate) fn member(key: &str, value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let key = key.to_owned();
    (space(), space(), value)
        .prop_map(move |(before, after, value)| format!("{before}\"{key}\":{after}{value}"))
        .boxed()
}

/// An object that has all of `needed` and some of `optional`, in any order.
pub(crate) fn object_of(
    needed: Vec<BoxedStrategy<String>>,
    optional: Vec<BoxedStrategy<String>>,
) -> BoxedStrategy<String> {
    let count = optional.len();
    (needed, optional)
        .prop_flat_map(move |(needed, optional)| {
            let chosen = subsequence(optional, 0..=count);
            let all = chosen.prop_map(move |chosen| [needed.clone(), chosen].concat());
            all.prop_shuffle()
        })
        .prop_map(|members| format!("{{{}}}", members.join(",")))
        .boxed()
}

/// An array of up to three values.
pub(crate) fn array_of(value: BoxedStrategy<String>) -> BoxedStrategy<String> {
    proptest::collection::vec(value, 0..4)
        .prop_map(|values| format!("[{}]", values.join(" , ")))
        .boxed()
}

/// One of the texts.
pub(crate) fn one_of(texts: &'static [&'static str]) -> BoxedStrategy<String> {
    select(texts).prop_map(str::to_owned).boxed()
}
