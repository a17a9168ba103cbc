//! A lock's connections to real etcd members, or to whatever speaks version 3 of etcd's gRPC API: what its machine says, in the
//! messages of `api/etcdserverpb/rpc.proto`.
//!
//! ```text
//!   machine: Request ──▶ Line, one per member ──▶ a task per call: words, spelling ──▶ gRPC over one connection
//!      Reply ◀── what the member has answered, or nothing: then the machine's own deadline comes
//! ```
//!
//! Keys are called as etcd's own client library calls them: who uses `concurrency.Mutex` or `etcdctl lock` with the same name
//! stands in the same queue.
//!
//! A member that answers with an error has refused (`requested lease not found`) or knows no better than its client
//! (`request timed out`): of the latter the machine is told nothing. What was asked over a connection that is lost is not asked
//! again.
//!
//! Left out: TLS, users. The real library sends all keep-alives over one stream; here each goes over one of its own, so that an
//! answer is of its question. A watch is a stream of its own, too. Revisions above 4,294,967,295 are answers
//! that nobody understands: the machine waits for another, for as long as it takes.

mod channel;
mod spelling;
mod words;

use super::connections::Patience;
use super::driver::{Inbox, Post, Slot};
use super::redis_client::Names;
use super::transport::Transport;
use crate::serve::etcd::pb;
use channel::Calls;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use picklock_model::machine::{Message, Node};
use picklock_model::stores::etcd::{
    Error, Etcd, Keys, LeaseId, Operation, Outcome, Reply, Request, Revision, Start,
};
use picklock_model::time::Micros;
use spelling::{Spelling, revision};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};
use tonic::Status;

/// How often a silent connection is looked after. A member takes more than one ping in five seconds for an attack
/// (`--grpc-keepalive-min-time`).
const PING: Duration = Duration::from_secs(6);

/// One connection to each member.
pub struct EtcdConnections {
    members: Vec<UnboundedSender<Request>>,
    tasks: JoinSet<()>,
}

impl EtcdConnections {
    /// Dials the members, as client `me`, and dials again whenever a connection is lost. No client has the number 255.
    pub fn open<T: Transport>(
        me: u8,
        members: u8,
        transport: &T,
        patience: Patience,
        names: Names,
    ) -> (EtcdConnections, Inbox<Etcd>) {
        let (slot, inbox) = unbounded_channel();
        let mut connections = EtcdConnections { members: Vec::new(), tasks: JoinSet::new() };
        let spelling = Arc::new(Mutex::new(Spelling::new(me, names)));
        for member in 0..members {
            let (outgoing, waiting) = unbounded_channel();
            connections.members.push(outgoing);
            let ear = Ear { member, slot: slot.clone() };
            let line = Line { me, transport: transport.clone(), patience, spelling: spelling.clone(), ear };
            transport.spawn(&mut connections.tasks, line.keep(waiting));
        }
        (connections, inbox)
    }
}

impl Post<Etcd> for EtcdConnections {
    fn post(&mut self, to: Node, message: Message<Etcd>) {
        let (Node::Server(member), Message::Request(request)) = (to, message) else {
            unreachable!("a lock speaks to its members, and asks");
        };
        // A task that is gone has panicked, and that is passed on at the next turn.
        let _gone = self.members[usize::from(member)].send(request);
    }

    fn poll_tasks(&mut self, cx: &mut Context<'_>) -> Poll<Infallible> {
        while let Poll::Ready(Some(ended)) = self.tasks.poll_join_next(cx) {
            pass_on(ended);
        }
        Poll::Pending
    }
}

/// Where answers of one member go.
#[derive(Clone)]
struct Ear {
    member: u8,
    slot: Slot<Etcd>,
}

impl Ear {
    fn hears(&self, reply: Reply) {
        // Whoever asked is gone.
        let _gone = self.slot.send((Node::Server(self.member), Message::Reply(reply)));
    }
}

/// The connection to one member, dialled again whenever it is lost.
struct Line<T> {
    me: u8,
    transport: T,
    patience: Patience,
    spelling: Arc<Mutex<Spelling>>,
    ear: Ear,
}

impl<T: Transport> Line<T> {
    async fn keep(self, mut waiting: UnboundedReceiver<Request>) {
        let Line { me, transport, patience, spelling, ear } = self;
        let mut pause = patience.redial_min;
        loop {
            let dialled =
                timeout(patience.connect, dial(transport.clone(), ear.member, patience.silence)).await;
            if let Ok(Some((calls, connection))) = dialled {
                pause = patience.redial_min;
                let (transport, spelling, ear) = (transport.clone(), spelling.clone(), ear.clone());
                let talk = Talk { me, transport, calls, spelling, ear };
                tokio::select! {
                    biased;
                    () = connection => {}
                    () = talk.go_on(&mut waiting) => return,
                }
            }
            // What was to be said over a connection that is lost, or was never made, is not said.
            while waiting.try_recv().is_ok() {}
            if waiting.is_closed() {
                return;
            }
            sleep(pause).await;
            pause = patience.redial_max.min(2 * pause);
        }
    }
}

/// Calls over a new connection; and the connection, which ends when it is lost.
async fn dial<T: Transport>(
    transport: T,
    member: u8,
    silence: Duration,
) -> Option<(Calls, impl Future<Output = ()> + use<T>)> {
    let stream = transport.connect(Node::Server(member)).await.ok()?;
    let (requests, connection) = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(silence)
        .keep_alive_while_idle(true)
        .handshake(TokioIo::new(stream))
        .await
        .ok()?;
    let connection = async move {
        // However it has ended.
        let _lost = connection.await;
    };
    Some((Calls::new(requests), connection))
}

/// A connection, for as long as it lasts.
struct Talk<T> {
    me: u8,
    transport: T,
    calls: Calls,
    spelling: Arc<Mutex<Spelling>>,
    ear: Ear,
}

impl<T: Transport> Talk<T> {
    /// Asks what is to be asked, until nobody asks any more.
    async fn go_on(self, waiting: &mut UnboundedReceiver<Request>) {
        let Talk { me, transport, calls, spelling, ear } = self;
        let mut tasks = JoinSet::new();
        // Who drops what is kept here for a watch ends it.
        let mut watches: BTreeMap<u32, oneshot::Sender<Infallible>> = BTreeMap::new();
        loop {
            let request = tokio::select! {
                biased;
                Some(ended) = tasks.join_next() => {
                    pass_on(ended);
                    continue;
                }
                request = waiting.recv() => request,
            };
            let Some(Request { serial, cancels, operation, .. }) = request else { return };
            if let Some(watch) = cancels {
                watches.remove(&watch);
            }
            let lease = LeaseId { client: me, serial };
            let (calls, spelling, ear) = (calls.clone(), spelling.clone(), ear.clone());
            let call = Call { serial, lease, calls, spelling, ear };
            match operation {
                Operation::Watch { keys, start } => {
                    let (kept, dropped) = oneshot::channel();
                    // The one that has the same number is begun again.
                    watches.insert(serial, kept);
                    let watch = async move {
                        tokio::select! {
                            biased;
                            _ = dropped => {}
                            _over = call.watch(keys, start) => {}
                        }
                    };
                    transport.spawn(&mut tasks, watch);
                }
                operation => transport.spawn(&mut tasks, call.make(operation)),
            }
        }
    }
}

/// One call of a machine.
struct Call {
    serial: u32,
    /// The lease that this call may be granted.
    lease: LeaseId,
    calls: Calls,
    spelling: Arc<Mutex<Spelling>>,
    ear: Ear,
}

/// The revision of an answer, and what it says. `None`: nothing that the machine would understand.
type Heard = Result<Option<(i64, Outcome)>, Status>;

impl Call {
    async fn make(self, operation: Operation) {
        let (serial, ear) = (self.serial, self.ear.clone());
        let reply = match self.ask(operation).await {
            Ok(Some((at, outcome))) => revision(at).map(|revision| Reply { serial, revision, outcome }),
            Ok(None) => None,
            // A refusal does not say where the store is.
            Err(status) => words::refusal(&status).map(|error: Error| Reply {
                serial,
                revision: Revision::ZERO,
                outcome: Outcome::Failed(error),
            }),
        };
        if let Some(reply) = reply {
            ear.hears(reply);
        }
    }

    async fn ask(self, operation: Operation) -> Heard {
        let Call { lease, calls, spelling, .. } = self;
        match operation {
            Operation::Range(range) => {
                let request = words::range(range, &lock(&spelling));
                let answer: pb::RangeResponse = calls.call("/etcdserverpb.KV/Range", request).await?;
                let found = words::found(&answer, &mut lock(&spelling));
                Ok(at(&answer.header).zip(found.map(Outcome::Range)))
            }
            Operation::Put(put) => {
                let request = words::put(put, &lock(&spelling));
                let answer: pb::PutResponse = calls.call("/etcdserverpb.KV/Put", request).await?;
                Ok(at(&answer.header).map(|at| (at, Outcome::Put)))
            }
            Operation::Delete(keys) => {
                let (key, range_end) = lock(&spelling).keys(keys);
                let request = pb::DeleteRangeRequest { key, range_end, prev_kv: false };
                let answer: pb::DeleteRangeResponse =
                    calls.call("/etcdserverpb.KV/DeleteRange", request).await?;
                Ok(at(&answer.header).map(|at| (at, Outcome::Deleted(words::count(answer.deleted)))))
            }
            Operation::Txn(txn) => {
                let request = words::txn(&txn, &lock(&spelling));
                let answer: pb::TxnResponse = calls.call("/etcdserverpb.KV/Txn", request).await?;
                let done = words::txn_done(&answer, &mut lock(&spelling));
                Ok(at(&answer.header).zip(done))
            }
            Operation::Compact(upto) => {
                let request = pb::CompactionRequest { revision: upto.0.into(), physical: false };
                let answer: pb::CompactionResponse = calls.call("/etcdserverpb.KV/Compact", request).await?;
                Ok(at(&answer.header).map(|at| (at, Outcome::Compacted)))
            }
            Operation::Grant { ttl } => grant(calls, &spelling, lease, 0, ttl).await,
            Operation::GrantAs { lease, ttl } => {
                let number = i64::from(lease.client) << 32 | i64::from(lease.serial);
                grant(calls, &spelling, lease, number, ttl).await
            }
            Operation::Revoke(lease) => {
                let id = lock(&spelling).number(lease);
                let request = pb::LeaseRevokeRequest { id };
                let answer: pb::LeaseRevokeResponse =
                    calls.call("/etcdserverpb.Lease/LeaseRevoke", request).await?;
                Ok(at(&answer.header).map(|at| (at, Outcome::Revoked)))
            }
            Operation::KeepAlive(lease) => {
                let request = pb::LeaseKeepAliveRequest { id: lock(&spelling).number(lease) };
                let (_kept, mut answers) =
                    calls.stream("/etcdserverpb.Lease/LeaseKeepAlive", request).await?;
                let answer: Option<pb::LeaseKeepAliveResponse> = answers.message().await?;
                Ok(answer.and_then(|answer| Some((at(&answer.header)?, kept_alive(lease, answer.ttl)))))
            }
            Operation::TimeToLive(lease) => {
                let request = pb::LeaseTimeToLiveRequest { id: lock(&spelling).number(lease), keys: true };
                let answer: pb::LeaseTimeToLiveResponse =
                    calls.call("/etcdserverpb.Lease/LeaseTimeToLive", request).await?;
                let mut spelling = lock(&spelling);
                let mut keys: Vec<_> = answer.keys.iter().map(|key| spelling.read_key(key)).collect();
                keys.sort_unstable();
                let granted = (answer.ttl >= 0).then(|| words::micros(answer.granted_ttl));
                let outcome = Outcome::TimeToLive { granted, keys: keys.into_iter().collect() };
                Ok(at(&answer.header).map(|at| (at, outcome)))
            }
            Operation::Watch { .. } => unreachable!("a watch has a task of its own"),
        }
    }

    /// Until it is over: `None` if nobody will hear of it any more.
    async fn watch(self, keys: Keys, start: Start) -> Option<Infallible> {
        let request = words::watch(keys, start, &lock(&self.spelling));
        let stream = self.calls.clone().stream("/etcdserverpb.Watch/Watch", request).await;
        let (_kept, mut answers) = stream.ok()?;
        loop {
            let told: pb::WatchResponse = answers.message().await.ok()??;
            let revision = revision(at(&told.header)?)?;
            let outcome = match (told.canceled, told.compact_revision) {
                // Why, is for no machine to know.
                (true, 0) => return None,
                (true, compacted) => Outcome::WatchCanceled { compact_revision: self::revision(compacted)? },
                // A connection that is lost tells of that by itself.
                (false, _) if told.created => Outcome::Watching { boot: 0 },
                (false, _) => {
                    let mut spelling = lock(&self.spelling);
                    let events = told.events.iter().map(|event| words::event(event, &mut spelling));
                    Outcome::Events(events.collect::<Option<_>>()?)
                }
            };
            self.ear.hears(Reply { serial: self.serial, revision, outcome });
        }
    }
}

async fn grant(
    calls: Calls,
    spelling: &Mutex<Spelling>,
    lease: LeaseId,
    id: i64,
    ttl: Option<Micros>,
) -> Heard {
    // A lease that does not end is for worlds without time: here the longest.
    let request = pb::LeaseGrantRequest { ttl: ttl.map_or(LONGEST_SECONDS, words::seconds), id };
    let answer: pb::LeaseGrantResponse = calls.call("/etcdserverpb.Lease/LeaseGrant", request).await?;
    lock(spelling).granted(lease, answer.id);
    let outcome = Outcome::Granted { lease, ttl: ttl.map(|_| words::micros(answer.ttl)) };
    Ok(at(&answer.header).map(|at| (at, outcome)))
}

/// `MaxLeaseTTL`.
const LONGEST_SECONDS: i64 = 9_000_000_000;

fn kept_alive(lease: LeaseId, seconds: i64) -> Outcome {
    match seconds > 0 {
        true => Outcome::KeptAlive { lease, ttl: Some(words::micros(seconds)) },
        false => Outcome::LeaseOver(lease),
    }
}

fn at(header: &Option<pb::ResponseHeader>) -> Option<i64> {
    header.as_ref().map(|header| header.revision)
}

/// A task that panicked makes its owner panic; a cancelled one has been cancelled with its owner.
fn pass_on(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}

fn lock(spelling: &Mutex<Spelling>) -> MutexGuard<'_, Spelling> {
    spelling.lock().unwrap_or_else(PoisonError::into_inner)
}
