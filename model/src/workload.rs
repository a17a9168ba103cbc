//! Who uses the lock: how many clients, how often, how long, and what they do while they hold. Not part of any lock.

use crate::machine::{Answer, Call, Context, Effects, Lock, Message, Node, Owner, Store, Visitor};
use crate::time::{Due, Micros, Monotonic};
use picklock_properties::{ClientId, Event, FencingToken, LockId, Mode};
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

/// What the clients do. The same for every engine; durations do not matter where time does not pass.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Workload {
    /// How many clients there are, 1 to 128.
    pub clients: u8,
    /// How often each asks for the lock before it is done; [`ROUNDS_WITHOUT_END`] has no last time.
    pub rounds: u8,
    /// Whether a refused client asks again, for as long as it takes, without using up a round.
    pub retries: bool,
    /// What they ask for.
    pub calls: Calls,
    /// How long a client waits before each call.
    pub think: Micros,
    /// How long a client works in its critical section before it writes and leaves.
    pub hold: Micros,
    /// Whether a holder leaves after that; if not, it holds for good.
    pub releases: bool,
    /// Where a holder writes to at the end of its work; it waits for the answer.
    pub writes: Writes,
    /// Whether the resource turns down a write whose fencing token is smaller than one it has seen.
    pub resource_checks: bool,
    /// Whether the resource forgets what it has seen when it starts again.
    pub resource_forgets: bool,
    /// How many locks there are, each of its own id and with its own resource behind it, 1 to 8. Each client asks for one after
    /// the other, every client beginning with another one.
    pub locks: u8,
    /// How many processes beside the clients use the store and are part of the lock, numbered after the clients (a
    /// service that keeps the time, say): machines of the lock like a client's, with clocks and failures of their
    /// own, but nobody ever asks them for the lock.
    pub attendants: u8,
}

/// Clients that ask again and again. The exhaustive engine comes to an end with them; a seeded run is ended by its limits.
pub const ROUNDS_WITHOUT_END: u8 = u8::MAX;

/// What the clients ask for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Calls {
    /// All call `lock`.
    Lock,
    /// All call `try_lock`.
    TryLock,
}

/// What a holder's work changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Writes {
    /// Nothing.
    None,
    /// The resource behind the lock, outside the store.
    Resource,
    /// Something in the lock's own store: the lock is asked to write it ([`Call::Write`]). Not every lock can
    /// ([`Lock::WRITES_INSIDE`]).
    Store,
}

impl Writes {
    /// To the resource if that is of interest, else nowhere.
    pub const fn resource_if(is_of_interest: bool) -> Writes {
        if is_of_interest { Writes::Resource } else { Writes::None }
    }
}

impl Default for Workload {
    /// Two clients that each take the lock three times for a second, with two seconds between, and write to a resource that
    /// checks nothing.
    fn default() -> Workload {
        Workload {
            clients: 2,
            rounds: 3,
            retries: false,
            calls: Calls::Lock,
            think: Micros::seconds(2),
            hold: Micros::seconds(1),
            releases: true,
            writes: Writes::Resource,
            resource_checks: false,
            resource_forgets: false,
            locks: 1,
            attendants: 0,
        }
    }
}

impl Workload {
    /// Clients and attendants together.
    pub fn processes(&self) -> u8 {
        self.clients + self.attendants
    }

    /// What every client asks for.
    pub fn mode(&self) -> Mode {
        match self.calls {
            Calls::Lock => Mode::Lock,
            Calls::TryLock => Mode::TryLock,
        }
    }
}

/// How long a holder waits for the resource's answer before it sends its write again.
const WRITE_TIMEOUT: Micros = Micros::seconds(1);

/// One client: an application and its lock.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Client<L: Lock> {
    /// The algorithm's machine.
    pub lock: L,
    phase: Phase,
    rounds_left: u8,
    serial: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Will ask for the lock.
    Thinks { until: Monotonic },
    /// Has asked.
    Asks,
    /// Works in the critical section.
    Holds { until: Monotonic, fence: Option<FencingToken> },
    /// Has sent its write to the resource and waits for the answer, still in the critical section.
    Writes { again: Monotonic, fence: Option<FencingToken> },
    /// Has asked its lock for the write and waits for the answer, still in the critical section.
    WritesInside,
    /// Has left the critical section and gives the lock back.
    Releases,
    /// Will not ask again.
    Done,
}

/// What the application part of a step needs: the workload beside the lock's own context.
pub struct ClientContext<'a, L: Lock> {
    /// What the lock's machine is told.
    pub lock: Context<'a, L::Settings>,
    /// What the application does.
    pub workload: &'a Workload,
}

impl<L: Lock> Client<L> {
    /// The client before anything happened; it will first ask after `start`.
    pub fn new(me: u8, workload: &Workload, start: Monotonic, settings: &L::Settings) -> Self {
        Client {
            lock: L::new(me, settings),
            phase: if workload.rounds == 0 || me >= workload.clients {
                Phase::Done
            } else {
                Phase::Thinks { until: start + workload.think }
            },
            rounds_left: if me < workload.clients { workload.rounds } else { 0 },
            serial: 0,
        }
    }

    /// The lock that the client asks for in this round.
    pub fn lock_id(&self, me: u8, workload: &Workload) -> LockId {
        let rounds_before = workload.rounds - self.rounds_left.min(workload.rounds);
        LockId((u32::from(me) + u32::from(rounds_before)).checked_rem(u32::from(workload.locks)).unwrap_or(0)
            as u8)
    }

    /// Whether the client is in its critical section.
    pub fn holds(&self) -> bool {
        matches!(self.phase, Phase::Holds { .. } | Phase::Writes { .. } | Phase::WritesInside)
    }

    /// Whether the client will ask when it likes.
    pub fn is_thinking(&self) -> bool {
        matches!(self.phase, Phase::Thinks { .. })
    }

    /// Whether the client will do nothing more.
    pub fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// What the application does, in a word.
    pub fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Thinks { .. } => "thinks",
            Phase::Asks | Phase::Releases => self.lock.doing(),
            Phase::Holds { .. } => "holds",
            Phase::Writes { .. } | Phase::WritesInside => "holds, writes",
            Phase::Done => "done",
        }
    }

    /// When the application (not its lock) wants to be woken.
    pub fn app_deadline(&self, workload: &Workload) -> Option<Due> {
        match self.phase {
            Phase::Holds { .. } if !workload.releases => None,
            Phase::Thinks { until } | Phase::Holds { until, .. } => Some(Due::Monotonic(until)),
            Phase::Writes { again, .. } => Some(Due::Monotonic(again)),
            Phase::Asks | Phase::WritesInside | Phase::Releases | Phase::Done => None,
        }
    }

    /// [`Self::app_deadline`] has come.
    pub fn on_app_deadline(&mut self, cx: &ClientContext<L>, effects: &mut Effects<L::Store>) {
        match self.phase {
            Phase::Thinks { .. } => {
                let mode = cx.workload.mode();
                self.phase = Phase::Asks;
                effects.record(Event::Called { client: ClientId(cx.lock.me), mode });
                let lock = self.lock_id(cx.lock.me, cx.workload);
                self.lock.on_call(Call::Acquire { lock, mode }, &cx.lock, effects);
                self.on_answer(cx, effects);
            }
            Phase::Holds { fence, .. } => match cx.workload.writes {
                Writes::None => self.leave(cx, effects),
                Writes::Resource => {
                    self.serial = self.serial.wrapping_add(1);
                    self.write(fence, cx, effects);
                }
                Writes::Store => {
                    self.phase = Phase::WritesInside;
                    self.lock.on_call(Call::Write, &cx.lock, effects);
                    self.on_answer(cx, effects);
                }
            },
            // No answer from the resource: the same write again.
            Phase::Writes { fence, .. } => self.write(fence, cx, effects),
            Phase::Asks | Phase::WritesInside | Phase::Releases | Phase::Done => {
                unreachable!("the application sleeps only in other phases")
            }
        }
    }

    /// The lock's own deadline has come.
    pub fn on_lock_deadline(&mut self, cx: &ClientContext<L>, effects: &mut Effects<L::Store>) {
        self.lock.on_deadline(&cx.lock, effects);
        self.on_answer(cx, effects);
    }

    /// A message for this client arrived.
    pub fn on_message(
        &mut self,
        from: Node,
        message: Message<L::Store>,
        cx: &ClientContext<L>,
        effects: &mut Effects<L::Store>,
    ) {
        match (from, message) {
            (Node::Server(server), Message::Reply(reply)) => {
                self.lock.on_reply(server, reply, &cx.lock, effects);
                self.on_answer(cx, effects);
            }
            (Node::Resource, Message::Written { serial, .. }) => {
                // A late answer to a write given up with a lost lease is of no interest any more.
                if serial == self.serial && matches!(self.phase, Phase::Writes { .. }) {
                    self.leave(cx, effects);
                }
            }
            (from, message) => unreachable!("{from} does not send {message:?} to a client"),
        }
    }

    /// The process starts again after a crash; the round that was under way counts as used.
    pub fn on_restart(&mut self, cx: &ClientContext<L>) {
        self.lock.on_restart(&cx.lock);
        let was_idle = matches!(self.phase, Phase::Thinks { .. } | Phase::Done);
        self.next_round(!was_idle, cx);
    }

    /// Whether a message would be dismissed whenever it arrives.
    pub fn dismisses(&self, message: &Message<L::Store>) -> bool {
        match message {
            Message::Reply(reply) => self.lock.dismisses(reply),
            Message::Written { serial, .. } => {
                *serial != self.serial || !matches!(self.phase, Phase::Writes { .. })
            }
            Message::Request(_) | Message::Peer(_) | Message::Write { .. } => false,
        }
    }

    /// Shows every time and number in the state to `visitor`.
    pub fn visit<V: Visitor>(&mut self, settings: &L::Settings, visitor: &mut V) {
        match &mut self.phase {
            Phase::Thinks { until } => visitor.wake(until),
            Phase::Holds { until, fence } | Phase::Writes { again: until, fence } => {
                visitor.wake(until);
                if let Some(fence) = fence {
                    L::Store::visit_fence(fence, visitor);
                }
            }
            Phase::Asks | Phase::WritesInside | Phase::Releases | Phase::Done => {}
        }
        visitor.serial(Owner::Me, &mut self.serial);
        self.lock.visit(settings, visitor);
    }

    fn on_answer(&mut self, cx: &ClientContext<L>, effects: &mut Effects<L::Store>) {
        let Some(answer) = effects.answer.take() else { return };
        let client = ClientId(cx.lock.me);
        match (self.phase, answer) {
            (Phase::Asks, Answer::Granted { fence }) => {
                effects.record(Event::Granted { client, fence });
                let until = cx.lock.monotonic + cx.workload.hold;
                self.phase = Phase::Holds { until, fence };
            }
            (Phase::Asks, Answer::Refused) => {
                effects.record(Event::Refused { client });
                self.next_round(!cx.workload.retries, cx);
            }
            // The store has said whether it took the write; the work is done either way.
            (Phase::WritesInside, Answer::Written { accepted: _ }) => self.leave(cx, effects),
            (Phase::Holds { .. } | Phase::Writes { .. } | Phase::WritesInside, Answer::Lost) => {
                effects.record(Event::Lost { client });
                self.release(cx, effects);
            }
            (Phase::Releases, Answer::Released) => {
                effects.record(Event::Released { client });
                self.next_round(true, cx);
            }
            (phase, answer) => unreachable!("a lock does not answer {answer:?} to a client that {phase:?}"),
        }
    }

    fn write(&mut self, fence: Option<FencingToken>, cx: &ClientContext<L>, effects: &mut Effects<L::Store>) {
        self.phase = Phase::Writes { again: cx.lock.monotonic + WRITE_TIMEOUT, fence };
        let lock = self.lock_id(cx.lock.me, cx.workload);
        effects.sends.push((Node::Resource, Message::Write { serial: self.serial, lock, fence }));
    }

    fn leave(&mut self, cx: &ClientContext<L>, effects: &mut Effects<L::Store>) {
        effects.record(Event::Left { client: ClientId(cx.lock.me) });
        self.release(cx, effects);
    }

    fn release(&mut self, cx: &ClientContext<L>, effects: &mut Effects<L::Store>) {
        self.phase = Phase::Releases;
        self.lock.on_call(Call::Release, &cx.lock, effects);
        self.on_answer(cx, effects);
    }

    fn next_round(&mut self, used: bool, cx: &ClientContext<L>) {
        let is_counted = cx.workload.rounds != ROUNDS_WITHOUT_END;
        self.rounds_left -= u8::from(used && is_counted && self.rounds_left > 0);
        self.phase = match self.rounds_left {
            0 => Phase::Done,
            _ => Phase::Thinks { until: cx.lock.monotonic + cx.workload.think },
        };
    }
}

/// What the locks protect: it applies writes, and may check their fencing tokens (catalogue, "Fencing").
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Resource {
    /// The largest token seen, lock by lock.
    largest: SmallVec<[Option<FencingToken>; 1]>,
}

impl Resource {
    /// The resource before anything was written.
    pub fn new(workload: &Workload) -> Resource {
        Resource { largest: smallvec![None; usize::from(workload.locks.max(1))] }
    }

    /// A write arrived: applies it, or turns it down, and answers.
    pub fn on_write<L: Lock>(
        &mut self,
        client: u8,
        serial: u32,
        lock: LockId,
        fence: Option<FencingToken>,
        workload: &Workload,
        effects: &mut Effects<L::Store>,
    ) {
        let largest = &mut self.largest[usize::from(lock.0)];
        let accepted = match (fence, *largest) {
            (Some(token), Some(largest)) if workload.resource_checks => token >= largest,
            (Some(_), _) | (None, _) => true,
        };
        if let Some(token) = fence
            && workload.resource_checks
        {
            *largest = (*largest).max(Some(token));
        }
        effects.record(match accepted {
            true => Event::Accepted { client: ClientId(client), fence },
            false => Event::Rejected { client: ClientId(client), fence },
        });
        effects.sends.push((Node::Client(client), Message::Written { serial, accepted }));
    }

    /// The resource's process ended and has started again.
    pub fn restart(&mut self, workload: &Workload) {
        if workload.resource_forgets {
            self.largest.fill(None);
        }
    }

    /// Shows every token in the state to `visitor`.
    pub fn visit<S: Store, V: Visitor>(&mut self, visitor: &mut V) {
        for largest in self.largest.iter_mut().flatten() {
            S::visit_fence(largest, visitor);
        }
    }

    /// What the resource remembers, lock by lock, for the reader of a trace.
    pub fn contents(&self) -> Vec<String> {
        let of = |lock| if self.largest.len() == 1 { String::new() } else { format!(" of {}", LockId(lock)) };
        let known = (0..).zip(&self.largest).filter_map(|(lock, token)| Some((lock, (*token)?)));
        known.map(|(lock, token)| format!("largest token{} {}", of(lock), token.0)).collect()
    }
}
