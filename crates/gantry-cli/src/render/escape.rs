//! Characters that cannot be seen, or that change how others are: everything that servers, tools and
//! callers wrote is shown with them made visible.

use std::borrow::Cow;

/// Whether a character must not reach a terminal as it is: control characters, marks that change the
/// direction of text, characters without width, separators of lines, and tags.
fn is_hidden(letter: char) -> bool {
    is_formatting(letter) || (letter.is_control() && !matches!(letter, '\n' | '\t'))
}

/// The same but for control characters.
fn is_formatting(letter: char) -> bool {
    matches!(
        letter,
        '\u{AD}'
            | '\u{61C}'
            | '\u{180E}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E007F}'
    )
}

/// A text for people, in which what cannot be seen shows as `⟨U+202E⟩`. Ends of lines and tabs stay.
pub(crate) fn visible(text: &str) -> String {
    let shown = replace(text, is_hidden, put_named);
    // Which knows more kinds, and where they do what they are for.
    gantry_policy::visible(&shown)
}

/// The same on one line.
pub(crate) fn one_line(text: &str) -> String {
    let is_end = |letter: char| matches!(letter, '\n' | '\r' | '\t');
    visible(&text.trim().replace("\r\n", " ").replace(is_end, " "))
}

/// A line of the log for people, which has colours of its own.
pub(crate) fn log_line(text: &str) -> Cow<'_, str> {
    replace(text, is_formatting, put_named)
}

/// A JSON text of the same value, in which what cannot be seen is escaped.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    // These three stand between values: inside a string JSON has them escaped already.
    let is_hidden = |letter: char| is_hidden(letter) && letter != '\r';
    replace(text, is_hidden, |letter, shown| {
        for unit in letter.encode_utf16(&mut [0; 2]) {
            shown.push_str(&format!("\\u{unit:04x}"));
        }
    })
}

fn put_named(letter: char, shown: &mut String) {
    shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(letter)));
}

fn replace(
    text: &str,
    is_hidden: impl Fn(char) -> bool,
    put: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.contains(&is_hidden) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match is_hidden(letter) {
            true => put(letter, &mut shown),
            false => shown.push(letter),
        }
    }
    shown.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_shown() {
        let ranges = [
            (0x00, 0x08),
            (0x0B, 0x1F),
            (0x7F, 0x9F),
            (0xAD, 0xAD),
            (0x61C, 0x61C),
            (0x200B, 0x200F),
            (0x2028, 0x2029),
            (0x202A, 0x202E),
            (0x2060, 0x2064),
            (0x2066, 0x2069),
            (0xFEFF, 0xFEFF),
            (0xE0001, 0xE0001),
            (0xE0020, 0xE007F),
        ];
        for code in ranges.into_iter().flat_map(|(from, to)| from..=to) {
            let letter = char::from_u32(code).expect("a character");
            // Among letters of a script that is written leftwards, and at an emoji.
            for text in [format!("a{letter}b"), format!("א{letter}ב"), format!("👩{letter}👩")]
            {
                let named = text.replace(letter, &format!("⟨U+{code:04X}⟩"));
                assert_eq!(visible(&text), named, "U+{code:04X}");
                let line = if letter == '\r' { text.replace(letter, " ") } else { named };
                assert_eq!(one_line(&text), line, "U+{code:04X}");
            }
            let written = format!("\"{letter}\"");
            let escaped = json(&written);
            let is_shown = |it: char| it == '\r' || !is_hidden(it);
            assert!(escaped.chars().all(is_shown), "U+{code:04X}: {escaped}");
            if !letter.is_ascii_control() {
                let read: String = serde_json::from_str(&escaped).expect("JSON");
                assert_eq!(read, letter.to_string(), "U+{code:04X}");
                assert!(!log_line(&written).contains(letter) || letter.is_control());
            }
        }
    }

    #[test]
    fn the_rest_stays_as_it_is() {
        for text in
            ["", "plain", "a\n\tb", "größe", "שלום", "日本語", "❤\u{FE0F}", "{\n  \"a\": 1\n}"]
        {
            assert_eq!(visible(text), text);
            assert_eq!(json(text), text);
            assert_eq!(log_line(text), text);
        }
        assert_eq!(log_line("\x1b[2mdim\x1b[0m"), "\x1b[2mdim\x1b[0m");
        assert_eq!(one_line(" a\nb\x1b[31m\r\nc "), "a b⟨U+001B⟩[31m c");
    }
}
