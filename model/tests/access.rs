//! Locks with several modes of access on the exhaustive engine: who asks in which mode comes to the lock, to the resource and to
//! the monitors, and every promise is judged by the table.
//!
//! All on [`Room`]: clients ask a desk that keeps a list of who is in the room, and admits by one table, while the lock says that
//! it has another. Where the two are the same nothing breaks; where they differ, a test says what.

use picklock_model::cluster::Setup;
use picklock_model::explore::{
    Draws, Exploration, Goal, Limits, Space, Verdict, check_liveness, cross_check, search,
};
use picklock_model::machine::{Answer, Call, Context, Effects, Lock, Owner, Silence, Store, Visit, Visitor};
use picklock_model::time::{Due, Micros, Monotonic};
use picklock_model::workload::{AccessChoice, ROUNDS_WITHOUT_END, Workload, Writes};
use picklock_model::world::Bounds;
use picklock_properties::{Access, AccessModes, ClientId, Promise, PromiseSet};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

const WRITE: Access = Access::FIRST;
const READ: Access = Access(1);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Request {
    serial: u32,
    /// `None`: leaves the room.
    enters: Option<Access>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Reply {
    serial: u32,
    yes: bool,
}

impl Visit for Request {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Sender, &mut self.serial);
    }
}

impl Visit for Reply {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Receiver, &mut self.serial);
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.enters.is_some() { "may I come in" } else { "I have left" })
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.yes { "yes" } else { "no" })
    }
}

/// The server: who is in the room, in which mode, in the order of clients.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Desk {
    inside: Vec<(u8, Access)>,
    /// A writer that was turned away, and is let in before any reader.
    next: Option<u8>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct DeskSettings {
    /// Whom the desk lets in beside whom.
    admits: AccessModes,
    /// Whether no reader is let in past a writer that waits.
    writers_first: bool,
}

impl Desk {
    fn admits(&self, client: u8, access: Access, settings: &DeskSettings) -> bool {
        let bears = |(_, other): &(u8, Access)| {
            let of_mode = self.inside.iter().filter(|(_, inside)| inside == other).count();
            settings.admits.beside(access, *other) as usize >= of_mode
        };
        let is_turn = access == WRITE || self.next.is_none_or(|next| next == client);
        self.inside.iter().all(bears) && is_turn
    }
}

impl Store for Desk {
    type Settings = DeskSettings;
    type Request = Request;
    type Reply = Reply;
    type Peer = Silence;
    type Change = Silence;

    fn new(_me: u8, _servers: u8, _settings: &DeskSettings) -> Self {
        Desk { inside: Vec::new(), next: None }
    }

    fn on_request(
        &mut self,
        from: u8,
        request: Request,
        cx: &Context<DeskSettings>,
        out: &mut Effects<Self>,
    ) {
        let yes = match request.enters {
            None => {
                self.inside.retain(|(client, _)| *client != from);
                true
            }
            Some(access) if self.admits(from, access, cx.settings) => {
                self.inside.push((from, access));
                self.inside.sort_unstable();
                self.next.take_if(|next| *next == from);
                true
            }
            Some(access) => {
                if access == WRITE && cx.settings.writers_first {
                    self.next.get_or_insert(from);
                }
                false
            }
        };
        out.reply(from, Reply { serial: request.serial, yes });
    }

    fn on_peer(
        &mut self,
        _from: u8,
        message: Silence,
        _cx: &Context<DeskSettings>,
        _out: &mut Effects<Self>,
    ) {
        match message {}
    }

    fn on_deadline(&mut self, _cx: &Context<DeskSettings>, _out: &mut Effects<Self>) {}

    fn on_restart(&mut self, _power_lost: bool, _cx: &Context<DeskSettings>, _out: &mut Effects<Self>) {}

    fn deadline(&self, _settings: &DeskSettings) -> Option<Due> {
        None
    }

    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {}

    fn contents(&self) -> Vec<String> {
        self.inside
            .iter()
            .map(|(client, access)| format!("{} in mode {}", ClientId(*client), access.0))
            .collect()
    }
}

/// The lock: asks until it is let in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Room {
    phase: Phase,
    serial: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    Outside,
    Asks(Access),
    TurnedAway(Access),
    Inside,
    Leaves,
}

/// The modes that the lock says it has.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Says(AccessModes);

impl Room {
    fn send(&mut self, phase: Phase, enters: Option<Access>, out: &mut Effects<Desk>) {
        *self = Room { phase, serial: self.serial + 1 };
        out.request(0, Request { serial: self.serial, enters });
    }
}

impl Lock for Room {
    type Store = Desk;
    type Settings = Says;

    fn new(_me: u8, _settings: &Says) -> Self {
        Room { phase: Phase::Outside, serial: 0 }
    }

    fn on_call(&mut self, call: Call, _cx: &Context<Says>, out: &mut Effects<Desk>) {
        match call {
            Call::Acquire { access, .. } => self.send(Phase::Asks(access), Some(access), out),
            Call::Release => self.send(Phase::Leaves, None, out),
            Call::Write => unreachable!("no setup has this lock write inside its store"),
        }
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, _cx: &Context<Says>, out: &mut Effects<Desk>) {
        assert_eq!(reply.serial, self.serial, "no message is lost or late here");
        match (self.phase, reply.yes) {
            (Phase::Asks(_), true) => {
                self.phase = Phase::Inside;
                out.answer(Answer::Granted { fence: None });
            }
            (Phase::Asks(access), false) => self.phase = Phase::TurnedAway(access),
            (Phase::Leaves, _) => {
                self.phase = Phase::Outside;
                out.answer(Answer::Released);
            }
            (Phase::Outside | Phase::TurnedAway(_) | Phase::Inside, _) => {
                unreachable!("nothing is asked in this phase")
            }
        }
    }

    fn on_deadline(&mut self, _cx: &Context<Says>, out: &mut Effects<Desk>) {
        let Phase::TurnedAway(access) = self.phase else {
            unreachable!("only who was turned away comes back")
        };
        self.send(Phase::Asks(access), Some(access), out);
    }

    fn on_restart(&mut self, _cx: &Context<Says>) {
        self.phase = Phase::Outside;
    }

    fn deadline(&self, _settings: &Says) -> Option<Due> {
        matches!(self.phase, Phase::TurnedAway(_)).then_some(Due::Monotonic(Monotonic(0)))
    }

    fn visit<V: Visitor>(&mut self, _settings: &Says, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
    }

    fn doing(&self) -> &'static str {
        "waits"
    }

    fn modes(settings: &Says) -> AccessModes {
        settings.0
    }

    fn lease(_settings: &Says) -> Option<Micros> {
        None
    }
}

/// Client *n* asks in the *n*-th of these modes.
fn space(says: AccessModes, admits: AccessModes, asks: &[Access], promises: &[Promise]) -> Space<Room> {
    let mut modes = [*asks.last().expect("somebody asks"); AccessModes::MODES_MAX];
    modes[..asks.len()].copy_from_slice(asks);
    let workload = Workload {
        clients: asks.len() as u8,
        rounds: 1,
        access: AccessChoice::ByClient(modes),
        think: Micros::ZERO,
        hold: Micros::ZERO,
        writes: Writes::None,
        ..Workload::default()
    };
    let setup = Setup {
        lock: Says(says),
        store: DeskSettings { admits, writers_first: false },
        servers: 1,
        workload,
        promises: promises.iter().copied().collect(),
    };
    assert_eq!(setup.check(), Ok(()));
    Space { setup, bounds: Bounds::default() }
}

fn searched(space: &Space<Room>) -> Exploration {
    search(space, &Limits::states(1_000_000))
}

/// What was broken, by whom, against whom, in which modes.
fn broken(space: &Space<Room>) -> (Promise, ClientId, ClientId, [String; 2]) {
    let Verdict::Violated { violation, .. } = searched(space).verdict else { panic!("nothing is broken") };
    let modes = violation.modes.expect("the lock has several modes").map(String::from);
    (violation.promise, violation.client, violation.other, modes)
}

const SHARED: AccessModes = AccessModes::SHARED_EXCLUSIVE;
/// A reader is let in beside a writer.
const FORGETFUL: AccessModes =
    AccessModes::new(["write", "read"], [[0, u8::MAX], [u8::MAX, u8::MAX]], [true, false]);
/// Nobody is let in beside anybody.
const STRICT: AccessModes = AccessModes::new(["write", "read"], [[0, 0], [0, 0]], [true, false]);

const EXCLUSION: &[Promise] = &[Promise::MutualExclusion, Promise::Theorem1, Promise::LeaseLoss];

#[test]
fn a_desk_that_keeps_to_the_table_keeps_writers_apart_from_everybody() {
    let space = space(SHARED, SHARED, &[WRITE, READ, READ], EXCLUSION);
    let exploration = searched(&space);
    assert_eq!(exploration.verdict, Verdict::Verified);
    assert!(exploration.coverage.tested.times(Promise::MutualExclusion) > 0);
    // States go through their bytes here and not there: what is known of modes must survive that.
    assert_eq!(cross_check(space, 1), (exploration.states as usize, false));
}

#[test]
fn readers_are_in_the_room_together_and_by_a_strict_table_that_is_wrong() {
    let readers = space(SHARED, SHARED, &[READ, READ], EXCLUSION);
    let exploration = searched(&readers);
    assert_eq!(exploration.verdict, Verdict::Verified);
    assert_eq!(exploration.coverage.tested.times(Promise::MutualExclusion), 0);
    let judged_strictly = space(STRICT, SHARED, &[READ, READ], &[Promise::MutualExclusion]);
    let (promise, .., modes) = broken(&judged_strictly);
    assert_eq!((promise, modes), (Promise::MutualExclusion, ["read", "read"].map(str::to_owned)));
}

#[test]
fn a_desk_that_forgets_readers_lets_a_writer_in_beside_one() {
    let space = space(SHARED, FORGETFUL, &[WRITE, READ], &[Promise::MutualExclusion]);
    let (promise, client, other, modes) = broken(&space);
    assert_eq!(promise, Promise::MutualExclusion);
    let named = |whose: ClientId| if whose == ClientId(0) { "write" } else { "read" };
    assert_eq!(modes, [named(client), named(other)].map(str::to_owned));
}

#[test]
fn one_permit_more_than_the_lock_has_is_found() {
    let three = [WRITE; 3];
    let two = AccessModes::permits(2);
    assert_eq!(searched(&space(two, two, &three, EXCLUSION)).verdict, Verdict::Verified);
    let (promise, .., modes) = broken(&space(two, AccessModes::permits(3), &three, EXCLUSION));
    assert_eq!((promise, modes), (Promise::MutualExclusion, ["permit", "permit"].map(str::to_owned)));
}

#[test]
fn a_reader_writes_nothing_and_a_writer_does() {
    for (asks, writes) in [(READ, false), (WRITE, true)] {
        let mut space = space(SHARED, SHARED, &[asks], &[Promise::FencedResource]);
        space.setup.workload.writes = Writes::Resource;
        let exploration = searched(&space);
        assert_eq!(exploration.verdict, Verdict::Verified);
        assert_eq!(exploration.coverage.accepted > 0, writes);
        assert!(exploration.coverage.released > 0, "it leaves in the end");
    }
}

/// Whether each of the goals is kept, the adversary drawing.
fn kept(space: &Space<Room>, goals: &[Goal]) -> Vec<bool> {
    let (exploration, lassos) = check_liveness(space, goals, Draws::Adversary, &Limits::states(1_000_000));
    assert_eq!(exploration.verdict, Verdict::Verified, "the space is not exhausted");
    lassos.iter().map(Option::is_none).collect()
}

/// A writer among two readers that come and go for ever.
fn coming_and_going(writers_first: bool) -> Space<Room> {
    let mut space = space(SHARED, SHARED, &[WRITE, READ, READ], &[]);
    space.setup.workload.rounds = ROUNDS_WITHOUT_END;
    space.setup.store.writers_first = writers_first;
    space
}

const WRITER_IS_GRANTED: Goal = Goal::StarvationFreedom(ClientId(0));

#[test]
fn a_writer_starves_among_readers_that_come_and_go_and_nobody_is_in_deadlock() {
    let goals = [WRITER_IS_GRANTED, Goal::DeadlockFreedom];
    assert_eq!(kept(&coming_and_going(false), &goals), [false, true]);
    assert_eq!(kept(&coming_and_going(true), &goals), [true, true]);
}

#[test]
fn a_reader_kept_out_by_a_reader_that_stays_is_owed_the_lock() {
    let stays = |says, admits| {
        let mut space = space(says, admits, &[READ, READ], &[]);
        space.setup.workload.releases = false;
        kept(&space, &[Goal::DeadlockFreedom])
    };
    assert_eq!(stays(SHARED, SHARED), [true]);
    assert_eq!(stays(SHARED, STRICT), [false]);
    assert_eq!(stays(STRICT, STRICT), [true]);
}

#[test]
fn a_setup_is_refused_whose_clients_ask_in_modes_that_the_lock_has_not() {
    let mut space = space(SHARED, SHARED, &[READ], &[]);
    space.setup.lock = Says(AccessModes::EXCLUSIVE);
    assert!(space.setup.check().is_err());
    assert_eq!(space.setup.promises, PromiseSet::EMPTY);
}
