//! Everything but the tools: lists, resources, prompt, completion, and who hears of changes.
#![expect(deprecated, reason = "subscriptions and logging of older revisions are served too")]

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use crate::tools::{self, DefinitionChange, NOTE, State};

/// The server of one connection or request.
#[derive(Clone)]
pub(crate) struct Peer {
    pub(crate) state: Arc<State>,
    pub(crate) newest: ProtocolVersion,
}

type Context = RequestContext<RoleServer>;

/// Reads a model from the JSON of the fixtures.
pub(crate) fn model<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Reads a result. rmcp takes the mark away again where the revision does not know it.
pub(crate) fn complete<T: DeserializeOwned>(mut value: Value) -> Result<T, ErrorData> {
    value["resultType"] = json!("complete");
    model(value)
}

/// Whether a request stands alone.
pub(crate) fn is_modern(context: &Context) -> bool {
    context.protocol_version().is_some_and(|it| it >= ProtocolVersion::V_2026_07_28)
}

impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        let info = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {"listChanged": true},
                "resources": {"subscribe": true},
                "prompts": {},
                "completions": {},
                "logging": {},
            },
            "serverInfo": {"name": "rmcp", "version": "1.0.0"},
        });
        serde_json::from_value(info).expect("the information is what rmcp wants")
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&self.newest))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        complete(json!({"tools": self.state.tools()}))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        tools::call(&self.state, request, context).await
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        complete(json!({"resources": self.state.fixtures["resources"]}))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        complete(json!({"resourceTemplates": self.state.fixtures["templates"]}))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri;
        let text = match uri.strip_prefix("peer://item/") {
            Some(id) => format!("item {id}"),
            None if uri == NOTE => "a note".to_owned(),
            None => {
                let data = json!({"uri": uri});
                return Err(ErrorData::resource_not_found("no such resource", Some(data)));
            }
        };
        let contents = json!({"uri": uri, "mimeType": "text/plain", "text": text});
        let result: ReadResourceResult = complete(json!({"contents": [contents]}))?;
        Ok(result.into())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        self.state.watch(context.peer);
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        self.state.unwatch();
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        wanted: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // The library acknowledges between this and `listen`: who is promised changes hears from now.
        self.state.expect_listener();
        Some(wanted.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.state.next_listener();
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                () = context.cancelled() => return Ok(()),
            };
            // What the client did not ask for is refused by the sink; that is its filter.
            match change {
                Ok(DefinitionChange::Touched) => {
                    drop(context.sink().notify_resource_updated(NOTE).await);
                }
                Ok(DefinitionChange::Grown) => {
                    drop(context.sink().notify_tool_list_changed().await);
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Ok(()),
            }
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        complete(json!({"prompts": self.state.fixtures["prompts"]}))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = serde_json::to_value(request.arguments).unwrap_or_default();
        let text = format!("Hello, {}.", arguments["name"].as_str().unwrap_or_default());
        let content = json!({"type": "text", "text": text});
        let result: GetPromptResult =
            complete(json!({"messages": [{"role": "user", "content": content}]}))?;
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let names = self.state.fixtures["names"].as_array().cloned().unwrap_or_default();
        let fits =
            |name: &Value| name.as_str().is_some_and(|it| it.starts_with(&request.argument.value));
        let values: Vec<Value> = names.into_iter().filter(fits).collect();
        complete(json!({"completion": {"total": values.len(), "hasMore": false, "values": values}}))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.state.meet(context.peer);
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }
}
