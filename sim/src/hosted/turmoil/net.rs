//! Turmoil's sockets as a transport, with the one thing that its links have no notion of: being slow one way only.

use super::gate::{Gate, Gated};
use crate::hosted::transport::Transport;
use ::turmoil::net::{TcpListener, TcpStream};
use picklock_model::machine::Node;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinSet;
use tokio::time::{Instant, Sleep, sleep_until};

const PORT: u16 = 7878;

/// The name of a node's host.
pub(super) fn host_name(node: Node) -> String {
    match node {
        Node::Client(client) => format!("client-{client}"),
        Node::Server(server) => format!("server-{server}"),
        Node::Resource => "resource".to_owned(),
    }
}

/// The node whose host has this name.
fn node_of(name: &str) -> Option<Node> {
    match name.split_once('-') {
        Some(("client", number)) => number.parse().ok().map(Node::Client),
        Some(("server", number)) => number.parse().ok().map(Node::Server),
        Some(_) => None,
        None => (name == "resource").then_some(Node::Resource),
    }
}

/// How much longer what is said takes, by sender and receiver.
#[derive(Clone, Default, Debug)]
pub(super) struct Slowness(Arc<Mutex<BTreeMap<(Node, Node), Duration>>>);

impl Slowness {
    /// From now on it takes so much longer than usual.
    pub fn set(&self, from: Node, to: Node, extra: Duration) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((from, to), extra);
    }

    fn get(&self, from: Node, to: Node) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&(from, to)).copied().unwrap_or_default()
    }
}

/// The network as a node's process sees it.
#[derive(Clone, Debug)]
pub(super) struct Net {
    pub me: Node,
    pub gate: Arc<Gate>,
    pub slowness: Slowness,
}

impl Net {
    fn stream(&self, stream: TcpStream, to: Node) -> Stream {
        Stream {
            stream,
            from: self.me,
            to,
            slowness: self.slowness.clone(),
            held: VecDeque::new(),
            timer: Box::pin(sleep_until(Instant::now())),
        }
    }
}

impl Transport for Net {
    type Stream = Stream;
    type Listener = (Net, TcpListener);

    async fn connect(&self, to: Node) -> io::Result<Stream> {
        Ok(self.stream(TcpStream::connect((host_name(to), PORT)).await?, to))
    }

    async fn listen(&self, _me: Node) -> io::Result<(Net, TcpListener)> {
        Ok((self.clone(), TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT)).await?))
    }

    async fn accept((net, listener): &mut (Net, TcpListener)) -> io::Result<Stream> {
        let (stream, address) = listener.accept().await?;
        let dialled_by = ::turmoil::reverse_lookup(address.ip()).and_then(|name| node_of(&name));
        let unknown = || io::Error::other(format!("no node is at {address}"));
        Ok(net.stream(stream, dialled_by.ok_or_else(unknown)?))
    }

    fn spawn(&self, tasks: &mut JoinSet<()>, task: impl Future<Output = ()> + Send + 'static) {
        tasks.spawn(Gated::new(self.gate.clone(), task));
    }
}

/// A stream that holds back what is written while its link is slow. What is held goes on when the stream is read, which a
/// connection does all the time.
#[derive(Debug)]
pub(super) struct Stream {
    stream: TcpStream,
    from: Node,
    to: Node,
    slowness: Slowness,
    /// What was written, and when it goes out.
    held: VecDeque<(Instant, Vec<u8>)>,
    timer: Pin<Box<Sleep>>,
}

impl Stream {
    /// Lets go what has been held for long enough; pending as long as anything is held.
    fn poll_let_go(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((at, bytes)) = self.held.front_mut() {
            if *at > Instant::now() {
                self.timer.as_mut().reset(*at);
                ready!(self.timer.as_mut().poll(cx));
            }
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, bytes))?;
            bytes.drain(..written);
            if bytes.is_empty() {
                self.held.pop_front();
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Poll::Ready(Err(error)) = self.poll_let_go(cx) {
            return Poll::Ready(Err(error));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let extra = self.slowness.get(self.from, self.to);
        if extra.is_zero() && self.held.is_empty() {
            return Pin::new(&mut self.stream).poll_write(cx, bytes);
        }
        self.held.push_back((Instant::now() + extra, bytes.to_vec()));
        // Sets the timer; with whom it is set does not matter, for both halves are polled by one task.
        match self.poll_let_go(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(bytes.len())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
