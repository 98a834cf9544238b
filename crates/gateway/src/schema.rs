//! JSON Schema for the arguments and results of tools: compiled once, checked on every call.
//!
//! Nothing is ever fetched. A schema that comes from a stranger can be neither so large, so deep
//! nor so entangled that compiling it or checking a value against it takes long.

mod compiled;
mod defaults;
mod describe;
mod error;
mod instance;
mod pattern;
mod survey;
mod violation;
mod work;

use std::sync::OnceLock;

use gantry_protocol::json::RawJson;

use compiled::Compiled;
pub use error::SchemaError;
pub use violation::{Subject, Violation, Violations};

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
    /// The most steps that checking one value may take. What would take more is not accepted.
    pub steps: usize,
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
            backtracks: 1000,
            defaults: 256 * 1024,
            steps: 20_000_000,
        }
    }
}

/// A schema. Costly to make ready, cheap to use; share it behind an `Arc`.
#[derive(Debug)]
pub struct Schema {
    source: RawJson,
    limits: SchemaLimits,
    /// None if it turned out to be no schema, which nothing fits.
    compiled: OnceLock<Option<Compiled>>,
}

impl Schema {
    /// Compiles a schema: JSON Schema 2020-12, or the dialect that its `$schema` names.
    pub fn compile(source: &RawJson, limits: SchemaLimits) -> Result<Self, SchemaError> {
        let compiled = Compiled::new(source, limits)?;
        Ok(Self { source: source.clone(), limits, compiled: Some(compiled).into() })
    }

    /// A schema that a program has derived from its types, and so knows to be one. It is compiled
    /// when it is first used, so that a program which offers many tools starts at once.
    pub fn derived(source: &RawJson, limits: SchemaLimits) -> Self {
        Self { source: source.clone(), limits, compiled: OnceLock::new() }
    }

    /// The limits that it keeps to.
    pub fn limits(&self) -> SchemaLimits {
        self.limits
    }

    /// Checks a value.
    ///
    /// A number beyond the range of a 64-bit float cannot be checked and is a violation; one with
    /// more digits than such a float holds is checked as the nearest float.
    pub fn check(&self, value: &RawJson) -> Result<(), Violations> {
        self.compiled().map_or_else(|| Err(Violations::unexplained()), |it| it.check(value))
    }

    /// Whether a value is checked in so short a time that it can be done at once, where others wait.
    pub fn is_quick(&self, value: &RawJson) -> bool {
        self.compiled().is_none_or(|it| it.is_quick(value))
    }

    /// Fills in the `default` of every property that is missing, in the object itself and in the
    /// objects it holds. All that is there stays byte for byte.
    pub fn fill_defaults(&self, arguments: &RawJson) -> RawJson {
        self.compiled().map_or_else(|| arguments.clone(), |it| it.fill_defaults(arguments))
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

    fn compiled(&self) -> Option<&Compiled> {
        let compile = || match Compiled::new(&self.source, self.limits) {
            Ok(compiled) => Some(compiled),
            Err(error) => {
                tracing::error!(%error, "a schema that was derived from a type is none");
                None
            }
        };
        self.compiled.get_or_init(compile).as_ref()
    }
}

#[cfg(test)]
mod tests;
