//! Transactions (`checkTxnRequest`, `checkIntervals`, `applierV3backend.Txn`).
//!
//! The member knows comparisons, ranges, puts and deletes. Three things are put together of those, each still at one revision:
//!
//! - `prev_kv`: a range before the step, in the same transaction.
//! - A transaction inside a transaction, and puts that keep the value or the lease: what they look at is read first; what then
//!   has to be done is done by a transaction that first compares whether all of that is still so. If it is not, it is read again.

use super::desk::{Answer, Listed, Said, Step as Came};
use super::kv::{check_key, check_put, check_range, check_size, put_of, range_of, select};
use super::member::Member;
use super::names::Names;
use super::pb;
use super::refusal::{self, Refusal};
use super::rehearsal::Rehearsal;
use picklock_model::stores::etcd::{Compare, Comparison, Operation, Revision, Step, Target, Txn};
use tonic::Status;

/// `--max-txn-ops`.
const OPERATIONS_MAX: usize = 128;

/// How often something may change between reading and doing.
const ATTEMPTS_MAX: u32 = 100;

pub async fn txn(member: Member, request: pb::TxnRequest) -> Result<pb::TxnResponse, Status> {
    check(&request, OPERATIONS_MAX)?;
    super::intervals::check(&request.success)?;
    super::intervals::check(&request.failure)?;
    check_size(&request)?;
    if !Rehearsal::is_needed(&request) {
        return plain(&member, &request).await;
    }
    for _ in 0..ATTEMPTS_MAX {
        let rehearsal = Rehearsal::of(&member, &request).await?;
        let done = plain(&member, &rehearsal.request()).await?;
        if done.succeeded {
            return Ok(rehearsal.response(done));
        }
    }
    Err(refusal::TOO_MANY_REQUESTS.into())
}

/// A transaction of these steps, if all of that holds.
pub fn wanted(compare: Vec<pb::Compare>, steps: Vec<pb::Asked>) -> pb::TxnRequest {
    let step = |step| pb::RequestOp { request: Some(step) };
    pb::TxnRequest { compare, success: steps.into_iter().map(step).collect(), failure: Vec::new() }
}

/// Without transactions inside, and without puts that keep something.
pub async fn plain(member: &Member, request: &pb::TxnRequest) -> Result<pb::TxnResponse, Status> {
    let answer = member
        .ask(|names| {
            Ok(Operation::Txn(Txn {
                compare: request.compare.iter().map(|compare| compare_of(compare, names)).collect(),
                success: request.success.iter().flat_map(|step| steps_of(step, names)).collect(),
                failure: request.failure.iter().flat_map(|step| steps_of(step, names)).collect(),
            }))
        })
        .await?;
    match answer {
        Answer { header, outcome: Said::Txn { succeeded, responses } } => {
            let steps = if succeeded { &request.success } else { &request.failure };
            let responses = answered(steps, responses, header.revision);
            Ok(pb::TxnResponse { header: Some(header), succeeded, responses })
        }
        Answer { outcome, .. } => unreachable!("a transaction is answered with {outcome:?}"),
    }
}

/// `checkTxnRequest`: transactions inside have what is left of the operations.
fn check(request: &pb::TxnRequest, operations_max: usize) -> Result<(), Refusal> {
    let operations = request.compare.len().max(request.success.len()).max(request.failure.len());
    let Some(left) = operations_max.checked_sub(operations) else {
        return Err(refusal::TOO_MANY_OPERATIONS);
    };
    request.compare.iter().try_for_each(|compare| check_key(&compare.key))?;
    for step in request.success.iter().chain(&request.failure) {
        match &step.request {
            Some(pb::Asked::Range(range)) => check_range(range)?,
            Some(pb::Asked::Put(put)) => check_put(put)?,
            Some(pb::Asked::Delete(delete)) => check_key(&delete.key)?,
            Some(pb::Asked::Txn(txn)) => check(txn, left)?,
            None => return Err(refusal::KEY_NOT_FOUND),
        }
    }
    Ok(())
}

fn steps_of(step: &pb::RequestOp, names: &mut Names) -> Vec<Step> {
    let before = |key, range_end, names: &mut Names| {
        Step::Range(range_of(&pb::RangeRequest { key, range_end, ..Default::default() }, names))
    };
    match &step.request {
        Some(pb::Asked::Range(range)) => vec![Step::Range(range_of(range, names))],
        Some(pb::Asked::Put(put)) => {
            let then = Step::Put(put_of(put, names));
            match put.prev_kv {
                true => vec![before(put.key.clone(), bytes::Bytes::new(), names), then],
                false => vec![then],
            }
        }
        Some(pb::Asked::Delete(delete)) => {
            let then = Step::Delete(names.keys(&delete.key, &delete.range_end));
            match delete.prev_kv {
                true => vec![before(delete.key.clone(), delete.range_end.clone(), names), then],
                false => vec![then],
            }
        }
        Some(pb::Asked::Txn(_)) | None => unreachable!("it is checked, and rehearsed"),
    }
}

/// What came of each step. The header of each has the revision as it was after it, and nothing else.
fn answered(steps: &[pb::RequestOp], came: Vec<Came>, revision: i64) -> Vec<pb::ResponseOp> {
    let is_change = |came: &Came| match came {
        Came::Put => true,
        Came::Deleted(keys) => *keys > 0,
        Came::Range(_) => false,
    };
    let mut at = revision - i64::from(came.iter().any(is_change));
    let mut came = came.into_iter();
    let mut responses = Vec::new();
    for step in steps {
        let mut next = || came.next().unwrap_or(Came::Put);
        let mut prev_kvs = |is_wanted: bool| match is_wanted.then(&mut next) {
            Some(Came::Range(Listed { kvs, .. })) => kvs,
            Some(Came::Put | Came::Deleted(_)) | None => Vec::new(),
        };
        let mut header = |is_changed: bool| {
            at = if is_changed { revision } else { at };
            Some(pb::ResponseHeader { revision: at, ..Default::default() })
        };
        let response = match &step.request {
            Some(pb::Asked::Range(range)) => {
                let Came::Range(listed) = next() else { unreachable!("a range is answered with a range") };
                pb::Answered::Range(pb::RangeResponse { header: header(false), ..select(range, listed) })
            }
            Some(pb::Asked::Put(put)) => {
                let prev_kv = prev_kvs(put.prev_kv).into_iter().next();
                next();
                pb::Answered::Put(pb::PutResponse { header: header(true), prev_kv })
            }
            Some(pb::Asked::Delete(delete)) => {
                let prev_kvs = prev_kvs(delete.prev_kv);
                let Came::Deleted(deleted) = next() else {
                    unreachable!("a deletion is answered with a count")
                };
                pb::Answered::Delete(pb::DeleteRangeResponse {
                    header: header(deleted > 0),
                    deleted,
                    prev_kvs,
                })
            }
            Some(pb::Asked::Txn(_)) | None => unreachable!("it is checked, and rehearsed"),
        };
        responses.push(pb::ResponseOp { response: Some(response) });
    }
    responses
}

fn compare_of(compare: &pb::Compare, names: &mut Names) -> Compare {
    let keys = names.keys(&compare.key, &compare.range_end);
    let (result, operand) = (comparison(compare.result()), operand_of(compare));
    let number = |number| within_reach(result, number);
    let (result, target) = match operand {
        pb::Operand::Version(version) => {
            let (result, version) = number(version);
            (result, Target::Version(version))
        }
        pb::Operand::CreateRevision(at) => {
            let (result, at) = number(at);
            (result, Target::Create(Revision(at)))
        }
        pb::Operand::ModRevision(at) => {
            let (result, at) = number(at);
            (result, Target::Mod(Revision(at)))
        }
        pb::Operand::Value(value) => (result, Target::Value(names.value(&value))),
        pb::Operand::Lease(lease) => (result, Target::Lease(names.lease(lease))),
    };
    Compare { keys, result, target }
}

pub fn comparison(result: pb::CompareResult) -> Comparison {
    match result {
        pb::CompareResult::Equal => Comparison::Equal,
        pb::CompareResult::NotEqual => Comparison::NotEqual,
        pb::CompareResult::Greater => Comparison::Greater,
        pb::CompareResult::Less => Comparison::Less,
    }
}

/// What is compared with: of the field that is meant, or nothing of it.
pub fn operand_of(compare: &pb::Compare) -> pb::Operand {
    use pb::{CompareTarget as Of, Operand};
    match (compare.target(), &compare.operand) {
        (Of::Version, Some(operand @ Operand::Version(_)))
        | (Of::Create, Some(operand @ Operand::CreateRevision(_)))
        | (Of::Mod, Some(operand @ Operand::ModRevision(_)))
        | (Of::Value, Some(operand @ Operand::Value(_)))
        | (Of::Lease, Some(operand @ Operand::Lease(_))) => operand.clone(),
        (Of::Version, _) => Operand::Version(0),
        (Of::Create, _) => Operand::CreateRevision(0),
        (Of::Mod, _) => Operand::ModRevision(0),
        (Of::Value, _) => Operand::Value(bytes::Bytes::new()),
        (Of::Lease, _) => Operand::Lease(0),
    }
}

/// Versions and revisions have 32 bits here: a comparison with a number that none of them reaches has the same outcome for all.
fn within_reach(result: Comparison, number: i64) -> (Comparison, u32) {
    match u32::try_from(number) {
        Ok(number) if number < u32::MAX => (result, number),
        _ => {
            let holds = match result {
                Comparison::Equal => false,
                Comparison::NotEqual => true,
                Comparison::Greater => number < 0,
                Comparison::Less => number > 0,
            };
            (if holds { Comparison::NotEqual } else { Comparison::Equal }, u32::MAX)
        }
    }
}
