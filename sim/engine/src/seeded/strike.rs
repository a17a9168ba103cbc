//! What the faults of a plan do to a run, and how it heals.

use crate::plans::plan::{DRIFT_PPM_MAX, Fault, Side, Target};
use crate::seeded::agenda::Pending;
use crate::seeded::cast::{Cast, are_connected};
use crate::seeded::marks::Blow;
use crate::seeded::network::Link;
use crate::seeded::run::{NodeState, Run, later};
use picklock_model::cluster::Status;
use picklock_model::machine::Node;
use picklock_model::system::System;
use picklock_model::time::{Clock, Micros};
use picklock_model::trace::Happening;
use picklock_properties::Judge;

impl<Y: System> Run<'_, '_, Y> {
    /// The fault strikes, unless its node is past caring, or there is nothing that it could strike.
    pub(crate) fn strike(&mut self, index: u32, struck: u8) {
        if self.is_healed() {
            return;
        }
        let plan = self.plan;
        let fault = &plan.faults[index as usize].fault;
        if !Cast::of(self.setup, struck).can_be_struck(fault) {
            return;
        }
        if !fault.is_of_a_clock() {
            self.cluster.judge.struck();
        }
        match fault {
            Fault::Pause { node, length } => self.pause(self.target(*node, struck), *length),
            Fault::Suspend { node, length, wall_too } => {
                self.suspend(self.target(*node, struck), *length, *wall_too);
            }
            Fault::Crash { node, restart_after } => {
                self.crash(self.target(*node, struck), false, *restart_after);
            }
            Fault::PowerLoss { node, restart_after } => {
                self.crash(self.target(*node, struck), true, *restart_after);
            }
            Fault::Replace { node, restart_after } => {
                let node = self.target(*node, struck);
                self.replace(node, *restart_after);
            }
            Fault::ClockStep { node: Target::Resource, .. }
            | Fault::Drift { node: Target::Resource, .. }
            | Fault::Freeze { node: Target::Resource, .. }
            | Fault::Strobe { node: Target::Resource, .. }
            | Fault::CoarseClock { node: Target::Resource, .. } => {}
            Fault::CoarseClock { node, granularity } => {
                self.coarsen(self.target(*node, struck), *granularity);
            }
            Fault::ClockStep { node, by } => self.step_clock(self.target(*node, struck), *by),
            Fault::Drift { node, ppm } => self.drift(self.target(*node, struck), *ppm),
            Fault::Freeze { node, length } => self.freeze(self.target(*node, struck), *length),
            Fault::Strobe { times, .. } => self.strobe(index, struck, *times),
            Fault::Cut { length, .. } | Fault::Isolate { length, .. } => {
                self.witness_blow(Blow::Cut, Node::Client(struck));
                self.cut(index, struck);
                self.engine.agenda.push(later(self.now, *length), Pending::Mend { index, struck });
            }
            Fault::Reset { between, and } => self.reset(between, and, struck),
            Fault::SlowLink { from, to, extra, length } => {
                let concerns_resource = *from == Side::Resource || *to == Side::Resource;
                self.outcome.strikes.resource_faults += u64::from(concerns_resource);
                self.witness_blow(Blow::Slow, Node::Client(struck));
                self.each_link(from, to, struck, &mut |_, link, _, _| link.extra = link.extra + *extra);
                self.engine.agenda.push(later(self.now, *length), Pending::Mend { index, struck });
            }
            Fault::LoseNext { from, to, count } => {
                self.each_link(from, to, struck, &mut |_, link, _, _| {
                    link.lose_next = link.lose_next.saturating_add(*count);
                });
            }
        }
    }

    fn is_healed(&self) -> bool {
        self.outcome.healed_at.is_some()
    }

    fn target(&self, target: Target, struck: u8) -> Node {
        Cast::of(self.setup, struck).node(target)
    }

    fn is_done(&self, node: Node) -> bool {
        self.cluster.is_done(node, self.setup)
    }

    fn set_status(&mut self, node: Node, status: Status) {
        match self.cluster.condition_mut(node) {
            Some(condition) => condition.status = status,
            None => self.resource = status,
        }
    }

    // Processes.

    fn pause(&mut self, node: Node, length: Micros) {
        let (position, until) = (self.position(node), later(self.now, length));
        match self.status(position) {
            Status::Down { .. } => return,
            Status::Up if self.is_done(node) => return,
            Status::Up => {
                self.outcome.strikes.pauses += 1;
                self.stand_still(node);
                self.show_on_the_way(|| Happening::Paused { node });
            }
            // Paused twice: until the later end.
            Status::Paused { .. } => {}
        }
        let state = &mut self.engine.nodes[position];
        state.paused_until = state.paused_until.max(until);
        self.engine.agenda.push(until, Pending::Resume { node });
    }

    fn stand_still(&mut self, node: Node) {
        self.outcome.strikes.resource_faults += u64::from(node == Node::Resource);
        self.witness_blow(Blow::Pause, node);
        self.set_status(node, Status::Paused { ticks_left: 0 });
        self.set_alarms(node, true);
    }

    /// A pause of the whole machine; it may come upon a process that is paused already.
    fn suspend(&mut self, node: Node, length: Micros, wall_too: bool) {
        let (position, until) = (self.position(node), later(self.now, length));
        match self.status(position) {
            Status::Down { .. } => return,
            Status::Up if self.is_done(node) => return,
            Status::Up => self.stand_still(node),
            Status::Paused { .. } => {}
        }
        if self.engine.nodes[position].suspended.is_none() {
            self.outcome.strikes.suspensions += 1;
            // No two steps of a node share a microsecond: the one before and the one after do not, either.
            let reading = self.clock(position).monotonic(self.now) + Micros(1);
            self.engine.nodes[position].suspended = Some((reading, wall_too));
            self.show_on_the_way(|| Happening::Suspended { node });
        }
        let state = &mut self.engine.nodes[position];
        state.suspended_until = state.suspended_until.max(until);
        state.paused_until = state.paused_until.max(until);
        self.engine.agenda.push(until, Pending::Resume { node });
    }

    pub(crate) fn pause_may_be_over(&mut self, node: Node) {
        let position = self.position(node);
        let NodeState { paused_until, suspended_until, .. } = self.engine.nodes[position];
        if suspended_until <= self.now {
            self.wake_machine(node);
        }
        if matches!(self.status(position), Status::Paused { .. }) && paused_until <= self.now {
            self.resume(node);
        }
    }

    /// The node's machine is not suspended any more, if it was.
    fn wake_machine(&mut self, node: Node) {
        let position = self.position(node);
        let state = &mut self.engine.nodes[position];
        state.suspended_until = Micros::ZERO;
        let Some((reading, wall_too)) = state.suspended.take() else { return };
        if node == Node::Resource {
            return;
        }
        let slept = self.clock(position).monotonic(self.now) - reading;
        self.change_clock(node, |clock, now| clock.wake(reading, wall_too, now));
        if wall_too {
            self.show_on_the_way(|| Happening::ClockStepped { node, by: -slept });
        }
    }

    fn resume(&mut self, node: Node) {
        let position = self.position(node);
        self.wake_machine(node);
        self.engine.nodes[position].paused_until = Micros::ZERO;
        self.set_status(node, Status::Up);
        self.show_on_the_way(|| Happening::Resumed { node });
        // Both have become ready during the pause; a scheduler may see to either first.
        let deadlines_first = self.choice_dice.coin();
        if deadlines_first {
            self.set_alarms(node, true);
        }
        let mut at = self.now.max(self.engine.nodes[position].free_at);
        if deadlines_first {
            at = at + Micros(2);
        }
        let engine = &mut *self.engine;
        engine.waiting.retain(|&(whose, slot)| {
            if whose == position {
                engine.agenda.send_again(at, slot);
                at = at + Micros(1);
            }
            whose != position
        });
        if !deadlines_first {
            self.set_alarms(node, true);
        }
    }

    fn crash(&mut self, node: Node, power_lost: bool, restart_after: Option<Micros>) {
        let position = self.position(node);
        if matches!(self.status(position), Status::Down { .. }) || self.is_done(node) {
            return;
        }
        self.outcome.strikes.crashes += u64::from(!power_lost);
        self.outcome.strikes.power_losses += u64::from(power_lost);
        self.outcome.strikes.resource_faults += u64::from(node == Node::Resource);
        self.wake_machine(node);
        self.witness_blow(if power_lost { Blow::PowerLoss } else { Blow::Crash }, node);
        if let Node::Client(client) = node {
            self.witness_crash(client);
        }
        self.engine.violations.clear();
        let (effects, violations) = (&mut self.engine.effects, &mut self.engine.violations);
        let on_violation = &mut |violation| violations.push(violation);
        self.cluster.crash(node, power_lost, self.setup, effects, on_violation);
        if node == Node::Resource {
            self.resource = Status::Down { power_lost };
        }
        let state = &mut self.engine.nodes[position];
        state.life = state.life.wrapping_add(1);
        state.paused_until = Micros::ZERO;
        state.restarts = restart_after.is_some();
        let life = state.life;
        if let Some(after) = restart_after {
            let at = later(self.now, after).max(state.free_at).max(self.now + Micros(1));
            self.engine.agenda.push(at, Pending::Restart { node, life });
        }
        self.take_events();
        self.show(|| Happening::Crashed { node, power_lost });
        self.set_alarms(node, true);
        self.lose_last_words(node, power_lost);
        self.reset_connections(position);
    }

    /// What the node has said and nobody has taken yet. A machine that goes off takes it along, each message by a toss of its own. With a
    /// crash both are seen: the operating system goes on sending what the process has given it; or requests lay in its sockets unread, so
    /// that they are reset (RFC 1122, 4.2.2.13), or the host dies as well, and what waited to be sent goes with it. So one toss decides for
    /// the whole crash: all of it is lost, or none of it is.
    ///
    /// All or none is a simplification, the same that the exhaustive search makes. Hidden are the failures which need one of two: of two
    /// requests to two servers one arrives, a client has its answer and the replica does not have the write. A loss of power has those,
    /// and so has a crash beside lost messages or a reset of some of its connections.
    fn lose_last_words(&mut self, node: Node, power_lost: bool) {
        if power_lost {
            let dice = &mut self.network_dice;
            self.engine.agenda.lose_from(node, || dice.coin());
        } else if self.last_words_dice.coin() {
            self.engine.agenda.lose_from(node, || true);
        }
    }

    fn replace(&mut self, node: Node, restart_after: Option<Micros>) {
        let position = self.position(node);
        if matches!(self.status(position), Status::Down { .. }) || self.is_done(node) {
            return;
        }
        self.outcome.strikes.replacements += 1;
        self.crash(node, true, restart_after);
        self.cluster.lose_disk(node, self.setup);
        self.show_on_the_way(|| Happening::DiskLost { node });
    }

    /// What waited for the end of a pause is lost with the process. Whoever speaks to it or for it from now on does so over new
    /// connections.
    fn reset_connections(&mut self, position: usize) {
        (0..self.engine.nodes.len()).for_each(|other| self.engine.wires.reconnect(position, other));
        let mut waiting = std::mem::take(&mut self.engine.waiting);
        waiting.retain(|&(whose, slot)| {
            if whose == position {
                self.lose_connection(slot);
            }
            whose != position
        });
        self.engine.waiting = waiting;
    }

    pub(crate) fn restart_if_down(&mut self, node: Node, life: u8) {
        let position = self.position(node);
        if matches!(self.status(position), Status::Down { .. }) && self.engine.nodes[position].life == life {
            self.restart(node);
        }
    }

    fn restart(&mut self, node: Node) {
        let position = self.position(node);
        self.outcome.strikes.restarts += 1;
        self.engine.nodes[position].restarts = false;
        self.engine.violations.clear();
        let (effects, violations) = (&mut self.engine.effects, &mut self.engine.violations);
        let on_violation = &mut |violation| violations.push(violation);
        self.cluster.restart(node, self.now, self.setup, effects, on_violation);
        if node == Node::Resource {
            self.resource = Status::Up;
        }
        // A client whose last round was cut short by the crash is done.
        self.look_whether_over();
        self.after_step(node, || Happening::Restarted { node });
    }

    // Clocks.

    /// Changes a node's clock, and with it when its deadlines come.
    fn change_clock(&mut self, node: Node, change: impl FnOnce(&mut Clock, Micros)) {
        self.note_wall_error(node);
        let now = self.now;
        if let Some(condition) = self.cluster.condition_mut(node) {
            change(&mut condition.clock, now);
        }
        self.note_wall_error(node);
        self.set_alarms(node, true);
    }

    fn note_wall_error(&mut self, node: Node) {
        let shown = self.cluster.condition(node).clock.wall(self.now);
        self.wall_error = self.wall_error.max(Micros((shown.0 - self.now.0).abs()));
    }

    fn step_clock(&mut self, node: Node, by: Micros) {
        self.outcome.strikes.clock_steps += 1;
        self.witness_blow(if by.0 < 0 { Blow::ClockBack } else { Blow::ClockAhead }, node);
        self.change_clock(node, |clock, _| clock.step(by));
        self.show_on_the_way(|| Happening::ClockStepped { node, by });
    }

    pub(crate) fn strobe(&mut self, index: u32, struck: u8, left: u16) {
        let Fault::Strobe { node, by, period, times } = self.plan.faults[index as usize].fault else {
            unreachable!("only a strobe strobes")
        };
        if left == 0 || self.is_healed() {
            return;
        }
        let forth = (times - left).is_multiple_of(2);
        self.step_clock(self.target(node, struck), if forth { by } else { -by });
        let at = later(self.now, period.max(Micros(1)));
        self.engine.agenda.push(at, Pending::Strobe { index, struck, left: left - 1 });
    }

    fn drift(&mut self, node: Node, ppm: i32) {
        // Of plans that are read from files and tokens none asks for more.
        let ppm = ppm.clamp(-DRIFT_PPM_MAX, DRIFT_PPM_MAX);
        if self.clock(self.position(node)).drift_ppm != ppm {
            self.outcome.strikes.clock_drifts += 1;
            self.witness_blow(Blow::Clock, node);
            self.set_drift(node, ppm);
        }
    }

    fn set_drift(&mut self, node: Node, ppm: i32) {
        self.change_clock(node, |clock, now| clock.set_drift(ppm, now));
        self.show_on_the_way(|| Happening::ClockDrifts { node, ppm });
    }

    fn coarsen(&mut self, node: Node, granularity: Micros) {
        let clock = self.clock(self.position(node));
        let mut coarsened = clock;
        coarsened.coarsen(granularity);
        // Steps of one microsecond and none are the same.
        if clock.granularity.max(1) == coarsened.granularity.max(1) {
            return;
        }
        self.outcome.strikes.coarse_clocks += 1;
        self.witness_blow(Blow::Clock, node);
        self.change_clock(node, |clock, _| clock.coarsen(granularity));
        self.show_on_the_way(|| Happening::ClockCoarse { node, granularity });
    }

    fn freeze(&mut self, node: Node, length: Micros) {
        let (position, until) = (self.position(node), later(self.now, length));
        if self.clock(position).frozen.is_none() {
            self.outcome.strikes.clock_freezes += 1;
            self.witness_blow(Blow::Clock, node);
            self.change_clock(node, Clock::freeze);
            self.show_on_the_way(|| Happening::ClockFroze { node });
        }
        let state = &mut self.engine.nodes[position];
        state.frozen_until = state.frozen_until.max(until);
        self.engine.agenda.push(until, Pending::Thaw { node });
    }

    pub(crate) fn freeze_may_be_over(&mut self, node: Node) {
        let position = self.position(node);
        if self.clock(position).frozen.is_some() && self.engine.nodes[position].frozen_until <= self.now {
            self.thaw(node);
        }
    }

    fn thaw(&mut self, node: Node) {
        self.change_clock(node, |clock, _| clock.unfreeze());
        self.show_on_the_way(|| Happening::ClockThawed { node });
    }

    // Links.

    fn reset(&mut self, between: &Side, and: &Side, struck: u8) {
        self.outcome.strikes.connection_resets += 1;
        self.witness_blow(Blow::Cut, Node::Client(struck));
        let is_said_twice = (between, and) == (&Side::Everybody, &Side::Everybody);
        self.each_pair(between, and, struck, &mut |run, one, other| {
            let is_again = is_said_twice && run.position(one) > run.position(other);
            if are_connected(one, other) && !is_again {
                run.engine.agenda.lose_between(one, other);
                run.engine.wires.reconnect(run.position(one), run.position(other));
                run.show_on_the_way(|| Happening::ConnectionReset { from: one, to: other });
            }
        });
    }

    fn cut(&mut self, index: u32, struck: u8) {
        self.outcome.strikes.partitions += 1;
        self.each_cut_link(index, struck, &mut |run, link, from, to| {
            link.cuts += 1;
            if link.cuts == 1 {
                run.show_on_the_way(|| Happening::LinkCut { from, to });
            }
        });
    }

    /// A fault of links that lasts ends.
    pub(crate) fn mend(&mut self, index: u32, struck: u8) {
        if self.is_healed() {
            return;
        }
        let plan = self.plan;
        if let Fault::SlowLink { from, to, extra, .. } = &plan.faults[index as usize].fault {
            return self.each_link(from, to, struck, &mut |_, link, _, _| link.extra = link.extra - *extra);
        }
        self.each_cut_link(index, struck, &mut |run, link, from, to| {
            link.cuts -= 1;
            if link.cuts == 0 {
                run.show_on_the_way(|| Happening::LinkMended { from, to });
            }
        });
    }

    fn each_cut_link(
        &mut self,
        index: u32,
        struck: u8,
        act: &mut dyn FnMut(&mut Self, &mut Link, Node, Node),
    ) {
        let plan = self.plan;
        match &plan.faults[index as usize].fault {
            Fault::Cut { from, to, both_ways, .. } => {
                self.each_link(from, to, struck, act);
                if *both_ways {
                    // Who is on both sides counts as `from` this way, too.
                    self.each_pair(from, to, struck, &mut |run, from, to| run.with_link(to, from, act));
                }
            }
            Fault::Isolate { node, .. } => {
                let (alone, rest) = (Side::Nodes(smallvec::smallvec![*node]), Side::Everybody);
                self.each_pair(&alone, &rest, struck, &mut |run, alone, other| {
                    run.with_link(alone, other, act);
                    run.with_link(other, alone, act);
                });
            }
            fault => unreachable!("{fault} cuts no link"),
        }
    }

    fn each_link(
        &mut self,
        from: &Side,
        to: &Side,
        struck: u8,
        act: &mut dyn FnMut(&mut Self, &mut Link, Node, Node),
    ) {
        self.each_pair(from, to, struck, &mut |run, from, to| run.with_link(from, to, act));
    }

    fn with_link(&mut self, from: Node, to: Node, act: &mut dyn FnMut(&mut Self, &mut Link, Node, Node)) {
        let (from_position, to_position) = (self.position(from), self.position(to));
        let mut link = *self.engine.wires.link_mut(from_position, to_position);
        act(self, &mut link, from, to);
        *self.engine.wires.link_mut(from_position, to_position) = link;
    }

    fn each_pair(&mut self, from: &Side, to: &Side, struck: u8, act: &mut dyn FnMut(&mut Self, Node, Node)) {
        Cast::of(self.setup, struck)
            .links(from, to)
            .for_each(|(sender, receiver)| act(self, sender, receiver));
    }

    // The end of all faults.

    /// Links are whole, pauses and drifts end, frozen clocks go on, servers start again. Wrong clocks stay wrong, for no
    /// clock heals itself, and dead clients stay dead.
    pub(crate) fn heal(&mut self) {
        self.outcome.healed_at = Some(self.now);
        self.show_on_the_way(|| Happening::Healed);
        self.engine.triggers.clear();
        let latency_max = self.engine.wires.heal();
        self.engine.agenda.hasten(self.now + latency_max);
        for node in self.cluster.nodes() {
            let condition = self.cluster.condition(node);
            self.note_wall_error(node);
            if condition.clock.frozen.is_some() {
                self.thaw(node);
            }
            if condition.clock.drift_ppm != 0 {
                self.set_drift(node, 0);
            }
            match (condition.status, node) {
                (Status::Paused { .. }, _) => self.resume(node),
                (Status::Down { .. }, Node::Server(_)) => self.restart(node),
                (Status::Down { .. } | Status::Up, _) => {}
            }
        }
        match self.resource {
            Status::Paused { .. } => self.resume(Node::Resource),
            Status::Down { .. } => self.restart(Node::Resource),
            Status::Up => {}
        }
        self.end_at = self.now + self.limits.after_heal_max;
        self.engine.progress.begin(
            self.now,
            &self.cluster.monitors,
            self.setup.promises,
            self.limits,
            self.wall_error,
        );
    }
}

#[cfg(test)]
mod tests;
