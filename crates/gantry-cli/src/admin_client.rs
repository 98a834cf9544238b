//! The running gateway as the command line reaches it: over its control socket, or at a URL with a token
//! that was given for it.

pub(crate) mod instances;
pub(crate) mod mcp;
pub(crate) mod network;

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use clap::builder::{StringValueParser, TypedValueParser};
use clap::{Args, ValueHint};
use gantry::RawJson;
use gantry_protocol::{JsonLimits, Secret};
use http::header::{AUTHORIZATION, HOST};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::admin_client::network::Remote;
use crate::exit::{Code, Exit};
use crate::render;

pub(crate) use crate::admin_client::instances::Kind;
pub(crate) use crate::admin_client::mcp::Session;

/// How long an answer may take. A restart waits for a program to end.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Which gateway is meant.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct GatewayTarget {
    /// Id of the running gateway, if there are several.
    #[arg(long, value_name = "ID", global = true)]
    pub(crate) instance: Option<String>,

    /// Reach the gateway at this address of this machine over HTTP, with a token, instead of its
    /// control socket.
    #[arg(long, value_name = "URL", global = true)]
    pub(crate) url: Option<String>,

    /// Administrator's token for --url.
    #[arg(
        long,
        value_name = "TOKEN",
        env = "GANTRY_ADMIN_TOKEN",
        value_parser = StringValueParser::new().map(Secret::new),
        hide_env_values = true,
        global = true
    )]
    pub(crate) token: Option<Secret>,

    /// Configuration file of the gateway.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, global = true)]
    pub(crate) config: Option<PathBuf>,
}

impl GatewayTarget {
    /// Whether one gateway is named, so that nothing else will do.
    pub(crate) fn is_named(&self) -> bool {
        self.url.is_some() || self.instance.is_some()
    }
}

/// A running gateway.
#[derive(Debug)]
pub(crate) struct AdminClient(Route);

/// One of the running gateways that may be meant.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) client: AdminClient,
    /// What `--instance` takes; none for one that was named by its URL.
    pub(crate) instance: Option<String>,
    /// Which it is, for people.
    pub(crate) description: String,
}

/// The way to it.
#[derive(Debug)]
enum Route {
    Control { id: String, socket: PathBuf },
    Network(Remote),
}

impl AdminClient {
    /// The gateway that is meant.
    pub(crate) async fn find(reach: &GatewayTarget) -> Result<Self, Exit> {
        Self::find_kind(reach, Kind::Any).await
    }

    /// The same among gateways of a kind.
    pub(crate) async fn find_kind(reach: &GatewayTarget, kind: Kind) -> Result<Self, Exit> {
        if let Some(url) = &reach.url {
            return Ok(Self(Route::Network(Remote::new(url, reach)?)));
        }
        Ok(Self::of(instances::choose(reach, kind).await?))
    }

    fn of(found: instances::Found) -> Self {
        Self(Route::Control { id: found.id, socket: found.socket })
    }

    /// Every gateway that may have what an id alone names: the one that is named, or all of this
    /// user's. Never none.
    pub(crate) async fn find_all(reach: &GatewayTarget) -> Result<Vec<Candidate>, Exit> {
        if reach.is_named() {
            let client = Self::find(reach).await?;
            let description = client.place();
            return Ok(vec![Candidate { client, instance: reach.instance.clone(), description }]);
        }
        let candidate = |found: instances::Found| Candidate {
            description: found.describe(),
            instance: Some(found.id.clone()),
            client: Self::of(found),
        };
        Ok(instances::candidates(reach).await?.into_iter().map(candidate).collect())
    }

    /// The gateway that is meant, if it is running. Says which one it is.
    pub(crate) async fn find_any(reach: &GatewayTarget) -> Result<Option<Self>, Exit> {
        let found = instances::find(reach).await?;
        Ok(found.map(Self::of))
    }

    /// Asks for a page of administration.
    pub(crate) async fn get(&self, page: &str) -> Result<RawJson, Exit> {
        self.send(Method::GET, page, None).await
    }

    /// Asks for something to be done.
    pub(crate) async fn post(&self, page: &str) -> Result<RawJson, Exit> {
        self.send(Method::POST, page, None).await
    }

    /// Asks for something to be removed.
    pub(crate) async fn delete(&self, page: &str) -> Result<RawJson, Exit> {
        self.send(Method::DELETE, page, None).await
    }

    /// Asks for something to be done with what the body says.
    pub(crate) async fn send(
        &self,
        method: Method,
        page: &str,
        body: Option<&RawJson>,
    ) -> Result<RawJson, Exit> {
        let body = body.map(|body| body.bytes().clone()).unwrap_or_default();
        let answered = tokio::time::timeout(TIMEOUT, self.send_request(method, page, body)).await;
        let (status, body) = answered.unwrap_or_else(|_| {
            let text = format!("the gateway at {} does not answer", self.place());
            Err(Exit::new(Code::Timeout, text).hint("see its log, or restart it"))
        })?;
        let json = RawJson::parse(body, JsonLimits { size: LARGEST, ..JsonLimits::default() });
        match (status, json) {
            (status, Ok(json)) if status.is_success() => Ok(json),
            (StatusCode::UNAUTHORIZED, _) => Err(self.refused()),
            (status, json) => Err(self.failed(status, json.ok().as_ref())),
        }
    }

    async fn send_request(
        &self,
        method: Method,
        page: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), Exit> {
        let request = Request::builder().method(method).uri(page);
        let request = match &self.0 {
            Route::Control { .. } => request.header(HOST, "gantry"),
            Route::Network(remote) => request
                .header(HOST, &remote.authority)
                .header(AUTHORIZATION, format!("Bearer {}", remote.token.expose())),
        };
        let request = request
            .body(Full::new(body))
            .map_err(|error| Exit::bug(format!("the request cannot be written: {error}")))?;
        let lost = |error: std::io::Error| self.unreachable(&error.to_string());
        let answered = match &self.0 {
            Route::Control { socket, .. } => {
                send_request(instances::connect(socket).await.map_err(lost)?, request).await
            }
            Route::Network(remote) => {
                send_request(remote.connect().await.map_err(lost)?, request).await
            }
        };
        answered.map_err(|why| self.unreachable(&why))
    }

    /// Where it is, for people.
    fn place(&self) -> String {
        match &self.0 {
            Route::Control { id, socket } => format!("{} (instance {id})", socket.display()),
            Route::Network(remote) => format!("http://{}", remote.authority),
        }
    }

    fn unreachable(&self, why: &str) -> Exit {
        let text = format!("no gateway answers at {}: {why}", self.place());
        Exit::new(Code::Unreachable, text).hint("start one with `gantry serve`")
    }

    fn refused(&self) -> Exit {
        let text = format!("the gateway at {} does not accept the token", self.place());
        let hint = "it is in the file admin-token in the state directory of that gateway; without \
                    --url a gateway of this user needs none";
        Exit::new(Code::Refused, text).hint(hint)
    }

    /// What the gateway says went wrong.
    fn failed(&self, status: StatusCode, json: Option<&RawJson>) -> Exit {
        let told = |path: &[&str]| json.and_then(|it| it.at(path)?.to_text());
        let code = match status {
            StatusCode::NOT_FOUND => Code::NotFound,
            StatusCode::FORBIDDEN => Code::Refused,
            _ => Code::Failed,
        };
        match told(&["error", "error_message"]) {
            Some(text) => {
                Exit { hint: told(&["error", "error_details", "advice"]), ..Exit::new(code, text) }
            }
            None => {
                let text = format!("{} answers {status}", self.place());
                Exit::new(Code::Unreachable, text).hint("is that a gateway?")
            }
        }
    }
}

/// Says which running gateways do not read a file that was written just now. Gives one that does.
pub(crate) async fn warn_of_unread(file: &Path) -> Option<AdminClient> {
    // What was asked for is done; a gateway that cannot be asked is told of where it matters.
    let readers = instances::readers(file).await.unwrap_or_default();
    let reader = readers.iter().find(|(_, reads)| *reads).map(|(gateway, _)| gateway);
    for (gateway, _) in readers.iter().filter(|(_, reads)| !reads) {
        let (gateway, file) = (gateway.describe(), file.display());
        let kind = if reader.is_some() { "note" } else { "warning" };
        render::say(&format!("{kind}: the running gateway {gateway} does not read {file}"));
    }
    reader.cloned().map(AdminClient::of)
}

/// The page of a server, or one below it.
pub(crate) fn page(name: &str, below: &str) -> String {
    page_in("/api/servers/", name, below)
}

/// The page of a thing that has a name, or one below it.
pub(crate) fn page_in(folder: &str, name: &str, below: &str) -> String {
    let mut page = folder.to_owned();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => page.push(byte.into()),
            _ => page.push_str(&format!("%{byte:02X}")),
        }
    }
    page + below
}

/// The most bytes that an answer may have.
pub(crate) const LARGEST: usize = 32 * 1024 * 1024;

/// Sends a request, and gives the answer or why there is none.
pub(crate) async fn send_request(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Full<Bytes>>,
) -> Result<(StatusCode, Bytes), String> {
    let lost = |error: hyper::Error| error.to_string();
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
    let answer = async {
        let response = sender.send_request(request).await.map_err(lost)?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LARGEST).collect().await;
        Ok((status, body.map_err(|error| error.to_string())?.to_bytes()))
    };
    // The connection is driven here, so that it ends with its one answer.
    let driven = async {
        let _ = connection.await;
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        answer = answer => answer,
        never = driven => match never {},
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages() {
        assert_eq!(page("git-hub_1.0", ""), "/api/servers/git-hub_1.0");
        assert_eq!(page("a b/ö", "/log"), "/api/servers/a%20b%2F%C3%B6/log");
    }
}
