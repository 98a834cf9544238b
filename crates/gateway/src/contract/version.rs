//! The version of the contract, and who may rely on it.

use super::error::ContractError;

/// The version of the contract spoken here. What is written for one 1.x is good for all.
pub const CONTRACT_VERSION: &str = "1.0.0";

/// The HTTP header in which either side names it.
pub const CONTRACT_HEADER: &str = "gantry-contract";

const MAJOR: &str = "1";

/// Checks that a version which someone asks for, `1`, `1.2` or `1.2.3`, is compatible.
pub fn check_version(asked: &str) -> Result<(), ContractError> {
    let mut numbers = asked.split('.');
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    let known = numbers.next() == Some(MAJOR);
    match known && asked.split('.').count() <= 3 && numbers.all(is_number) {
        true => Ok(()),
        false => Err(ContractError::Version(asked.chars().take(40).collect())),
    }
}
