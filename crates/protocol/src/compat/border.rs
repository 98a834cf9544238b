//! What belongs to one hop and does not cross the gateway.

use crate::json::{Edit, RawJson};
use crate::meta::key;

/// An edit of `object` that drops the named members and, from its `_meta`, the keys of one hop.
/// It is empty, and so costs no copy, when none of them is there.
pub(super) fn without<'a>(object: &'a RawJson, members: &[&'static str]) -> Edit<'a> {
    let mut edit = object.edit();
    for member in object.members() {
        if let Some(name) = members.iter().find(|name| member.is(name)) {
            edit = edit.remove(*name);
        } else if member.is(key::META) {
            edit = strip(edit, &member.value());
        }
    }
    edit
}

/// A `_meta` that held nothing else goes with its keys.
fn strip<'a>(edit: Edit<'a>, meta: &RawJson) -> Edit<'a> {
    let mut kept = meta.edit();
    let (mut dropped, mut others) = (false, false);
    for member in meta.members() {
        match hop_key(&member.key_bytes()) {
            Some(name) => {
                kept = kept.remove(name);
                dropped = true;
            }
            None => others = true,
        }
    }
    match (dropped, others) {
        (false, _) => edit,
        (true, false) => edit.remove(key::META),
        (true, true) => edit.set(key::META, kept.apply()),
    }
}

fn hop_key(name: &[u8]) -> Option<&'static str> {
    let mut keys = key::OF_ONE_HOP.into_iter().chain([key::SERVER_INFO]);
    keys.find(|it| it.as_bytes() == name)
}
