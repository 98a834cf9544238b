//! What an approval is asked for: who calls what, with which arguments.

use std::borrow::Cow;
use std::sync::Arc;

use gantry_gateway::{Call, Resolved};
use gantry_protocol::RawJson;
use gantry_protocol::json::{FlatJson, FlatNode, JsonKind};
use sha2::{Digest, Sha256};

use crate::canonical_json::{fingerprint, hexadecimal};

/// Who calls what, and with what.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    pub(super) principal: Arc<str>,
    pub(super) client: Option<String>,
    pub(super) session: Option<Arc<str>>,
    pub(super) tool: String,
    pub(super) server: Option<String>,
    /// What the tool is, so that a grant for one is none for another of its name.
    pub(super) bound: String,
    pub(super) arguments: RawJson,
    /// A digest of the arguments that is the same for equal ones; none if they can be read in two
    /// ways.
    pub(super) canonical: Option<String>,
    /// Who may approve it, where a rule says so.
    pub(super) approvers: Option<Vec<String>>,
    /// Whether it takes up a call that has asked its client something.
    pub(super) continues: bool,
}

impl Asking {
    pub(super) fn of(resolved: &Resolved, approvers: Option<Vec<String>>) -> Self {
        let Call { caller, head, input, .. } = &*resolved.call;
        // With defaults: people and grants must judge what the tool runs with.
        let arguments = resolved.effective_arguments().filter(|it| !it.is_null());
        let arguments = arguments.unwrap_or(RawJson::EMPTY_OBJECT);
        let origin = resolved.target.origin();
        // Only the door whose clients take questions over opens such a state, and it was sealed.
        let is_carried = resolved.call.takes_input_requests && head.request_state.is_some();
        Self {
            principal: caller.principal.clone(),
            client: caller.client_name(),
            session: caller.session.clone(),
            tool: resolved.target.names().canonical().to_owned(),
            server: origin.map(|origin| origin.server.to_string()),
            bound: fingerprint(&resolved.target),
            canonical: digest(&arguments),
            arguments,
            approvers,
            continues: is_carried || input.state.is_some(),
        }
    }

    /// What tells these arguments from others; none if they can be read in two ways.
    pub(super) fn digest(&self) -> Option<String> {
        self.canonical.clone()
    }

    /// The same for comparing only: arguments may be large.
    #[must_use]
    pub(super) fn without_arguments(mut self) -> Self {
        self.arguments = RawJson::EMPTY_OBJECT;
        self
    }

    /// Whether it is the same call of the same principal: what an approval is for, in whatever
    /// session. What others may approve is not the same, so that a rule that names approvers
    /// counts for approvals that were open before.
    pub(super) fn is_same_call(&self, other: &Self) -> bool {
        self.principal == other.principal
            && (&self.tool, &self.bound) == (&other.tool, &other.bound)
            && self.approvers == other.approvers
            && self.canonical.is_some()
            && self.canonical == other.canonical
    }

    /// Whether it is the same call of the same caller again.
    pub(super) fn is_again(&self, other: &Self) -> bool {
        self.session == other.session && self.is_same_call(other)
    }
}

/// A digest that is the same for equal arguments; none if they can be read in two ways. Nothing is
/// copied: a caller sends megabytes of small members.
fn digest(arguments: &RawJson) -> Option<String> {
    // What cannot be indexed, such as a number that no float holds, is equal only as it is written.
    let Ok(index) = FlatJson::new(arguments) else {
        let text = arguments.compact();
        return arguments.duplicate_key().is_none().then(|| hashed(&[b"written", text.bytes()]));
    };
    let mut hash = Sha256::new();
    add(index.root(), &mut hash)?;
    Some(hexadecimal(&hash.finalize()))
}

fn hashed(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part));
    hexadecimal(&hash.finalize())
}

fn add(value: FlatNode<'_>, hash: &mut Sha256) -> Option<()> {
    match value.kind() {
        JsonKind::Object => {
            hash.update(b"{");
            let mut before: Option<Cow<'_, str>> = None;
            for (key, value) in value.sorted_members() {
                let key = key.as_text()?;
                if before.as_ref() == Some(&key) {
                    return None;
                }
                add_text(&key, hash);
                add(value, hash)?;
                before = Some(key);
            }
            hash.update(b"}");
        }
        JsonKind::Array => {
            hash.update(b"[");
            value.elements().try_for_each(|element| add(element, hash))?;
            hash.update(b"]");
        }
        JsonKind::String => add_text(&value.as_text()?, hash),
        _ => {
            hash.update(value.written());
            hash.update(b",");
        }
    }
    Some(())
}

/// A text is told from what follows by its length.
fn add_text(text: &str, hash: &mut Sha256) {
    hash.update(b"\"");
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text.as_bytes());
}

/// JSON in which equal values are equal texts: sorted members, numbers as they were written. None
/// if a member is there twice: two readers may then see two different values.
pub(super) fn canonical(value: &RawJson) -> Option<String> {
    let mut text = String::new();
    write(value, &mut text)?;
    Some(text)
}

fn write(value: &RawJson, text: &mut String) -> Option<()> {
    match value.kind() {
        JsonKind::Object => {
            let mut members: Vec<(String, RawJson)> =
                value.members().map(|it| (it.key().into_owned(), it.value())).collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
                return None;
            }
            text.push('{');
            for (key, value) in &members {
                text.push_str(RawJson::string(key).as_str());
                text.push(':');
                write(value, text)?;
                text.push(',');
            }
            text.push('}');
        }
        JsonKind::Array => {
            text.push('[');
            for element in value.elements() {
                write(&element, text)?;
                text.push(',');
            }
            text.push(']');
        }
        JsonKind::String => text.push_str(RawJson::string(&value.to_text()?).as_str()),
        _ => text.push_str(value.as_str()),
    }
    Some(())
}

/// Whether a value has all that another has: every member of its objects, everything else alike.
pub(super) fn has_all(value: &RawJson, wanted: &RawJson) -> bool {
    match wanted.kind() {
        JsonKind::Object if value.is_object() => wanted.members().all(|member| {
            value.get(&member.key()).is_some_and(|value| has_all(&value, &member.value()))
        }),
        _ => canonical(value).is_some_and(|it| canonical(wanted) == Some(it)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_equal_texts() {
        let cases = [
            (r#"{"a":1,"b":[true,null]}"#, r#"{ "b" : [ true,null ], "a":1 }"#, true),
            (r#"{"a":"A"}"#, r#"{"a":"\u0041"}"#, true),
            (r#"{"a":1}"#, r#"{"a":1.0}"#, false),
            (r#"{"a":1}"#, r#"{"a":"1"}"#, false),
            (r#"{"a":1}"#, r#"{"a":1,"b":1}"#, false),
            (r#"[1,2]"#, r#"[2,1]"#, false),
        ];
        for (one, other, expected) in cases {
            let text = |it| canonical(&RawJson::from_static(it)).unwrap();
            assert_eq!(text(one) == text(other), expected, "{one} {other}");
            let digest = |it| digest(&RawJson::from_static(it)).unwrap();
            assert_eq!(digest(one) == digest(other), expected, "{one} {other}");
        }
        for doubled in [r#"{"a":1,"a":2}"#, r#"[{"b":{"a":1,"\u0061":2}}]"#] {
            assert_eq!(canonical(&RawJson::from_static(doubled)), None, "{doubled}");
            assert_eq!(digest(&RawJson::from_static(doubled)), None, "{doubled}");
        }
    }

    #[test]
    fn a_subset() {
        let cases = [
            (r#"{"a":1,"b":2}"#, r#"{"a":1}"#, true),
            (r#"{"a":1}"#, r#"{}"#, true),
            (r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"c":2}}"#, true),
            (r#"{"a":1}"#, r#"{"a":2}"#, false),
            (r#"{"a":1}"#, r#"{"b":1}"#, false),
            (r#"{"a":[1,2]}"#, r#"{"a":[1]}"#, false),
            (r#"{"a":1}"#, r#"{"a":{}}"#, false),
        ];
        for (value, wanted, expected) in cases {
            let (value, wanted) = (RawJson::from_static(value), RawJson::from_static(wanted));
            assert_eq!(has_all(&value, &wanted), expected, "{value} {wanted}");
        }
    }
}
