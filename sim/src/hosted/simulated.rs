//! Turmoil's sockets as a transport, for nodes that are hosts of somebody's own simulation.

use super::transport::Transport;
use ::turmoil::net::{TcpListener, TcpStream};
use picklock_model::machine::Node;
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;

/// The network of a turmoil simulation, in which nodes are hosts of these names.
#[derive(Clone, Default, Debug)]
pub struct Simulated {
    /// The host that each node is, and the port on which it listens.
    pub hosts: BTreeMap<Node, (String, u16)>,
}

impl Simulated {
    /// Servers 0, 1… are hosts of these names, and listen on this port.
    pub fn servers(names: impl IntoIterator<Item = impl Into<String>>, port: u16) -> Simulated {
        let hosts = (0..).map(Node::Server).zip(names.into_iter().map(|name| (name.into(), port)));
        Simulated { hosts: hosts.collect() }
    }

    fn host(&self, node: Node) -> io::Result<&(String, u16)> {
        let unknown =
            || io::Error::new(io::ErrorKind::NotFound, format!("nobody knows which host {node} is"));
        self.hosts.get(&node).ok_or_else(unknown)
    }
}

impl Transport for Simulated {
    type Stream = TcpStream;
    type Listener = TcpListener;

    async fn connect(&self, to: Node) -> io::Result<TcpStream> {
        let (name, port) = self.host(to)?;
        TcpStream::connect((name.as_str(), *port)).await
    }

    async fn listen(&self, me: Node) -> io::Result<TcpListener> {
        TcpListener::bind((Ipv4Addr::UNSPECIFIED, self.host(me)?.1)).await
    }

    async fn accept(listener: &mut TcpListener) -> io::Result<TcpStream> {
        let (stream, _) = listener.accept().await?;
        Ok(stream)
    }
}
