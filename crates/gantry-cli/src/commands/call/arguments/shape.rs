//! What a schema says of one place in the arguments, as far as typing needs to know: a value is
//! checked in full by the pipeline.

use gantry::RawJson;

/// How far references and alternatives are followed.
const DEEPEST: usize = 8;

/// The kinds of values a schema can allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Null,
    Integer,
    Number,
    Boolean,
    Object,
    Array,
    String,
}

/// A schema with its references followed and its alternatives laid side by side.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    root: RawJson,
    parts: Vec<RawJson>,
}

impl Shape {
    /// The shape of a whole schema.
    pub(crate) fn of(schema: &RawJson) -> Self {
        Self::within(schema, schema)
    }

    fn within(root: &RawJson, schema: &RawJson) -> Self {
        let mut parts = Vec::new();
        gather(root, schema, DEEPEST, &mut parts);
        Self { root: root.clone(), parts }
    }

    /// The kinds of values that are allowed; empty when any is.
    pub(crate) fn forms(&self) -> Vec<Form> {
        let mut forms: Vec<Form> = self.parts.iter().flat_map(forms_of).collect();
        forms.sort_unstable();
        forms.dedup();
        forms
    }

    /// The only values that are allowed, when the schema lists them.
    pub(crate) fn options(&self) -> Option<Vec<RawJson>> {
        let listed = self.parts.iter().filter_map(|part| part.get("enum"));
        let single = self.parts.iter().filter_map(|part| part.get("const"));
        let options: Vec<RawJson> =
            listed.flat_map(|list| list.elements().collect::<Vec<_>>()).chain(single).collect();
        Some(options).filter(|options| !options.is_empty())
    }

    /// What the schema says of a member.
    pub(crate) fn property(&self, name: &str) -> Option<Self> {
        let schema = self.parts.iter().find_map(|part| part.get("properties")?.get(name))?;
        Some(Self::within(&self.root, &schema))
    }

    /// What the schema says of a member, be it one that it names or any other.
    pub(crate) fn member(&self, name: &str) -> Option<Self> {
        let others = || {
            let schema = self.parts.iter().find_map(|part| part.get("additionalProperties"))?;
            schema.is_object().then(|| Self::within(&self.root, &schema))
        };
        self.property(name).or_else(others)
    }

    /// The names of the members it knows, in its order.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for properties in self.parts.iter().filter_map(|part| part.get("properties")) {
            for member in properties.members() {
                if !names.contains(&member.key().into_owned()) {
                    names.push(member.key().into_owned());
                }
            }
        }
        names
    }

    /// The members that must be given: those that are required and have no default.
    pub(crate) fn needed(&self) -> Vec<String> {
        // Only the first part binds: the others may be alternatives.
        let required = self.parts.first().and_then(|part| part.get("required")?.read());
        let names: Vec<String> = required.unwrap_or_default();
        names.into_iter().filter(|name| self.default(name).is_none()).collect()
    }

    /// The value that a member has when it is not given.
    pub(crate) fn default(&self, name: &str) -> Option<RawJson> {
        self.property(name)?.parts.iter().find_map(|part| part.get("default"))
    }

    /// What the schema says of the items of a list.
    pub(crate) fn items(&self) -> Option<Self> {
        let schema = self.parts.iter().find_map(|part| part.get("items"))?;
        Some(Self::within(&self.root, &schema))
    }

    /// Whether a member that it does not know is most likely a mistake: it names its members and
    /// does not say that there may be others.
    pub(crate) fn is_closed(&self) -> bool {
        let is_open = |part: &RawJson| {
            let more = part.get("additionalProperties");
            more.is_some_and(|more| more.as_str() != "false")
                || part.get("patternProperties").is_some()
        };
        let forms = self.forms();
        let scalar = !forms.is_empty() && !forms.contains(&Form::Object);
        let names = self.parts.iter().any(|part| part.get("properties").is_some());
        let shut = |part: &RawJson| {
            part.get("additionalProperties").is_some_and(|more| more.as_str() == "false")
        };
        let states = scalar || names || self.parts.iter().any(shut);
        states && !self.parts.iter().any(is_open)
    }

    /// What it says of itself, for people.
    pub(crate) fn description(&self) -> Option<String> {
        self.parts.iter().find_map(|part| part.get("description")?.to_text())
    }
}

fn gather(root: &RawJson, schema: &RawJson, depth: usize, parts: &mut Vec<RawJson>) {
    if depth == 0 {
        return;
    }
    parts.push(schema.clone());
    if let Some(target) = schema.get("$ref").and_then(|it| target(root, &it.to_text()?)) {
        gather(root, &target, depth - 1, parts);
    }
    for word in ["allOf", "anyOf", "oneOf"] {
        let Some(alternatives) = schema.get(word) else { continue };
        for alternative in alternatives.elements() {
            gather(root, &alternative, depth - 1, parts);
        }
    }
}

/// What a reference within the document points to.
fn target(root: &RawJson, reference: &str) -> Option<RawJson> {
    let pointer = reference.strip_prefix('#')?;
    pointer
        .split('/')
        .skip(1)
        .try_fold(root.clone(), |here, key| here.get(&key.replace("~1", "/").replace("~0", "~")))
}

fn forms_of(part: &RawJson) -> Vec<Form> {
    let Some(stated) = part.get("type") else { return Vec::new() };
    let names: Vec<String> = match stated.to_text() {
        Some(name) => vec![name],
        None => stated.read().unwrap_or_default(),
    };
    names.iter().filter_map(|name| form(name)).collect()
}

fn form(name: &str) -> Option<Form> {
    Some(match name {
        "null" => Form::Null,
        "boolean" => Form::Boolean,
        "integer" => Form::Integer,
        "number" => Form::Number,
        "string" => Form::String,
        "array" => Form::Array,
        "object" => Form::Object,
        _ => return None,
    })
}
