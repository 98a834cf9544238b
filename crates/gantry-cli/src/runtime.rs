//! `gantry serve`: runs the gateway until it is told to stop.

pub(crate) mod audit_log;
pub(crate) mod callers;
pub(crate) mod config_applier;
pub(crate) mod control_socket;
pub(crate) mod file_resources;
pub(crate) mod instance_file;
pub(crate) mod metrics;
pub(crate) mod policies;
pub(crate) mod served_tools;
pub(crate) mod statistics_source;
pub(crate) mod storage;
pub(crate) mod webhook;

use std::path::PathBuf;
use std::process::exit;
use std::sync::Arc;
use std::time::Duration;

use gantry::{
    GatewaySettings, HttpServer, ListenError, Server, ServerSettings, UpstreamSettings, Upstreams,
};
use gantry_policy::Approvals;
use gantry_transport::descriptors;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use crate::admin::pages::Pages;
use crate::admin::{Admin, Instance, ManifestFolder};
use crate::args::ServeOptions;
use crate::commands::tools;
use crate::config::reload::Reload;
use crate::config::{Auth, Config};
use crate::exit::{Code, Exit};
use crate::lock_file::LockFile;
use crate::runtime::callers::Callers;
use crate::runtime::config_applier::ConfigApplier;
use crate::runtime::control_socket::Control;
use crate::runtime::instance_file::Door;
use crate::runtime::metrics::{Measured, Trimmer};
use crate::runtime::served_tools::Served;
use crate::runtime::storage::StoredTasks;
use crate::telemetry::{TracingObserver, settings};
use crate::tool_sources::{self, ToolSources};
use crate::{render, state_dir};

/// Where the gateway listens unless told otherwise.
pub(crate) const DEFAULT_ADDRESS: &str = "127.0.0.1:4268";

/// How long reading from the disk what servers listed last may hold up the start.
const RECALL: Duration = Duration::from_secs(2);

/// Runs the gateway.
pub(crate) async fn serve(options: ServeOptions) -> Result<(), Exit> {
    let config = tool_sources::configuration(options.origin.config.as_deref())?;
    let names = config.as_ref().map(|config| config.names.clone()).unwrap_or_default();
    let mut doors = ServerSettings {
        key: Some(state_dir::key()?),
        // The main runtime is one of the places for connections.
        threads: options.threads.map_or_else(crate::threads, |it| it.get().into()) - 1,
        allowed_hosts: names.hosts,
        allowed_origins: names.origins,
        ..ServerSettings::default()
    };
    if let Some(config) = &config {
        config.client_limits.apply(&mut doors);
        config.http.iter().for_each(|http| http.apply(&mut doors));
        let metrics = config.metrics.as_ref().and_then(|metrics| metrics.auth);
        doors.metrics_open = metrics == Some(Auth::None);
    }
    // Connections need many files; the programs behind keep the limit that there was.
    if let Err(error) = descriptors::raise() {
        tracing::warn!(%error, "the limit of open files could not be raised");
    }
    let mut middle = GatewaySettings::default();
    let page = config.as_ref().and_then(|config| config.limits.as_ref()?.page);
    middle.page_bytes = page.unwrap_or(middle.page_bytes);
    let style = config.as_ref().and_then(|config| config.tool_names);
    middle.names = style.unwrap_or(middle.names);
    let settings = tool_sources::settings(config.as_ref());
    tool_sources::make_folders(&options.origin)?;
    let mut offer = tool_sources::open(&options.origin, config.as_ref(), settings)?;
    let kept = ManifestFolder::in_folder(state_dir::tools()?);
    offer.problems.extend(kept.restore(&offer.tools));
    let mut applier =
        UpstreamSettings { folder: Some(state_dir::servers()?), ..Default::default() };
    let startup_wait = config.as_ref().and_then(|config| config.startup_wait);
    applier.startup_wait = startup_wait.unwrap_or(applier.startup_wait);
    let upstreams = Upstreams::new(applier);
    let store = state_dir::store(config.as_ref())?;
    for problem in served_tools::restore(&offer.tools, &store).await {
        if !offer.problems.contains(&problem) {
            offer.problems.push(problem);
        }
    }
    let served_tools = Served::keep(offer.tools.clone(), store.clone());
    let telemetry = settings::open(config.as_ref())?;
    let guarding = policies::open(config.as_ref()).await?;
    let policies = guarding.policies.clone();
    let lock = LockFile::of(config.as_ref())?;
    let admin = Admin::new(offer.tools.clone(), kept, state_dir::token()?)
        .servers(upstreams.clone())
        .describe(tools::describe())
        .policies(policies.clone());
    let auth = options.auth.or(config.as_ref().and_then(|config| config.auth));
    let is_listening = !options.stdio || options.listen.is_some();
    let callers = Callers::open(auth.unwrap_or_default(), policies.storage(), is_listening).await?;
    callers.tell_roles(policies.trust().approvals());
    let admin = callers.administer(admin);
    let instance = Instance {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        state: real(state_dir::directory()?),
        config: config.as_ref().map(|config| real(config.file.clone())),
        files: Vec::new(),
        listen: None,
        stdio: options.stdio,
    };
    let reload = match (&config, tool_sources::stated(options.origin.config.as_deref())) {
        (Some(config), Some(_)) => Reload::new(config),
        (config, _) => {
            Reload::searching(tool_sources::here(), config.as_ref(), tool_sources::variable)
        }
    };
    let admin = admin.configuration(reload.state());
    let controlled = Controlled { admin: admin.clone(), instance };
    let measured = Measured::new(upstreams.clone(), offer.tools.clone(), telemetry.clone());
    let (counted, audit) = (policies.clone(), guarding.audit.clone());
    offer.builder = callers
        .install(offer.builder, admin)
        .policies(policies.clone())
        .metrics(move |out| measured.write(out))
        .metrics(move |out| counted.write_metrics(out))
        .metrics(move |out| audit.measure(out))
        .server_settings(doors)
        .gateway_settings(middle)
        .upstreams(upstreams.clone())
        .handler(Pages::PREFIX, Arc::new(Pages))
        .task_log(Arc::new(StoredTasks(store.clone())));
    if let Some(telemetry) = &telemetry {
        offer.builder = offer.builder.observer(TracingObserver(telemetry.clone()));
    }
    let files = file_resources::open(options.workspace, config.as_ref())?;
    let shows_examples = offer.is_example;
    watch(&offer, config.as_ref());
    let folders = Some(offer.tools.clone()).filter(|_| options.origin.tools.is_empty());
    let server = offer.build()?;
    stop_on_signal(server.clone())?;
    let _trimmer = Trimmer::start();
    let files = file_resources::serve(files, &server);
    let statistics_source = statistics_source::keep(server.clone(), store);
    let budgets = policies.keep_budgets().await;
    let time = policies.keep_time();
    let anchors = guarding.audit.keep_anchored();
    let records = telemetry.as_ref().and_then(|it| settings::follow(it, policies.audit()));
    let webhook = webhook::send(policies.trust().approvals().clone());
    let pinned = lock.keep(policies.pins().clone(), server.clone());
    let applier = ConfigApplier::new(
        upstreams.clone(),
        folders,
        guarding.clone(),
        server.clone(),
        shows_examples,
    );
    let applier = applier.follow(config.as_ref(), reload);
    // A client is told when it connects what is remembered of the servers.
    let _ = timeout(RECALL, upstreams.recalled()).await;
    let configured = config.and_then(|config| config.listen).filter(|_| !options.stdio);
    let address = options.listen.or(configured);
    let approvals = policies.trust().approvals();
    let served = open_doors(server, &callers, approvals, controlled, address).await;
    applier.stop().await;
    files.stop().await;
    webhook.stop().await;
    pinned.stop().await;
    callers.stop().await;
    statistics_source.stop().await;
    served_tools.stop().await;
    budgets.stop().await;
    time.stop().await;
    anchors.stop().await;
    guarding.close().await;
    if let Some(records) = records {
        records.abort();
    }
    if let Some(telemetry) = telemetry {
        telemetry.stop().await;
    }
    served
}

/// What is served on the control socket.
struct Controlled {
    admin: Admin,
    instance: Instance,
}

impl Controlled {
    fn open(self, server: &Server) -> Result<Control, Exit> {
        Control::open(server, self.admin, self.instance)
    }
}

/// A path that means the same wherever it is read.
fn real(path: PathBuf) -> PathBuf {
    std::fs::canonicalize(&path).unwrap_or(path)
}

/// Serves wherever the options say, until told to stop.
async fn open_doors(
    server: Server,
    callers: &Callers,
    approvals: &Approvals,
    controlled: Controlled,
    address: Option<String>,
) -> Result<(), Exit> {
    match (controlled.instance.stdio, address) {
        (true, None) => {
            let control = controlled.open(&server)?;
            let served = serve_stdio(server.clone()).await;
            server.stop();
            control.stop().await;
            served
        }
        (true, Some(address)) => {
            let (http, _door, control) =
                listen(&server, callers, approvals, controlled, &address).await?;
            let serving = tokio::spawn(http.serve());
            let served = serve_stdio(server.clone()).await;
            server.stop();
            control.stop().await;
            let _ = serving.await;
            served
        }
        (false, address) => {
            let address = address.as_deref().unwrap_or(DEFAULT_ADDRESS);
            let (http, _door, control) =
                listen(&server, callers, approvals, controlled, address).await?;
            http.serve().await;
            control.stop().await;
            Ok(())
        }
    }
}

/// Says what the folders hold, and goes on looking at them.
fn watch(offer: &ToolSources, config: Option<&Config>) {
    let tools = offer.tools.clone();
    let servers = config.map(|config| config.servers.iter().filter(|it| !it.disabled).count());
    let servers = servers.unwrap_or_default();
    if !offer.is_example || tools.count() > 0 || !offer.problems.is_empty() {
        render::tools(tools.count(), servers, &offer.problems);
    } else {
        render::say("  example tools, until there are others; add a server with `gantry add`");
    }
    tokio::spawn(async move { tools.watch().await });
}

async fn listen(
    server: &Server,
    callers: &Callers,
    approvals: &Approvals,
    mut controlled: Controlled,
    address: &str,
) -> Result<(HttpServer, Door, Control), Exit> {
    let http = server.listen(address).await.map_err(|error| {
        let exit = Exit::new(Code::Failed, error.to_string());
        match error {
            ListenError::Bind { .. } => {
                exit.hint("another gantry may be running; `--listen 127.0.0.1:0` takes a free port")
            }
            ListenError::Exposed(_) => exit,
        }
    })?;
    let access = callers.access().await?;
    let (reached, pages) = (instance_file::reached(http.address()), Pages::PREFIX);
    approvals.set_page(format!("http://{reached}{pages}/approvals"));
    let door = Door::open(http.address())?;
    controlled.instance.listen = Some(http.address().to_string());
    // Before the address is told: whoever reads it may ask at once.
    let control = controlled.open(server)?;
    render::listening(
        http.address(),
        &access,
        &state_dir::client_file()?,
        &state_dir::token_file()?,
    );
    Ok((http, door, control))
}

async fn serve_stdio(server: Server) -> Result<(), Exit> {
    let served = server.serve_stdio().await;
    served.map_err(|error| Exit::new(Code::Failed, format!("standard output failed: {error}")))
}

/// Listens for signals from now on: one that comes right after the start must not be missed. The
/// first lets work under way end; the second does not wait for it.
fn stop_on_signal(server: Server) -> Result<(), Exit> {
    let failed = |error| Exit::bug(format!("signals cannot be received: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    tokio::spawn(async move {
        let mut next = async || {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        next().await;
        tracing::info!("stopping; calls in flight may finish, a second signal ends them");
        server.stop();
        next().await;
        leave();
    });
    Ok(())
}

#[expect(clippy::exit, reason = "the user has asked twice")]
fn leave() {
    exit(Code::Interrupted as i32);
}
