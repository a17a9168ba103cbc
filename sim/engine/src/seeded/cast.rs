//! Who the targets of a plan are in one run: numbers are taken modulo how many there are.

use crate::plans::plan::{Fault, Side, Target};
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

    /// All nodes: clients and attendants, servers, the resource.
    pub fn nodes(self) -> impl Iterator<Item = Node> + Clone {
        let clients = (0..self.clients).map(Node::Client);
        clients.chain((0..self.servers).map(Node::Server)).chain([Node::Resource])
    }

    /// Whether messages of `sender` to `receiver` go from this side to that one. Everybody is whoever is not on the other side; between
    /// everybody and everybody are all links. Of two other sides, who is on both counts as `from`.
    pub fn is_link(self, sender: Node, receiver: Node, from: &Side, to: &Side) -> bool {
        match (from, to) {
            (Side::Everybody, Side::Everybody) => sender != receiver,
            (Side::Everybody, to) => self.is_in(receiver, to) && !self.is_in(sender, to),
            (from, to) => self.is_in(sender, from) && self.is_in(receiver, to) && !self.is_in(receiver, from),
        }
    }

    /// The links from one side to the other, sender by sender.
    pub fn links(self, from: &Side, to: &Side) -> impl Iterator<Item = (Node, Node)> {
        let pairs = self.nodes().flat_map(move |sender| self.nodes().map(move |to| (sender, to)));
        pairs.filter(move |&(sender, receiver)| self.is_link(sender, receiver, from, to))
    }

    /// Whether a fault has anything here that it can befall: a link, a connection, a clock, a message.
    pub fn can_be_struck(self, fault: &Fault) -> bool {
        if fault.amounts_to_nothing() {
            return false;
        }
        match fault {
            Fault::Cut { from, to, .. }
            | Fault::SlowLink { from, to, .. }
            | Fault::LoseNext { from, to, .. } => self.links(from, to).next().is_some(),
            Fault::Reset { between, and } => {
                self.links(between, and).any(|(one, other)| are_connected(one, other))
            }
            Fault::ClockStep { node, .. }
            | Fault::Drift { node, .. }
            | Fault::Freeze { node, .. }
            | Fault::Strobe { node, .. }
            | Fault::CoarseClock { node, .. } => *node != Target::Resource,
            Fault::Pause { .. }
            | Fault::Suspend { .. }
            | Fault::Crash { .. }
            | Fault::PowerLoss { .. }
            | Fault::Replace { .. }
            | Fault::Isolate { .. } => true,
        }
    }
}

/// Whether two nodes speak over a connection: two of a kind do not, but for servers among themselves.
pub(crate) fn are_connected(one: Node, other: Node) -> bool {
    !matches!((one, other), (Node::Client(_), Node::Client(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use picklock_model::time::Micros;
    use proptest::collection::vec;
    use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
    use std::collections::BTreeSet;

    fn targets() -> impl Strategy<Value = Target> {
        prop_oneof![
            4 => any::<u8>().prop_map(Target::Client),
            4 => any::<u8>().prop_map(Target::Server),
            1 => Just(Target::Struck),
            1 => Just(Target::Resource),
        ]
    }

    fn sides() -> impl Strategy<Value = Side> {
        prop_oneof![
            Just(Side::Everybody),
            Just(Side::Clients),
            Just(Side::Servers),
            Just(Side::Resource),
            vec(targets(), 0..4).prop_map(|nodes| Side::Nodes(nodes.into_iter().collect())),
        ]
    }

    fn casts() -> impl Strategy<Value = Cast> {
        (1u8..4, 1u8..4, any::<u8>()).prop_map(|(clients, servers, struck)| Cast {
            clients,
            servers,
            struck: struck % clients,
        })
    }

    /// Whom a side means by its own words; `None`: whoever is left.
    fn meant(cast: Cast, side: &Side) -> Option<BTreeSet<Node>> {
        match side {
            Side::Everybody => None,
            Side::Clients => Some((0..cast.clients).map(Node::Client).collect()),
            Side::Servers => Some((0..cast.servers).map(Node::Server).collect()),
            Side::Resource => Some(BTreeSet::from([Node::Resource])),
            Side::Nodes(targets) => Some(targets.iter().map(|target| cast.node(*target)).collect()),
        }
    }

    /// What is said of two sides, as sets: all with all, the rest with one side, one side with the rest, or two sides.
    fn said(cast: Cast, from: &Side, to: &Side) -> BTreeSet<(Node, Node)> {
        let all: BTreeSet<Node> = cast.nodes().collect();
        let (senders, receivers) = match (meant(cast, from), meant(cast, to)) {
            (None, None) => (all.clone(), all),
            (None, Some(to)) => (&all - &to, to),
            (Some(from), None) => {
                let rest = &all - &from;
                (from, rest)
            }
            (Some(from), Some(to)) => {
                let rest = &to - &from;
                (from, rest)
            }
        };
        let pairs = senders.iter().flat_map(|from| receivers.iter().map(move |to| (*from, *to)));
        pairs.filter(|(from, to)| from != to).collect()
    }

    proptest! {
        #[test]
        fn the_links_from_one_side_to_the_other_are_those_that_the_words_say(
            cast in casts(),
            from in sides(),
            to in sides(),
        ) {
            let named: Vec<(Node, Node)> = cast.links(&from, &to).collect();
            let links: BTreeSet<(Node, Node)> = named.iter().copied().collect();
            assert_eq!(links, said(cast, &from, &to), "{from} to {to}");
            assert_eq!(links.len(), named.len(), "each link once");
            // Everybody is the rest on either end: what goes out comes in the other way round.
            if from != Side::Everybody {
                let out: BTreeSet<(Node, Node)> = cast.links(&from, &Side::Everybody).collect();
                let back = cast.links(&Side::Everybody, &from).map(|(from, to)| (to, from));
                assert_eq!(out, back.collect());
            }
        }
    }

    #[test]
    fn a_fault_between_nobody_strikes_nothing_and_one_from_everybody_does() {
        let cast = Cast { clients: 2, servers: 1, struck: 0 };
        let nodes = |targets: &[Target]| Side::Nodes(targets.iter().copied().collect());
        let length = Micros::seconds(1);
        let cut = |from, to| cast.can_be_struck(&Fault::Cut { from, to, both_ways: true, length });
        assert!(cut(Side::Everybody, Side::Everybody) && cut(Side::Everybody, Side::Resource));
        assert!(cut(Side::Everybody, nodes(&[Target::Server(0)])));
        assert!(!cut(Side::Servers, nodes(&[Target::Server(0)])) && !cut(Side::Clients, nodes(&[])));
        let everybody = nodes(&[Target::Client(0), Target::Client(1), Target::Server(0), Target::Resource]);
        assert!(!cut(Side::Everybody, everybody.clone()) && !cut(everybody, Side::Everybody));
        let reset = |between, and| cast.can_be_struck(&Fault::Reset { between, and });
        assert!(reset(Side::Everybody, Side::Everybody));
        assert!(
            !reset(nodes(&[Target::Client(0)]), nodes(&[Target::Client(1)])),
            "clients have no connection"
        );
        let lose = |count| Fault::LoseNext { from: Side::Everybody, to: Side::Servers, count };
        assert!(cast.can_be_struck(&lose(1)) && !cast.can_be_struck(&lose(0)));
        let step = |node| Fault::ClockStep { node, by: length };
        assert!(cast.can_be_struck(&step(Target::Server(0))) && !cast.can_be_struck(&step(Target::Resource)));
    }
}
