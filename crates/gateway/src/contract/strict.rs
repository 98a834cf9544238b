//! Reading an object that may have certain keys, each once, and no other.

use gantry_protocol::RawJson;

use super::error::ContractError;

/// The values of `keys` in `value`, none for those that are missing or null.
pub(crate) fn read_object<const N: usize>(
    what: &'static str,
    value: &RawJson,
    keys: [&'static str; N],
) -> Result<[Option<RawJson>; N], ContractError> {
    if !value.is_object() {
        return Err(ContractError::NotAnObject(what));
    }
    let mut found = [const { None }; N];
    for member in value.members() {
        let Some(index) = keys.iter().position(|key| member.is(key)) else {
            let key = member.key().chars().take(80).collect();
            let allowed = keys.map(|key| format!("`{key}`")).join(", ");
            return Err(ContractError::UnknownKey { what, key, allowed });
        };
        if found[index].replace(member.value()).is_some() {
            return Err(ContractError::DoubledKey { what, key: keys[index] });
        }
    }
    Ok(found.map(|value| value.filter(|value| !value.is_null())))
}
