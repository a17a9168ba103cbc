//! What happened, step by step, for whoever watches: the same for a run of the seeded engine and for a path of the
//! exhaustive one, so that one renderer shows both.

use crate::cluster::{Cluster, Wake};
use crate::machine::{Effects, Message, Node, Store};
use crate::system::System;
use crate::time::Micros;
use picklock_properties::Violation;
use serde::{Deserialize, Serialize};

/// One thing that happened to the cluster.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub enum Happening<S: Store> {
    /// A message arrived and was handled.
    Delivered {
        /// Sender.
        from: Node,
        /// Receiver.
        to: Node,
        /// What was said.
        message: Message<S>,
    },
    /// A message was lost.
    Lost {
        /// Sender.
        from: Node,
        /// Who should have received it.
        to: Node,
        /// What was said.
        message: Message<S>,
    },
    /// A message will arrive once more than it was sent.
    Duplicated {
        /// Sender.
        from: Node,
        /// Receiver.
        to: Node,
        /// What was said.
        message: Message<S>,
    },
    /// A deadline came.
    Woke {
        /// Where.
        node: Node,
        /// Whose.
        wake: Wake,
    },
    /// A tick of true time passed (exhaustive engine, timed models).
    Ticked,
    /// The node stopped, and its clocks go on: garbage collection, a stalled disk.
    Paused {
        /// Where.
        node: Node,
    },
    /// The node goes on.
    Resumed {
        /// Where.
        node: Node,
    },
    /// The node's process ended.
    Crashed {
        /// Where.
        node: Node,
        /// What was not durable is gone.
        power_lost: bool,
    },
    /// The node's process started again.
    Restarted {
        /// Where.
        node: Node,
    },
    /// The node's wall clock stepped.
    ClockStepped {
        /// Where.
        node: Node,
        /// How far; negative is back.
        by: Micros,
    },
    /// The node's clocks run fast or slow from now on.
    ClockDrifts {
        /// Where.
        node: Node,
        /// Microseconds gained per second.
        ppm: i32,
    },
    /// The node's wall clock stands still.
    ClockFroze {
        /// Where.
        node: Node,
    },
    /// The node's wall clock goes on.
    ClockThawed {
        /// Where.
        node: Node,
    },
    /// Messages from one to the other do not arrive any more.
    LinkCut {
        /// Sender.
        from: Node,
        /// Receiver.
        to: Node,
    },
    /// Messages from one to the other arrive again.
    LinkMended {
        /// Sender.
        from: Node,
        /// Receiver.
        to: Node,
    },
    /// No more faults from here on: links are whole, nodes up, clocks go on, as wrong as they are. Progress is owed.
    Healed,
    /// A tick of true time passed, and this node's clocks counted more or less of it (exhaustive engine).
    TickedUnevenly {
        /// Whose.
        node: Node,
        /// How much more than the tick they counted; negative is less.
        gained: Micros,
    },
    /// The node stopped with its machine, whose monotonic clock stands still meanwhile.
    Suspended {
        /// Where.
        node: Node,
    },
    /// The node's wall clock shows whole multiples only from now on.
    ClockCoarse {
        /// Where.
        node: Node,
        /// Of this.
        granularity: Micros,
    },
    /// The connection between the two ended, and with it what was under way between them; both go on.
    ConnectionReset {
        /// One of them.
        from: Node,
        /// The other one.
        to: Node,
    },
    /// The node's disk is gone: it will start again with nothing.
    DiskLost {
        /// Where.
        node: Node,
    },
    /// The wall clocks of all clients stand still, and show what this node's does (exhaustive engine).
    ClocksFroze {
        /// Whose.
        node: Node,
    },
}

impl<S: Store> Happening<S> {
    /// The node in whose column a trace shows it: the one whose step it is, or the one it strikes.
    pub fn node(&self) -> Option<Node> {
        match *self {
            Happening::Delivered { to, .. }
            | Happening::Lost { to, .. }
            | Happening::Duplicated { to, .. } => Some(to),
            Happening::Woke { node, .. }
            | Happening::Paused { node }
            | Happening::Suspended { node }
            | Happening::ClockCoarse { node, .. }
            | Happening::DiskLost { node }
            | Happening::Resumed { node }
            | Happening::Crashed { node, .. }
            | Happening::Restarted { node }
            | Happening::ClockStepped { node, .. }
            | Happening::ClockDrifts { node, .. }
            | Happening::TickedUnevenly { node, .. }
            | Happening::ClockFroze { node }
            | Happening::ClocksFroze { node }
            | Happening::ClockThawed { node } => Some(node),
            Happening::LinkCut { to, .. }
            | Happening::LinkMended { to, .. }
            | Happening::ConnectionReset { to, .. } => Some(to),
            Happening::Ticked | Happening::Healed => None,
        }
    }
}

/// A step as a watcher sees it.
pub struct Step<'a, Y: System> {
    /// True time since the run began.
    pub at: Micros,
    /// What happened.
    pub happening: &'a Happening<Y::Store>,
    /// What the node that took the step sent and reported.
    pub effects: &'a Effects<Y::Store>,
    /// The cluster after the step.
    pub cluster: &'a Cluster<Y>,
    /// Which promises this step broke.
    pub violations: &'a [Violation],
    /// The number of the step, from 1, that sent the message this one is about. `None`: it is about none, or the engine
    /// does not tell one message from another that says the same.
    pub sent_in: Option<u32>,
}

/// Watches a run.
pub trait Observer<Y: System> {
    /// Whether it looks at anything at all: if not, an engine need not prepare steps for it. Asked once a run.
    fn watches(&self) -> bool {
        true
    }

    /// The next step of the run.
    fn observe(&mut self, step: &Step<Y>);
}

/// Nobody watches.
impl<Y: System> Observer<Y> for () {
    fn watches(&self) -> bool {
        false
    }

    fn observe(&mut self, _step: &Step<Y>) {}
}
