//! The checks, one file for each kind. Every one takes a connected client and says what went wrong.

pub(crate) mod asking;
pub(crate) mod calls;
pub(crate) mod changes;
pub(crate) mod content;

use std::fmt::Debug;

/// Says what was expected unless it came.
#[expect(clippy::needless_pass_by_value, reason = "cases write their values in place")]
fn expect<T: Debug + PartialEq<E>, E: Debug>(
    what: &str,
    found: T,
    expected: E,
) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: {found:?} instead of {expected:?}")),
    }
}
