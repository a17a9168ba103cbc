//! What a member that has others does for its clients: changes, reads and keep-alives (`server/etcdserver/v3_server.go`,
//! `read/read.go`), and the counting of leases (`server/lease/lessor.go`).
//!
//! A member that is asked for something that it cannot do says nothing, and forgets it when its client's time-out is over: gRPC tells it of
//! that. Only a stream of keep-alives is told that there is no leader ([`Outcome::NoLeader`]).

use super::peer::{Command, Origin, Peer, ReadId, visit_read};
use super::*;
use crate::time::Monotonic;

/// A round of reads: one question, asked again until it is answered.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Reading {
    /// The numbers that it went under.
    numbers: SmallVec<[u32; 1]>,
    /// What must be applied first, once it is known.
    index: Option<u32>,
    again_at: Option<Monotonic>,
    queries: Vec<Query>,
}

/// What waits to be answered, or done.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Query {
    kind: Kind,
    /// Nobody waits for it any more then.
    until: Option<Monotonic>,
}

#[expect(clippy::large_enum_variant, reason = "most queries are the large ones")]
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) enum Kind {
    /// A client's.
    Read { client: u8, serial: u32, operation: Operation },
    /// A client's keep-alive, once it is sure that this member leads.
    Renew { client: u8, serial: u32, lease: LeaseId },
    /// Leases that are over, once it is sure that this member leads.
    End(SmallVec<[LeaseId; 2]>),
}

/// A keep-alive that waits for a checkpoint to be cleared.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Renewing {
    asker: Asker,
    lease: LeaseId,
    /// Its full time.
    ttl: Option<Micros>,
    /// Nobody waits for it any more then.
    until: Option<Monotonic>,
}

/// Who keeps a lease alive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Asker {
    client: u8,
    serial: u32,
    /// The member that has passed it on.
    via: Option<u8>,
}

/// How long a member tries (`ReqTimeout`): five seconds, and two elections.
fn patience(cx: &Cx) -> Option<Monotonic> {
    patience_with(None, cx)
}

/// The same for a client that waits for so long: the context of its call is over then, here as well.
fn patience_with(client: Option<Micros>, cx: &Cx) -> Option<Monotonic> {
    let own = Micros::seconds(5) + cx.settings.election_timeout + cx.settings.election_timeout;
    let longest = client.map_or(own, |client| client.min(own));
    cx.settings.tick.map(|_| cx.monotonic + longest)
}

/// How often a read that is not answered is asked again (`readIndexRetryTime`).
const READ_INTERVAL: Micros = Micros::millis(500);

impl Reading {
    /// When it is asked again.
    pub(super) fn again_at(&self) -> Option<Monotonic> {
        self.again_at
    }

    /// Whether it is not answered yet.
    pub(super) fn is_open(&self) -> bool {
        self.index.is_none()
    }

    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.numbers.iter_mut().for_each(|number| visit_read(number, visitor));
        self.again_at.iter_mut().for_each(|at| visitor.wake(at));
        self.queries.iter_mut().for_each(|query| query.visit(visitor));
    }
}

impl Renewing {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial_of(&mut self.asker.client, &mut self.asker.serial);
        self.lease.visit(visitor);
        self.until.iter_mut().for_each(|at| visitor.wake(at));
    }
}

impl Query {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.until.iter_mut().for_each(|at| visitor.wake(at));
        match &mut self.kind {
            Kind::Read { client, serial, operation } => {
                visitor.serial_of(client, serial);
                operation.visit(visitor);
            }
            Kind::Renew { client, serial, lease, .. } => {
                visitor.serial_of(client, serial);
                lease.visit(visitor);
            }
            Kind::End(leases) => leases.iter_mut().for_each(|lease| lease.visit(visitor)),
        }
    }
}

impl Etcd {
    /// A client asks a member that has others.
    pub(super) fn ask(&mut self, client: u8, request: Request, cx: &Cx, out: &mut Out) {
        let Request { serial, cancels: _, patience, way, operation } = request;
        let until = patience_with(patience, cx);
        if operation.is_change() {
            let part = self.part();
            let origin = Origin { member: cx.me, boot: part.boot, client, serial };
            return self.order_until(until, Command::Do { origin, operation }, cx);
        }
        match operation {
            Operation::KeepAlive(lease) => self.keep_alive(client, serial, lease, way, cx, out),
            operation if operation.is_local() => self.answer_here(client, serial, operation, cx, out),
            operation => self.confirm(Query { kind: Kind::Read { client, serial, operation }, until }, cx),
        }
    }

    fn answer_here(&mut self, client: u8, serial: u32, operation: Operation, cx: &Cx, out: &mut Out) {
        if let Some(outcome) = self.perform(client, serial, operation, cx, out) {
            self.answer(client, serial, outcome, out);
        }
    }

    /// What the member itself wants done.
    pub(super) fn order(&mut self, command: Command, cx: &Cx) {
        self.order_until(patience(cx), command, cx);
    }

    /// `Propose`: waits for a leader, if there is none, until nobody waits for it any more.
    fn order_until(&mut self, until: Option<Monotonic>, command: Command, cx: &Cx) {
        let part = self.part();
        if part.raft.leader.is_some() {
            part.raft.propose(command, cx);
        } else {
            part.unled.push((command, until));
        }
    }

    // Reads.

    /// Something may be done once it is known what must have been applied before (`LinearizableReadNotify`).
    fn confirm(&mut self, query: Query, cx: &Cx) {
        let part = self.part();
        part.next_round.push(query);
        if part.reading.is_none() {
            self.next_round(cx);
        }
    }

    fn next_round(&mut self, cx: &Cx) {
        let part = self.part();
        let mut queries = std::mem::take(&mut part.next_round);
        queries.retain(|query| query.until.is_none_or(|until| cx.monotonic < until));
        part.reading = None;
        if !queries.is_empty() {
            let reading = Reading { numbers: SmallVec::new(), index: None, again_at: None, queries };
            part.reading = Some(reading);
            self.ask_leader(cx);
        }
    }

    /// `sendReadIndex`, for the first time or again.
    pub(super) fn ask_leader(&mut self, cx: &Cx) {
        let part = self.part();
        let Some(reading) = &mut part.reading else { return };
        let number = match (cx.settings.read_index, reading.numbers.last()) {
            (ReadIndex::NumberedOnce, Some(number)) => *number,
            (ReadIndex::NumberedOnce | ReadIndex::NumberedAnew | ReadIndex::Unconfirmed, _) => {
                part.reads += 1;
                reading.numbers.push(part.reads);
                part.reads
            }
        };
        reading.again_at = cx.settings.tick.map(|_| cx.monotonic + READ_INTERVAL);
        part.raft.ask_read(ReadId { member: cx.me, number }, cx);
    }

    /// The question is repeated, for as long as somebody waits for the answer.
    pub(super) fn ask_again(&mut self, cx: &Cx) {
        let is_due = |reading: &&mut Reading| reading.again_at.is_some_and(|at| cx.monotonic >= at);
        let Some(reading) = self.part().reading.as_mut().filter(is_due) else { return };
        reading.queries.retain(|query| query.until.is_none_or(|until| cx.monotonic < until));
        match reading.queries.is_empty() {
            true => self.next_round(cx),
            false => self.ask_leader(cx),
        }
    }

    /// The leader has changed: what waits for the answer fails ("ErrLeaderChanged"), but for what came after the question. A
    /// client's library asks again at once, which the member does here for it; a check of the own office is over, and the stream of who has
    /// waited for it.
    pub(super) fn ask_anew(&mut self, cx: &Cx, out: &mut Out) {
        let mut ended: SmallVec<[(u8, u32); 2]> = SmallVec::new();
        let part = self.part();
        if let Some(mut reading) = part.reading.take_if(|reading| reading.index.is_none()) {
            reading.queries.retain(|query| match query.kind {
                Kind::Read { .. } => true,
                Kind::Renew { client, serial, .. } => {
                    ended.push((client, serial));
                    false
                }
                Kind::End(_) => false,
            });
            reading.queries.append(&mut part.next_round);
            part.next_round = reading.queries;
            self.next_round(cx);
        }
        ended.into_iter().for_each(|(client, serial)| self.answer(client, serial, Outcome::NoLeader, out));
    }

    /// Whether a round was answered.
    pub(super) fn answer_reads(&mut self, cx: &Cx, out: &mut Out) -> bool {
        let part = self.part();
        let confirmed = std::mem::take(&mut part.raft.confirmed);
        let Some(reading) = &mut part.reading else { return false };
        for (read, index) in confirmed {
            if reading.index.is_none() && reading.numbers.contains(&read.number) {
                reading.index = Some(index);
                reading.again_at = None;
            }
        }
        if reading.index.is_none_or(|index| index > part.applied) {
            return false;
        }
        let leads = part.raft.leader == Some(cx.me);
        let queries = std::mem::take(&mut reading.queries);
        for Query { kind, .. } in queries {
            match kind {
                Kind::Read { client, serial, operation } => {
                    self.answer_here(client, serial, operation, cx, out);
                }
                Kind::Renew { client, serial, lease } if leads => self.renew(client, serial, lease, cx, out),
                Kind::End(leases) if leads => {
                    leases.into_iter().for_each(|lease| self.order(Command::End(lease), cx));
                }
                // "Current member isn't a leader".
                Kind::Renew { client, serial, .. } => self.answer(client, serial, Outcome::NoLeader, out),
                Kind::End(_) => {}
            }
        }
        self.next_round(cx);
        true
    }

    // Leases.

    /// `LeaseRenew`. What cannot be done now is dropped: the client asks again in half a second. A stream that needs a leader does not begin
    /// without one, and ends when there was none for a while (`newStreamInterceptor`).
    fn keep_alive(&mut self, client: u8, serial: u32, lease: LeaseId, way: Way, cx: &Cx, out: &mut Out) {
        let part = self.part();
        match part.leader {
            Some(leader) if leader == cx.me => match cx.settings.keep_alive_office {
                Office::Confirmed if !part.is_active(cx) => {
                    let kind = Kind::Renew { client, serial, lease };
                    self.confirm(Query { kind, until: patience(cx) }, cx);
                }
                Office::Confirmed | Office::Assumed => self.renew(client, serial, lease, cx, out),
            },
            // By HTTP, past Raft.
            Some(leader) => out.peer(leader, Peer::Renew { client, serial, lease }),
            None => {
                let is_over = match way {
                    Way::NewStream => true,
                    Way::OpenStream => part.streams_end_at.is_some_and(|at| cx.monotonic >= at),
                    Way::Alone | Way::Connection { .. } => false,
                };
                if is_over {
                    self.answer(client, serial, Outcome::NoLeader, out);
                }
            }
        }
    }

    fn renew(&mut self, client: u8, serial: u32, lease: LeaseId, cx: &Cx, out: &mut Out) {
        if self.part().is_primary && !self.clears_first(Asker { client, serial, via: None }, lease, cx) {
            self.answer_here(client, serial, Operation::KeepAlive(lease), cx, out);
        }
    }

    /// A keep-alive that another member has passed on (`leasehttp`): nobody makes sure that this one still leads.
    pub(super) fn renew_for(
        &mut self,
        from: u8,
        client: u8,
        serial: u32,
        lease: LeaseId,
        cx: &Cx,
        out: &mut Out,
    ) {
        let asker = Asker { client, serial, via: Some(from) };
        if !self.part().is_primary || self.clears_first(asker, lease, cx) {
            return;
        }
        let goes_on = match self.kv.lease(lease).map(|lease| lease.ttl) {
            None => None,
            // It is over: the client asks again, and learns it when it has ended.
            Some(_)
                if self.lessor.is_over(lease, cx) && cx.settings.keep_alives != KeepAlives::AnswerAtOnce =>
            {
                return;
            }
            Some(ttl) => {
                self.lessor.refresh(lease, ttl, Micros::ZERO, cx);
                Some(ttl)
            }
        };
        out.peer(from, Peer::Renewed { client, serial, lease, goes_on });
    }

    /// What is left of a lease was told to the others: before it is kept alive they are told that it has its full time.
    fn clears_first(&mut self, asker: Asker, lease: LeaseId, cx: &Cx) -> bool {
        let Some(found) = self.kv.lease(lease).filter(|found| found.remaining.is_some()) else {
            return false;
        };
        if self.lessor.is_over(lease, cx) {
            return false;
        }
        let (ttl, until) = (found.ttl, patience(cx));
        let part = self.part();
        part.renewing.retain(|renewing| renewing.until.is_none_or(|until| cx.monotonic < until));
        part.renewing.push(Renewing { asker, lease, ttl, until });
        let Asker { client, serial, .. } = asker;
        let origin = Origin { member: cx.me, boot: part.boot, client, serial };
        self.order(Command::Clear { lease, origin }, cx);
        true
    }

    /// They are told, and the keep-alive goes on where it was. The real one looks whether there is the lease. It asks neither whether the
    /// lease is over by now, and its end on its way, nor whether this member still leads.
    pub(super) fn renew_cleared(&mut self, origin: Origin, cx: &Cx, out: &mut Out) {
        let part = self.part();
        let (is_primary, asked) = (part.is_primary, (origin.client, origin.serial));
        let is_asked = |renewing: &Renewing| (renewing.asker.client, renewing.asker.serial) == asked;
        let Some(place) = part.renewing.iter().position(is_asked) else { return };
        let Renewing { asker: Asker { client, serial, via }, lease, ttl, until } =
            part.renewing.remove(place);
        if until.is_some_and(|until| cx.monotonic >= until) {
            return;
        }
        let is_there = self.kv.lease(lease).is_some();
        if cx.settings.keep_alives == KeepAlives::AskAgain && self.lessor.is_over(lease, cx) {
            // Whom another member asks for asks again.
            if via.is_none() {
                self.answer_here(client, serial, Operation::KeepAlive(lease), cx, out);
            }
            return;
        }
        if is_there && is_primary {
            self.lessor.refresh(lease, ttl, Micros::ZERO, cx);
        }
        let goes_on = is_there || cx.settings.keep_alives == KeepAlives::LookOnce;
        match via {
            Some(member) => {
                let goes_on = goes_on.then_some(ttl);
                out.peer(member, Peer::Renewed { client, serial, lease, goes_on });
            }
            None if goes_on => self.answer(client, serial, Outcome::KeptAlive { lease, ttl }, out),
            None => self.answer(client, serial, Outcome::LeaseOver(lease), out),
        }
    }

    /// `runLoop`, of whoever counts.
    pub(super) fn count_leases(&mut self, cx: &Cx) {
        if !self.part().is_primary {
            return;
        }
        let over = self.lessor.take_over(cx);
        let is_sure = cx.settings.revoke_office == Office::Assumed || self.part().is_active(cx);
        if over.is_empty() {
        } else if is_sure {
            over.into_iter().for_each(|lease| self.order(Command::End(lease), cx));
        } else {
            self.confirm(Query { kind: Kind::End(over), until: patience(cx) }, cx);
        }
        for (lease, remaining) in self.lessor.take_checkpoints(cx) {
            self.order(Command::Checkpoint { lease, remaining }, cx);
        }
    }

    /// `Promote`: it has applied all that earlier leaders did, and counts from here on.
    pub(super) fn promote(&mut self, cx: &Cx) {
        let Etcd { kv, lessor, part, .. } = self;
        part.iter_mut().for_each(|part| part.is_primary = true);
        for lease in kv.leases() {
            let extend = match cx.settings.flaw {
                Flaw::PromotesWithoutExtension => Micros::ZERO,
                _ => cx.settings.election_timeout,
            };
            lessor.refresh(lease.id, lease.remaining.or(lease.ttl), extend, cx);
        }
    }
}
