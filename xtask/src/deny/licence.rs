//! SPDX licence expressions: names joined by `OR` and `AND`, with brackets. `AND` binds tighter.

use std::collections::BTreeSet;

/// Whether the expression can be met with allowed licences alone. A malformed one cannot.
pub(super) fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    // Before SPDX expressions were required, crates wrote a slash for "or".
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words, allowed };
    let verdict = reader.alternatives();
    reader.words.is_empty() && verdict == Some(true)
}

struct Reader<'a> {
    words: &'a [&'a str],
    allowed: &'a BTreeSet<String>,
}

impl Reader<'_> {
    fn alternatives(&mut self) -> Option<bool> {
        let mut verdict = self.conjunction()?;
        while self.skip("OR") {
            verdict |= self.conjunction()?;
        }
        Some(verdict)
    }

    fn conjunction(&mut self) -> Option<bool> {
        let mut verdict = self.single()?;
        while self.skip("AND") {
            verdict &= self.single()?;
        }
        Some(verdict)
    }

    fn single(&mut self) -> Option<bool> {
        if self.skip("(") {
            let verdict = self.alternatives()?;
            return self.skip(")").then_some(verdict);
        }
        let mut name = self.next()?.to_owned();
        if self.skip("WITH") {
            // An exception makes another licence of it, allowed only under its full name.
            name = format!("{name} WITH {}", self.next()?);
        }
        Some(self.allowed.contains(&name))
    }

    fn next(&mut self) -> Option<&str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }

    fn skip(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        if found {
            self.words = &self.words[1..];
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let allowed =
            BTreeSet::from(["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned));
        let cases = [
            ("MIT", true),
            ("GPL-3.0", false),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("MIT AND Zlib", true),
            ("GPL-3.0 AND Zlib OR MIT", true),
            ("GPL-3.0 AND (Zlib OR MIT)", false),
            ("(MIT OR GPL-3.0) AND Zlib", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0", false),
            ("MIT OR", false),
            ("(MIT", false),
            ("MIT Zlib", false),
            ("", false),
        ];
        for (expression, expected) in cases {
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        }
    }
}
