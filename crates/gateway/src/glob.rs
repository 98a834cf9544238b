//! Glob patterns for names, in which `*` matches any text.

/// Whether a name is chosen: by one of `include`, or by none if there are none, and not by one of
/// `exclude`.
pub fn chosen(include: &[String], exclude: &[String], name: &str) -> bool {
    let fits = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
    (include.is_empty() || fits(include)) && !fits(exclude)
}

/// Whether the whole name fits the pattern. Takes time linear in both for each `*`.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    let inner = name.strip_prefix(head).and_then(|name| name.strip_suffix(tail));
    let Some(mut name) = inner else { return false };
    for part in middle.split('*') {
        // The first place is the best one: it leaves the most for what follows.
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let cases = [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("*", "anything", true),
            ("get_*", "get_issue", true),
            ("get_*", "forget_issue", false),
            ("*_issue", "get_issue", true),
            ("*_issue", "get_issues", false),
            ("g*t*e", "get_issue", true),
            ("g*t*x", "get_issue", false),
            ("aa*aa", "aaa", false),
            ("a**b", "ab", true),
            ("", "", true),
            ("", "a", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} for {name}");
        }
    }

    #[test]
    fn what_is_excluded_is_not_chosen() {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let cases: [(&[&str], &[&str], bool); 5] = [
            (&[], &[], true),
            (&["a*"], &[], true),
            (&["b*", "a*"], &[], true),
            (&["b*"], &[], false),
            (&["a*"], &["*c"], false),
        ];
        for (include, exclude, expected) in cases {
            let is_chosen = chosen(&list(include), &list(exclude), "abc");
            assert_eq!(is_chosen, expected, "{include:?} without {exclude:?}");
        }
    }
}
