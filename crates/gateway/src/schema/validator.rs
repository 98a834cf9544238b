//! A compiled schema. Values are validated from an index over their text, not as a tree: the index takes at most four
//! bytes for each byte, a tree up to ninety, so that a few megabytes of small objects cannot take hundreds.

use std::sync::OnceLock;

use gantry_protocol::json::{FlatJson, FlatNode, JsonLimits, RawJson};
use jsonschema::{Draft, PatternOptions, ReferencingError, Registry, Validator};
use referencing::Resolver;
use serde_json::Value;

use super::bounds::{BoundsChecker, SchemaSize};
use super::cost::CostModel;
use super::defaults::Defaults;
use super::instance::{Flat, Instance};
use super::{SchemaError, SchemaLimits, Violations, bounds};

/// The longest value for which all violations are collected. Beyond it only the first is, for a
/// list of a million wrong items would otherwise become a million messages.
const EXPLAINED_SIZE: usize = 64 * 1024;

/// The most steps that collecting violations may take.
const EXPLAINED_STEPS: usize = 1_000_000;

/// The longest value that is checked at once, and the most steps that may take.
const AT_ONCE_SIZE: usize = 64 * 1024;
const AT_ONCE_STEPS: usize = 250_000;

/// A schema made ready.
#[derive(Debug)]
pub(super) struct CompiledSchema {
    validator: Validator<Flat>,
    size: SchemaSize,
    defaults: Option<Defaults>,
    /// The document, for counting the work of checking a value; most values need none of that.
    source: RawJson,
    work: OnceLock<Option<CostModel>>,
    limits: SchemaLimits,
}

impl CompiledSchema {
    pub(super) fn new(raw: &RawJson, limits: SchemaLimits) -> Result<Self, SchemaError> {
        let bounds = JsonLimits { size: limits.size, depth: limits.depth };
        let raw = RawJson::parse(raw.bytes().clone(), bounds)?;
        let document: Value = raw.try_read().map_err(|error| SchemaError::unreadable(&error))?;
        let draft = draft_of(&document)?;
        resolved(&document, draft, |resolver| {
            let size = BoundsChecker::new(limits).size(&document, resolver, draft)?;
            let validator = build(&document, draft, limits)?;
            let defaults = Defaults::collect(&raw, &document, resolver, draft, limits.defaults)?;
            let (source, work) = (raw.clone(), OnceLock::new());
            Ok(Self { validator, size, defaults, source, work, limits })
        })
    }

    /// Whether a value is checked in so short a time that nobody notices.
    pub(super) fn is_quick(&self, value: &RawJson) -> bool {
        let size = value.bytes().len();
        size <= AT_ONCE_SIZE
            && (self.size.is_within(size, AT_ONCE_STEPS)
                || FlatJson::new(value)
                    .is_ok_and(|it| self.is_within(it.root(), AT_ONCE_STEPS, true)))
    }

    fn is_within(&self, value: FlatNode<'_>, steps: usize, is_remembered: bool) -> bool {
        let count = || -> Result<CostModel, SchemaError> {
            let document: Value =
                self.source.try_read().map_err(|error| SchemaError::unreadable(&error))?;
            let draft = draft_of(&document)?;
            resolved(&document, draft, |it| CostModel::new(&document, it, draft, self.limits))
        };
        let work = self.work.get_or_init(|| count().ok());
        work.as_ref().is_some_and(|work| work.is_within(value, steps, is_remembered))
    }

    pub(super) fn check(&self, value: &RawJson) -> Result<(), Violations> {
        let indexed = FlatJson::new(value).map_err(Violations::unreadable)?;
        let steps = self.limits.steps;
        let is_surely_short =
            steps >= AT_ONCE_STEPS && self.size.is_within(value.bytes().len(), AT_ONCE_STEPS);
        if !is_surely_short && !self.is_within(indexed.root(), steps, true) {
            return Err(Violations::beyond_budget(steps));
        }
        if self.validator.is_valid(Instance::Value(indexed.root())) {
            return Ok(());
        }
        Err(self.explain(indexed.root(), value.bytes().len()))
    }

    pub(super) fn fill_defaults(&self, arguments: &RawJson) -> RawJson {
        match &self.defaults {
            Some(defaults) => defaults.fill(arguments),
            None => arguments.clone(),
        }
    }

    /// Validating is memoized, collecting violations is not: in a schema that refers to itself
    /// its cost can grow with every level of the value.
    fn explain(&self, value: FlatNode<'_>, size: usize) -> Violations {
        let is_short = self.size.is_within(size, EXPLAINED_STEPS);
        if !is_short && !self.is_within(value, EXPLAINED_STEPS, false) {
            return Violations::unexplained();
        }
        let instance = Instance::Value(value);
        if size > EXPLAINED_SIZE {
            return match self.validator.validate(instance) {
                Ok(()) => Violations::unexplained(),
                Err(error) => Violations::collect(value, std::iter::once(error)),
            };
        }
        Violations::collect(value, self.validator.iter_errors(instance))
    }
}

/// Works on a document with its references resolved.
fn resolved<T>(
    document: &Value,
    draft: Draft,
    work: impl FnOnce(&Resolver<'_>) -> Result<T, SchemaError>,
) -> Result<T, SchemaError> {
    let registry = registry_of(document, draft)?;
    let root = jsonschema::uri::from_str(bounds::BASE)?;
    let resolver = registry.resolver(root).in_subresource(draft.create_resource_ref(document))?;
    work(&resolver)
}

fn draft_of(document: &Value) -> Result<Draft, SchemaError> {
    match Draft::default().detect(document) {
        Draft::Unknown => Err(SchemaError::unknown_dialect(document)),
        draft => Ok(draft),
    }
}

fn registry_of(document: &Value, draft: Draft) -> Result<Registry<'_>, ReferencingError> {
    let resource = draft.create_resource_ref(document);
    Registry::new().draft(draft).add(bounds::BASE, resource)?.prepare()
}

/// Compiles with the linear-time engine. It knows no look-around, which generated schemas use
/// (for email addresses, say), so those get the other engine with a bound on its steps.
fn build(
    document: &Value,
    draft: Draft,
    limits: SchemaLimits,
) -> Result<Validator<Flat>, SchemaError> {
    let options = jsonschema::options_for::<Flat>().with_draft(draft).offline();
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
