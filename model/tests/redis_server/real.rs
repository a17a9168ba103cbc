//! A real `redis-server`, and what it replies.

use picklock_model::stores::redis::{Check, Command, Key, Line, Millis, Score};
use picklock_model::time::{EPOCH_UNIX_MICROS, Wall};
use std::io::ErrorKind;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::Duration;

/// A server of our own on a free port of this machine, without persistence.
pub struct Real {
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
    pub fn start() -> Option<Real> {
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
    pub fn run(&mut self, commands: &[Command]) -> Vec<Observed> {
        let mut pipe = redis::pipe();
        for command in commands {
            pipe.cmd("TIME").add_command(command_of(command)).cmd("TIME");
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
    pub fn order(&mut self, words: &[&str]) {
        let mut command = redis::cmd(words[0]);
        words[1..].iter().for_each(|word| {
            command.arg(*word);
        });
        command.exec(&mut self.connection).expect("the server obeys");
    }
}

/// What a command on the real server showed.
#[derive(Debug)]
pub struct Observed {
    /// The server's clock, in microseconds since 1970.
    pub before: i64,
    pub seen: Seen,
    after: i64,
}

impl Observed {
    /// When the command ran, if to the millisecond that is known.
    pub fn moment(&self) -> Option<Wall> {
        (self.before / 1_000 == self.after / 1_000).then_some(Wall(self.before - EPOCH_UNIX_MICROS))
    }
}

/// A reply, in a form that both servers can be brought to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Seen {
    Ok,
    Nil,
    Bulk(String),
    Integer(i64),
    ReadOnly,
    OutOfMemory,
    WrongType,
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
            Some("WRONGTYPE") => Seen::WrongType,
            Some("ERR") | None => Seen::Invalid,
            Some(other) => panic!("no command here fails with {other}: {error}"),
        },
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
fn command_of(command: &Command) -> redis::Cmd {
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
    match *command {
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
        Command::Decr(_)
        | Command::ZAdd { .. }
        | Command::ZRem(..)
        | Command::ZRank(..)
        | Command::ZRemUpTo(..)
        | Command::ZInterStore { .. } => words(&plain(command)),
        Command::Script(ref lines) => script(&lua(lines), &[], &[]),
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

/// The words of a command that may stand in a script.
fn plain(command: &Command) -> Vec<String> {
    let number = |score: &Score| match score {
        Score::Count(count) => count.to_string(),
        Score::At(at) => (at.0 + EPOCH_UNIX_MICROS).to_string(),
        Score::After(_) => unreachable!("which moment that was is not known here"),
    };
    match command {
        Command::Get(key) => vec!["GET".to_owned(), key.to_string()],
        Command::Set { key, value, if_absent: false, ttl: None } => {
            vec!["SET".to_owned(), key.to_string(), value.to_string()]
        }
        Command::Del(key) => vec!["DEL".to_owned(), key.to_string()],
        Command::PExpire(key, ttl) => vec!["PEXPIRE".to_owned(), key.to_string(), ttl.to_string()],
        Command::Incr(key) => vec!["INCR".to_owned(), key.to_string()],
        Command::Decr(key) => vec!["DECR".to_owned(), key.to_string()],
        Command::ZAdd { key, score, member } => {
            vec!["ZADD".to_owned(), key.to_string(), number(score), member.to_string()]
        }
        Command::ZRem(key, member) => vec!["ZREM".to_owned(), key.to_string(), member.to_string()],
        Command::ZRank(key, member) => vec!["ZRANK".to_owned(), key.to_string(), member.to_string()],
        Command::ZRemUpTo(key, upto) => {
            vec!["ZREMRANGEBYSCORE".to_owned(), key.to_string(), "-inf".to_owned(), number(upto)]
        }
        Command::ZInterStore { key, other } => {
            let (key, other) = (key.to_string(), other.to_string());
            ["ZINTERSTORE", &key, "2", &key, &other, "WEIGHTS", "1", "0"].map(str::to_owned).to_vec()
        }
        other => unreachable!("{other} is not drawn for scripts"),
    }
}

fn lua(lines: &[Line]) -> String {
    let mut text = "local last = false ".to_owned();
    for line in lines {
        text += &match line {
            Line::Call(command) => {
                let words: Vec<String> = plain(command).iter().map(|word| format!("'{word}'")).collect();
                format!("last = redis.call({}) ", words.join(", "))
            }
            Line::Require(check) => {
                let condition = match check {
                    Check::Absent(key) => format!("redis.call('exists', '{key}') == 0"),
                    Check::Holds(key, value) => format!("redis.call('get', '{key}') == '{value}'"),
                    Check::Positive(key) => format!("tonumber(redis.call('get', '{key}') or '0') > 0"),
                    Check::NotPositive(key) => format!("tonumber(redis.call('get', '{key}') or '0') <= 0"),
                    Check::Fewer(key, count) => format!("redis.call('zcard', '{key}') < {count}"),
                };
                format!("if not ({condition}) then return false end ")
            }
        };
    }
    text + "return last"
}
