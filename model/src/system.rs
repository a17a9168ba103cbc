//! What engines run: processes in the role of clients, the store that they use, and who judges them.
//!
//! ```text
//!   engines: order, time, faults ──▶ cluster: one step of one node
//!                                       │                     │                     │
//!                              Process (a client)       Store (a server)      Judge, monitors
//!                              with its application
//! ```
//!
//! A lock over a store is the first kind of system: every [`Lock`] is one, whose process is the lock's machine with an
//! application that takes and gives it back ([`crate::workload::Client`]). Other kinds have processes of their own, and no
//! engine changes for them.

use crate::cluster::Setup;
use crate::machine::{Context, Data, Effects, Idle, Line, Lock, Message, Node, Store, Visitor};
use crate::names::Words;
use crate::time::{Due, Micros, Monotonic, Wall};
use crate::workload::{Client, Workload};
use picklock_properties::{Access, AccessModes, Event, HoldId, Judge, LockId, PromiseSet};

/// One kind of system, with what an engine has to know of it as a whole.
pub trait System: Data {
    /// The store that its processes use.
    type Store: Store;
    /// The variant of the algorithm: named knobs. The same for all processes of a run.
    type Settings: Data + Default;
    /// A client with its application.
    type Process: Process<Self>;
    /// Who judges a run, beside the monitors of locks.
    type Judge: Judge;

    /// The words for what its processes call keys, rows or paths in their store.
    const WORDS: Words = Words::NONE;

    /// Whether its processes take something, hold it and give it back; if not, they do one operation after the other.
    const HOLDS: bool = true;

    /// Whether a holder can write to the store on behalf of its application ([`Lock::WRITES_INSIDE`]).
    const WRITES_INSIDE: bool = false;

    /// Whether all numbers of clients are shown to visitors, by processes and by servers ([`Lock::SHOWS_CLIENTS`]).
    const SHOWS_CLIENTS: bool = false;

    /// What a change in a server means to the judges ([`Lock::means`]).
    fn meaning(_change: &<Self::Store as Store>::Change, _server: u8) -> Option<Event> {
        None
    }

    /// What a reader has to know to read the values that the store shows; nothing, if they are what they look like.
    fn stored(_settings: &Self::Settings) -> Option<&'static str> {
        None
    }

    /// Who judges a run, before anything has happened.
    fn judge(_settings: &Self::Settings, promises: PromiseSet) -> Self::Judge {
        Self::Judge::new(promises)
    }

    /// Who may hold beside whom, where processes hold anything.
    fn access_modes(_settings: &Self::Settings) -> AccessModes {
        AccessModes::EXCLUSIVE
    }

    /// Whether stamps of one group are carried over into another ([`Lock::carries_stamps_over`]).
    fn has_one_stamp_group(_settings: &Self::Settings, _clocks_err: bool) -> bool {
        false
    }

    /// How long a grant lasts without renewal, if it ends by itself.
    fn lease_of(_settings: &Self::Settings) -> Option<Micros> {
        None
    }

    /// Whether its clients ever look at their wall clocks ([`Lock::reads_wall_clock`]).
    fn reads_wall_clock(_settings: &Self::Settings) -> bool {
        true
    }

    /// Whether anything rests on the wall clock of a server ([`Lock::needs_server_clock`]).
    fn needs_server_clock(_settings: &Self::Settings) -> bool {
        true
    }

    /// A setting that does nothing in this use ([`Lock::idle`]).
    fn idle(_setup: &Setup<Self>) -> Option<Idle> {
        None
    }

    /// What durations of faults and of holds are measured by in drawn runs: the lease, or after how long a silence a process is taken for
    /// dead.
    fn patience(setup: &Setup<Self>) -> Option<Micros> {
        Self::lease_of(&setup.lock)
    }

    /// With fewer servers it would be another algorithm.
    fn servers_min(_settings: &Self::Settings) -> u8 {
        1
    }

    /// The settings for so many clients: other ones only where they name that number.
    fn settings_for(settings: &Self::Settings, _clients: u8) -> Self::Settings {
        settings.clone()
    }
}

/// In which mode a process has something, and which one it asks for ([`System::access_modes`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InMode {
    /// What.
    pub resource: LockId,
    /// In which mode it has it, if in any.
    pub has: Option<Access>,
    /// In which one it wants it, if it waits for one.
    pub wants: Option<Access>,
}

/// What a process is told on every entry.
pub struct ProcessContext<'a, Y: System> {
    /// What its machine is told.
    pub machine: Context<'a, Y::Settings>,
    /// What its application does.
    pub workload: &'a Workload,
}

/// One client of a system: its application, and the machine that it uses.
pub trait Process<Y: System>: Data {
    /// The process before anything happened; what it does first, it does after `start`.
    fn new(me: u8, workload: &Workload, start: Monotonic, settings: &Y::Settings) -> Self;

    /// A message for it arrived.
    fn on_message(
        &mut self,
        from: Node,
        message: Message<Y::Store>,
        cx: &ProcessContext<Y>,
        effects: &mut Effects<Y::Store>,
    );

    /// [`Process::app_deadline`] has come.
    fn on_app_deadline(&mut self, cx: &ProcessContext<Y>, effects: &mut Effects<Y::Store>);

    /// [`Process::deadline`] has come.
    fn on_deadline(&mut self, cx: &ProcessContext<Y>, effects: &mut Effects<Y::Store>);

    /// It starts again after a crash: everything but what it had made durable is gone.
    fn on_restart(&mut self, cx: &ProcessContext<Y>);

    /// When its application wants to be woken, if at all.
    fn app_deadline(&self, workload: &Workload) -> Option<Due>;

    /// When its machine wants to be woken, if at all.
    fn deadline(&self, settings: &Y::Settings) -> Option<Due>;

    /// How many ways this entry can go, by chance ([`Context::choice`]). `None` is an entry at the machine's deadline.
    fn choices(&self, _reply: Option<&<Y::Store as Store>::Reply>, _settings: &Y::Settings) -> u32 {
        1
    }

    /// How many ways its application can go at its deadline, by chance ([`Context::choice`]).
    fn app_choices(&self, _me: u8, _workload: &Workload, _settings: &Y::Settings) -> u32 {
        1
    }

    /// Whether a message would be dismissed whenever it arrives, now and at any later time, without a trace.
    fn dismisses(&self, _message: &Message<Y::Store>) -> bool {
        false
    }

    /// Strikes out of a message what it will not look at, whenever that arrives ([`Lock::strike_out`]).
    fn strike_out(&self, _message: &mut Message<Y::Store>, _settings: &Y::Settings) {}

    /// Shows every time and number in the state to `visitor`: see [`Visitor`].
    fn visit<V: Visitor>(&mut self, settings: &Y::Settings, visitor: &mut V);

    /// Which of the things that are judged one by one it is busy with ([`Workload::locks`]).
    fn busy_with(&self, _me: u8, _workload: &Workload) -> LockId {
        LockId(0)
    }

    /// Whether it will do nothing more.
    fn is_done(&self) -> bool;

    /// Whether its application waits only because it has nothing to do yet, and may as well begin later.
    fn is_thinking(&self) -> bool {
        false
    }

    /// Whether its application is done with a round and may as well never begin another: a new request is nothing that a fair
    /// schedule owes to those who wait.
    fn may_stop_asking(&self, _workload: &Workload) -> bool {
        false
    }

    /// Whether its application works on what it holds, and may as well work longer.
    fn is_working(&self) -> bool {
        false
    }

    /// Whether it holds something.
    fn holds(&self) -> bool {
        false
    }

    /// Which of its holds is the latest.
    fn latest_hold(&self) -> HoldId {
        HoldId(0)
    }

    /// Whether it waits for the resource to answer, and will ask again.
    fn awaits_resource(&self) -> bool {
        false
    }

    /// Whether a prolongation of what it holds is under way ([`Lock::is_renewing`]).
    fn is_renewing(&self) -> bool {
        false
    }

    /// A write timestamp that it keeps for a later request ([`Lock::earliest_timestamp`]).
    fn earliest_timestamp(&self, _settings: &Y::Settings) -> Option<Wall> {
        None
    }

    /// Where in its source it stands.
    fn line(&self) -> Line {
        Line::NONE
    }

    /// What it does right now, in a few words, for the reader of a trace.
    fn doing(&self) -> &'static str;

    /// What it has and asks for, of what is held in modes and converted from one to another while it is held. For the reader of a trace only;
    /// whoever takes something and gives it back has nothing to say.
    fn in_modes(&self) -> Vec<InMode> {
        Vec::new()
    }

    /// Until when it takes what it holds for its own without another word from the store ([`Lock::valid_until`]).
    fn valid_until(&self, _settings: &Y::Settings) -> Option<Due> {
        None
    }
}

/// A lock, used by an application that takes it and gives it back.
impl<L: Lock> System for L {
    type Store = L::Store;
    type Settings = L::Settings;
    type Process = Client<L>;
    type Judge = ();

    const WORDS: Words = L::WORDS;
    const HOLDS: bool = L::HOLDS;
    const WRITES_INSIDE: bool = L::WRITES_INSIDE;
    const SHOWS_CLIENTS: bool = L::SHOWS_CLIENTS && <L::Store as Store>::SHOWS_CLIENTS;

    fn meaning(change: &<L::Store as Store>::Change, server: u8) -> Option<Event> {
        L::means(change, server)
    }

    fn access_modes(settings: &L::Settings) -> AccessModes {
        L::modes(settings)
    }

    fn has_one_stamp_group(settings: &L::Settings, clocks_err: bool) -> bool {
        L::carries_stamps_over(settings, clocks_err)
    }

    fn lease_of(settings: &L::Settings) -> Option<Micros> {
        L::lease(settings)
    }

    fn reads_wall_clock(settings: &L::Settings) -> bool {
        L::reads_wall_clock(settings)
    }

    fn needs_server_clock(settings: &L::Settings) -> bool {
        L::needs_server_clock(settings)
    }

    fn idle(setup: &Setup<L>) -> Option<Idle> {
        L::idle(&setup.lock, &setup.workload)
    }

    fn patience(setup: &Setup<L>) -> Option<Micros> {
        L::patience(setup)
    }

    fn servers_min(settings: &L::Settings) -> u8 {
        L::fewest_servers(settings)
    }

    fn settings_for(settings: &L::Settings, clients: u8) -> L::Settings {
        L::used_by(settings, clients)
    }
}
