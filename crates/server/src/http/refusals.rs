//! Log lines about requests and connections that are refused. Whoever is refused can cause as many
//! as they like, so each kind has a rate limit.

use std::time::Duration;

use gantry_transport::log_limit::LogLimit;

use crate::authenticator::AuthError;
use crate::settings::Settings;

/// The time that the limit is for.
const INTERVAL: Duration = Duration::from_secs(10);

/// The rate limits of one listener.
#[derive(Debug)]
pub(super) struct RefusalLog {
    authentication: LogLimit,
    header: LogLimit,
    connection: LogLimit,
}

impl RefusalLog {
    pub(super) fn new(settings: &Settings) -> Self {
        let limit = || LogLimit::new(settings.refusals_logged, INTERVAL);
        Self { authentication: limit(), header: limit(), connection: limit() }
    }

    /// A caller was not authenticated. Neither the token nor the path is told: both may be secret.
    pub(super) fn authentication(&self, refusal: &AuthError) {
        if let Some(suppressed) = self.authentication.admit() {
            tracing::info!(reason = %refusal, suppressed, "a caller was not let in");
        }
    }

    /// The Host or the Origin of a request is none of ours.
    pub(super) fn header(&self, header: &str, value: &str) {
        if let Some(suppressed) = self.header.admit() {
            tracing::warn!(header, value, suppressed, "a request was refused");
        }
    }

    /// A connection was not accepted.
    pub(super) fn connection(&self, reason: &dyn std::fmt::Display) {
        if let Some(suppressed) = self.connection.admit() {
            tracing::warn!(%reason, suppressed, "a connection was not accepted");
        }
    }
}
