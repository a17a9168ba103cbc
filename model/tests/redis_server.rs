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
//! - `Real`: the real server, started for a test and stopped after it
//! - `Simulated`: the simulated one, entered at the moments that the real one showed
//! - random sequences; one key watched through its death; a full memory; a replica

use picklock_model::machine::{Context, Effects, Message, Node, Store};
use picklock_model::stores::redis::{
    Command, Key, Layout, Millis, Outcome, Redis, Request, ServerError, Settings, Token, Value,
};
use picklock_model::time::{Due, EPOCH_UNIX_MICROS, Micros, Monotonic, Wall};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A server of our own on a free port of this machine, without persistence.
struct Real {
    process: Child,
    connection: redis::Connection,
}

impl Drop for Real {
    fn drop(&mut self) {
        // It may have ended by itself; either way there is nothing to keep.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Real {
    /// `None`, and a word about it, where there is no `redis-server`.
    fn start() -> Option<Real> {
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|socket| socket.local_addr())
            .expect("a free port")
            .port();
        let spawned = std::process::Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .current_dir(std::env::temp_dir())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let mut process = match spawned {
            Ok(process) => process,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                println!("skipped: no redis-server here; to install it: apt-get install redis-server");
                return None;
            }
            Err(error) => panic!("redis-server does not start: {error}"),
        };
        let client = redis::Client::open(format!("redis://127.0.0.1:{port}/")).expect("an address");
        for _ in 0..500 {
            if let Ok(connection) = client.get_connection() {
                return Some(Real { process, connection });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = process.kill();
        panic!("redis-server does not answer on port {port}");
    }

    /// Runs the commands in one go, each between two readings of the server's clock.
    fn run(&mut self, commands: &[Command]) -> Vec<Observed> {
        let mut pipe = redis::pipe();
        for command in commands {
            pipe.cmd("TIME").add_command(command_of(*command)).cmd("TIME");
        }
        let replies: Vec<redis::RedisResult<redis::Value>> =
            pipe.ignore_errors().query(&mut self.connection).expect("the server replies");
        replies
            .chunks_exact(3)
            .map(|reply| Observed {
                before: micros_of(&reply[0]),
                seen: seen_on_the_wire(&reply[1]),
                after: micros_of(&reply[2]),
            })
            .collect()
    }

    /// A command of which only success matters.
    fn order(&mut self, words: &[&str]) {
        let mut command = redis::cmd(words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(*word);
        });
        command.exec(&mut self.connection).expect("the server obeys");
    }
}

/// What a command on the real server showed.
#[derive(Debug)]
struct Observed {
    /// The server's clock, in microseconds since 1970.
    before: i64,
    seen: Seen,
    after: i64,
}

impl Observed {
    /// When the command ran, if to the millisecond that is known.
    fn moment(&self) -> Option<Wall> {
        (self.before / 1_000 == self.after / 1_000).then_some(Wall(self.before - EPOCH_UNIX_MICROS))
    }
}

/// A reply, in a form that both servers can be brought to.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Seen {
    Ok,
    Nil,
    Bulk(String),
    Integer(i64),
    ReadOnly,
    OutOfMemory,
    /// Any other error.
    Invalid,
}

fn seen_on_the_wire(reply: &redis::RedisResult<redis::Value>) -> Seen {
    match reply {
        Ok(redis::Value::Okay) => Seen::Ok,
        Ok(redis::Value::Nil) => Seen::Nil,
        Ok(redis::Value::BulkString(bytes)) => Seen::Bulk(String::from_utf8_lossy(bytes).into_owned()),
        Ok(redis::Value::Int(number)) => Seen::Integer(*number),
        Ok(other) => panic!("no command here replies {other:?}"),
        Err(error) => match error.code() {
            Some("READONLY") => Seen::ReadOnly,
            Some("OOM") => Seen::OutOfMemory,
            Some("ERR") | None => Seen::Invalid,
            Some(other) => panic!("no command here fails with {other}: {error}"),
        },
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
    }
}

fn micros_of(reply: &redis::RedisResult<redis::Value>) -> i64 {
    let Ok(redis::Value::Array(parts)) = reply else { panic!("no time: {reply:?}") };
    let part = |index: usize| match &parts[index] {
        redis::Value::BulkString(digits) => {
            String::from_utf8_lossy(digits).parse::<i64>().expect("a decimal number")
        }
        other => panic!("no number: {other:?}"),
    };
    part(0) * 1_000_000 + part(1)
}

/// The command as the real server takes it; scripts in the words of their sources.
fn command_of(command: Command) -> redis::Cmd {
    let script = |text: &str, keys: &[Key], arguments: &[String]| {
        let mut eval = redis::cmd("EVAL");
        eval.arg(text).arg(keys.len());
        keys.iter().for_each(|key| {
            eval.arg(key.to_string());
        });
        arguments.iter().for_each(|argument| {
            eval.arg(argument);
        });
        eval
    };
    let words = |words: &[String]| {
        let mut command = redis::cmd(&words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(word);
        });
        command
    };
    match command {
        Command::Set { key, value, if_absent, ttl } => {
            let mut command = redis::cmd("SET");
            command.arg(key.to_string()).arg(value.to_string());
            if if_absent {
                command.arg("NX");
            }
            if let Some(Millis(ttl)) = ttl {
                command.arg("PX").arg(ttl);
            }
            command
        }
        Command::Get(key) => words(&["GET".to_owned(), key.to_string()]),
        Command::Del(key) => words(&["DEL".to_owned(), key.to_string()]),
        Command::PExpire(key, ttl) => words(&["PEXPIRE".to_owned(), key.to_string(), ttl.to_string()]),
        Command::Incr(key) => words(&["INCR".to_owned(), key.to_string()]),
        Command::FlushAll => redis::cmd("FLUSHALL"),
        Command::CompareAndDelete { key, value } => script(
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
            &[key],
            &[value.to_string()],
        ),
        Command::CompareAndExtend { key, value, ttl } => script(
            "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) \
             else return 0 end",
            &[key],
            &[value.to_string(), ttl.to_string()],
        ),
        Command::ExtendOrCreate { key, value, ttl } => script(
            "if redis.call('exists', KEYS[1]) == 0 or redis.call('get', KEYS[1]) == ARGV[1] \
             then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) end",
            &[key],
            &[value.to_string(), ttl.to_string()],
        ),
        Command::SetAndIncr { key, value, ttl: None, counter } => script(
            "if redis.call('set', KEYS[1], ARGV[1], 'NX') then return redis.call('incr', KEYS[2]) \
             else return false end",
            &[key, counter],
            &[value.to_string()],
        ),
        Command::SetAndIncr { key, value, ttl: Some(ttl), counter } => script(
            "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('incr', KEYS[2]) \
             else return false end",
            &[key, counter],
            &[value.to_string(), ttl.to_string()],
        ),
    }
}

/// One simulated server; or a master and its replica, which is given everything at once.
struct Simulated {
    servers: Vec<Redis>,
    settings: Settings,
    effects: Effects<Redis>,
    /// Keys that were found dead, and not written since.
    died: BTreeSet<String>,
}

impl Simulated {
    fn new(servers: u8, settings: Settings) -> Simulated {
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

    fn run(&mut self, server: u8, command: Command, wall: Wall) -> Seen {
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
    fn expire(&mut self, command: Command, wall: Wall) -> bool {
        let names = |server: &Redis| -> BTreeSet<String> {
            let name = |line: String| line.split(' ').next().unwrap_or_default().to_owned();
            server.contents().into_iter().map(name).collect()
        };
        let before = names(&self.servers[0]);
        let due = self.servers[0].deadline(&self.settings);
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

fn key_of(command: Command) -> Key {
    match command {
        Command::Set { key, .. }
        | Command::Get(key)
        | Command::Del(key)
        | Command::PExpire(key, _)
        | Command::Incr(key)
        | Command::CompareAndDelete { key, .. }
        | Command::CompareAndExtend { key, .. }
        | Command::ExtendOrCreate { key, .. }
        | Command::SetAndIncr { key, .. } => key,
        Command::FlushAll => LOCK,
    }
}

const LOCK: Key = Key::Lock(0);
const COUNTER: Key = Key::Counter(0);

/// Commands of three clients on three keys; a third of the times to live are `short` milliseconds or not positive.
fn any_command(short: std::ops::Range<i64>) -> impl Strategy<Value = Command> {
    let key = || prop_oneof![4 => Just(LOCK), 2 => Just(COUNTER), 1 => Just(Key::Foreign(1))];
    let value = || {
        prop_oneof![
            5 => (0..3u8, 1..3u32).prop_map(|(client, serial)| Value::Token(Token { client, serial })),
            1 => (-1..2i64).prop_map(Value::Integer),
            1 => Just(Value::Integer(i64::MAX)),
        ]
    };
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
    ]
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
        tally.expired += u32::from(simulated.expire(*command, wall));
        tally.judged += 1;
        let seen = simulated.run(0, *command, wall);
        assert_eq!(seen, observed.seen, "{command} in {commands:?}, observed {observed:?}");
    }
    true
}

#[test]
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
    let commands: Vec<Command> = std::iter::once(take).chain([Command::Get(LOCK); 40]).collect();
    let watch = [Command::Get(LOCK); 20];
    let (mut last_milliseconds, mut first_dead) = (0, 0);
    for _ in 0..150 {
        let mut simulated = Simulated::new(1, Settings::default());
        let observed = real.run(&commands);
        let Some(set_at) = observed[0].moment() else { continue };
        simulated.run(0, take, set_at);
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
            assert_eq!(simulated.run(0, *command, wall), observed.seen, "{command}");
        }
        // Nobody listens there: the server keeps what it has, as a replica whose master is away.
        real.order(&["REPLICAOF", "127.0.0.1", "1"]);
        for (command, observed) in rest.iter().zip(real.run(rest)) {
            let wall = Wall(observed.before - EPOCH_UNIX_MICROS);
            judged += 1;
            assert_eq!(simulated.run(1, *command, wall), observed.seen, "{command} in {commands:?}");
        }
    }
    assert!(judged > 1_000, "{judged}");
}
