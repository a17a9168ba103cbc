//! Who the targets of a plan are in one run: numbers are taken modulo how many there are.

use crate::plans::plan::{Side, Target};
use picklock_model::cluster::Setup;
use picklock_model::machine::Node;
use picklock_model::system::System;

/// The nodes of a run, attendants among the clients, as a fault that was pulled by client `struck` sees them.
#[derive(Clone, Copy, Debug)]
pub struct Cast {
    /// How many clients and attendants.
    pub clients: u8,
    /// How many servers.
    pub servers: u8,
    /// Which client pulled the trigger.
    pub struck: u8,
}

impl Cast {
    /// Of a run of this setup.
    pub fn of<Y: System>(setup: &Setup<Y>, struck: u8) -> Cast {
        Cast { clients: setup.workload.processes(), servers: setup.servers, struck }
    }

    /// The node that is meant.
    pub fn node(self, target: Target) -> Node {
        match target {
            Target::Client(client) => Node::Client(client % self.clients),
            Target::Server(server) => Node::Server(server % self.servers),
            Target::Struck => Node::Client(self.struck),
            Target::Resource => Node::Resource,
        }
    }

    /// Whether the node is on this side.
    pub fn is_in(self, node: Node, side: &Side) -> bool {
        match side {
            Side::Everybody => true,
            Side::Clients => matches!(node, Node::Client(_)),
            Side::Servers => matches!(node, Node::Server(_)),
            Side::Resource => node == Node::Resource,
            Side::Nodes(targets) => targets.iter().any(|target| self.node(*target) == node),
        }
    }
}
