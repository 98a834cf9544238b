//! Compatibility between protocol revisions: what differs on the wire, as functions over raw JSON.
//!
//! The core of the gateway uses the newest revision only. Messages of an older peer are lifted to it
//! (`lift_*`), and messages to an older peer are lowered to what its revision can express
//! (`lower_*`). Server and client use the same functions, so bridging costs one adapter for each
//! side instead of one for each pair of revisions.
//!
//! Lowering changes only what an older peer would misread: content types that it does not know
//! become text, `structuredContent` that its revision cannot hold is wrapped or left to the text
//! block, members of the newest envelope are removed. Additive members (`title`, `icons`,
//! `annotations`, `_meta`, vendor keys) reach every peer: each revision's schema allows unknown
//! members, and dropping them would lose data. A message in which nothing changes is returned
//! without a copy.

mod capabilities;
mod content;
mod input_request;
mod output_schema;
mod params;
mod result;
mod task;

pub use capabilities::{
    lift_client_capabilities, lift_server_capabilities, lower_client_capabilities,
    lower_server_capabilities,
};
pub use input_request::{
    Inexpressible, lift_answer, lift_input_request, lower_answer, lower_input_request,
};
pub use params::{lift_notification, lift_params, lower_notification, lower_params};
pub use result::{lift, lift_result, lower, lower_result, with_json_block};
pub use task::{lift_task, lower_task, with_related_task};

use std::convert::Infallible;

use crate::json::{Edit, RawJson};
use crate::meta::key;

/// An edit of `object` that drops the named members and, from its `_meta`, the keys of one hop.
/// It is empty, and so costs no copy, when none of them is there.
fn without<'a>(object: &'a RawJson, members: &[&'static str]) -> Edit<'a> {
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

/// The array with the elements that `change` gives a new value for; none when it gives none.
fn map_elements(
    array: &RawJson,
    mut change: impl FnMut(&RawJson) -> Option<RawJson>,
) -> Option<RawJson> {
    match try_map_elements(array, |element| Ok::<_, Infallible>(change(element))) {
        Ok(changed) => changed,
        Err(never) => match never {},
    }
}

/// The same, where a change may fail.
fn try_map_elements<E>(
    array: &RawJson,
    mut change: impl FnMut(&RawJson) -> Result<Option<RawJson>, E>,
) -> Result<Option<RawJson>, E> {
    let mut changed: Option<Vec<RawJson>> = None;
    for (index, element) in array.elements().enumerate() {
        match (change(&element)?, &mut changed) {
            (None, None) => {}
            (None, Some(list)) => list.push(element),
            (Some(new), Some(list)) => list.push(new),
            (Some(new), none) => {
                let before = array.elements().take(index);
                *none = Some(before.chain([new]).collect());
            }
        }
    }
    Ok(changed.map(|list| RawJson::array(&list)))
}

#[cfg(test)]
mod tests;
