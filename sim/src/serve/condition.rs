//! What is wrong with one server, as its clients see it.

use picklock_model::time::Micros;

/// Which way a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From a client.
    Request,
    /// To a client.
    Reply,
}

/// What is wrong with one server. Times are true times; what lies in the past is over.
#[derive(Clone, Debug, Default)]
pub struct Condition {
    /// Counts the ends of its process and of its connections: those of an earlier life are reset.
    pub life: u64,
    /// The process has ended; whether by loss of power.
    down: Option<bool>,
    paused_until: Micros,
    /// Clients' messages and the answers to them: one way each.
    ways: [Way; 2],
}

/// Messages of one direction.
#[derive(Clone, Debug, Default)]
struct Way {
    /// TCP sends again what a cut link did not carry: it comes when the link is whole again.
    cut_until: Micros,
    /// How much longer messages take, until when.
    slow: Vec<(Micros, Micros)>,
    /// How many are lost next, each with its connection: a stream loses nothing from its middle.
    lose_next: u16,
}

impl Condition {
    fn way(&self, direction: Direction) -> &Way {
        &self.ways[direction as usize]
    }

    fn way_mut(&mut self, direction: Direction) -> &mut Way {
        &mut self.ways[direction as usize]
    }

    pub fn is_down(&self) -> bool {
        self.down.is_some()
    }

    /// The process ends. A machine that is off has lost its power, however its process ended before.
    pub fn crash(&mut self, power_lost: bool) {
        self.life += 1;
        self.paused_until = Micros::ZERO;
        self.down = Some(power_lost || self.down == Some(true));
    }

    /// Its clients' connections are reset; the process lives on.
    pub fn reset(&mut self) {
        self.life += 1;
    }

    /// The process starts; whether the power was lost, if it had ended.
    pub fn restart(&mut self) -> Option<bool> {
        self.down.take()
    }

    /// It handles nothing until then.
    pub fn pause(&mut self, until: Micros) {
        if !self.is_down() {
            self.paused_until = self.paused_until.max(until);
        }
    }

    pub fn cut(&mut self, direction: Direction, until: Micros) {
        let way = self.way_mut(direction);
        way.cut_until = way.cut_until.max(until);
    }

    pub fn slow(&mut self, direction: Direction, extra: Micros, until: Micros) {
        self.way_mut(direction).slow.push((until, extra));
    }

    pub fn lose_next(&mut self, direction: Direction, count: u16) {
        let way = self.way_mut(direction);
        way.lose_next = way.lose_next.saturating_add(count);
    }

    /// Whether this message is one of those that are lost.
    pub fn loses(&mut self, direction: Direction) -> bool {
        let way = self.way_mut(direction);
        let loses = way.lose_next > 0;
        way.lose_next = way.lose_next.saturating_sub(1);
        loses
    }

    /// From when on it does anything by itself; `None`: not before it starts again.
    pub fn runs_at(&self, now: Micros) -> Option<Micros> {
        (!self.is_down()).then_some(self.paused_until.max(now))
    }

    /// From when on messages get through, and the process runs.
    pub fn passes_at(&self, direction: Direction, now: Micros) -> Micros {
        self.carries_at(direction, now).max(self.paused_until)
    }

    /// From when on messages get through: those of a process that was paused since, too.
    pub fn carries_at(&self, direction: Direction, now: Micros) -> Micros {
        now.max(self.way(direction).cut_until)
    }

    /// How much longer than usual a message takes.
    pub fn extra(&self, direction: Direction, now: Micros) -> Micros {
        let slow = self.way(direction).slow.iter().filter(|(until, _)| now < *until);
        slow.fold(Micros::ZERO, |sum, (_, extra)| sum + *extra)
    }

    /// Nothing is wrong any more with how it runs and what gets to it; whether it is down stays.
    pub fn heal(&mut self) {
        self.paused_until = Micros::ZERO;
        self.ways = Default::default();
    }
}
