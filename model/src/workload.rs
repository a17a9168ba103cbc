//! Who uses the lock: how many clients, how often, how long, and what they do while they hold. Not part of any lock.

use crate::machine::{Answer, Call, Context, Effects, Lock, Message, Node, Owner, Store, Visitor};
use crate::time::{Due, Micros, Monotonic};
use picklock_properties::{ClientId, Event, FencingToken, HoldId, LockId, Mode, Promise, PromiseSet};
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
    /// How unevenly clients think and hold; `None`: always for as long as `think` and `hold` say.
    pub pace: Option<Pace>,
    /// Whether this is a workload to draw others around: where many seeds are run, each has its own number of clients and
    /// rounds, and its own lengths of thinking and holding. One run alone does what stands here, and so does the exhaustive
    /// engine.
    pub varies: bool,
    /// Whether the work of this kind fits into the lock's lease, as whoever uses a lock must see to that neither prolongs its
    /// lease nor tells its holder that it is over: then the lengths of holding that are drawn end well before the lease does.
    pub work_fits: bool,
}

/// Clients that take longer at one time than at another.
///
/// How long is a function of the client and its round, and nothing is drawn while a run goes on: the same client takes as long
/// in its third round, whatever became of the others. A round that is not counted (rounds without end; a refused client that asks
/// again) is as long as the one before.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Pace {
    /// Another seed, other lengths.
    pub seed: u64,
    /// By how much a length may be shorter than the workload says, in thousandths of it: at 1000 all from nothing to the whole are
    /// equally likely. No more than that counts.
    pub spread_per_mille: u16,
}

impl Pace {
    /// The part of `length` that this client takes in this round. `salt` tells one use from another.
    fn of(self, length: Micros, client: u8, round: u8, salt: u64) -> Micros {
        let place = u64::from(client) << 16 | u64::from(round) << 8 | salt;
        let luck = mixed(self.seed ^ mixed(place)) >> 32;
        let spread = u128::from(self.spread_per_mille.min(1000)) * u128::from(luck);
        let less = (length.0.max(0) as u128 * spread / (1000 << 32)) as i64;
        Micros(length.0 - less)
    }
}

/// The output function of SplitMix64 (Steele, Lea, Flood 2014): all bits of the result depend on all bits of `bits`.
fn mixed(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
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
    /// The resource behind the lock, which the holder reads before it works: what it writes at the end rests on that.
    ReadModifyWrite {
        /// Whether it shows its fencing token when it reads, too, so that a resource that checks tokens has seen it.
        reads_with_token: bool,
    },
}

impl Writes {
    /// What holders have to do so that these promises are put to the test: nothing, if none of them is about the resource.
    pub fn judged_by(promises: PromiseSet) -> Writes {
        if promises.contains(Promise::LostUpdate) {
            return Writes::ReadModifyWrite { reads_with_token: false };
        }
        Writes::resource_if(promises.contains(Promise::FencedResource))
    }

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
            pace: None,
            varies: false,
            work_fits: false,
        }
    }
}

impl Workload {
    /// Clients and attendants together.
    pub fn processes(&self) -> u8 {
        self.clients + self.attendants
    }

    /// How long this client waits before it asks, when it has finished so many rounds.
    pub fn think_of(&self, client: u8, rounds_before: u8) -> Micros {
        self.pace.map_or(self.think, |pace| pace.of(self.think, client, rounds_before, 0))
    }

    /// How long it works in its critical section then.
    pub fn hold_of(&self, client: u8, rounds_before: u8) -> Micros {
        self.pace.map_or(self.hold, |pace| pace.of(self.hold, client, rounds_before, 1))
    }

    /// What every client asks for.
    pub fn mode(&self) -> Mode {
        match self.calls {
            Calls::Lock => Mode::Lock,
            Calls::TryLock => Mode::TryLock,
        }
    }
}

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
                Phase::Thinks { until: start + workload.think_of(me, 0) }
            },
            rounds_left: if me < workload.clients { workload.rounds } else { 0 },
            serial: 0,
        }
    }

    /// The lock that the client asks for in this round.
    pub fn lock_id(&self, me: u8, workload: &Workload) -> LockId {
        let round = u32::from(me) + u32::from(self.rounds_before(workload));
        LockId(round.checked_rem(u32::from(workload.locks)).unwrap_or(0) as u8)
    }

    /// How many rounds it has finished, if they are counted.
    fn rounds_before(&self, workload: &Workload) -> u8 {
        workload.rounds - self.rounds_left.min(workload.rounds)
    }

    /// Whether the client is in its critical section.
    pub fn holds(&self) -> bool {
        matches!(
            self.phase,
            Phase::Reads { .. } | Phase::Holds { .. } | Phase::Writes { .. } | Phase::WritesInside
        )
    }

    /// Which of the client's holds is its latest.
    pub fn latest_hold(&self) -> HoldId {
        HoldId(self.serial)
    }

    /// Whether the client will ask when it likes.
    pub fn is_thinking(&self) -> bool {
        matches!(self.phase, Phase::Thinks { .. })
    }

    /// Whether the client works in its critical section, and has not begun to write.
    pub fn is_working(&self) -> bool {
        matches!(self.phase, Phase::Holds { .. })
    }

    /// Whether the client waits for the resource to answer, and will ask again.
    pub fn awaits_resource(&self) -> bool {
        matches!(self.phase, Phase::Reads { .. } | Phase::Writes { .. })
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
            Phase::Reads { .. } => "holds, reads",
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
            Phase::Reads { again, .. } | Phase::Writes { again, .. } => Some(Due::Monotonic(again)),
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
                Writes::Resource | Writes::ReadModifyWrite { .. } => self.write(fence, cx, effects),
                Writes::Store => {
                    self.phase = Phase::WritesInside;
                    self.lock.on_call(Call::Write, &cx.lock, effects);
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
            Message::Shown { serial } => *serial != self.serial || !matches!(self.phase, Phase::Reads { .. }),
            Message::Request(_) | Message::Peer(_) | Message::Read { .. } | Message::Write { .. } => false,
        }
    }

    /// Shows every time and number in the state to `visitor`.
    pub fn visit<V: Visitor>(&mut self, settings: &L::Settings, visitor: &mut V) {
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

    fn on_answer(&mut self, cx: &ClientContext<L>, effects: &mut Effects<L::Store>) {
        let Some(answer) = effects.answer.take() else { return };
        let client = ClientId(cx.lock.me);
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

    fn read(&mut self, fence: Option<FencingToken>, cx: &ClientContext<L>, effects: &mut Effects<L::Store>) {
        self.phase = Phase::Reads { again: cx.lock.monotonic + RESOURCE_TIMEOUT, fence };
        let lock = self.lock_id(cx.lock.me, cx.workload);
        let shows = cx.workload.writes == Writes::ReadModifyWrite { reads_with_token: true };
        let fence = fence.filter(|_| shows);
        effects.sends.push((Node::Resource, Message::Read { serial: self.serial, lock, fence }));
    }

    fn work(&mut self, fence: Option<FencingToken>, cx: &ClientContext<L>) {
        let hold = cx.workload.hold_of(cx.lock.me, self.rounds_before(cx.workload));
        self.phase = Phase::Holds { until: cx.lock.monotonic + hold, fence };
    }

    fn write(&mut self, fence: Option<FencingToken>, cx: &ClientContext<L>, effects: &mut Effects<L::Store>) {
        self.phase = Phase::Writes { again: cx.lock.monotonic + RESOURCE_TIMEOUT, fence };
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
            _ => {
                let think = cx.workload.think_of(cx.lock.me, self.rounds_before(cx.workload));
                Phase::Thinks { until: cx.lock.monotonic + think }
            }
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

    /// A read arrived: answers it. If it shows a token, a resource that checks them will turn down what is written with an
    /// older one; whoever reads with an older one learns of that when it writes.
    pub fn on_read<L: Lock>(
        &mut self,
        client: u8,
        serial: u32,
        lock: LockId,
        fence: Option<FencingToken>,
        workload: &Workload,
        effects: &mut Effects<L::Store>,
    ) {
        if workload.resource_checks {
            let largest = &mut self.largest[usize::from(lock.0)];
            *largest = (*largest).max(fence);
        }
        effects.record(Event::ResourceRead { client: ClientId(client), hold: HoldId(serial) });
        effects.sends.push((Node::Client(client), Message::Shown { serial }));
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
        let (client, hold) = (ClientId(client), Some(HoldId(serial)));
        effects.record(match accepted {
            true => Event::Accepted { client, fence, hold },
            false => Event::Rejected { client, fence, hold },
        });
        effects.sends.push((Node::Client(client.0), Message::Written { serial, accepted }));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn paced(spread_per_mille: u16) -> Workload {
        Workload {
            hold: Micros::seconds(10),
            pace: Some(Pace { seed: 4711, spread_per_mille }),
            ..Workload::default()
        }
    }

    fn holds(workload: &Workload) -> Vec<i64> {
        let rounds = (0..8).flat_map(|client| (0..100).map(move |round| (client, round)));
        rounds.map(|(client, round)| workload.hold_of(client, round).0).collect()
    }

    #[test]
    fn without_a_pace_or_a_spread_every_hold_is_as_long_as_the_workload_says() {
        for workload in [Workload { pace: None, ..paced(0) }, paced(0)] {
            assert!(holds(&workload).iter().all(|hold| *hold == Micros::seconds(10).0));
        }
    }

    #[test]
    fn at_full_spread_all_lengths_from_nothing_to_the_whole_are_equally_likely() {
        let holds = holds(&paced(1000));
        for tenth in 0..10 {
            let within = (tenth * 1_000_000)..=((tenth + 1) * 1_000_000);
            let count = holds.iter().filter(|hold| within.contains(*hold)).count();
            assert!((50..110).contains(&count), "{count} of 800 holds lie within {within:?}");
        }
    }

    #[test]
    fn at_a_smaller_spread_none_is_shorter_than_that() {
        let holds = holds(&paced(100));
        assert!(holds.iter().all(|hold| (9_000_000..=10_000_000).contains(hold)));
        assert!(holds.iter().any(|hold| *hold < 9_100_000) && holds.iter().any(|hold| *hold > 9_900_000));
    }

    #[test]
    fn how_long_a_client_thinks_says_nothing_of_how_long_it_holds() {
        let workload = Workload { think: Micros::seconds(10), ..paced(1000) };
        let longer =
            (0..100).filter(|round| workload.think_of(0, *round) > workload.hold_of(0, *round)).count();
        assert!((30..70).contains(&longer), "{longer} of 100");
    }
}
