//! Hides short secrets, only where they stand alone: as a part of other words they are no secrets.

use std::borrow::Cow;

use super::HIDDEN;

/// The text without these words.
pub(super) fn hide_all<'a>(text: Cow<'a, str>, words: &[String]) -> Cow<'a, str> {
    words.iter().fold(text, |text, word| match hide(&text, word) {
        Some(hidden) => Cow::Owned(hidden),
        None => text,
    })
}

/// The text without this word; none if it is not there.
fn hide(text: &str, word: &str) -> Option<String> {
    let mut hidden = String::new();
    let mut done = 0;
    for (start, _) in text.match_indices(word) {
        let end = start + word.len();
        if is_border(text[..start].chars().next_back()) && is_border(text[end..].chars().next()) {
            hidden.push_str(&text[done..start]);
            hidden.push_str(HIDDEN);
            done = end;
        }
    }
    (done > 0).then(|| hidden + &text[done..])
}

fn is_border(letter: Option<char>) -> bool {
    letter.is_none_or(|letter| !letter.is_alphanumeric() && letter != '_')
}
