//! What a fair schedule owes, by name.

use super::Space;
use crate::cluster::Wake;
use crate::machine::{Node, Owner, StampGroup, Visit, Visitor};
use crate::system::{Process, System};
use crate::time::{Due, Micros, Monotonic, Wall};
use crate::world::{Action, Envelope, View};
use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hash};

/// A name for what `action` does in a world, the same in every state in which the same thing is still owed: the delivery
/// of this message, this node's deadline, the passing of time. 0 for what is not owed. The ways in which a message can be
/// handled share a name: that it is handled is owed, not how.
///
/// Names are 32-bit hashes. A collision would merge two debts into one: a loop that starves one of them might pass for
/// fair, and a fair loop for unfair. A space has a few hundred names, so that the odds are about one in a hundred thousand.
///
/// Where nothing makes an application call again, whether it does is up to it: whoever waits must not need that.
///
/// `debts` has what each message is called ([`debt_of_message`]).
pub fn label<Y: System>(view: &View<Y>, action: Action, debts: &[u32], space: &Space<Y>) -> u32 {
    if !action.is_fair() || is_another_request(view, action, space) {
        return 0;
    }
    match action {
        Action::Deliver { position, .. } => debts[usize::from(position)],
        Action::Wake { node, wake, .. } => name_of(&(1_u8, node, wake)),
        Action::Resume { client } => name_of(&(2_u8, Node::Client(client))),
        Action::Tick => debt_of_time(),
        Action::Lose { .. }
        | Action::Duplicate { .. }
        | Action::Pause { .. }
        | Action::Crash { .. }
        | Action::LosePower { .. }
        | Action::CrashServer { .. }
        | Action::CrashUnheard { .. }
        | Action::LosePowerUnheard { .. }
        | Action::CrashServerUnheard { .. }
        | Action::RestartServer { .. }
        | Action::RestartResource
        | Action::StepServerClock { .. }
        | Action::DriftingTick { .. }
        | Action::StepClock { .. }
        | Action::FreezeClock { .. } => unreachable!("faults are not fair"),
    }
}

/// What is owed while time may pass: that it does.
pub(super) fn debt_of_time() -> u32 {
    name_of(&3_u8)
}

/// What is owed while this message is under way: that it arrives.
pub(super) fn debt_of_message<Y: System>(envelope: &Envelope<Y>) -> u32 {
    let mut envelope = envelope.clone();
    envelope.age = 0;
    envelope.message.visit(&mut Blank);
    name_of(&envelope)
}

fn name_of(owed: &impl Hash) -> u32 {
    (FixedState::with_seed(0x6661_6972).hash_one(owed) as u32).max(1)
}

fn is_another_request<Y: System>(view: &View<Y>, action: Action, space: &Space<Y>) -> bool {
    let Action::Wake { node: Node::Client(client), wake: Wake::App, .. } = action else { return false };
    let Space { setup, bounds } = space;
    // Elsewhere time does not pass before it has called.
    let is_up_to_it = bounds.latency_ticks.is_none() || bounds.unhurried;
    is_up_to_it && view.clients[usize::from(client)].may_stop_asking(&setup.workload)
}

/// Makes all times and numbers equal: a message stays the same debt while others come and go.
pub(super) struct Blank;

impl Visitor for Blank {
    fn stamp(&mut self, _group: StampGroup, at: &mut Wall) {
        at.0 = 0;
    }

    fn due(&mut self, due: &mut Due) {
        *due = Due::Monotonic(Monotonic(0));
    }

    fn since(&mut self, at: &mut Monotonic, _limit: Micros) {
        at.0 = 0;
    }

    fn expiry_seconds(&mut self, at: &mut i64) {
        *at = 0;
    }

    fn serial(&mut self, _owner: Owner, serial: &mut u32) {
        *serial = 0;
    }
}
