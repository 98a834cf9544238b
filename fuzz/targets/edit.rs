//! An edit leaves every member that it does not name as it was, in the order it was.
#![no_main]

use gantry_protocol::{JsonLimits, RawJson};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, text)) = data.split_first() else {
        return;
    };
    let Ok(raw) = RawJson::parse(text.to_vec(), JsonLimits::default()) else {
        return;
    };
    let compact = raw.compact();
    assert_eq!(members(&compact).len(), members(&raw).len());
    agrees_with_another_reader(&raw);

    let before = members(&raw);
    let key = match before.get(usize::from(choice >> 1)) {
        Some((key, _)) => key.clone(),
        None => "new".to_owned(),
    };
    let sets = choice & 1 == 1;
    let edited = match sets {
        true => raw.edit().set(key.as_str(), RawJson::string("set")).apply(),
        false => raw.edit().remove(key.as_str()).apply(),
    };
    let others = |list: Vec<(String, String)>| -> Vec<_> {
        list.into_iter().filter(|member| member.0 != key).collect()
    };
    let after = members(&edited);
    let named = after.iter().filter(|member| member.0 == key).count();
    assert_eq!(named, usize::from(sets && raw.is_object()));
    assert_eq!(others(after), others(before));
    RawJson::parse(edited.bytes().clone(), JsonLimits::default()).expect("an edit writes JSON");
});

fn members(raw: &RawJson) -> Vec<(String, String)> {
    raw.members().map(|it| (it.key().into_owned(), it.value().to_string())).collect()
}

fn agrees_with_another_reader(raw: &RawJson) {
    let elements: Vec<_> = raw.elements().map(|element| element.to_string()).collect();
    let seen = serde_json::from_str::<Vec<Box<RawValue>>>(raw.as_str()).unwrap_or_default();
    assert_eq!(elements, seen.iter().map(|element| element.get()).collect::<Vec<_>>());
}
