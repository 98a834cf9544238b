//! Bounds: of numbers, and of the length of texts, arrays and objects.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::comparison::{Comparison, Effect};
use super::kinds::Kinds;
use super::node::Node;
use super::place::Place;

pub(super) const KNOWN: &[&str] = &[
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
];

/// Bounds of lengths, for what kind of values, and whether they are lower bounds.
const LENGTHS: [(&str, Kinds, bool); 6] = [
    ("minLength", Kinds::STRING, true),
    ("maxLength", Kinds::STRING, false),
    ("minItems", Kinds::ARRAY, true),
    ("maxItems", Kinds::ARRAY, false),
    ("minProperties", Kinds::OBJECT, true),
    ("maxProperties", Kinds::OBJECT, false),
];

/// A bound of a number.
struct Bound<'a> {
    keyword: &'static str,
    value: &'a Value,
    number: &'a Number,
    exclusive: bool,
}

pub(super) fn compare_numbers<'a>(
    comparison: &mut Comparison<'a>,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) {
    let both = old.kinds() & new.kinds();
    if !(both & Kinds::NUMBER).is_empty() {
        bound(comparison, old, new, ["minimum", "exclusiveMinimum"], Ordering::Greater, place);
        bound(comparison, old, new, ["maximum", "exclusiveMaximum"], Ordering::Less, place);
        multiple(comparison, old, new, place);
    }
    for (keyword, kinds, is_lower) in LENGTHS {
        if !(both & kinds).is_empty() {
            compare_limit(comparison, keyword, is_lower, old, new, place);
        }
    }
}

/// Compares the tighter of two bounds; `tighter` says on which side of another that is.
fn bound<'a>(
    comparison: &mut Comparison<'a>,
    old: &Node<'a>,
    new: &Node<'a>,
    keywords: [&'static str; 2],
    tighter: Ordering,
    place: &Place,
) {
    let sound = |node: &Node<'a>| {
        keywords.iter().all(|key| node.keywords.get(key).is_none_or(|it| it.is_number()))
    };
    if !sound(old) || !sound(new) {
        keywords.iter().for_each(|key| comparison.opaque(key, old, new, place));
        return;
    }
    let (before, after) = (tightest(old, keywords, tighter), tightest(new, keywords, tighter));
    let effect = match (&before, &after) {
        (None, None) => return,
        (None, Some(_)) => Effect::Narrower,
        (Some(_), None) => Effect::Wider,
        (Some(before), Some(after)) => match strength(after, before, tighter) {
            Ordering::Equal => return,
            Ordering::Greater => Effect::Narrower,
            Ordering::Less => Effect::Wider,
        },
    };
    let keyword = after.as_ref().or(before.as_ref()).map_or(keywords[0], |it| it.keyword);
    let value = |bound: Option<Bound<'a>>| bound.map(|it| it.value);
    comparison.note_keyword(effect, place, keyword, (value(before), value(after)));
}

fn multiple<'a>(comparison: &mut Comparison<'a>, old: &Node<'a>, new: &Node<'a>, place: &Place) {
    let (before, after) = (old.keywords.get("multipleOf"), new.keywords.get("multipleOf"));
    if before == after {
        return;
    }
    let effect = match (before, after) {
        (Some(before), Some(after)) => match (before.as_u64(), after.as_u64()) {
            (Some(before), Some(after @ 1..)) if before % after == 0 => Effect::Wider,
            (Some(before @ 1..), Some(after)) if after % before == 0 => Effect::Narrower,
            _ => Effect::Unclear,
        },
        _ => Effect::of_constraint(before.is_some()),
    };
    comparison.note_keyword(effect, place, "multipleOf", (before.copied(), after.copied()));
}

/// Compares a bound of a length. No lower bound is the bound 0.
pub(super) fn compare_limit<'a>(
    comparison: &mut Comparison<'a>,
    keyword: &str,
    is_lower: bool,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) {
    let (before, after) = (old.keywords.get(keyword), new.keywords.get(keyword));
    if before == after {
        return;
    }
    let least = if is_lower { 0.0 } else { f64::INFINITY };
    let read = |value: Option<&&Value>| value.map_or(Some(least), |value| value.as_f64());
    let effect = match (read(before), read(after)) {
        (Some(before), Some(after)) if before == after => return,
        (Some(before), Some(after)) if (before < after) == is_lower => Effect::Narrower,
        (Some(_), Some(_)) => Effect::Wider,
        _ => Effect::Unclear,
    };
    comparison.note_keyword(effect, place, keyword, (before.copied(), after.copied()));
}

fn tightest<'a>(
    node: &Node<'a>,
    [plain, exclusive]: [&'static str; 2],
    tighter: Ordering,
) -> Option<Bound<'a>> {
    let bound = |keyword: &'static str, exclusive| {
        let value = *node.keywords.get(keyword)?;
        let Value::Number(number) = value else { return None };
        Some(Bound { keyword, value, number, exclusive })
    };
    match (bound(plain, false), bound(exclusive, true)) {
        (Some(one), Some(two)) => match strength(&one, &two, tighter) {
            Ordering::Greater => Some(one),
            _ => Some(two),
        },
        (one, two) => one.or(two),
    }
}

/// Which of two bounds lets fewer numbers pass.
fn strength(one: &Bound<'_>, two: &Bound<'_>, tighter: Ordering) -> Ordering {
    let order = order(one.number, two.number);
    let by_number = if tighter == Ordering::Less { order.reverse() } else { order };
    by_number.then(one.exclusive.cmp(&two.exclusive))
}

/// Compares two numbers without losing digits of large integers.
fn order(one: &Number, two: &Number) -> Ordering {
    match (integer(one), integer(two)) {
        (Some(one), Some(two)) => one.cmp(&two),
        _ => {
            let float = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
            float(one).total_cmp(&float(two))
        }
    }
}

fn integer(number: &Number) -> Option<i128> {
    const REACH: f64 = 1e30;
    let exact = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < REACH);
    #[expect(clippy::cast_possible_truncation, reason = "an integer within the range")]
    exact.or(float.map(|float| float as i128))
}
