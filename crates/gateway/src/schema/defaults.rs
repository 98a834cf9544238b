//! Fills in the `default` values of a schema: they are gathered through properties, references and
//! `allOf` when the schema is compiled, and merged into the arguments of each call.

use std::collections::{HashMap, HashSet};

use gantry_protocol::json::RawJson;
use jsonschema::Draft;
use referencing::Resolver;
use serde_json::Value;

use super::SchemaError;
use super::bounds::{address, references};

/// The most properties of one object that are filled in.
const PROPERTIES: usize = 500;

/// The objects of a schema that have defaults in them. The first is the root.
#[derive(Debug)]
pub(super) struct Defaults {
    objects: Vec<Vec<Property>>,
    /// The most bytes to add to one value.
    limit: usize,
}

#[derive(Debug)]
struct Property {
    name: String,
    default: Option<RawJson>,
    /// The object, by its place in the list, that describes this property's value.
    object: Option<usize>,
}

impl Defaults {
    /// Gathers the defaults, or nothing when there are none.
    pub(super) fn collect(
        raw: &RawJson,
        document: &Value,
        resolver: &Resolver<'_>,
        draft: Draft,
        limit: usize,
    ) -> Result<Option<Self>, SchemaError> {
        let mut gather = Gather::default();
        gather.find_texts(raw, document);
        if gather.texts.is_empty() {
            return Ok(None);
        }
        gather.object(document, resolver, draft)?;
        let mut objects = gather.objects;
        prune(&mut objects);
        if objects.iter().any(|properties| properties.len() > PROPERTIES) {
            let what = "properties with defaults in one object";
            return Err(SchemaError::TooMany { what, limit: PROPERTIES });
        }
        Ok((!objects[0].is_empty()).then_some(Self { objects, limit }))
    }

    /// Fills in what is missing.
    pub(super) fn fill(&self, value: &RawJson) -> RawJson {
        let mut room = self.limit;
        self.fill_object(value, 0, &mut Vec::new(), &mut room)
    }

    /// `trail` holds the objects whose filling led here: a default that would be filled with
    /// itself without end is then taken as it stands.
    fn fill_object(
        &self,
        value: &RawJson,
        object: usize,
        trail: &mut Vec<usize>,
        room: &mut usize,
    ) -> RawJson {
        if !value.is_object() {
            return value.clone();
        }
        let properties = &self.objects[object];
        let present = present(value, properties);
        let mut edit = value.edit();
        trail.push(object);
        let (there, missing): (Vec<_>, Vec<_>) =
            properties.iter().zip(present).partition(|(_, present)| present.is_some());
        // First its own: a caller chooses how much it nests in what it gives, and could use up the
        // room there.
        for (property, _) in missing {
            if let Some(default) = self.missing(property, trail, room) {
                edit = edit.set(property.name.as_str(), default);
            }
        }
        trail.pop();
        for (property, there) in there {
            let filled = property
                .object
                .zip(there.as_ref())
                .map(|(object, there)| self.fill_object(there, object, &mut Vec::new(), room));
            if filled.is_some() && filled != there {
                edit = edit.set_some(property.name.as_str(), filled);
            }
        }
        edit.apply()
    }

    fn missing(
        &self,
        property: &Property,
        trail: &mut Vec<usize>,
        room: &mut usize,
    ) -> Option<RawJson> {
        let default = property.default.as_ref()?;
        *room = room.checked_sub(property.name.len() + default.bytes().len() + 4)?;
        match property.object {
            Some(object) if !trail.contains(&object) => {
                Some(self.fill_object(default, object, trail, room))
            }
            _ => Some(default.clone()),
        }
    }
}

/// The values of the properties that are there. Of a name that is there twice the last counts,
/// as it does for those who read the whole value.
fn present(value: &RawJson, properties: &[Property]) -> Vec<Option<RawJson>> {
    let mut present = vec![None; properties.len()];
    let places = properties.iter().enumerate().map(|(place, it)| (it.name.as_bytes(), place));
    // A caller may send very many members, each of which would be compared with every property.
    let places: HashMap<&[u8], usize> = places.collect();
    for member in value.members() {
        if let Some(place) = places.get(&*member.key_bytes()) {
            present[*place] = Some(member.value());
        }
    }
    present
}

/// Drops every property that neither has a default nor leads to one.
fn prune(objects: &mut [Vec<Property>]) {
    let mut useful = vec![false; objects.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for (index, properties) in objects.iter().enumerate() {
            let leads = |property: &Property| property.object.is_some_and(|it| useful[it]);
            let now = properties.iter().any(|it| it.default.is_some() || leads(it));
            if now && !useful[index] {
                useful[index] = true;
                changed = true;
            }
        }
    }
    for properties in objects {
        for property in properties.iter_mut() {
            property.object = property.object.filter(|it| useful[*it]);
        }
        properties.retain(|it| it.default.is_some() || it.object.is_some());
    }
}

/// The walk over a schema that gathers its defaults.
#[derive(Default)]
struct Gather {
    objects: Vec<Vec<Property>>,
    /// Which object stands for which subschema.
    known: HashMap<usize, usize>,
    /// The text of the `default` of each subschema that has one.
    texts: HashMap<usize, RawJson>,
}

impl Gather {
    /// Finds the text of every default: the parsed value has lost the text of its numbers and
    /// the order of its members.
    fn find_texts(&mut self, raw: &RawJson, value: &Value) {
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
    fn object(
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
