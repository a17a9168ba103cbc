//! The simulated Redis server against the real one.
//!
//! Short random sequences of every command and script that a lock can send run on a real `redis-server` and on a
//! simulated one; the replies must be the same.
//!
//! **Expiry.** Each command travels between two `TIME`s in one pipeline. If both show the same millisecond, the server
//! has run the command in it, for it runs one command after another; a simulated server whose clock shows that
//! millisecond must then reply the same, whatever the key's time to live. If they differ, what the server saw is not
//! known, and the rest of the sequence is not judged. Nothing here depends on how long anything takes; only how many
//! sequences can be judged to their end does.
//!
//! - `real`: the real server, started for a test and stopped after it
//! - `simulated`: the simulated one, entered at the moments that the real one showed
//! - here: random sequences; one key watched through its death; a full memory; a replica

mod real;
mod simulated;

use picklock_model::locks::redis_keys::{counter_key, lock_key};
use picklock_model::names::Word;
use picklock_model::stores::redis::{
    Check, Command, Key, Layout, Line, Millis, Score, Settings, Token, Value,
};
use picklock_model::time::{EPOCH_UNIX_MICROS, Micros, Wall};
use picklock_properties::LockId;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use real::{Observed, Real, Seen};
use simulated::Simulated;
use std::time::Duration;

const LOCK: Key = lock_key(LockId(0));
const COUNTER: Key = counter_key(LockId(0));
/// The largest number up to which doubles tell all whole numbers apart.
const DOUBLES: u64 = 1 << 53;
const OTHER: Key = Key { word: Word(2), number: 1 };

/// Commands of three clients on three keys; a third of the times to live are `short` milliseconds or not positive.
fn any_command(short: std::ops::Range<i64>) -> impl Strategy<Value = Command> {
    let key = || prop_oneof![4 => Just(LOCK), 2 => Just(COUNTER), 1 => Just(OTHER)];
    let value = any_value;
    let ttl = move || prop_oneof![6 => short.clone(), 2 => Just(60_000), 1 => -1..1i64].prop_map(Millis);
    prop_oneof![
        4 => (key(), value(), any::<bool>(), prop::option::of(ttl()))
            .prop_map(|(key, value, if_absent, ttl)| Command::Set { key, value, if_absent, ttl }),
        2 => key().prop_map(Command::Get),
        1 => key().prop_map(Command::Del),
        2 => (key(), ttl()).prop_map(|(key, ttl)| Command::PExpire(key, ttl)),
        2 => key().prop_map(Command::Incr),
        1 => Just(Command::FlushAll),
        2 => (key(), value()).prop_map(|(key, value)| Command::CompareAndDelete { key, value }),
        2 => (key(), value(), ttl())
            .prop_map(|(key, value, ttl)| Command::CompareAndExtend { key, value, ttl }),
        2 => (key(), value(), ttl())
            .prop_map(|(key, value, ttl)| Command::ExtendOrCreate { key, value, ttl }),
        2 => (key(), value(), prop::option::of(ttl()), key())
            .prop_map(|(key, value, ttl, counter)| Command::SetAndIncr { key, value, ttl, counter }),
        6 => any_of_sets(key),
        3 => prop::collection::vec(any_line(key, ttl), 1..=4).prop_map(|lines| Command::Script(lines.into())),
    ]
}

/// Of three clients, and numbers.
fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        5 => (0..3u8, 1..3u32).prop_map(|(client, serial)| Value::Token(Token { client, serial })),
        1 => (-1..2i64).prop_map(Value::Integer),
        1 => Just(Value::Integer(i64::MAX)),
    ]
}

/// Commands on sorted sets, and on counters.
fn any_of_sets<K: Strategy<Value = Key>>(key: impl Fn() -> K) -> impl Strategy<Value = Command> {
    let member = || (0..3u8, 1..3u32).prop_map(|(client, serial)| Token { client, serial });
    let score = || prop_oneof![3 => (-1..4i64).prop_map(Score::Count), 1 => (0..3i64).prop_map(|at| Score::At(Wall(at)))];
    prop_oneof![
        1 => key().prop_map(Command::Decr),
        4 => (key(), score(), member()).prop_map(|(key, score, member)| Command::ZAdd { key, score, member }),
        2 => (key(), member()).prop_map(|(key, member)| Command::ZRem(key, member)),
        2 => (key(), member()).prop_map(|(key, member)| Command::ZRank(key, member)),
        2 => (key(), score()).prop_map(|(key, upto)| Command::ZRemUpTo(key, upto)),
        2 => (key(), key()).prop_map(|(key, other)| Command::ZInterStore { key, other }),
    ]
}

/// What scripts are made of.
fn any_line<K: Strategy<Value = Key> + 'static, T: Strategy<Value = Millis> + 'static>(
    key: impl Fn() -> K + Copy,
    ttl: impl Fn() -> T,
) -> impl Strategy<Value = Line> {
    let call = prop_oneof![
        4 => any_of_sets(key),
        1 => key().prop_map(Command::Get),
        1 => key().prop_map(Command::Del),
        1 => (key(), ttl()).prop_map(|(key, ttl)| Command::PExpire(key, ttl)),
        1 => key().prop_map(Command::Incr),
        2 => (key(), any_value())
            .prop_map(|(key, value)| Command::Set { key, value, if_absent: false, ttl: None }),
    ];
    let check = prop_oneof![
        key().prop_map(Check::Absent),
        (key(), any_value()).prop_map(|(key, value)| Check::Holds(key, value)),
        key().prop_map(Check::Positive),
        key().prop_map(Check::NotPositive),
        (key(), 0..4u32).prop_map(|(key, count)| Check::Fewer(key, count)),
    ];
    prop_oneof![3 => call.prop_map(Line::Call), 1 => check.prop_map(Line::Require)]
}

/// The same sequences in every run.
fn sequences(count: usize, short: std::ops::Range<i64>) -> impl Iterator<Item = Vec<Command>> {
    let mut runner = TestRunner::deterministic();
    let strategy = prop::collection::vec(any_command(short), 4..=8);
    (0..count).map(move |_| strategy.new_tree(&mut runner).expect("nothing is filtered out").current())
}

#[derive(Default, Debug)]
struct Tally {
    judged: u32,
    unknown: u32,
    /// Judged, and about a key that had expired.
    expired: u32,
}

/// Compares one reply after the other, as long as it is known when the real server gave them.
fn judge(simulated: &mut Simulated, commands: &[Command], observed: &[Observed], tally: &mut Tally) -> bool {
    for (command, observed) in commands.iter().zip(observed) {
        let Some(wall) = observed.moment() else {
            tally.unknown += 1;
            return false;
        };
        tally.expired += u32::from(simulated.expire(command, wall));
        tally.judged += 1;
        let seen = simulated.run(0, command.clone(), wall);
        if matches!((command, &seen), (Command::Script(_), Seen::Integer(number)) if number.unsigned_abs() > DOUBLES)
        {
            // Lua has seen it, too, and has rounded it.
            continue;
        }
        assert_eq!(seen, observed.seen, "{command} in {commands:?}, observed {observed:?}");
    }
    true
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn random_sequences_of_all_commands_get_the_replies_of_the_real_server() {
    let Some(mut real) = Real::start() else { return };
    let mut tally = Tally::default();
    // Without waiting: times to live end only by chance, or at once.
    for commands in sequences(10_000, 1..100) {
        real.order(&["FLUSHALL"]);
        let observed = real.run(&commands);
        judge(&mut Simulated::new(1, Settings::default()), &commands, &observed, &mut tally);
    }
    assert!(tally.judged > 40_000, "{tally:?}");
    // With a few milliseconds in between, in which keys die.
    let mut tally = Tally::default();
    for (number, mut commands) in sequences(600, 1..8).enumerate() {
        let value = Value::Token(Token { client: 0, serial: 1 });
        let ttl = Some(Millis(1 + number as i64 % 3));
        commands.insert(0, Command::Set { key: LOCK, value, if_absent: false, ttl });
        real.order(&["FLUSHALL"]);
        let mut simulated = Simulated::new(1, Settings::default());
        for (position, part) in commands.chunks(2).enumerate() {
            let observed = real.run(part);
            if !judge(&mut simulated, part, &observed, &mut tally) {
                break;
            }
            std::thread::sleep(Duration::from_millis((1 + (number + position) % 4) as u64));
        }
    }
    println!("with waiting: {tally:?}");
    assert!(tally.judged > 1_500 && tally.expired > 150, "{tally:?}");
}

#[test]
fn a_key_lives_through_the_millisecond_of_its_death_on_the_real_server_too() {
    let Some(mut real) = Real::start() else { return };
    let take = Command::Set {
        key: LOCK,
        value: Value::Token(Token { client: 0, serial: 1 }),
        if_absent: false,
        ttl: Some(Millis(3)),
    };
    let commands: Vec<Command> = std::iter::once(take.clone()).chain(vec![Command::Get(LOCK); 40]).collect();
    let watch = vec![Command::Get(LOCK); 20];
    let (mut last_milliseconds, mut first_dead) = (0, 0);
    for _ in 0..150 {
        let mut simulated = Simulated::new(1, Settings::default());
        let observed = real.run(&commands);
        let Some(set_at) = observed[0].moment() else { continue };
        simulated.run(0, take.clone(), set_at);
        let last_ms = set_at.0.div_euclid(1_000) + 3;
        loop {
            let observed = real.run(&watch);
            for observed in &observed {
                let Some(wall) = observed.moment() else { continue };
                let now_ms = wall.0.div_euclid(1_000);
                last_milliseconds += u32::from(now_ms == last_ms);
                first_dead += u32::from(now_ms == last_ms + 1);
                assert_eq!(simulated.run(0, Command::Get(LOCK), wall), observed.seen, "{observed:?}");
            }
            if observed[19].before - EPOCH_UNIX_MICROS > (last_ms + 2) * 1_000 {
                break;
            }
        }
    }
    println!("{last_milliseconds} in the last millisecond, {first_dead} in the one after");
    assert!(last_milliseconds > 100 && first_dead > 100);
}

#[test]
fn a_full_memory_turns_down_what_the_real_server_turns_down() {
    let Some(mut real) = Real::start() else { return };
    let mut tally = Tally::default();
    for commands in sequences(500, 60_000..70_000) {
        let (prelude, rest) = commands.split_at(commands.len() / 2);
        real.order(&["CONFIG", "SET", "maxmemory", "0"]);
        real.order(&["FLUSHALL"]);
        let mut simulated = Simulated::new(1, Settings::default());
        let observed = real.run(prelude);
        if !judge(&mut simulated, prelude, &observed, &mut tally) {
            continue;
        }
        // Whatever the server holds is more than one byte.
        real.order(&["CONFIG", "SET", "maxmemory", "1"]);
        simulated.settings.keys_max = Some(0);
        let observed = real.run(rest);
        judge(&mut simulated, rest, &observed, &mut tally);
    }
    assert!(tally.judged > 2_000, "{tally:?}");
}

#[test]
fn a_replica_turns_down_what_the_real_server_turns_down() {
    let Some(mut real) = Real::start() else { return };
    let long = Micros::seconds(3600);
    let layout = Layout::Replicated { ping_period: long, down_after: long };
    let mut judged = 0;
    for commands in sequences(500, 60_000..70_000) {
        let (prelude, rest) = commands.split_at(commands.len() / 2);
        real.order(&["REPLICAOF", "NO", "ONE"]);
        real.order(&["FLUSHALL"]);
        let mut simulated = Simulated::new(2, Settings { layout, ..Settings::default() });
        let observed = real.run(prelude);
        if observed.iter().any(|observed| observed.moment().is_none()) {
            continue;
        }
        for (command, observed) in prelude.iter().zip(&observed) {
            let wall = observed.moment().expect("asked above");
            assert_eq!(simulated.run(0, command.clone(), wall), observed.seen, "{command}");
        }
        // Nobody listens there: the server keeps what it has, as a replica whose master is away.
        real.order(&["REPLICAOF", "127.0.0.1", "1"]);
        for (command, observed) in rest.iter().zip(real.run(rest)) {
            let wall = Wall(observed.before - EPOCH_UNIX_MICROS);
            judged += 1;
            assert_eq!(simulated.run(1, command.clone(), wall), observed.seen, "{command} in {commands:?}");
        }
    }
    assert!(judged > 1_000, "{judged}");
}
