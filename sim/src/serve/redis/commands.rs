//! What clients ask for in RESP, in terms of the machine's commands; and what they ask a server about itself.
//!
//! Said of the real server: version 7.0. What a machine's command cannot express is put together of several, in one step:
//! nobody else comes in between.

mod about;
mod keys;
mod script;

use super::names::integer;
use super::visit::Visit;
use bytes::Bytes;
use picklock_model::stores::redis::{Command, Outcome, ServerError};
use redis_protocol::resp2::types::BytesFrame;

/// The version that clients are told.
pub const VERSION: &str = "7.0.15";

/// What a connection remembers of its client.
#[derive(Debug, Default)]
pub struct Session {
    /// Its number on this server since the start.
    pub id: i64,
    pub name: Bytes,
}

/// What becomes of a command.
#[derive(Clone, PartialEq, Debug)]
pub enum Said {
    /// This is replied.
    Reply(BytesFrame),
    /// This is replied, and the connection closed.
    Bye(BytesFrame),
    /// Nothing is replied, ever.
    Nothing,
    /// `WAIT`: replied is how many replicas have come as far as this, when that many have or the time is over.
    Wait {
        /// How far.
        offset: Option<(u32, u32)>,
        /// How many.
        replicas: i64,
        /// After how many milliseconds; 0: never.
        timeout_ms: i64,
    },
}

/// Why a command is not run to its end.
#[derive(Clone, PartialEq, Debug)]
pub enum Refusal {
    /// This error is replied.
    Error(String),
    /// The server answers nobody.
    Silence,
}

type Replied = Result<BytesFrame, Refusal>;

fn refuse<T>(error: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Error(error.into()))
}

const SYNTAX: &str = "ERR syntax error";
const NOT_AN_INTEGER: &str = "ERR value is not an integer or out of range";

/// Runs a command: its name and its arguments.
pub fn execute(words: &[Bytes], session: &mut Session, visit: &mut Visit) -> Said {
    let Some((name, arguments)) = words.split_first() else {
        return Said::Reply(BytesFrame::Error("ERR Protocol error: expected a command".into()));
    };
    let name = String::from_utf8_lossy(name).to_lowercase();
    let said = match arity_of(&name) {
        None => refuse(unknown(words)),
        Some(arity) if !arity.admits(arguments.len()) => refuse(wrong_number(&name)),
        Some(_) if name == "quit" => return Said::Bye(ok()),
        Some(_) if name == "wait" => match wait(arguments, visit) {
            Ok(said) => return said,
            Err(refusal) => Err(refusal),
        },
        Some(_) => run(&name, arguments, session, visit),
    };
    match said {
        Ok(frame) => Said::Reply(frame),
        Err(Refusal::Error(text)) => Said::Reply(BytesFrame::Error(text.into())),
        Err(Refusal::Silence) => Said::Nothing,
    }
}

/// How many arguments a command takes.
#[derive(Clone, Copy)]
enum Arity {
    Exactly(usize),
    AtLeast(usize),
}

impl Arity {
    fn admits(self, arguments: usize) -> bool {
        match self {
            Arity::Exactly(number) => arguments == number,
            Arity::AtLeast(number) => arguments >= number,
        }
    }
}

/// `None`: there is no such command here.
fn arity_of(name: &str) -> Option<Arity> {
    Some(match name {
        "quit" | "ping" | "hello" | "info" | "command" | "flushall" | "flushdb" => Arity::AtLeast(0),
        "time" | "dbsize" => Arity::Exactly(0),
        "role" => Arity::Exactly(0),
        "del" | "unlink" | "exists" | "mget" | "auth" | "client" | "config" | "script" => Arity::AtLeast(1),
        "echo" | "select" | "get" | "getdel" | "incr" | "ttl" | "pttl" | "persist" | "strlen" => {
            Arity::Exactly(1)
        }
        "set" | "expire" | "pexpire" | "eval" | "evalsha" => Arity::AtLeast(2),
        "setnx" | "getset" | "incrby" | "wait" => Arity::Exactly(2),
        "setex" | "psetex" => Arity::Exactly(3),
        _ => return None,
    })
}

fn run(name: &str, arguments: &[Bytes], session: &mut Session, visit: &mut Visit) -> Replied {
    match name {
        "eval" | "evalsha" | "script" => script::run(name, arguments, visit),
        "del" | "unlink" | "exists" | "mget" | "get" | "getdel" | "incr" | "incrby" | "ttl" | "pttl"
        | "persist" | "strlen" | "set" | "setnx" | "getset" | "setex" | "psetex" | "expire" | "pexpire"
        | "flushall" | "flushdb" => keys::run(name, arguments, visit),
        _ => about::run(name, arguments, session, visit),
    }
}

fn wait(arguments: &[Bytes], visit: &mut Visit) -> Result<Said, Refusal> {
    let (replicas, timeout_ms) = (number(&arguments[0])?, number(&arguments[1])?);
    if !visit.is_master() {
        return refuse(
            "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a \
                       replica is configured to be writable (which is not the default) writes to replicas are just \
                       local and are not propagated.",
        );
    }
    if timeout_ms < 0 {
        return refuse("ERR timeout is negative");
    }
    Ok(Said::Wait { offset: visit.replicated(), replicas, timeout_ms })
}

/// `src/server.c` `commandCheckExistence`: at most 128 bytes of the arguments, each in quotes.
fn unknown(words: &[Bytes]) -> String {
    const SHOWN_MAX: usize = 128;
    let shown =
        |word: &Bytes, most: usize| String::from_utf8_lossy(&word[..word.len().min(most)]).into_owned();
    let mut arguments = String::new();
    for word in &words[1..] {
        if arguments.len() >= SHOWN_MAX {
            break;
        }
        arguments += &format!("'{}' ", shown(word, SHOWN_MAX - arguments.len()));
    }
    let text = format!(
        "ERR unknown command '{}', with args beginning with: {arguments}",
        shown(&words[0], SHOWN_MAX)
    );
    // An error is one line.
    text.replace(['\r', '\n'], " ")
}

fn wrong_number(name: &str) -> String {
    format!("ERR wrong number of arguments for '{name}' command")
}

// What the commands have in common.

fn ok() -> BytesFrame {
    BytesFrame::SimpleString(Bytes::from_static(b"OK"))
}

fn bulk(text: impl Into<Bytes>) -> BytesFrame {
    BytesFrame::BulkString(text.into())
}

fn number(bytes: &Bytes) -> Result<i64, Refusal> {
    integer(bytes).map_or_else(|| refuse(NOT_AN_INTEGER), Ok)
}

/// Runs a command of the machine.
fn entered(command: Command, visit: &mut Visit) -> Result<Outcome, Refusal> {
    match visit.run(command) {
        Some(Outcome::Error(error)) => refuse(match error {
            ServerError::ReadOnly => "READONLY You can't write against a read only replica.",
            ServerError::OutOfMemory => "OOM command not allowed when used memory > 'maxmemory'.",
            ServerError::NotAnInteger => NOT_AN_INTEGER,
            ServerError::WrongType => "WRONGTYPE Operation against a key holding the wrong kind of value",
        }),
        Some(outcome) => Ok(outcome),
        None => Err(Refusal::Silence),
    }
}

/// Runs a command of the machine whose outcome is the reply.
fn replied(command: Command, visit: &mut Visit) -> Replied {
    Ok(match entered(command, visit)? {
        Outcome::Ok => ok(),
        Outcome::Nil => BytesFrame::Null,
        Outcome::Bulk(value) => bulk(visit.state.desk.names.bytes(value)),
        Outcome::Integer(number) => BytesFrame::Integer(number),
        Outcome::Error(_) => unreachable!("errors are refusals"),
    })
}
