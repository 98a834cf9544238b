//! Static analysis of a condition: which variables and functions it uses, and how deep it is nested.

use cel::common::ast::operators::{IN, INDEX};
use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};

use super::{ConditionError, NAMES, OF_CALLER};

/// The functions that a condition can call.
pub(super) const FUNCTIONS: [&str; 13] = [
    "size",
    "contains",
    "startsWith",
    "endsWith",
    "matches",
    "string",
    "int",
    "uint",
    "double",
    "bytes",
    "bool",
    "type",
    "dyn",
];

/// Types that can be compared with.
const TYPES: [&str; 10] =
    ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"];

/// Refuses brackets that are nested too deeply before they are parsed.
pub(super) fn check_text(text: &str, limit: usize) -> Result<(), ConditionError> {
    let mut depth = 0usize;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return Err(ConditionError::Deep(limit));
        }
    }
    Ok(())
}

/// What a condition names.
#[derive(Debug, Default)]
pub(super) struct Survey<'a> {
    names: Vec<&'a str>,
    /// The members that it asks for, of whatever value.
    pub(super) members: Vec<String>,
    /// The names that stand for the elements of a list, at this point.
    bound: Vec<&'a str>,
    limit: usize,
}

impl<'a> Survey<'a> {
    /// Looks at a whole condition.
    pub(super) fn of(expression: &'a IdedExpr, limit: usize) -> Result<Self, ConditionError> {
        let mut survey = Self { limit, ..Self::default() };
        survey.visit(expression, 0)?;
        Ok(survey)
    }

    pub(super) fn needs(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    pub(super) fn needs_caller(&self) -> bool {
        OF_CALLER.iter().any(|name| self.needs(name))
    }

    fn visit(&mut self, expression: &'a IdedExpr, depth: usize) -> Result<(), ConditionError> {
        if depth > self.limit {
            return Err(ConditionError::Deep(self.limit));
        }
        let deeper = depth + 1;
        match &expression.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => {
                self.members.push(select.field.clone());
                self.visit(&select.operand, deeper)
            }
            Expr::Call(call) => {
                check_function(&call.func_name)?;
                if [INDEX, IN].contains(&call.func_name.as_str()) {
                    self.members.extend(call.args.iter().filter_map(text));
                }
                let parts = call.target.as_deref().into_iter().chain(&call.args);
                self.visit_all(parts, deeper)
            }
            Expr::List(list) => self.visit_all(&list.elements, deeper),
            Expr::Map(map) => map.entries.iter().try_for_each(|it| self.entry(&it.expr, deeper)),
            Expr::Struct(made) => {
                made.entries.iter().try_for_each(|it| self.entry(&it.expr, deeper))
            }
            Expr::Comprehension(walk) => {
                self.visit(&walk.iter_range, deeper)?;
                if !self.bound.is_empty() {
                    return Err(ConditionError::Nested);
                }
                self.bound = vec![&walk.iter_var, &walk.accu_var];
                self.bound.extend(walk.iter_var2.as_deref());
                let parts = [&walk.accu_init, &walk.loop_cond, &walk.loop_step, &walk.result];
                self.visit_all(parts, deeper)?;
                self.bound.clear();
                Ok(())
            }
        }
    }

    fn visit_all(
        &mut self,
        parts: impl IntoIterator<Item = &'a IdedExpr>,
        depth: usize,
    ) -> Result<(), ConditionError> {
        parts.into_iter().try_for_each(|part| self.visit(part, depth))
    }

    fn entry(&mut self, entry: &'a EntryExpr, depth: usize) -> Result<(), ConditionError> {
        match entry {
            EntryExpr::StructField(field) => self.visit(&field.value, depth),
            EntryExpr::MapEntry(entry) => self.visit_all([&entry.key, &entry.value], depth),
        }
    }

    /// A name with a dot before it is the same one, seen from inside a macro.
    fn name(&mut self, name: &'a str) -> Result<(), ConditionError> {
        if self.bound.contains(&name) || name.starts_with('@') {
            return Ok(());
        }
        let plain = name.trim_start_matches('.');
        if !NAMES.contains(&plain) && !TYPES.contains(&plain) {
            return Err(ConditionError::Name(plain.to_owned()));
        }
        self.names.push(plain);
        Ok(())
    }
}

/// A text that is written in the condition.
fn text(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner().to_owned()),
        _ => None,
    }
}

/// Operators have names that no function can have.
fn check_function(name: &str) -> Result<(), ConditionError> {
    let is_operator = name.starts_with(['_', '@', '!', '-']);
    match is_operator || FUNCTIONS.contains(&name) {
        true => Ok(()),
        false => Err(ConditionError::Function(name.to_owned())),
    }
}
