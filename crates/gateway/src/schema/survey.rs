//! Looks over a schema before it is compiled: its dialects, and how large it is once every
//! reference stands for its target.

use std::collections::{HashMap, HashSet};

use jsonschema::Draft;
use referencing::Resolver;
use serde_json::Value;

use super::{SchemaError, SchemaLimits};

/// The address of a document that gives itself none.
pub(super) const BASE: &str = "json-schema:///";

/// The keywords that lead to another subschema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// What a subschema amounts to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Survey {
    /// Subschemas, with every reference replaced by its target.
    subschemas: usize,
    /// References back to a subschema they are part of.
    loops: usize,
}

impl Survey {
    /// About how many steps it takes at most to find every violation in a value this deep.
    pub(super) fn steps(self, depth: u32) -> usize {
        self.subschemas.saturating_mul(self.loops.max(1).saturating_pow(depth))
    }
}

/// Surveys one document. Subschemas are told apart by where they stand in memory.
pub(super) struct Surveyor {
    limits: SchemaLimits,
    patterns: usize,
    /// `None` while a subschema is being surveyed.
    seen: HashMap<usize, Option<Survey>>,
}

impl Surveyor {
    pub(super) fn new(limits: SchemaLimits) -> Self {
        Self { limits, patterns: 0, seen: HashMap::new() }
    }

    pub(super) fn survey(
        mut self,
        document: &Value,
        resolver: &Resolver<'_>,
        draft: Draft,
    ) -> Result<Survey, SchemaError> {
        self.visit(document, resolver, draft, self.limits.chain)
    }

    fn visit(
        &mut self,
        schema: &Value,
        resolver: &Resolver<'_>,
        draft: Draft,
        chain: usize,
    ) -> Result<Survey, SchemaError> {
        let place = address(schema);
        match self.seen.get(&place) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => {
                return Ok(Survey { subschemas: 1, loops: 1 });
            }
            None => self.seen.insert(place, None),
        };
        if draft.detect(schema) == Draft::Unknown {
            return Err(SchemaError::unknown_dialect(schema));
        }
        let chain =
            chain.checked_sub(1).ok_or(SchemaError::TooDeep { limit: self.limits.chain })?;
        self.count_patterns(schema)?;
        let mut sum = Survey { subschemas: 1, loops: 0 };
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

    fn add(&self, sum: &mut Survey, found: Survey) -> Result<(), SchemaError> {
        sum.subschemas += found.subschemas;
        sum.loops += found.loops;
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
fn children(schema: &Value, draft: Draft) -> impl Iterator<Item = &Value> {
    let definitions: HashSet<usize> = ["$defs", "definitions"]
        .iter()
        .filter_map(|keyword| schema.get(keyword)?.as_object())
        .flat_map(|named| named.values().map(address))
        .collect();
    draft.subresources_of(schema).filter(move |child| !definitions.contains(&address(child)))
}

/// How deep a value is nested.
pub(super) fn depth_of(value: &Value) -> u32 {
    let deepest = match value {
        Value::Array(items) => items.iter().map(depth_of).max(),
        Value::Object(members) => members.values().map(depth_of).max(),
        _ => return 0,
    };
    1 + deepest.unwrap_or(0)
}
