//! The methods and notifications of the protocol.

use std::fmt;

use crate::json::RawJson;

macro_rules! methods {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The name of a request or notification. Names we do not know are kept.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each variant is the protocol's own name")]
        pub enum Method {
            $($(#[$doc])* $name,)*
            /// Any other name.
            Other(Box<str>),
        }

        impl Method {
            /// The name on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other(name) => name,
                }
            }

            /// The method of that name.
            pub fn parse(name: &str) -> Self {
                match name {
                    $($text => Self::$name,)*
                    other => Self::Other(other.into()),
                }
            }
        }
    };
}

methods! {
    Initialize = "initialize",
    Ping = "ping",
    Discover = "server/discover",
    Listen = "subscriptions/listen",
    ToolsList = "tools/list",
    ToolsCall = "tools/call",
    ResourcesList = "resources/list",
    ResourceTemplatesList = "resources/templates/list",
    ResourcesRead = "resources/read",
    ResourcesSubscribe = "resources/subscribe",
    ResourcesUnsubscribe = "resources/unsubscribe",
    PromptsList = "prompts/list",
    PromptsGet = "prompts/get",
    Complete = "completion/complete",
    /// Several calls in one request, an extension of Gantry's.
    Batch = "gantry/batch",
    SetLevel = "logging/setLevel",
    TasksGet = "tasks/get",
    TasksUpdate = "tasks/update",
    TasksCancel = "tasks/cancel",
    TasksResult = "tasks/result",
    TasksList = "tasks/list",
    CreateMessage = "sampling/createMessage",
    Elicit = "elicitation/create",
    RootsList = "roots/list",
    Initialized = "notifications/initialized",
    Closed = "notifications/closed",
    Cancelled = "notifications/cancelled",
    Progress = "notifications/progress",
    LogMessage = "notifications/message",
    ToolsListChanged = "notifications/tools/list_changed",
    PromptsListChanged = "notifications/prompts/list_changed",
    ResourcesListChanged = "notifications/resources/list_changed",
    ResourceUpdated = "notifications/resources/updated",
    RootsListChanged = "notifications/roots/list_changed",
    ElicitationComplete = "notifications/elicitation/complete",
    TaskChanged = "notifications/tasks",
    TaskStatus = "notifications/tasks/status",
    SubscriptionsAcknowledged = "notifications/subscriptions/acknowledged",
}

impl Method {
    /// Whether it is one of the four list requests.
    pub fn is_list(&self) -> bool {
        matches!(
            self,
            Self::ToolsList | Self::ResourcesList | Self::ResourceTemplatesList | Self::PromptsList
        )
    }

    /// The method named by a JSON string.
    pub(crate) fn from_json(raw: &RawJson) -> Option<Self> {
        match raw.as_text() {
            Some(name) => Some(Self::parse(name)),
            None => raw.to_text().map(|name| Self::parse(&name)),
        }
    }

    /// Whether this request is for what the catalog holds, as it is in every revision.
    pub fn is_call(&self) -> bool {
        matches!(
            self,
            Self::ToolsList
                | Self::ToolsCall
                | Self::ResourcesList
                | Self::ResourceTemplatesList
                | Self::ResourcesRead
                | Self::PromptsList
                | Self::PromptsGet
                | Self::Complete
                | Self::Batch
        )
    }

    /// Whether the result of this request may be `input_required` (2026-07-28).
    pub fn takes_input(&self) -> bool {
        matches!(self, Self::ToolsCall | Self::PromptsGet | Self::ResourcesRead | Self::Batch)
    }

    /// The member of `params` that the header `Mcp-Name` repeats, if one does.
    pub fn name_member(&self) -> Option<&'static str> {
        match self {
            Self::ToolsCall | Self::PromptsGet => Some("name"),
            Self::ResourcesRead => Some("uri"),
            Self::TasksGet | Self::TasksUpdate | Self::TasksCancel => Some("taskId"),
            _ => None,
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
