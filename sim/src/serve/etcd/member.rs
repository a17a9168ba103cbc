//! One member, as whoever serves it asks it.

use super::desk::{Answer, Desk, Said, Servers, Waiting, header};
use super::names::Names;
use super::pb;
use super::refusal::{self, Refusal};
use super::uses::Uses;
use crate::serve::servers::State;
use crate::serve::watch::claims::Owner;
use picklock_model::machine::{Store, Visit};
use picklock_model::stores::etcd::{Etcd, Operation, Request, Revision};
use picklock_model::time::{Due, Micros, Wall};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tonic::Status;

/// All requests are one client's: they are told apart by their numbers.
const CLIENT: u8 = 0;

/// How long a request may take: five seconds, and two elections (`ReqTimeout`).
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(7);

/// One of the members.
#[derive(Clone, Debug)]
pub struct Member {
    pub servers: Servers,
    pub number: u8,
    /// Who asks it.
    pub asker: Owner,
}

/// A request under way, or a watch: forgotten when nobody has any use for it.
#[derive(Debug)]
pub struct Ticket {
    member: Member,
    serial: u32,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.member.servers.state().desk.forget(self.member.number, self.serial);
    }
}

impl Member {
    /// Asks, and waits for the answer. `operation` is told in numbers, perhaps twice: names may move while they are given.
    pub async fn ask(
        &self,
        operation: impl FnMut(&mut Names) -> Result<Operation, Refusal>,
    ) -> Result<Answer, Status> {
        self.servers.runs(self.number).await;
        let (to, answer) = oneshot::channel();
        let _ticket = self.send(Waiting::Call(to), operation)?;
        match tokio::time::timeout(REQUEST_TIMEOUT, answer).await {
            Ok(Ok(Answer { outcome: Said::Failed(error), .. })) => Err(Refusal::from(error).into()),
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(refusal::STOPPED.into()),
            Err(_) => Err(refusal::TIMED_OUT.into()),
        }
    }

    /// Begins a watch, whose answers come under this name.
    pub fn watch(
        &self,
        id: i64,
        prev_kv: bool,
        to: mpsc::UnboundedSender<(i64, Answer)>,
        operation: impl FnMut(&mut Names) -> Result<Operation, Refusal>,
    ) -> Result<Ticket, Status> {
        self.send(Waiting::Watch { id, prev_kv, to }, operation)
    }

    fn send(
        &self,
        waiting: Waiting,
        mut operation: impl FnMut(&mut Names) -> Result<Operation, Refusal>,
    ) -> Result<Ticket, Status> {
        let serial = self.servers.step(|state, now| {
            if state.nodes[usize::from(self.number)].condition.is_down() {
                return Err(refusal::STOPPED);
            }
            let operation = loop {
                let operation = operation(&mut state.desk.names)?;
                match state.desk.names.take_move() {
                    None => break operation,
                    Some(moved) => {
                        state.nodes.iter_mut().for_each(|node| node.machine.visit(&mut &moved));
                        state.letters.iter_mut().for_each(|(.., letter)| letter.visit(&mut &moved));
                    }
                }
            };
            let serial = state.desk.expect(self.number, waiting);
            if state.watch.record.is_on()
                && let Some(uses) = Uses::of(self.asker, &operation, &state.desk.names)
            {
                state.desk.uses(self.number, serial, uses);
            }
            let cancels = state.desk.unwanted(self.number);
            let request = Request { cancels, ..Request::new(serial, operation) };
            state.enter(&self.servers, self.number, now, |machine, cx, effects| {
                machine.on_request(CLIENT, request, cx, effects);
            });
            if serial % FORGET_EVERY == 0 {
                self.forget_applied(state);
            }
            Ok(serial)
        })?;
        Ok(Ticket { member: self.clone(), serial })
    }

    /// What every member has applied, no log needs any more.
    fn forget_applied(&self, state: &mut State<Etcd>) {
        let mut machines: Vec<&mut Etcd> = state.nodes.iter_mut().map(|node| &mut node.machine).collect();
        Etcd::settle(&mut machines, &mut std::iter::empty(), Wall(0), self.servers.settings());
    }

    /// Looks at the member's machine as it is.
    pub fn look<T>(&self, look: impl FnOnce(&Etcd, &mut Desk) -> T) -> T {
        let mut state = self.servers.state();
        let State { nodes, desk, .. } = &mut *state;
        look(&nodes[usize::from(self.number)].machine, desk)
    }

    /// What an answer begins with that comes from the member as it is.
    pub fn header(&self) -> pb::ResponseHeader {
        self.look(|machine, _| header(machine, self.number, machine.revision()))
    }

    /// Whether there is this lease, as far as the member knows.
    pub fn has_lease(&self, id: i64) -> bool {
        self.look(|machine, desk| machine.leases().any(|lease| desk.names.number_of_lease(Some(lease)) == id))
    }

    /// How many whole seconds a lease goes on for all that its leader knows; `None`: nobody here counts it.
    pub fn seconds_left(&self, id: i64) -> Option<i64> {
        let now = self.servers.now();
        let mut state = self.servers.state();
        let lease = state.desk.names.lease(id)?;
        let leads = |node: &u8| state.nodes[usize::from(*node)].machine.leads();
        let knows = state.nodes[usize::from(self.number)].machine.standing().leader;
        let leader = Some(self.number).filter(leads).or(knows)?;
        let node = &state.nodes[usize::from(leader)];
        let left = match node.machine.lease_over_at(lease)? {
            Due::Monotonic(at) => at - node.clock.monotonic(now),
            Due::Wall(at) => at - node.clock.wall(now),
        };
        Some(left.max(Micros::ZERO).whole_seconds())
    }
}

/// After so many requests it is looked what all have applied.
const FORGET_EVERY: u32 = 256;

/// A revision as the API has it: none is negative, and none here is larger than fits.
pub fn revision(number: i64) -> Revision {
    Revision(u32::try_from(number.max(0)).unwrap_or(u32::MAX))
}
