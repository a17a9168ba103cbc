//! A single server, where every request is one step, against a plain reference.

use super::cluster::Cluster;
use super::*;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use std::collections::BTreeMap;

/// The reference: what is written, and the last millisecond of its life. Nothing is ever cleaned up, but a clock that
/// steps back must not revive what the server has already let go, so what is seen dead is dropped.
#[derive(Default)]
struct Plain {
    now_ms: i64,
    keys: BTreeMap<Key, (Value, Option<i64>)>,
}

impl Plain {
    fn drop_dead(&mut self) {
        let now_ms = self.now_ms;
        self.keys.retain(|_, (_, last_ms)| last_ms.is_none_or(|last_ms| now_ms <= last_ms));
    }

    fn value(&self, key: Key) -> Option<Value> {
        self.keys.get(&key).map(|(value, _)| *value)
    }

    fn write(&mut self, key: Key, value: Value, ttl: Option<Millis>) {
        self.keys.insert(key, (value, ttl.map(|ttl| self.now_ms + ttl.0)));
    }

    fn pexpire(&mut self, key: Key, ttl: Millis) -> Outcome {
        match self.value(key) {
            None => return Outcome::Integer(0),
            Some(_) if ttl.0 <= 0 => drop(self.keys.remove(&key)),
            Some(value) => self.write(key, value, Some(ttl)),
        }
        Outcome::Integer(1)
    }

    fn incr(&mut self, key: Key) -> Outcome {
        let (value, last_ms) = self.keys.get(&key).copied().unwrap_or((Value::Integer(0), None));
        match value {
            Value::Integer(number) => {
                self.keys.insert(key, (Value::Integer(number + 1), last_ms));
                Outcome::Integer(number + 1)
            }
            Value::Token(_) => Outcome::Error(ServerError::NotAnInteger),
        }
    }

    /// Scripts are written as their Lua, command by command.
    fn run(&mut self, command: Command) -> Outcome {
        match command {
            Command::Set { ttl: Some(ttl), .. } if ttl.0 <= 0 => Outcome::Error(ServerError::NotAnInteger),
            Command::Set { key, if_absent: true, .. } if self.keys.contains_key(&key) => Outcome::Nil,
            Command::Set { key, value, ttl, .. } => {
                self.write(key, value, ttl);
                Outcome::Ok
            }
            Command::Get(key) => self.value(key).map_or(Outcome::Nil, Outcome::Bulk),
            Command::Del(key) => Outcome::Integer(self.keys.remove(&key).is_some().into()),
            Command::PExpire(key, ttl) => self.pexpire(key, ttl),
            Command::Incr(key) => self.incr(key),
            Command::FlushAll => {
                self.keys.clear();
                Outcome::Ok
            }
            Command::CompareAndDelete { key, value } => {
                if self.run(Command::Get(key)) == Outcome::Bulk(value) {
                    self.run(Command::Del(key))
                } else {
                    Outcome::Integer(0)
                }
            }
            Command::CompareAndExtend { key, value, ttl } => {
                if self.run(Command::Get(key)) == Outcome::Bulk(value) {
                    self.run(Command::PExpire(key, ttl))
                } else {
                    Outcome::Integer(0)
                }
            }
            Command::ExtendOrCreate { key, value, ttl } => {
                if !self.keys.contains_key(&key) || self.run(Command::Get(key)) == Outcome::Bulk(value) {
                    self.run(Command::Set { key, value, if_absent: false, ttl: Some(ttl) })
                } else {
                    Outcome::Nil
                }
            }
            Command::SetAndIncr { key, value, ttl, counter } => {
                match self.run(Command::Set { key, value, if_absent: true, ttl }) {
                    Outcome::Ok => self.run(Command::Incr(counter)),
                    refused => refused,
                }
            }
            Command::Decr(_)
            | Command::ZAdd { .. }
            | Command::ZRem(..)
            | Command::ZRank(..)
            | Command::ZRemUpTo(..)
            | Command::ZInterStore { .. }
            | Command::Script(_) => unreachable!("{command} is not drawn here"),
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Run {
        client: u8,
        command: Command,
    },
    Pass {
        micros: i64,
    },
    /// The wall clock is set.
    Jump {
        micros: i64,
    },
    /// The wall clock stands still while true time passes.
    Freeze {
        micros: i64,
    },
}

pub fn any_command() -> impl Strategy<Value = Command> {
    let key = || prop_oneof![3 => Just(LOCK), 2 => Just(COUNTER), 1 => Just(FOREIGN)];
    let value = || {
        prop_oneof![
            4 => (0..2u8, 1..3u32).prop_map(|(client, serial)| token(client, serial)),
            1 => (-1..2i64).prop_map(Value::Integer),
        ]
    };
    let ttl = || (-1..6i64).prop_map(Millis);
    prop_oneof![
        (key(), value(), any::<bool>(), prop::option::of(ttl()))
            .prop_map(|(key, value, if_absent, ttl)| Command::Set { key, value, if_absent, ttl }),
        key().prop_map(Command::Get),
        key().prop_map(Command::Del),
        (key(), ttl()).prop_map(|(key, ttl)| Command::PExpire(key, ttl)),
        key().prop_map(Command::Incr),
        Just(Command::FlushAll),
        (key(), value()).prop_map(|(key, value)| Command::CompareAndDelete { key, value }),
        (key(), value(), ttl()).prop_map(|(key, value, ttl)| Command::CompareAndExtend { key, value, ttl }),
        (key(), value(), ttl()).prop_map(|(key, value, ttl)| Command::ExtendOrCreate { key, value, ttl }),
        (key(), value(), prop::option::of(ttl()), key())
            .prop_map(|(key, value, ttl, counter)| Command::SetAndIncr { key, value, ttl, counter }),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0..2u8, any_command()).prop_map(|(client, command)| Step::Run { client, command }),
        2 => (1..3_000i64).prop_map(|micros| Step::Pass { micros }),
        1 => (-5_000..5_000i64).prop_map(|micros| Step::Jump { micros }),
        1 => (1..3_000i64).prop_map(|micros| Step::Freeze { micros }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "src/stores/redis/tests/one_server.proptest-regressions",
        ))),
        ..ProptestConfig::default()
    })]

    /// Both see the clock only when asked; whether the server is woken in between is chance.
    #[test]
    fn one_server_replies_as_a_plain_map_with_millisecond_expiry_would(
        steps in prop::collection::vec((any_step(), any::<bool>()), 1..40),
    ) {
        let mut cluster = Cluster::single(|_| {});
        let mut plain = Plain::default();
        for (step, wakes) in steps {
            match step {
                Step::Run { client, command } => {
                    // The entry takes a microsecond.
                    let wall_micros = cluster.now.0 + 1 + cluster.ahead[0].0;
                    plain.now_ms = wall_micros.div_euclid(1_000);
                    plain.drop_dead();
                    prop_assert_eq!(cluster.ask(0, client, command.clone()), plain.run(command.clone()), "{}", command);
                }
                Step::Pass { micros } => cluster.pass(Micros(micros)),
                Step::Jump { micros } => cluster.ahead[0] = cluster.ahead[0] + Micros(micros),
                Step::Freeze { micros } => {
                    cluster.pass(Micros(micros));
                    cluster.ahead[0] = cluster.ahead[0] - Micros(micros);
                }
            }
            if wakes && cluster.is_due(0) {
                plain.now_ms = (cluster.now.0 + 1 + cluster.ahead[0].0).div_euclid(1_000);
                plain.drop_dead();
                cluster.run_deadlines();
            }
        }
    }
}

#[test]
fn a_script_that_fails_half_way_keeps_what_it_has_done() {
    let mut cluster = Cluster::single(|_| {});
    cluster.run(set(COUNTER, token(5, 5)));
    let both = Command::SetAndIncr { key: LOCK, value: token(0, 1), ttl: None, counter: COUNTER };
    assert_eq!(cluster.run(both), Outcome::Error(ServerError::NotAnInteger));
    assert_eq!(cluster.lock(0), Some(token(0, 1)));
}

#[test]
fn a_counter_does_not_overflow() {
    let mut cluster = Cluster::single(|_| {});
    cluster.run(set(COUNTER, Value::Integer(i64::MAX)));
    assert_eq!(cluster.run(Command::Incr(COUNTER)), Outcome::Error(ServerError::NotAnInteger));
    assert_eq!(cluster.run(Command::Get(COUNTER)), Outcome::Bulk(Value::Integer(i64::MAX)));
}

#[test]
fn a_small_state_is_a_few_dozen_bytes_and_survives_packing() {
    let mut cluster = Cluster::single(|_| {});
    let empty = postcard::to_stdvec(&cluster.servers[0]).expect("serialisable").len();
    cluster.run(take(0, 2_000));
    cluster.run(Command::Incr(COUNTER));
    let bytes = postcard::to_stdvec(&cluster.servers[0]).expect("serialisable");
    assert!(size_of::<Redis>() <= 200, "{} bytes in memory", size_of::<Redis>());
    assert!(empty <= 6 && bytes.len() <= 24, "{empty} bytes empty, {} with two keys", bytes.len());
    assert_eq!(postcard::from_bytes::<Redis>(&bytes).expect("the same"), cluster.servers[0]);
}
