//! One server of any store behind our own frames: for a lock whose store nobody but picklock speaks for.

use super::connections::{Connections, Patience};
use super::driver::{Driver, NodeClock, SinceStart};
use super::node::ServerNode;
use super::transport::Transport;
use crate::seeded::dice::{Dice, Stream};
use picklock_model::machine::{Node, Store};
use std::io;
use tokio::sync::mpsc::unbounded_channel;

/// Hosts server `me` of a store with so many servers, for as long as this future is polled. What it stores ends with it.
///
/// # Errors
/// If it cannot listen.
pub async fn host_store<S: Store, T: Transport>(
    me: u8,
    servers: u8,
    settings: S::Settings,
    transport: &T,
    patience: Patience,
) -> io::Result<()> {
    let others: Vec<Node> = (0..servers).filter(|other| *other != me).map(Node::Server).collect();
    let (connections, mut inbox) =
        Connections::<S>::open(Node::Server(me), &others, true, transport, patience).await?;
    let machine = ServerNode::<S>::new(me, servers, settings);
    let dice = Dice::new(me.into(), Stream::Choice);
    let mut driver = Driver::new(machine, NodeClock::default(), SinceStart::new(), dice, connections, ());
    let (_nobody, mut calls) = unbounded_channel();
    driver.run(&mut inbox, &mut calls).await;
    Ok(())
}
