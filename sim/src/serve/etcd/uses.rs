//! What clients of a trial do to keys and leases: whose a key is, and who takes it away.

use super::names::Names;
use crate::serve::watch::claims::Owner;
use crate::serve::watch::losses::Losses;
use bytes::Bytes;
use picklock_model::stores::etcd::{Keys, LeaseId, Operation, Outcome, Response, Step};
use picklock_model::time::Micros;

/// What a request will have done when it is answered.
#[derive(Debug)]
pub struct Uses {
    owner: Owner,
    /// One after the other, if it is no transaction; else if what it asks is so, and if not.
    steps: [Vec<Use>; 2],
}

#[derive(Clone, Debug)]
enum Use {
    Nothing,
    /// With its lease.
    Put(Bytes, i64),
    /// From the first key on, up to the other; without one to the end.
    Deleted(Bytes, Option<Bytes>),
    Granted(i64),
    Revoked(i64),
    /// It has run out.
    Over(i64),
}

/// What has been done to a key or a lease.
#[derive(Debug)]
pub struct Done(Owner, Use);

impl Uses {
    /// Of an operation that changes something; `None`: it changes nothing that is followed.
    pub fn of(owner: Owner, operation: &Operation, names: &Names) -> Option<Uses> {
        let key = |key| names.bytes_of_key(key);
        let range = |keys: &Keys| match *keys {
            Keys::One(one) => {
                let first = key(one);
                // Right behind it.
                let end = Bytes::from([first.as_ref(), &[0]].concat());
                Use::Deleted(first, Some(end))
            }
            Keys::Between(first, end) => {
                Use::Deleted(key(first), Some(key(end)).filter(|end| !end.is_empty()))
            }
            Keys::Prefix(_) => Use::Nothing,
        };
        let of_step = |step: &Step| match step {
            Step::Put(put) => Use::Put(key(put.key), names.number_of_lease(put.lease)),
            Step::Delete(keys) => range(keys),
            Step::Range(_) => Use::Nothing,
        };
        let lease = |lease: LeaseId| names.number_of_lease(Some(lease));
        let alone = |it| Some([vec![it], Vec::new()]);
        let steps = match operation {
            Operation::Put(put) => alone(Use::Put(key(put.key), names.number_of_lease(put.lease))),
            Operation::Delete(keys) => alone(range(keys)),
            Operation::Txn(txn) => {
                Some([&txn.success, &txn.failure].map(|steps| steps.iter().map(of_step).collect()))
            }
            Operation::GrantAs { lease: id, .. } => alone(Use::Granted(lease(*id))),
            Operation::Revoke(id) => alone(Use::Revoked(lease(*id))),
            Operation::Range(_)
            | Operation::Compact(_)
            | Operation::Grant { .. }
            | Operation::KeepAlive(_)
            | Operation::TimeToLive(_)
            | Operation::Watch { .. } => None,
        };
        steps.map(|steps| Uses { owner, steps })
    }

    /// What it has done, by its answer.
    pub fn done(self, outcome: &Outcome) -> Vec<Done> {
        let Uses { owner, steps: [first, second] } = self;
        let steps = match outcome {
            Outcome::Txn { succeeded: true, responses } => with(first, responses),
            Outcome::Txn { succeeded: false, responses } => with(second, responses),
            Outcome::Deleted(0) | Outcome::Failed(_) => Vec::new(),
            _ => first,
        };
        steps.into_iter().map(|step| Done(owner, step)).collect()
    }
}

/// Of the steps of a transaction, those that have changed something.
fn with(steps: Vec<Use>, responses: &[Response]) -> Vec<Use> {
    let changed = |(_, response): &(Use, &Response)| !matches!(response, Response::Deleted(0));
    steps.into_iter().zip(responses).filter(changed).map(|(step, _)| step).collect()
}

impl Done {
    /// Of a lease that has run out.
    pub fn lease_over(lease: i64) -> Done {
        Done(Owner::default(), Use::Over(lease))
    }

    /// It was done by this member then.
    pub fn tell(self, at: Micros, member: u8, losses: &mut Losses) {
        let Done(owner, step) = self;
        match step {
            Use::Nothing => {}
            Use::Put(key, lease) => losses.put(at, member, &key, owner, lease),
            Use::Deleted(first, end) => losses.deleted_range(at, member, &first, end.as_ref(), owner),
            Use::Granted(lease) => losses.granted(lease, owner),
            Use::Revoked(lease) => losses.revoked(at, member, lease, owner),
            Use::Over(lease) => losses.lease_over(at, member, lease),
        }
    }
}
