//! The forms of a name and of a version.

use gantry_gateway::Version;

/// The longest name the protocol allows.
const LONGEST_NAME: usize = 128;

/// Whether a name is `module.tool`: two parts or more, each of `a` to `z`, digits and `_`.
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(fits);
    name.len() <= LONGEST_NAME && name.contains('.') && name.split('.').all(is_part)
}

/// Whether a version is semantic.
pub fn is_version(version: &str) -> bool {
    version.parse::<Version>().is_ok()
}
