//! Where connections come from: real TCP, or turmoil's.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncRead, AsyncWrite};

/// Accepts connections.
pub trait Listener: Send + 'static {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection that somebody makes. Cancel safe.
    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// The addresses of a connection, here and at its other end, if it has any.
    fn ends(_stream: &Self::Stream) -> Option<(SocketAddr, SocketAddr)> {
        None
    }

    /// Ends a connection as the end of a process does.
    fn reset(stream: Self::Stream) {
        drop(stream);
    }
}

impl Listener for tokio::net::TcpListener {
    type Stream = tokio::net::TcpStream;

    async fn accept(&mut self) -> io::Result<Self::Stream> {
        let (stream, _) = tokio::net::TcpListener::accept(self).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn ends(stream: &Self::Stream) -> Option<(SocketAddr, SocketAddr)> {
        stream.local_addr().ok().zip(stream.peer_addr().ok())
    }

    fn reset(stream: Self::Stream) {
        // Without it the peer reads an orderly end. If it cannot be set, the peer has gone already.
        let _gone = stream.set_zero_linger();
    }
}

/// Several ports of one server: each client of a trial has its own, and is known by it.
#[cfg(feature = "cli")]
#[derive(Debug)]
pub struct Doors(pub Vec<tokio::net::TcpListener>);

#[cfg(feature = "cli")]
impl Listener for Doors {
    type Stream = tokio::net::TcpStream;

    async fn accept(&mut self) -> io::Result<Self::Stream> {
        let (stream, _) = std::future::poll_fn(|cx| {
            let ready = self.0.iter().map(|door| door.poll_accept(cx)).find(std::task::Poll::is_ready);
            ready.unwrap_or(std::task::Poll::Pending)
        })
        .await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn ends(stream: &Self::Stream) -> Option<(SocketAddr, SocketAddr)> {
        <tokio::net::TcpListener as Listener>::ends(stream)
    }

    fn reset(stream: Self::Stream) {
        <tokio::net::TcpListener as Listener>::reset(stream);
    }
}

#[cfg(feature = "hosted")]
impl Listener for turmoil::net::TcpListener {
    type Stream = turmoil::net::TcpStream;

    async fn accept(&mut self) -> io::Result<Self::Stream> {
        let (stream, _) = turmoil::net::TcpListener::accept(self).await?;
        Ok(stream)
    }
}
