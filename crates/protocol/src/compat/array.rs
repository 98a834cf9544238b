//! Changing some elements of an array and copying nothing when none changes.

use std::convert::Infallible;

use crate::json::RawJson;

/// The array with the elements that `change` gives a new value for; none when it gives none.
pub(super) fn map(
    array: &RawJson,
    mut change: impl FnMut(&RawJson) -> Option<RawJson>,
) -> Option<RawJson> {
    match try_map(array, |element| Ok::<_, Infallible>(change(element))) {
        Ok(changed) => changed,
        Err(never) => match never {},
    }
}

/// The same, where a change may fail.
pub(super) fn try_map<E>(
    array: &RawJson,
    mut change: impl FnMut(&RawJson) -> Result<Option<RawJson>, E>,
) -> Result<Option<RawJson>, E> {
    let mut changed: Option<Vec<RawJson>> = None;
    for (index, element) in array.elements().enumerate() {
        match (change(&element)?, &mut changed) {
            (None, None) => {}
            (None, Some(list)) => list.push(element),
            (Some(new), Some(list)) => list.push(new),
            (Some(new), none) => {
                let before = array.elements().take(index);
                *none = Some(before.chain([new]).collect());
            }
        }
    }
    Ok(changed.map(|list| RawJson::array(&list)))
}
