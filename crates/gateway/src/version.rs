//! Semantic versions: read strictly, ordered by precedence. What a change demands of a version is
//! said in `change`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// The longest text that is read as a version.
const LENGTH: usize = 256;

/// A semantic version, as semver 2.0 defines it.
///
/// Two versions that differ only in build metadata are equal, for neither precedes the other.
///
/// ```
/// use gantry_gateway::Version;
/// let version: Version = "1.4.0-rc.2+linux".parse().unwrap();
/// assert!(version < "1.4.0".parse().unwrap());
/// assert_eq!(version.to_string(), "1.4.0-rc.2+linux");
/// ```
#[derive(Debug, Clone)]
pub struct Version {
    /// Rises with breaking changes.
    pub major: u64,
    /// Rises with compatible changes.
    pub minor: u64,
    /// Rises with changes that no caller notices.
    pub patch: u64,
    /// The identifiers after `-`; none in a release.
    pre: Vec<Identifier>,
    /// The text after `+`; it has no part in the order.
    build: Option<String>,
}

/// Why a text is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VersionError {
    /// The text is longer than any version should be.
    #[error("a version of {0} bytes is too long; write at most {LENGTH}")]
    TooLong(usize),
    /// There are not three numbers.
    #[error("`{0}` is not a version; write three numbers, as in `1.0.0`")]
    NotThreeNumbers(String),
    /// One of the three numbers is not a number, is too large, or begins with a zero.
    #[error("`{part}` in the version `{version}` is not a number without leading zeros")]
    Number {
        /// The whole text.
        version: String,
        /// The part that is wrong.
        part: String,
    },
    /// An identifier of the pre-release or build part is wrong.
    #[error(
        "`{part}` in the version `{version}` is not made of letters, digits and `-` alone, or is a number with a leading zero"
    )]
    Identifier {
        /// The whole text.
        version: String,
        /// The part that is wrong.
        part: String,
    },
}

impl Version {
    /// A release.
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self { major, minor, patch, pre: Vec::new(), build: None }
    }

    /// Whether this precedes the release of the same numbers.
    pub fn is_pre_release(&self) -> bool {
        !self.pre.is_empty()
    }

    /// The three numbers.
    pub fn numbers(&self) -> (u64, u64, u64) {
        (self.major, self.minor, self.patch)
    }
}

/// One identifier of a pre-release. Numbers are kept as their digits, for they have no limit.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Identifier {
    Number(String),
    Text(String),
}

impl Ord for Identifier {
    /// A number precedes any text (semver 2.0, section 11.4).
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(one), Self::Number(two)) => (one.len(), one).cmp(&(two.len(), two)),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
            (Self::Text(one), Self::Text(two)) => one.cmp(two),
        }
    }
}

impl PartialOrd for Identifier {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        // Without identifiers it is a release, which comes after all its pre-releases.
        let release = |version: &Self| version.pre.is_empty();
        self.numbers()
            .cmp(&other.numbers())
            .then_with(|| release(self).cmp(&release(other)))
            .then_with(|| self.pre.cmp(&other.pre))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Version {}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (index, identifier) in self.pre.iter().enumerate() {
            let (Identifier::Number(text) | Identifier::Text(text)) = identifier;
            write!(formatter, "{}{text}", if index == 0 { '-' } else { '.' })?;
        }
        self.build.iter().try_for_each(|build| write!(formatter, "+{build}"))
    }
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        if text.len() > LENGTH {
            return Err(VersionError::TooLong(text.len()));
        }
        let (rest, build) = split(text, '+');
        let (numbers, pre) = split(rest, '-');
        let parts: Vec<&str> = numbers.split('.').collect();
        let [major, minor, patch] = parts[..] else {
            return Err(VersionError::NotThreeNumbers(text.to_owned()));
        };
        let number = |part: &str| {
            let good = is_number(part).then(|| part.parse().ok()).flatten();
            good.ok_or_else(|| VersionError::Number { version: text.into(), part: part.into() })
        };
        let wrong =
            |part: &str| VersionError::Identifier { version: text.into(), part: part.into() };
        let (major, minor, patch) = (number(major)?, number(minor)?, number(patch)?);
        let pre = pre.map_or(Ok(Vec::new()), |pre| {
            pre.split('.').map(|part| identifier(part).ok_or_else(|| wrong(part))).collect()
        })?;
        if let Some(part) = build.and_then(|it| it.split('.').find(|part| !is_word(part))) {
            return Err(wrong(part));
        }
        Ok(Self { major, minor, patch, pre, build: build.map(str::to_owned) })
    }
}

/// What stands before the first `sign`, and what after it.
fn split(text: &str, sign: char) -> (&str, Option<&str>) {
    match text.split_once(sign) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn identifier(part: &str) -> Option<Identifier> {
    if !is_word(part) {
        return None;
    }
    if part.bytes().all(|byte| byte.is_ascii_digit()) {
        return is_number(part).then(|| Identifier::Number(part.to_owned()));
    }
    Some(Identifier::Text(part.to_owned()))
}

/// Digits without a leading zero.
fn is_number(part: &str) -> bool {
    let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits && (part == "0" || !part.starts_with('0'))
}

fn is_word(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn texts() {
        let good = [
            "0.0.0",
            "1.0.0",
            "10.20.30",
            "1.0.0-dev",
            "1.0.0-alpha.1",
            "1.0.0-0A.is.legal",
            "1.0.0--",
            "1.0.0-x-y-z.--",
            "1.0.0+001",
            "1.0.0-rc.1+build.5-7",
            "1.0.0+a-b",
            "18446744073709551615.0.0",
            "1.0.0-99999999999999999999999",
        ];
        for text in good {
            assert_eq!(version(text).to_string(), text);
        }
        let bad = [
            "",
            "1",
            "1.0",
            "1.0.0.0",
            "01.0.0",
            "1.00.0",
            "1.0.-1",
            "v1.0.0",
            " 1.0.0",
            "1.0.0 ",
            "1.0.0-",
            "1.0.0+",
            "1.0.0-01",
            "1.0.0-a..b",
            "1.0.0-ä",
            "1.0.0+a+b",
            "1.0.0+a..b",
            "18446744073709551616.0.0",
            "1.0.x",
            "1..0",
            "+1.0.0",
            "-1.0.0",
            "1.0.0-a_b",
        ];
        for text in bad {
            assert!(text.parse::<Version>().is_err(), "{text:?}");
        }
        assert_eq!("1".repeat(300).parse::<Version>(), Err(VersionError::TooLong(300)));
    }

    #[test]
    fn order() {
        let rising = [
            "0.0.1",
            "0.1.0",
            "1.0.0-0",
            "1.0.0-2",
            "1.0.0-10",
            "1.0.0-99999999999999999999999",
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0-rc.1",
            "1.0.0",
            "1.0.1",
            "1.2.0",
            "1.10.0",
            "2.0.0",
        ];
        for (index, one) in rising.iter().enumerate() {
            for (other_index, two) in rising.iter().enumerate() {
                let order = version(one).cmp(&version(two));
                assert_eq!(order, index.cmp(&other_index), "{one} {two}");
            }
        }
        assert_eq!(version("1.0.0+a"), version("1.0.0+b"));
    }
}
