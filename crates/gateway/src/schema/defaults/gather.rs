//! Gathers the defaults of a schema through its properties, references and `allOf`.

use std::collections::{HashMap, HashSet};

use gantry_protocol::json::RawJson;
use jsonschema::Draft;
use referencing::Resolver;
use serde_json::Value;

use super::Property;
use crate::schema::SchemaError;
use crate::schema::survey::{address, references};

/// The walk over a schema that gathers its defaults.
#[derive(Default)]
pub(super) struct Gather {
    pub(super) objects: Vec<Vec<Property>>,
    /// Which object stands for which subschema.
    known: HashMap<usize, usize>,
    /// The text of the `default` of each subschema that has one.
    pub(super) texts: HashMap<usize, RawJson>,
}

impl Gather {
    /// Finds the text of every default: the parsed value has lost the text of its numbers and
    /// the order of its members.
    pub(super) fn find_texts(&mut self, raw: &RawJson, value: &Value) {
        match value {
            Value::Object(members) => {
                for member in raw.members() {
                    let name = member.key();
                    if name == "default" {
                        self.texts.insert(address(value), member.value());
                    }
                    if let Some(inner) = members.get(name.as_ref()) {
                        self.find_texts(&member.value(), inner);
                    }
                }
            }
            Value::Array(items) => {
                for (raw, item) in raw.elements().zip(items) {
                    self.find_texts(&raw, item);
                }
            }
            _ => {}
        }
    }

    /// The object that stands for a subschema.
    pub(super) fn object(
        &mut self,
        schema: &Value,
        resolver: &Resolver<'_>,
        draft: Draft,
    ) -> Result<usize, SchemaError> {
        if let Some(known) = self.known.get(&address(schema)) {
            return Ok(*known);
        }
        let index = self.objects.len();
        self.known.insert(address(schema), index);
        self.objects.push(Vec::new());
        let mut names = HashSet::new();
        for (part, resolver, draft) in Parts::of(schema, resolver, draft)? {
            let properties = part.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                if !names.insert(name) {
                    continue;
                }
                let inside = resolver.in_subresource(draft.create_resource_ref(property))?;
                let found = self.property(name, property, &inside, draft)?;
                self.objects[index].push(found);
            }
        }
        Ok(index)
    }

    fn property(
        &mut self,
        name: &str,
        schema: &Value,
        resolver: &Resolver<'_>,
        draft: Draft,
    ) -> Result<Property, SchemaError> {
        let object = Some(self.object(schema, resolver, draft)?);
        let parts = Parts::of(schema, resolver, draft)?;
        let default = parts.iter().find_map(|(part, ..)| self.texts.get(&address(part)).cloned());
        Ok(Property { name: name.to_owned(), default, object })
    }
}

/// A subschema and all that apply wherever it does: what it refers to and what is in `allOf`.
#[derive(Default)]
struct Parts<'a> {
    list: Vec<(&'a Value, Resolver<'a>, Draft)>,
    seen: HashSet<usize>,
}

impl<'a> Parts<'a> {
    fn of(
        schema: &'a Value,
        resolver: &Resolver<'a>,
        draft: Draft,
    ) -> Result<Vec<(&'a Value, Resolver<'a>, Draft)>, SchemaError> {
        let mut parts = Self::default();
        parts.add(schema, resolver, draft)?;
        Ok(parts.list)
    }

    fn add(
        &mut self,
        schema: &'a Value,
        resolver: &Resolver<'a>,
        draft: Draft,
    ) -> Result<(), SchemaError> {
        if !self.seen.insert(address(schema)) {
            return Ok(());
        }
        self.list.push((schema, resolver.clone(), draft));
        for reference in references(schema) {
            let (target, resolver, draft) = resolver.lookup(reference)?.into_inner();
            self.add(target, &resolver, draft)?;
        }
        let all = schema.get("allOf").and_then(Value::as_array);
        for member in all.into_iter().flatten() {
            let inside = resolver.in_subresource(draft.create_resource_ref(member))?;
            self.add(member, &inside, draft)?;
        }
        Ok(())
    }
}
