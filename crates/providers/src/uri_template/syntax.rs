//! The parts of a template, and percent-encoding.

use std::fmt::Write;

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Text that stands for itself.
    Literal(&'a str),
    /// What is between braces.
    Expression(Operator, Vec<Specifier<'a>>),
}

impl Token<'_> {
    /// How many variables this part has.
    pub(super) fn variables(&self) -> usize {
        match self {
            Self::Literal(_) => 0,
            Self::Expression(_, specifiers) => specifiers.len(),
        }
    }
}

/// The character after the opening brace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameter,
    Query,
    Continuation,
}

/// One variable of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Specifier<'a> {
    pub(super) name: &'a str,
    pub(super) explode: bool,
    pub(super) prefix: Option<usize>,
}

impl Operator {
    fn of(character: u8) -> Option<Self> {
        Some(match character {
            b'+' => Self::Reserved,
            b'#' => Self::Fragment,
            b'.' => Self::Label,
            b'/' => Self::Path,
            b';' => Self::Parameter,
            b'?' => Self::Query,
            b'&' => Self::Continuation,
            _ => return None,
        })
    }

    /// What the expansion starts with.
    pub(super) fn first(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved => "",
            Self::Fragment => "#",
            Self::Label => ".",
            Self::Path => "/",
            Self::Parameter => ";",
            Self::Query => "?",
            Self::Continuation => "&",
        }
    }

    /// What stands between two variables.
    pub(super) fn separator(self) -> &'static str {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ",",
            Self::Query => "&",
            other => other.first(),
        }
    }

    /// Whether reserved characters stay as they are.
    pub(super) fn keeps_reserved(self) -> bool {
        matches!(self, Self::Reserved | Self::Fragment)
    }

    /// Whether variables appear with their names.
    pub(super) fn is_named(self) -> bool {
        matches!(self, Self::Parameter | Self::Query | Self::Continuation)
    }

    /// Whether the expansion starts with a character of its own.
    pub(super) fn is_marked(self) -> bool {
        !self.first().is_empty()
    }
}

/// Splits a template; an error says what is wrong with it.
pub(super) fn tokens(template: &str) -> Result<Vec<Token<'_>>, String> {
    let mut tokens = Vec::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        let Some((expression, remainder)) = after.split_once('}') else {
            return Err("a `{` is not closed".to_owned());
        };
        push_literal(literal, &mut tokens)?;
        tokens.push(expression_of(expression)?);
        rest = remainder;
    }
    push_literal(rest, &mut tokens)?;
    Ok(tokens)
}

fn push_literal<'a>(text: &'a str, tokens: &mut Vec<Token<'a>>) -> Result<(), String> {
    let refused = |it: &char| it.is_control() || " \"<>\\^`{|}".contains(*it);
    if let Some(character) = text.chars().find(refused) {
        return Err(format!("{character:?} must be percent-encoded"));
    }
    if !is_encoded(text) {
        return Err("a `%` must be followed by two hexadecimal digits".to_owned());
    }
    if !text.is_empty() {
        tokens.push(Token::Literal(text));
    }
    Ok(())
}

/// Whether every percent sign starts a triplet.
fn is_encoded(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let digits = after.as_bytes();
        digits.len() >= 2 && digits[..2].iter().all(u8::is_ascii_hexdigit)
    })
}

fn expression_of(text: &str) -> Result<Token<'_>, String> {
    let operator = text.bytes().next().and_then(Operator::of);
    let list = if operator.is_some() { &text[1..] } else { text };
    let specifiers = list.split(',').map(specifier_of).collect::<Result<_, _>>()?;
    Ok(Token::Expression(operator.unwrap_or(Operator::Simple), specifiers))
}

fn specifier_of(text: &str) -> Result<Specifier<'_>, String> {
    let (name, explode, prefix) = match (text.strip_suffix('*'), text.split_once(':')) {
        (Some(name), _) => (name, true, None),
        (None, Some((name, length))) => (name, false, Some(prefix_of(length)?)),
        (None, None) => (text, false, None),
    };
    let allowed = |it: char| it.is_ascii_alphanumeric() || "_%".contains(it);
    let is_part = |part: &str| !part.is_empty() && part.chars().all(allowed);
    if !name.split('.').all(is_part) || !is_encoded(name) {
        return Err(format!("`{text}` is not a variable"));
    }
    Ok(Specifier { name, explode, prefix })
}

fn prefix_of(length: &str) -> Result<usize, String> {
    let digits = length.bytes().all(|it| it.is_ascii_digit()) && !length.starts_with('0');
    match length.parse() {
        Ok(length @ 1..=9999) if digits => Ok(length),
        _ => Err(format!("`{length}` is not a length from 1 to 9999")),
    }
}

/// The URI in ASCII: other characters percent-encoded, and the digits of what is encoded upper
/// case, so that equal URIs are equal texts.
pub(super) fn normalize(uri: &str) -> String {
    let mut out = String::with_capacity(uri.len());
    let mut digits = 0u8;
    for &byte in uri.as_bytes() {
        match byte {
            0x80.. => {
                let _ = write!(out, "%{byte:02X}");
            }
            _ if digits > 0 => out.push(char::from(byte.to_ascii_uppercase())),
            _ => out.push(char::from(byte)),
        }
        digits = if byte == b'%' { 2 } else { digits.saturating_sub(1) };
    }
    out
}

/// Resolves percent-encoding; `None` when the bytes are not UTF-8.
pub(super) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = match (first, after) {
            (b'%', [high, low, ..]) => hexadecimal(*high).zip(hexadecimal(*low)),
            _ => None,
        };
        match code {
            Some((high, low)) => {
                bytes.push(high * 16 + low);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

fn hexadecimal(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok())
}
