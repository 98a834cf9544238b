//! Connects to an origin: DNS, TCP and TLS; or to a Unix socket, whose server is identified by the
//! credentials that the kernel reports.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::origin::Origin;
use crate::error::ClientError;
use crate::target::UnixSocket;

/// TLS roots and protocol versions, built once: reading the certificates takes milliseconds.
static TLS: LazyLock<Arc<ClientConfig>> = LazyLock::new(|| {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has the suites of the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
});

/// Bytes to and from an origin.
#[derive(Debug)]
pub(crate) enum Stream {
    /// As they are.
    Plain(TcpStream),
    /// Encrypted.
    Secure(Box<TlsStream<TcpStream>>),
    /// Over a Unix socket.
    Unix(UnixStream),
}

/// Connects to a Unix socket, without a timeout. Nothing is sent before the peer is known to be the
/// right user.
async fn connect_unix(socket: &UnixSocket) -> Result<Stream, ClientError> {
    let UnixSocket { path, owner } = socket;
    let failed = |error: io::Error| {
        ClientError::Unreachable(format!("`{}` cannot be reached: {error}", path.display()))
    };
    let stream = UnixStream::connect(path).await.map_err(failed)?;
    match stream.peer_cred().map_err(failed)?.uid() {
        uid if uid == *owner => Ok(Stream::Unix(stream)),
        uid => {
            let text = format!("`{}` is served by another user, {uid}", path.display());
            Err(ClientError::Unreachable(text))
        }
    }
}

/// Connects to an origin within a time, or to the socket that stands in for it.
pub(crate) async fn connect(
    origin: &Origin,
    socket: Option<&UnixSocket>,
    within: Duration,
) -> Result<Stream, ClientError> {
    if let Some(socket) = socket {
        return connect_unix(socket).await;
    }
    let connected = tokio::time::timeout(within, connect_tcp(origin, within)).await;
    connected.unwrap_or_else(|_| {
        Err(ClientError::Unreachable(format!(
            "`{origin}` let {within:?} pass without taking the connection; check the address, and \
             what stands between"
        )))
    })
}

async fn connect_tcp(origin: &Origin, within: Duration) -> Result<Stream, ClientError> {
    let tcp = connect_any(origin, within).await?;
    // Messages are small and latency matters.
    tcp.set_nodelay(true).map_err(|error| refused(origin, &error))?;
    if !origin.is_secure() {
        return Ok(Stream::Plain(tcp));
    }
    let name = ServerName::try_from(origin.host().to_owned()).map_err(|_| {
        ClientError::Unreachable(format!("`{origin}` cannot be the name of a host"))
    })?;
    let secured = TlsConnector::from(TLS.clone()).connect(name, tcp).await;
    secured.map(|stream| Stream::Secure(Box::new(stream))).map_err(|error| {
        ClientError::Unreachable(format!(
            "`{origin}` cannot be spoken to over TLS: {error}; check its certificate, or whether \
             the address should begin with `http://`"
        ))
    })
}

/// Tries the addresses of a host in order, each with its share of the timeout.
async fn connect_any(origin: &Origin, within: Duration) -> Result<TcpStream, ClientError> {
    let found = tokio::net::lookup_host((origin.host(), origin.port())).await;
    let addresses: Vec<SocketAddr> = found.map_err(|error| unknown(origin, &error))?.collect();
    let share = within / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match tokio::time::timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(refused(origin, &last))
}

fn unknown(origin: &Origin, error: &io::Error) -> ClientError {
    ClientError::Unreachable(format!(
        "the host of `{origin}` cannot be found: {error}; check how it is spelled"
    ))
}

fn refused(origin: &Origin, error: &io::Error) -> ClientError {
    let text =
        format!("`{origin}` cannot be reached: {error}; check that the server runs, and its port");
    match error.kind() {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted => ClientError::ConnectionRefused(text),
        _ => ClientError::Unreachable(text),
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Secure(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Secure(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
            Self::Secure(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, parts),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
            Self::Secure(stream) => stream.is_write_vectored(),
            Self::Unix(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Secure(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
