//! What is found of a result in one pass is what a search finds, and what is put to its end changes
//! nothing before it.

use gantry_protocol::{RawJson, ResultObject, Revision, compat};
use proptest::prelude::*;

use super::generate::{leaf, member, object_of, one_of, text};
use super::{json, messages};

/// Results whose members may be missing, written in other ways, twice there, or of any kind.
fn result() -> BoxedStrategy<String> {
    let error = member("isError", prop_oneof![one_of(&["true", "false"]), leaf()].boxed());
    let kind = one_of(&["\"complete\"", "\"task\"", "\"compl\\u0065te\""]);
    let kind = member("resultType", prop_oneof![kind, leaf()].boxed());
    let meta = member("_meta", text());
    let escaped = member("is\\u0045rror", one_of(&["true"]));
    let structured = member("structuredContent", text());
    let kept = member("ttlMs", one_of(&["0", "5"]));
    let more = vec![member("content", text()), structured, kept, meta.clone(), meta, error.clone()];
    let more = [more, vec![error, kind]].concat();
    object_of(vec![], [more, vec![escaped]].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn one_pass_finds_what_a_search_finds(text in result()) {
        let raw = json(&text);
        let found = ResultObject::from(raw.clone());
        let is = |key: &str, value: &str| raw.get(key).is_some_and(|it| it.as_str() == value);
        prop_assert_eq!(found.is_error(), is("isError", "true"));
        prop_assert_eq!(found.is_complete(), is("resultType", "\"complete\""));
        prop_assert_eq!(found.meta(), raw.get("_meta"));
        prop_assert_eq!(found.into_raw(), raw);
    }

    #[test]
    fn a_member_at_the_end_is_the_same_as_a_new_one(text in result(), value in text()) {
        let (raw, value) = (json(&text), json(&value));
        let edited = raw.edit().set("new", value.clone()).apply();
        prop_assert_eq!(raw.with("new", &value), edited);
        let values = RawJson::array([&value]);
        prop_assert_eq!(values.with("new", &value), values);
    }

    /// Whether a result is read again on its way or not, clients get the same.
    #[test]
    fn what_need_not_be_changed_is_what_a_change_leaves(text in result(), method in messages::method()) {
        let found = ResultObject::from(json(&text));
        for from in Revision::ALL {
            let lifted = compat::lift(from, &method, found.clone());
            let read = compat::lift_result(from, &method, &found);
            prop_assert_eq!(lifted.is_error(), ResultObject::from(read.clone()).is_error());
            for to in Revision::ALL {
                let lowered = compat::lower(to, &method, lifted.clone());
                let expected = compat::lower_result(to, &method, &read);
                prop_assert_eq!(&*lowered, &expected, "{} to {}", from, to);
                let again = ResultObject::from(expected);
                prop_assert_eq!(lowered.is_complete(), again.is_complete());
                prop_assert_eq!(lowered.meta(), again.meta());
            }
        }
    }
}
