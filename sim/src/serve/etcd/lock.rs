//! `service Lock` (`server/etcdserver/api/v3lock/lock.go`): `concurrency.Mutex` (`client/v3/concurrency/mutex.go`), run by the
//! member's own client with the caller's lease, which it does not keep alive.

use super::connection::Seat;
use super::kv::{delete_range, range};
use super::pb;
use super::recipes::{
    created, created_at, key_of, one, passed_on, prefix, read, revision_of, session, wait_for_deletions,
};
use super::refusal;
use super::txn::{txn, wanted};
use tonic::Status;

pub async fn lock(seat: Seat, request: pb::LockRequest) -> Result<pb::LockResponse, Status> {
    take(seat, request).await.map_err(passed_on)
}

async fn take(seat: Seat, request: pb::LockRequest) -> Result<pb::LockResponse, Status> {
    let member = &seat.member;
    let lease = session(member, request.lease).await?;
    let prefix = prefix(&request.name);
    let key = key_of(&prefix, lease);
    let put = pb::PutRequest { key: key.clone(), lease, ..Default::default() };
    let owner = pb::Asked::Range(created(&prefix, pb::SortOrder::Ascend));
    let otherwise = wanted(Vec::new(), vec![pb::Asked::Range(one(&key)), owner.clone()]).success;
    let acquire = wanted(vec![created_at(&key, 0)], vec![pb::Asked::Put(put), owner]);
    let acquired = txn(member.clone(), pb::TxnRequest { failure: otherwise, ..acquire }).await?;
    let mine = match (acquired.succeeded, read(&acquired, 0)) {
        (false, [kv, ..]) => kv.create_revision,
        (_, _) => revision_of(&acquired.header),
    };
    if read(&acquired, 1).first().is_none_or(|owner| owner.create_revision == mine) {
        return Ok(pb::LockResponse { header: acquired.header, key });
    }
    // "release lock key if wait failed", and if its caller has gone.
    let delete = pb::DeleteRangeRequest { key: key.clone(), ..Default::default() };
    let cleanup = {
        let member = member.clone();
        seat.unless_done(async move {
            // Nobody is left to be told.
            let _ = delete_range(member, delete).await;
        })
    };
    wait_for_deletions(member, &prefix, mine - 1).await?;
    let own = range(member.clone(), one(&key)).await?;
    cleanup.done();
    match own.kvs.is_empty() {
        true => Err(refusal::SESSION_EXPIRED.into()),
        false => Ok(pb::LockResponse { header: own.header, key }),
    }
}

pub async fn unlock(seat: Seat, request: pb::UnlockRequest) -> Result<pb::UnlockResponse, Status> {
    let delete = pb::DeleteRangeRequest { key: request.key, ..Default::default() };
    let deleted = delete_range(seat.member, delete).await.map_err(passed_on)?;
    Ok(pb::UnlockResponse { header: deleted.header })
}
