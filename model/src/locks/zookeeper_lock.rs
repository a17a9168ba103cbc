//! The ZooKeeper recipe: the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, "Система распределенных блокировок",
//! five steps.
//!
//! Whoever wants the lock puts an ephemeral sequential znode below the lock's parent. The first one in the order of the
//! sequence numbers holds; everybody else watches the one right before.
//!
//! ```text
//!   step                                        A            ZooKeeper           B
//!   1  create an ephemeral sequential znode     │── create ───▶│                 │
//!      `_locknode_/guid-lock-`                  │◀─ …lock-0 ───│◀────── create ──│
//!   2  list the children, without a watch       │── children ─▶│─── …lock-1 ────▶│
//!   3  the own one is first: done               │ holds        │◀──── children ──│
//!   4  else: does the one before exist? watch   │              │◀── exists …-0? ─│
//!   5  no: go to 2. yes: wait for the event,    │── delete ───▶│                 │ waits
//!      go to 2                                  │              │─── deleted! ───▶│ lists again, holds
//! ```
//!
//! **What it lives on.** One order of all creates, in which the own create bounds what the client may miss: a server
//! that lags shows its client no less than the client's own znode, and so everything before it. A session that ends takes
//! its znode along, and its client is told in time, or stops by itself.
//!
//! **What breaks it.** A holder that outlives its session: paused, or cut off and going on; the server judges when a session
//! is over, and the client learns it last. A sequence number that wraps or sticks. A create or delete whose outcome is
//! unknown and that nobody looks after. And work outside of the ensemble, which nothing orders with the lock (the source's
//! closing question): that wants a fencing token. Work inside is ordered with the lock as long as it goes
//! through the lock's own session, whose end ends both. A library that repeats a write in another session
//! ([`OnConnectionLoss::GoOnInAnother`]) undoes that; what helps is to write in one transaction with a check that the own
//! znode is there ([`Fence::Check`]).
//!
//! **Where the source is silent.** What happens while the connection is gone (here: requests wait for the next one; a
//! create is looked for by its guid, a delete repeated), when the session expires (everything begins anew with another
//! session), and whether a holder without a connection goes on ([`OnConnectionLoss`]). Steps 3 and 4 sort by the number in
//! the name as text, which is what implementations do; it is the order of the numbers as long as they are not negative.

mod settings;
#[cfg(test)]
mod tests;

pub use settings::{Fence, OnConnectionLoss, Order, Parent, Retries, Settings, Watch};

use super::zookeeper_paths::{self, parent_path, place_path, work_path};
use crate::machine::{Answer, Call, Context, Effects, IDLE, Idle, Line, Lock, UNCHECKED_TOKENS, Visitor};
use crate::names::Words;
use crate::stores::zookeeper::session::{Here, Notice, Notices, Session};
use crate::stores::zookeeper::{
    Applied, Change, CreateMode, Error, Guid, Operation, Outcome, Path, Reply, Suffix, Write, ZooKeeper, Zxid,
};
use crate::time::{Due, Micros};
use crate::workload::{Workload, Writes};
use picklock_properties::{ClientId, Event, FencingToken, LockId, Mode};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// One client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ZookeeperLock {
    /// The client's library.
    session: Session,
    /// The lock that is or was last asked for.
    lock: LockId,
    /// Which call is being served.
    mode: Mode,
    phase: Phase,
    /// The guid of the own znode, drawn for this attempt.
    guid: Option<Guid>,
    /// The own znode, once known.
    own: Option<Path>,
    /// Which transaction created it, once known and if asked for.
    czxid: Option<Zxid>,
}

/// Where the client stands, by the steps of the source.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Outside any call.
    Idle,
    /// 1: deletes the parent, if nobody's znode is there.
    DropParent,
    /// 1: creates its znode.
    Create,
    /// 1: there is no parent; creates it.
    CreateParent,
    /// 1: the outcome is unknown; has its server catch up first.
    Sync,
    /// 1: looks for its guid among the children.
    Search,
    /// 2: lists the children.
    List,
    /// 3: is first, and does not know its fencing token yet.
    Token,
    /// 4: does the one before exist?
    Watch { target: Path },
    /// 5: waits for the event.
    Wait,
    /// 3: returned; the application holds.
    Held,
    /// Writes for the application, which holds.
    Write,
    /// The application was told that it does not hold any more.
    Lost,
    /// Deletes its znode, and then answers.
    Leave { released: bool },
    /// Has its server catch up before it looks for the guid of an attempt that was given up; a call may wait for the end of it.
    CleanSync { guid: Guid, call: Option<(LockId, Mode)> },
    /// Looks for the guid of an attempt that was given up; a call may wait for the end of it.
    CleanSearch { guid: Guid, call: Option<(LockId, Mode)> },
    /// Deletes a znode that was given up; a call may wait for the end of it.
    CleanDelete { path: Path, call: Option<(LockId, Mode)> },
}

/// What enters the client's `match`.
enum Input {
    Call(Call),
    /// There is a connection again.
    Up,
    /// There is none any more, and the outcome of what was asked is unknown.
    Down,
    /// The session is over.
    Expired,
    /// The request of this phase is answered.
    Answered(Outcome),
    /// A watch has fired.
    Fired,
}

type Cx<'a> = Context<'a, Settings>;
type Out = Effects<ZooKeeper>;

impl ZookeeperLock {
    /// The five steps, and what becomes of them when the connection goes.
    fn step(&mut self, input: Input, cx: &Cx, out: &mut Out) {
        match (self.phase, input) {
            (Phase::Idle, Input::Call(Call::Acquire { lock, mode, access: _ })) => {
                self.ask(lock, mode, cx, out)
            }
            // The library cleans up; the call waits.
            (Phase::CleanSync { guid, call: None }, Input::Call(Call::Acquire { lock, mode, access: _ })) => {
                self.phase = Phase::CleanSync { guid, call: Some((lock, mode)) };
            }
            (
                Phase::CleanSearch { guid, call: None },
                Input::Call(Call::Acquire { lock, mode, access: _ }),
            ) => {
                self.phase = Phase::CleanSearch { guid, call: Some((lock, mode)) };
            }
            (
                Phase::CleanDelete { path, call: None },
                Input::Call(Call::Acquire { lock, mode, access: _ }),
            ) => {
                self.phase = Phase::CleanDelete { path, call: Some((lock, mode)) };
            }

            // Step 1.
            (Phase::Create, Input::Answered(Outcome::Applied(Applied::Created { path, stat }))) => {
                self.own = Some(path);
                self.czxid = (cx.settings.fence == Fence::Czxid).then_some(stat.czxid);
                self.go(Phase::List, cx, out);
            }
            (Phase::Create, Input::Answered(Outcome::Failed(Error::NoNode))) => {
                self.go(Phase::CreateParent, cx, out);
            }
            // Without a guid, and with a counter that sticks: the name is taken for as long as its owner is there.
            (Phase::Create, Input::Answered(Outcome::Failed(_))) => self.fail(cx, out),
            (Phase::Create, Input::Down) => match (cx.settings.retries, self.guid) {
                // "зная его и запросив детей, мы можем легко определить создали мы новый узел или нет"
                (Retries::UntilKnown, Some(_)) if cx.settings.sync_before_search => self.phase = Phase::Sync,
                (Retries::UntilKnown, Some(_)) => self.phase = Phase::Search,
                // Nobody could tell which of the children is the own one: creates another.
                (Retries::UntilKnown, None) => {}
                (Retries::BackgroundDelete, Some(guid)) => {
                    let call = match self.mode {
                        Mode::Lock => Some((self.lock, Mode::Lock)),
                        Mode::TryLock => None,
                    };
                    self.phase = match cx.settings.sync_before_search {
                        true => Phase::CleanSync { guid, call },
                        false => Phase::CleanSearch { guid, call },
                    };
                    if self.mode == Mode::TryLock {
                        self.forget_call();
                        out.answer(Answer::Refused);
                    }
                }
                (Retries::GivenUp, _) | (Retries::BackgroundDelete, None) => self.fail(cx, out),
            },
            // Deleted, or somebody's znode is there.
            (Phase::DropParent, Input::Answered(_)) => self.go(Phase::Create, cx, out),
            (Phase::CreateParent, Input::Answered(_)) => self.go(Phase::Create, cx, out),
            (Phase::Sync, Input::Answered(_)) => self.go(Phase::Search, cx, out),
            (Phase::Search, Input::Answered(Outcome::Children(children))) => {
                self.own = children
                    .iter()
                    .copied()
                    .filter(|child| child.guid() == self.guid)
                    .min_by(|one, two| in_queue(one, two, cx.settings.order));
                let next = if self.own.is_some() { Phase::List } else { Phase::Create };
                self.go(next, cx, out);
            }
            (Phase::Search, Input::Answered(_)) => self.go(Phase::Create, cx, out),

            // Steps 2 to 4.
            (Phase::List, Input::Answered(Outcome::Children(mut children))) => {
                children.sort_unstable_by(|one, two| in_queue(one, two, cx.settings.order));
                match children.iter().position(|child| Some(*child) == self.own) {
                    Some(0) => self.hold(cx, out),
                    Some(_) if self.mode == Mode::TryLock => {
                        self.go(Phase::Leave { released: false }, cx, out);
                    }
                    Some(place) => {
                        let last = children.len() - 1;
                        match cx.settings.watch {
                            Watch::Parent => self.phase = Phase::Wait,
                            Watch::Predecessor => self.watch(children[place - 1], cx, out),
                            Watch::First => self.watch(children[0], cx, out),
                            Watch::Successor => self.watch(children[last.min(place + 1)], cx, out),
                        }
                    }
                    // The own znode is gone although the session is not over.
                    None => self.begin(self.mode, cx, out),
                }
            }
            (Phase::List, Input::Answered(_)) => self.begin(self.mode, cx, out),
            (Phase::Token, Input::Answered(Outcome::Exists(stat))) => {
                self.czxid = Some(stat.czxid);
                self.hold(cx, out);
            }
            (Phase::Token, Input::Answered(_)) => self.begin(self.mode, cx, out),
            (Phase::Watch { .. }, Input::Answered(Outcome::Exists(_))) => self.phase = Phase::Wait,

            // Step 5.
            (Phase::Watch { .. }, Input::Answered(_)) => self.go(Phase::List, cx, out),
            (Phase::Wait, Input::Fired) => {
                out.record(Event::Woken { client: ClientId(cx.me) });
                match cx.settings.relists {
                    true => self.go(Phase::List, cx, out),
                    false => self.hold(cx, out),
                }
            }

            // The next server may be behind, too.
            (Phase::Search, Input::Down) if cx.settings.sync_before_search => self.phase = Phase::Sync,
            (Phase::CleanSearch { guid, call }, Input::Down) if cx.settings.sync_before_search => {
                self.phase = Phase::CleanSync { guid, call };
            }
            // Reads are repeated on the next connection, and so is what may be done twice without harm. A waiter's watch is
            // the library's to set again.
            (
                Phase::DropParent
                | Phase::CreateParent
                | Phase::Sync
                | Phase::Search
                | Phase::List
                | Phase::Token
                | Phase::Watch { .. }
                | Phase::Wait
                | Phase::CleanSync { .. }
                | Phase::CleanSearch { .. }
                | Phase::CleanDelete { .. }
                | Phase::Idle
                | Phase::Lost,
                Input::Down,
            ) => {}
            (Phase::Held, Input::Down) => match cx.settings.on_connection_loss {
                OnConnectionLoss::Stop => {
                    self.phase = Phase::Lost;
                    out.answer(Answer::Lost);
                }
                OnConnectionLoss::GoOn | OnConnectionLoss::GoOnInAnother => {}
            },
            (Phase::Write, Input::Down) => match (cx.settings.on_connection_loss, cx.settings.retries) {
                (OnConnectionLoss::GoOn | OnConnectionLoss::GoOnInAnother, Retries::UntilKnown) => {}
                // Done or not, nobody will know.
                (OnConnectionLoss::Stop, _) | (_, Retries::GivenUp | Retries::BackgroundDelete) => {
                    self.phase = Phase::Lost;
                    out.answer(Answer::Lost);
                }
            },
            (phase, Input::Up) => self.go(phase, cx, out),

            // The work, if it is inside the ensemble.
            (Phase::Held, Input::Call(Call::Write)) => self.go(Phase::Write, cx, out),
            (Phase::Write, Input::Answered(outcome)) => {
                self.phase = Phase::Held;
                let accepted = match outcome {
                    Outcome::Applied(_) | Outcome::Multi(_) => true,
                    // The own znode is gone, or the session is over.
                    Outcome::MultiFailed { .. } | Outcome::Failed(_) => false,
                    Outcome::Exists(_)
                    | Outcome::Data { .. }
                    | Outcome::Children(_)
                    | Outcome::Synced
                    | Outcome::SessionClosed => unreachable!("a write is answered like a write"),
                };
                out.answer(Answer::Written { accepted });
            }

            // The release: the application leaves, or a refused client does.
            (Phase::Held, Input::Call(Call::Release)) => self.go(Phase::Leave { released: true }, cx, out),
            (Phase::Lost, Input::Call(Call::Release)) => match self.own {
                Some(_) => self.go(Phase::Leave { released: true }, cx, out),
                None => self.finish(true, out),
            },
            (Phase::Leave { released }, Input::Answered(_)) => self.finish(released, out),
            (Phase::Leave { released }, Input::Down) => match (cx.settings.retries, self.own) {
                (Retries::UntilKnown, _) => {}
                (Retries::GivenUp, _) | (Retries::BackgroundDelete, None) => self.finish(released, out),
                (Retries::BackgroundDelete, Some(path)) => {
                    self.finish(released, out);
                    self.phase = Phase::CleanDelete { path, call: None };
                }
            },

            // Curator's background deletion.
            (Phase::CleanSync { guid, call }, Input::Answered(_)) => {
                self.go(Phase::CleanSearch { guid, call }, cx, out);
            }
            (Phase::CleanSearch { guid, call }, Input::Answered(Outcome::Children(children))) => {
                match children.iter().find(|child| child.guid() == Some(guid)) {
                    Some(path) => self.go(Phase::CleanDelete { path: *path, call }, cx, out),
                    None => self.cleaned(call, cx, out),
                }
            }
            (Phase::CleanSearch { call, .. } | Phase::CleanDelete { call, .. }, Input::Answered(_)) => {
                self.cleaned(call, cx, out);
            }

            // SESSIONEXPIRED: the own znode is gone, will be (where the library judges itself), or will never be there.
            (Phase::Idle, Input::Expired) => {}
            (
                Phase::DropParent
                | Phase::Create
                | Phase::CreateParent
                | Phase::Sync
                | Phase::Search
                | Phase::List
                | Phase::Token
                | Phase::Watch { .. }
                | Phase::Wait,
                Input::Expired,
            ) => self.begin(self.mode, cx, out),
            // The write is not done, and not given up: with another session.
            (Phase::Write, Input::Expired)
                if cx.settings.on_connection_loss == OnConnectionLoss::GoOnInAnother =>
            {
                self.go(Phase::Write, cx, out);
            }
            (Phase::Held | Phase::Write, Input::Expired) => {
                self.forget_znode();
                self.phase = Phase::Lost;
                out.answer(Answer::Lost);
            }
            (Phase::Lost, Input::Expired) => self.forget_znode(),
            (Phase::Leave { released }, Input::Expired) => {
                self.finish(released, out);
            }
            (
                Phase::CleanSync { call, .. }
                | Phase::CleanSearch { call, .. }
                | Phase::CleanDelete { call, .. },
                Input::Expired,
            ) => self.cleaned(call, cx, out),

            // An event of a watch that a waiter does not wait for any more: it lists or has left already.
            (_, Input::Fired) => {}

            (Phase::Idle | Phase::Wait | Phase::Held | Phase::Lost, Input::Answered(_)) => {
                unreachable!("nothing is asked in this phase")
            }
            (Phase::Create, Input::Answered(_)) => unreachable!("a create is answered like a create"),
            (_, Input::Call(_)) => {
                unreachable!(
                    "the application calls only an idle lock, and writes and releases only under a held one"
                )
            }
        }
    }

    /// What a phase asks of the ensemble.
    fn operation(&self, cx: &Cx) -> Option<Operation> {
        let list = |watch| Some(Operation::GetChildren { path: self.parent(), watch });
        let delete = |path| Some(Operation::Write(Write::Delete { path, version: None }));
        match self.phase {
            Phase::Idle | Phase::Wait | Phase::Held | Phase::Lost => None,
            Phase::Create => Some(Operation::Write(Write::Create {
                path: place_path(self.lock, self.guid),
                mode: CreateMode::EphemeralSequential,
                data: 0,
            })),
            Phase::CreateParent => Some(Operation::Write(Write::Create {
                path: self.parent(),
                mode: CreateMode::Persistent,
                data: 0,
            })),
            Phase::Sync | Phase::CleanSync { .. } => Some(Operation::Sync),
            Phase::Search | Phase::CleanSearch { .. } => list(false),
            Phase::List => list(cx.settings.watch == Watch::Parent && self.mode == Mode::Lock),
            Phase::Token => self.own.map(|path| Operation::Exists { path, watch: false }),
            Phase::Watch { target } => Some(Operation::Exists { path: target, watch: true }),
            Phase::Write => {
                let write =
                    Write::SetData { path: work_path(self.lock), data: u32::from(cx.me) + 1, version: None };
                Some(match (cx.settings.fence, self.own) {
                    (Fence::Check, Some(path)) => {
                        Operation::Multi(vec![Write::Check { path, version: None }, write])
                    }
                    (Fence::Check, None) => unreachable!("who holds knows its znode"),
                    (Fence::None | Fence::Czxid | Fence::Sequence, _) => Operation::Write(write),
                })
            }
            Phase::Leave { .. } => self.own.and_then(delete),
            Phase::DropParent => delete(self.parent()),
            Phase::CleanDelete { path, .. } => delete(path),
        }
    }

    /// Goes to a phase, and asks what it has to ask: now, or when there is a connection.
    fn go(&mut self, phase: Phase, cx: &Cx, out: &mut Out) {
        self.phase = phase;
        if phase == Phase::List {
            self.session.forget_watches();
        }
        let Some(operation) = self.operation(cx) else { return };
        let here = Here::new(cx, &cx.settings.session);
        if self.session.is_over() {
            self.session.connect(&here, out);
        } else if self.session.is_up() {
            self.session.request(operation, &here, out);
        }
    }

    /// Step 1, with a new guid.
    /// The lock's parent, `_locknode_`.
    fn parent(&self) -> Path {
        parent_path(self.lock)
    }

    fn ask(&mut self, lock: LockId, mode: Mode, cx: &Cx, out: &mut Out) {
        self.lock = lock;
        self.begin(mode, cx, out);
    }

    fn begin(&mut self, mode: Mode, cx: &Cx, out: &mut Out) {
        self.forget_call();
        self.mode = mode;
        self.guid = cx.settings.guid.then(|| Guid { client: cx.me, serial: self.session.draw() });
        let first = match cx.settings.parent {
            Parent::Kept => Phase::Create,
            Parent::RecreatedWhenEmpty => Phase::DropParent,
        };
        self.go(first, cx, out);
    }

    /// Step 4.
    fn watch(&mut self, target: Path, cx: &Cx, out: &mut Out) {
        self.go(Phase::Watch { target }, cx, out);
    }

    /// Step 3.
    fn hold(&mut self, cx: &Cx, out: &mut Out) {
        let fence = match (cx.settings.fence, self.own.and_then(Path::suffix), self.czxid) {
            (Fence::None | Fence::Check, _, _) | (Fence::Sequence, Some(Suffix::Order(_)) | None, _) => None,
            (Fence::Sequence, Some(Suffix::Number(number)), _) => Some(FencingToken(i64::from(number))),
            (Fence::Czxid, _, Some(czxid)) => Some(czxid.token()),
            // Found by its guid: only its name is known.
            (Fence::Czxid, _, None) => return self.go(Phase::Token, cx, out),
        };
        self.session.forget_watches();
        self.phase = Phase::Held;
        let client = ClientId(cx.me);
        out.record(Event::Secured { client, servers: [0].into_iter().collect() });
        out.answer(Answer::Granted { fence });
    }

    /// The call ends in an error: whoever wants the lock calls again.
    fn fail(&mut self, cx: &Cx, out: &mut Out) {
        match self.mode {
            Mode::Lock => self.begin(Mode::Lock, cx, out),
            Mode::TryLock => self.finish(false, out),
        }
    }

    fn finish(&mut self, released: bool, out: &mut Out) {
        self.phase = Phase::Idle;
        self.forget_call();
        out.answer(if released { Answer::Released } else { Answer::Refused });
    }

    fn cleaned(&mut self, call: Option<(LockId, Mode)>, cx: &Cx, out: &mut Out) {
        self.phase = Phase::Idle;
        if let Some((lock, mode)) = call {
            self.ask(lock, mode, cx, out);
        }
    }

    fn forget_call(&mut self) {
        self.session.forget_watches();
        self.mode = Mode::Lock;
        self.forget_znode();
    }

    fn forget_znode(&mut self) {
        self.guid = None;
        self.own = None;
        self.czxid = None;
    }

    fn take(&mut self, notices: Notices, cx: &Cx, out: &mut Out) {
        for notice in notices {
            let input = match notice {
                Notice::Connected => Input::Up,
                Notice::Disconnected => Input::Down,
                Notice::Expired => Input::Expired,
                Notice::Answered(outcome) => Input::Answered(outcome),
                Notice::Fired(_, _) => Input::Fired,
            };
            self.step(input, cx, out);
        }
    }
}

/// The order of steps 3 and 4: by the number in the name; then, should two have the same, by the whole name.
fn in_queue(one: &Path, two: &Path, order: Order) -> Ordering {
    let by_number = match (one.suffix(), two.suffix(), order) {
        (Some(Suffix::Number(one)), Some(Suffix::Number(two)), Order::Wrapping) => {
            one.wrapping_sub(two).cmp(&0)
        }
        (Some(one), Some(two), Order::Text | Order::Wrapping) => one.cmp_text(two),
        (one, two, _) => one.cmp(&two),
    };
    by_number.then_with(|| one.cmp(two))
}

/// Why [`Fence::Check`] does nothing.
const INSIDE_ONLY: &str = "it goes with a write inside of the store, and nothing is written there: --set writes=Store --property \
                           fenced-resource has holders write there";

impl Lock for ZookeeperLock {
    type Store = ZooKeeper;
    type Settings = Settings;

    const SHOWS_CLIENTS: bool = true;

    const WORDS: Words = zookeeper_paths::WORDS;

    const WRITES_INSIDE: bool = true;

    fn new(_me: u8, _settings: &Settings) -> Self {
        ZookeeperLock {
            session: Session::new(),
            lock: LockId::default(),
            mode: Mode::Lock,
            phase: Phase::Idle,
            guid: None,
            own: None,
            czxid: None,
        }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Out) {
        self.step(Input::Call(call), cx, out);
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Cx, out: &mut Out) {
        let notices = self.session.on_reply(reply, &Here::new(cx, &cx.settings.session));
        self.take(notices, cx, out);
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Out) {
        let notices = self.session.on_deadline(&Here::new(cx, &cx.settings.session), out);
        self.take(notices, cx, out);
    }

    fn on_restart(&mut self, _cx: &Cx) {
        self.session.restart();
        self.phase = Phase::Idle;
        self.forget_call();
    }

    fn means(change: &Change, server: u8) -> Option<Event> {
        zookeeper_paths::means(change, server)
    }

    fn deadline(&self, _settings: &Settings) -> Option<Due> {
        self.session.deadline().map(Due::Monotonic)
    }

    fn dismisses(&self, reply: &Reply) -> bool {
        self.session.dismisses(reply)
    }

    fn visit<V: Visitor>(&mut self, _settings: &Settings, visitor: &mut V) {
        self.session.visit(visitor);
        match &mut self.phase {
            Phase::Watch { target: path } | Phase::CleanDelete { path, .. } => path.visit(visitor),
            Phase::CleanSync { guid, .. } | Phase::CleanSearch { guid, .. } => visit_guid(guid, visitor),
            Phase::Idle
            | Phase::DropParent
            | Phase::Create
            | Phase::CreateParent
            | Phase::Sync
            | Phase::Search
            | Phase::List
            | Phase::Token
            | Phase::Wait
            | Phase::Held
            | Phase::Write
            | Phase::Lost
            | Phase::Leave { .. } => {}
        }
        self.guid.iter_mut().for_each(|guid| visit_guid(guid, visitor));
        self.own.iter_mut().for_each(|path| path.visit(visitor));
        self.czxid.iter_mut().for_each(|zxid| zxid.visit(visitor));
    }

    fn line(&self) -> Line {
        let step = match self.phase {
            Phase::DropParent | Phase::Create | Phase::CreateParent | Phase::Sync | Phase::Search => 1,
            Phase::List => 2,
            Phase::Token | Phase::Held | Phase::Write => 3,
            Phase::Watch { .. } => 4,
            Phase::Wait => 5,
            Phase::Idle
            | Phase::Lost
            | Phase::Leave { .. }
            | Phase::CleanSync { .. }
            | Phase::CleanSearch { .. }
            | Phase::CleanDelete { .. } => return Line::NONE,
        };
        Line { listing: 0, number: step }
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => IDLE,
            Phase::DropParent => "deleting the empty parent",
            Phase::Create => "creating its znode",
            Phase::CreateParent => "creating the parent",
            Phase::Sync => "having its server catch up",
            Phase::Search => "looking for its guid",
            Phase::List => "first among the children?",
            Phase::Token => "reading its token",
            Phase::Watch { .. } => "does the one before exist?",
            Phase::Wait => "waiting",
            Phase::Held => "holds",
            Phase::Write => "writing inside the ensemble",
            Phase::Lost => "has lost the lock",
            Phase::Leave { released: true } => "releasing",
            Phase::Leave { released: false } => "leaving the queue",
            Phase::CleanSync { .. } | Phase::CleanSearch { .. } | Phase::CleanDelete { .. } => "cleaning up",
        }
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        settings.session.timeout
    }

    fn reads_wall_clock(_settings: &Settings) -> bool {
        false
    }

    fn idle(settings: &Settings, workload: &Workload) -> Option<Idle> {
        let is_unchecked = workload.writes.reach_the_resource() && !workload.resource_checks;
        let why = match settings.fence {
            Fence::Check if workload.writes != Writes::Store => INSIDE_ONLY,
            Fence::Czxid | Fence::Sequence if is_unchecked => UNCHECKED_TOKENS,
            Fence::None | Fence::Check | Fence::Czxid | Fence::Sequence => return None,
        };
        Some(Idle { setting: "fence", why })
    }
}

fn visit_guid<V: Visitor>(guid: &mut Guid, visitor: &mut V) {
    visitor.serial_of(&mut guid.client, &mut guid.serial);
}
