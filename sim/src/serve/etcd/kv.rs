//! `service KV`, but for transactions (`server/etcdserver/api/v3rpc/key.go`, `server/etcdserver/apply.go`).
//!
//! The member is always asked for the whole range. What of it is meant, and in which order, is worked out here from its one
//! answer, which shows one revision.

use super::desk::{Answer, Listed, Said};
use super::member::{Member, revision};
use super::names::Names;
use super::pb;
use super::refusal::{self, Refusal};
use super::txn::{txn, wanted};
use picklock_model::stores::etcd::{Operation, Put, Range};
use prost::{Message, length_delimiter_len};
use std::cmp::Ordering;
use tonic::Status;

/// `--max-request-bytes`.
const REQUEST_BYTES_MAX: usize = 1_572_864;

/// What the real server measures is the request as its log has it (`InternalRaftRequest`), with a header of field 100 that has
/// the request's number: ten bytes, or nine, as the member's own number wants it.
const HEADER_BYTES: usize = 14;

pub async fn range(member: Member, request: pb::RangeRequest) -> Result<pb::RangeResponse, Status> {
    check_range(&request)?;
    let answer = member.ask(|names| Ok(Operation::Range(range_of(&request, names)))).await?;
    match answer {
        Answer { header, outcome: Said::Range(listed) } => {
            Ok(pb::RangeResponse { header: Some(header), ..select(&request, listed) })
        }
        Answer { outcome, .. } => unreachable!("a range is answered with {outcome:?}"),
    }
}

pub async fn put(member: Member, request: pb::PutRequest) -> Result<pb::PutResponse, Status> {
    check_put(&request)?;
    check_size(&request)?;
    if request.prev_kv || request.ignore_value || request.ignore_lease {
        // Here before what is kept is looked at; inside of a transaction after it.
        if request.lease != 0 && !member.has_lease(request.lease) {
            return Err(refusal::LEASE_NOT_FOUND.into());
        }
        let done = txn(member, wanted(Vec::new(), vec![pb::Asked::Put(request)])).await?;
        return match done.responses.into_iter().next().and_then(|response| response.response) {
            Some(pb::Answered::Put(response)) => Ok(pb::PutResponse { header: done.header, ..response }),
            response => unreachable!("a put is answered with {response:?}"),
        };
    }
    let answer = member.ask(|names| Ok(Operation::Put(put_of(&request, names)))).await?;
    Ok(pb::PutResponse { header: Some(answer.header), prev_kv: None })
}

pub async fn delete_range(
    member: Member,
    request: pb::DeleteRangeRequest,
) -> Result<pb::DeleteRangeResponse, Status> {
    check_key(&request.key)?;
    if request.prev_kv {
        let done = txn(member, wanted(Vec::new(), vec![pb::Asked::Delete(request)])).await?;
        return match done.responses.into_iter().next().and_then(|response| response.response) {
            Some(pb::Answered::Delete(response)) => {
                Ok(pb::DeleteRangeResponse { header: done.header, ..response })
            }
            response => unreachable!("a deletion is answered with {response:?}"),
        };
    }
    let answer =
        member.ask(|names| Ok(Operation::Delete(names.keys(&request.key, &request.range_end)))).await?;
    match answer {
        Answer { header, outcome: Said::Deleted(deleted) } => {
            Ok(pb::DeleteRangeResponse { header: Some(header), deleted, prev_kvs: Vec::new() })
        }
        Answer { outcome, .. } => unreachable!("a deletion is answered with {outcome:?}"),
    }
}

pub async fn compact(
    member: Member,
    request: pb::CompactionRequest,
) -> Result<pb::CompactionResponse, Status> {
    let answer = member.ask(|_| Ok(Operation::Compact(revision(request.revision)))).await?;
    Ok(pb::CompactionResponse { header: Some(answer.header) })
}

pub fn check_key(key: &[u8]) -> Result<(), Refusal> {
    if key.is_empty() { Err(refusal::EMPTY_KEY) } else { Ok(()) }
}

/// `checkRangeRequest`.
pub fn check_range(request: &pb::RangeRequest) -> Result<(), Refusal> {
    check_key(&request.key)
}

/// `checkPutRequest`.
pub fn check_put(request: &pb::PutRequest) -> Result<(), Refusal> {
    check_key(&request.key)?;
    if request.ignore_value && !request.value.is_empty() {
        return Err(refusal::VALUE_PROVIDED);
    }
    if request.ignore_lease && request.lease != 0 {
        return Err(refusal::LEASE_PROVIDED);
    }
    Ok(())
}

pub fn check_size(request: &impl Message) -> Result<(), Refusal> {
    let len = request.encoded_len();
    // Its field, and how long it is.
    let wrapped = 1 + length_delimiter_len(len) + len + HEADER_BYTES;
    if wrapped > REQUEST_BYTES_MAX { Err(refusal::REQUEST_TOO_LARGE) } else { Ok(()) }
}

/// The whole range that a request is about.
pub fn range_of(request: &pb::RangeRequest, names: &mut Names) -> Range {
    let keys = names.keys(&request.key, &request.range_end);
    let at = (request.revision > 0).then(|| revision(request.revision));
    Range { revision: at, serializable: request.serializable, ..Range::of(keys) }
}

pub fn put_of(request: &pb::PutRequest, names: &mut Names) -> Put {
    let (key, value) = (names.key(&request.key), names.value(&request.value));
    Put { key, value, lease: names.lease(request.lease) }
}

/// What of a range is meant, in which order (`applierV3backend.Range`).
pub fn select(request: &pb::RangeRequest, listed: Listed) -> pb::RangeResponse {
    let Listed { mut kvs, count } = listed;
    let response = pb::RangeResponse { count, ..Default::default() };
    if request.count_only {
        return response;
    }
    // Zero sets no bound.
    let (above, below) =
        (|bound: i64, at: i64| bound == 0 || at >= bound, |bound: i64, at: i64| bound == 0 || at <= bound);
    kvs.retain(|kv| {
        above(request.min_mod_revision, kv.mod_revision)
            && below(request.max_mod_revision, kv.mod_revision)
            && above(request.min_create_revision, kv.create_revision)
            && below(request.max_create_revision, kv.create_revision)
    });
    let limit = usize::try_from(request.limit).unwrap_or(0);
    let bounds = [
        request.min_mod_revision,
        request.max_mod_revision,
        request.min_create_revision,
        request.max_create_revision,
    ];
    if limit > 0 && request.sort_order() == pb::SortOrder::None && bounds == [0; 4] {
        // The real server reads no more than it takes to tell that there are more, and sorts those, by whatever target.
        kvs.truncate(limit + 1);
    }
    let target = request.sort_target();
    let by = |one: &pb::KeyValue, two: &pb::KeyValue| match target {
        pb::SortTarget::Key => one.key.cmp(&two.key),
        pb::SortTarget::Version => one.version.cmp(&two.version),
        pb::SortTarget::Create => one.create_revision.cmp(&two.create_revision),
        pb::SortTarget::Mod => one.mod_revision.cmp(&two.mod_revision),
        pb::SortTarget::Value => one.value.cmp(&two.value),
    };
    // The keys come in order, and a stable sort leaves equal ones so.
    let by: &dyn Fn(&pb::KeyValue, &pb::KeyValue) -> Ordering = match request.sort_order() {
        pb::SortOrder::None | pb::SortOrder::Ascend => &by,
        pb::SortOrder::Descend => &|one, two| by(two, one),
    };
    kvs.sort_by(by);
    let more = limit > 0 && kvs.len() > limit;
    if more {
        kvs.truncate(limit);
    }
    if request.keys_only {
        kvs.iter_mut().for_each(|kv| kv.value.clear());
    }
    pb::RangeResponse { kvs, more, ..response }
}
