//! Where the gateways of this state directory listen, written down while they do: the user's
//! token is for them alone.

use std::fs::{self, File, TryLockError};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use http::Uri;

use crate::exit::Exit;
use crate::state_dir;

/// An address where a gateway listens: a file that it holds locked. It is forgotten when this is
/// dropped, and holds nothing when the gateway was killed: tokens are shown to no one else.
#[derive(Debug)]
pub(crate) struct Door(Option<(PathBuf, File)>);

impl Door {
    /// Writes an address down. Who cannot read it must name the gateway: that is no failure.
    pub(crate) fn open(address: SocketAddr) -> Result<Self, Exit> {
        let folder = state_dir::doors()?;
        let path = folder.join(reached(address).to_string());
        let written = fs::create_dir_all(&folder).and_then(|()| {
            files(&folder).filter(|path| !is_held(path)).try_for_each(fs::remove_file)?;
            let file = File::create(&path)?;
            file.lock()?;
            Ok(file)
        });
        if let Err(error) = &written {
            tracing::warn!(%error, "the instance file could not be written");
        }
        Ok(Self(written.ok().map(|file| (path, file))))
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        if let Some((path, _)) = &self.0 {
            // One that is left over is locked by nobody.
            let _ = fs::remove_file(path);
        }
    }
}

/// Where a gateway of this state directory listens under that address; none if none does. What is sent to
/// it must go to this address: `localhost` has two, and somebody else may listen on the other one.
pub(crate) fn ours(url: &Uri) -> Result<Option<SocketAddr>, Exit> {
    let Some(host) = url.host() else { return Ok(None) };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let named = match host {
        "localhost" => vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)],
        host => host.parse().into_iter().collect(),
    };
    let port = url.port_u16().unwrap_or(80);
    let ours = addresses()?;
    let mut named = named.into_iter().map(|ip| SocketAddr::new(ip, port));
    Ok(named.find(|address| ours.contains(address)))
}

fn addresses() -> Result<Vec<SocketAddr>, Exit> {
    let folder = state_dir::doors()?;
    let held = files(&folder).filter(|path| is_held(path));
    Ok(held.filter_map(|path| path.file_name()?.to_str()?.parse().ok()).collect())
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Whether a gateway that runs holds this file.
fn is_held(path: &Path) -> bool {
    let tried = File::open(path).map(|file| file.try_lock_shared());
    matches!(tried, Ok(Err(TryLockError::WouldBlock)))
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
