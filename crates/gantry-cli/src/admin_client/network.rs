//! A gateway that is named with `--url`: reached over TCP with a token that was given for it, and in
//! clear text on this machine only.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use gantry_protocol::Secret;
use http::Uri;
use tokio::net::TcpStream;

use crate::admin_client::GatewayTarget;
use crate::exit::{Code, Exit};
use crate::runtime::DEFAULT_ADDRESS;

/// A gateway that listens on this machine, and the token to show it.
#[derive(Debug)]
pub(crate) struct Remote {
    /// Host and port, as they were given.
    pub(crate) authority: String,
    pub(crate) token: Secret,
    addresses: Vec<SocketAddr>,
}

impl Remote {
    /// The gateway at a URL. Nothing is sent yet, and no name is looked up.
    pub(crate) fn new(url: &str, reach: &GatewayTarget) -> Result<Self, Exit> {
        let (authority, addresses) = loopback(url)?;
        if reach.instance.is_some() {
            let text = "--url and --instance name different gateways";
            return Err(Exit::new(Code::Usage, text).hint("give one of them"));
        }
        let token = reach.token.clone().filter(|token| !token.expose().is_empty());
        let token = token.ok_or_else(|| {
            let text =
                "--url needs the administrator's token, which is sent to no address by itself";
            Exit::new(Code::Usage, text).hint(
                "give it with GANTRY_ADMIN_TOKEN or --token; without --url the gateways of this \
                 user are reached over their control sockets, with no token",
            )
        })?;
        Ok(Self { authority, token, addresses })
    }

    pub(crate) async fn connect(&self) -> std::io::Result<TcpStream> {
        TcpStream::connect(&*self.addresses).await
    }
}

/// The host and port of a URL, and the addresses of this machine that it means.
fn loopback(url: &str) -> Result<(String, Vec<SocketAddr>), Exit> {
    let whole = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let usage = |text: String| {
        Exit::new(Code::Usage, text).hint(format!("write it as http://{DEFAULT_ADDRESS}"))
    };
    let wrong = || usage(format!("`{url}` is not the address of a gateway"));
    let uri = whole.parse::<Uri>().map_err(|_| wrong())?;
    if uri.scheme_str() == Some("https") {
        return Err(usage(format!("`{url}`: the command line does not speak TLS")));
    }
    let host = uri.host().filter(|host| !host.is_empty() && uri.scheme_str() == Some("http"));
    let host = host.ok_or_else(wrong)?;
    let port = uri.port_u16().unwrap_or(80);
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<IpAddr> = match name.parse::<IpAddr>() {
        Ok(address) => vec![address],
        // Whoever answers for names is not asked where this machine is.
        Err(_) if name.eq_ignore_ascii_case("localhost") => {
            vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
        }
        Err(_) => Vec::new(),
    };
    if addresses.is_empty() || !addresses.iter().all(IpAddr::is_loopback) {
        let text = format!(
            "`{url}` is on another machine, and the token would cross the network in clear text"
        );
        return Err(Exit::new(Code::Refused, text).hint(format!(
            "run the command there, or make a tunnel: `ssh -L 4268:{DEFAULT_ADDRESS} HOST`, then \
             --url http://{DEFAULT_ADDRESS}"
        )));
    }
    let addresses = addresses.into_iter().map(|ip| SocketAddr::new(ip, port)).collect();
    Ok((format!("{host}:{port}"), addresses))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_reached_in_clear_text() {
        let cases = [
            ("127.0.0.1:4268", Ok("127.0.0.1:4268")),
            ("http://127.0.0.1:5/mcp", Ok("127.0.0.1:5")),
            ("http://127.9.9.9", Ok("127.9.9.9:80")),
            ("http://[::1]:5", Ok("[::1]:5")),
            ("localhost:5", Ok("localhost:5")),
            ("http://192.0.2.1", Err(Code::Refused)),
            ("http://[2001:db8::1]:5", Err(Code::Refused)),
            ("http://0.0.0.0:5", Err(Code::Refused)),
            ("http://127.0.0.1.example.com", Err(Code::Refused)),
            ("http://localhost.example.com", Err(Code::Refused)),
            ("http://127.0.0.1@192.0.2.1", Err(Code::Refused)),
            ("https://127.0.0.1:5", Err(Code::Usage)),
            ("ftp://127.0.0.1", Err(Code::Usage)),
            ("http://", Err(Code::Usage)),
            ("", Err(Code::Usage)),
        ];
        for (url, expected) in cases {
            let found = loopback(url).map(|it| it.0).map_err(|exit| exit.code);
            assert_eq!(found, expected.map(str::to_owned), "{url}");
        }
    }

    #[test]
    fn a_token_must_be_given() {
        let cases = [(None, false), (Some(""), false), (Some("t"), true)];
        for (token, expected) in cases {
            let reach = GatewayTarget { token: token.map(Secret::new), ..GatewayTarget::default() };
            assert_eq!(Remote::new("127.0.0.1:5", &reach).is_ok(), expected, "{token:?}");
        }
    }
}
