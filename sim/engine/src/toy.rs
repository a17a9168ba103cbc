//! A lock for the tests of the engine: a key that hangs at a desk. One server, nothing replicated; whoever asks for the
//! key while it hangs there gets it, and brings it back.
//!
//! Correct as long as the desk remembers; broken on request ([`DeskSettings::gives_to_everybody`]), broken by a pause if
//! the key is lent for a time only, and by a power loss always.

use picklock_model::cluster::Setup;
use picklock_model::machine::{
    Answer, Call, Context, Effects, Line, Lock, Owner, Silence, Store, Visit, Visitor,
};
use picklock_model::time::{Due, Micros, Monotonic, Wall};
use picklock_model::workload::{AccessChoice, Calls, Workload, Writes};
use picklock_properties::{FencingToken, Mode, Promise, PromiseSet};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// Three clients, one desk, five rounds each.
pub(crate) fn setup() -> Setup<Key> {
    Setup {
        lock: KeySettings { lease: None, patience: None },
        store: DeskSettings::default(),
        servers: 1,
        workload: Workload {
            clients: 3,
            rounds: 5,
            retries: false,
            calls: Calls::Lock,
            access: AccessChoice::First,
            think: Micros::millis(10),
            hold: Micros::millis(20),
            releases: true,
            writes: Writes::Resource,
            resource_checks: false,
            resource_forgets: false,
            locks: 1,
            attendants: 0,
            pace: None,
            varies: false,
            work_fits: false,
        },
        promises: [Promise::MutualExclusion, Promise::DeadlockFreedom].into_iter().collect(),
    }
}

/// The same with a desk that has a key for everybody.
pub(crate) fn broken_setup() -> Setup<Key> {
    Setup { store: DeskSettings { gives_to_everybody: true, lease: None }, ..setup() }
}

/// The same with a key that is lent for a second.
pub(crate) fn leased_setup() -> Setup<Key> {
    let lease = Some(Micros::seconds(1));
    Setup {
        lock: KeySettings { lease, patience: None },
        store: DeskSettings { gives_to_everybody: false, lease },
        promises: PromiseSet::from_iter([Promise::MutualExclusion, Promise::DeadlockFreedom]),
        ..setup()
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct KeySettings {
    /// What the client knows of [`DeskSettings::lease`].
    pub lease: Option<Micros>,
    /// How long, by its wall clock, a client looks at the key before it uses it.
    pub patience: Option<Micros>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct DeskSettings {
    /// There are as many keys as clients.
    pub gives_to_everybody: bool,
    /// After this time by the desk's monotonic clock the key may be given to somebody else.
    pub lease: Option<Micros>,
}

/// A client's machine.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Key {
    mode: Mode,
    phase: Phase,
    /// Counts visits; kept over restarts, so that the desk can tell an old visit from a new one.
    serial: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    Idle,
    Asks { again: Monotonic },
    Waits { until: Monotonic },
    LooksAtIt { until: Wall, fence: Wall },
    Holds,
    BringsBack { again: Monotonic },
}

const TIMEOUT: Micros = Micros::millis(500);
const POLL: Micros = Micros::millis(5);

type Cx<'a> = Context<'a, KeySettings>;

impl Key {
    fn ask(&mut self, cx: &Cx, out: &mut Effects<Desk>) {
        self.phase = Phase::Asks { again: cx.monotonic + TIMEOUT };
        out.request(0, Request { serial: self.serial, wants: true });
    }

    fn bring_back(&mut self, cx: &Cx, out: &mut Effects<Desk>) {
        self.phase = Phase::BringsBack { again: cx.monotonic + TIMEOUT };
        out.request(0, Request { serial: self.serial, wants: false });
    }

    fn hold(&mut self, fence: Wall, out: &mut Effects<Desk>) {
        self.phase = Phase::Holds;
        out.answer(Answer::Granted { fence: Some(FencingToken(fence.0)) });
    }
}

impl Lock for Key {
    type Store = Desk;
    type Settings = KeySettings;

    fn new(_me: u8, _settings: &KeySettings) -> Self {
        Key { mode: Mode::Lock, phase: Phase::Idle, serial: 0 }
    }

    fn on_call(&mut self, call: Call, cx: &Cx, out: &mut Effects<Desk>) {
        match call {
            Call::Acquire { mode, .. } => {
                self.mode = mode;
                self.serial += 1;
                self.ask(cx, out);
            }
            Call::Write => unreachable!("no setup has this lock write inside its store"),
            Call::Release => self.bring_back(cx, out),
        }
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, cx: &Cx, out: &mut Effects<Desk>) {
        if reply.serial != self.serial {
            return;
        }
        match (self.phase, reply.verdict) {
            (Phase::Asks { .. }, Verdict::Given { fence }) => match cx.settings.patience {
                Some(patience) => self.phase = Phase::LooksAtIt { until: cx.wall + patience, fence },
                None => self.hold(fence, out),
            },
            (Phase::Asks { .. }, Verdict::Away) if self.mode == Mode::TryLock => {
                self.phase = Phase::Idle;
                out.answer(Answer::Refused);
            }
            (Phase::Asks { .. }, Verdict::Away) => self.phase = Phase::Waits { until: cx.monotonic + POLL },
            (Phase::BringsBack { .. }, Verdict::Back) => {
                self.phase = Phase::Idle;
                out.answer(Answer::Released);
            }
            // Late, or said twice.
            (_, Verdict::Given { .. } | Verdict::Away | Verdict::Back) => {}
        }
    }

    fn on_deadline(&mut self, cx: &Cx, out: &mut Effects<Desk>) {
        match self.phase {
            Phase::Asks { .. } | Phase::Waits { .. } => self.ask(cx, out),
            Phase::LooksAtIt { fence, until } => {
                assert!(cx.wall >= until, "woken at {:?}, too early for {until:?}", cx.wall);
                self.hold(fence, out);
            }
            Phase::BringsBack { .. } => self.bring_back(cx, out),
            Phase::Idle | Phase::Holds => unreachable!("sleeps without a deadline"),
        }
    }

    fn on_restart(&mut self, _cx: &Cx) {
        self.phase = Phase::Idle;
    }

    fn deadline(&self, _settings: &KeySettings) -> Option<Due> {
        match self.phase {
            Phase::Asks { again: at } | Phase::Waits { until: at } | Phase::BringsBack { again: at } => {
                Some(Due::Monotonic(at))
            }
            Phase::LooksAtIt { until, .. } => Some(Due::Wall(until)),
            Phase::Idle | Phase::Holds => None,
        }
    }

    fn visit<V: Visitor>(&mut self, _settings: &KeySettings, visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
    }

    fn line(&self) -> Line {
        let number = match self.phase {
            Phase::Idle => return Line::NONE,
            Phase::Asks { .. } => 1,
            Phase::Waits { .. } => 2,
            Phase::LooksAtIt { .. } => 3,
            Phase::Holds => 4,
            Phase::BringsBack { .. } => 5,
        };
        Line { listing: 1, number }
    }

    fn doing(&self) -> &'static str {
        "visits the desk"
    }

    fn lease(settings: &KeySettings) -> Option<Micros> {
        settings.lease
    }
}

/// The server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Desk {
    /// Who has the key, from which visit, and since when.
    holder: Option<(u8, u32, Monotonic)>,
    /// The newest visit of each client that is over.
    over: Vec<u32>,
    given: i64,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    serial: u32,
    wants: bool,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Reply {
    serial: u32,
    verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum Verdict {
    Given { fence: Wall },
    Away,
    Back,
}

impl Desk {
    fn lend(&mut self, client: u8, serial: u32, cx: &Context<DeskSettings>) -> Verdict {
        let is_away = self.holder.is_some_and(|(holder, _, since)| {
            let is_overdue = cx.settings.lease.is_some_and(|lease| cx.monotonic - since > lease);
            holder != client && !is_overdue
        });
        if is_away && !cx.settings.gives_to_everybody {
            return Verdict::Away;
        }
        let is_again = self.holder.is_some_and(|(holder, visit, _)| (holder, visit) == (client, serial));
        if !is_again {
            self.given += 1;
            self.holder = Some((client, serial, cx.monotonic));
        }
        Verdict::Given { fence: Wall(self.given) }
    }
}

impl Store for Desk {
    type Settings = DeskSettings;
    type Request = Request;
    type Reply = Reply;
    type Peer = Silence;
    type Change = Silence;

    fn new(_me: u8, _servers: u8, _settings: &DeskSettings) -> Self {
        Desk { holder: None, over: vec![0; 8], given: 0 }
    }

    fn on_request(
        &mut self,
        from: u8,
        request: Request,
        cx: &Context<DeskSettings>,
        out: &mut Effects<Self>,
    ) {
        let Request { serial, wants } = request;
        let over = &mut self.over[usize::from(from)];
        let verdict = match wants {
            // Delayed or doubled, from a visit that is over.
            true if serial <= *over => return,
            true => self.lend(from, serial, cx),
            false => {
                *over = serial.max(*over);
                self.holder = self.holder.filter(|(holder, visit, _)| (*holder, *visit) != (from, serial));
                Verdict::Back
            }
        };
        out.reply(from, Reply { serial, verdict });
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

    fn on_deadline(&mut self, _cx: &Context<DeskSettings>, _out: &mut Effects<Self>) {
        unreachable!("a desk never sleeps")
    }

    fn on_restart(&mut self, power_lost: bool, _cx: &Context<DeskSettings>, _out: &mut Effects<Self>) {
        if power_lost {
            self.holder = None;
        }
    }

    fn deadline(&self, _settings: &DeskSettings) -> Option<Due> {
        None
    }

    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {}

    fn contents(&self) -> Vec<String> {
        self.holder.map(|holder| format!("{holder:?}")).into_iter().collect()
    }
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
        f.write_str(if self.wants { "the key, please" } else { "here is the key" })
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.verdict)
    }
}
