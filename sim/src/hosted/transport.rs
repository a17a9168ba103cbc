//! How streams between nodes come about: the only thing in which turmoil's network and a real one differ.

use picklock_model::machine::Node;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A network. Cheap to clone.
pub trait Transport: Clone + Send + 'static {
    /// A stream of bytes both ways.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;
    /// Where streams arrive.
    type Listener: Send + 'static;

    /// Dials a node.
    fn connect(&self, to: Node) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Begins to listen as this node.
    fn listen(&self, me: Node) -> impl Future<Output = io::Result<Self::Listener>> + Send;

    /// The next stream that somebody has dialled.
    fn accept(listener: &mut Self::Listener) -> impl Future<Output = io::Result<Self::Stream>> + Send;

    /// Starts a task of this node's process.
    fn spawn(&self, tasks: &mut JoinSet<()>, task: impl Future<Output = ()> + Send + 'static) {
        tasks.spawn(task);
    }
}

/// Real TCP, to nodes whose addresses are known.
#[derive(Clone, Default, Debug)]
pub struct Tcp {
    /// Where each node listens.
    pub addresses: BTreeMap<Node, SocketAddr>,
}

impl Tcp {
    fn address(&self, node: Node) -> io::Result<SocketAddr> {
        let unknown =
            || io::Error::new(io::ErrorKind::NotFound, format!("nobody knows where {node} listens"));
        self.addresses.get(&node).copied().ok_or_else(unknown)
    }
}

impl Transport for Tcp {
    type Stream = TcpStream;
    type Listener = TcpListener;

    async fn connect(&self, to: Node) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.address(to)?).await?;
        // Messages are small and waited for.
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn listen(&self, me: Node) -> io::Result<TcpListener> {
        TcpListener::bind(self.address(me)?).await
    }

    async fn accept(listener: &mut TcpListener) -> io::Result<TcpStream> {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
