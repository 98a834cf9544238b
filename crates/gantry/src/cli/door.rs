//! Where the gateways of this state directory listen, written down while they do: the user's
//! token is for them alone.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use http::Uri;

use super::exit::Exit;
use super::state;

/// An address where a gateway listens. It is forgotten when this is dropped.
#[derive(Debug)]
pub(crate) struct Door(Option<PathBuf>);

impl Door {
    /// Writes an address down. Who cannot read it must name the gateway: that is no failure.
    pub(crate) fn open(address: SocketAddr) -> Result<Self, Exit> {
        let folder = state::doors()?;
        let file = folder.join(reached(address).to_string());
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, b""));
        if let Err(error) = &written {
            tracing::warn!(%error, "where the gateway listens is not written down");
        }
        Ok(Self(written.is_ok().then_some(file)))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Some(file) = &self.0 {
            // A file that is left over is for an address where nobody listens.
            let _ = fs::remove_file(file);
        }
    }
}

/// The one address where a gateway listens; none if there are several, or if a configuration is
/// named, which says where.
pub(crate) fn only(is_configured: bool) -> Result<Option<SocketAddr>, Exit> {
    if is_configured {
        return Ok(None);
    }
    let addresses = addresses()?;
    Ok(addresses.first().copied().filter(|_| addresses.len() == 1))
}

/// Whether a gateway of this state directory listens there.
pub(crate) fn is_ours(url: &Uri) -> Result<bool, Exit> {
    let Some(host) = url.host() else { return Ok(false) };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let named = match host {
        "localhost" => vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)],
        host => host.parse().into_iter().collect(),
    };
    let port = url.port_u16().unwrap_or(80);
    let ours = addresses()?;
    Ok(named.into_iter().any(|ip| ours.contains(&SocketAddr::new(ip, port))))
}

fn addresses() -> Result<Vec<SocketAddr>, Exit> {
    let files = fs::read_dir(state::doors()?).into_iter().flatten().flatten();
    Ok(files.filter_map(|file| file.file_name().to_str()?.parse().ok()).collect())
}

/// The address under which this machine reaches one that listens there.
pub(crate) fn reached(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}
