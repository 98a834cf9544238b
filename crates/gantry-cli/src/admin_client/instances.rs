//! The running gateways of this user, found by their control sockets, and which of them is meant.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use bytes::Bytes;
use futures_util::future::join_all;
use http::header::HOST;
use http::{Method, Request};
use http_body_util::Full;
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::admin::Instance;
use crate::admin_client::{GatewayTarget, send_request};
use crate::exit::{Code, Exit};
use crate::runtime::control_socket;
use crate::{render, state_dir, tool_sources};

/// How long a gateway may take to say who it is.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A running gateway.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    /// What `--instance` takes: the name of its socket, which is its process id.
    pub(crate) id: String,
    pub(crate) socket: PathBuf,
    about: Instance,
}

/// Which gateways a verb can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All of them.
    Any,
    /// Those that listen for HTTP, and so have callers with tokens.
    Listening,
}

/// The gateway that is meant. When several run, the one that is chosen is told.
pub(crate) async fn choose(reach: &GatewayTarget, kind: Kind) -> Result<Found, Exit> {
    match select(reach, kind).await? {
        Selected::One { found, is_only } => {
            if !is_only {
                render::say(&format!("using the gateway {}", found.describe()));
            }
            Ok(found)
        }
        Selected::None(others) => Err(none(reach, &others)),
    }
}

/// The gateway that is meant, if one is running. It is always named.
pub(crate) async fn find(reach: &GatewayTarget) -> Result<Option<Found>, Exit> {
    match select(reach, Kind::Any).await? {
        Selected::One { found, is_only } => {
            let place = if is_only { found.brief() } else { found.describe() };
            render::say(&format!("using the running gateway {place}"));
            Ok(Some(found))
        }
        Selected::None(_) => Ok(None),
    }
}

/// All gateways that may have what was named by an id alone: an id is in one of them only, whichever
/// configuration was found here. When others run, those that are asked are told.
pub(crate) async fn candidates(reach: &GatewayTarget) -> Result<Vec<Found>, Exit> {
    let all = discover(None).await?;
    let own = real(&state_dir::directory()?);
    let mut candidates = all.clone();
    candidates.retain(|it| real(&it.about.state) == own);
    if let Some(file) = &reach.config {
        let file = real(file);
        candidates.retain(|it| it.reads(&file));
    }
    match candidates.as_slice() {
        [] => return Err(none(reach, &all)),
        [one] if all.len() > 1 => {
            render::say(&format!("asking the gateway {}", one.describe()));
        }
        _ => {}
    }
    Ok(candidates)
}

/// What a search came to.
enum Selected {
    One {
        found: Found,
        /// Whether no other gateway runs.
        is_only: bool,
    },
    /// None that is meant; these are running.
    None(Vec<Found>),
}

async fn select(reach: &GatewayTarget, kind: Kind) -> Result<Selected, Exit> {
    let all = discover(reach.instance.as_deref()).await?;
    if let Some(id) = &reach.instance {
        let Some(found) = all.into_iter().next() else {
            let text = format!("no gateway is running with the id `{id}`");
            return Err(Exit::new(Code::Unreachable, text).hint(advice(&discover(None).await?)));
        };
        if kind == Kind::Listening && found.about.listen.is_none() {
            let text = format!("the gateway `{id}` serves standard input only and has no tokens");
            return Err(Exit::new(Code::Usage, text));
        }
        return Ok(Selected::One { found, is_only: true });
    }
    let mut candidates = all.clone();
    let own = real(&state_dir::directory()?);
    candidates.retain(|it| real(&it.about.state) == own);
    candidates.retain(|it| kind == Kind::Any || it.about.listen.is_some());
    let config = tool_sources::find(reach.config.as_deref()).map(|file| real(&file));
    let has_config = |it: &Found| it.about.config.as_deref().map(real) == config;
    let reads = |it: &Found| config.as_deref().is_some_and(|file| it.reads(file));
    // A configuration that was merely found here decides between several gateways only. One that
    // counts most there is more than one that is read too.
    if candidates.iter().any(has_config) {
        candidates.retain(has_config);
    } else if reach.config.is_some() || candidates.iter().any(reads) {
        candidates.retain(reads);
    }
    match candidates.as_slice() {
        [] => Ok(Selected::None(all)),
        [one] => Ok(Selected::One { found: one.clone(), is_only: all.len() == 1 }),
        several => {
            let text = format!("{} gateways are running", several.len());
            Err(Exit::new(Code::Usage, text).hint(format!("choose one:{}", list(several))))
        }
    }
}

fn none(reach: &GatewayTarget, others: &[Found]) -> Exit {
    let text = match &reach.config {
        Some(file) => format!("no gateway is running with the configuration {}", file.display()),
        None => "no gateway is running".to_owned(),
    };
    Exit::new(Code::Unreachable, text).hint(advice(others))
}

fn advice(others: &[Found]) -> String {
    match others {
        [] => "start one with `gantry serve`".to_owned(),
        others => format!("start one with `gantry serve`, or choose another:{}", list(others)),
    }
}

fn list(all: &[Found]) -> String {
    all.iter().map(|it| format!("\n  --instance {}", it.describe())).collect()
}

/// Running gateways with the state directory of this user, of which each reads that file or not.
pub(crate) async fn readers(file: &Path) -> Result<Vec<(Found, bool)>, Exit> {
    let own = real(&state_dir::directory()?);
    let all = discover(None).await?.into_iter().filter(|it| real(&it.about.state) == own);
    let file = real(file);
    Ok(all.map(|it| (it.clone(), it.reads(&file))).collect())
}

impl Found {
    /// Whether it reads a file, or would if the file were there.
    fn reads(&self, file: &Path) -> bool {
        self.about.config.iter().chain(&self.about.files).any(|it| real(it) == file)
    }

    /// Its id and where it listens.
    fn brief(&self) -> String {
        match &self.about.listen {
            Some(address) => format!("{} (http://{address})", self.id),
            None => format!("{} (standard input)", self.id),
        }
    }

    pub(super) fn describe(&self) -> String {
        let Instance { state, config, listen, stdio, .. } = &self.about;
        let listen = listen.as_ref().map(|address| format!("http://{address}"));
        let stdio = stdio.then(|| "standard input".to_owned());
        let config = config.as_ref().map(|file| format!("configuration {}", file.display()));
        let state = Some(format!("state {}", state.display()));
        let about: Vec<String> = [listen, stdio, config, state].into_iter().flatten().collect();
        format!("{} ({})", self.id, about.join(", "))
    }
}

/// All running gateways of this user, or the one with this id. What was left behind is removed.
async fn discover(id: Option<&str>) -> Result<Vec<Found>, Exit> {
    let directories = control_socket::searched()?;
    let sockets = directories.iter().flat_map(|directory| control_socket::sockets(directory));
    let wanted = sockets.filter(|(name, _)| id.is_none_or(|id| id == name));
    let asked = wanted.map(async |(name, socket)| {
        let answered = timeout(TIMEOUT, ask(&socket)).await;
        (name, socket, answered)
    });
    let mut found = Vec::new();
    for (name, socket, answered) in join_all(asked).await {
        match answered {
            Ok(Ok(about)) => found.push(Found { id: name, socket, about }),
            Ok(Err(error)) if control_socket::is_stale(&error) => control_socket::remove(&socket),
            Ok(Err(error)) => {
                render::say(&format!("the gateway {name} cannot be reached: {error}"));
            }
            Err(_) => render::say(&format!("the gateway {name} does not answer")),
        }
    }
    Ok(found)
}

async fn ask(socket: &Path) -> io::Result<Instance> {
    let stream = connect(socket).await?;
    let request =
        Request::builder().method(Method::GET).uri("/api/instance").header(HOST, "gantry");
    let request = request.body(Full::new(Bytes::new())).map_err(io::Error::other)?;
    let (_, body) = send_request(stream, request).await.map_err(io::Error::other)?;
    serde_json::from_slice(&body).map_err(io::Error::other)
}

/// Connects to a control socket. Nothing is sent before it is known that this user serves it.
pub(crate) async fn connect(socket: &Path) -> io::Result<UnixStream> {
    let stream = UnixStream::connect(socket).await?;
    let uid = stream.peer_cred()?.uid();
    if uid != control_socket::user() {
        let text = format!("it is served by another user, {uid}");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(stream)
}

/// A path in the one form in which equal ones are equal.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
