//! Simulated servers that are shown the clock of the real one.

use super::real::Seen;
use picklock_model::machine::{Context, Effects, Message, Node, Store};
use picklock_model::stores::redis::{Command, Key, Outcome, Redis, Request, ServerError, Settings};
use picklock_model::time::{Due, Monotonic, Wall};
use std::collections::BTreeSet;

/// One simulated server; or a master and its replica, which is given everything at once.
pub struct Simulated {
    servers: Vec<Redis>,
    pub settings: Settings,
    effects: Effects<Redis>,
    /// Keys that were found dead, and not written since.
    died: BTreeSet<String>,
}

impl Simulated {
    pub fn new(servers: u8, settings: Settings) -> Simulated {
        let servers = (0..servers).map(|me| Redis::new(me, servers, &settings)).collect();
        Simulated { servers, settings, effects: Effects::default(), died: BTreeSet::new() }
    }

    fn enter(
        &mut self,
        server: u8,
        wall: Wall,
        entry: impl FnOnce(&mut Redis, &Context<Settings>, &mut Effects<Redis>),
    ) {
        let cx = Context {
            me: server,
            servers: self.servers.len() as u8,
            wall,
            monotonic: Monotonic(0),
            choice: 0,
            settings: &self.settings,
        };
        self.effects.clear();
        entry(&mut self.servers[usize::from(server)], &cx, &mut self.effects);
    }

    pub fn run(&mut self, server: u8, command: Command, wall: Wall) -> Seen {
        let request = Request { serial: 1, command, wait: false };
        self.enter(server, wall, |machine, cx, effects| machine.on_request(0, request, cx, effects));
        let mut seen = None;
        for (to, message) in std::mem::take(&mut self.effects.sends) {
            match (to, message) {
                (Node::Client(_), Message::Reply(reply)) => seen = Some(seen_in_simulation(reply.outcome)),
                (Node::Server(to), Message::Peer(peer)) => {
                    self.enter(to, wall, |machine, cx, effects| machine.on_peer(server, peer, cx, effects));
                }
                other => panic!("nobody there for {other:?}"),
            }
        }
        seen.expect("one reply")
    }

    /// Lets what has expired go; returns whether the command is about a key that has.
    pub fn expire(&mut self, command: &Command, wall: Wall) -> bool {
        let names = |server: &Redis| -> BTreeSet<String> {
            let name = |line: String| line.split(' ').next().unwrap_or_default().to_owned();
            server.contents().into_iter().map(name).collect()
        };
        let before = names(&self.servers[0]);
        let due = self.servers[0].other_deadline(&self.settings);
        if due.is_some_and(|due| due <= Due::Wall(wall)) {
            self.enter(0, wall, |machine, cx, effects| machine.on_deadline(cx, effects));
        }
        let after = names(&self.servers[0]);
        self.died.extend(before.difference(&after).cloned());
        self.died.retain(|name| !after.contains(name));
        let key = key_of(command).to_string();
        self.died.contains(&key)
    }
}

fn key_of(command: &Command) -> Key {
    match *command {
        Command::Set { key, .. }
        | Command::Get(key)
        | Command::Del(key)
        | Command::PExpire(key, _)
        | Command::Incr(key)
        | Command::CompareAndDelete { key, .. }
        | Command::CompareAndExtend { key, .. }
        | Command::ExtendOrCreate { key, .. }
        | Command::SetAndIncr { key, .. }
        | Command::Decr(key)
        | Command::ZAdd { key, .. }
        | Command::ZRem(key, _)
        | Command::ZRank(key, _)
        | Command::ZRemUpTo(key, _)
        | Command::ZInterStore { key, .. } => key,
        Command::FlushAll | Command::Script(_) => super::LOCK,
    }
}

fn seen_in_simulation(outcome: Outcome) -> Seen {
    match outcome {
        Outcome::Ok => Seen::Ok,
        Outcome::Nil => Seen::Nil,
        Outcome::Bulk(value) => Seen::Bulk(value.to_string()),
        Outcome::Integer(number) => Seen::Integer(number),
        Outcome::Error(ServerError::ReadOnly) => Seen::ReadOnly,
        Outcome::Error(ServerError::OutOfMemory) => Seen::OutOfMemory,
        Outcome::Error(ServerError::NotAnInteger) => Seen::Invalid,
        Outcome::Error(ServerError::WrongType) => Seen::WrongType,
    }
}
