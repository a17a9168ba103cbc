//! The contract, judged step by step from what clients are told and what servers have applied.

use picklock_model::locks::zookeeper_paths::work_path;
use picklock_model::machine::Store;
use picklock_model::stores::zookeeper::session::Notice;
use picklock_model::stores::zookeeper::{
    Applied, CreateMode, Outcome, Path, SessionId, Suffix, WatchEvent, ZooKeeper, Zxid,
};
use picklock_properties::LockId;
use std::collections::{BTreeMap, BTreeSet};

/// Which promise was broken, and how.
#[derive(PartialEq, Eq, Debug)]
pub enum Broken {
    /// Two servers applied different transactions, or in a different order.
    Diverged { server: u8, zxid: Zxid, had: Vec<String>, has: Vec<String> },
    /// A session saw an older state than before.
    WentBack { client: u8, saw: i32, sees: i32 },
    /// A session was shown a change of what it watches before it was told.
    ShownBeforeItsEvent { client: u8, watched: i32, sees: i32 },
    /// A session is over and its znodes are not.
    Orphaned { server: u8, session: SessionId },
    /// An open session's znode is gone that nobody deleted.
    Bereft { server: u8, path: Path },
    /// Two znodes had one number.
    NumberedTwice { path: Path },
    /// What was acknowledged is not there when all is well again.
    Forgotten { server: u8, path: Path },
    /// The servers do not agree when all is well again.
    OutOfStep { server: u8 },
}

/// What one session has seen.
#[derive(Clone, Default)]
struct Sight {
    /// The largest version of the data it was shown, or told that it made.
    version: i32,
    /// The version it watches.
    watched: Option<i32>,
}

#[derive(Default)]
pub struct Contract {
    /// After each transaction: what any server had then.
    states: BTreeMap<Zxid, Vec<String>>,
    /// By server: what it had applied when it was last looked at.
    looked_at: BTreeMap<u8, Zxid>,
    sights: BTreeMap<u8, Sight>,
    sessions: BTreeSet<SessionId>,
    /// Acknowledged znodes by number.
    numbers: BTreeMap<Suffix, Zxid>,
    /// Acknowledged znodes that stay, or stay as long as their session.
    kept: Vec<(Path, Option<SessionId>)>,
    pub answers: u64,
    pub events: u64,
    pub expiries: u64,
    pub reconnects: u64,
}

/// What the data is that everybody changes, watches and reads.
pub const DATA: Path = work_path(LockId(0));

impl Contract {
    /// A client was told something.
    pub fn hear(
        &mut self,
        client: u8,
        session: Option<SessionId>,
        asked: Option<CreateMode>,
        watches: bool,
        notice: &Notice,
    ) -> Result<(), Broken> {
        self.sessions.extend(session);
        let sight = self.sights.entry(client).or_default();
        match notice {
            Notice::Connected => self.reconnects += 1,
            Notice::Disconnected => {}
            Notice::Expired => {
                self.expiries += 1;
                *sight = Sight::default();
            }
            Notice::Fired(DATA, WatchEvent::DataChanged) => {
                self.events += 1;
                sight.watched = None;
            }
            Notice::Fired(_, _) => self.events += 1,
            Notice::Answered(outcome) => {
                self.answers += 1;
                match outcome {
                    Outcome::Data { stat, .. } => {
                        let sees = stat.version;
                        if sees < sight.version {
                            return Err(Broken::WentBack { client, saw: sight.version, sees });
                        }
                        if let Some(watched) = sight.watched.filter(|watched| sees > *watched) {
                            return Err(Broken::ShownBeforeItsEvent { client, watched, sees });
                        }
                        sight.version = sees;
                        if watches {
                            sight.watched = Some(sees);
                        }
                    }
                    Outcome::Applied(Applied::Set { stat }) => {
                        if let Some(watched) = sight.watched {
                            return Err(Broken::ShownBeforeItsEvent { client, watched, sees: stat.version });
                        }
                        sight.version = sight.version.max(stat.version);
                    }
                    Outcome::Applied(Applied::Created { path, stat }) => {
                        let number = path.suffix().map(|suffix| (suffix, stat.czxid));
                        if let Some((suffix, czxid)) = number
                            && self.numbers.insert(suffix, czxid).is_some_and(|other| other != czxid)
                        {
                            return Err(Broken::NumberedTwice { path: *path });
                        }
                        if let Some(mode) = asked {
                            self.kept.push((*path, session.filter(|_| mode.is_ephemeral())));
                        }
                    }
                    Outcome::Applied(Applied::Done)
                    | Outcome::Multi(_)
                    | Outcome::MultiFailed { .. }
                    | Outcome::Exists(_)
                    | Outcome::Children(_)
                    | Outcome::Synced
                    | Outcome::SessionClosed
                    | Outcome::Failed(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Looks at a server that may have applied something.
    pub fn look(&mut self, number: u8, server: &ZooKeeper) -> Result<(), Broken> {
        let zxid = server.last_applied();
        if self.looked_at.insert(number, zxid) == Some(zxid) {
            return Ok(());
        }
        let has = znodes(server);
        let had = self.states.entry(zxid).or_insert_with(|| has.clone());
        if *had != has {
            return Err(Broken::Diverged { server: number, zxid, had: had.clone(), has });
        }
        for session in &self.sessions {
            if !server.has_session(*session) && server.ephemerals(*session).next().is_some() {
                return Err(Broken::Orphaned { server: number, session: *session });
            }
        }
        Ok(())
    }

    /// All is well again, and has been for a while.
    pub fn end(&self, servers: &[ZooKeeper]) -> Result<(), Broken> {
        for (number, server) in (0..).zip(servers) {
            if server.last_applied() != servers[0].last_applied() {
                return Err(Broken::OutOfStep { server: number });
            }
            for (path, owner) in &self.kept {
                let is_there = server.znode(*path).is_some();
                match owner {
                    None if !is_there => return Err(Broken::Forgotten { server: number, path: *path }),
                    Some(session) if !is_there && server.has_session(*session) => {
                        return Err(Broken::Bereft { server: number, path: *path });
                    }
                    None | Some(_) => {}
                }
            }
        }
        Ok(())
    }
}

/// The tree, without who watches what and who leads.
fn znodes(server: &ZooKeeper) -> Vec<String> {
    server.contents().into_iter().filter(|line| line.starts_with('/')).collect()
}
