//! One client of a lock: an application that takes the lock, works, and gives it back.

use super::{ROUNDS_WITHOUT_END, Workload, Writes};
use crate::machine::{Answer, Call, Effects, IDLE, Line, Lock, Message, Node, Owner, Store, Visitor};
use crate::system::{Process, ProcessContext};
use crate::time::{Due, Micros, Monotonic, Wall};
use picklock_properties::{Access, ClientId, Event, FencingToken, HoldId, LockId};
use serde::{Deserialize, Serialize};

/// How long a holder waits for the resource's answer before it sends its read or its write again.
const RESOURCE_TIMEOUT: Micros = Micros::seconds(1);

/// One client: an application and its lock.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Client<L: Lock> {
    /// The algorithm's machine.
    pub lock: L,
    phase: Phase,
    rounds_left: u8,
    /// Counts the holds, so that what is late from an earlier one is told apart.
    serial: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    /// Will ask for the lock.
    Thinks { until: Monotonic },
    /// Has asked.
    Asks,
    /// Has asked the resource for what it will work on and waits for the answer, in the critical section.
    Reads { again: Monotonic, fence: Option<FencingToken> },
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

impl<L: Lock> Process<L> for Client<L> {
    fn new(me: u8, workload: &Workload, start: Monotonic, settings: &L::Settings) -> Self {
        Client {
            lock: L::new(me, settings),
            phase: if workload.rounds == 0 || me >= workload.clients {
                Phase::Done
            } else {
                Phase::Thinks { until: start + workload.think_of(me, 0) }
            },
            rounds_left: if me < workload.clients { workload.rounds } else { 0 },
            serial: 0,
        }
    }

    fn busy_with(&self, me: u8, workload: &Workload) -> LockId {
        let round = u32::from(me) + u32::from(self.rounds_before(workload));
        LockId(round.checked_rem(u32::from(workload.locks)).unwrap_or(0) as u8)
    }

    fn holds(&self) -> bool {
        matches!(
            self.phase,
            Phase::Reads { .. } | Phase::Holds { .. } | Phase::Writes { .. } | Phase::WritesInside
        )
    }

    fn latest_hold(&self) -> HoldId {
        HoldId(self.serial)
    }

    fn is_thinking(&self) -> bool {
        matches!(self.phase, Phase::Thinks { .. })
    }

    fn may_stop_asking(&self, workload: &Workload) -> bool {
        matches!(self.phase, Phase::Thinks { .. }) && workload.is_past_first_round(self.rounds_left)
    }

    fn is_working(&self) -> bool {
        matches!(self.phase, Phase::Holds { .. })
    }

    fn awaits_resource(&self) -> bool {
        matches!(self.phase, Phase::Reads { .. } | Phase::Writes { .. })
    }

    fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Thinks { .. } => "thinks",
            Phase::Asks | Phase::Releases => self.lock.doing(),
            Phase::Reads { .. } => "holds, reads",
            Phase::Holds { .. } => "holds",
            Phase::Writes { .. } | Phase::WritesInside => "holds, writes",
            // Who serves others is never done.
            Phase::Done => match self.lock.doing() {
                IDLE => "done",
                doing => doing,
            },
        }
    }

    fn app_deadline(&self, workload: &Workload) -> Option<Due> {
        match self.phase {
            Phase::Holds { .. } if !workload.releases => None,
            Phase::Thinks { until } | Phase::Holds { until, .. } => Some(Due::Monotonic(until)),
            Phase::Reads { again, .. } | Phase::Writes { again, .. } => Some(Due::Monotonic(again)),
            Phase::Asks | Phase::WritesInside | Phase::Releases | Phase::Done => None,
        }
    }

    fn on_app_deadline(&mut self, cx: &ProcessContext<L>, effects: &mut Effects<L::Store>) {
        match self.phase {
            Phase::Thinks { .. } => {
                let mode = cx.workload.mode();
                self.phase = Phase::Asks;
                let access = self.access(cx);
                effects.record(Event::Called { client: ClientId(cx.machine.me), mode, access });
                let lock = self.busy_with(cx.machine.me, cx.workload);
                self.lock.on_call(Call::Acquire { lock, mode, access }, &cx.machine, effects);
                self.on_answer(cx, effects);
            }
            Phase::Holds { .. } if !L::modes(cx.machine.settings).may_write(self.access(cx)) => {
                self.leave(cx, effects);
            }
            Phase::Holds { fence, .. } => match cx.workload.writes {
                Writes::None => self.leave(cx, effects),
                Writes::Resource | Writes::ReadModifyWrite { .. } => self.write(fence, cx, effects),
                Writes::Store => {
                    self.phase = Phase::WritesInside;
                    self.lock.on_call(Call::Write, &cx.machine, effects);
                    self.on_answer(cx, effects);
                }
            },
            // No answer from the resource: the same again.
            Phase::Reads { fence, .. } => self.read(fence, cx, effects),
            Phase::Writes { fence, .. } => self.write(fence, cx, effects),
            Phase::Asks | Phase::WritesInside | Phase::Releases | Phase::Done => {
                unreachable!("the application sleeps only in other phases")
            }
        }
    }

    fn on_deadline(&mut self, cx: &ProcessContext<L>, effects: &mut Effects<L::Store>) {
        self.lock.on_deadline(&cx.machine, effects);
        self.on_answer(cx, effects);
    }

    fn on_message(
        &mut self,
        from: Node,
        message: Message<L::Store>,
        cx: &ProcessContext<L>,
        effects: &mut Effects<L::Store>,
    ) {
        match (from, message) {
            (Node::Server(server), Message::Reply(reply)) => {
                self.lock.on_reply(server, reply, &cx.machine, effects);
                self.on_answer(cx, effects);
            }
            (Node::Resource, Message::Shown { serial }) => {
                if serial == self.serial
                    && let Phase::Reads { fence, .. } = self.phase
                {
                    self.work(fence, cx);
                }
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

    fn on_restart(&mut self, cx: &ProcessContext<L>) {
        self.lock.on_restart(&cx.machine);
        let was_idle = matches!(self.phase, Phase::Thinks { .. } | Phase::Done);
        self.next_round(!was_idle, cx);
    }

    fn dismisses(&self, message: &Message<L::Store>) -> bool {
        match message {
            Message::Reply(reply) => self.lock.dismisses(reply),
            Message::Written { serial, .. } => {
                *serial != self.serial || !matches!(self.phase, Phase::Writes { .. })
            }
            Message::Shown { serial } => *serial != self.serial || !matches!(self.phase, Phase::Reads { .. }),
            Message::Request(_) | Message::Peer(_) | Message::Read { .. } | Message::Write { .. } => false,
        }
    }

    fn strike_out(&self, message: &mut Message<L::Store>, settings: &L::Settings) {
        if let Message::Reply(reply) = message {
            self.lock.strike_out(reply, settings);
        }
    }

    fn visit<V: Visitor>(&mut self, settings: &L::Settings, visitor: &mut V) {
        match &mut self.phase {
            Phase::Thinks { until } => visitor.wake(until),
            Phase::Reads { again: until, fence }
            | Phase::Holds { until, fence }
            | Phase::Writes { again: until, fence } => {
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

    fn deadline(&self, settings: &L::Settings) -> Option<Due> {
        self.lock.deadline(settings)
    }

    fn choices(&self, reply: Option<&<L::Store as Store>::Reply>, settings: &L::Settings) -> u32 {
        self.lock.choices(reply, settings)
    }

    fn is_renewing(&self) -> bool {
        self.lock.is_renewing()
    }

    fn earliest_timestamp(&self, settings: &L::Settings) -> Option<Wall> {
        self.lock.earliest_timestamp(settings)
    }

    fn line(&self) -> Line {
        self.lock.line()
    }

    fn valid_until(&self, settings: &L::Settings) -> Option<Due> {
        self.lock.valid_until(settings)
    }
}

impl<L: Lock> Client<L> {
    /// How many rounds it has finished, if they are counted.
    fn rounds_before(&self, workload: &Workload) -> u8 {
        workload.rounds - self.rounds_left.min(workload.rounds)
    }

    fn on_answer(&mut self, cx: &ProcessContext<L>, effects: &mut Effects<L::Store>) {
        let Some(answer) = effects.answer.take() else { return };
        let client = ClientId(cx.machine.me);
        match (self.phase, answer) {
            (Phase::Asks, Answer::Granted { fence }) => {
                self.serial = self.serial.wrapping_add(1);
                effects.record(Event::Granted { client, fence, hold: self.latest_hold() });
                match cx.workload.writes {
                    Writes::None | Writes::Resource | Writes::Store => self.work(fence, cx),
                    Writes::ReadModifyWrite { .. } => self.read(fence, cx, effects),
                }
            }
            (Phase::Asks, Answer::Refused) => {
                effects.record(Event::Refused { client });
                self.next_round(!cx.workload.retries, cx);
            }
            // The store has said whether it took the write; the work is done either way.
            (Phase::WritesInside, Answer::Written { accepted: _ }) => self.leave(cx, effects),
            (
                Phase::Reads { .. } | Phase::Holds { .. } | Phase::Writes { .. } | Phase::WritesInside,
                Answer::Lost,
            ) => {
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

    /// The mode of access in which it asks, or holds, in this round.
    fn access(&self, cx: &ProcessContext<L>) -> Access {
        cx.workload.access_of(cx.machine.me, self.rounds_before(cx.workload))
    }

    fn read(&mut self, fence: Option<FencingToken>, cx: &ProcessContext<L>, effects: &mut Effects<L::Store>) {
        self.phase = Phase::Reads { again: cx.machine.monotonic + RESOURCE_TIMEOUT, fence };
        let lock = self.busy_with(cx.machine.me, cx.workload);
        let shows = cx.workload.writes == Writes::ReadModifyWrite { reads_with_token: true };
        let fence = fence.filter(|_| shows);
        effects.sends.push((Node::Resource, Message::Read { serial: self.serial, lock, fence }));
    }

    fn work(&mut self, fence: Option<FencingToken>, cx: &ProcessContext<L>) {
        let hold = cx.workload.hold_of(cx.machine.me, self.rounds_before(cx.workload));
        self.phase = Phase::Holds { until: cx.machine.monotonic + hold, fence };
    }

    fn write(
        &mut self,
        fence: Option<FencingToken>,
        cx: &ProcessContext<L>,
        effects: &mut Effects<L::Store>,
    ) {
        self.phase = Phase::Writes { again: cx.machine.monotonic + RESOURCE_TIMEOUT, fence };
        let lock = self.busy_with(cx.machine.me, cx.workload);
        effects.sends.push((Node::Resource, Message::Write { serial: self.serial, lock, fence }));
    }

    fn leave(&mut self, cx: &ProcessContext<L>, effects: &mut Effects<L::Store>) {
        effects.record(Event::Left { client: ClientId(cx.machine.me) });
        self.release(cx, effects);
    }

    fn release(&mut self, cx: &ProcessContext<L>, effects: &mut Effects<L::Store>) {
        self.phase = Phase::Releases;
        self.lock.on_call(Call::Release, &cx.machine, effects);
        self.on_answer(cx, effects);
    }

    fn next_round(&mut self, used: bool, cx: &ProcessContext<L>) {
        let is_counted = cx.workload.rounds != ROUNDS_WITHOUT_END;
        self.rounds_left -= u8::from(used && is_counted && self.rounds_left > 0);
        self.phase = match self.rounds_left {
            0 => Phase::Done,
            _ => {
                let think = cx.workload.think_of(cx.machine.me, self.rounds_before(cx.workload));
                Phase::Thinks { until: cx.machine.monotonic + think }
            }
        };
    }
}
