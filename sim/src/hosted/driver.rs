//! One task owns one machine: it waits for messages, calls and deadlines, enters the machine, and does what it wants done.
//!
//! A driver knows no sockets. Messages come out of an [`Inbox`] and go into a [`Post`]; [`super::Connections`] is one over
//! framed streams, and whoever speaks another protocol brings another.

use super::node::{Machine, Reading};
use crate::seeded::dice::Dice;
use picklock_model::cluster::{Entry, Wake};
use picklock_model::machine::{Effects, Line, Message, Node, Store};
use picklock_model::time::{Clock, Micros};
use picklock_model::trace::Happening;
use picklock_properties::{Event, LockId};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

/// A message and its sender.
pub type Letter<S> = (Node, Message<S>);

/// Where a driver finds what was sent to its node. Unbounded, because nobody waits for a machine: what a network may hold
/// back it holds back in its streams.
pub type Inbox<S> = UnboundedReceiver<Letter<S>>;

/// The other end of an [`Inbox`].
pub type Slot<S> = UnboundedSender<Letter<S>>;

/// Takes what a machine wants sent.
pub trait Post<S: Store> {
    /// Sends it, or loses it: which of the two nobody is told. Never called for the node itself.
    fn post(&mut self, to: Node, message: Message<S>);

    /// Looks after the tasks that do the sending: never ready, but passes on the panic of a task that panicked.
    fn poll_tasks(&mut self, _cx: &mut Context<'_>) -> Poll<std::convert::Infallible> {
        Poll::Pending
    }
}

/// True time since the beginning, from which the clocks of nodes follow. In production the two are the same but for a
/// constant; under simulation clocks may be wrong.
pub trait TrueTime {
    /// How much has passed.
    fn now(&self) -> Micros;
}

/// True time as tokio counts it, from when this was made.
#[derive(Clone, Copy, Debug)]
pub struct SinceStart(tokio::time::Instant);

impl SinceStart {
    /// Time begins now.
    pub fn new() -> SinceStart {
        SinceStart(tokio::time::Instant::now())
    }
}

impl Default for SinceStart {
    fn default() -> SinceStart {
        SinceStart::new()
    }
}

impl TrueTime for SinceStart {
    fn now(&self) -> Micros {
        Micros(i64::try_from(self.0.elapsed().as_micros()).unwrap_or(i64::MAX))
    }
}

/// A node's clocks, which may be changed while the driver sleeps. Cheap to clone; all clones are the same clock, and it
/// outlives the processes of its node.
#[derive(Clone, Default, Debug)]
pub struct NodeClock(Arc<ClockState>);

#[derive(Default, Debug)]
struct ClockState {
    /// How the clocks follow from true time, and the first true time at which the node may take its next step.
    shown: Mutex<(Clock, Micros)>,
    changed: Notify,
}

impl NodeClock {
    /// A node's clocks.
    pub fn new(clock: Clock) -> NodeClock {
        NodeClock(Arc::new(ClockState { shown: Mutex::new((clock, Micros::ZERO)), changed: Notify::new() }))
    }

    /// How they follow from true time.
    pub fn get(&self) -> Clock {
        self.shown().0
    }

    /// Changes them, and wakes the driver: its deadlines come at other times now.
    pub fn change(&self, change: impl FnOnce(&mut Clock)) {
        change(&mut self.shown().0);
        self.0.changed.notify_one();
    }

    /// The true time of a step that is taken at `now`: no two steps of a node share a microsecond, nor a reading.
    fn step_at(&self, now: Micros) -> (Clock, Micros) {
        let mut shown = self.shown();
        let (clock, at) = (shown.0, now.max(shown.1));
        let mut free_at = at + Micros(1);
        // A slow clock shows the same microsecond twice.
        while clock.drift_ppm < 0 && clock.monotonic(free_at) <= clock.monotonic(at) {
            free_at = free_at + Micros(1);
        }
        shown.1 = free_at;
        (clock, at)
    }

    fn shown(&self) -> MutexGuard<'_, (Clock, Micros)> {
        self.0.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A step of a node, as it is recorded.
#[derive(Debug)]
pub struct Recorded<'a, S: Store> {
    /// True time.
    pub at: Micros,
    /// What happened.
    pub happening: Happening<S>,
    /// What the machine reported.
    pub events: &'a [Event],
    /// The lock that it was about, and the one that a client will ask for next: [`Machine::about`].
    pub about: [Option<LockId>; 2],
    /// The line that a client stands at after it.
    pub line: Option<Line>,
    /// Whether the node will do nothing more by itself.
    pub is_done: bool,
}

/// Is told of every step of a node.
pub trait Record<S: Store> {
    /// Whether anybody looks: if not, nothing is prepared for it.
    const LOOKS: bool = true;

    /// The node has taken a step.
    fn record(&mut self, step: Recorded<'_, S>);
}

/// Nobody looks.
impl<S: Store> Record<S> for () {
    const LOOKS: bool = false;

    fn record(&mut self, _step: Recorded<'_, S>) {}
}

/// What one turn of a driver was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// A message was handled, or turned away because a node like this takes none such.
    Message,
    /// A call was.
    Called,
    /// A deadline was.
    Woke,
    /// Nobody can call any more. Messages and deadlines may still come.
    NobodyCalls,
    /// Nobody can send messages any more.
    NobodySends,
    /// The node's clocks have been changed: nothing else happened.
    ClockChanged,
}

/// The owner of one machine.
pub struct Driver<M: Machine, T, P, R> {
    machine: M,
    clock: NodeClock,
    true_time: T,
    dice: Dice,
    post: P,
    record: R,
    effects: Effects<M::Store>,
    /// What the node has said to itself, which does not use the network.
    to_itself: VecDeque<Message<M::Store>>,
}

impl<M, T, P, R> Driver<M, T, P, R>
where
    M: Machine,
    T: TrueTime,
    P: Post<M::Store>,
    R: Record<M::Store>,
{
    /// A driver that has not run yet. Chance is drawn from `dice`: the same seed, the same draws.
    pub fn new(machine: M, clock: NodeClock, true_time: T, dice: Dice, post: P, record: R) -> Self {
        let (effects, to_itself) = (Effects::default(), VecDeque::new());
        Driver { machine, clock, true_time, dice, post, record, effects, to_itself }
    }

    /// The machine.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// The process has started again: to be called before the first turn.
    pub fn restart(&mut self, power_lost: bool) {
        let node = self.machine.me();
        let about = self.machine.about(None);
        self.step(0, Happening::Restarted { node }, about, |machine, reading, effects| {
            machine.restart(power_lost, reading, effects);
        });
    }

    /// Somebody asks something of the machine.
    pub fn call(&mut self, call: M::Call) {
        let happening = Happening::Woke { node: self.machine.me(), wake: Wake::App };
        let about = self.machine.about(None);
        self.step(0, happening, about, |machine, reading, effects| machine.call(call, reading, effects));
    }

    /// The machine is entered, now.
    pub fn enter(&mut self, entry: Entry<M::Store>) {
        let node = self.machine.me();
        let (ways, about) = (self.machine.choices(&entry), self.machine.about(Some(&entry)));
        let choice = if ways > 1 { self.dice.below(u64::from(ways)) as u32 } else { 0 };
        let happening = match &entry {
            // A clone for nobody would be the greater part of a step.
            Entry::Message { from, message } if R::LOOKS => {
                Happening::Delivered { from: *from, to: node, message: message.clone() }
            }
            Entry::Message { .. } => Happening::Ticked,
            Entry::AppDeadline => Happening::Woke { node, wake: Wake::App },
            Entry::Deadline => Happening::Woke { node, wake: Wake::Machine },
        };
        self.step(choice, happening, about, |machine, reading, effects| {
            machine.enter(entry, reading, effects)
        });
    }

    /// When the machine wants to be woken next, in true time, and as what.
    pub fn next_deadline(&self) -> Option<(Micros, Wake)> {
        let (clock, now) = (self.clock.get(), self.true_time.now());
        let deadlines = self.machine.deadlines().into_iter().flatten();
        let moments = deadlines.filter_map(|(due, wake)| Some((clock.true_time_of(due, now)?, wake)));
        // Of two at once the first: the application's.
        moments.min_by_key(|(at, _)| *at)
    }

    /// Waits for whatever comes first, and handles it. Of what has come meanwhile messages go first, then calls, then
    /// deadlines: after a pause a machine sees what was sent to it before it sees the time.
    ///
    /// Cancel safe: what was not handled is still there at the next turn.
    pub async fn turn(
        &mut self,
        inbox: &mut Inbox<M::Store>,
        calls: &mut UnboundedReceiver<M::Call>,
    ) -> Turn {
        if let Some(message) = self.to_itself.pop_front() {
            self.enter(Entry::Message { from: self.machine.me(), message });
            return Turn::Message;
        }
        let deadline = self.next_deadline();
        let wait = deadline.map(|(at, _)| at - self.true_time.now());
        let clock = self.clock.clone();
        tokio::select! {
            biased;
            never = poll_fn(|cx| self.post.poll_tasks(cx)) => match never {},
            letter = inbox.recv() => match letter {
                Some((from, message)) => {
                    if self.machine.takes(from, &message) {
                        self.enter(Entry::Message { from, message });
                    }
                    Turn::Message
                }
                None => Turn::NobodySends,
            },
            call = calls.recv() => match call {
                Some(call) => {
                    self.call(call);
                    Turn::Called
                }
                None => Turn::NobodyCalls,
            },
            () = clock.0.changed.notified() => Turn::ClockChanged,
            () = sleep(wait) => self.wake(),
        }
    }

    /// Turns until nobody sends messages any more. Calls need not be possible.
    pub async fn run(&mut self, inbox: &mut Inbox<M::Store>, calls: &mut UnboundedReceiver<M::Call>) {
        let mut turn = Turn::ClockChanged;
        while turn != Turn::NobodySends {
            turn = self.turn(inbox, calls).await;
            if turn == Turn::NobodyCalls {
                return self.run_without_calls(inbox).await;
            }
        }
    }

    async fn run_without_calls(&mut self, inbox: &mut Inbox<M::Store>) {
        // Kept open, for a closed channel of calls would be ready at every turn.
        let (_open, mut no_calls) = tokio::sync::mpsc::unbounded_channel();
        while self.turn(inbox, &mut no_calls).await != Turn::NobodySends {}
    }

    /// The timer has fired: a little late, or early, and then it is set again.
    fn wake(&mut self) -> Turn {
        if let Some((at, wake)) = self.next_deadline()
            && at <= self.true_time.now()
        {
            self.enter(wake.entry());
        }
        Turn::Woke
    }

    fn step(
        &mut self,
        choice: u32,
        happening: Happening<M::Store>,
        about: Option<LockId>,
        enter: impl FnOnce(&mut M, Reading, &mut Effects<M::Store>),
    ) {
        let (clock, at) = self.clock.step_at(self.true_time.now());
        let reading = Reading { wall: clock.wall(at), monotonic: clock.monotonic(at), choice };
        self.effects.clear();
        enter(&mut self.machine, reading, &mut self.effects);
        if R::LOOKS {
            self.record.record(Recorded {
                at,
                happening,
                events: &self.effects.events,
                about: [about, self.machine.about(None)],
                line: self.machine.line(),
                is_done: self.machine.is_done(),
            });
        }
        let me = self.machine.me();
        for (to, message) in self.effects.sends.drain(..) {
            if to == me {
                self.to_itself.push_back(message);
            } else {
                self.post.post(to, message);
            }
        }
    }
}

/// Sleeps for so long; for ever if there is nothing to wait for.
async fn sleep(length: Option<Micros>) {
    match length {
        Some(length) => tokio::time::sleep(duration(length)).await,
        None => std::future::pending().await,
    }
}

/// A length of time as tokio has it.
pub(crate) fn duration(length: Micros) -> Duration {
    Duration::from_micros(u64::try_from(length.0).unwrap_or(0))
}
