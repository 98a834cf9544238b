//! A server put together from handlers, ready to be served on any transport.

mod virtual_servers;

use std::sync::Arc;

use gantry_gateway::filter::{
    CallFilter, CallObserver, PublishHook, RequestFilter, VisibilityFilter,
};
use gantry_gateway::{Gateway, GatewayBuilder, ServerInfo, ToolStatistics};
use gantry_protocol::json::ObjectWriter;
use gantry_providers::upstreams::Upstreams;
use gantry_providers::{Handlers, Prompt, RegisterError, Resource, ResourceTemplate, Tool, Tools};
use gantry_server::{
    AllowedHosts, Authenticator, ControlServer, HttpHandler, HttpServer, Link, ListenError, Mounts,
    ServerState, TaskLog, serve_stdio,
};
use serde::Serialize;
use serde_json::Value;
use tokio::net::UnixListener;

use crate::policy_set::PolicySet;
use crate::{GatewaySettings, ServerSettings};

/// A server, ready to be served.
#[derive(Debug, Clone)]
pub struct Server {
    handlers: Handlers,
    server_state: Arc<ServerState>,
    upstreams: Option<Upstreams>,
}

/// Puts a server together.
#[derive(Debug)]
pub struct ServerBuilder {
    info: Vec<(String, Value)>,
    instructions: Option<String>,
    middle: GatewaySettings,
    doors: ServerSettings,
    handlers: Handlers,
    tools: Option<Tools>,
    upstreams: Option<Upstreams>,
    mounts: Mounts,
    task_log: Option<Arc<dyn TaskLog>>,
    policies: Option<Arc<PolicySet>>,
    authenticator: Option<Arc<dyn Authenticator>>,
    /// Puts filters and observers into the gateway, behind the policies.
    extensions: Vec<Extension>,
    /// The first thing that could not be registered.
    problem: Option<RegisterError>,
}

/// Something that the application adds to the gateway when it is built.
struct Extension(Box<dyn FnOnce(GatewayBuilder) -> GatewayBuilder + Send>);

impl Server {
    /// Starts to put together a server of that name and version.
    #[expect(clippy::new_ret_no_self, reason = "a server begins as its builder")]
    pub fn new(name: &str, version: &str) -> ServerBuilder {
        ServerBuilder {
            info: vec![("name".to_owned(), name.into()), ("version".to_owned(), version.into())],
            instructions: None,
            middle: GatewaySettings::default(),
            doors: ServerSettings::default(),
            handlers: Handlers::default(),
            tools: None,
            upstreams: None,
            mounts: Mounts::default(),
            task_log: None,
            policies: None,
            authenticator: None,
            extensions: Vec::new(),
            problem: None,
        }
    }

    /// What is registered; may be changed while the server runs.
    pub fn handlers(&self) -> &Handlers {
        &self.handlers
    }

    /// The gateway behind the doors: what there is to call, and the one way to call it.
    pub fn gateway(&self) -> &Arc<Gateway> {
        self.server_state.gateway()
    }

    /// Serves a gateway of its own at `/mcp/NAME`, in place of one that was there.
    pub fn open_virtual_server(&self, name: &str, gateway: Arc<Gateway>) {
        self.server_state.open_virtual_server(name, gateway);
    }

    /// Ends what is served at `/mcp/NAME`, with its sessions. Returns whether there was something.
    pub fn close_virtual_server(&self, name: &str) -> bool {
        self.server_state.close_virtual_server(name)
    }

    /// Puts other names of this server, and of websites that may use it, in the place of those of
    /// its settings, from the next request on.
    pub fn set_names(&self, names: AllowedHosts) {
        self.server_state.set_allowed_hosts(names);
    }

    /// Serves one client on standard input and output until it is done.
    pub async fn serve_stdio(self) -> std::io::Result<()> {
        serve_stdio(self.server_state).await
    }

    /// Serves clients over HTTP until [`Server::stop`] is called: Streamable HTTP at `/mcp`,
    /// HTTP+SSE at `/sse`, WebSocket at `/ws`, tool calls of the strict contract at `/call`.
    pub async fn serve_http(self, address: &str) -> Result<(), ListenError> {
        self.listen(address).await?.serve().await;
        Ok(())
    }

    /// Listens without serving yet, so that the address is known first.
    pub async fn listen(&self, address: &str) -> Result<HttpServer, ListenError> {
        let http = HttpServer::bind(self.server_state.clone(), address).await?;
        if let Some(upstreams) = &self.upstreams {
            tokio::spawn(virtual_servers::follow(self.clone(), upstreams.clone()));
        }
        Ok(http)
    }

    /// Serves administration over a Unix socket, to processes of the user with id `owner` and to
    /// root, until [`Server::stop`] is called: `handler` at `prefix`, and MCP at `/mcp`.
    pub fn control(
        &self,
        listener: UnixListener,
        (prefix, handler): (&str, Arc<dyn HttpHandler>),
        owner: u32,
    ) -> ControlServer {
        let mut pages = Mounts::default();
        pages.mount(prefix, handler);
        ControlServer::new(self.server_state.clone(), listener, pages, owner)
    }

    /// A connection inside this process, for tests and for programs that are their own client.
    pub fn connect(&self) -> Link {
        Link::open(&self.server_state, "local")
    }

    /// What is known of each tool that was called, since the start.
    pub fn statistics(&self) -> Vec<ToolStatistics> {
        self.server_state.gateway().statistics()
    }

    /// Sets a number that the metrics show beside the counters.
    pub fn set_gauge(&self, name: &'static str, help: &'static str, value: u64) {
        self.server_state.gateway().metrics().set_gauge(name, help, value);
    }

    /// Begins to stop: no new work is taken, calls under way may finish.
    pub fn stop(&self) {
        self.server_state.stop();
    }

    /// Waits until everything under way has ended, within the settings' drain time.
    pub async fn drained(&self) {
        self.server_state.drained(async {}).await;
    }
}

impl ServerBuilder {
    /// How to use this server, for the model.
    #[must_use]
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = Some(instructions.into());
        self
    }

    /// Any other member of what the server says of itself: `title`, `icons`, `websiteUrl`.
    #[must_use]
    pub fn info(mut self, member: &str, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.info.push((member.to_owned(), value));
        self
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(self, tool: Tool) -> Self {
        self.register(|handlers| handlers.add_tool(tool))
    }

    /// Adds a resource.
    #[must_use]
    pub fn resource(self, resource: Resource) -> Self {
        self.register(|handlers| handlers.add_resource(resource))
    }

    /// Adds a template of resources.
    #[must_use]
    pub fn template(self, template: ResourceTemplate) -> Self {
        self.register(|handlers| handlers.add_template(template))
    }

    /// Adds a prompt.
    #[must_use]
    pub fn prompt(self, prompt: Prompt) -> Self {
        self.register(|handlers| handlers.add_prompt(prompt))
    }

    /// Adds the tools of folders.
    #[must_use]
    pub fn tools(mut self, tools: Tools) -> Self {
        self.tools = Some(tools);
        self
    }

    /// Adds what other MCP servers offer.
    #[must_use]
    pub fn upstreams(mut self, upstreams: Upstreams) -> Self {
        self.upstreams = Some(upstreams);
        self
    }

    /// Serves pages of your own over HTTP: `prefix`, which begins with a slash, and all under it.
    #[must_use]
    pub fn handler(mut self, prefix: &str, handler: Arc<dyn HttpHandler>) -> Self {
        self.mounts.mount(prefix, handler);
        self
    }

    /// Adds text of your own to `/metrics`.
    #[must_use]
    pub fn metrics(mut self, write: impl Fn(&mut String) + Send + Sync + 'static) -> Self {
        self.mounts.add_metrics(Arc::new(write));
        self
    }

    /// Writes tasks down here, so that clients find them again after a restart. Without this they
    /// last until the program ends.
    #[must_use]
    pub fn task_log(mut self, log: Arc<dyn TaskLog>) -> Self {
        self.task_log = Some(log);
        self
    }

    /// Puts policies between calls and tools. Without them every call is served.
    #[must_use]
    pub fn policies(mut self, policies: Arc<PolicySet>) -> Self {
        self.policies = Some(policies);
        self
    }

    /// Sets who tells who is at the HTTP doors. Without one everyone is the local user, and the
    /// doors open on loopback only.
    #[must_use]
    pub fn authenticator(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        self.authenticator = Some(authenticator);
        self
    }

    /// Adds an observer of calls, such as a tracer. Observers only watch: they cannot change a call.
    #[must_use]
    pub fn observer(self, observer: impl CallObserver + 'static) -> Self {
        self.extend(|builder| builder.observer(observer))
    }

    /// Adds a filter that runs before the target of a call is looked up, such as a rate limit.
    #[must_use]
    pub fn request_filter(self, filter: impl RequestFilter + 'static) -> Self {
        self.extend(|builder| builder.request_filter(filter))
    }

    /// Adds a filter that runs once the target of a call is known, such as an authorization check.
    #[must_use]
    pub fn call_filter(self, filter: impl CallFilter + 'static) -> Self {
        self.extend(|builder| builder.call_filter(filter))
    }

    /// Adds a filter that decides what each caller sees in lists.
    #[must_use]
    pub fn visibility_filter(self, filter: impl VisibilityFilter + 'static) -> Self {
        self.extend(|builder| builder.visibility_filter(filter))
    }

    /// Adds a check of every state of the catalog before clients see it.
    #[must_use]
    pub fn publish_hook(self, hook: impl PublishHook + 'static) -> Self {
        self.extend(|builder| builder.publish_hook(hook))
    }

    /// The registry that the server will have, for handlers that change it.
    pub fn handlers(&self) -> Handlers {
        self.handlers.clone()
    }

    /// Sets the limits of the middle: deadlines, pages, calls at once.
    #[must_use]
    pub fn gateway_settings(mut self, settings: GatewaySettings) -> Self {
        self.middle = settings;
        self
    }

    /// Sets the limits of the doors: sizes, sessions, streams.
    #[must_use]
    pub fn server_settings(mut self, settings: ServerSettings) -> Self {
        self.doors = settings;
        self
    }

    /// The server, or the first thing that could not be registered.
    pub fn build(self) -> Result<Server, RegisterError> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let info = self
            .info
            .iter()
            .fold(ObjectWriter::new(), |info, (member, value)| info.value(member, value));
        let identity = ServerInfo { info: info.finish(), instructions: self.instructions };
        let builder = Gateway::builder(identity).settings(self.middle);
        let builder = match &self.policies {
            Some(policies) => policies.install(builder),
            None => builder,
        };
        let extensions = self.extensions.into_iter();
        let gateway = extensions.fold(builder, |builder, extension| (extension.0)(builder)).build();
        if let Some(policies) = &self.policies {
            policies.guards(&gateway);
        }
        let publisher = gateway.attach(Arc::new(self.handlers.clone()));
        self.handlers.publish_to(publisher);
        if let Some(tools) = self.tools {
            tools.publish_to(gateway.attach(Arc::new(tools.clone())));
        }
        if let Some(upstreams) = &self.upstreams {
            upstreams.attach(&gateway);
        }
        let server_state = ServerState::with_mounts(gateway, self.doors, self.mounts);
        if let Some(log) = self.task_log {
            server_state.set_task_log(log);
        }
        if let Some(authenticator) = self.authenticator {
            server_state.set_authenticator(authenticator);
        }
        Ok(Server { handlers: self.handlers, server_state, upstreams: self.upstreams })
    }

    fn extend(
        mut self,
        extend: impl FnOnce(GatewayBuilder) -> GatewayBuilder + Send + 'static,
    ) -> Self {
        self.extensions.push(Extension(Box::new(extend)));
        self
    }

    fn register(mut self, add: impl FnOnce(&Handlers) -> Result<(), RegisterError>) -> Self {
        if let Err(problem) = add(&self.handlers) {
            self.problem.get_or_insert(problem);
        }
        self
    }
}

impl std::fmt::Debug for Extension {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Extension")
    }
}
