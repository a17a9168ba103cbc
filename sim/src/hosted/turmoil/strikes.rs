//! What the faults of a plan do to a simulation, and how it heals. Beside `crate::seeded::strike`, which does the same to a
//! seeded run.

use super::host::Host;
use super::net::host_name;
use super::run::{Run, latency_min};
use crate::hosted::driver::duration;
use crate::plans::plan::{DRIFT_PPM_MAX, Fault, Side, Target};
use crate::seeded::agenda::Pending;
use crate::seeded::cast::Cast;
use crate::seeded::run::later;
use ::turmoil::Sim;
use picklock_model::cluster::Status;
use picklock_model::machine::{Lock, Node};
use picklock_model::time::{Clock, Micros};
use picklock_model::trace::Happening;
use picklock_properties::{ClientId, Event};
use std::rc::Rc;

/// The links between all hosts: why each is cut, if it is.
#[derive(Debug)]
pub(super) struct Links {
    hosts: usize,
    /// Row by row, sender by sender: how many cuts it is under, and how much slower it is.
    links: Vec<(u16, Micros)>,
    /// Hosts without power, which nothing comes from and nothing gets to.
    dark: Vec<bool>,
}

impl Links {
    pub fn new(hosts: usize) -> Links {
        Links { hosts, links: vec![(0, Micros::ZERO); hosts * hosts], dark: vec![false; hosts] }
    }

    fn link_mut(&mut self, from: usize, to: usize) -> &mut (u16, Micros) {
        &mut self.links[from * self.hosts + to]
    }

    fn is_cut(&self, from: usize, to: usize) -> bool {
        self.links[from * self.hosts + to].0 > 0 || self.dark[from] || self.dark[to]
    }
}

impl<L: Lock> Run<'_, L> {
    pub fn happen(&mut self, pending: Pending) {
        match pending {
            Pending::Fault { index, struck } => self.strike(index, struck),
            Pending::Mend { index, struck } => self.mend(index, struck),
            Pending::Strobe { index, struck, left } => self.strobe(index, struck, left),
            Pending::Resume { node } => self.pause_may_be_over(node),
            Pending::Thaw { node } => self.freeze_may_be_over(node),
            Pending::Restart { node, life } => {
                let host = self.host(node);
                if matches!(host.status.get(), Status::Down { .. }) && host.life.get() == life {
                    self.restart(&host);
                }
            }
            Pending::Heal => self.heal(),
        }
    }

    fn strike(&mut self, index: u32, struck: u8) {
        if self.is_healed() {
            return;
        }
        let (plan, cast) = (self.plan, Cast::of(self.setup, struck));
        let fault = &plan.faults[index as usize].fault;
        if !cast.can_be_struck(fault) {
            return;
        }
        match fault {
            Fault::Pause { node, length } => self.pause(cast.node(*node), *length),
            Fault::Suspend { node, length, wall_too } => self.suspend(cast.node(*node), *length, *wall_too),
            Fault::ClockStep { node: Target::Resource, .. }
            | Fault::Drift { node: Target::Resource, .. }
            | Fault::Freeze { node: Target::Resource, .. }
            | Fault::Strobe { node: Target::Resource, .. }
            | Fault::CoarseClock { node: Target::Resource, .. } => {}
            Fault::CoarseClock { node, granularity } => self.coarsen(cast.node(*node), *granularity),
            Fault::Crash { node, restart_after } => self.crash(cast.node(*node), false, *restart_after),
            Fault::PowerLoss { node, restart_after } => self.crash(cast.node(*node), true, *restart_after),
            Fault::ClockStep { node, by } => self.step_clock(cast.node(*node), *by),
            Fault::Drift { node, ppm } => {
                self.judge.outcome.strikes.clock_drifts += 1;
                self.set_drift(cast.node(*node), *ppm);
            }
            Fault::Freeze { node, length } => self.freeze(cast.node(*node), *length),
            Fault::Strobe { times, .. } => self.strobe(index, struck, *times),
            Fault::Cut { length, .. } | Fault::Isolate { length, .. } => {
                self.judge.outcome.strikes.partitions += 1;
                for (from, to) in self.cut_links(index, struck) {
                    self.change_link(from, to, |(cuts, _)| *cuts += 1);
                }
                self.push(later(self.now, *length), Pending::Mend { index, struck });
            }
            Fault::SlowLink { from, to, extra, length } => {
                let concerns_resource = *from == Side::Resource || *to == Side::Resource;
                self.judge.outcome.strikes.resource_faults += u64::from(concerns_resource);
                self.slow_down(cast, from, to, *extra);
                self.push(later(self.now, *length), Pending::Mend { index, struck });
            }
            fault @ (Fault::LoseNext { .. } | Fault::Reset { .. } | Fault::Replace { .. }) => {
                unreachable!("a plan with {fault} is refused")
            }
        }
    }

    fn is_healed(&self) -> bool {
        self.judge.outcome.healed_at.is_some()
    }

    fn host(&self, node: Node) -> Rc<Host> {
        self.hosts[self.position(node)].clone()
    }

    // Processes.

    fn pause(&mut self, node: Node, length: Micros) {
        let (host, until) = (self.host(node), later(self.now, length));
        match host.status.get() {
            Status::Down { .. } => return,
            Status::Up if host.is_done.get() => return,
            Status::Up => {
                self.judge.outcome.strikes.pauses += 1;
                self.stand_still(&host);
                self.show(Happening::Paused { node });
            }
            // Paused twice: until the later end.
            Status::Paused { .. } => {}
        }
        host.paused_until.set(host.paused_until.get().max(until));
        self.push(until, Pending::Resume { node });
    }

    fn stand_still(&mut self, host: &Host) {
        self.judge.outcome.strikes.resource_faults += u64::from(host.node == Node::Resource);
        host.status.set(Status::Paused { ticks_left: 0 });
        host.gate.close();
    }

    /// A pause of the whole machine; it may come upon a process that is paused already.
    fn suspend(&mut self, node: Node, length: Micros, wall_too: bool) {
        let (host, until) = (self.host(node), later(self.now, length));
        match host.status.get() {
            Status::Down { .. } => return,
            Status::Up if host.is_done.get() => return,
            Status::Up => self.stand_still(&host),
            Status::Paused { .. } => {}
        }
        if host.suspended.get().is_none() {
            self.judge.outcome.strikes.suspensions += 1;
            let reading = host.clock.get().monotonic(self.now) + Micros(1);
            host.suspended.set(Some((reading, wall_too)));
            self.show(Happening::Suspended { node });
        }
        host.suspended_until.set(host.suspended_until.get().max(until));
        host.paused_until.set(host.paused_until.get().max(until));
        self.push(until, Pending::Resume { node });
    }

    /// The node's machine is not suspended any more, if it was.
    fn wake_machine(&mut self, host: &Host) {
        host.suspended_until.set(Micros::ZERO);
        let Some((reading, wall_too)) = host.suspended.take() else { return };
        let node = host.node;
        let slept = host.clock.get().monotonic(self.now) - reading;
        self.change_clock(node, |clock, now| clock.wake(reading, wall_too, now));
        if wall_too {
            self.show(Happening::ClockStepped { node, by: -slept });
        }
    }

    fn pause_may_be_over(&mut self, node: Node) {
        let host = self.host(node);
        if host.suspended_until.get() <= self.now {
            self.wake_machine(&host);
        }
        if matches!(host.status.get(), Status::Paused { .. }) && host.paused_until.get() <= self.now {
            self.resume(&host);
        }
    }

    fn resume(&mut self, host: &Host) {
        self.wake_machine(host);
        host.paused_until.set(Micros::ZERO);
        host.status.set(Status::Up);
        host.gate.open();
        self.show(Happening::Resumed { node: host.node });
    }

    fn crash(&mut self, node: Node, power_lost: bool, restart_after: Option<Micros>) {
        let host = self.host(node);
        if matches!(host.status.get(), Status::Down { .. }) || host.is_done.get() {
            return;
        }
        self.judge.outcome.strikes.crashes += u64::from(!power_lost);
        self.judge.outcome.strikes.power_losses += u64::from(power_lost);
        self.judge.outcome.strikes.resource_faults += u64::from(node == Node::Resource);
        self.wake_machine(&host);
        if power_lost {
            self.set_dark(&host, true);
        }
        self.sim.crash(host.name.as_str());
        // A process that hung and then ended starts anew, and does not hang.
        host.gate.open();
        host.status.set(Status::Down { power_lost });
        host.power_lost.set(power_lost);
        host.life.set(host.life.get().wrapping_add(1).max(1));
        host.paused_until.set(Micros::ZERO);
        host.restarts.set(restart_after.is_some());
        if let Some(after) = restart_after {
            let at = later(self.now, after).max(self.now + Micros(1));
            self.push(at, Pending::Restart { node, life: host.life.get() });
        }
        let happening = Happening::Crashed { node, power_lost };
        match node {
            Node::Client(client) => {
                let crashed = Event::crashed(ClientId(client));
                self.judge.observe(self.now, &happening, &[crashed], None);
            }
            Node::Server(_) | Node::Resource => self.show(happening),
        }
    }

    /// Its process shows the restart by itself, with its first step.
    fn restart(&mut self, host: &Host) {
        self.judge.outcome.strikes.restarts += 1;
        host.restarts.set(false);
        if host.power_lost.get() {
            self.set_dark(host, false);
        }
        host.status.set(Status::Up);
        self.sim.bounce(host.name.as_str());
    }

    fn set_dark(&mut self, host: &Host, is_dark: bool) {
        let position = self.position(host.node);
        self.links.dark[position] = is_dark;
        for other in (0..self.hosts.len()).filter(|other| *other != position) {
            self.apply(position, other);
            self.apply(other, position);
        }
    }

    // Clocks.

    fn change_clock(&mut self, node: Node, change: impl FnOnce(&mut Clock, Micros)) {
        let host = self.host(node);
        self.note_wall_error(&host);
        host.clock.change(|clock| change(clock, self.now));
        self.note_wall_error(&host);
    }

    fn note_wall_error(&mut self, host: &Host) {
        let shown = host.clock.get().wall(self.now);
        self.wall_error = self.wall_error.max(Micros((shown.0 - self.now.0).abs()));
    }

    fn step_clock(&mut self, node: Node, by: Micros) {
        self.judge.outcome.strikes.clock_steps += 1;
        self.change_clock(node, |clock, _| clock.step(by));
        self.show(Happening::ClockStepped { node, by });
    }

    fn strobe(&mut self, index: u32, struck: u8, left: u16) {
        let Fault::Strobe { node, by, period, times } = self.plan.faults[index as usize].fault else {
            unreachable!("only a strobe strobes")
        };
        if left == 0 || self.is_healed() {
            return;
        }
        let forth = (times - left).is_multiple_of(2);
        self.step_clock(Cast::of(self.setup, struck).node(node), if forth { by } else { -by });
        let at = later(self.now, period.max(Micros(1)));
        self.push(at, Pending::Strobe { index, struck, left: left - 1 });
    }

    fn set_drift(&mut self, node: Node, ppm: i32) {
        // A clock that stood still or ran twice as fast would be another fault.
        let ppm = ppm.clamp(-DRIFT_PPM_MAX, DRIFT_PPM_MAX);
        self.change_clock(node, |clock, now| clock.set_drift(ppm, now));
        self.show(Happening::ClockDrifts { node, ppm });
    }

    fn coarsen(&mut self, node: Node, granularity: Micros) {
        self.judge.outcome.strikes.coarse_clocks += 1;
        self.change_clock(node, |clock, _| clock.coarsen(granularity));
        self.show(Happening::ClockCoarse { node, granularity });
    }

    fn freeze(&mut self, node: Node, length: Micros) {
        let (host, until) = (self.host(node), later(self.now, length));
        if host.clock.get().frozen.is_none() {
            self.judge.outcome.strikes.clock_freezes += 1;
            self.change_clock(node, Clock::freeze);
            self.show(Happening::ClockFroze { node });
        }
        host.frozen_until.set(host.frozen_until.get().max(until));
        self.push(until, Pending::Thaw { node });
    }

    fn freeze_may_be_over(&mut self, node: Node) {
        let host = self.host(node);
        if host.clock.get().frozen.is_some() && host.frozen_until.get() <= self.now {
            self.thaw(node);
        }
    }

    fn thaw(&mut self, node: Node) {
        self.change_clock(node, |clock, _| clock.unfreeze());
        self.show(Happening::ClockThawed { node });
    }

    // Links.

    fn mend(&mut self, index: u32, struck: u8) {
        if self.is_healed() {
            return;
        }
        let plan = self.plan;
        if let Fault::SlowLink { from, to, extra, .. } = &plan.faults[index as usize].fault {
            return self.slow_down(Cast::of(self.setup, struck), from, to, -*extra);
        }
        for (from, to) in self.cut_links(index, struck) {
            self.change_link(from, to, |(cuts, _)| *cuts -= 1);
        }
    }

    /// The links that a fault cuts, by the positions of sender and receiver.
    fn cut_links(&self, index: u32, struck: u8) -> Vec<(usize, usize)> {
        let cast = Cast::of(self.setup, struck);
        match &self.plan.faults[index as usize].fault {
            Fault::Cut { from, to, both_ways, .. } => {
                let mut links = self.pairs(cast, from, to);
                if *both_ways {
                    // Who is on both sides counts as `from` this way, too.
                    let back: Vec<_> = links.iter().map(|(from, to)| (*to, *from)).collect();
                    links.extend(back);
                }
                links
            }
            Fault::Isolate { node, .. } => {
                let alone = Side::Nodes(smallvec::smallvec![*node]);
                let links = self.pairs(cast, &alone, &Side::Everybody).into_iter();
                links.flat_map(|(alone, other)| [(alone, other), (other, alone)]).collect()
            }
            fault => unreachable!("{fault} cuts no link"),
        }
    }

    fn pairs(&self, cast: Cast, from: &Side, to: &Side) -> Vec<(usize, usize)> {
        let nodes: Vec<Node> = self.hosts.iter().map(|host| host.node).collect();
        let links = (0..nodes.len()).flat_map(|from| (0..nodes.len()).map(move |to| (from, to)));
        links.filter(|(one, other)| cast.is_link(nodes[*one], nodes[*other], from, to)).collect()
    }

    fn slow_down(&mut self, cast: Cast, from: &Side, to: &Side, extra: Micros) {
        for (from, to) in self.pairs(cast, from, to) {
            self.change_link(from, to, |(_, slower)| *slower = *slower + extra);
        }
    }

    fn change_link(&mut self, from: usize, to: usize, change: impl FnOnce(&mut (u16, Micros))) {
        let was_cut = self.links.is_cut(from, to);
        change(self.links.link_mut(from, to));
        self.apply(from, to);
        let nodes = (self.hosts[from].node, self.hosts[to].node);
        match (was_cut, self.links.is_cut(from, to)) {
            (false, true) => self.show(Happening::LinkCut { from: nodes.0, to: nodes.1 }),
            (true, false) => self.show(Happening::LinkMended { from: nodes.0, to: nodes.1 }),
            (false, false) | (true, true) => {}
        }
    }

    /// Makes turmoil's link what it should be.
    fn apply(&mut self, from: usize, to: usize) {
        let is_cut = self.links.is_cut(from, to);
        let (_, slower) = *self.links.link_mut(from, to);
        let (from, to) = (self.hosts[from].node, self.hosts[to].node);
        self.slowness.set(from, to, duration(slower));
        set_cut(&self.sim, from, to, is_cut);
    }

    // The end of all faults.

    /// Links are whole, pauses and drifts end, frozen clocks go on, servers start again. Wrong clocks stay wrong, for no
    /// clock heals itself, and dead clients stay dead.
    fn heal(&mut self) {
        self.show(Happening::Healed);
        self.triggers.clear();
        // Turmoil's shortest latency cannot be changed any more.
        let latency_max = self.plan.network.healed().latency_max.max(latency_min(self.plan));
        self.sim.set_max_message_latency(duration(latency_max));
        for from in 0..self.hosts.len() {
            for to in (0..self.hosts.len()).filter(|to| *to != from) {
                if *self.links.link_mut(from, to) != (0, Micros::ZERO) {
                    self.change_link(from, to, |link| *link = (0, Micros::ZERO));
                }
            }
        }
        for host in self.hosts.clone() {
            let clock = host.clock.get();
            self.note_wall_error(&host);
            if clock.frozen.is_some() {
                self.thaw(host.node);
            }
            if clock.drift_ppm != 0 {
                self.set_drift(host.node, 0);
            }
            match (host.status.get(), host.node) {
                (Status::Paused { .. }, _) => self.resume(&host),
                (Status::Down { .. }, Node::Server(_) | Node::Resource) => self.restart(&host),
                (Status::Down { .. } | Status::Up, _) => {}
            }
        }
        self.judge.heal(self.now, self.setup, self.wall_error);
    }
}

fn set_cut(sim: &Sim<'_>, from: Node, to: Node, is_cut: bool) {
    let (from, to) = (host_name(from), host_name(to));
    if is_cut {
        sim.partition_oneway(from.as_str(), to.as_str());
    } else {
        sim.repair_oneway(from.as_str(), to.as_str());
    }
}
