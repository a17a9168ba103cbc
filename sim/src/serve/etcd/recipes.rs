//! What the recipes of a server's own client have in common (`client/v3/concurrency/key.go`, `session.go`).

use super::desk::Said;
use super::kv::range;
use super::lease::grant;
use super::member::Member;
use super::pb;
use super::refusal::{self, Refusal};
use super::watch::begin;
use bytes::Bytes;
use tokio::sync::mpsc;
use tonic::{Code, Status};

/// `concurrency.WithTTL`'s default, in seconds.
const SESSION_TTL_S: i64 = 60;

/// An error that a recipe's caller is given: as the real server's own client has it, without its code.
pub fn passed_on(status: Status) -> Status {
    Status::new(Code::Unknown, status.message())
}

/// `NewSession` and `Orphan`: the caller's lease; without one, a new one that nobody keeps alive.
pub async fn session(member: &Member, lease: i64) -> Result<i64, Status> {
    match lease {
        0 => Ok(grant(member.clone(), pb::LeaseGrantRequest { ttl: SESSION_TTL_S, id: 0 }).await?.id),
        lease => Ok(lease),
    }
}

/// What all keys of a recipe begin with.
pub fn prefix(name: &[u8]) -> Bytes {
    Bytes::from([name, b"/"].concat())
}

/// The key of a lease below a prefix.
pub fn key_of(prefix: &[u8], lease: i64) -> Bytes {
    Bytes::from([prefix, format!("{lease:x}").as_bytes()].concat())
}

/// The end of all keys with a prefix, which ends in a slash (`GetPrefixRangeEnd`).
fn end_of(prefix: &[u8]) -> Bytes {
    let mut end = prefix.to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    Bytes::from(end)
}

pub fn one(key: &Bytes) -> pb::RangeRequest {
    pb::RangeRequest { key: key.clone(), ..Default::default() }
}

/// `WithFirstCreate`, and `WithLastCreate`.
pub fn created(prefix: &Bytes, order: pb::SortOrder) -> pb::RangeRequest {
    pb::RangeRequest {
        key: prefix.clone(),
        range_end: end_of(prefix),
        limit: 1,
        sort_order: order.into(),
        sort_target: pb::SortTarget::Create.into(),
        ..Default::default()
    }
}

/// That a key was created by this revision; 0: that it is not there.
pub fn created_at(key: &Bytes, revision: i64) -> pb::Compare {
    pb::Compare {
        result: pb::CompareResult::Equal.into(),
        target: pb::CompareTarget::Create.into(),
        key: key.clone(),
        operand: Some(pb::Operand::CreateRevision(revision)),
        range_end: Bytes::new(),
    }
}

/// The keys of the range that a transaction's step has read.
pub fn read(done: &pb::TxnResponse, step: usize) -> &[pb::KeyValue] {
    match done.responses.get(step).and_then(|response| response.response.as_ref()) {
        Some(pb::Answered::Range(range)) => &range.kvs,
        Some(pb::Answered::Put(_) | pb::Answered::Delete(_) | pb::Answered::Txn(_)) | None => &[],
    }
}

pub fn revision_of(header: &Option<pb::ResponseHeader>) -> i64 {
    header.as_ref().map_or(0, |header| header.revision)
}

/// `waitDeletes`: until there is no key below the prefix that was created at that revision or before.
pub async fn wait_for_deletions(member: &Member, prefix: &Bytes, created_until: i64) -> Result<(), Status> {
    loop {
        let last = created(prefix, pb::SortOrder::Descend);
        // Zero would set no bound, and nothing was created by then.
        let max_create_revision = created_until.max(1);
        let last = range(member.clone(), pb::RangeRequest { max_create_revision, ..last }).await?;
        let Some(kv) = last.kvs.into_iter().next() else { return Ok(()) };
        let mut events = Events::of(member, &kv.key, &Bytes::new(), revision_of(&last.header))?;
        while !events.next().await?.1.iter().any(|event| event.r#type() == pb::EventType::Delete) {}
    }
}

/// A watch of the server's own client.
pub struct Events {
    answers: mpsc::UnboundedReceiver<(i64, super::desk::Answer)>,
    _ticket: super::member::Ticket,
}

impl Events {
    /// From this revision on.
    pub fn of(member: &Member, key: &Bytes, range_end: &Bytes, from: i64) -> Result<Events, Status> {
        let (to, answers) = mpsc::unbounded_channel();
        let (key, range_end) = (key.clone(), range_end.clone());
        let request = pb::WatchCreateRequest { key, range_end, start_revision: from, ..Default::default() };
        let _ticket = begin(member, 0, &request, to)?;
        Ok(Events { answers, _ticket })
    }

    /// Below a prefix.
    pub fn below(member: &Member, prefix: &Bytes, from: i64) -> Result<Events, Status> {
        Events::of(member, prefix, &end_of(prefix), from)
    }

    pub async fn next(&mut self) -> Result<(pb::ResponseHeader, Vec<pb::Event>), Status> {
        loop {
            let Some((_, answer)) = self.answers.recv().await else { return Err(refusal::STOPPED.into()) };
            match answer.outcome {
                Said::Events(events) => return Ok((answer.header, events)),
                Said::Watching => {}
                Said::WatchCanceled { .. } => return Err(refusal::COMPACTED.into()),
                Said::Failed(error) => return Err(Refusal::from(error).into()),
                outcome => unreachable!("a watch is answered with {outcome:?}"),
            }
        }
    }
}
