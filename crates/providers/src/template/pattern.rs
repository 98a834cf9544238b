//! Matching a URI: the template as a regular expression, run in linear time.

use std::fmt::Write;

use regex::Regex;

use super::percent::{decode, normalize};
use super::syntax::{Operator, Specifier, Token};
use super::{TemplateError, Variable, Variables};

/// A template made ready for matching.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    regex: Regex,
    /// What each group of the regular expression holds.
    slots: Vec<Slot>,
}

#[derive(Debug, Clone)]
struct Slot {
    name: String,
    prefix: Option<usize>,
    form: Form,
}

/// How a value stands in its group.
#[derive(Debug, Clone)]
enum Form {
    Text,
    /// After an equals sign, or empty and without one.
    Parameter,
    /// Items with this between them.
    List(String),
}

impl Pattern {
    pub(super) fn new(tokens: &[Token<'_>]) -> Result<Self, TemplateError> {
        let mut writer = Writer { text: "^(?s:".to_owned(), slots: Vec::new() };
        for (index, token) in tokens.iter().enumerate() {
            match token {
                Token::Literal(text) => writer.text.push_str(&regex::escape(&normalize(text))),
                Token::Expression(operator, specifiers) => {
                    let next = tokens.get(index + 1);
                    writer.expression(*operator, specifiers, next)?;
                }
            }
        }
        writer.text.push_str(")$");
        let regex = Regex::new(&writer.text).map_err(|error| TemplateError::Syntax {
            template: writer.text,
            reason: error.to_string(),
        })?;
        Ok(Self { regex, slots: writer.slots })
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let names = || self.slots.iter().map(|slot| slot.name.as_str());
        let is_new = move |(at, name): &(usize, &str)| !names().take(*at).any(|it| it == *name);
        names().enumerate().filter(is_new).map(|(_, name)| name)
    }

    pub(super) fn matches(&self, uri: &str) -> Option<Variables> {
        let uri = normalize(uri);
        let captures = self.regex.captures(&uri)?;
        let (mut found, mut prefixes) = (Variables::new(), Vec::new());
        for (slot, group) in self.slots.iter().zip(captures.iter().skip(1)) {
            let Some(group) = group else { continue };
            let value = slot.read(group.as_str())?;
            match slot.prefix {
                Some(length) => prefixes.push((slot, length, value)),
                None => agree(&mut found, &slot.name, value)?,
            }
        }
        for (slot, length, value) in prefixes {
            let text = value.as_text()?;
            match found.text(&slot.name) {
                Some(whole) if whole.chars().take(length).eq(text.chars()) => {}
                None if text.chars().count() <= length => found.set(slot.name.as_str(), value),
                _ => return None,
            }
        }
        Some(found)
    }
}

/// A variable that appears twice has one value.
fn agree(found: &mut Variables, name: &str, value: Variable) -> Option<()> {
    match found.get(name) {
        Some(known) if *known != value => None,
        _ => {
            found.set(name, value);
            Some(())
        }
    }
}

impl Slot {
    fn read(&self, text: &str) -> Option<Variable> {
        match &self.form {
            Form::Text => decode(text).map(Variable::Text),
            Form::Parameter => decode(text.strip_prefix('=').unwrap_or(text)).map(Variable::Text),
            Form::List(between) => {
                let items = text.split(between.as_str()).map(decode);
                items.collect::<Option<Vec<_>>>().map(Variable::List)
            }
        }
    }
}

/// Writes the regular expression.
struct Writer {
    text: String,
    slots: Vec<Slot>,
}

impl Writer {
    fn expression(
        &mut self,
        operator: Operator,
        specifiers: &[Specifier<'_>],
        next: Option<&Token<'_>>,
    ) -> Result<(), TemplateError> {
        reject_ambiguous(operator, specifiers, next)?;
        let value = value_class(operator, specifiers);
        // A value that could run on into what follows stops as early as it can.
        let lazy = if matches!(next, Some(Token::Expression(..))) { "?" } else { "" };
        match operator {
            Operator::Simple | Operator::Reserved => {
                self.listed(&value, &format!("+{lazy}"), specifiers);
            }
            Operator::Fragment => {
                self.text.push_str("(?:#");
                self.listed(&value, &format!("*{lazy}"), specifiers);
                self.text.push_str(")?");
            }
            Operator::Label => self.marked(".", &value, lazy, specifiers),
            Operator::Path => self.marked("/", &value, lazy, specifiers),
            Operator::Parameter => self.named(";", &value, specifiers),
            Operator::Continuation => self.named("&", &value, specifiers),
            Operator::Query => self.query(&value, specifiers),
        }
        Ok(())
    }

    /// `{a,b}`: values between commas, the first of them required.
    fn listed(&mut self, value: &str, repeat: &str, specifiers: &[Specifier<'_>]) {
        for (index, specifier) in specifiers.iter().enumerate() {
            self.text.push_str(if index > 0 { "(?:," } else { "" });
            if specifier.explode {
                let _ = write!(self.text, "({value}{repeat}(?:,{value}{repeat})*)");
                self.slot(specifier, Form::List(",".to_owned()));
            } else {
                let _ = write!(self.text, "({value}{repeat})");
                self.slot(specifier, Form::Text);
            }
        }
        self.text.push_str(&")?".repeat(specifiers.len() - 1));
    }

    /// `{/a,b}`: each value after a mark.
    fn marked(&mut self, mark: &str, value: &str, lazy: &str, specifiers: &[Specifier<'_>]) {
        for specifier in specifiers {
            if specifier.explode {
                let _ = write!(self.text, "(?:[{mark}]({value}*(?:[{mark}]{value}*)*))?");
                self.slot(specifier, Form::List(mark.to_owned()));
            } else {
                let _ = write!(self.text, "(?:[{mark}]({value}*{lazy}))?");
                self.slot(specifier, Form::Text);
            }
        }
    }

    /// `{&a,b}`: each value after a mark and its name. After `;` an empty value has no `=`.
    fn named(&mut self, mark: &str, value: &str, specifiers: &[Specifier<'_>]) {
        for specifier in specifiers {
            let plain = normalize(specifier.name);
            let name = regex::escape(&plain);
            if specifier.explode {
                let more = format!("(?:{mark}{name}={value}*)*");
                let _ = write!(self.text, "(?:{mark}{name}=({value}*{more}))?");
                self.slot(specifier, Form::List(format!("{mark}{plain}=")));
            } else if mark == ";" {
                let _ = write!(self.text, "(?:;{name}((?:={value}*)?))?");
                self.slot(specifier, Form::Parameter);
            } else {
                let _ = write!(self.text, "(?:{mark}{name}=({value}*))?");
                self.slot(specifier, Form::Text);
            }
        }
    }

    /// `{?a,b}`: whichever variable comes first has the question mark.
    fn query(&mut self, value: &str, specifiers: &[Specifier<'_>]) {
        self.text.push_str("(?:");
        for (index, first) in specifiers.iter().enumerate() {
            let plain = normalize(first.name);
            let name = regex::escape(&plain);
            self.text.push_str(if index > 0 { "|" } else { "" });
            if first.explode {
                let _ = write!(self.text, "[?]{name}=({value}*(?:&{name}={value}*)*)");
                self.slot(first, Form::List(format!("&{plain}=")));
            } else {
                let _ = write!(self.text, "[?]{name}=({value}*)");
                self.slot(first, Form::Text);
            }
            self.named("&", value, &specifiers[index + 1..]);
        }
        self.text.push_str(")?");
    }

    fn slot(&mut self, specifier: &Specifier<'_>, form: Form) {
        let (name, prefix) = (specifier.name.to_owned(), specifier.prefix);
        self.slots.push(Slot { name, prefix, form });
    }
}

/// The characters of a value, as a class. More than an expansion can yield: people write URIs by
/// hand, and what cannot be a separator here can only be part of the value.
fn value_class(operator: Operator, specifiers: &[Specifier<'_>]) -> String {
    let several = specifiers.len() > 1 || specifiers.iter().any(|it| it.explode);
    let separators = match (operator, several) {
        (Operator::Simple, false) => "/?#&",
        (Operator::Simple, true) => "/?#&,",
        (Operator::Reserved | Operator::Fragment, false) => r"\x00",
        (Operator::Reserved | Operator::Fragment, true) => ",",
        (Operator::Label, false) | (Operator::Path, _) => "/?#",
        (Operator::Label, true) => "/?#.",
        (Operator::Parameter, _) => "/?#&;",
        (Operator::Query | Operator::Continuation, _) => "#&",
    };
    format!("[^{separators}]")
}

fn reject_ambiguous(
    operator: Operator,
    specifiers: &[Specifier<'_>],
    next: Option<&Token<'_>>,
) -> Result<(), TemplateError> {
    let Some((last, before)) = specifiers.split_last() else {
        return Ok(());
    };
    let greedy = before.iter().find(|it| it.explode && !operator.is_named());
    let runs_on = match next {
        Some(Token::Expression(following, _)) if !following.is_marked() => Some(last),
        _ => None,
    };
    match greedy.or(runs_on) {
        Some(open) => Err(TemplateError::Ambiguous { variable: open.name.to_owned() }),
        None => Ok(()),
    }
}
