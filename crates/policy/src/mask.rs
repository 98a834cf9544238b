//! Arguments as people are shown them: exact, but for what looks like a secret.

use gantry_protocol::{RawJson, Redactor};

/// Arguments as a text without secrets in which nothing can hide: letters that are not seen, or that change how the
/// rest is seen, are written as JSON writes them by number.
pub(crate) fn shown(value: &RawJson) -> String {
    let mut text = String::new();
    for letter in Redactor::default().value(value).as_str().chars() {
        match is_hidden(letter) {
            true => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => text.push(letter),
        }
    }
    text
}

fn is_hidden(letter: char) -> bool {
    matches!(
        letter,
        '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0100}'..='\u{e01ef}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides() {
        let value = RawJson::string("a\u{202e}b\u{200b}\u{e0041}ü\u{fe0f}\u{34f}\u{3164}");
        assert_eq!(shown(&value), r#""a\u202eb\u200b\udb40\udc41ü\ufe0f\u034f\u3164""#);
    }
}
