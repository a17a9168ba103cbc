//! A plan among so many nodes: each called what it is called there.

use super::{Fault, Plan, Side, Target, When};
use crate::plans::fault::FaultSet;
use crate::plans::shrink::kinds::kinds;
use smallvec::SmallVec;

impl Plan {
    /// The kinds of its faults, and of what its network does beyond a good day.
    pub fn kinds(&self) -> FaultSet {
        kinds(self)
    }

    /// The same plan among so many clients and servers, for people to read. Numbers count modulo how many there are, so that a plan that
    /// was drawn for three clients is one of two as well: its C is A there, and is called so.
    #[must_use]
    pub fn among(&self, clients: u8, servers: u8) -> Plan {
        let mut plan = self.clone();
        let (clients, servers) = (clients.max(1), servers.max(1));
        for planned in &mut plan.faults {
            if let When::Trigger { client: Some(client), .. } = &mut planned.when {
                *client %= clients;
            }
            planned.fault.for_each_target(|target| match target {
                Target::Client(client) => *client %= clients,
                Target::Server(server) => *server %= servers,
                Target::Struck | Target::Resource => {}
            });
            planned.fault.for_each_side(once);
        }
        plan
    }
}

/// Each node of a side once.
fn once(side: &mut Side) {
    if let Side::Nodes(nodes) = side {
        let mut known: SmallVec<[Target; 4]> = SmallVec::new();
        nodes.retain(|node| {
            let is_new = !known.contains(node);
            known.push(*node);
            is_new
        });
    }
}

impl Fault {
    /// Whom it strikes, if it is one node.
    pub fn node_mut(&mut self) -> Option<&mut Target> {
        match self {
            Fault::Pause { node, .. }
            | Fault::Crash { node, .. }
            | Fault::PowerLoss { node, .. }
            | Fault::ClockStep { node, .. }
            | Fault::Drift { node, .. }
            | Fault::Freeze { node, .. }
            | Fault::Strobe { node, .. }
            | Fault::Isolate { node, .. }
            | Fault::Suspend { node, .. }
            | Fault::CoarseClock { node, .. }
            | Fault::Replace { node, .. } => Some(node),
            Fault::Cut { .. } | Fault::SlowLink { .. } | Fault::LoseNext { .. } | Fault::Reset { .. } => None,
        }
    }

    /// Every node that it names.
    pub fn for_each_target(&mut self, mut change: impl FnMut(&mut Target)) {
        if let Some(node) = self.node_mut() {
            change(node);
        }
        self.for_each_side(|side| {
            if let Side::Nodes(nodes) = side {
                nodes.iter_mut().for_each(&mut change);
            }
        });
    }

    /// Both ends of the links that it is about; none if it is about none.
    fn for_each_side(&mut self, mut change: impl FnMut(&mut Side)) {
        match self {
            Fault::Cut { from, to, .. }
            | Fault::Reset { between: from, and: to }
            | Fault::SlowLink { from, to, .. }
            | Fault::LoseNext { from, to, .. } => [from, to].into_iter().for_each(&mut change),
            Fault::Pause { .. }
            | Fault::Crash { .. }
            | Fault::PowerLoss { .. }
            | Fault::ClockStep { .. }
            | Fault::Drift { .. }
            | Fault::Freeze { .. }
            | Fault::Strobe { .. }
            | Fault::Suspend { .. }
            | Fault::CoarseClock { .. }
            | Fault::Replace { .. }
            | Fault::Isolate { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan::{Planned, Trigger};
    use picklock_model::time::Micros;
    use smallvec::smallvec;

    #[test]
    fn a_plan_of_three_names_only_the_two_that_are_left() {
        let length = Micros::seconds(12);
        let nodes = |all: &[u8]| Side::Nodes(all.iter().map(|client| Target::Client(*client)).collect());
        let cut = Fault::Cut { from: nodes(&[2, 0, 1]), to: Side::Everybody, both_ways: false, length };
        let when = When::Trigger { client: Some(3), event: Trigger::Granted, nth: 1, delay: Micros::ZERO };
        let lost =
            Fault::LoseNext { from: Side::Nodes(smallvec![Target::Server(4)]), to: nodes(&[2]), count: 1 };
        let faults = vec![Planned { when, fault: cut }, Planned { when: When::At(length), fault: lost }];
        let told = Plan { faults, ..Plan::default() }.among(2, 3).to_string();
        assert!(told.contains("B is granted: cut from A and B to everybody, one way, for 12s"), "{told}");
        assert!(told.contains("at 12s: the next message from s2 to A is lost"), "{told}");
    }
}
