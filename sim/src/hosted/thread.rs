//! A thread of an application, as the machine that a driver owns: the lock's own machine, and who waits for its answers.

use super::lease::{End, Lease, Renewal};
use super::locker::ReleaseOutcome;
use super::node::{Machine, Reading};
use picklock_model::cluster::{Entry, Wake};
use picklock_model::machine::{Answer, Call, Effects, Line, Lock, Message, Node, Store};
use picklock_model::time::{Due, Monotonic};
use picklock_properties::{Access, FencingToken, LockId, Mode};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::sync::oneshot::{self, Sender};

/// What is asked of a thread.
#[derive(Debug)]
pub enum Ask {
    /// To take a lock; `None` is a refusal. Who drops the other end has changed his mind.
    Acquire { lock: LockId, mode: Mode, granted: Sender<Option<Grant>> },
    /// To give back what this lease stands for: its release has begun.
    Release(Arc<Lease>),
}

/// What a guard is made of.
#[derive(Debug)]
pub struct Grant {
    pub lease: Arc<Lease>,
    pub fence: Option<FencingToken>,
    /// What becomes of the release.
    pub released: oneshot::Receiver<ReleaseOutcome>,
}

/// One lock's machine, and what it is doing for whom.
#[derive(Debug)]
pub struct Thread<L: Lock> {
    me: u8,
    servers: u8,
    lock: L,
    settings: L::Settings,
    phase: Phase,
    /// Asked for while an earlier lock was still being given back.
    waiting: VecDeque<(LockId, Mode, Sender<Option<Grant>>)>,
}

#[derive(Debug)]
enum Phase {
    Idle,
    Asks {
        granted: Sender<Option<Grant>>,
    },
    Holds {
        lease: Arc<Lease>,
        /// Held while the machine renews.
        renewal: Option<Renewal<Arc<Lease>>>,
        /// The guard has asked for the release, which waits for the end of the renewal.
        is_wanted_back: bool,
        released: Sender<ReleaseOutcome>,
    },
    Releases {
        released: Option<Sender<ReleaseOutcome>>,
        /// The lease was lost before.
        was_lost: bool,
    },
}

/// How the machine is entered.
enum Input<S: Store> {
    Call(Call),
    Reply(u8, S::Reply),
    Deadline,
}

impl<L: Lock> Thread<L> {
    /// A thread that has asked for nothing yet.
    pub fn new(me: u8, servers: u8, settings: L::Settings) -> Thread<L> {
        let lock = L::new(me, &settings);
        Thread { me, servers, lock, settings, phase: Phase::Idle, waiting: VecDeque::new() }
    }

    /// Whether nothing is held, asked for or being given back.
    pub fn is_idle(&self) -> bool {
        matches!(self.phase, Phase::Idle) && self.waiting.is_empty()
    }

    fn enter_lock(&mut self, input: Input<L::Store>, reading: Reading, effects: &mut Effects<L::Store>) {
        let cx = reading.context(self.me, self.servers, &self.settings);
        let is_answered = matches!(input, Input::Reply(..));
        match input {
            Input::Call(call) => self.lock.on_call(call, &cx, effects),
            Input::Reply(from, reply) => self.lock.on_reply(from, reply, &cx, effects),
            Input::Deadline => self.lock.on_deadline(&cx, effects),
        }
        if let Some(answer) = effects.answer.take() {
            self.on_answer(answer, is_answered, reading, effects);
        }
    }

    fn on_answer(
        &mut self,
        answer: Answer,
        is_answered: bool,
        reading: Reading,
        effects: &mut Effects<L::Store>,
    ) {
        match (std::mem::replace(&mut self.phase, Phase::Idle), answer) {
            (Phase::Asks { granted }, Answer::Granted { fence }) => {
                let lease = Arc::new(Lease::new(self.valid_until(reading)));
                let (released, outcome) = oneshot::channel();
                self.phase =
                    Phase::Holds { lease: lease.clone(), renewal: None, is_wanted_back: false, released };
                if granted.send(Some(Grant { lease, fence, released: outcome })).is_err() {
                    // Whoever asked has changed his mind.
                    self.give_back(reading, effects);
                }
            }
            (Phase::Asks { granted }, Answer::Refused) => {
                // Whether anybody still wants to know does not matter.
                let _gone = granted.send(None);
                self.begin_next(reading, effects);
            }
            (Phase::Holds { lease, renewal, is_wanted_back, released }, Answer::Lost) => {
                lease.lose();
                self.phase = Phase::Holds { lease, renewal, is_wanted_back, released };
                // As the machines expect of an application: it leaves, and gives back, in the same step.
                self.give_back(reading, effects);
            }
            (Phase::Releases { released, was_lost }, Answer::Released) => {
                let outcome = match is_answered && !was_lost {
                    true => ReleaseOutcome::Released,
                    false => ReleaseOutcome::Unknown,
                };
                if let Some(released) = released {
                    let _gone = released.send(outcome);
                }
                self.begin_next(reading, effects);
            }
            (phase, answer) => unreachable!("{answer:?} is no answer in {phase:?}"),
        }
    }

    /// The machine's release, of what is held.
    fn give_back(&mut self, reading: Reading, effects: &mut Effects<L::Store>) {
        let Phase::Holds { lease, released, renewal, .. } = std::mem::replace(&mut self.phase, Phase::Idle)
        else {
            unreachable!("only what is held is given back");
        };
        drop(renewal);
        let end = lease.poll_end(&mut Context::from_waker(Waker::noop()));
        let was_lost = end == Poll::Ready(End::Lost);
        self.phase = Phase::Releases { released: Some(released), was_lost };
        self.enter_lock(Input::Call(Call::Release), reading, effects);
    }

    fn begin_next(&mut self, reading: Reading, effects: &mut Effects<L::Store>) {
        while let Some((lock, mode, granted)) = self.waiting.pop_front() {
            if !granted.is_closed() {
                self.phase = Phase::Asks { granted };
                return self.enter_lock(
                    Input::Call(Call::Acquire { lock, mode, access: Access::FIRST }),
                    reading,
                    effects,
                );
            }
        }
    }

    /// Until when the machine takes the lock for its own, on the clock that the guard looks at.
    fn valid_until(&self, reading: Reading) -> Option<Monotonic> {
        self.lock.valid_until(&self.settings).map(|due| match due {
            Due::Monotonic(at) => at,
            Due::Wall(at) => reading.monotonic + (at - reading.wall),
        })
    }

    /// Enters the machine of a holder. Before it can send a renewal the lease is told, which knows whether the guard has
    /// begun its release: then nothing is renewed any more.
    fn enter_holder(&mut self, input: Input<L::Store>, reading: Reading, effects: &mut Effects<L::Store>) {
        let is_renewing = self.lock.is_renewing();
        if let Phase::Holds { lease, renewal, .. } = &mut self.phase {
            if renewal.is_none() {
                *renewal = Renewal::begin(lease.clone());
            }
            if renewal.is_none() && !is_renewing && matches!(input, Input::Deadline) {
                return self.give_back(reading, effects);
            }
        }
        self.enter_lock(input, reading, effects);
        let (is_renewing, valid_until) = (self.lock.is_renewing(), self.valid_until(reading));
        if let Phase::Holds { renewal, is_wanted_back, .. } = &mut self.phase
            && !is_renewing
        {
            if let Some(renewal) = renewal.take() {
                // Too late is for the machine to find out.
                let _counts = renewal.done(valid_until);
            }
            if *is_wanted_back {
                self.give_back(reading, effects);
            }
        }
    }
}

impl<L: Lock> Machine for Thread<L> {
    type Store = L::Store;
    type Call = Ask;

    fn me(&self) -> Node {
        Node::Client(self.me)
    }

    fn takes(&self, from: Node, message: &Message<L::Store>) -> bool {
        matches!((from, message), (Node::Server(server), Message::Reply(_)) if server < self.servers)
    }

    fn deadlines(&self) -> [Option<(Due, Wake)>; 2] {
        [self.lock.deadline(&self.settings).map(|due| (due, Wake::Machine)), None]
    }

    fn choices(&self, entry: &Entry<L::Store>) -> u32 {
        match entry {
            Entry::Message { message: Message::Reply(reply), .. } => {
                self.lock.choices(Some(reply), &self.settings)
            }
            Entry::Deadline => self.lock.choices(None, &self.settings),
            Entry::Message { .. } | Entry::AppDeadline => 1,
        }
    }

    fn enter(&mut self, entry: Entry<L::Store>, reading: Reading, effects: &mut Effects<L::Store>) {
        let input = match entry {
            Entry::Message { from: Node::Server(from), message: Message::Reply(reply) } => {
                Input::Reply(from, reply)
            }
            Entry::Deadline => Input::Deadline,
            entry @ (Entry::Message { .. } | Entry::AppDeadline) => {
                unreachable!("a thread takes no {entry:?}")
            }
        };
        self.enter_holder(input, reading, effects);
    }

    fn call(&mut self, ask: Ask, reading: Reading, effects: &mut Effects<L::Store>) {
        match (ask, &mut self.phase) {
            (Ask::Acquire { lock, mode, granted }, _) => {
                self.waiting.push_back((lock, mode, granted));
                if matches!(self.phase, Phase::Idle) {
                    self.begin_next(reading, effects);
                }
            }
            (Ask::Release(released), Phase::Holds { lease, is_wanted_back, .. })
                if Arc::ptr_eq(lease, &released) =>
            {
                *is_wanted_back = true;
                if !self.lock.is_renewing() {
                    self.give_back(reading, effects);
                }
            }
            // The lock was lost, and has been given back: the guard did not know yet.
            (Ask::Release(_), _) => {}
        }
    }

    fn restart(&mut self, _power_lost: bool, _reading: Reading, _effects: &mut Effects<L::Store>) {
        unreachable!("a process that starts again has new threads");
    }

    fn line(&self) -> Option<Line> {
        Some(self.lock.line())
    }
}

impl<L: Lock> Drop for Thread<L> {
    fn drop(&mut self) {
        if let Phase::Holds { lease, .. } = &self.phase {
            lease.lose();
        }
    }
}
