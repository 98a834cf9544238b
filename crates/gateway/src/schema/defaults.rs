//! The `default` values of a schema's properties, gathered once, filled in on every call.

mod gather;

use std::collections::HashMap;

use gantry_protocol::json::RawJson;
use jsonschema::Draft;
use referencing::Resolver;
use serde_json::Value;

use super::SchemaError;
use gather::Gather;

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
        for (property, present) in properties.iter().zip(present) {
            let filled = match &present {
                Some(there) => property
                    .object
                    .map(|object| self.fill_object(there, object, &mut Vec::new(), room)),
                None => self.missing(property, trail, room),
            };
            if filled != present {
                edit = edit.set_some(property.name.as_str(), filled);
            }
        }
        trail.pop();
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
