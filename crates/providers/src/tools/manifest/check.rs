//! The forms of a name and of a version.

/// The longest name the protocol allows.
const LONGEST_NAME: usize = 128;

/// Whether a name is `module.tool`: two parts or more, each of `a` to `z`, digits and `_`.
pub fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(fits);
    name.len() <= LONGEST_NAME && name.contains('.') && name.split('.').all(is_part)
}

/// Whether a version is semantic: three numbers, and perhaps `-` with a pre-release.
pub fn is_version(version: &str) -> bool {
    let (numbers, pre_release) = match version.split_once('-') {
        Some((numbers, pre_release)) => (numbers, Some(pre_release)),
        None => (version, None),
    };
    numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && pre_release.is_none_or(|text| text.split('.').all(is_identifier))
}

fn is_number(text: &str) -> bool {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && (text == "0" || !text.starts_with('0')) && text.parse::<u64>().is_ok()
}

fn is_identifier(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    !text.is_empty() && text.bytes().all(fits) && (!is_digits || is_number(text))
}
