//! Where a run sees that it has got into one of the situations of [`crate::seeded::marks`]. Looks only where something rare happens:
//! at grants and releases, where a fault strikes, where a message is lost.

use crate::seeded::marks::{Blow, Found, Mark};
use crate::seeded::run::Run;
use picklock_model::machine::{Line, Message, Node, Store};
use picklock_model::system::{Process, System};
use picklock_model::time::Micros;
use picklock_properties::{ClientId, ClientSet, Event, Hold};

/// What has to be remembered to see it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Witness {
    /// By client: since when its lease lasts, by true time; looked at only where it holds.
    lease_since: Vec<Micros>,
    /// Who crashed before its release was done.
    unreleased: ClientSet,
    /// By client: the servers whose replies it has missed, a bit each.
    missed: Vec<u64>,
    /// Whether any client has missed any.
    any_missed: bool,
    /// The number of the last blow.
    last_blow: u8,
    /// By blow: how often since the last grant, as far as it is counted.
    since_grant: [u8; Blow::COUNT],
    /// The step under way was begun by a deadline of a client's lock.
    pub waited_in_vain: bool,
}

/// More often than this counts as this often.
const AGAIN_MAX: u8 = 7;

impl Witness {
    /// Of a run that begins.
    pub fn reset(&mut self, clients: usize) {
        self.lease_since.clear();
        self.lease_since.resize(clients, Micros::ZERO);
        self.missed.clear();
        self.missed.resize(clients, 0);
        (self.unreleased, self.any_missed, self.waited_in_vain) = (ClientSet::EMPTY, false, false);
        (self.last_blow, self.since_grant) = (u8::MAX, [0; Blow::COUNT]);
    }
}

impl<Y: System> Run<'_, '_, Y> {
    fn mark(&mut self, mark: Mark, client: ClientId) {
        self.outcome.marks.count(mark);
        let line = self.cluster.clients[usize::from(client.0)].line();
        self.feel(Blow::Mark(mark), Found::Struck(line));
    }

    /// A blow with what it found, what came before it, and how often it has come.
    fn feel(&mut self, blow: Blow, found: Found) {
        let witness = &mut self.engine.witness;
        let times = &mut witness.since_grant[usize::from(blow.number())];
        *times = (*times + 1).min(AGAIN_MAX);
        let again = Found::Again(*times);
        let after = Found::After(std::mem::replace(&mut witness.last_blow, blow.number()));
        [found, after, again].into_iter().for_each(|found| self.outcome.features.insert(blow, found));
    }

    /// An event about who holds.
    pub(crate) fn witness(&mut self, event: Event) {
        let client = event.client();
        let me = usize::from(client.0);
        match event.hold() {
            Some(Hold::Begins) => {
                let lock = self.cluster.clients[me].busy_with(client.0, &self.setup.workload);
                if !self.cluster.monitors[usize::from(lock.0)].usage().in_the_way_of(client).is_empty() {
                    self.mark(Mark::GrantedWhileHeld, client);
                }
                if self.engine.witness.unreleased.contains(client) {
                    self.engine.witness.unreleased.remove(client);
                    self.mark(Mark::GrantedAgain, client);
                }
                self.engine.witness.lease_since[me] = self.now;
                self.engine.witness.since_grant = [0; Blow::COUNT];
            }
            Some(Hold::Prolonged) if self.cluster.clients[me].holds() => {
                self.look_at_lease(client);
                self.engine.witness.lease_since[me] = self.now;
            }
            // An answer to a renewal may come when the lock is long given back.
            Some(Hold::Prolonged) => {}
            Some(Hold::Left) => {
                self.look_at_lease(client);
                if self.engine.nodes[me].renews {
                    self.mark(Mark::LeftRenewing, client);
                }
            }
            Some(Hold::Lost) => self.look_at_lease(client),
            Some(Hold::Released) => self.engine.witness.unreleased.remove(client),
            None => {}
        }
    }

    fn look_at_lease(&mut self, client: ClientId) {
        let lasted = self.now - self.engine.witness.lease_since[usize::from(client.0)];
        if Y::lease_of(&self.setup.lock).is_some_and(|lease| lasted > lease) {
            self.mark(Mark::LeaseOutlived, client);
        }
    }

    /// `blow` strikes a client, or a server while all clients stand where they stand.
    pub(crate) fn witness_blow(&mut self, blow: Blow, node: Node) {
        match node {
            Node::Client(client) => {
                let line = self.cluster.clients[usize::from(client)].line();
                self.feel(blow, Found::Struck(line));
            }
            Node::Server(_) | Node::Resource => {
                let lines = self.cluster.clients.iter().map(|client| client.line());
                lines.for_each(|line| self.outcome.features.insert(blow, Found::Bystander(line)));
                self.feel(blow, Found::Bystander(Line::NONE));
            }
        }
        let holder = match node {
            Node::Client(client) => {
                let holds = self.cluster.clients[usize::from(client)].holds();
                holds.then_some(ClientId(client))
            }
            Node::Server(_) | Node::Resource => self.cluster.usage().holding.first(),
        };
        let is_client = matches!(node, Node::Client(_));
        let mark = match blow {
            Blow::Pause => is_client.then_some(Mark::HolderPaused),
            Blow::Crash => is_client.then_some(Mark::HolderCrashed),
            Blow::PowerLoss => (!is_client).then_some(Mark::PowerLostWhileHeld),
            Blow::Clock
            | Blow::ClockAhead
            | Blow::ClockBack
            | Blow::Cut
            | Blow::Slow
            | Blow::LostRequest
            | Blow::LostReply
            | Blow::Mark(_) => None,
        };
        if let (Some(mark), Some(holder)) = (mark, holder) {
            self.mark(mark, holder);
        }
    }

    /// A client's process is about to end.
    pub(crate) fn witness_crash(&mut self, client: u8) {
        let client = ClientId(client);
        let usage = self.cluster.usage();
        if usage.holding.contains(client) || usage.releasing.contains(client) {
            self.engine.witness.unreleased.insert(client);
        }
    }

    /// A message will never be handled.
    pub(crate) fn witness_loss(&mut self, from: Node, to: Node, message: &Message<Y::Store>) {
        let (client, blow) = match (from, to, message) {
            (Node::Server(server), Node::Client(client), Message::Reply(reply)) => {
                if Y::Store::is_notice(reply) {
                    self.mark(Mark::WatchUnheard, ClientId(client));
                } else {
                    self.engine.witness.missed[usize::from(client)] |= 1 << (server % 64);
                    self.engine.witness.any_missed = true;
                    self.mark(Mark::ReplyLost, ClientId(client));
                }
                (client, Blow::LostReply)
            }
            (Node::Client(client), _, _) => (client, Blow::LostRequest),
            (Node::Server(_) | Node::Resource, _, _) => return,
        };
        let line = self.cluster.clients[usize::from(client)].line();
        self.feel(blow, Found::Struck(line));
    }

    /// A message arrived where there is nobody any more.
    pub(crate) fn witness_dead_receiver(&mut self) {
        self.outcome.marks.count(Mark::DeadReceiver);
    }

    /// A client is about to ask a server.
    #[inline]
    pub(crate) fn witness_request(&mut self, from: Node, to: Node) {
        if self.engine.witness.any_missed
            && let (Node::Client(client), Node::Server(server)) = (from, to)
        {
            let (missed, bit) = (&mut self.engine.witness.missed[usize::from(client)], 1 << (server % 64));
            let has_missed = *missed & bit != 0;
            *missed &= !bit;
            if has_missed && self.engine.witness.waited_in_vain {
                self.mark(Mark::AskedAgain, ClientId(client));
            }
        }
    }

    /// A server has taken a step, in which it may have taken the lead.
    #[inline]
    pub(crate) fn witness_lead(&mut self, server: u8, position: usize) {
        let leads = self.cluster.servers[usize::from(server)].leads();
        let led = std::mem::replace(&mut self.engine.nodes[position].leads, leads);
        if leads
            && !led
            && let Some(holder) = self.cluster.usage().holding.first()
        {
            self.mark(Mark::LeaderChanged, holder);
        }
    }
}

#[cfg(test)]
mod tests;
