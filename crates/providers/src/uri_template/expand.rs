//! From variables to a URI, by section 3.2 of the RFC.

use std::fmt::Write;

use super::syntax::{Operator, Specifier, Token};
use super::{TemplateError, Variable, Variables};

/// Writes a URI.
#[derive(Default)]
pub(super) struct Expansion {
    out: String,
}

impl Expansion {
    pub(super) fn of(tokens: &[Token<'_>], variables: &Variables) -> Result<String, TemplateError> {
        let mut expansion = Self::default();
        for token in tokens {
            match token {
                Token::Literal(text) => expansion.encode(text, true),
                Token::Expression(operator, specifiers) => {
                    expansion.expression(*operator, specifiers, variables)?;
                }
            }
        }
        Ok(expansion.out)
    }

    fn expression(
        &mut self,
        operator: Operator,
        specifiers: &[Specifier<'_>],
        variables: &Variables,
    ) -> Result<(), TemplateError> {
        let mut lead = operator.first();
        for specifier in specifiers {
            let Some(variable) = variables.get(specifier.name) else {
                continue;
            };
            match variable {
                Variable::List(items) if items.is_empty() => continue,
                Variable::Pairs(pairs) if pairs.is_empty() => continue,
                Variable::List(_) | Variable::Pairs(_) if specifier.prefix.is_some() => {
                    return Err(TemplateError::Prefix { variable: specifier.name.to_owned() });
                }
                _ => self.out.push_str(lead),
            }
            self.variable(operator, specifier, variable);
            lead = operator.separator();
        }
        Ok(())
    }

    fn variable(&mut self, operator: Operator, specifier: &Specifier<'_>, variable: &Variable) {
        let reserved = operator.keeps_reserved();
        match variable {
            Variable::Text(text) => {
                let end = specifier.prefix.and_then(|length| text.char_indices().nth(length));
                let text = end.map_or(text.as_str(), |(end, _)| &text[..end]);
                self.name(operator, specifier.name, text.is_empty());
                self.encode(text, reserved);
            }
            Variable::List(items) if specifier.explode => {
                self.joined(operator.separator(), items, |this, item| {
                    this.name(operator, specifier.name, item.is_empty());
                    this.encode(item, reserved);
                });
            }
            Variable::List(items) => {
                self.name(operator, specifier.name, false);
                self.joined(",", items, |this, item| this.encode(item, reserved));
            }
            Variable::Pairs(pairs) if specifier.explode => {
                self.joined(operator.separator(), pairs, |this, (name, value)| {
                    this.encode(name, reserved);
                    let bare = value.is_empty() && operator == Operator::Parameter;
                    this.out.push_str(if bare { "" } else { "=" });
                    this.encode(value, reserved);
                });
            }
            Variable::Pairs(pairs) => {
                self.name(operator, specifier.name, false);
                self.joined(",", pairs, |this, (name, value)| {
                    this.encode(name, reserved);
                    this.out.push(',');
                    this.encode(value, reserved);
                });
            }
        }
    }

    /// The name and the equals sign of a named variable.
    fn name(&mut self, operator: Operator, name: &str, empty: bool) {
        if operator.is_named() {
            self.out.push_str(name);
            let bare = empty && operator == Operator::Parameter;
            self.out.push_str(if bare { "" } else { "=" });
        }
    }

    fn joined<T>(&mut self, separator: &str, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for (index, item) in items.iter().enumerate() {
            self.out.push_str(if index > 0 { separator } else { "" });
            write(self, item);
        }
    }

    /// Percent-encodes all but unreserved characters, or all but those, reserved ones and what
    /// is encoded already.
    fn encode(&mut self, text: &str, reserved: bool) {
        for (at, byte) in text.bytes().enumerate() {
            let kept = match byte {
                b'-' | b'.' | b'_' | b'~' => true,
                b'%' => reserved && starts_triplet(&text.as_bytes()[at..]),
                _ if byte.is_ascii_alphanumeric() => true,
                _ => reserved && b":/?#[]@!$&'()*+,;=".contains(&byte),
            };
            if kept {
                self.out.push(char::from(byte));
            } else {
                let _ = write!(self.out, "%{byte:02X}");
            }
        }
    }
}

fn starts_triplet(text: &[u8]) -> bool {
    matches!(text, [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}
