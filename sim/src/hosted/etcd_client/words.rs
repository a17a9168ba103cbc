//! Requests of the machine in the messages of the API, and the API's answers as the machine knows them.

use super::spelling::{Spelling, revision};
use crate::serve::etcd::pb;
use picklock_model::stores::etcd::{
    Compare, Comparison, Error, Field, Found, Outcome, Put, Range, Response, Revision, Start, Step, Target,
    Txn, WatchEvent,
};
use picklock_model::time::Micros;
use tonic::{Code, Status};

pub(super) fn range(range: Range, spelling: &Spelling) -> pb::RangeRequest {
    let (key, range_end) = spelling.keys(range.keys);
    let order = match (range.order.by, range.order.descending) {
        // As it comes.
        (Field::Key, false) => pb::SortOrder::None,
        (_, false) => pb::SortOrder::Ascend,
        (_, true) => pb::SortOrder::Descend,
    };
    let target = match range.order.by {
        Field::Key => pb::SortTarget::Key,
        Field::Version => pb::SortTarget::Version,
        Field::Create => pb::SortTarget::Create,
        Field::Mod => pb::SortTarget::Mod,
        Field::Value => pb::SortTarget::Value,
    };
    pb::RangeRequest {
        key,
        range_end,
        limit: range.limit.into(),
        revision: range.revision.map_or(0, number),
        sort_order: order.into(),
        sort_target: target.into(),
        serializable: range.serializable,
        // No bound is zero: nothing is created at revision 1.
        max_create_revision: range.created_before.map_or(0, |before| (number(before) - 1).max(1)),
        ..Default::default()
    }
}

pub(super) fn put(put: Put, spelling: &Spelling) -> pb::PutRequest {
    pb::PutRequest {
        key: spelling.key(put.key),
        value: spelling.value(put.value),
        lease: put.lease.map_or(0, |lease| spelling.number(lease)),
        ..Default::default()
    }
}

pub(super) fn txn(txn: &Txn, spelling: &Spelling) -> pb::TxnRequest {
    let steps = |steps: &[Step]| steps.iter().map(|asked| step(*asked, spelling)).collect();
    pb::TxnRequest {
        compare: txn.compare.iter().map(|asked| compare(*asked, spelling)).collect(),
        success: steps(&txn.success),
        failure: steps(&txn.failure),
    }
}

fn step(step: Step, spelling: &Spelling) -> pb::RequestOp {
    let asked = match step {
        Step::Range(asked) => pb::Asked::Range(range(asked, spelling)),
        Step::Put(asked) => pb::Asked::Put(put(asked, spelling)),
        Step::Delete(keys) => {
            let (key, range_end) = spelling.keys(keys);
            pb::Asked::Delete(pb::DeleteRangeRequest { key, range_end, prev_kv: false })
        }
    };
    pb::RequestOp { request: Some(asked) }
}

fn compare(compare: Compare, spelling: &Spelling) -> pb::Compare {
    let (key, range_end) = spelling.keys(compare.keys);
    let result = match compare.result {
        Comparison::Equal => pb::CompareResult::Equal,
        Comparison::NotEqual => pb::CompareResult::NotEqual,
        Comparison::Greater => pb::CompareResult::Greater,
        Comparison::Less => pb::CompareResult::Less,
    };
    let (target, operand) = match compare.target {
        Target::Version(version) => (pb::CompareTarget::Version, pb::Operand::Version(version.into())),
        Target::Create(at) => (pb::CompareTarget::Create, pb::Operand::CreateRevision(number(at))),
        Target::Mod(at) => (pb::CompareTarget::Mod, pb::Operand::ModRevision(number(at))),
        Target::Value(value) => (pb::CompareTarget::Value, pb::Operand::Value(spelling.value(value))),
        Target::Lease(lease) => {
            let number = lease.map_or(0, |lease| spelling.number(lease));
            (pb::CompareTarget::Lease, pb::Operand::Lease(number))
        }
    };
    pb::Compare { result: result.into(), target: target.into(), key, operand: Some(operand), range_end }
}

pub(super) fn watch(
    keys: picklock_model::stores::etcd::Keys,
    start: Start,
    spelling: &Spelling,
) -> pb::WatchRequest {
    let (key, range_end) = spelling.keys(keys);
    let start_revision = match start {
        Start::Now => 0,
        Start::At(at) => number(at),
    };
    let create = pb::WatchCreateRequest { key, range_end, start_revision, ..Default::default() };
    pb::WatchRequest { request: Some(pb::Wanted::Create(create)) }
}

fn number(revision: Revision) -> i64 {
    revision.0.into()
}

/// What was read. `None`, here and below: with a revision that the machine cannot count to.
pub(super) fn found(answer: &pb::RangeResponse, spelling: &mut Spelling) -> Option<Found> {
    let kvs = answer.kvs.iter().map(|kv| spelling.read(kv)).collect::<Option<_>>()?;
    Some(Found { kvs, count: count(answer.count) })
}

pub(super) fn txn_done(answer: &pb::TxnResponse, spelling: &mut Spelling) -> Option<Outcome> {
    let mut read = |answer: &pb::ResponseOp| match &answer.response {
        Some(pb::Answered::Range(range)) => found(range, spelling).map(Response::Range),
        Some(pb::Answered::Put(_)) => Some(Response::Put),
        Some(pb::Answered::Delete(deletion)) => Some(Response::Deleted(count(deletion.deleted))),
        // Nobody has asked for a transaction inside.
        Some(pb::Answered::Txn(_)) | None => None,
    };
    let responses = answer.responses.iter().map(&mut read).collect::<Option<_>>()?;
    Some(Outcome::Txn { succeeded: answer.succeeded, responses })
}

pub(super) fn event(event: &pb::Event, spelling: &mut Spelling) -> Option<WatchEvent> {
    let kv = event.kv.as_ref()?;
    match event.r#type() {
        pb::EventType::Put => spelling.read(kv).map(WatchEvent::Put),
        pb::EventType::Delete => {
            let (key, mod_revision) = (spelling.read_key(&kv.key), revision(kv.mod_revision)?);
            Some(WatchEvent::Delete { key, mod_revision })
        }
    }
}

pub(super) fn count(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// In whole seconds, rounded up.
pub(super) fn seconds(ttl: Micros) -> i64 {
    (ttl.0 + 999_999).div_euclid(1_000_000)
}

pub(super) fn micros(seconds: i64) -> Micros {
    Micros(seconds.saturating_mul(1_000_000))
}

/// A refusal after which nothing was done. Of any other error nobody knows what it means for the call.
pub(super) fn refusal(status: &Status) -> Option<Error> {
    match (status.code(), status.message()) {
        (Code::NotFound, text) if text.contains("lease not found") => Some(Error::LeaseNotFound),
        (Code::FailedPrecondition, text) if text.contains("lease already exists") => Some(Error::LeaseExists),
        (Code::OutOfRange, text) if text.contains("has been compacted") => Some(Error::Compacted),
        (Code::OutOfRange, text) if text.contains("future revision") => Some(Error::FutureRevision),
        (Code::InvalidArgument, text) if text.contains("duplicate key") => Some(Error::DuplicateKey),
        _ => None,
    }
}
