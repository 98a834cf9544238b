//! A pattern in which `*` stands for any text, made ready for many names.

use gantry_gateway::glob;

/// A pattern, sorted by how much it takes to match it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Glob {
    Any,
    Exact(Box<str>),
    Prefix(Box<str>),
    Other(Box<str>),
}

impl Glob {
    pub(super) fn new(text: &str) -> Self {
        match text.split_once('*') {
            None => Self::Exact(text.into()),
            Some(("", "")) => Self::Any,
            Some((head, "")) => Self::Prefix(head.into()),
            Some(_) => Self::Other(text.into()),
        }
    }

    pub(super) fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exact(text) => **text == *name,
            Self::Prefix(head) => name.starts_with(&**head),
            Self::Other(text) => glob::matches(text, name),
        }
    }

    /// Whether a name that begins like this may fit.
    pub(super) fn may_match(&self, beginning: &str) -> bool {
        let head = match self {
            Self::Any => "",
            Self::Exact(text) => text,
            Self::Prefix(head) => head,
            Self::Other(text) => text.split_once('*').map_or(&**text, |(head, _)| head),
        };
        match self {
            Self::Exact(_) => head.starts_with(beginning),
            _ => head.starts_with(beginning) || beginning.starts_with(head),
        }
    }

    /// Whether every name that begins like this fits.
    pub(super) fn covers(&self, beginning: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Prefix(head) => beginning.starts_with(&**head),
            Self::Exact(_) | Self::Other(_) => false,
        }
    }
}

/// Whether one of the patterns fits; all do if there are none.
pub(super) fn any(globs: &[Glob], name: &str) -> bool {
    globs.is_empty() || globs.iter().any(|glob| glob.matches(name))
}

/// Patterns, made ready.
pub(super) fn all(texts: &[String]) -> Box<[Glob]> {
    texts.iter().map(|text| Glob::new(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names_and_beginnings() {
        // The pattern, a text; whether the text fits, whether something that begins so may fit, and
        // whether everything does.
        let cases = [
            ("*", "a", true, true, true),
            ("a", "a", true, true, false),
            ("a", "A", false, false, false),
            ("ab", "a", false, true, false),
            ("a", "ab", false, false, false),
            ("a*", "ab", true, true, true),
            ("ab*", "a", false, true, false),
            ("b*", "a", false, false, false),
            ("a*c", "ab", false, true, false),
            ("a*c", "abc", true, true, false),
            ("x*c", "abc", false, false, false),
            ("*c", "abc", true, true, false),
        ];
        for (pattern, text, fits, may, covers) in cases {
            let glob = Glob::new(pattern);
            let found = (glob.matches(text), glob.may_match(text), glob.covers(text));
            assert_eq!(found, (fits, may, covers), "{pattern} for {text}");
        }
    }
}
