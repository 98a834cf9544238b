//! What someone showed at a door, for as long as it is good.

use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;

/// How long a clock is trusted not to have been set.
const GLANCE: Duration = Duration::from_secs(30);

/// What someone showed at a door. It may lose its worth while they are inside.
#[derive(Debug, Default)]
pub struct TokenLease {
    expires: Option<SystemTime>,
    ended: CancellationToken,
}

impl TokenLease {
    /// A badge that is good until then, or until it is taken away.
    pub fn new(expires: Option<SystemTime>) -> Self {
        Self { expires, ended: CancellationToken::new() }
    }

    /// Takes it away, at once and for good.
    pub fn end(&self) {
        self.ended.cancel();
    }

    /// Whether it has been taken away.
    pub fn is_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Whether it is good no more: taken away, or its time is over.
    pub fn is_over(&self) -> bool {
        self.is_ended() || self.expires.is_some_and(|expires| expires <= SystemTime::now())
    }

    /// Waits until it is good no more.
    pub async fn over(&self) {
        let Some(expires) = self.expires else { return self.ended.cancelled().await };
        // Looked at again and again, since a clock may be set while nobody moves.
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
