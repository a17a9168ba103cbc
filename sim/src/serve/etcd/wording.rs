//! Questions and answers as the record has them.

use super::pb::*;
use crate::serve::watch::shown;
use bytes::Bytes;

/// How many steps, comparisons or keys are told.
const TOLD_MAX: usize = 8;

/// A message in one line.
pub trait Worded {
    fn words(&self) -> String;
}

/// Messages that are told by their names, and answers that say nothing but that it is done.
macro_rules! plain {
    ($($message:ty => $words:literal),* $(,)?) => {
        $(impl Worded for $message {
            fn words(&self) -> String {
                $words.to_owned()
            }
        })*
    };
}

plain! {
    MemberListRequest => "member list",
    StatusRequest => "status",
    AlarmRequest => "alarm",
    DefragmentRequest => "defragment",
    LeaseLeasesRequest => "lease list",
    PutResponse => "OK",
    CompactionResponse => "OK",
    LeaseRevokeResponse => "OK",
    MemberListResponse => "OK",
    StatusResponse => "OK",
    AlarmResponse => "OK",
    DefragmentResponse => "OK",
    UnlockResponse => "OK",
    ProclaimResponse => "OK",
    ResignResponse => "OK",
}

/// The first ones of these, in one line.
fn list<T>(all: &[T], between: &str, words: impl Fn(&T) -> String) -> String {
    let mut told: Vec<String> = all.iter().take(TOLD_MAX).map(words).collect();
    if all.len() > TOLD_MAX {
        told.push(format!("{} more", all.len() - TOLD_MAX));
    }
    told.join(between)
}

fn keys(first: &Bytes, end: &Bytes) -> String {
    match end.as_ref() {
        [] => shown(first),
        [0] => format!("{} and all behind it", shown(first)),
        _ => format!("{} to {}", shown(first), shown(end)),
    }
}

/// A lease as `etcdctl` writes it.
fn lease(id: i64) -> String {
    format!("{id:x}")
}

fn with_lease(id: i64) -> String {
    if id == 0 { String::new() } else { format!(" with lease {}", lease(id)) }
}

fn held(kv: &KeyValue) -> String {
    format!("{} = {}", shown(&kv.key), shown(&kv.value))
}

impl Worded for RangeRequest {
    fn words(&self) -> String {
        format!("get {}", keys(&self.key, &self.range_end))
    }
}

impl Worded for PutRequest {
    fn words(&self) -> String {
        format!("put {} = {}{}", shown(&self.key), shown(&self.value), with_lease(self.lease))
    }
}

impl Worded for DeleteRangeRequest {
    fn words(&self) -> String {
        format!("delete {}", keys(&self.key, &self.range_end))
    }
}

impl Worded for Compare {
    fn words(&self) -> String {
        let is = match self.result() {
            CompareResult::Equal => "=",
            CompareResult::Greater => ">",
            CompareResult::Less => "<",
            CompareResult::NotEqual => "!=",
        };
        let (field, operand) = match &self.operand {
            Some(Operand::Version(version)) => ("version", version.to_string()),
            Some(Operand::CreateRevision(revision)) => ("create revision", revision.to_string()),
            Some(Operand::ModRevision(revision)) => ("mod revision", revision.to_string()),
            Some(Operand::Value(value)) => ("value", shown(value)),
            Some(Operand::Lease(id)) => ("lease", lease(*id)),
            None => ("field", "nothing".to_owned()),
        };
        format!("{field} of {} {is} {operand}", keys(&self.key, &self.range_end))
    }
}

impl Worded for RequestOp {
    fn words(&self) -> String {
        match &self.request {
            Some(Asked::Range(range)) => range.words(),
            Some(Asked::Put(put)) => put.words(),
            Some(Asked::Delete(delete)) => delete.words(),
            Some(Asked::Txn(txn)) => format!("({})", txn.words()),
            None => "nothing".to_owned(),
        }
    }
}

impl Worded for TxnRequest {
    fn words(&self) -> String {
        let steps = |steps: &[RequestOp]| match steps {
            [] => "nothing".to_owned(),
            steps => list(steps, ", ", RequestOp::words),
        };
        match self.compare.as_slice() {
            [] => steps(&self.success),
            compare => {
                let conditions = list(compare, " and ", Compare::words);
                format!("if {conditions}: {}; else {}", steps(&self.success), steps(&self.failure))
            }
        }
    }
}

impl Worded for CompactionRequest {
    fn words(&self) -> String {
        format!("compact {}", self.revision)
    }
}

impl Worded for RangeResponse {
    fn words(&self) -> String {
        match self.kvs.as_slice() {
            [] => format!("{} keys", self.count),
            kvs => list(kvs, ", ", held),
        }
    }
}

impl Worded for DeleteRangeResponse {
    fn words(&self) -> String {
        format!("deleted {}", self.deleted)
    }
}

impl Worded for ResponseOp {
    fn words(&self) -> String {
        match &self.response {
            Some(Answered::Range(range)) => range.words(),
            Some(Answered::Put(put)) => put.words(),
            Some(Answered::Delete(delete)) => delete.words(),
            Some(Answered::Txn(txn)) => format!("({})", txn.words()),
            None => "nothing".to_owned(),
        }
    }
}

impl Worded for TxnResponse {
    fn words(&self) -> String {
        let came = if self.succeeded { "succeeded" } else { "failed" };
        match self.responses.as_slice() {
            [] => came.to_owned(),
            responses => format!("{came}: {}", list(responses, ", ", ResponseOp::words)),
        }
    }
}

impl Worded for LeaseGrantRequest {
    fn words(&self) -> String {
        match self.id {
            0 => format!("grant a lease of {}s", self.ttl),
            id => format!("grant lease {} for {}s", lease(id), self.ttl),
        }
    }
}

impl Worded for LeaseGrantResponse {
    fn words(&self) -> String {
        format!("lease {} for {}s", lease(self.id), self.ttl)
    }
}

impl Worded for LeaseRevokeRequest {
    fn words(&self) -> String {
        format!("revoke lease {}", lease(self.id))
    }
}

impl Worded for LeaseKeepAliveRequest {
    fn words(&self) -> String {
        format!("keep lease {} alive", lease(self.id))
    }
}

impl Worded for LeaseKeepAliveResponse {
    fn words(&self) -> String {
        match self.ttl {
            0 => format!("lease {} is over", lease(self.id)),
            ttl => format!("lease {} for {ttl}s", lease(self.id)),
        }
    }
}

impl Worded for LeaseTimeToLiveRequest {
    fn words(&self) -> String {
        format!("time to live of lease {}", lease(self.id))
    }
}

impl Worded for LeaseTimeToLiveResponse {
    fn words(&self) -> String {
        match self.ttl {
            -1 => format!("lease {} is over", lease(self.id)),
            ttl => format!("lease {} for another {ttl}s", lease(self.id)),
        }
    }
}

impl Worded for LeaseLeasesResponse {
    fn words(&self) -> String {
        list(&self.leases, ", ", |status| lease(status.id))
    }
}

impl Worded for LockRequest {
    fn words(&self) -> String {
        format!("lock {}{}", shown(&self.name), with_lease(self.lease))
    }
}

impl Worded for LockResponse {
    fn words(&self) -> String {
        shown(&self.key)
    }
}

impl Worded for UnlockRequest {
    fn words(&self) -> String {
        format!("unlock {}", shown(&self.key))
    }
}

fn of_leader(leader: Option<&LeaderKey>) -> String {
    leader.map_or_else(|| "nobody".to_owned(), |leader| shown(&leader.key))
}

impl Worded for CampaignRequest {
    fn words(&self) -> String {
        format!("campaign for {} as {}{}", shown(&self.name), shown(&self.value), with_lease(self.lease))
    }
}

impl Worded for CampaignResponse {
    fn words(&self) -> String {
        of_leader(self.leader.as_ref())
    }
}

impl Worded for ProclaimRequest {
    fn words(&self) -> String {
        format!("proclaim {} as {}", of_leader(self.leader.as_ref()), shown(&self.value))
    }
}

impl Worded for LeaderRequest {
    fn words(&self) -> String {
        format!("leader of {}", shown(&self.name))
    }
}

impl Worded for LeaderResponse {
    fn words(&self) -> String {
        self.kv.as_ref().map_or_else(|| "nobody".to_owned(), held)
    }
}

impl Worded for ResignRequest {
    fn words(&self) -> String {
        format!("resign {}", of_leader(self.leader.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_says_what_it_asks_and_what_it_does() {
        let key = Bytes::from_static(b"orders");
        let compare = Compare {
            result: CompareResult::Equal as i32,
            target: CompareTarget::Create as i32,
            key: key.clone(),
            operand: Some(Operand::CreateRevision(0)),
            ..Default::default()
        };
        let put =
            PutRequest { key: key.clone(), value: Bytes::from_static(b"A"), lease: 26, ..Default::default() };
        let range = RangeRequest { key, ..Default::default() };
        let step = |request| RequestOp { request: Some(request) };
        let txn = TxnRequest {
            compare: vec![compare],
            success: vec![step(Asked::Put(put))],
            failure: vec![step(Asked::Range(range))],
        };
        assert_eq!(
            txn.words(),
            "if create revision of orders = 0: put orders = A with lease 1a; else get orders"
        );
    }
}
