//! A schema made ready: what values are held against.

use gantry_protocol::json::{JsonLimits, RawJson};
use jsonschema::{Draft, PatternOptions, ReferencingError, Registry, Validator};
use serde_json::Value;

use super::defaults::Defaults;
use super::survey::{self, Survey, Surveyor};
use super::{SchemaError, SchemaLimits, Violations};

/// The longest value for which all violations are collected. Beyond it only the first is, for a
/// list of a million wrong items would otherwise become a million messages.
const EXPLAINED_SIZE: usize = 64 * 1024;

/// The most steps that collecting violations may take by the estimate of the survey.
const EXPLAINED_STEPS: usize = 1_000_000;

/// A schema made ready.
#[derive(Debug)]
pub(super) struct Compiled {
    validator: Validator,
    survey: Survey,
    defaults: Option<Defaults>,
}

impl Compiled {
    pub(super) fn new(raw: &RawJson, limits: SchemaLimits) -> Result<Self, SchemaError> {
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

    pub(super) fn check(&self, value: &RawJson) -> Result<(), Violations> {
        let parsed: Value = value.try_read().map_err(|error| Violations::unreadable(&error))?;
        if self.validator.is_valid(&parsed) {
            return Ok(());
        }
        Err(self.explain(&parsed, value.bytes().len()))
    }

    pub(super) fn fill_defaults(&self, arguments: &RawJson) -> RawJson {
        match &self.defaults {
            Some(defaults) => defaults.fill(arguments),
            None => arguments.clone(),
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
