//! Errors, by the codes and with the particulars of the real server (`native_protocol_v4.spec`, section 9), in its words where
//! there are any.

use super::frame::{Damaged, Reader, Writer};
use picklock_model::time::Micros;

/// A consistency level as the protocol has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Level(pub u16);

impl Level {
    pub const ONE: Level = Level(1);
    pub const ANY: Level = Level(0);
    pub const EACH_QUORUM: Level = Level(7);
    pub const SERIAL: Level = Level(8);

    /// `ConsistencyLevel.fromCode`.
    pub fn read(body: &mut Reader) -> Result<Level, Refusal> {
        match body.short()? {
            code @ 0..=10 => Ok(Level(code)),
            code => Err(Refusal::Protocol(format!("Unknown code {code} for a consistency level"))),
        }
    }

    /// What a light-weight transaction is begun at, and not what is written or read at otherwise.
    pub fn is_serial(self) -> bool {
        matches!(self.0, 8 | 9)
    }

    /// In the words of the real server.
    fn word(self) -> &'static str {
        if self == Level::SERIAL { "SERIAL" } else { "LOCAL_SERIAL" }
    }

    /// `ConsistencyLevel.validateForRead`.
    pub fn check_read(self) -> Result<(), Refusal> {
        match self {
            Level::ANY => Err(Refusal::invalid("ANY ConsistencyLevel is only supported for writes")),
            _ => Ok(()),
        }
    }

    /// `ConsistencyLevel.validateForCasCommit`, in a keyspace of this strategy.
    pub fn check_commit(self, strategy: &str) -> Result<(), Refusal> {
        if self == Level::EACH_QUORUM && !strategy.ends_with("NetworkTopologyStrategy") {
            return Err(Refusal::invalid(format!(
                "consistency level EACH_QUORUM not compatible with replication strategy ({strategy})"
            )));
        }
        if !self.is_serial() {
            return Ok(());
        }
        Err(Refusal::invalid(format!(
            "{} is not supported as conditional update commit consistency. Use ANY if you mean \"make sure it is accepted but I don't care \
             how many replicas commit it for non-SERIAL reads\"",
            self.word()
        )))
    }
}

/// What a write that was not acknowledged in time was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteType {
    Simple,
    Batch,
    UnloggedBatch,
    Cas,
}

impl WriteType {
    fn word(self) -> &'static str {
        match self {
            WriteType::Simple => "SIMPLE",
            WriteType::Batch => "BATCH",
            WriteType::UnloggedBatch => "UNLOGGED_BATCH",
            WriteType::Cas => "CAS",
        }
    }
}

/// Why something was not done, or nobody knows whether it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    Server(String),
    Protocol(String),
    /// Too few replicas are known to be alive: nothing was begun.
    Unavailable {
        level: Level,
        required: u8,
        alive: u8,
    },
    /// The write may be done, or be done later.
    WriteTimeout {
        level: Level,
        received: u8,
        required: u8,
        write: WriteType,
        /// How many times a lightweight transaction met another one.
        contentions: u32,
    },
    ReadTimeout {
        level: Level,
        received: u8,
        required: u8,
        has_data: bool,
    },
    Syntax(String),
    Invalid(String),
    Configuration(String),
    Exists {
        keyspace: String,
        table: String,
    },
    Unprepared(Vec<u8>),
}

impl Refusal {
    pub fn invalid(why: impl Into<String>) -> Refusal {
        Refusal::Invalid(why.into())
    }

    pub fn configuration(why: impl Into<String>) -> Refusal {
        Refusal::Configuration(why.into())
    }

    /// What the real server does, and this one does not.
    pub fn not_served(what: impl std::fmt::Display) -> Refusal {
        Refusal::Invalid(format!("not served: {what}"))
    }

    pub fn text(&self) -> String {
        match self {
            Refusal::Server(why)
            | Refusal::Protocol(why)
            | Refusal::Syntax(why)
            | Refusal::Invalid(why)
            | Refusal::Configuration(why) => why.clone(),
            Refusal::Unavailable { level, .. } => {
                format!("Cannot achieve consistency level {}", level_name(*level))
            }
            Refusal::WriteTimeout { write: WriteType::Cas, received, required, contentions, .. } => {
                format!(
                    "CAS operation timed out: received {received} of {required} required responses after {contentions} contention \
                     retries"
                )
            }
            Refusal::WriteTimeout { received, .. } => {
                format!("Operation timed out - received only {received} responses.")
            }
            Refusal::ReadTimeout { received, .. } => {
                format!("Operation timed out - received only {received} responses.")
            }
            Refusal::Exists { keyspace, table } if table.is_empty() => {
                format!("Cannot add existing keyspace \"{keyspace}\"")
            }
            Refusal::Exists { keyspace, table } => {
                format!("Cannot add already existing table \"{table}\" to keyspace \"{keyspace}\"")
            }
            Refusal::Unprepared(id) => format!("Prepared query with ID {} not found", hex(id)),
        }
    }

    /// The body of the message.
    pub fn body(&self) -> Writer {
        let code = match self {
            Refusal::Server(_) => 0x0000,
            Refusal::Protocol(_) => 0x000A,
            Refusal::Unavailable { .. } => 0x1000,
            Refusal::WriteTimeout { .. } => 0x1100,
            Refusal::ReadTimeout { .. } => 0x1200,
            Refusal::Syntax(_) => 0x2000,
            Refusal::Invalid(_) => 0x2200,
            Refusal::Configuration(_) => 0x2300,
            Refusal::Exists { .. } => 0x2400,
            Refusal::Unprepared(_) => 0x2500,
        };
        let mut body = Writer::default();
        body.int(code).string(&self.text());
        match self {
            Refusal::Server(_)
            | Refusal::Protocol(_)
            | Refusal::Syntax(_)
            | Refusal::Invalid(_)
            | Refusal::Configuration(_) => {}
            Refusal::Unavailable { level, required, alive } => {
                body.short(level.0).int((*required).into()).int((*alive).into());
            }
            Refusal::WriteTimeout { level, received, required, write, .. } => {
                body.short(level.0).int((*received).into()).int((*required).into()).string(write.word());
            }
            Refusal::ReadTimeout { level, received, required, has_data } => {
                body.short(level.0).int((*received).into()).int((*required).into()).byte((*has_data).into());
            }
            Refusal::Exists { keyspace, table } => {
                body.string(keyspace).string(table);
            }
            Refusal::Unprepared(id) => {
                body.short_bytes(id);
            }
        }
        body
    }
}

impl From<Damaged> for Refusal {
    fn from(damaged: Damaged) -> Refusal {
        Refusal::Protocol(damaged.to_string())
    }
}

/// As CQL calls it.
pub fn level_name(level: Level) -> &'static str {
    match level.0 {
        0 => "ANY",
        1 => "ONE",
        2 => "TWO",
        3 => "THREE",
        4 => "QUORUM",
        5 => "ALL",
        6 => "LOCAL_QUORUM",
        7 => "EACH_QUORUM",
        8 => "SERIAL",
        9 => "LOCAL_SERIAL",
        10 => "LOCAL_ONE",
        _ => "UNKNOWN",
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How long a coordinator waits (`read_request_timeout`, `write_request_timeout` and `cas_contention_timeout` of 4.1's
/// `cassandra.yaml`).
pub const READ_TIMEOUT: Micros = Micros::seconds(5);
pub const WRITE_TIMEOUT: Micros = Micros::seconds(2);
pub const CAS_TIMEOUT: Micros = Micros::seconds(1);
