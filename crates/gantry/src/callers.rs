//! Who calls over HTTP: the doorman that knows callers by their tokens, and tokens as they are
//! shown.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gantry_policy::{Clock, TokenRecord, TokenRefusal, Tokens};
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use gantry_server::{AuthError, Authenticator, Identity};

/// Knows callers by their tokens.
#[derive(Debug, Clone)]
pub struct TokenAuthenticator(pub Arc<Tokens>);

impl Authenticator for TokenAuthenticator {
    fn authenticate(&self, shown: Option<&str>) -> Result<Identity, AuthError> {
        let checked = self.0.check(shown);
        let refuse = |refusal: TokenRefusal| {
            let shown = refusal != TokenRefusal::Missing;
            AuthError { shown, message: refusal.to_string() }
        };
        let known = checked.map_err(refuse)?;
        Ok(Identity { principal: known.name, scope: known.scope, lease: Some(known.lease) })
    }

    fn requires_credentials(&self) -> bool {
        true
    }
}

/// A token as it may be shown: everything but its hash. Times are seconds since 1970.
pub fn row(record: &TokenRecord, clock: &Clock) -> RawJson {
    ObjectWriter::new()
        .value("name", &record.name)
        .value("id", &record.id)
        .value("state", state(record, clock))
        .value("allow", &record.allow)
        .value("role", record.role.as_str())
        .value("created", &record.created)
        .value("expires", &record.expires)
        .value("revoked", &record.revoked)
        .value("last_used", &record.last_used)
        .finish()
}

/// `active`, `expired` or `revoked`.
fn state(record: &TokenRecord, clock: &Clock) -> &'static str {
    match (record.revoked, record.is_dead(clock.seconds())) {
        (Some(_), _) => "revoked",
        (None, true) => "expired",
        (None, false) => "active",
    }
}

/// How long a token is to be good, written as `30d`: a number of `s`, `m`, `h`, `d` or `w`.
pub fn lifetime(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit())?);
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        "w" => 7 * 24 * 3600,
        _ => return None,
    };
    let seconds = number.parse::<u64>().ok()?.checked_mul(factor)?;
    let lifetime = Duration::from_secs(seconds);
    // A time that no clock can show is none.
    let fits = seconds > 0 && SystemTime::now().checked_add(lifetime).is_some();
    fits.then_some(lifetime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes() {
        let cases = [
            ("1s", Some(1)),
            ("90m", Some(5400)),
            ("12h", Some(43_200)),
            ("30d", Some(2_592_000)),
            ("2w", Some(1_209_600)),
            ("0d", None),
            ("30", None),
            ("d", None),
            ("", None),
            ("-1d", None),
            ("1.5h", None),
            ("30 d", None),
            ("30days", None),
            ("99999999999999999d", None),
        ];
        for (text, expected) in cases {
            assert_eq!(lifetime(text), expected.map(Duration::from_secs), "{text}");
        }
    }
}
