//! JSON Schema for the arguments and results of tools: compiled once, checked on every call.
//!
//! Nothing is ever fetched. A schema that comes from a stranger can be neither so large, so deep
//! nor so entangled that compiling it or checking a value against it takes long.

mod defaults;
mod describe;
mod error;
mod survey;
mod violation;

use gantry_protocol::json::{JsonLimits, RawJson};
use jsonschema::{Draft, PatternOptions, ReferencingError, Registry, Validator};
use serde_json::Value;

use defaults::Defaults;
pub use error::SchemaError;
use survey::{Survey, Surveyor};
pub use violation::{Subject, Violation, Violations};

/// The longest value for which all violations are collected. Beyond it only the first is, for a
/// list of a million wrong items would otherwise become a million messages.
const EXPLAINED_SIZE: usize = 64 * 1024;

/// The most steps that collecting violations may take by the estimate of the survey.
const EXPLAINED_STEPS: usize = 1_000_000;

/// Bounds on a schema.
#[derive(Debug, Clone, Copy)]
pub struct SchemaLimits {
    /// The most bytes of the schema's text.
    pub size: usize,
    /// The deepest nesting of the schema's text.
    pub depth: usize,
    /// The most subschemas once every `$ref` stands for its target.
    pub subschemas: usize,
    /// The longest chain of subschemas and `$ref`s from the root.
    pub chain: usize,
    /// The most patterns.
    pub patterns: usize,
    /// The most bytes a compiled pattern may take.
    pub pattern_size: usize,
    /// The most steps back that a pattern with look-around may take on one value. All other
    /// patterns take linear time. Zero refuses patterns with look-around.
    pub backtracks: usize,
    /// The most bytes that filling in defaults may add to one value.
    pub defaults: usize,
}

impl Default for SchemaLimits {
    fn default() -> Self {
        Self {
            size: 1024 * 1024,
            depth: 100,
            subschemas: 100_000,
            chain: 256,
            patterns: 200,
            pattern_size: 2 * 1024 * 1024,
            backtracks: 10_000,
            defaults: 256 * 1024,
        }
    }
}

/// A compiled schema. Costly to make, cheap to use; share it behind an `Arc`.
#[derive(Debug)]
pub struct Schema {
    validator: Validator,
    survey: Survey,
    defaults: Option<Defaults>,
}

impl Schema {
    /// Compiles a schema: JSON Schema 2020-12, or the dialect that its `$schema` names.
    pub fn compile(raw: &RawJson, limits: SchemaLimits) -> Result<Self, SchemaError> {
        let bounds = JsonLimits { size: limits.size, depth: limits.depth };
        let raw = RawJson::parse(raw.bytes().clone(), bounds)?;
        let document: Value = raw.try_read().map_err(|error| SchemaError::unreadable(&error))?;
        let draft = draft_of(&document)?;
        let registry = registry_of(&document, draft)?;
        let root = jsonschema::uri::from_str(survey::BASE)?;
        let resolver =
            registry.resolver(root).in_subresource(draft.create_resource_ref(&document))?;
        let survey = Surveyor::new(limits).survey(&document, &resolver, draft)?;
        let validator = build(&document, draft, limits)?;
        let defaults = Defaults::collect(&raw, &document, &resolver, draft, limits.defaults)?;
        Ok(Self { validator, survey, defaults })
    }

    /// Checks a value.
    ///
    /// A number beyond the range of a 64-bit float cannot be checked and is a violation; one with
    /// more digits than such a float holds is checked as the nearest float.
    pub fn check(&self, value: &RawJson) -> Result<(), Violations> {
        let parsed: Value = value.try_read().map_err(|error| Violations::unreadable(&error))?;
        if self.validator.is_valid(&parsed) {
            return Ok(());
        }
        Err(self.explain(&parsed, value.bytes().len()))
    }

    /// Fills in the `default` of every property that is missing, in the object itself and in the
    /// objects it holds. All that is there stays byte for byte.
    pub fn fill_defaults(&self, arguments: &RawJson) -> RawJson {
        match &self.defaults {
            Some(defaults) => defaults.fill(arguments),
            None => arguments.clone(),
        }
    }

    /// The arguments as the tool shall see them: `{}` when there are none, defaults filled in,
    /// then checked.
    pub fn accept(&self, arguments: Option<&RawJson>) -> Result<RawJson, Violations> {
        let filled = self.fill_defaults(arguments.unwrap_or(&RawJson::EMPTY_OBJECT));
        match self.check(&filled) {
            Ok(()) => Ok(filled),
            Err(violations) => Err(violations.about(Subject::Arguments)),
        }
    }

    /// Validating is memoized, collecting violations is not: in a schema that refers to itself
    /// its cost can grow with every level of the value.
    fn explain(&self, value: &Value, size: usize) -> Violations {
        if self.survey.steps(survey::depth_of(value)) > EXPLAINED_STEPS {
            return Violations::unexplained();
        }
        if size > EXPLAINED_SIZE {
            return match self.validator.validate(value) {
                Ok(()) => Violations::unexplained(),
                Err(error) => Violations::collect(std::iter::once(error)),
            };
        }
        Violations::collect(self.validator.iter_errors(value))
    }
}

fn draft_of(document: &Value) -> Result<Draft, SchemaError> {
    match Draft::default().detect(document) {
        Draft::Unknown => Err(SchemaError::unknown_dialect(document)),
        draft => Ok(draft),
    }
}

fn registry_of(document: &Value, draft: Draft) -> Result<Registry<'_>, ReferencingError> {
    let resource = draft.create_resource_ref(document);
    Registry::new().draft(draft).add(survey::BASE, resource)?.prepare()
}

/// Compiles with the linear-time engine. It knows no look-around, which generated schemas use
/// (for email addresses, say), so those get the other engine with a bound on its steps.
fn build(document: &Value, draft: Draft, limits: SchemaLimits) -> Result<Validator, SchemaError> {
    let options = jsonschema::options().with_draft(draft).offline();
    let linear = PatternOptions::regex().size_limit(limits.pattern_size);
    let error = match options.clone().with_pattern_options(linear).build(document) {
        Ok(validator) => return Ok(validator),
        Err(error) => SchemaError::from(error),
    };
    if limits.backtracks == 0 || !matches!(error, SchemaError::Pattern { .. }) {
        return Err(error);
    }
    let bounded = PatternOptions::fancy_regex()
        .size_limit(limits.pattern_size)
        .backtrack_limit(limits.backtracks);
    options.with_pattern_options(bounded).build(document).map_err(SchemaError::from)
}

#[cfg(test)]
mod tests;
