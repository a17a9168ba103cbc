//! No key may be put twice by one list of steps, nor put and deleted (`checkIntervals` of `api/v3rpc/key.go`). Of the two lists
//! of a transaction inside, only one is taken: they may put the same.

use super::pb;
use super::refusal::{self, Refusal};
use bytes::Bytes;
use std::collections::BTreeSet;

/// What a list of steps changes.
#[derive(Default)]
struct Changes {
    puts: BTreeSet<Bytes>,
    deletes: Vec<(Bytes, Bytes)>,
}

impl Changes {
    fn put(&mut self, key: &Bytes) -> Result<(), Refusal> {
        let is_deleted = self.deletes.iter().any(|(first, end)| is_within(key, first, end));
        if is_deleted || !self.puts.insert(key.clone()) { Err(refusal::DUPLICATE_KEY) } else { Ok(()) }
    }
}

/// Whether a key is among those of a range, as the API says it.
pub fn is_within(key: &Bytes, first: &Bytes, end: &Bytes) -> bool {
    match end.as_ref() {
        [] => key == first,
        [0] => key >= first,
        _ => key >= first && key < end,
    }
}

pub fn check(steps: &[pb::RequestOp]) -> Result<(), Refusal> {
    changes(steps).map(|_| ())
}

fn changes(steps: &[pb::RequestOp]) -> Result<Changes, Refusal> {
    let mut all = Changes::default();
    for step in steps {
        if let Some(pb::Asked::Delete(delete)) = &step.request {
            all.deletes.push((delete.key.clone(), delete.range_end.clone()));
        }
    }
    for step in steps {
        let Some(pb::Asked::Txn(txn)) = &step.request else { continue };
        let (then, otherwise) = (changes(&txn.success)?, changes(&txn.failure)?);
        then.puts.iter().try_for_each(|key| all.put(key))?;
        otherwise.puts.difference(&then.puts).try_for_each(|key| all.put(key))?;
        all.deletes.extend(then.deletes);
        all.deletes.extend(otherwise.deletes);
    }
    for step in steps {
        if let Some(pb::Asked::Put(put)) = &step.request {
            all.put(&put.key)?;
        }
    }
    Ok(all)
}
