//! Open and past approvals as people are shown them, with secrets redacted and invisible characters made
//! visible.

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson, Redactor};
use serde::{Deserialize, Serialize};

/// Bytes of arguments that a list shows of one call.
const LISTED: usize = 16 * 1024;

/// An approval that is open: a call that a person must approve, whether or not its client still
/// waits for the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    /// Its name, for who answers.
    pub id: String,
    /// Who calls.
    pub principal: String,
    /// What the client calls itself, which may be anything.
    pub client: Option<String>,
    /// The session that it belongs to.
    pub session: Option<String>,
    /// What is called.
    pub tool: String,
    /// Whose that is.
    pub server: Option<String>,
    /// With what: the exact arguments in JSON, secrets left out.
    pub arguments: String,
    /// Why it waits.
    pub reason: String,
    /// Since when, in seconds since 1970.
    pub since: u64,
    /// Until when the approval stays open.
    pub expires: u64,
    /// Who may approve it, as patterns, where a rule says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvers: Option<Vec<String>>,
    /// Whether the call still waits. If not, an approval lets the same call through when it is
    /// repeated.
    #[serde(skip)]
    pub waiting: bool,
}

/// How the wait of a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It may run.
    Approved,
    /// It may not.
    Denied,
    /// Nobody said anything in time.
    Expired,
}

/// A call that waits no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// The call.
    pub pending: Pending,
    /// How its wait ended.
    pub verdict: Verdict,
    /// By whose word.
    pub by: String,
    /// In what capacity: `administrator`, `approver`, `elicitation` or `webhook`.
    #[serde(default)]
    pub via: String,
    /// When, in seconds since 1970.
    pub at: u64,
    /// Whether more was granted than this call.
    pub granted: bool,
}

impl Pending {
    /// As programs and pages are told.
    pub fn to_json(&self) -> RawJson {
        self.writer().value("waiting", &self.waiting).finish()
    }

    /// The same with no more of its arguments than a list can show of each call.
    #[must_use]
    pub fn shortened(mut self) -> Self {
        let whole = self.arguments.len();
        if whole > LISTED {
            self.arguments.truncate(self.arguments.floor_char_boundary(LISTED));
            self.arguments.shrink_to_fit();
            let id = &self.id;
            let more = format!("… (cut short, {whole} bytes; `gantry approve {id} --show`)");
            self.arguments.push_str(&more);
        }
        self
    }

    fn writer(&self) -> ObjectWriter {
        let arguments = RawJson::parse(self.arguments.clone(), JsonLimits::default());
        ObjectWriter::new()
            .value("id", &self.id)
            .value("principal", &self.principal)
            .value_some("client", self.client.as_ref())
            .value_some("session", self.session.as_ref())
            .value("tool", &self.tool)
            .value_some("server", self.server.as_ref())
            .raw("arguments", &arguments.unwrap_or(RawJson::NULL))
            .value("argumentsText", &self.arguments)
            .value("reason", &self.reason)
            .value("since", &self.since)
            .value("expires", &self.expires)
            .value_some("approvers", self.approvers.as_ref())
    }
}

impl Past {
    /// What the audit log says of it: what was decided, by whom, and in what capacity.
    pub(crate) fn recorded(&self) -> String {
        format!("{} by {} ({})", self.verdict.as_str(), self.by, self.via)
    }

    /// As programs and pages are told.
    pub fn to_json(&self) -> RawJson {
        self.pending
            .writer()
            .value("verdict", self.verdict.as_str())
            .value("by", &self.by)
            .value("via", &self.via)
            .value("at", &self.at)
            .value("granted", &self.granted)
            .finish()
    }
}

impl Verdict {
    /// All of them, in their order.
    pub(super) const ALL: [Self; 3] = [Self::Approved, Self::Denied, Self::Expired];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
        }
    }

    /// What was done to the call, as a verb.
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "let lapse",
        }
    }
}

/// Arguments as a text without secrets in which nothing can hide: letters that are not seen, or that change how the
/// rest is seen, are written as JSON writes them by number.
pub(crate) fn shown(value: &RawJson) -> String {
    let mut text = String::new();
    for letter in Redactor::default().value(value).as_str().chars() {
        match is_hidden(letter) {
            true => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
            false => text.push(letter),
        }
    }
    text
}

fn is_hidden(letter: char) -> bool {
    matches!(
        letter,
        '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0100}'..='\u{e01ef}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides() {
        let value = RawJson::string("a\u{202e}b\u{200b}\u{e0041}ü\u{fe0f}\u{34f}\u{3164}");
        assert_eq!(shown(&value), r#""a\u202eb\u200b\udb40\udc41ü\ufe0f\u034f\u3164""#);
    }
}
