//! The names that clients and models see. Model APIs refuse names with dots and other characters,
//! and agents put a prefix before each name and cut what is longer than 64 characters.

use std::sync::Arc;

/// A hash in digits, and the `_` before it.
const SUFFIX: usize = 9;

/// The shortest length that may be asked for.
pub const SHORTEST_NAME: usize = 2 * SUFFIX;

/// The longest name that the protocol allows.
pub const LONGEST_NAME: usize = 128;

/// What the names may look like that clients see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameStyle {
    /// Whether dots stay.
    pub dots: bool,
    /// The most characters of a name.
    pub length: usize,
}

/// The names of a tool or prompt beside those that its provider gave it. The catalog makes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientNames {
    /// The name that clients of this endpoint see.
    pub shown: Arc<str>,
    /// The canonical name in the form that clients see, whichever endpoint this is.
    pub canonical: Arc<str>,
    /// What its server calls it, in the form that clients see at the server's own endpoint.
    pub own: Arc<str>,
    /// The same with a suffix: what clients see where something else has that name already.
    pub distinct: Arc<str>,
    /// `server.tool`, the name of another server's tool in the contract.
    pub contract: Option<Arc<str>>,
    /// Whether the canonical name is that of something else too.
    pub is_taken: bool,
}

impl Default for NameStyle {
    fn default() -> Self {
        Self { dots: false, length: 48 }
    }
}

impl NameStyle {
    /// Whether clients can see this name as it is.
    pub fn fits(&self, name: &str) -> bool {
        name.len() <= self.length() && name.chars().all(|it| self.allows(it))
    }

    /// A name that clients can see. One that is shortened keeps its beginning, and ends in what
    /// tells it from others that begin alike.
    pub fn fit(&self, name: &str) -> String {
        match name.chars().count() <= self.length() {
            true => self.clean(name),
            false => self.with_suffix(name, name),
        }
    }

    /// The name with a suffix that is computed from `hashed`. It must never change, since clients
    /// remember names.
    pub fn with_suffix(&self, name: &str, hashed: &str) -> String {
        let mut name = self.clean(name);
        name.truncate(self.length() - SUFFIX);
        format!("{name}_{:08x}", hash(hashed))
    }

    /// The name with every other character replaced. It is ASCII, so that characters are bytes.
    pub fn clean(&self, name: &str) -> String {
        name.chars().map(|it| if self.allows(it) { it } else { '_' }).collect()
    }

    fn allows(&self, character: char) -> bool {
        character.is_ascii_alphanumeric()
            || matches!(character, '_' | '-')
            || (self.dots && character == '.')
    }

    fn length(&self) -> usize {
        self.length.clamp(SHORTEST_NAME, LONGEST_NAME)
    }
}

/// The name of another server's tool in the contract: `server.tool`, each of small letters, digits
/// and `_`. There is one dot, so that a server cannot choose a name in another's module.
pub fn contract_name(server: &str, own: &str) -> String {
    let word = |text: &str| -> String {
        let letter = |it: char| match it.to_ascii_lowercase() {
            it @ ('a'..='z' | '0'..='9' | '_') => it,
            _ => '_',
        };
        text.chars().map(letter).collect()
    };
    format!("{}.{}", word(server), word(own))
}

/// FNV-1a, folded.
fn hash(text: &str) -> u32 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = text.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step);
    (hash >> 32) as u32 ^ hash as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_what_model_apis_take() {
        let usual = NameStyle::default();
        let dotted = NameStyle { dots: true, ..usual };
        let short = NameStyle { length: 20, ..usual };
        let cases = [
            (usual, "text_count", "text_count"),
            (usual, "text.count", "text_count"),
            (usual, "a/b c-d", "a_b_c-d"),
            (usual, "grüße", "gr__e"),
            (dotted, "text.count", "text.count"),
            (dotted, "a/b", "a_b"),
            (short, "abcdefghijklmnopqrst", "abcdefghijklmnopqrst"),
            (short, "abcdefghijklmnopqrstuvwxyz", "abcdefghijk_49935c13"),
        ];
        for (style, name, expected) in cases {
            assert_eq!(style.fit(name), expected, "{name}");
            assert_eq!(style.fits(name), expected == name, "{name}");
        }
        let long = "x".repeat(100);
        let cut = [usual.fit(&long), usual.fit(&format!("{long}y"))];
        assert!(cut.iter().all(|it| it.len() == 48), "{cut:?}");
        assert_ne!(cut[0], cut[1], "what differs beyond the cut still differs");
    }

    #[test]
    fn the_contract_name_of_a_servers_tool_has_one_dot() {
        let cases = [
            ("github", "create_issue", "github.create_issue"),
            ("My-DB", "table.drop", "my_db.table_drop"),
            ("a.b", "c", "a_b.c"),
            ("s", "ü/x", "s.__x"),
        ];
        for (server, own, expected) in cases {
            assert_eq!(contract_name(server, own), expected);
        }
    }
}
