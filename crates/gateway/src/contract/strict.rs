//! Reading an object by its keys, each of which may stand there once.

use std::collections::HashSet;

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::error::ContractError;

/// The values of certain keys of an object, none for those that are missing or null.
type Known<const N: usize> = [Option<RawJson>; N];

/// Reads an object that may have `keys` and no other.
pub(crate) fn read_object<const N: usize>(
    what: &'static str,
    value: &RawJson,
    keys: [&'static str; N],
) -> Result<Known<N>, ContractError> {
    let (known, further) = read_open_object(what, value, keys)?;
    match further.as_ref().and_then(|further| further.members().next()) {
        None => Ok(known),
        Some(member) => {
            let key = member.key().chars().take(80).collect();
            let allowed = keys.map(|key| format!("`{key}`")).join(", ");
            Err(ContractError::UnknownKey { what, key, allowed })
        }
    }
}

/// Reads an object that may have other keys beside `keys`; those come back as an object, if there
/// are any.
pub(crate) fn read_open_object<const N: usize>(
    what: &'static str,
    value: &RawJson,
    keys: [&'static str; N],
) -> Result<(Known<N>, Option<RawJson>), ContractError> {
    if !value.is_object() {
        return Err(ContractError::NotAnObject(what));
    }
    let mut found = [const { None }; N];
    let (mut seen, mut further) = (HashSet::new(), ObjectWriter::new());
    for member in value.members() {
        let is_new = match keys.iter().position(|key| member.is(key)) {
            Some(index) => found[index].replace(member.value()).is_none(),
            None => {
                further = further.member(&member);
                seen.insert(member.key().into_owned())
            }
        };
        if !is_new {
            let key = member.key().chars().take(80).collect();
            return Err(ContractError::DoubledKey { what, key });
        }
    }
    let known = found.map(|value| value.filter(|value| !value.is_null()));
    Ok((known, (!seen.is_empty()).then(|| further.finish().compact())))
}
