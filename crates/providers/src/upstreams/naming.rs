//! Names in an aggregated list: prefixed with the server, of characters that every client accepts,
//! shortened with a stable hash, and unique.

use std::collections::HashMap;

use gantry_gateway::{LONGEST_NAME, NameStyle, SHORTEST_NAME};

/// The longest name that the protocol allows.
pub(super) const LONGEST: usize = LONGEST_NAME;

/// The names given so far, and to whose thing each.
#[derive(Debug)]
pub(super) struct NameTable {
    given: HashMap<String, (String, String)>,
    length: usize,
}

/// A name that was given.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AssignedName {
    /// The name.
    pub(super) name: String,
    /// What it would be if that were not too long, or another's already.
    pub(super) full: Option<String>,
    /// Why it is not the one that was to be expected.
    pub(super) clash: Option<String>,
}

impl NameTable {
    /// No names yet; none will be longer than `length`.
    pub(super) fn new(length: usize) -> Self {
        Self { given: HashMap::new(), length: length.clamp(SHORTEST_NAME, LONGEST) }
    }

    /// Gives a name to what a server calls `own`. Must be called in the same order for the names
    /// to come out the same.
    pub(super) fn assign(&mut self, server: &str, prefix: &str, own: &str) -> AssignedName {
        let full = match prefix {
            "" => own.to_owned(),
            prefix => format!("{prefix}_{own}"),
        };
        let name = fit(&full, self.length);
        self.assign_exact(server, own, name, &full)
    }

    /// Gives a name that fits already, if nobody has it.
    pub(super) fn assign_exact(
        &mut self,
        server: &str,
        own: &str,
        name: String,
        full: &str,
    ) -> AssignedName {
        let Some((other, theirs)) = self.given.get(&name) else {
            self.keep(&name, server, own);
            let full = Some(clean(full)).filter(|full| *full != name);
            return AssignedName { name, full, clash: None };
        };
        let clash = format!("`{theirs}` of the server `{other}` has the name `{name}` already");
        let mut number = 0u32;
        let name = loop {
            let name = with_suffix(full, &format!("{server}\n{own}\n{number}"), self.length);
            if !self.given.contains_key(&name) {
                break name;
            }
            number += 1;
        };
        self.keep(&name, server, own);
        let clash = format!("`{own}` is offered as `{name}`, since {clash}; set a `prefix`");
        AssignedName { name, full: Some(clean(full)), clash: Some(clash) }
    }

    fn keep(&mut self, name: &str, server: &str, own: &str) {
        self.given.insert(name.to_owned(), (server.to_owned(), own.to_owned()));
    }
}

/// A name of allowed characters that is not too long. One that is shortened keeps its beginning,
/// and ends in what tells it from others that begin alike.
pub(super) fn fit(name: &str, length: usize) -> String {
    style(length).fit(name)
}

/// Whether a name may be that of a thing of a server with this prefix.
pub(super) fn begins_with(name: &str, prefix: &str) -> bool {
    let rest = name.strip_prefix(clean(prefix).as_str()).filter(|_| !prefix.is_empty());
    rest.is_some_and(|rest| rest.starts_with('_'))
}

/// The name that a tool has where it needs no prefix: its own, if the protocol allows it.
pub(super) fn own(name: &str) -> String {
    let allowed = |byte: u8| is_allowed(char::from(byte)) || byte == b'/';
    match name.len() <= LONGEST && name.bytes().all(allowed) {
        true => name.to_owned(),
        false => fit(name, LONGEST),
    }
}

/// A name for the file of a server: two servers never share one.
pub(super) fn file_name(server: &str) -> String {
    match server.len() <= LONGEST && !server.starts_with('.') && server.chars().all(is_allowed) {
        true => server.to_owned(),
        false => with_suffix(server, server, LONGEST).replace('.', "_"),
    }
}

fn with_suffix(name: &str, hashed: &str, length: usize) -> String {
    style(length).with_suffix(name, hashed)
}

fn clean(name: &str) -> String {
    style(LONGEST).clean(name)
}

/// Canonical names may have dots. What clients see is up to the catalog.
fn style(length: usize) -> NameStyle {
    NameStyle { dots: true, length }
}

fn is_allowed(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(wanted: &[(&str, &str, &str)], length: usize) -> Vec<String> {
        let mut names = NameTable::new(length);
        let assign = |(server, prefix, own): &(&str, &str, &str)| {
            let given = names.assign(server, prefix, own);
            assert!(given.name.len() <= length, "{given:?}");
            given.name
        };
        wanted.iter().map(assign).collect()
    }

    #[test]
    fn names_are_prefixed_and_cleaned() {
        let cases = [
            (("github", "github", "create_issue"), "github_create_issue"),
            (("github", "gh", "create_issue"), "gh_create_issue"),
            (("github", "", "create_issue"), "create_issue"),
            (("my server", "my server", "a/b c"), "my_server_a_b_c"),
            (("s", "s", "grüße"), "s_gr__e"),
            (("s", "s", "v1.two-three"), "s_v1.two-three"),
        ];
        for (wanted, expected) in cases {
            assert_eq!(given(&[wanted], 64), [expected]);
        }
    }

    #[test]
    fn a_long_name_is_cut_and_stays_the_same() {
        let long = "x".repeat(100);
        let names = given(&[("a", "a", &long), ("a", "a", &format!("{long}y"))], 64);
        assert!(names.iter().all(|name| name.len() == 64 && name.starts_with("a_xxx")));
        assert_ne!(names[0], names[1], "what differs beyond the cut still differs");
        assert_eq!(names, given(&[("a", "a", &long), ("a", "a", &format!("{long}y"))], 64));
        assert_eq!(given(&[("a", "", "abcdefghijklmnopqrstuvwxyz")], 20), ["abcdefghijk_49935c13"]);
    }

    #[test]
    fn of_two_that_are_alike_the_later_gets_a_suffix() {
        let mut names = NameTable::new(64);
        assert_eq!(names.assign("a", "a", "b_c").clash, None);
        let later = names.assign("a_b", "a_b", "c");
        assert!(later.name.starts_with("a_b_c_") && later.name.len() == 14, "{later:?}");
        let clash = later.clash.unwrap();
        assert!(clash.contains("`b_c` of the server `a`") && clash.contains(&later.name));
        let third = names.assign("z", "", "a_b_c");
        assert_ne!(third.name, later.name);
    }

    #[test]
    fn a_prefix_is_told_from_other_beginnings() {
        let cases = [
            ("a_b", "a", true),
            ("a_b", "a b", false),
            ("a_b_c", "a b", true),
            ("ab", "a", false),
            ("_a", "", false),
            ("a", "a", false),
        ];
        for (name, prefix, expected) in cases {
            assert_eq!(begins_with(name, prefix), expected, "{name} {prefix}");
        }
    }

    #[test]
    fn a_name_of_its_own_is_kept_if_it_is_allowed() {
        for name in ["plain", "with/slash", "v1.two-three"] {
            assert_eq!(own(name), name);
        }
        assert_eq!(own("a b"), "a_b");
        assert_eq!(own(&"x".repeat(200)).len(), LONGEST);
    }
}
