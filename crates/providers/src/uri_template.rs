//! URI templates (RFC 6570): a family of resources under one name. Both ways: from variables to
//! a URI, and from a URI back to the variables.
//!
//! Expanding covers all four levels. Matching is the reverse where that has one answer:
//! - A variable comes back as text; one with the explode modifier (`{/path*}`) as a list. A list
//!   without that modifier comes back as one text with commas.
//! - Named variables (`{?a,b}`, `{&a}`, `{;a}`) are found in the order of the template, and each
//!   may be absent. So may those of `{/a}`, `{.a}` and `{#a}`. `{a}` and `{+a}` need at least one
//!   character, since an empty value could not be told from an absent one.
//! - A prefix (`{name:3}`) comes back as long as it is in the URI, unless the template has the
//!   whole variable too; then the two must agree.
//! - Members of an exploded map have names of their own, so they match no variable.
//!
//! A template that leaves open where one variable ends and the next begins (`{a}{b}`,
//! `{/list*,a}`) is refused.

mod expand;
mod pattern;
mod syntax;
mod variables;

use expand::Expansion;
use pattern::Pattern;
pub use variables::{Variable, Variables};

/// The longest template.
const TEMPLATE_LENGTH: usize = 4096;

/// The most expressions in a template, and the most variables in all of them.
const VARIABLES: usize = 32;

/// The most memory that a compiled template takes, in bytes.
const COMPILED: usize = 64 * 1024;

/// The longest URI that is matched.
const URI_LENGTH: usize = 8 * 1024;

/// Why a template was not taken or not expanded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The template is too long.
    #[error("the URI template has {length} bytes, more than the limit of {TEMPLATE_LENGTH}")]
    TooLong {
        /// Bytes in the template.
        length: usize,
    },
    /// The template has too many variables.
    #[error("the URI template has more than {VARIABLES} variables")]
    TooManyVariables,
    /// The template takes too much memory.
    #[error("the URI template takes more than {COMPILED} bytes when it is compiled")]
    TooLarge,
    /// The template breaks the rules of RFC 6570.
    #[error("`{template}` is not a URI template: {reason}")]
    Syntax {
        /// The template.
        template: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// The template cannot be matched, for a URI could be read in more than one way.
    #[error(
        "the URI template leaves open where `{variable}` ends; \
         put text between it and the variable that follows"
    )]
    Ambiguous {
        /// The variable whose end cannot be found.
        variable: String,
    },
    /// Only a text has a prefix.
    #[error("`{variable}` is not a text, so the URI template cannot take its first characters")]
    Prefix {
        /// The variable.
        variable: String,
    },
}

/// A parsed template.
#[derive(Debug, Clone)]
pub struct Template {
    text: String,
    pattern: Pattern,
}

impl Template {
    /// Parses a template.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.len() > TEMPLATE_LENGTH {
            return Err(TemplateError::TooLong { length: text.len() });
        }
        let tokens = tokens_of(text)?;
        if tokens.iter().map(syntax::Token::variables).sum::<usize>() > VARIABLES {
            return Err(TemplateError::TooManyVariables);
        }
        Ok(Self { text: text.to_owned(), pattern: Pattern::new(&tokens)? })
    }

    /// The template as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Bytes of memory that it takes, beyond its text.
    pub(crate) fn memory(&self) -> usize {
        self.pattern.memory()
    }

    /// The names of the variables in the order of the template, each once.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pattern.names()
    }

    /// The variables that a URI has by this template, percent-decoded; `None` when the URI is
    /// not of the template's form. Takes time linear in the URI.
    ///
    /// A value may hold anything once decoded, `/` and `..` included: check it before using it
    /// as a path.
    pub fn matches(&self, uri: &str) -> Option<Variables> {
        if uri.len() > URI_LENGTH {
            return None;
        }
        self.pattern.matches(uri)
    }

    /// The URI for these variables. Those that are missing are left out, as the RFC says.
    pub fn expand(&self, variables: &Variables) -> Result<String, TemplateError> {
        Expansion::of(&tokens_of(&self.text)?, variables)
    }
}

fn tokens_of(text: &str) -> Result<Vec<syntax::Token<'_>>, TemplateError> {
    syntax::tokens(text)
        .map_err(|reason| TemplateError::Syntax { template: text.to_owned(), reason })
}

impl std::fmt::Display for Template {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
