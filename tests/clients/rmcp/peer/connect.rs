//! How the client reaches the server, and the revision the two must settle on.

use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use tokio::process::Command;
use tokio::sync::mpsc::channel;

use super::Peer;
use crate::Era;
use crate::answers::Answers;
use crate::outcome::Failure;

/// More notices than the whole script causes.
const NOTICES: usize = 1024;

impl Peer {
    /// Starts the server as a child process and connects to it.
    #[expect(clippy::disallowed_methods, reason = "rmcp's own transport ends this child")]
    pub(crate) async fn spawn(command: &str, era: Era) -> Result<Self, Failure> {
        let mut command = Command::new(command);
        command.arg("--stdio");
        Self::over(TokioChildProcess::new(command)?, era).await
    }

    /// Connects to a running server over Streamable HTTP.
    pub(crate) async fn at(url: &str, era: Era) -> Result<Self, Failure> {
        Self::over(StreamableHttpClientTransport::from_uri(url), era).await
    }

    async fn over<T, E, A>(transport: T, era: Era) -> Result<Self, Failure>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let (sender, notices) = channel(NOTICES);
        let answers = Answers::new(sender);
        let elicitation = Arc::clone(&answers.elicitation);
        let (lifecycle, wanted) = match era {
            Era::Legacy => (ClientLifecycleMode::Initialize, ProtocolVersion::V_2025_11_25),
            Era::Modern => (
                ClientLifecycleMode::Auto {
                    preferred_versions: vec![ProtocolVersion::V_2026_07_28],
                    legacy_version: None,
                },
                ProtocolVersion::V_2026_07_28,
            ),
        };
        let client = answers.serve_with_lifecycle(transport, lifecycle).await.map_err(Box::new)?;
        let found = client.peer_info().map(|info| info.protocol_version.clone());
        if found.as_ref() != Some(&wanted) {
            let reason = format!("the client settled on {found:?}, not {wanted}");
            return Err(Failure::Unexpected(reason));
        }
        Ok(Self { era, elicitation, notices, client, subscription: None, logs: false })
    }
}
