//! Variables in ZooKeeper.

use super::{Ask, Cell, Cells, Heard, Question, Version, Word};
use crate::machine::{Effects, Visitor};
use crate::stores::zookeeper::session::{self, Notice, Notices, Session, SessionSettings};
use crate::stores::zookeeper::{
    Applied, CreateMode, Error, Operation, Outcome, Path, Reply, Stat, Write, ZooKeeper,
};
use crate::time::Monotonic;
use serde::{Deserialize, Serialize};

/// In ZooKeeper: a znode a variable, with `create`, `setData` and `delete` of a version.
///
/// A session is begun with the first request, and another one after it has expired. A request that was under way when the
/// connection went is unknown (CONNECTIONLOSS).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum InZooKeeper {}

/// How variables are read, and the session is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ZooKeeperReads {
    /// Has its server catch up with the leader before it reads (the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*,
    /// WTF #4).
    pub sync_before_read: bool,
    /// How the session is held.
    pub session: SessionSettings,
}

impl Default for ZooKeeperReads {
    /// Without `sync`, as everybody does.
    fn default() -> ZooKeeperReads {
        ZooKeeperReads { sync_before_read: false, session: SessionSettings::DEFAULT }
    }
}

/// A client's session, and what it is asked for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Connection {
    session: Session,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Stage {
    /// Nothing is asked for.
    Idle,
    /// Will ask when there is a connection.
    WaitsForConnection(Question),
    /// Has the server catch up before it reads.
    Syncs(Cell),
    /// Has asked.
    Asks(Question),
}

type Here<'a> = super::Here<'a, ZooKeeperReads>;
type Out = Effects<ZooKeeper>;

fn library<'a>(here: &Here<'a>) -> session::Here<'a> {
    session::Here { me: here.me, servers: here.servers, now: here.now, settings: &here.settings.session }
}

impl Connection {
    fn send(&mut self, question: Question, here: &Here, out: &mut Out) {
        let Question { cell, ask } = question;
        if !self.session.is_up() {
            if self.session.is_over() {
                self.session.connect(&library(here), out);
            }
            self.stage = Stage::WaitsForConnection(question);
        } else if ask == Ask::Get && here.settings.sync_before_read && !matches!(self.stage, Stage::Syncs(_))
        {
            self.stage = Stage::Syncs(cell);
            self.session.request(Operation::Sync, &library(here), out);
        } else {
            self.stage = Stage::Asks(question);
            self.session.request(operation(question), &library(here), out);
        }
    }

    fn take(&mut self, notices: Notices, here: &Here, out: &mut Out) -> Option<Word> {
        let mut word = None;
        for notice in notices {
            match (notice, self.stage) {
                (Notice::Connected, Stage::WaitsForConnection(question)) => self.send(question, here, out),
                (Notice::Answered(_), Stage::Syncs(cell)) => {
                    self.send(Question { cell, ask: Ask::Get }, here, out);
                }
                (Notice::Answered(outcome), Stage::Asks(question)) => {
                    self.stage = Stage::Idle;
                    word = Some(Word::Heard(heard(question.ask, &outcome)));
                }
                (Notice::Disconnected | Notice::Expired, Stage::Syncs(_) | Stage::Asks(_)) => {
                    self.stage = Stage::Idle;
                    word = Some(Word::Unknown);
                }
                (Notice::Expired, Stage::WaitsForConnection(_)) => {
                    self.session.connect(&library(here), out);
                }
                (Notice::Connected | Notice::Disconnected | Notice::Expired, _)
                | (Notice::Answered(_), Stage::Idle | Stage::WaitsForConnection(_))
                | (Notice::Fired(..), _) => {}
            }
        }
        word
    }
}

fn operation(Question { cell, ask }: Question) -> Operation {
    let path = Path::top(cell.word, cell.number);
    match ask {
        Ask::Get => Operation::GetData { path, watch: false },
        Ask::SetIfVersion(Version::ABSENT, Some(data)) => {
            Operation::Write(Write::Create { path, mode: CreateMode::Persistent, data })
        }
        // Nothing is to be done if it is not there.
        Ask::SetIfVersion(Version::ABSENT, None) => Operation::Exists { path, watch: false },
        Ask::SetIfVersion(version, new) => {
            let version = Some(version.number() as i32 - 1);
            Operation::Write(match new {
                Some(data) => Write::SetData { path, data, version },
                None => Write::Delete { path, version },
            })
        }
        Ask::Set(_) | Ask::SetIfContent { .. } => unreachable!("it is read before"),
    }
}

/// The first version of a znode is 0.
fn version_of(stat: &Stat) -> Version {
    Version::from(stat.version as u32 + 1)
}

fn heard(ask: Ask, outcome: &Outcome) -> Heard {
    match (ask, outcome) {
        (Ask::Get, Outcome::Data { data, stat }) => Heard::Found(Some(*data), version_of(stat)),
        (Ask::Get, Outcome::Failed(Error::NoNode)) => Heard::Found(None, Version::ABSENT),
        (Ask::SetIfVersion(Version::ABSENT, None), outcome) => {
            Heard::Set(*outcome == Outcome::Failed(Error::NoNode))
        }
        (
            Ask::SetIfVersion(..),
            Outcome::Applied(Applied::Created { .. } | Applied::Set { .. } | Applied::Done),
        ) => Heard::Set(true),
        (Ask::SetIfVersion(..), Outcome::Failed(Error::NodeExists | Error::NoNode | Error::BadVersion)) => {
            Heard::Set(false)
        }
        _ => Heard::Failed,
    }
}

impl Cells for InZooKeeper {
    type Store = ZooKeeper;
    type Settings = ZooKeeperReads;
    type Link = Connection;

    const TIMES_OUT: bool = false;

    fn link(_me: u8) -> Connection {
        Connection { session: Session::new(), stage: Stage::Idle }
    }

    fn ask(link: &mut Connection, question: Question, _serial: u32, here: &Here, out: &mut Out) {
        link.send(question, here, out);
    }

    fn on_reply(
        link: &mut Connection,
        reply: &Reply,
        _serial: u32,
        here: &Here,
        out: &mut Out,
    ) -> Option<Word> {
        let notices = link.session.on_reply(reply.clone(), &library(here));
        link.take(notices, here, out)
    }

    fn on_deadline(link: &mut Connection, here: &Here, out: &mut Out) -> Option<Word> {
        let notices = link.session.on_deadline(&library(here), out);
        link.take(notices, here, out)
    }

    fn deadline(link: &Connection) -> Option<Monotonic> {
        link.session.deadline()
    }

    fn on_restart(link: &mut Connection, _me: u8) {
        link.session.restart();
        link.stage = Stage::Idle;
    }

    fn dismisses(link: &Connection, reply: &Reply, _serial: u32, _is_asking: bool) -> bool {
        link.session.dismisses(reply)
    }

    fn visit_link<V: Visitor>(link: &mut Connection, visitor: &mut V) {
        link.session.visit(visitor);
    }

    fn first(ask: Ask) -> Ask {
        super::read_first(ask)
    }

    fn then(ask: Ask, heard: Heard) -> Result<Heard, Ask> {
        super::then_set(ask, heard)
    }
}
