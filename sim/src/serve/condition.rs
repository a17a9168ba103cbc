//! What is wrong with one server, as its clients see it.

use picklock_model::time::Micros;
use std::collections::BTreeMap;

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
    /// Counts the ends of its process and of all its connections: those of an earlier life are reset.
    life: u64,
    /// The process has ended; whether by loss of power.
    down: Option<bool>,
    paused_until: Micros,
    /// Clients' messages and the answers to them: one way each.
    ways: [Way; 2],
    /// What is wrong besides with the ways to and from one client of a trial.
    of_clients: BTreeMap<u8, OfClient>,
}

/// What is wrong with the ways to and from one client of a trial.
#[derive(Clone, Debug, Default)]
struct OfClient {
    /// Counts the ends of its connections alone.
    resets: u64,
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
    /// What a message of this client has to do with, that of all clients first. Nobody is who is no client of a trial.
    fn ways(&self, client: Option<u8>, direction: Direction) -> impl Iterator<Item = &Way> {
        let own = client.and_then(|client| self.of_clients.get(&client));
        let own = own.map(|own| &own.ways[direction as usize]);
        std::iter::once(&self.ways[direction as usize]).chain(own)
    }

    /// That of this client alone; of all of them, if none is named.
    fn way_mut(&mut self, client: Option<u8>, direction: Direction) -> &mut Way {
        let ways = match client {
            None => &mut self.ways,
            Some(client) => &mut self.of_clients.entry(client).or_default().ways,
        };
        &mut ways[direction as usize]
    }

    /// The life that a connection of this client belongs to.
    pub fn life_of(&self, client: Option<u8>) -> u64 {
        let own = client.and_then(|client| self.of_clients.get(&client));
        self.life + own.map_or(0, |own| own.resets)
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

    /// Connections of this client, or of all, are reset; the process lives on.
    pub fn reset(&mut self, client: Option<u8>) {
        match client {
            None => self.life += 1,
            Some(client) => self.of_clients.entry(client).or_default().resets += 1,
        }
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

    pub fn cut(&mut self, client: Option<u8>, direction: Direction, until: Micros) {
        let way = self.way_mut(client, direction);
        way.cut_until = way.cut_until.max(until);
    }

    pub fn slow(&mut self, client: Option<u8>, direction: Direction, extra: Micros, until: Micros) {
        self.way_mut(client, direction).slow.push((until, extra));
    }

    pub fn lose_next(&mut self, client: Option<u8>, direction: Direction, count: u16) {
        let way = self.way_mut(client, direction);
        way.lose_next = way.lose_next.saturating_add(count);
    }

    /// Whether this message is one of those that are lost.
    pub fn loses(&mut self, client: Option<u8>, direction: Direction) -> bool {
        let own = client.filter(|client| self.of_clients.contains_key(client));
        let mut loses = false;
        for client in [None, own] {
            let way = self.way_mut(client, direction);
            if !loses && way.lose_next > 0 {
                way.lose_next -= 1;
                loses = true;
            }
        }
        loses
    }

    /// From when on it does anything by itself; `None`: not before it starts again.
    pub fn runs_at(&self, now: Micros) -> Option<Micros> {
        (!self.is_down()).then_some(self.paused_until.max(now))
    }

    /// From when on messages get through, and the process runs.
    pub fn passes_at(&self, client: Option<u8>, direction: Direction, now: Micros) -> Micros {
        self.carries_at(client, direction, now).max(self.paused_until)
    }

    /// From when on messages get through: those of a process that was paused since, too.
    pub fn carries_at(&self, client: Option<u8>, direction: Direction, now: Micros) -> Micros {
        self.ways(client, direction).fold(now, |at, way| at.max(way.cut_until))
    }

    /// How much longer than usual a message takes.
    pub fn extra(&self, client: Option<u8>, direction: Direction, now: Micros) -> Micros {
        let slow = self.ways(client, direction).flat_map(|way| &way.slow).filter(|(until, _)| now < *until);
        slow.fold(Micros::ZERO, |sum, (_, extra)| sum + *extra)
    }

    /// Nothing is wrong any more with how it runs and what gets to it; whether it is down stays.
    pub fn heal(&mut self) {
        self.paused_until = Micros::ZERO;
        self.ways = Default::default();
        self.of_clients.values_mut().for_each(|own| own.ways = Default::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Micros = Micros(5);
    const LATER: Micros = Micros(1_000);

    #[test]
    fn what_is_wrong_for_one_client_is_so_for_nobody_else() {
        let mut condition = Condition::default();
        condition.cut(Some(0), Direction::Request, LATER);
        condition.slow(Some(0), Direction::Request, Micros(7), LATER);
        condition.lose_next(Some(0), Direction::Reply, 1);
        condition.reset(Some(0));
        for (client, carries_at, extra, loses, life) in
            [(Some(0), LATER, Micros(7), true, 1), (Some(1), NOW, Micros::ZERO, false, 0)]
        {
            assert_eq!(condition.carries_at(client, Direction::Request, NOW), carries_at);
            assert_eq!(condition.extra(client, Direction::Request, NOW), extra);
            assert_eq!(condition.loses(client, Direction::Reply), loses);
            assert_eq!(condition.life_of(client), life);
        }
        assert!(!condition.loses(Some(0), Direction::Reply), "one was to be lost");
        condition.heal();
        assert_eq!(condition.carries_at(Some(0), Direction::Request, NOW), NOW);
        assert_eq!(condition.life_of(Some(0)), 1, "what is reset stays so");
    }

    #[test]
    fn what_is_wrong_for_all_is_so_for_each() {
        let mut condition = Condition::default();
        condition.cut(None, Direction::Reply, LATER);
        condition.lose_next(None, Direction::Reply, 1);
        condition.lose_next(Some(0), Direction::Reply, 1);
        condition.reset(None);
        assert_eq!(condition.carries_at(Some(0), Direction::Reply, NOW), LATER);
        assert_eq!(condition.carries_at(None, Direction::Reply, NOW), LATER);
        let lost = (0..3).filter(|_| condition.loses(Some(0), Direction::Reply)).count();
        assert_eq!(lost, 2, "each of the two takes a message of its own");
        assert_eq!((condition.life_of(Some(0)), condition.life_of(None)), (1, 1));
    }
}
