//! Texts for callers whose call was not approved.

use std::time::Duration;

use gantry_gateway::{CallError, ErrorKind};
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::ApprovalSettings;
use super::pending::{Past, Pending};
use super::queue::Full;
use super::wait::Need;

/// Nobody has decided yet.
pub(super) fn open(
    call: &Pending,
    need: &Need,
    settings: &ApprovalSettings,
    page: Option<&str>,
    now: u64,
) -> CallError {
    let (Pending { id, tool, expires, .. }, reason) = (call, &need.reason);
    let left = span(Duration::from_secs(expires.saturating_sub(now).max(1)));
    let within = span(settings.repeat_within);
    let browser = page.map(|page| format!(", or in a browser: {page}")).unwrap_or_default();
    let always = match need.trust_helps {
        true => format!("`gantry trust grant {tool}` lets it always run"),
        false => format!("`gantry approve {id} --for 1h` approves all its calls for an hour"),
    };
    let text = format!(
        "`{tool}` was not run: {reason}, and nobody has approved it yet. Approval {id} is open for \
         {left}: `gantry approve {id}`{browser}. Once it is approved, repeat the same call within \
         {within}, and it runs at once. {always}."
    );
    let advice = format!(
        "tell the user to approve it with `gantry approve {id}`, then repeat the same call"
    );
    let approval = ObjectWriter::new()
        .value("id", id)
        .value("expires", expires)
        .value("repeatWithinMs", &(settings.repeat_within.as_millis() as u64))
        .value("command", &format!("gantry approve {id}"))
        .value_some("page", page)
        .finish();
    blocked(text, ObjectWriter::new().raw("approval", &approval).value("advice", &advice).finish())
}

/// Nobody decided while the approval was open, or nobody could be asked.
pub(super) fn expired(call: &Pending, need: &Need) -> CallError {
    let (tool, reason) = (&call.tool, &need.reason);
    let advice = match need.trust_helps {
        true => format!("`gantry trust grant {tool}` lets it always run"),
        false => "repeat the call when somebody can approve it".to_owned(),
    };
    let text = format!("`{tool}` was not run: {reason}, and nobody approved it in time; {advice}");
    blocked(text, ObjectWriter::new().value("advice", &advice).finish())
}

/// Somebody said no.
pub(super) fn denied(past: &Past, need: &Need) -> CallError {
    let (Pending { id, tool, .. }, reason) = (&past.pending, &need.reason);
    let text = format!("`{tool}` was not run: {reason}, and {} denied it", past.by);
    let approval = ObjectWriter::new().value("id", id).value("deniedBy", &past.by).finish();
    let advice = "do not repeat the call unless the user asks for it";
    blocked(text, ObjectWriter::new().raw("approval", &approval).value("advice", advice).finish())
}

/// No more approvals may be open.
pub(super) fn too_many(tool: &str, full: Full) -> CallError {
    let why = match full {
        Full::Number(limit) => format!("{limit} are open already"),
        Full::Bytes(limit) => format!(
            "with its arguments those that are open would hold more than {limit} bytes \
             (`policy.approvals.held`)"
        ),
    };
    let text = format!(
        "`{tool}` was not run: it needs an approval, and {why}; answer some first: \
         `gantry approve` lists them"
    );
    let advice = "wait until some of the open approvals are answered";
    blocked(text, ObjectWriter::new().value("advice", advice).finish())
}

fn blocked(text: String, details: RawJson) -> CallError {
    CallError::new(ErrorKind::Blocked, text).with_data(details)
}

/// A length of time in its largest unit.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let (number, unit) = match seconds {
        0 => return format!("{} ms", time.as_millis()),
        1..120 => (seconds, "second"),
        120..7200 => (seconds / 60, "minute"),
        7200..172_800 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time() {
        let cases = [
            (0, 300, "300 ms"),
            (1, 0, "1 second"),
            (90, 0, "90 seconds"),
            (900, 0, "15 minutes"),
            (3600, 0, "60 minutes"),
            (7200, 0, "2 hours"),
            (604_800, 0, "7 days"),
        ];
        for (seconds, millis, expected) in cases {
            let time = Duration::from_secs(seconds) + Duration::from_millis(millis);
            assert_eq!(span(time), expected);
        }
    }

    /// The advice is true: an id only while it is open, and trust only where trust helps.
    #[test]
    fn advice_is_what_helps() {
        let call = Pending {
            id: "3f9c".to_owned(),
            tool: "t".to_owned(),
            expires: 160,
            ..Pending::default()
        };
        let settings = ApprovalSettings::default();
        for trust_helps in [true, false] {
            let need = Need { reason: "it".into(), rule: None, trust_helps };
            let page = "http://h/ui/approvals";
            let open = open(&call, &need, &settings, Some(page), 100).public;
            for told in ["`gantry approve 3f9c`", "60 seconds", "15 minutes", page] {
                assert!(open.contains(told), "{told}: {open}");
            }
            let expired = expired(&call, &need).public;
            assert!(!expired.contains("3f9c"), "{expired}");
            for text in [open, expired] {
                assert_eq!(text.contains("gantry trust grant t"), trust_helps, "{text}");
            }
        }
    }
}
