//! The common script's view of an rmcp client.
#![expect(
    deprecated,
    reason = "sessions, their subscriptions and their log level are still served"
)]

mod connect;

use std::sync::{Arc, Mutex};

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ElicitResult, GetPromptRequestParams,
    JsonObject, LoggingLevel, ReadResourceRequestParams, RequestMetaObject, ResourceContents,
    ServerNotification, SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{PeerRequestOptions, RunningService, Subscription};
use serde_json::Value;
use tokio::sync::mpsc::Receiver;

use crate::Era;
use crate::answers::{Answers, CallNotification};
use crate::outcome::{Failure, Outcome};

/// A connected client, what it will answer, and the notices it got.
pub(crate) struct Peer {
    pub(crate) era: Era,
    pub(crate) elicitation: Arc<Mutex<ElicitResult>>,
    pub(crate) notices: Receiver<CallNotification>,
    client: RunningService<RoleClient, Answers>,
    subscription: Option<Subscription>,
    logs: bool,
}

impl Peer {
    pub(crate) async fn tools(&self) -> Result<Vec<String>, Failure> {
        let tools = self.client.list_all_tools().await?;
        Ok(tools.into_iter().map(|tool| tool.name.into_owned()).collect())
    }

    pub(crate) async fn resources(&self) -> Result<Vec<String>, Failure> {
        let resources = self.client.list_all_resources().await?;
        Ok(resources.into_iter().map(|resource| resource.uri).collect())
    }

    pub(crate) async fn templates(&self) -> Result<Vec<String>, Failure> {
        let templates = self.client.list_all_resource_templates().await?;
        Ok(templates.into_iter().map(|template| template.uri_template).collect())
    }

    pub(crate) async fn prompts(&self) -> Result<Vec<String>, Failure> {
        let prompts = self.client.list_all_prompts().await?;
        Ok(prompts.into_iter().map(|prompt| prompt.name).collect())
    }

    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<Outcome, Failure> {
        let result = self.client.call_tool(self.tool_call(name, arguments)).await?;
        Ok(result.into())
    }

    fn tool_call(&self, name: &str, arguments: Value) -> CallToolRequestParams {
        let mut call =
            CallToolRequestParams::new(name.to_owned()).with_arguments(object(arguments));
        if self.era == Era::Modern && self.logs {
            let mut meta = RequestMetaObject::new();
            meta.set_log_level(LoggingLevel::Debug);
            call.meta = Some(meta);
        }
        call
    }

    /// Starts a call and cancels it at its first progress notice.
    pub(crate) async fn call_then_cancel(
        &mut self,
        name: &str,
        arguments: Value,
    ) -> Result<(), Failure> {
        let call = CallToolRequest::new(self.tool_call(name, arguments));
        let handle = self
            .client
            .send_cancellable_request(
                ClientRequest::CallToolRequest(call),
                PeerRequestOptions::no_options(),
            )
            .await?;
        let token = handle.progress_token.clone();
        self.notice(
            |notice| matches!(notice, CallNotification::Progress(found, _) if *found == token),
        )
        .await?;
        Ok(handle.cancel(Some("enough".to_owned())).await?)
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<String, Failure> {
        let result = self.client.read_resource(ReadResourceRequestParams::new(uri)).await?;
        match result.contents.into_iter().next() {
            Some(ResourceContents::TextResourceContents { text, .. }) => Ok(text),
            other => Err(Failure::Unexpected(format!("{uri} holds {other:?}"))),
        }
    }

    pub(crate) async fn prompt(&self, name: &str, arguments: Value) -> Result<String, Failure> {
        let params = GetPromptRequestParams::new(name).with_arguments(object(arguments));
        let result = self.client.get_prompt(params).await?;
        let text = result.messages.first().and_then(|message| message.content.as_text());
        text.map(|text| text.text.clone())
            .ok_or_else(|| Failure::Unexpected(format!("{name} has no text")))
    }

    pub(crate) async fn complete(
        &self,
        prompt: &str,
        argument: &str,
        value: &str,
    ) -> Result<Vec<String>, Failure> {
        Ok(self.client.complete_prompt_simple(prompt, argument, value).await?)
    }

    /// Asks for updates of a resource and for changes of the tools.
    pub(crate) async fn watch(&mut self, uri: &str) -> Result<(), Failure> {
        if self.era == Era::Legacy {
            return Ok(self.client.subscribe(SubscribeRequestParams::new(uri)).await?);
        }
        let filter =
            SubscriptionFilter::builder().tools_list_changed().resource_subscription(uri).build();
        self.subscription = Some(self.client.listen(filter).await?);
        Ok(())
    }

    pub(crate) async fn unwatch(&mut self, uri: &str) -> Result<(), Failure> {
        match self.subscription.take() {
            Some(mut subscription) => Ok(subscription.cancel().await?),
            None => Ok(self.client.unsubscribe(UnsubscribeRequestParams::new(uri)).await?),
        }
    }

    /// Waits for a notice that fits, wherever the library delivers it.
    pub(crate) async fn notice(
        &mut self,
        fits: impl Fn(&CallNotification) -> bool,
    ) -> Result<(), Failure> {
        loop {
            let notice = match &mut self.subscription {
                Some(subscription) => subscription.next().await?.and_then(worded),
                None => self.notices.recv().await,
            };
            match notice {
                Some(notice) if fits(&notice) => return Ok(()),
                Some(_) => {}
                None => return Err(Failure::Unexpected("the notices ended".to_owned())),
            }
        }
    }

    /// Opts in to log messages: now for a session, with each later call otherwise.
    pub(crate) async fn want_logs(&mut self) -> Result<(), Failure> {
        if self.era == Era::Legacy {
            let level = SetLevelRequestParams::new(LoggingLevel::Debug);
            self.client.set_level(level).await?;
        }
        self.logs = true;
        Ok(())
    }

    pub(crate) async fn ping(&self) -> Result<(), Failure> {
        let ping = rmcp::model::PingRequest::default();
        self.client.send_request(ClientRequest::PingRequest(ping)).await?;
        Ok(())
    }

    /// Ends the connection, and with it a child process.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        let ended = self.client.cancel().await;
        ended.map_err(|panicked| Failure::Unexpected(panicked.to_string()))?;
        Ok(())
    }
}

fn worded(notification: ServerNotification) -> Option<CallNotification> {
    match notification {
        ServerNotification::ResourceUpdatedNotification(updated) => {
            Some(CallNotification::Updated(updated.params.uri))
        }
        ServerNotification::ToolListChangedNotification(_) => Some(CallNotification::ToolsChanged),
        _ => None,
    }
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(members) => members,
        other => unreachable!("the script gives objects, not {other}"),
    }
}
