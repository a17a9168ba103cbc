//! What a transaction would do now, worked out before it is done: for what the member does not know
//! ([transactions inside](super::txn), puts that keep something).

use super::intervals::is_within;
use super::member::Member;
use super::pb;
use super::refusal::{self, Refusal};
use super::txn::{operand_of, plain, wanted};
use bytes::Bytes;
use std::cmp::Ordering;
use tonic::Status;

/// What was read, and what follows from it.
pub struct Rehearsal {
    /// What must still be so when it is done.
    guards: Vec<pb::Compare>,
    /// What is done, one after the other.
    steps: Vec<pb::Asked>,
    /// How the answers to that make up the answer.
    shape: Shape,
}

/// The answer to a transaction: which list was taken, and what became of each of its steps.
struct Shape {
    succeeded: bool,
    parts: Vec<Part>,
}

enum Part {
    /// The answer to the next step.
    Next,
    /// A transaction inside.
    Inside(Shape),
}

/// What the comparisons and puts of a transaction look at, as it was at one revision.
struct Seen {
    revision: i64,
    ranges: Vec<(Bytes, Bytes)>,
    kvs: Vec<pb::KeyValue>,
}

impl Rehearsal {
    /// Whether there is anything that the member does not know.
    pub fn is_needed(request: &pb::TxnRequest) -> bool {
        let needs = |step: &pb::RequestOp| match &step.request {
            Some(pb::Asked::Put(put)) => put.ignore_value || put.ignore_lease,
            Some(pb::Asked::Txn(_)) => true,
            Some(pb::Asked::Range(_) | pb::Asked::Delete(_)) | None => false,
        };
        request.success.iter().chain(&request.failure).any(needs)
    }

    pub async fn of(member: &Member, request: &pb::TxnRequest) -> Result<Rehearsal, Status> {
        let mut ranges = Vec::new();
        looked_at(request, &mut ranges);
        let read = |(key, range_end): &(Bytes, Bytes)| {
            let (key, range_end) = (key.clone(), range_end.clone());
            pb::Asked::Range(pb::RangeRequest { key, range_end, ..Default::default() })
        };
        let read = plain(member, &wanted(Vec::new(), ranges.iter().map(read).collect())).await?;
        let mut kvs = Vec::new();
        for response in read.responses {
            if let Some(pb::Answered::Range(range)) = response.response {
                kvs.extend(range.kvs);
            }
        }
        let seen = Seen { revision: read.header.map_or(0, |header| header.revision), ranges, kvs };
        let mut steps = Vec::new();
        let shape = seen.path(request, &mut steps).map_err(|refusal| {
            // Puts are checked one after the other: an earlier one is refused first.
            let is_refused = |step: &pb::Asked| match step {
                pb::Asked::Put(put) => put.lease != 0 && !member.has_lease(put.lease),
                pb::Asked::Range(_) | pb::Asked::Delete(_) | pb::Asked::Txn(_) => false,
            };
            if steps.iter().any(is_refused) { refusal::LEASE_NOT_FOUND } else { refusal }
        })?;
        Ok(Rehearsal { guards: seen.guards(), steps, shape })
    }

    pub fn request(&self) -> pb::TxnRequest {
        wanted(self.guards.clone(), self.steps.clone())
    }

    pub fn response(self, done: pb::TxnResponse) -> pb::TxnResponse {
        let header = done.header;
        let response = self.shape.filled(&mut done.responses.into_iter());
        pb::TxnResponse { header, ..response }
    }
}

impl Shape {
    fn filled(self, done: &mut std::vec::IntoIter<pb::ResponseOp>) -> pb::TxnResponse {
        let mut responses = Vec::new();
        for part in self.parts {
            match part {
                Part::Next => responses.extend(done.next()),
                Part::Inside(shape) => {
                    let response = Some(pb::Answered::Txn(shape.filled(done)));
                    responses.push(pb::ResponseOp { response });
                }
            }
        }
        pb::TxnResponse { header: Some(pb::ResponseHeader::default()), succeeded: self.succeeded, responses }
    }
}

/// Everything that any comparison of a transaction, or a put that keeps something, may look at.
fn looked_at(request: &pb::TxnRequest, ranges: &mut Vec<(Bytes, Bytes)>) {
    let mut look = |key: &Bytes, end: &Bytes| {
        let range = (key.clone(), end.clone());
        if !ranges.contains(&range) {
            ranges.push(range);
        }
    };
    request.compare.iter().for_each(|compare| look(&compare.key, &compare.range_end));
    for step in request.success.iter().chain(&request.failure) {
        match &step.request {
            Some(pb::Asked::Put(put)) if put.ignore_value || put.ignore_lease => {
                let range = (put.key.clone(), Bytes::new());
                if !ranges.contains(&range) {
                    ranges.push(range);
                }
            }
            Some(pb::Asked::Txn(txn)) => looked_at(txn, ranges),
            Some(pb::Asked::Put(_) | pb::Asked::Range(_) | pb::Asked::Delete(_)) | None => {}
        }
    }
}

impl Seen {
    fn of<'a>(&'a self, key: &'a Bytes, end: &'a Bytes) -> impl Iterator<Item = &'a pb::KeyValue> {
        self.kvs.iter().filter(move |kv| is_within(&kv.key, key, end))
    }

    /// `compareToPath`: all comparisons, those inside too, look at what was before anything is done.
    fn path(&self, request: &pb::TxnRequest, steps: &mut Vec<pb::Asked>) -> Result<Shape, Refusal> {
        let succeeded = request.compare.iter().all(|compare| self.holds(compare));
        let mut parts = Vec::new();
        for step in if succeeded { &request.success } else { &request.failure } {
            match &step.request {
                Some(pb::Asked::Txn(txn)) => parts.push(Part::Inside(self.path(txn, steps)?)),
                Some(pb::Asked::Put(put)) => {
                    steps.push(pb::Asked::Put(self.kept(put)?));
                    parts.push(Part::Next);
                }
                Some(asked @ (pb::Asked::Range(_) | pb::Asked::Delete(_))) => {
                    steps.push(asked.clone());
                    parts.push(Part::Next);
                }
                None => return Err(refusal::KEY_NOT_FOUND),
            }
        }
        Ok(Shape { succeeded, parts })
    }

    /// The put with what it keeps.
    fn kept(&self, put: &pb::PutRequest) -> Result<pb::PutRequest, Refusal> {
        let mut put = put.clone();
        if put.ignore_value || put.ignore_lease {
            let old = self.kvs.iter().find(|kv| kv.key == put.key).ok_or(refusal::KEY_NOT_FOUND)?;
            if std::mem::take(&mut put.ignore_value) {
                put.value = old.value.clone();
            }
            if std::mem::take(&mut put.ignore_lease) {
                put.lease = old.lease;
            }
        }
        Ok(put)
    }

    /// `applyCompare`.
    fn holds(&self, compare: &pb::Compare) -> bool {
        let mut of_keys = self.of(&compare.key, &compare.range_end).peekable();
        match of_keys.peek() {
            Some(_) => of_keys.all(|kv| holds_of(compare, kv)),
            None => {
                compare.target() != pb::CompareTarget::Value && holds_of(compare, &pb::KeyValue::default())
            }
        }
    }

    /// Nothing that was looked at has changed.
    fn guards(&self) -> Vec<pb::Compare> {
        let guard = |key: &Bytes, end: &Bytes, result: pb::CompareResult, revision| pb::Compare {
            result: result.into(),
            target: pb::CompareTarget::Mod.into(),
            key: key.clone(),
            operand: Some(pb::Operand::ModRevision(revision)),
            range_end: end.clone(),
        };
        // What is there is as it was, and nothing has come.
        let there = self
            .kvs
            .iter()
            .map(|kv| guard(&kv.key, &Bytes::new(), pb::CompareResult::Equal, kv.mod_revision));
        let ranges = self.ranges.iter();
        let new = ranges.map(|(key, end)| guard(key, end, pb::CompareResult::Less, self.revision + 1));
        there.chain(new).collect()
    }
}

/// `compareKV`.
fn holds_of(compare: &pb::Compare, kv: &pb::KeyValue) -> bool {
    let ordering = match operand_of(compare) {
        pb::Operand::Version(version) => kv.version.cmp(&version),
        pb::Operand::CreateRevision(at) => kv.create_revision.cmp(&at),
        pb::Operand::ModRevision(at) => kv.mod_revision.cmp(&at),
        pb::Operand::Value(value) => kv.value.cmp(&value),
        pb::Operand::Lease(lease) => kv.lease.cmp(&lease),
    };
    match compare.result() {
        pb::CompareResult::Equal => ordering == Ordering::Equal,
        pb::CompareResult::NotEqual => ordering != Ordering::Equal,
        pb::CompareResult::Greater => ordering == Ordering::Greater,
        pb::CompareResult::Less => ordering == Ordering::Less,
    }
}
