//! Variables in values: `${VAR}`, `${VAR:-default}` and `${env:VAR}`.

use super::Lookup;

/// Why a value cannot be expanded.
#[derive(Debug, PartialEq, Eq)]
pub enum ExpandError {
    /// The variable has no value.
    Unset(String),
    /// `${` without `}`.
    Open,
}

/// Replaces the variables in a text by what `lookup` gives for them.
pub fn expand(text: &str, lookup: Lookup<'_>) -> Result<String, ExpandError> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        expanded.push_str(&rest[..start]);
        let inside = &rest[start + 2..];
        let end = inside.find('}').ok_or(ExpandError::Open)?;
        expanded.push_str(&value(&inside[..end], lookup)?);
        rest = &inside[end + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn value(reference: &str, lookup: Lookup<'_>) -> Result<String, ExpandError> {
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    // As in a shell, a default also stands in for an empty value.
    let found = lookup(name).filter(|value| default.is_none() || !value.is_empty());
    let found = found.or_else(|| default.map(str::to_owned));
    found.ok_or_else(|| ExpandError::Unset(name.to_owned()))
}
