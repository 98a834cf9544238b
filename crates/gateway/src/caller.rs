//! Who makes a call: the principal, its scope, its token lease, and what its client can do.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gantry_protocol::{ClientCapabilities, RawJson};
use tokio_util::sync::CancellationToken;

/// The most bytes of a client's name that anything looks at.
const CLIENT_NAME: usize = 256;

/// The client behind a call, as the listener authenticated it.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    /// Who is accountable. Never taken from what a client says about itself.
    pub principal: Arc<str>,
    /// What the client declared for this call.
    pub capabilities: ClientCapabilities,
    /// What the client calls itself. For display only.
    pub client_info: Option<RawJson>,
    /// A name for the session or connection that the call belongs to, the same for all its calls;
    /// none when the call stands alone.
    pub session: Option<Arc<str>>,
    /// What the caller's credentials are good for, when that is not everything.
    pub scope: Option<Arc<Scope>>,
    /// The credential itself, which may be revoked or expire; none for a caller without one.
    pub lease: Option<Arc<TokenLease>>,
    /// The virtual server that it used, `/mcp/NAME`; none for the main endpoint.
    pub virtual_server: Option<Arc<str>>,
}

/// What a caller's credentials are good for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Patterns of the names that may be seen and called.
    pub allow: Vec<String>,
}

impl Caller {
    /// The principal of who runs the gateway: standard input, the command line, and a listener that
    /// asks nobody who is there. No token can have this name.
    pub const LOCAL: &str = "local";

    /// Whether the call is made by who runs the gateway.
    pub fn is_local(&self) -> bool {
        &*self.principal == Self::LOCAL
    }

    /// A caller that declared nothing.
    pub fn new(principal: impl Into<Arc<str>>) -> Self {
        Self { principal: principal.into(), ..Self::default() }
    }

    /// What the client calls itself, if it says so, cut at [`CLIENT_NAME`] bytes. Anyone may say
    /// anything, and the rules remember it.
    pub fn client_name(&self) -> Option<String> {
        let mut name = self.client_info.as_ref()?.get("name")?.to_text()?;
        name.truncate(name.floor_char_boundary(CLIENT_NAME));
        // What was cut off is not held either.
        name.shrink_to_fit();
        Some(name)
    }
}

/// How often the clock is read again: somebody may set it meanwhile.
const GLANCE: Duration = Duration::from_secs(30);

/// The credential behind an open connection. It may expire or be revoked while the connection lives.
#[derive(Debug, Default)]
pub struct TokenLease {
    expires: Option<SystemTime>,
    ended: CancellationToken,
}

impl TokenLease {
    /// A lease that ends at that time, or when it is revoked.
    pub fn new(expires: Option<SystemTime>) -> Self {
        Self { expires, ended: CancellationToken::new() }
    }

    /// Revokes it, at once and for good.
    pub fn end(&self) {
        self.ended.cancel();
    }

    /// Whether it was revoked.
    pub fn is_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Whether it is no longer valid: revoked or expired.
    pub fn is_over(&self) -> bool {
        self.is_ended() || self.expires.is_some_and(|expires| expires <= SystemTime::now())
    }

    /// Waits until it is no longer valid.
    pub async fn over(&self) {
        let Some(expires) = self.expires else { return self.ended.cancelled().await };
        // Read again and again, since the clock may be set meanwhile.
        while let Ok(left) = expires.duration_since(SystemTime::now()) {
            let glance = tokio::time::sleep(left.min(GLANCE));
            if left.is_zero() || self.ended.run_until_cancelled(glance).await.is_none() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_client_is_cut_at_a_character() {
        let named = |name: &str| {
            let info = format!("{{\"name\":{}}}", RawJson::string(name).as_str());
            let info = RawJson::parse(info, gantry_protocol::JsonLimits::default());
            Caller { client_info: info.ok(), ..Caller::default() }.client_name()
        };
        let cases = [
            ("editor".to_owned(), "editor".to_owned()),
            ("x".repeat(3 << 20), "x".repeat(256)),
            (format!("{}ü", "x".repeat(255)), "x".repeat(255)),
        ];
        for (given, expected) in cases {
            let name = named(&given).expect("a name");
            assert_eq!(name, expected);
            assert!(name.capacity() <= CLIENT_NAME, "{}", name.capacity());
        }
    }

    #[tokio::test]
    async fn it_is_over_when_ended_or_expired() {
        let now = SystemTime::now();
        let past = TokenLease::new(Some(now - Duration::from_secs(1)));
        past.over().await;
        assert!(!past.is_ended() && past.is_over());
        for expires in [None, Some(now + Duration::from_secs(3600))] {
            let lease = TokenLease::new(expires);
            assert!(!lease.is_ended() && !lease.is_over());
            tokio::join!(lease.over(), async { lease.end() });
            assert!(lease.is_ended() && lease.is_over(), "{expires:?}");
        }
    }
}
