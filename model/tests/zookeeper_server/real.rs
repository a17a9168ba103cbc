//! The real side: sessions with the server.

use super::Translation;
use super::server::Server;
use picklock_model::locks::zookeeper_paths::{WORDS, parent_path, work_path};
use picklock_model::stores::zookeeper::{
    Applied, CreateMode, Error, Operation, Outcome, Path, WatchEvent, Write,
};
use picklock_properties::LockId;
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use zookeeper_client as zk;

/// How the real server answered.
#[derive(Debug)]
pub enum Answer {
    Created(String, zk::Stat),
    Set(zk::Stat),
    Done,
    All(Vec<zk::MultiWriteResult>),
    None(usize, zk::Error),
    Exists(zk::Stat),
    Data(Vec<u8>, zk::Stat),
    Children(Vec<String>),
    Synced,
    Failed(zk::Error),
}

/// The event of a watch, once it comes.
type Coming = Pin<Box<dyn Future<Output = zk::WatchedEvent>>>;

struct Session {
    client: zk::Client,
    watchers: Vec<(Path, Coming)>,
}

/// Sessions with the server. Every sequence has a znode of its own for its root.
pub struct Real {
    runtime: Runtime,
    server: Server,
    sessions: Vec<Session>,
    sequence: u32,
}

const ACLS: zk::Acls<'static> = zk::Acls::anyone_all();

impl Real {
    pub fn new(server: Server) -> Real {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        Real { runtime, server, sessions: Vec::new(), sequence: 0 }
    }

    /// Begins a sequence; returns the zxid of the last transaction before it.
    pub fn begin(&mut self, sessions: usize) -> i64 {
        while self.sessions.len() < sessions {
            let session = self.connect();
            self.sessions.push(session);
        }
        self.sessions.iter_mut().for_each(|session| session.watchers.clear());
        self.sequence += 1;
        let create = zk::CreateMode::Persistent.with_acls(ACLS);
        let paths = [Path::Root, parent_path(LockId(0)), work_path(LockId(0))].map(|path| self.text(path));
        let client = &self.sessions[0].client;
        let (stat, _) = self.runtime.block_on(async {
            client.create(&paths[0], b"", &create).await.expect("a root for the sequence");
            client.create(&paths[1], &0u32.to_be_bytes(), &create).await.expect("a parent");
            client.create(&paths[2], &0u32.to_be_bytes(), &create).await.expect("a place to work")
        });
        stat.czxid
    }

    pub fn session(&self, session: usize) -> i64 {
        self.sessions[session].client.session_id().0
    }

    pub fn reopen(&mut self, session: usize) {
        let old = self.sessions.remove(session);
        let mut states = old.client.state_watcher();
        drop(old);
        let state = self.runtime.block_on(states.changed());
        assert_eq!(state, zk::SessionState::Closed);
        let new = self.connect();
        self.sessions.insert(session, new);
    }

    pub fn ask(&mut self, session: usize, operation: &Operation) -> Answer {
        let text = |path: Path| text(self.sequence, path);
        let Session { client, watchers } = &mut self.sessions[session];
        let mut watched = None;
        let answer = self.runtime.block_on(async {
            match operation {
                Operation::Write(Write::Create { path, mode, data }) => {
                    let text = text(*path);
                    client.create(&text, &data.to_be_bytes(), &options(*mode)).await.map(
                        |(stat, sequence)| {
                            let suffix =
                                if mode.is_sequential() { sequence.to_string() } else { String::new() };
                            Answer::Created(text + &suffix, stat)
                        },
                    )
                }
                Operation::Write(Write::Delete { path, version }) => {
                    client.delete(&text(*path), *version).await.map(|()| Answer::Done)
                }
                Operation::Write(Write::SetData { path, data, version }) => {
                    client.set_data(&text(*path), &data.to_be_bytes(), *version).await.map(Answer::Set)
                }
                Operation::Write(Write::Check { .. }) | Operation::CloseSession => {
                    unreachable!("not part of a sequence")
                }
                Operation::Multi(writes) => return multi(client, writes, text).await,
                Operation::Exists { path, watch: false } => client.check_stat(&text(*path)).await.map(found),
                Operation::Exists { path, watch: true } => {
                    client.check_and_watch_stat(&text(*path)).await.map(|(stat, watcher)| {
                        watched = Some((*path, watcher));
                        found(stat)
                    })
                }
                Operation::GetData { path, watch: false } => {
                    client.get_data(&text(*path)).await.map(|(data, stat)| Answer::Data(data, stat))
                }
                Operation::GetData { path, watch: true } => {
                    client.get_and_watch_data(&text(*path)).await.map(|(data, stat, watcher)| {
                        watched = Some((*path, watcher));
                        Answer::Data(data, stat)
                    })
                }
                Operation::GetChildren { path, watch: false } => {
                    client.list_children(&text(*path)).await.map(Answer::Children)
                }
                Operation::GetChildren { path, watch: true } => {
                    client.list_and_watch_children(&text(*path)).await.map(|(children, watcher)| {
                        watched = Some((*path, watcher));
                        Answer::Children(children)
                    })
                }
                Operation::Sync => client.sync("/").await.map(|()| Answer::Synced),
            }
            .unwrap_or_else(Answer::Failed)
        });
        if let Some((path, watcher)) = watched {
            watchers.push((path, Box::pin(watcher.changed())));
        }
        answer
    }

    /// The events since the last time. A request of the same session comes back behind them.
    pub fn events(&mut self, session: usize) -> BTreeSet<(Path, WatchEvent)> {
        let Session { client, watchers } = &mut self.sessions[session];
        if watchers.is_empty() {
            return BTreeSet::new();
        }
        let mut events = BTreeSet::new();
        self.runtime.block_on(async {
            client.check_stat("/").await.expect("the root is there");
            watchers.retain_mut(|(path, watcher)| {
                match pin!(watcher).poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(event) => {
                        events.insert((*path, kind(event.event_type)));
                        false
                    }
                    Poll::Pending => true,
                }
            });
        });
        events
    }

    /// Creates ephemeral sequential znodes in "/lock", each when the one before is done, and returns what was appended to their
    /// names.
    pub fn number(&mut self, names: &[&str]) -> Vec<Result<String, zk::Error>> {
        let session = self.connect();
        let create = zk::CreateMode::EphemeralSequential.with_acls(ACLS);
        let number = |name: &&str| {
            let path = format!("/lock/{name}");
            let created = self.runtime.block_on(session.client.create(&path, b"", &create));
            created.map(|(_, sequence)| sequence.to_string())
        };
        names.iter().map(number).collect()
    }

    fn connect(&self) -> Session {
        let connector = zk::Client::connector().with_session_timeout(Duration::from_secs(30));
        let client = self.runtime.block_on(connector.connect(self.server.address())).expect("a session");
        Session { client, watchers: Vec::new() }
    }

    fn text(&self, path: Path) -> String {
        text(self.sequence, path)
    }
}

/// A path below the root of its sequence.
fn text(sequence: u32, path: Path) -> String {
    match path {
        Path::Root => format!("/{sequence}"),
        path => WORDS.fill_in(&format!("/{sequence}{path}")),
    }
}

fn options(mode: CreateMode) -> zk::CreateOptions<'static> {
    match mode {
        CreateMode::Persistent => zk::CreateMode::Persistent,
        CreateMode::PersistentSequential => zk::CreateMode::PersistentSequential,
        CreateMode::Ephemeral => zk::CreateMode::Ephemeral,
        CreateMode::EphemeralSequential => zk::CreateMode::EphemeralSequential,
    }
    .with_acls(ACLS)
}

async fn multi(client: &zk::Client, writes: &[Write], text: impl Fn(Path) -> String) -> Answer {
    let mut writer = client.new_multi_writer();
    for write in writes {
        match write {
            Write::Create { path, mode, data } => {
                writer.add_create(&text(*path), &data.to_be_bytes(), &options(*mode))
            }
            Write::Delete { path, version } => writer.add_delete(&text(*path), *version),
            Write::SetData { path, data, version } => {
                writer.add_set_data(&text(*path), &data.to_be_bytes(), *version)
            }
            Write::Check { path, version } => {
                writer.add_check_version(&text(*path), version.expect("the client wants a version"))
            }
        }
        .expect("a write the client takes");
    }
    match writer.commit().await {
        Ok(all) => Answer::All(all),
        Err(zk::MultiWriteError::OperationFailed { index, source }) => Answer::None(index, source),
        Err(zk::MultiWriteError::RequestFailed { source }) => Answer::Failed(source),
    }
}

fn found(stat: Option<zk::Stat>) -> Answer {
    stat.map_or(Answer::Failed(zk::Error::NoNode), Answer::Exists)
}

fn kind(event: zk::EventType) -> WatchEvent {
    match event {
        zk::EventType::NodeCreated => WatchEvent::Created,
        zk::EventType::NodeDeleted => WatchEvent::Deleted,
        zk::EventType::NodeDataChanged => WatchEvent::DataChanged,
        zk::EventType::NodeChildrenChanged => WatchEvent::ChildrenChanged,
        zk::EventType::Session => panic!("the session broke"),
    }
}

fn same_error(model: Error, real: &zk::Error) -> bool {
    match model {
        Error::NoNode => *real == zk::Error::NoNode,
        Error::NodeExists => *real == zk::Error::NodeExists,
        Error::BadVersion => *real == zk::Error::BadVersion,
        Error::NotEmpty => *real == zk::Error::NotEmpty,
        Error::NoChildrenForEphemerals => *real == zk::Error::NoChildrenForEphemerals,
        Error::SessionExpired => *real == zk::Error::SessionExpired,
        Error::BadArguments => false,
    }
}

/// The end of a path, without what stands for the sequence's root.
fn ends_with(real: &str, path: Path) -> bool {
    real.trim_start_matches('/')
        .split_once('/')
        .is_some_and(|(_, rest)| WORDS.fill_in(&path.to_string()) == format!("/{rest}"))
}

impl Answer {
    /// In a word, for the count of what was seen.
    pub fn kind(&self) -> String {
        match self {
            Answer::Created(..) => "created".to_string(),
            Answer::Set(_) => "set".to_string(),
            Answer::Done => "done".to_string(),
            Answer::All(_) => "all".to_string(),
            Answer::None(..) => "none".to_string(),
            Answer::Exists(_) => "exists".to_string(),
            Answer::Data(..) => "data".to_string(),
            Answer::Children(_) => "children".to_string(),
            Answer::Synced => "synced".to_string(),
            Answer::Failed(error) => format!("{error:?}"),
        }
    }

    /// Whether the model's outcome says the same.
    pub fn is(&self, model: &Outcome, translation: &Translation) -> bool {
        match (model, self) {
            (Outcome::Applied(Applied::Created { path, stat }), Answer::Created(real_path, real)) => {
                ends_with(real_path, *path) && translation.same_stat(stat, real)
            }
            (Outcome::Applied(Applied::Set { stat }), Answer::Set(real))
            | (Outcome::Exists(stat), Answer::Exists(real)) => translation.same_stat(stat, real),
            (Outcome::Applied(Applied::Done), Answer::Done) | (Outcome::Synced, Answer::Synced) => true,
            (Outcome::Data { data, stat }, Answer::Data(real_data, real)) => {
                real_data.as_slice() == data.to_be_bytes() && translation.same_stat(stat, real)
            }
            (Outcome::Children(paths), Answer::Children(real)) => {
                let name = |path: &Path| {
                    let text = WORDS.fill_in(&path.to_string());
                    text.rsplit_once('/').map_or(String::new(), |(_, name)| name.to_string())
                };
                let ours: BTreeSet<String> = paths.iter().map(name).collect();
                let theirs: BTreeSet<String> = real.iter().cloned().collect();
                ours == theirs && paths.len() == real.len()
            }
            (Outcome::Multi(all), Answer::All(real)) => {
                all.len() == real.len()
                    && all.iter().zip(real).all(|(ours, real)| same_part(ours, real, translation))
            }
            (Outcome::MultiFailed { place, error }, Answer::None(real_place, real)) => {
                usize::from(*place) == *real_place && same_error(*error, real)
            }
            (Outcome::Failed(error), Answer::Failed(real)) => same_error(*error, real),
            (_, _) => false,
        }
    }
}

fn same_part(model: &Applied, real: &zk::MultiWriteResult, translation: &Translation) -> bool {
    match (model, real) {
        (Applied::Created { path, stat }, zk::MultiWriteResult::Create { path: real_path, stat: real }) => {
            // Some servers return no stat here (ZOOKEEPER-4026).
            ends_with(real_path, *path) && (real.is_invalid() || translation.same_stat(stat, real))
        }
        (Applied::Set { stat }, zk::MultiWriteResult::SetData { stat: real }) => {
            translation.same_stat(stat, real)
        }
        (Applied::Done, zk::MultiWriteResult::Delete | zk::MultiWriteResult::Check) => true,
        (_, _) => false,
    }
}
