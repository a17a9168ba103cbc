//! The ports of a round: each client has its own at each server, and one at the witness.

use crate::cli::BadCall;
use crate::cli::serve::bound;
use crate::serve::Doors;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::net::TcpListener;

/// Ports that are open, and that nobody answers on yet.
pub struct Ports {
    /// Each server's, one for each client.
    pub servers: Vec<Doors>,
    /// Where each client finds the servers.
    pub addresses: Vec<Vec<SocketAddr>>,
    /// Whose the servers' ports are.
    pub clients: BTreeMap<u16, u8>,
    /// Where each client finds the witness.
    pub witness: Vec<(SocketAddr, TcpListener)>,
}

impl Ports {
    pub async fn open(servers: u8, clients: u8) -> Result<Ports, BadCall> {
        let addresses = vec![Vec::new(); clients.into()];
        let mut ports =
            Ports { servers: Vec::new(), addresses, clients: BTreeMap::new(), witness: Vec::new() };
        for _ in 0..servers {
            let mut doors = Vec::new();
            for (client, addresses) in (0..).zip(&mut ports.addresses) {
                let (address, listener) = port().await?;
                ports.clients.insert(address.port(), client);
                addresses.push(address);
                doors.push(listener);
            }
            ports.servers.push(Doors(doors));
        }
        for _ in 0..clients {
            ports.witness.push(port().await?);
        }
        Ok(ports)
    }

    /// The addresses of the servers, as clients are told them.
    pub fn told(&self, client: usize) -> String {
        self.addresses[client].iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

/// One that is free.
async fn port() -> Result<(SocketAddr, TcpListener), BadCall> {
    let cannot = |error| BadCall(format!("nobody can listen on 127.0.0.1 here: {error}"));
    let listener = bound(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).map_err(cannot)?;
    Ok((listener.local_addr().map_err(cannot)?, listener))
}
