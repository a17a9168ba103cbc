//! As much of Cassandra's native protocol, version 4, as a statement and its answer take.
//!
//! Source: `doc/native_protocol_v4.spec` of Cassandra: a frame is version, flags, stream, opcode and length, then the body.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// From how many replicas an answer is wanted.
#[derive(Clone, Copy, Debug)]
pub enum Level {
    Any = 0,
    One = 1,
    Quorum = 4,
    All = 5,
    EachQuorum = 7,
    Serial = 8,
    LocalSerial = 9,
}

/// What a statement came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It was done, and there is nothing to say.
    Void,
    /// The values of the columns in this order, row by row; `None`: null.
    Rows { columns: Vec<String>, rows: Vec<Vec<Option<Vec<u8>>>> },
    /// It was not, or nobody knows.
    Error { code: i32, message: String },
}

impl Answer {
    /// Too few replicas, at once or in the end: `UNAVAILABLE`, `WRITE_TIMEOUT`, `READ_TIMEOUT`.
    pub fn is_too_few(&self) -> bool {
        matches!(self, Answer::Error { code: 0x1000 | 0x1100 | 0x1200, .. })
    }
}

mod opcode {
    pub const ERROR: u8 = 0x00;
    pub const STARTUP: u8 = 0x01;
    pub const READY: u8 = 0x02;
    pub const QUERY: u8 = 0x07;
    pub const RESULT: u8 = 0x08;
}

const VERSION: u8 = 4;
const ANSWERS: u8 = 0x80;
const HAS_WARNINGS: u8 = 0x08;

/// One connection, whose statements have all the same stream.
pub struct Connection {
    stream: TcpStream,
}

impl Connection {
    pub fn open(address: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        let mut connection = Connection { stream };
        // A map of one entry.
        let mut body = vec![0, 1];
        ["CQL_VERSION", "3.0.0"].iter().for_each(|text| put_string(&mut body, text));
        connection.say(opcode::STARTUP, &body)?;
        match connection.hear()? {
            (opcode::READY, _) => Ok(connection),
            (other, _) => Err(io::Error::other(format!("opcode {other} is no welcome"))),
        }
    }

    /// # Panics
    /// If the connection is lost.
    pub fn ask(&mut self, statement: &str, level: Level) -> Answer {
        self.try_ask(statement, level).unwrap_or_else(|error| panic!("{statement}: {error}"))
    }

    pub fn try_ask(&mut self, statement: &str, level: Level) -> io::Result<Answer> {
        self.send(statement, level)?;
        self.answer()
    }

    /// Asks, and does not wait: answers to several come in any order.
    pub fn send(&mut self, statement: &str, level: Level) -> io::Result<()> {
        let length = u32::try_from(statement.len()).expect("a short statement");
        let mut body = Vec::from(length.to_be_bytes());
        body.extend_from_slice(statement.as_bytes());
        body.extend_from_slice(&(level as u16).to_be_bytes());
        // No flags: no values, and the coordinator gives the timestamp.
        body.push(0);
        self.say(opcode::QUERY, &body)
    }

    /// What comes next.
    pub fn answer(&mut self) -> io::Result<Answer> {
        let (opcode, body) = self.hear()?;
        let mut body = Body(&body);
        match opcode {
            opcode::ERROR => Ok(Answer::Error { code: body.int(), message: body.string() }),
            opcode::RESULT => Ok(body.result()),
            other => Err(io::Error::other(format!("opcode {other} is no answer"))),
        }
    }

    fn say(&mut self, opcode: u8, body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len()).expect("a short body");
        let mut frame = vec![VERSION, 0, 0, 0, opcode];
        frame.extend_from_slice(&length.to_be_bytes());
        frame.extend_from_slice(body);
        self.stream.write_all(&frame)
    }

    fn hear(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut header = [0; 9];
        self.stream.read_exact(&mut header)?;
        let [version, flags, _, _, opcode, length @ ..] = header;
        if version != VERSION | ANSWERS {
            return Err(io::Error::other(format!("version {version:#x}")));
        }
        let mut body = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut body)?;
        if flags & HAS_WARNINGS != 0 {
            let mut rest = Body(&body);
            (0..rest.short()).for_each(|_| {
                rest.string();
            });
            body = rest.0.to_vec();
        }
        Ok((opcode, body))
    }
}

fn put_string(body: &mut Vec<u8>, text: &str) {
    let length = u16::try_from(text.len()).expect("a short text");
    body.extend_from_slice(&length.to_be_bytes());
    body.extend_from_slice(text.as_bytes());
}

/// What is left of a body.
struct Body<'a>(&'a [u8]);

impl Body<'_> {
    fn take(&mut self, length: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes(self.take(2).try_into().expect("two bytes"))
    }

    fn int(&mut self) -> i32 {
        i32::from_be_bytes(self.take(4).try_into().expect("four bytes"))
    }

    fn string(&mut self) -> String {
        let length = usize::from(self.short());
        String::from_utf8_lossy(self.take(length)).into_owned()
    }

    fn result(&mut self) -> Answer {
        const ROWS: i32 = 2;
        const ONE_TABLE: i32 = 1;
        if self.int() != ROWS {
            return Answer::Void;
        }
        let (flags, count) = (self.int(), self.int());
        if flags & ONE_TABLE != 0 {
            self.string();
            self.string();
        }
        let column = |body: &mut Self| {
            if flags & ONE_TABLE == 0 {
                body.string();
                body.string();
            }
            let name = body.string();
            // Its type, which is none with parameters.
            body.short();
            name
        };
        let columns: Vec<String> = (0..count).map(|_| column(self)).collect();
        let value = |body: &mut Self| {
            let length = usize::try_from(body.int()).ok()?;
            Some(body.take(length).to_vec())
        };
        let rows = (0..self.int()).map(|_| (0..count).map(|_| value(self)).collect()).collect();
        Answer::Rows { columns, rows }
    }
}
