//! Questions that a server asks a client: entries of `inputRequests` in the newest revision,
//! requests of their own before it.

use super::border::without;
use super::{form, sampling};
use crate::json::RawJson;
use crate::method::Method;
use crate::revision::Revision;

/// A question that a revision has no words for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Inexpressible {
    /// Asking the user at all.
    #[error("protocol revision {0} cannot ask the user for input")]
    Elicitation(Revision),
    /// Sending the user to a URL.
    #[error("protocol revision {0} cannot send the user to a URL")]
    Url(Revision),
    /// A field of a form.
    #[error("protocol revision {revision} cannot ask for `{field}`, {reason}")]
    Field {
        /// The field's name.
        field: String,
        /// What is too much about it.
        reason: &'static str,
        /// The revision that lacks it.
        revision: Revision,
    },
    /// Sampling with tools.
    #[error("protocol revision {0} cannot offer tools to the model")]
    SamplingTools(Revision),
    /// A sampling message that does not hold exactly one block.
    #[error("protocol revision {revision} wants one content block in a message, not {count}")]
    BlockCount {
        /// Blocks in the message.
        count: usize,
        /// The revision that wants one.
        revision: Revision,
    },
    /// A kind of content in a sampling message.
    #[error("protocol revision {revision} cannot show content of type `{kind}` to the model")]
    Block {
        /// The block's `type`.
        kind: String,
        /// The revision that lacks it.
        revision: Revision,
    },
}

/// A question of the newest form as request params of `revision`. `elicitation_id` names a visit
/// to a URL for 2025-11-25, the only revision that wants a name for it.
///
/// ```
/// use gantry_protocol::{Method, RawJson, Revision, compat};
/// let visit = RawJson::from_static(r#"{"mode":"url","url":"https://a.example"}"#);
/// let ask = |revision| compat::lower_input_request(revision, &Method::Elicit, Some(&visit), "visit-1");
/// let error = ask(Revision::V2025_06_18).unwrap_err();
/// assert_eq!(error.to_string(), "protocol revision 2025-06-18 cannot send the user to a URL");
/// let asked = ask(Revision::V2025_11_25).unwrap().unwrap();
/// assert_eq!(asked.get("elicitationId"), Some(RawJson::string("visit-1")));
/// ```
pub fn lower_input_request(
    revision: Revision,
    method: &Method,
    params: Option<&RawJson>,
    elicitation_id: &str,
) -> Result<Option<RawJson>, Inexpressible> {
    if revision.is_stateless() {
        return Ok(params.cloned());
    }
    if *method == Method::Elicit && !revision.has_elicitation() {
        return Err(Inexpressible::Elicitation(revision));
    }
    let Some(params) = params else {
        return Ok(None);
    };
    let lowered = match method {
        Method::Elicit => form::lower(revision, params, elicitation_id)?,
        Method::CreateMessage => sampling::lower(revision, params)?,
        _ => without(params, &[]).apply(),
    };
    Ok(Some(lowered))
}

/// Request params that came from a server of `revision`, as a question of the newest form.
pub fn lift_input_request(
    revision: Revision,
    method: &Method,
    params: Option<&RawJson>,
) -> Option<RawJson> {
    let params = params?;
    if revision.is_stateless() {
        return Some(params.clone());
    }
    let unsaid: &[&str] = match method {
        Method::Elicit => &["task", "elicitationId"],
        Method::CreateMessage => &["task"],
        _ => &[],
    };
    Some(without(params, unsaid).apply())
}
