//! What an HTTP connection runs over: TCP for clients, a Unix socket for the control socket.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

/// A byte stream to a peer.
#[derive(Debug)]
pub(crate) enum Stream {
    /// A client, of this machine or another.
    Tcp(TcpStream),
    /// A process of this machine.
    Unix(UnixStream),
}

impl Stream {
    /// The local address; none where there are no addresses.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        Self::Tcp(stream)
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self::Unix(stream)
    }
}

/// Hands a call on to whichever stream it is.
macro_rules! each {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream.get_mut() {
            Stream::Tcp($inner) => $call,
            Stream::Unix($inner) => $call,
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, inner => Pin::new(inner).poll_read(context, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self, inner => Pin::new(inner).poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, inner => Pin::new(inner).poll_write_vectored(context, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Unix(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, inner => Pin::new(inner).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, inner => Pin::new(inner).poll_shutdown(context))
    }
}
