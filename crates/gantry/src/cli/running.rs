//! The gateway that runs, as the command line reaches it: over HTTP, with the token of the state
//! directory.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use clap::{Args, ValueHint};
use gantry::RawJson;
use gantry_protocol::JsonLimits;
use http::header::{AUTHORIZATION, HOST};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::exit::{Code, Exit};
use super::serve::DEFAULT_ADDRESS;
use super::{door, origin, render, state};

/// How long an answer may take. A restart waits for a program to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most bytes that an answer may have.
const LARGEST: usize = 32 * 1024 * 1024;

/// Which gateway is meant.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Reach {
    /// Where the gateway listens; by default where the configuration says.
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,

    /// The configuration, which may say where the gateway listens.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
}

/// A gateway that should run.
#[derive(Debug)]
pub(crate) struct Running {
    /// Host and port.
    authority: String,
    /// Empty when there is none.
    token: String,
}

impl Running {
    /// The gateway that is meant.
    pub(crate) fn find(reach: &Reach) -> Result<Self, Exit> {
        let authority = match &reach.url {
            Some(url) => of_url(url)?,
            None => match door::only(reach.config.is_some())? {
                Some(address) => address.to_string(),
                None => of_listen(&configured(reach))?,
            },
        };
        // A gateway that never ran has made no token, and will not be reached either.
        let token = std::fs::read_to_string(state::token_file()?).unwrap_or_default();
        Ok(Self { authority, token: token.trim().to_owned() })
    }

    /// Asks for a page of administration.
    pub(crate) async fn get(&self, page: &str) -> Result<RawJson, Exit> {
        self.ask(Method::GET, page).await
    }

    /// Asks for something to be done.
    pub(crate) async fn post(&self, page: &str) -> Result<RawJson, Exit> {
        self.ask(Method::POST, page).await
    }

    /// Asks for something to be removed.
    pub(crate) async fn delete(&self, page: &str) -> Result<RawJson, Exit> {
        self.ask(Method::DELETE, page).await
    }

    async fn ask(&self, method: Method, page: &str) -> Result<RawJson, Exit> {
        self.send(method, page, None).await
    }

    /// Asks for something to be done with what the body says.
    pub(crate) async fn send(
        &self,
        method: Method,
        page: &str,
        body: Option<&RawJson>,
    ) -> Result<RawJson, Exit> {
        let body = body.map(|body| body.bytes().clone()).unwrap_or_default();
        let answered = tokio::time::timeout(PATIENCE, self.exchange(method, page, body)).await;
        let (status, body) = answered.unwrap_or_else(|_| {
            let text = format!("the gateway at {} does not answer", self.authority);
            Err(Exit::new(Code::Timeout, text).hint("look at what it logs, or restart it"))
        })?;
        let json = RawJson::parse(body, JsonLimits { size: LARGEST, ..JsonLimits::default() });
        match (status, json) {
            (status, Ok(json)) if status.is_success() => Ok(json),
            (StatusCode::UNAUTHORIZED, _) => Err(self.refused()?),
            (status, json) => Err(self.failed(status, json.ok().as_ref())),
        }
    }

    async fn exchange(
        &self,
        method: Method,
        page: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), Exit> {
        let lost = |error: hyper::Error| self.unreachable(&error.to_string());
        let stream = TcpStream::connect(&self.authority).await;
        let stream = stream.map_err(|error| self.unreachable(&error.to_string()))?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
        let request = Request::builder()
            .method(method)
            .uri(page)
            .header(HOST, &self.authority)
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .body(Full::new(body))
            .map_err(|error| Exit::bug(format!("the request cannot be written: {error}")))?;
        let answer = async {
            let response = sender.send_request(request).await.map_err(lost)?;
            let status = response.status();
            let body = Limited::new(response.into_body(), LARGEST).collect().await;
            let body = body.map_err(|error| self.unreachable(&error.to_string()))?;
            Ok((status, body.to_bytes()))
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

    fn unreachable(&self, why: &str) -> Exit {
        let text = format!("no gateway answers at http://{}: {why}", self.authority);
        Exit::new(Code::Unreachable, text)
            .hint("start one with `gantry serve`, or say with --url where it listens")
    }

    fn refused(&self) -> Result<Exit, Exit> {
        let file = state::token_file()?;
        let text = format!("the gateway at http://{} does not take the token", self.authority);
        let hint = format!("it is read from {}; is it the same XDG_STATE_HOME?", file.display());
        Ok(Exit::new(Code::Refused, text).hint(hint))
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
                let text = format!("http://{} answers {status}", self.authority);
                Exit::new(Code::Unreachable, text).hint("is that a gateway? --url says where it is")
            }
        }
    }
}

/// Where the configuration says that the gateway listens. One that is broken may have been in
/// order when the gateway read it.
fn configured(reach: &Reach) -> String {
    let listen = match origin::configuration(reach.config.as_deref()) {
        Ok(config) => config.and_then(|config| config.listen),
        Err(exit) => {
            render::say(&format!("the configuration is not read: {}", exit.message));
            None
        }
    };
    listen.unwrap_or_else(|| DEFAULT_ADDRESS.to_owned())
}

/// The host and port of an address.
fn of_url(url: &str) -> Result<String, Exit> {
    let whole = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let uri = whole.parse::<Uri>().ok().filter(|it| it.scheme_str() == Some("http"));
    let authority = uri.and_then(|it| {
        let host = it.host().filter(|host| !host.is_empty())?;
        Some(format!("{host}:{}", it.port_u16().unwrap_or(80)))
    });
    authority.ok_or_else(|| {
        Exit::new(Code::Usage, format!("`{url}` is not where a gateway can be"))
            .hint(format!("write it as http://{DEFAULT_ADDRESS}"))
    })
}

/// The host and port under which a gateway is reached that listens there.
fn of_listen(listen: &str) -> Result<String, Exit> {
    let Ok(address) = listen.parse::<SocketAddr>() else { return of_url(listen) };
    if address.port() == 0 {
        let text = "the gateway listens on a free port, which is not known here";
        return Err(Exit::new(Code::Unreachable, text).hint("say with --url where it listens"));
    }
    Ok(door::reached(address).to_string())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_gateway_is() {
        let cases = [
            ("127.0.0.1:4268", Some("127.0.0.1:4268")),
            ("0.0.0.0:80", Some("127.0.0.1:80")),
            ("[::]:80", Some("[::1]:80")),
            ("localhost:5", Some("localhost:5")),
            ("http://127.0.0.1:5/mcp", Some("127.0.0.1:5")),
            ("http://host", Some("host:80")),
            ("127.0.0.1:0", None),
            ("https://host", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(of_listen(text).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn pages() {
        assert_eq!(page("git-hub_1.0", ""), "/api/servers/git-hub_1.0");
        assert_eq!(page("a b/ö", "/log"), "/api/servers/a%20b%2F%C3%B6/log");
    }
}
