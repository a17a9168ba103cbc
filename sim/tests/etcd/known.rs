//! Where the real server is known to answer otherwise than the simulated one: transactions that the comparison does not draw.
//!
//! `checkIntervals` (`etcdserver/api/v3rpc/key.go`) is to refuse a transaction that puts a key and deletes it, for
//! `duplicate key given in txn request`. It looks at what the transactions inside put one after the other, and each time only at the
//! deletions that it has come to by then. Nobody looks at a deletion inside that comes after a put inside: the key is put and deleted
//! at one revision. The simulated member refuses that.

use crate::pb;
use bytes::Bytes;

/// Whether the real server may let this pass though it puts a key and deletes it.
pub fn is_let_through(txn: &pb::TxnRequest) -> bool {
    [&txn.success, &txn.failure].into_iter().any(|steps| {
        let inside: Vec<&pb::TxnRequest> = inside(steps).collect();
        inside.iter().any(|txn| is_let_through(txn)) || has_late_deletion(&inside)
    })
}

/// One transaction puts what another, later one beside it deletes.
fn has_late_deletion(beside: &[&pb::TxnRequest]) -> bool {
    let puts: Vec<Vec<Bytes>> = beside.iter().map(|txn| puts(txn)).collect();
    let is_late = |(place, txn): (usize, &&pb::TxnRequest)| {
        let before = || puts[..place].iter().flatten();
        deletions(txn).iter().any(|(first, end)| before().any(|key| is_within(key, first, end)))
    };
    beside.iter().enumerate().any(is_late)
}

fn inside(steps: &[pb::RequestOp]) -> impl Iterator<Item = &pb::TxnRequest> {
    steps.iter().filter_map(|step| match &step.request {
        Some(pb::Asked::Txn(txn)) => Some(txn),
        _ => None,
    })
}

fn steps(txn: &pb::TxnRequest) -> impl Iterator<Item = &pb::Asked> {
    txn.success.iter().chain(&txn.failure).filter_map(|step| step.request.as_ref())
}

fn puts(txn: &pb::TxnRequest) -> Vec<Bytes> {
    let of = |step: &pb::Asked| match step {
        pb::Asked::Put(put) => vec![put.key.clone()],
        pb::Asked::Txn(txn) => puts(txn),
        pb::Asked::Range(_) | pb::Asked::Delete(_) => Vec::new(),
    };
    steps(txn).flat_map(of).collect()
}

fn deletions(txn: &pb::TxnRequest) -> Vec<(Bytes, Bytes)> {
    let of = |step: &pb::Asked| match step {
        pb::Asked::Delete(deletion) => vec![(deletion.key.clone(), deletion.range_end.clone())],
        pb::Asked::Txn(txn) => deletions(txn),
        pb::Asked::Range(_) | pb::Asked::Put(_) => Vec::new(),
    };
    steps(txn).flat_map(of).collect()
}

fn is_within(key: &Bytes, first: &Bytes, end: &Bytes) -> bool {
    match end.as_ref() {
        [] => key == first,
        [0] => key >= first,
        _ => key >= first && key < end,
    }
}
