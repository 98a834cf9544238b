//! What this client says when the server asks, and where the server's notices go.
#![expect(deprecated, reason = "sampling, roots and logging are still part of the protocol")]

use std::sync::{Arc, Mutex};

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationCapability, Implementation,
    ListRootsResult, LoggingMessageNotificationParam, ProgressNotificationParam, ProgressToken,
    ProtocolVersion, ResourceUpdatedNotificationParam, Role, Root, RootsCapabilities,
    SamplingCapability, SamplingMessage, SamplingMessageContentBlock,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use tokio::sync::mpsc::Sender;

use crate::steps::ROOT;

/// A notice of the server, in the words of the script.
#[derive(Debug, PartialEq)]
pub(crate) enum CallNotification {
    Updated(String),
    ToolsChanged,
    Log,
    Progress(ProgressToken, f64),
}

/// The handler of everything that the server starts.
pub(crate) struct Answers {
    pub(crate) elicitation: Arc<Mutex<ElicitResult>>,
    pub(crate) notices: Sender<CallNotification>,
}

impl Answers {
    pub(crate) fn new(notices: Sender<CallNotification>) -> Self {
        let elicitation = Arc::new(Mutex::new(ElicitResult::new(ElicitationAction::Cancel)));
        Self { elicitation, notices }
    }

    async fn note(&self, notice: CallNotification) {
        // The script may be over while the connection still speaks.
        self.notices.send(notice).await.ok();
    }
}

impl ClientHandler for Answers {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.sampling = Some(SamplingCapability::default());
        capabilities.elicitation = Some(ElicitationCapability::default());
        capabilities.roots = Some(RootsCapabilities::default());
        let client = Implementation::new("gantry-script", "1.0.0");
        ClientConfig::new(capabilities, client).with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_message(
        &self,
        _params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let content = SamplingMessageContentBlock::text("a kind of crane");
        let message = SamplingMessage::new(Role::Assistant, content);
        Ok(CreateMessageResult::new(message, "none".to_owned()))
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Ok(ListRootsResult::new(vec![Root::new(ROOT)]))
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.elicitation.lock().expect("no holder of this lock panics").clone())
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.note(CallNotification::Progress(params.progress_token, params.progress)).await;
    }

    async fn on_logging_message(
        &self,
        _params: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.note(CallNotification::Log).await;
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.note(CallNotification::Updated(params.uri)).await;
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.note(CallNotification::ToolsChanged).await;
    }
}
