//! Bounds of a schema, checked before it is compiled: its dialects, and how large it is once every reference is
//! replaced by its target. Refuses exponential growth of `$ref`.

use std::collections::{HashMap, HashSet};

use jsonschema::Draft;
use referencing::Resolver;
use serde_json::Value;

use super::{SchemaError, SchemaLimits, cost, regex};

/// The address of a document that gives itself none.
pub(super) const BASE: &str = "json-schema:///";

/// The keywords that lead to another subschema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// What a subschema amounts to.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaSize {
    /// Subschemas, with every reference replaced by its target.
    subschemas: usize,
    /// References back to a subschema they are part of.
    loops: usize,
    /// Steps that all of them take on one value; see [`super::cost`].
    weight: usize,
}

impl SchemaSize {
    /// Whether a value of that many bytes is surely checked within that many steps: without loops a
    /// subschema is held against each part of it once at most.
    pub(super) fn is_within(self, bytes: usize, steps: usize) -> bool {
        self.loops == 0 && self.weight.saturating_mul(bytes) <= steps
    }
}

/// Surveys one document. Subschemas are told apart by where they stand in memory.
pub(super) struct BoundsChecker {
    limits: SchemaLimits,
    patterns: usize,
    /// `None` while a subschema is being surveyed.
    seen: HashMap<usize, Option<SchemaSize>>,
}

impl BoundsChecker {
    pub(super) fn new(limits: SchemaLimits) -> Self {
        Self { limits, patterns: 0, seen: HashMap::new() }
    }

    pub(super) fn size(
        mut self,
        document: &Value,
        resolver: &Resolver<'_>,
        draft: Draft,
    ) -> Result<SchemaSize, SchemaError> {
        self.visit(document, resolver, draft, self.limits.chain)
    }

    fn visit(
        &mut self,
        schema: &Value,
        resolver: &Resolver<'_>,
        draft: Draft,
        chain: usize,
    ) -> Result<SchemaSize, SchemaError> {
        let place = address(schema);
        match self.seen.get(&place) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => {
                return Ok(SchemaSize { subschemas: 1, loops: 1, weight: 1 });
            }
            None => self.seen.insert(place, None),
        };
        if draft.detect(schema) == Draft::Unknown {
            return Err(SchemaError::unknown_dialect(schema));
        }
        let chain =
            chain.checked_sub(1).ok_or(SchemaError::TooDeep { limit: self.limits.chain })?;
        self.count_patterns(schema)?;
        let weight = own_weight(schema, self.limits);
        let mut sum = SchemaSize { subschemas: 1, loops: 0, weight };
        for reference in references(schema) {
            let (target, resolver, draft) = resolver.lookup(reference)?.into_inner();
            let found = self.visit(target, &resolver, draft, chain)?;
            self.add(&mut sum, found)?;
        }
        for child in children(schema, draft) {
            let resolver = resolver.in_subresource(draft.create_resource_ref(child))?;
            let found = self.visit(child, &resolver, draft, chain)?;
            self.add(&mut sum, found)?;
        }
        self.seen.insert(place, Some(sum));
        Ok(sum)
    }

    fn add(&self, sum: &mut SchemaSize, found: SchemaSize) -> Result<(), SchemaError> {
        sum.subschemas += found.subschemas;
        sum.loops += found.loops;
        sum.weight = sum.weight.saturating_add(found.weight);
        let limit = self.limits.subschemas;
        if sum.subschemas > limit {
            return Err(SchemaError::TooMany { what: "subschemas", limit });
        }
        Ok(())
    }

    fn count_patterns(&mut self, schema: &Value) -> Result<(), SchemaError> {
        let named = schema.get("patternProperties").and_then(Value::as_object);
        self.patterns += usize::from(schema.get("pattern").is_some());
        self.patterns += named.map_or(0, serde_json::Map::len);
        let limit = self.limits.patterns;
        if self.patterns > limit {
            return Err(SchemaError::TooMany { what: "patterns", limit });
        }
        Ok(())
    }
}

/// Where a subschema stands in memory, which tells it from all others in its document.
pub(super) fn address(schema: &Value) -> usize {
    std::ptr::from_ref(schema).addr()
}

/// The references that a subschema makes.
pub(super) fn references(schema: &Value) -> impl Iterator<Item = &str> {
    REFERENCES.iter().filter_map(|keyword| schema.get(keyword)?.as_str())
}

/// The subschemas of a schema but for its definitions, which count where they are referred to.
pub(super) fn children(schema: &Value, draft: Draft) -> impl Iterator<Item = &Value> {
    let definitions: HashSet<usize> = ["$defs", "definitions"]
        .iter()
        .filter_map(|keyword| schema.get(keyword)?.as_object())
        .flat_map(|named| named.values().map(address))
        .collect();
    draft.subresources_of(schema).filter(move |child| !definitions.contains(&address(child)))
}

/// Steps that a subschema takes on one value, patterns counted as for one short text each.
fn own_weight(schema: &Value, limits: SchemaLimits) -> usize {
    let Some(members) = schema.as_object() else { return 1 };
    let named = members.get("patternProperties").and_then(Value::as_object);
    let patterns = members.get("pattern").and_then(Value::as_str).into_iter();
    let patterns = patterns.chain(named.into_iter().flat_map(|it| it.keys().map(String::as_str)));
    let patterns = patterns.map(|it| 2 * regex::steps(it, limits.backtracks)).sum::<usize>();
    let twice = 1 + usize::from(members.contains_key("unevaluatedProperties"));
    twice * cost::weight(members).saturating_add(patterns)
}
