//! Where connections come from: real TCP, or turmoil's.

use std::future::Future;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};

/// Accepts connections.
pub trait Listener: Send + 'static {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection that somebody makes. Cancel safe.
    fn accept(&mut self) -> impl Future<Output = io::Result<Self::Stream>> + Send;

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

    fn reset(stream: Self::Stream) {
        // Without it the peer reads an orderly end. If it cannot be set, the peer has gone already.
        let _gone = stream.set_zero_linger();
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
