//! A lock's connections to real Redis servers, or to whatever speaks RESP2: what its machine says, as commands and scripts.
//!
//! A connection on which a reply is missing is like one that is slow: the machine waits for as long as it wants to. What was
//! asked on a connection that is lost is not asked again: whether it was done nobody knows.

use super::connections::Patience;
use super::driver::{Inbox, Post, Slot};
use super::transport::Transport;
use crate::serve::redis::wire::Resp;
use bytes::Bytes;
use picklock_model::locks::redis_keys;
use picklock_model::machine::{Message, Node};
use picklock_model::names::Word;
use picklock_model::stores::redis::{
    Check, Command, Key, Line as ScriptLine, Millis, Outcome, Redis, Reply, Request, Score, ServerError,
    Token, Value,
};
use picklock_model::time::EPOCH_UNIX_MICROS;
use redis_protocol::resp2::types::BytesFrame;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// What the machine's keys and values are called on the servers.
#[derive(Clone, Debug)]
pub struct Names {
    pub(super) locks: Vec<String>,
    pub(super) signature: String,
}

impl Names {
    /// The names of the locks, by their ids, and a string that nobody else signs with, nor this process in an earlier life:
    /// random, as the Redlock article, *Distributed Locks with Redis*, wants it.
    pub fn new(locks: impl IntoIterator<Item = impl Into<String>>, signature: impl Into<String>) -> Names {
        Names { locks: locks.into_iter().map(Into::into).collect(), signature: signature.into() }
    }

    pub(super) fn lock(&self, id: u32) -> String {
        self.locks.get(id as usize).cloned().unwrap_or_else(|| format!("lock:{id}"))
    }

    fn key(&self, key: Key) -> String {
        let Key { word, number } = key;
        match word {
            redis_keys::LOCK => self.lock(number),
            redis_keys::COUNTER => format!("{}:fence", self.lock(number)),
            redis_keys::WRITER => format!("{}:writer", self.lock(number)),
            redis_keys::READERS => format!("{}:readers", self.lock(number)),
            redis_keys::NEXT => format!("{}:next", self.lock(number)),
            redis_keys::HOLDERS => format!("{}:holders", self.lock(number)),
            redis_keys::OWNERS => format!("{}:owners", self.lock(number)),
            Word(other) => format!("other:{other}:{number}"),
        }
    }

    fn value(&self, value: Value) -> String {
        match value {
            Value::Token(Token { client, serial }) => format!("{}:{client}:{serial}", self.signature),
            Value::Integer(number) => number.to_string(),
        }
    }

    /// What a server's bytes mean. Somebody else's signature is one that this client has never drawn.
    fn read(&self, bytes: &[u8], me: u8) -> Value {
        let own = || {
            let text = std::str::from_utf8(bytes).ok()?;
            let (client, serial) = text.strip_prefix(&self.signature)?.strip_prefix(':')?.split_once(':')?;
            Some(Value::Token(Token { client: client.parse().ok()?, serial: serial.parse().ok()? }))
        };
        let number = || Some(Value::Integer(std::str::from_utf8(bytes).ok()?.parse().ok()?));
        own().or_else(number).unwrap_or(Value::Token(Token { client: me.wrapping_add(1), serial: 0 }))
    }
}

/// One connection to each server.
pub struct RedisConnections {
    servers: Vec<UnboundedSender<Request>>,
    tasks: JoinSet<()>,
}

impl RedisConnections {
    /// Dials the servers, as client `me`, and dials again whenever a connection is lost.
    pub fn open<T: Transport>(
        me: u8,
        servers: u8,
        transport: &T,
        patience: Patience,
        names: Names,
    ) -> (RedisConnections, Inbox<Redis>) {
        let (slot, inbox) = unbounded_channel();
        let mut connections = RedisConnections { servers: Vec::new(), tasks: JoinSet::new() };
        let names = Arc::new(names);
        for server in 0..servers {
            let (outgoing, waiting) = unbounded_channel();
            connections.servers.push(outgoing);
            let speech = Speech { me, server, servers, names: names.clone() };
            let line = Line { transport: transport.clone(), patience, speech };
            transport.spawn(&mut connections.tasks, line.keep(waiting, slot.clone()));
        }
        (connections, inbox)
    }
}

impl Post<Redis> for RedisConnections {
    fn post(&mut self, to: Node, message: Message<Redis>) {
        let (Node::Server(server), Message::Request(request)) = (to, message) else {
            unreachable!("a lock speaks to its servers, and asks");
        };
        // A task that is gone has panicked, and that is passed on at the next turn.
        let _gone = self.servers[usize::from(server)].send(request);
    }

    fn poll_tasks(&mut self, cx: &mut Context<'_>) -> Poll<Infallible> {
        while let Poll::Ready(Some(ended)) = self.tasks.poll_join_next(cx) {
            if let Err(error) = ended
                && let Ok(panic) = error.try_into_panic()
            {
                std::panic::resume_unwind(panic);
            }
        }
        Poll::Pending
    }
}

/// The connection to one server, dialled again whenever it is lost.
struct Line<T> {
    transport: T,
    patience: Patience,
    speech: Speech,
}

/// What is said between one client and one server.
struct Speech {
    me: u8,
    server: u8,
    servers: u8,
    names: Arc<Names>,
}

impl<T: Transport> Line<T> {
    async fn keep(self, mut waiting: UnboundedReceiver<Request>, slot: Slot<Redis>) {
        let Line { transport, patience, speech } = self;
        let mut pause = patience.redial_min;
        loop {
            let dialled = timeout(patience.connect, transport.connect(Node::Server(speech.server))).await;
            if let Ok(Ok(stream)) = dialled {
                let (read, write) = tokio::io::split(stream);
                if speech.go_on(Resp::new(read), Resp::new(write), &mut waiting, &slot).await {
                    pause = patience.redial_min;
                }
            }
            // What was to be said over a connection that is lost, or was never made, is not said.
            while waiting.try_recv().is_ok() {}
            if waiting.is_closed() {
                return;
            }
            sleep(pause).await;
            pause = patience.redial_max.min(2 * pause);
        }
    }
}

impl Speech {
    /// Until the connection is lost; says whether anything was heard.
    async fn go_on<S: AsyncRead + AsyncWrite>(
        &self,
        mut reader: Resp<ReadHalf<S>>,
        mut writer: Resp<WriteHalf<S>>,
        waiting: &mut UnboundedReceiver<Request>,
        slot: &Slot<Redis>,
    ) -> bool {
        // A server answers in the order in which it was asked; after a `WAIT`, the second answer counts.
        let mut asked: VecDeque<Request> = VecDeque::new();
        let mut held: Option<Outcome> = None;
        let mut has_heard = false;
        loop {
            tokio::select! {
                biased;
                read = reader.next() => {
                    let (Ok(Some(frame)), Some(request)) = (read, asked.front()) else { return has_heard };
                    has_heard = true;
                    let outcome = match (request.wait, held.take()) {
                        (false, _) => self.outcome(frame),
                        (true, None) => {
                            held = Some(self.outcome(frame));
                            continue;
                        }
                        (true, Some(outcome)) => outcome,
                    };
                    let reply = Message::Reply(Reply { serial: request.serial, outcome });
                    asked.pop_front();
                    if slot.send((Node::Server(self.server), reply)).is_err() {
                        return has_heard;
                    }
                }
                request = waiting.recv() => {
                    let Some(request) = request else { return has_heard };
                    let (frame, waits) = (self.frame(&request.command), request.wait);
                    asked.push_back(request);
                    if writer.send(frame).await.is_err() {
                        return has_heard;
                    }
                    if waits {
                        // Every replica, for as long as it takes.
                        let replicas = (self.servers - 1).to_string();
                        if writer.send(words(&["WAIT", &replicas, "0"])).await.is_err() {
                            return has_heard;
                        }
                    }
                }
            }
        }
    }

    fn outcome(&self, frame: BytesFrame) -> Outcome {
        match frame {
            BytesFrame::SimpleString(_) => Outcome::Ok,
            BytesFrame::Null => Outcome::Nil,
            BytesFrame::Integer(number) => Outcome::Integer(number),
            BytesFrame::BulkString(bytes) => Outcome::Bulk(self.names.read(&bytes, self.me)),
            BytesFrame::Error(text) if text.starts_with("READONLY") => Outcome::Error(ServerError::ReadOnly),
            BytesFrame::Error(text) if text.starts_with("OOM") => Outcome::Error(ServerError::OutOfMemory),
            BytesFrame::Error(text) if text.starts_with("WRONGTYPE") => {
                Outcome::Error(ServerError::WrongType)
            }
            // Loading, out of replicas, a script that is not known: which error it is the machines do not ask.
            BytesFrame::Error(_) | BytesFrame::Array(_) => Outcome::Error(ServerError::NotAnInteger),
        }
    }

    /// The command as servers take it; scripts in the words of the Redlock article.
    fn frame(&self, command: &Command) -> BytesFrame {
        let (key, value) = (|key| self.names.key(key), |value| self.names.value(value));
        match *command {
            Command::Set { key: name, value: signature, if_absent, ttl } => {
                let mut command = vec!["SET".to_owned(), key(name), value(signature)];
                if if_absent {
                    command.push("NX".to_owned());
                }
                if let Some(Millis(ttl)) = ttl {
                    command.extend(["PX".to_owned(), ttl.to_string()]);
                }
                words(&command)
            }
            Command::Get(name) => words(&["GET", &key(name)]),
            Command::Del(name) => words(&["DEL", &key(name)]),
            Command::PExpire(name, Millis(ttl)) => words(&["PEXPIRE", &key(name), &ttl.to_string()]),
            Command::Incr(name) => words(&["INCR", &key(name)]),
            Command::Decr(name) => words(&["DECR", &key(name)]),
            Command::FlushAll => words(&["FLUSHALL"]),
            Command::CompareAndDelete { key: name, value: signature } => words(&[
                "EVAL",
                "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end",
                "1",
                &key(name),
                &value(signature),
            ]),
            Command::CompareAndExtend { key: name, value: signature, ttl: Millis(ttl) } => words(&[
                "EVAL",
                "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) \
                 else return 0 end",
                "1",
                &key(name),
                &value(signature),
                &ttl.to_string(),
            ]),
            Command::ExtendOrCreate { key: name, value: signature, ttl: Millis(ttl) } => words(&[
                "EVAL",
                "if redis.call('exists', KEYS[1]) == 0 or redis.call('get', KEYS[1]) == ARGV[1] \
                 then return redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2]) end",
                "1",
                &key(name),
                &value(signature),
                &ttl.to_string(),
            ]),
            Command::SetAndIncr { key: name, value: signature, ttl: None, counter } => words(&[
                "EVAL",
                "if redis.call('set', KEYS[1], ARGV[1], 'NX') then return redis.call('incr', KEYS[2]) \
                 else return false end",
                "2",
                &key(name),
                &key(counter),
                &value(signature),
            ]),
            Command::SetAndIncr { key: name, value: signature, ttl: Some(Millis(ttl)), counter } => words(&[
                "EVAL",
                "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('incr', KEYS[2]) \
                 else return false end",
                "2",
                &key(name),
                &key(counter),
                &value(signature),
                &ttl.to_string(),
            ]),
            Command::ZAdd { .. }
            | Command::ZRem(..)
            | Command::ZRank(..)
            | Command::ZRemUpTo(..)
            | Command::ZInterStore { .. }
            | Command::Script(_) => self.script(command),
        }
    }

    /// A script of our own: keys and arguments in the order in which they come.
    fn script(&self, command: &Command) -> BytesFrame {
        let mut script =
            Lua { names: &self.names, text: String::new(), keys: Vec::new(), values: Vec::new() };
        script.text.push_str("local last = false ");
        script.call(command);
        script.text.push_str("return last");
        let mut frame = vec!["EVAL".to_owned(), script.text, script.keys.len().to_string()];
        frame.append(&mut script.keys);
        frame.append(&mut script.values);
        words(&frame)
    }
}

/// A script that is being written.
struct Lua<'a> {
    names: &'a Names,
    text: String,
    keys: Vec<String>,
    values: Vec<String>,
}

impl Lua<'_> {
    fn key(&mut self, key: Key) -> String {
        self.keys.push(self.names.key(key));
        format!("KEYS[{}]", self.keys.len())
    }

    fn argument(&mut self, value: impl ToString) -> String {
        self.values.push(value.to_string());
        format!("ARGV[{}]", self.values.len())
    }

    fn value(&mut self, value: Value) -> String {
        self.argument(self.names.value(value))
    }

    /// Microseconds since 1970: of a double's 53 bits they take 51.
    fn score(&mut self, score: Score) -> String {
        match score {
            Score::Count(count) => self.argument(count),
            Score::At(at) => self.argument(at.0 + EPOCH_UNIX_MICROS),
            Score::After(lapse) => {
                self.text.push_str("local time = redis.call('time') ");
                let lapse = self.argument(lapse.0);
                format!("string.format('%.0f', time[1] * 1000000 + time[2] + {lapse})")
            }
        }
    }

    fn call(&mut self, command: &Command) {
        let call = match *command {
            Command::Set { key, value, if_absent, ttl } => {
                let mut call = format!("'set', {}, {}", self.key(key), self.value(value));
                if if_absent {
                    call += ", 'NX'";
                }
                if let Some(Millis(ttl)) = ttl {
                    call += &format!(", 'PX', {}", self.argument(ttl));
                }
                call
            }
            Command::Get(key) => format!("'get', {}", self.key(key)),
            Command::Del(key) => format!("'del', {}", self.key(key)),
            Command::PExpire(key, Millis(ttl)) => {
                format!("'pexpire', {}, {}", self.key(key), self.argument(ttl))
            }
            Command::Incr(key) => format!("'incr', {}", self.key(key)),
            Command::Decr(key) => format!("'decr', {}", self.key(key)),
            Command::ZAdd { key, score, member } => {
                let score = self.score(score);
                format!("'zadd', {}, {score}, {}", self.key(key), self.value(Value::Token(member)))
            }
            Command::ZRem(key, member) => {
                format!("'zrem', {}, {}", self.key(key), self.value(Value::Token(member)))
            }
            Command::ZRank(key, member) => {
                format!("'zrank', {}, {}", self.key(key), self.value(Value::Token(member)))
            }
            Command::ZRemUpTo(key, upto) => {
                let upto = self.score(upto);
                format!("'zremrangebyscore', {}, '-inf', {upto}", self.key(key))
            }
            Command::ZInterStore { key, other } => {
                let (key, other) = (self.key(key), self.key(other));
                format!("'zinterstore', {key}, 2, {key}, {other}, 'WEIGHTS', 1, 0")
            }
            Command::Script(ref lines) => {
                for line in lines {
                    match line {
                        ScriptLine::Call(command) => self.call(command),
                        ScriptLine::Require(check) => self.require(*check),
                    }
                }
                return;
            }
            Command::FlushAll
            | Command::CompareAndDelete { .. }
            | Command::CompareAndExtend { .. }
            | Command::ExtendOrCreate { .. }
            | Command::SetAndIncr { .. } => unreachable!("no lock calls these within a script"),
        };
        self.text.push_str(&format!("last = redis.call({call}) "));
    }

    fn require(&mut self, check: Check) {
        let condition = match check {
            Check::Absent(key) => format!("redis.call('exists', {}) == 0", self.key(key)),
            Check::Holds(key, value) => {
                let value = self.value(value);
                format!("redis.call('get', {}) == {value}", self.key(key))
            }
            Check::Positive(key) => format!("tonumber(redis.call('get', {}) or '0') > 0", self.key(key)),
            Check::NotPositive(key) => format!("tonumber(redis.call('get', {}) or '0') <= 0", self.key(key)),
            Check::Fewer(key, count) => format!("redis.call('zcard', {}) < {count}", self.key(key)),
        };
        self.text.push_str(&format!("if not ({condition}) then return false end "));
    }
}

fn words(words: &[impl AsRef<str>]) -> BytesFrame {
    let bulk = |word: &str| BytesFrame::BulkString(Bytes::copy_from_slice(word.as_bytes()));
    BytesFrame::Array(words.iter().map(|word| bulk(word.as_ref())).collect())
}
