//! Tells a webhook that calls wait for an approval, and brings back what it says.

use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry::RawJson;
use gantry_client::{ClientError, Endpoint, Post};
use gantry_policy::Approvals;
use gantry_policy::approvals::ApprovalNotifier;
use gantry_protocol::JsonLimits;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The most bytes of a reply.
const LONGEST: usize = 64 * 1024;

/// Letters under way. They are given up when it is stopped.
#[derive(Debug)]
pub(crate) struct WebhookNotifier(JoinHandle<()>);

/// Brings letters to wherever the settings say at the time.
struct Webhook(Approvals);

/// Starts to bring letters, once there are any.
pub(crate) fn send(approvals: Approvals) -> WebhookNotifier {
    WebhookNotifier(tokio::spawn(async move {
        approvals.deliver(&Webhook(approvals.clone())).await;
    }))
}

impl WebhookNotifier {
    /// Brings no more.
    pub(crate) async fn stop(self) {
        self.0.abort();
        let _ = self.0.await;
    }
}

impl ApprovalNotifier for Webhook {
    fn bring(&self, letter: RawJson) -> BoxFuture<'_, Option<RawJson>> {
        Box::pin(async move {
            let settings = self.0.settings();
            let url = settings.webhook.as_deref()?;
            // A hook may hold on to the request until somebody has decided.
            match timeout(settings.expires, post(url, &letter)).await {
                Ok(Ok((status, body))) => reply(status, &body),
                Ok(Err(error)) => {
                    tracing::warn!(%error, "approval webhook unreachable");
                    None
                }
                Err(_) => None,
            }
        })
    }
}

async fn post(url: &str, letter: &RawJson) -> Result<(u16, RawJson), ClientError> {
    let unusable = |error| ClientError::Unreachable(format!("invalid URL: {error}"));
    let endpoint = Endpoint::new(url.parse().map_err(unusable)?);
    let wait = Duration::from_secs(1);
    let post = Post::new(&endpoint)?;
    let posted = match post.json(letter.bytes().clone(), LONGEST).await {
        // It has surely not seen the letter.
        Err(ClientError::Unreachable(_) | ClientError::ConnectionRefused(_)) => {
            tokio::time::sleep(wait).await;
            post.json(letter.bytes().clone(), LONGEST).await
        }
        posted => posted,
    };
    let (status, body) = posted?;
    Ok((status, RawJson::parse(body, JsonLimits::default()).unwrap_or(RawJson::NULL)))
}

/// What the hook has decided, if it has: it may also answer later.
fn reply(status: u16, body: &RawJson) -> Option<RawJson> {
    if !(200..300).contains(&status) {
        tracing::warn!(status, "approval webhook rejected the notification");
        return None;
    }
    body.get("decision").is_some().then(|| body.clone())
}
