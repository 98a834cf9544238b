//! Invisible and lookalike characters, and how they are made visible.

use std::cell::OnceCell;

use super::excerpt;

/// A text in which every hidden character shows as `⟨U+200B⟩`. Ends of lines and tabs stay.
pub fn visible(text: &str) -> String {
    let around = Around::new(text);
    let mut shown = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        match name(character).filter(|_| !around.is_proper(at, character)) {
            Some(_) => shown.push_str(&format!("⟨U+{:04X}⟩", u32::from(character))),
            None => shown.push(character),
        }
    }
    shown
}

/// The first hidden character of a text: what it is, and the text around it.
pub(super) fn hidden(text: &str) -> Option<(String, String)> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')) {
        return None;
    }
    let around = Around::new(text);
    let is_hidden = |(at, character): &(usize, char)| {
        name(*character).is_some() && !around.is_proper(*at, *character)
    };
    let mut all = text.char_indices().filter(is_hidden);
    let (at, first) = all.next()?;
    let what = match all.count() {
        0 => name(first)?.to_owned(),
        more => format!("{} and {more} more hidden characters", name(first)?),
    };
    Some((what, excerpt(text, at, at + first.len_utf8())))
}

/// The first letter of a name that looks like a Latin one and stands among those.
pub(super) fn lookalike(name: &str) -> Option<(String, String)> {
    if name.is_ascii() || !name.contains(|it: char| it.is_ascii_alphabetic()) {
        return None;
    }
    let (at, letter, like) =
        name.char_indices().find_map(|(at, letter)| Some((at, letter, latin(letter)?)))?;
    let what = format!("`{letter}` (U+{:04X}) looks like `{like}`", u32::from(letter));
    Some((what, excerpt(name, at, at + letter.len_utf8())))
}

/// What a character is called that cannot be seen.
fn name(character: char) -> Option<&'static str> {
    Some(match u32::from(character) {
        0x09 | 0x0A | 0x0D => return None,
        0x00..=0x1F | 0x7F..=0x9F => "a control character",
        0x00AD => "a soft hyphen",
        0x200B => "a zero width space",
        0x200C | 0x200D => "a zero width joiner",
        0x2060 | 0xFEFF => "a zero width no-break space",
        0x061C | 0x200E | 0x200F | 0x202A..=0x202E | 0x2066..=0x2069 => {
            "a character that changes the direction of text"
        }
        0x034F | 0x17B4 | 0x17B5 | 0x2061..=0x2064 | 0x206A..=0x206F | 0xFFF9..=0xFFFB => {
            "an invisible character"
        }
        0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A => "an invisible character",
        0x115F | 0x1160 | 0x3164 | 0xFFA0 => "an invisible filler",
        0x180B..=0x180F | 0xFE00..=0xFE0F | 0xE0100..=0xE01EF => "a variation selector",
        0xE0000..=0xE007F => "an invisible tag character",
        0xE000..=0xF8FF | 0xF0000..=0x10FFFF => "a character without a public meaning",
        _ => return None,
    })
}

/// A text in which characters are looked at one by one.
struct Around<'a> {
    text: &'a str,
    /// Whether any letter runs leftwards; looked for once, for a text may be full of marks.
    runs_leftwards: OnceCell<bool>,
}

impl<'a> Around<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, runs_leftwards: OnceCell::new() }
    }

    /// Whether a character that cannot be seen does here what it is for: emoji of several parts,
    /// and scripts that need it to join letters or to order them.
    fn is_proper(&self, at: usize, character: char) -> bool {
        let before = self.text[..at].chars().next_back();
        let after = self.text[at + character.len_utf8()..].chars().next();
        match u32::from(character) {
            0xFE0E | 0xFE0F => {
                before.is_some_and(|it| is_symbol(it) || "0123456789#*©®".contains(it))
            }
            0x200D if before.is_some_and(is_symbol) => after.is_some_and(is_symbol),
            0x200C | 0x200D => before.is_some_and(joins) && after.is_some_and(joins),
            0xFE00..=0xFE0D | 0xE0100..=0xE01EF => before.is_some_and(is_ideograph),
            0x061C | 0x200E | 0x200F => {
                *self.runs_leftwards.get_or_init(|| self.text.chars().any(runs_leftwards))
            }
            0x180B..=0x180F => before.is_some_and(|it| matches!(u32::from(it), 0x1800..=0x18AF)),
            0xE0020..=0xE007F => is_in_flag(self.text, at),
            _ => false,
        }
    }
}

/// Whether a tag belongs to one of the flags of England, Scotland and Wales, which are the only ones
/// that are written with tags. No more is looked at than such a flag has.
fn is_in_flag(text: &str, at: usize) -> bool {
    const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
    const TAGS: usize = 6;
    let is_tag = |it: &char| matches!(u32::from(*it), 0xE0020..=0xE007F);
    let Some((before, flag)) =
        text[..at].chars().rev().take(TAGS).enumerate().find(|(_, it)| !is_tag(it))
    else {
        return false;
    };
    // A tag takes four bytes.
    let tags = text[at - before * 4..].chars().take_while(is_tag).take(TAGS + 1);
    let tags: String = tags.filter_map(|it| char::from_u32(u32::from(it) - 0xE0000)).collect();
    flag == '\u{1F3F4}' && tags.strip_suffix('\u{7F}').is_some_and(|it| FLAGS.contains(&it))
}

fn is_symbol(character: char) -> bool {
    matches!(u32::from(character), 0x203C..=0x2049 | 0x2122..=0x3299 | 0xFE0F | 0x1F000..=0x1FAFF)
}

fn is_ideograph(character: char) -> bool {
    matches!(u32::from(character), 0x3400..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x323AF)
}

/// Letters of Arabic and of the scripts of India, which joiners stand between.
fn joins(character: char) -> bool {
    matches!(u32::from(character), 0x0620..=0x08FF | 0x0900..=0x0DFF | 0x0F00..=0x109F | 0x1780..=0x18AF)
}

fn runs_leftwards(character: char) -> bool {
    matches!(u32::from(character), 0x0590..=0x08FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFC)
}

/// The Latin letter that a letter of another script looks like.
fn latin(letter: char) -> Option<char> {
    const CYRILLIC: [(char, char); 21] = [
        ('а', 'a'),
        ('е', 'e'),
        ('о', 'o'),
        ('р', 'p'),
        ('с', 'c'),
        ('у', 'y'),
        ('х', 'x'),
        ('і', 'i'),
        ('ј', 'j'),
        ('ѕ', 's'),
        ('һ', 'h'),
        ('ԁ', 'd'),
        ('ԛ', 'q'),
        ('ԝ', 'w'),
        ('А', 'A'),
        ('В', 'B'),
        ('Е', 'E'),
        ('О', 'O'),
        ('Р', 'P'),
        ('С', 'C'),
        ('Т', 'T'),
    ];
    const OTHERS: [(char, char); 14] = [
        ('ο', 'o'),
        ('ν', 'v'),
        ('ρ', 'p'),
        ('ι', 'i'),
        ('α', 'a'),
        ('Α', 'A'),
        ('Ο', 'O'),
        ('Ε', 'E'),
        ('Τ', 'T'),
        ('օ', 'o'),
        ('ո', 'n'),
        ('ս', 'u'),
        ('ı', 'i'),
        ('ⅼ', 'l'),
    ];
    let known = CYRILLIC.iter().chain(&OTHERS).find(|(it, _)| *it == letter);
    known.map(|(_, like)| *like).or(match u32::from(letter) {
        // Letters of full width.
        wide @ (0xFF21..=0xFF3A | 0xFF41..=0xFF5A) => char::from_u32(wide - 0xFEE0),
        _ => None,
    })
}
