//! Compares schemas that combine others: `anyOf`, `oneOf`, `allOf`, `not`, `if` and what depends on a
//! name.

use std::collections::BTreeSet;

use serde_json::Value;

use super::comparison::{Comparison, Effect, is_compatible, is_same};
use super::document::Budget;
use super::kinds::Kinds;
use super::node::Node;
use super::place::{Place, Side};
use super::{ChangeClass, DefinitionChange};

pub(super) const KNOWN: &[&str] = &["anyOf", "oneOf"];

/// The forms of a node.
struct Forms<'a> {
    keyword: &'static str,
    nodes: Vec<Node<'a>>,
}

/// Compares nodes of which at least one offers forms. Says whether that was all there is to
/// compare.
pub(super) fn compare_choices<'a>(
    comparison: &mut Comparison<'a>,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) -> bool {
    let before = forms(old, comparison.budget, |value| comparison.old_node(value));
    let after = forms(new, comparison.budget, |value| comparison.new_node(value));
    match (before, after) {
        (None, None) => {
            exclusive(comparison, old, new, place);
            false
        }
        (Some(before), Some(after)) => {
            let place_of_forms = place.within(after.keyword);
            compare_forms(comparison, &before.nodes, &after.nodes, &place_of_forms);
            let (rest, new_rest) = (without(old, &before), without(new, &after));
            comparison.nodes(&rest, &new_rest, place);
            true
        }
        (Some(before), None) => {
            let place = place.within(before.keyword);
            let before = distribute(old, before, comparison.budget);
            compare_forms(comparison, &before, &split(new), &place);
            true
        }
        (None, Some(after)) => {
            let place = place.within(after.keyword);
            let after = distribute(new, after, comparison.budget);
            compare_forms(comparison, &split(old), &after, &place);
            true
        }
    }
}

/// Every form of the one side must fit a form of the other: for the input what was accepted
/// must still be, for the output what is promised must have been.
fn compare_forms<'a>(
    comparison: &mut Comparison<'a>,
    old: &[Node<'a>],
    new: &[Node<'a>],
    place: &Place,
) {
    let (narrow, wide) = match comparison.side {
        Side::Input => (old, new),
        Side::Output => (new, old),
    };
    let mut used = vec![false; wide.len()];
    for (index, form) in narrow.iter().enumerate() {
        if comparison.budget.exhausted() {
            return;
        }
        let there = place.within(&index.to_string());
        let (found, partner) = partner(comparison, index, form, wide, &there);
        if is_compatible(&found) {
            used[partner] = true;
            comparison.found.extend(found);
        } else if wide.len() == 1 || narrow.len() == wide.len() {
            comparison.found.extend(found);
        } else {
            let what = match comparison.side {
                Side::Input => "no longer accepts one of its forms",
                Side::Output => "has a form that it did not have before",
            };
            comparison.report(
                ChangeClass::Major,
                there.at(""),
                format!("{} {what}", place.subject()),
            );
        }
    }
    for index in (0..wide.len()).filter(|index| !used[*index]) {
        let what = match comparison.side {
            Side::Input => "accepts one more form",
            Side::Output => "no longer has one of its forms",
        };
        let there = place.at(&index.to_string());
        comparison.report(ChangeClass::Minor, there, format!("{} {what}", place.subject()));
    }
}

/// The form that fits best, first of all the one in the same place, and what differs. Without
/// any that fits, what differs from the one in the same place.
fn partner<'a>(
    comparison: &mut Comparison<'a>,
    index: usize,
    form: &Node<'a>,
    wide: &[Node<'a>],
    place: &Place,
) -> (Vec<DefinitionChange>, usize) {
    let first = index.min(wide.len() - 1);
    let mut best = (pair(comparison, form, &wide[first], place), first);
    for (other, candidate) in wide.iter().enumerate() {
        if is_same(&best.0) || comparison.budget.exhausted() {
            break;
        }
        if other == first {
            continue;
        }
        let found = pair(comparison, form, candidate, place);
        if is_same(&found) || (is_compatible(&found) && !is_compatible(&best.0)) {
            best = (found, other);
        }
    }
    best
}

fn pair<'a>(
    comparison: &mut Comparison<'a>,
    narrow: &Node<'a>,
    wide: &Node<'a>,
    place: &Place,
) -> Vec<DefinitionChange> {
    let (old, new) = match comparison.side {
        Side::Input => (narrow, wide),
        Side::Output => (wide, narrow),
    };
    comparison.aside(|comparison| comparison.nodes(old, new, place))
}

/// `oneOf` whose forms overlap: more of one form may be less of the whole.
fn exclusive<'a>(comparison: &mut Comparison<'a>, old: &Node<'a>, new: &Node<'a>, place: &Place) {
    for keyword in KNOWN {
        let (before, after) =
            (old.keywords.get(keyword).copied(), new.keywords.get(keyword).copied());
        match (before, after) {
            (None, None) => {}
            (Some(Value::Array(one)), Some(Value::Array(two))) => {
                if !paired(comparison, one, two, &place.within(keyword)) {
                    comparison.note_keyword(Effect::Unclear, place, keyword, (before, after));
                }
            }
            (Some(_), Some(_)) => comparison.opaque(keyword, old, new, place),
            _ => {
                let effect = Effect::of_constraint(before.is_some());
                comparison.note_keyword(effect, place, keyword, (before, after));
            }
        }
    }
}

/// Whether each form has one of its own on the other side that means exactly the same.
fn paired<'a>(
    comparison: &mut Comparison<'a>,
    old: &'a [Value],
    new: &'a [Value],
    place: &Place,
) -> bool {
    if old.len() != new.len() {
        return false;
    }
    let mut free: BTreeSet<usize> = (0..new.len()).collect();
    old.iter().enumerate().all(|(index, form)| {
        let there = place.within(&index.to_string());
        let same = Some(index).filter(|index| free.contains(index));
        let mut others = same.into_iter().chain(free.iter().copied().filter(|it| *it != index));
        let partner = others.find(|other| {
            comparison.budget.spend(1)
                && comparison
                    .exactly(|comparison| comparison.schemas(Some(form), new.get(*other), &there))
        });
        partner.is_some_and(|partner| free.remove(&partner))
    })
}

/// What must hold besides: each demand of the wide side must follow from one of the narrow.
pub(super) fn compare_conjuncts<'a>(
    comparison: &mut Comparison<'a>,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) {
    let (narrow, wide) = match comparison.side {
        Side::Input => (&old.besides, &new.besides),
        Side::Output => (&new.besides, &old.besides),
    };
    let place = place.within("allOf");
    let mut used = vec![false; narrow.len()];
    for (index, demand) in wide.iter().enumerate() {
        if comparison.budget.exhausted() {
            return;
        }
        let first = Some(index).filter(|it| *it < narrow.len());
        let order = first.into_iter().chain((0..narrow.len()).filter(|it| *it != index));
        let mut best: Option<(usize, Vec<DefinitionChange>)> = None;
        for other in order {
            let found = pair(comparison, &narrow[other], demand, &place);
            if is_same(&found) {
                best = Some((other, found));
                break;
            }
            if best.is_none() && is_compatible(&found) {
                best = Some((other, found));
            }
            if comparison.budget.exhausted() {
                break;
            }
        }
        match best {
            Some((partner, found)) => {
                used[partner] = true;
                comparison.found.extend(found);
            }
            None => comparison.report(
                ChangeClass::Major,
                place.at(""),
                format!("{} changed in what `allOf` demands of it", place.subject()),
            ),
        }
    }
    if used.contains(&false) {
        let text = format!("{} changed in what `allOf` demands of it, compatibly", place.subject());
        comparison.report(ChangeClass::Minor, place.at(""), text);
    }
}

/// The forms that a node offers: those of `anyOf`, or of `oneOf` when no value fits two.
fn forms<'a>(
    node: &Node<'a>,
    budget: &Budget,
    read: impl Fn(&'a Value) -> Node<'a>,
) -> Option<Forms<'a>> {
    let list = |keyword: &str| -> Option<Vec<Node<'a>>> {
        let list = node.keywords.get(keyword).copied()?.as_array()?;
        (!list.is_empty())
            .then(|| list.iter().map(|form| read(form).limited_to(node.mask)).collect())
    };
    if let Some(nodes) = list("anyOf") {
        return Some(Forms { keyword: "anyOf", nodes });
    }
    let nodes = list("oneOf")?;
    let apart = |(index, one): (usize, &Node<'a>)| {
        let mut later = nodes[index + 1..].iter();
        later.all(|two| !budget.exhausted() && are_apart(one, two, budget, &read))
    };
    let all_apart = nodes.len() <= MOST_FORMS && nodes.iter().enumerate().all(apart);
    all_apart.then_some(Forms { keyword: "oneOf", nodes })
}

/// The most forms of a `oneOf` that are compared with each other.
const MOST_FORMS: usize = 64;

/// Whether it can be seen that no value fits both.
fn are_apart<'a>(
    one: &Node<'a>,
    two: &Node<'a>,
    budget: &Budget,
    read: impl Fn(&'a Value) -> Node<'a>,
) -> bool {
    let distinct = |one: &Node<'a>, two: &Node<'a>| match (few_values(one), few_values(two)) {
        (Some(one), Some(two)) => one.is_disjoint(&two),
        _ => (one.kinds() & two.kinds()).is_empty(),
    };
    let tagged = |name: &&str| {
        let tag = |node: &Node<'a>| node.named("properties", name).map(&read);
        matches!((tag(one), tag(two)), (Some(one), Some(two)) if distinct(&one, &two))
    };
    let objects = Kinds::OBJECT.contains(one.kinds() & two.kinds());
    let mut tags = one.required.intersection(&two.required);
    distinct(one, two) || (objects && tags.any(|name| budget.spend(1) && tagged(name)))
}

/// The listed values, when they are few enough to be looked at for every other form.
fn few_values(node: &Node<'_>) -> Option<BTreeSet<String>> {
    const FEW: usize = 256;
    if node.listed_count() > FEW || node.bulk > FEW { None } else { node.values() }
}

/// The node but for its forms.
fn without<'a>(node: &Node<'a>, forms: &Forms<'a>) -> Node<'a> {
    let mut rest = node.clone();
    rest.keywords.remove(forms.keyword);
    rest.notes.clear();
    rest
}

/// Each form together with the rest of the node, as far as the budget goes.
fn distribute<'a>(node: &Node<'a>, forms: Forms<'a>, budget: &Budget) -> Vec<Node<'a>> {
    let rest = without(node, &forms);
    let cost = 1 + rest.weight();
    let join = |form| {
        let mut joined = rest.clone();
        joined.absorb(form);
        joined
    };
    // There is always one, which is what those who compare them rely on.
    let all = forms.nodes.into_iter().enumerate();
    all.take_while(|(index, _)| budget.spend(cost) || *index == 0).map(|(_, it)| join(it)).collect()
}

/// One node for each type that a node lists, for `anyOf` may say the same at greater length.
fn split<'a>(node: &Node<'a>) -> Vec<Node<'a>> {
    let mut whole = node.clone();
    whole.notes.clear();
    if !node.keywords.get("type").is_some_and(|named| named.is_array()) {
        return vec![whole];
    }
    node.typed().split().into_iter().map(|kinds| whole.limited_to(kinds)).collect()
}

pub(super) const KNOWN_CONDITIONS: &[&str] =
    &["not", "if", "then", "else", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"];

pub(super) fn compare_conditions<'a>(
    comparison: &mut Comparison<'a>,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) {
    fixed(comparison, "not", old, new, place);
    for keyword in ["unevaluatedProperties", "unevaluatedItems"] {
        fixed(comparison, keyword, old, new, place);
    }
    if fixed(comparison, "if", old, new, place) {
        for keyword in ["then", "else"] {
            let read = |node: &Node<'a>| node.keywords.get(keyword).copied();
            comparison.schemas(read(old), read(new), &place.within(keyword));
        }
    }
    dependent_schemas(comparison, old, new, place);
}

/// A subschema that has to stay as it is. Says whether it is there, before and after, and did.
fn fixed<'a>(
    comparison: &mut Comparison<'a>,
    keyword: &str,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) -> bool {
    let (before, after) = (old.keywords.get(keyword).copied(), new.keywords.get(keyword).copied());
    let effect = match (before, after) {
        (None, None) => return false,
        (Some(_), Some(_)) => {
            let there = place.within(keyword);
            if comparison.exactly(|comparison| comparison.schemas(before, after, &there)) {
                return true;
            }
            Effect::Unclear
        }
        _ => Effect::of_constraint(before.is_some()),
    };
    comparison.note_keyword(effect, place, keyword, (before, after));
    false
}

fn dependent_schemas<'a>(
    comparison: &mut Comparison<'a>,
    old: &Node<'a>,
    new: &Node<'a>,
    place: &Place,
) {
    let key = "dependentSchemas";
    let read = |node: &Node<'a>| node.keywords.get(key).map(|value| value.as_object());
    let (before, after) = match (read(old), read(new)) {
        (None, None) => return,
        (Some(None), _) | (_, Some(None)) => return comparison.opaque(key, old, new, place),
        (before, after) => (before.flatten(), after.flatten()),
    };
    let names: BTreeSet<&String> =
        [before, after].into_iter().flatten().flat_map(|it| it.keys()).collect();
    for name in names {
        let (one, two) = (old.named(key, name), new.named(key, name));
        comparison.schemas(one, two, &place.within(&format!("{key}.{name}")));
    }
}
