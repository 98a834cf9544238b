//! Matching a URI: the template as a regular expression over bytes, run in linear time.
//!
//! The automaton is used directly: it is a few bytes for each byte of the template and keeps no
//! cache between searches. The engines of `regex` take up to a megabyte for each template, and
//! upstream servers may list thousands.

use std::fmt::Write;
use std::sync::Arc;

use regex_automata::nfa::thompson;
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

use super::syntax::{Operator, Specifier, Token, decode, normalize};
use super::{COMPILED, TemplateError, Variable, Variables};

/// A template made ready for matching.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    automaton: Arc<PikeVM>,
    /// The text that every URI of the template begins with: most templates are ruled out by it.
    prefix: String,
    /// What each group of the regular expression holds.
    slots: Vec<Slot>,
}

#[derive(Debug, Clone)]
struct Slot {
    name: String,
    prefix: Option<usize>,
    form: Form,
    /// For a variable of `{?a,b}`: which expression of the template it belongs to.
    query: Option<usize>,
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
        let mut writer = Writer { text: String::new(), slots: Vec::new(), expression: 0 };
        for (index, token) in tokens.iter().enumerate() {
            match token {
                Token::Literal(text) => writer.text.push_str(&regex::escape(&normalize(text))),
                Token::Expression(operator, specifiers) => {
                    let next = tokens.get(index + 1);
                    writer.expression = index;
                    writer.expression(*operator, specifiers, next)?;
                }
            }
        }
        writer.text.push_str(r"\z");
        let prefix = match tokens.first() {
            Some(Token::Literal(text)) => normalize(text),
            _ => String::new(),
        };
        let automaton = Arc::new(compile(&writer.text)?);
        Ok(Self { automaton, prefix, slots: writer.slots })
    }

    /// Bytes of memory that it takes.
    pub(super) fn memory(&self) -> usize {
        let names: usize = self.slots.iter().map(|slot| slot.name.len() + size_of::<Slot>()).sum();
        self.automaton.get_nfa().memory_usage() + self.prefix.len() + names
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let names = || self.slots.iter().map(|slot| slot.name.as_str());
        let is_new = move |(at, name): &(usize, &str)| !names().take(*at).any(|it| it == *name);
        names().enumerate().filter(is_new).map(|(_, name)| name)
    }

    pub(super) fn matches(&self, uri: &str) -> Option<Variables> {
        let uri = normalize(uri);
        if !uri.starts_with(&self.prefix) {
            return None;
        }
        let groups = self.groups(&uri)?;
        let (mut found, mut prefixes, mut query) = (Variables::new(), Vec::new(), None);
        for (slot, (start, end)) in self.slots.iter().zip(groups) {
            let (Some(start), Some(end)) = (start, end) else { continue };
            if let Some(expression) = slot.query {
                let mark = if query == Some(expression) { '&' } else { '?' };
                query = Some(expression);
                if !slot.is_marked(uri.get(..start)?, mark) {
                    return None;
                }
            }
            let value = slot.read(uri.get(start..end)?)?;
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

    /// Where each group begins and ends.
    fn groups(&self, uri: &str) -> Option<Vec<(Option<usize>, Option<usize>)>> {
        // The first two are the bounds of the whole match.
        let mut slots = vec![None; (self.slots.len() + 1) * 2];
        let input = Input::new(uri).anchored(Anchored::Yes);
        self.automaton.search_slots(&mut self.automaton.create_cache(), &input, &mut slots)?;
        let position = |slot: Option<regex_automata::util::primitives::NonMaxUsize>| {
            slot.map(regex_automata::util::primitives::NonMaxUsize::get)
        };
        let groups = slots.chunks_exact(2).skip(1);
        Some(groups.map(|group| (position(group[0]), position(group[1]))).collect())
    }
}

fn compile(text: &str) -> Result<PikeVM, TemplateError> {
    // Separators are ASCII, so what lies between them is whole characters also when read as bytes.
    let config = thompson::Config::new().utf8(false).nfa_size_limit(Some(COMPILED));
    let syntax = syntax::Config::new().unicode(false).utf8(false).dot_matches_new_line(true);
    let built = PikeVM::builder().syntax(syntax).thompson(config).build(text);
    built.map_err(|error| match error.size_limit() {
        Some(_) => TemplateError::TooLarge,
        None => TemplateError::Syntax { template: text.to_owned(), reason: error.to_string() },
    })
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
    /// Whether the value, whose name and equals sign end what is before it, follows this mark.
    fn is_marked(&self, before: &str, mark: char) -> bool {
        let name = normalize(&self.name);
        let before = before.strip_suffix('=').and_then(|it| it.strip_suffix(&*name));
        before.is_some_and(|it| it.ends_with(mark))
    }

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
    /// The expression that is being written.
    expression: usize,
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
                // The first of a query has the question mark, but no later item.
                let between = if mark == "[?&]" { "&" } else { mark };
                let more = format!("(?:{between}{name}={value}*)*");
                let _ = write!(self.text, "(?:{mark}{name}=({value}*{more}))?");
                self.slot(specifier, Form::List(format!("{between}{plain}=")));
            } else if mark == ";" {
                let _ = write!(self.text, "(?:;{name}((?:={value}*)?))?");
                self.slot(specifier, Form::Parameter);
            } else {
                let _ = write!(self.text, "(?:{mark}{name}=({value}*))?");
                self.slot(specifier, Form::Text);
            }
        }
    }

    /// `{?a,b}`: the first variable that is there has the question mark, which is checked when a
    /// URI matches: written out for each that may be the first, the expression would be quadratic.
    fn query(&mut self, value: &str, specifiers: &[Specifier<'_>]) {
        let first = self.slots.len();
        self.named("[?&]", value, specifiers);
        for slot in &mut self.slots[first..] {
            slot.query = Some(self.expression);
        }
    }

    fn slot(&mut self, specifier: &Specifier<'_>, form: Form) {
        let (name, prefix) = (specifier.name.to_owned(), specifier.prefix);
        self.slots.push(Slot { name, prefix, form, query: None });
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
