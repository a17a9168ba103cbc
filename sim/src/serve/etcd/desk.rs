//! What the members have for their clients' sake: what names mean, and who waits for which answer.

use super::names::Names;
use super::pb;
use super::uses::{Done, Uses};
use crate::serve::servers::{self, Served};
use crate::serve::watch::Watch;
use picklock_model::stores::etcd::{
    Change, Error, Etcd, Found, KeyValue, Outcome, Reply, Response, Revision, WatchEvent,
};
use picklock_model::time::Micros;
use std::collections::{BTreeMap, VecDeque};
use tokio::sync::{mpsc, oneshot};

/// Simulated members, which outlive the connections to them and their processes. Cheap to clone: all clones are the same
/// members.
pub type Servers = servers::Servers<Etcd>;

/// What the members have for their clients' sake.
#[derive(Debug, Default)]
pub struct Desk {
    pub names: Names,
    /// The number of the last request.
    serial: u32,
    waiting: BTreeMap<(u8, u32), Waiting>,
    /// The watches that nobody wants any more, and the member does not know it yet.
    unwanted: BTreeMap<u8, VecDeque<u32>>,
    /// What requests under way will have done to keys and leases, if they are followed.
    uses: BTreeMap<(u8, u32), Uses>,
    /// What has been done since this was last asked.
    done: Vec<Done>,
    /// How many leases were given a number.
    leases_numbered: i64,
    /// Where the members are, as they tell it.
    pub urls: Vec<String>,
}

/// Who waits for an answer.
#[derive(Debug)]
pub enum Waiting {
    /// One answer ends it.
    Call(oneshot::Sender<Answer>),
    /// It goes on.
    Watch {
        /// What the watch is called by who began it.
        id: i64,
        /// Whether it wants to see what was there before each event.
        prev_kv: bool,
        to: mpsc::UnboundedSender<(i64, Answer)>,
    },
}

/// What a member answers, in the clients' bytes.
#[derive(Clone, Debug)]
pub struct Answer {
    pub header: pb::ResponseHeader,
    pub outcome: Said,
}

/// [`Outcome`] in the clients' bytes.
#[derive(Clone, Debug)]
pub enum Said {
    Range(Listed),
    Put,
    Deleted(i64),
    Txn {
        succeeded: bool,
        responses: Vec<Step>,
    },
    Compacted,
    /// With its time to live in seconds.
    Granted(i64),
    Revoked,
    KeptAlive(i64),
    LeaseOver,
    TimeToLive {
        granted: Option<i64>,
        keys: Vec<bytes::Bytes>,
    },
    Watching,
    Events(Vec<pb::Event>),
    WatchCanceled {
        compact_revision: i64,
    },
    Failed(Error),
    /// A stream of keep-alives has ended for want of a leader.
    NoLeader,
}

/// What came of one step of a transaction.
#[derive(Clone, Debug)]
pub enum Step {
    Range(Listed),
    Put,
    Deleted(i64),
}

/// What a range came to.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    pub kvs: Vec<pb::KeyValue>,
    pub count: i64,
}

/// How many requests under way are followed.
const USES_MAX: usize = 10_000;

/// What clusters are told apart by.
const CLUSTER_ID: u64 = 0x7069_636b_6c6f_636b;

/// A member's number as clients see it.
pub fn member_id(member: u8) -> u64 {
    0x6d65_6d62_6572_0001 + u64::from(member)
}

impl Served for Etcd {
    type Desk = Desk;

    fn says(&self, member: u8, _client: u8, reply: Reply, desk: &mut Desk) {
        let Reply { serial, revision, outcome } = reply;
        let header = header(self, member, revision);
        let place = (member, serial);
        if let Some(uses) = desk.uses.remove(&place) {
            desk.done.extend(uses.done(&outcome));
        }
        // If nobody listens any more, nobody minds.
        match desk.waiting.get(&place) {
            None => {}
            Some(Waiting::Watch { id, prev_kv, to }) => {
                let outcome = said(outcome, *prev_kv, self, &desk.names);
                let _gone = to.send((*id, Answer { header, outcome }));
            }
            Some(Waiting::Call(_)) => {
                let outcome = said(outcome, false, self, &desk.names);
                if let Some(Waiting::Call(to)) = desk.waiting.remove(&place) {
                    let _gone = to.send(Answer { header, outcome });
                }
            }
        }
    }

    fn changed(change: &Change, desk: &mut Desk) {
        if let Change::Gone { lease, .. } = *change {
            desk.done.push(Done::lease_over(desk.names.number_of_lease(Some(lease))));
        }
    }

    fn watched(member: u8, now: Micros, desk: &mut Desk, watch: &mut Watch) {
        desk.done.drain(..).for_each(|done| done.tell(now, member, &mut watch.losses));
    }

    fn ended(member: u8, desk: &mut Desk) {
        desk.waiting.retain(|(of, _), _| *of != member);
        desk.uses.retain(|(of, _), _| *of != member);
        desk.unwanted.remove(&member);
    }
}

/// What every answer begins with.
pub fn header(machine: &Etcd, member: u8, revision: Revision) -> pb::ResponseHeader {
    pb::ResponseHeader {
        cluster_id: CLUSTER_ID,
        member_id: member_id(member),
        revision: revision.0.into(),
        raft_term: machine.standing().term.into(),
    }
}

impl Desk {
    /// A number for a request, and for who waits for its answer.
    pub fn expect(&mut self, member: u8, waiting: Waiting) -> u32 {
        self.serial = self.serial.wrapping_add(1);
        self.waiting.insert((member, self.serial), waiting);
        self.serial
    }

    /// A request that is under way will have done this when it is answered. Of those that never are, the oldest are forgotten.
    pub fn uses(&mut self, member: u8, serial: u32, uses: Uses) {
        if self.uses.len() >= USES_MAX {
            self.uses.pop_first();
        }
        self.uses.insert((member, serial), uses);
    }

    /// Nobody waits for it any more.
    pub fn forget(&mut self, member: u8, serial: u32) {
        if let Some(Waiting::Watch { .. }) = self.waiting.remove(&(member, serial)) {
            self.unwanted.entry(member).or_default().push_back(serial);
        }
    }

    /// A watch that the member can be told to forget.
    pub fn unwanted(&mut self, member: u8) -> Option<u32> {
        self.unwanted.get_mut(&member)?.pop_front()
    }

    /// A number for a lease, which nobody has named yet.
    pub fn draw_lease(&mut self) -> i64 {
        loop {
            self.leases_numbered += 1;
            // As large as those that the real server draws, of a member's number, the time and a counter.
            let id = 0x7069_636b_0000_0000 | ((self.leases_numbered * 0x1_0007) & 0xffff_ffff);
            if !self.names.knows_lease(id) {
                return id;
            }
        }
    }
}

fn said(outcome: Outcome, prev_kv: bool, machine: &Etcd, names: &Names) -> Said {
    match outcome {
        Outcome::Range(found) => Said::Range(listed(&found, names)),
        Outcome::Put => Said::Put,
        Outcome::Deleted(keys) => Said::Deleted(keys.into()),
        Outcome::Txn { succeeded, responses } => {
            let step = |response: &Response| match response {
                Response::Range(found) => Step::Range(listed(found, names)),
                Response::Put => Step::Put,
                Response::Deleted(keys) => Step::Deleted((*keys).into()),
            };
            Said::Txn { succeeded, responses: responses.iter().map(step).collect() }
        }
        Outcome::Compacted => Said::Compacted,
        Outcome::Granted { ttl, .. } => Said::Granted(seconds(ttl)),
        Outcome::Revoked => Said::Revoked,
        Outcome::KeptAlive { ttl, .. } => Said::KeptAlive(seconds(ttl)),
        Outcome::LeaseOver(_) => Said::LeaseOver,
        Outcome::TimeToLive { granted, keys } => Said::TimeToLive {
            granted: granted.map(|ttl| seconds(Some(ttl))),
            keys: keys.iter().map(|key| names.bytes_of_key(*key)).collect(),
        },
        Outcome::Watching { .. } => Said::Watching,
        Outcome::Events(events) => {
            Said::Events(events.iter().map(|event| event_of(event, prev_kv, machine, names)).collect())
        }
        Outcome::WatchCanceled { compact_revision } => {
            Said::WatchCanceled { compact_revision: compact_revision.0.into() }
        }
        Outcome::Failed(error) => Said::Failed(error),
        Outcome::NoLeader => Said::NoLeader,
    }
}

fn listed(found: &Found, names: &Names) -> Listed {
    Listed { kvs: found.kvs.iter().map(|kv| key_value(kv, names)).collect(), count: found.count.into() }
}

fn key_value(kv: &KeyValue, names: &Names) -> pb::KeyValue {
    pb::KeyValue {
        key: names.bytes_of_key(kv.key),
        create_revision: kv.create_revision.0.into(),
        mod_revision: kv.mod_revision.0.into(),
        version: kv.version.into(),
        value: names.bytes_of_value(kv.value),
        lease: names.number_of_lease(kv.lease),
    }
}

fn event_of(event: &WatchEvent, prev_kv: bool, machine: &Etcd, names: &Names) -> pb::Event {
    let (r#type, kv) = match event {
        WatchEvent::Put(kv) => (pb::EventType::Put, key_value(kv, names)),
        WatchEvent::Delete { key, mod_revision } => {
            let (key, mod_revision) = (names.bytes_of_key(*key), mod_revision.0.into());
            (pb::EventType::Delete, pb::KeyValue { key, mod_revision, ..Default::default() })
        }
    };
    // What is created was not there before; what is compacted is not told any more.
    let is_new = kv.create_revision == kv.mod_revision;
    let before = match prev_kv && !is_new {
        true => machine.get_at(event.key(), Revision(event.revision().0 - 1)),
        false => None,
    };
    let prev_kv = before.map(|kv| key_value(kv, names));
    pb::Event { r#type: r#type.into(), kv: Some(kv), prev_kv }
}

fn seconds(ttl: Option<Micros>) -> i64 {
    ttl.map_or(i64::MAX, Micros::whole_seconds)
}
