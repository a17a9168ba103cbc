//! `service Election` (`server/etcdserver/api/v3election/election.go`): `concurrency.Election`
//! (`client/v3/concurrency/election.go`), run by the member's own client with the caller's lease.

use super::connection::Seat;
use super::kv::range;
use super::member::Member;
use super::pb;
use super::recipes::{
    Events, created, created_at, key_of, one, passed_on, prefix, read, revision_of, session,
    wait_for_deletions,
};
use super::refusal;
use super::txn::{txn, wanted};
use crate::serve::condition::Direction;
use bytes::Bytes;
use std::convert::Infallible;
use tokio::sync::mpsc;
use tonic::Status;

pub async fn campaign(seat: Seat, request: pb::CampaignRequest) -> Result<pb::CampaignResponse, Status> {
    stand(seat, request).await.map_err(passed_on)
}

async fn stand(seat: Seat, request: pb::CampaignRequest) -> Result<pb::CampaignResponse, Status> {
    let member = &seat.member;
    let lease = session(member, request.lease).await?;
    let prefix = prefix(&request.name);
    let key = key_of(&prefix, lease);
    let put = pb::PutRequest { key: key.clone(), value: request.value.clone(), lease, ..Default::default() };
    let otherwise = wanted(Vec::new(), vec![pb::Asked::Range(one(&key))]).success;
    let stand = wanted(vec![created_at(&key, 0)], vec![pb::Asked::Put(put)]);
    let standing = txn(member.clone(), pb::TxnRequest { failure: otherwise, ..stand }).await?;
    let (rev, is_other) = match (standing.succeeded, read(&standing, 0)) {
        (false, [kv, ..]) => (kv.create_revision, kv.value != request.value),
        (_, _) => (revision_of(&standing.header), false),
    };
    let leader = pb::LeaderKey { name: request.name, key, rev, lease };
    let cleanup = {
        let (member, leader) = (member.clone(), leader.clone());
        seat.unless_done(async move {
            // Nobody is left to be told.
            let _ = step_down(&member, &leader).await;
        })
    };
    if is_other {
        announce(member, &leader, request.value).await?;
    }
    // Only a caller that has gone gives up its place in the queue; one that is told of an error keeps it.
    let waited = wait_for_deletions(member, &prefix, rev - 1).await;
    cleanup.done();
    waited?;
    Ok(pb::CampaignResponse { header: standing.header, leader: Some(leader) })
}

pub async fn proclaim(seat: Seat, request: pb::ProclaimRequest) -> Result<pb::ProclaimResponse, Status> {
    let leader = request.leader.ok_or(refusal::MISSING_LEADER_KEY)?;
    let header = announce(&seat.member, &leader, request.value).await.map_err(passed_on)?;
    Ok(pb::ProclaimResponse { header })
}

async fn announce(
    member: &Member,
    leader: &pb::LeaderKey,
    value: Bytes,
) -> Result<Option<pb::ResponseHeader>, Status> {
    let lease = session(member, leader.lease).await?;
    let put = pb::PutRequest { key: leader.key.clone(), value, lease, ..Default::default() };
    let said = wanted(vec![created_at(&leader.key, leader.rev)], vec![pb::Asked::Put(put)]);
    let said = txn(member.clone(), said).await?;
    if said.succeeded { Ok(said.header) } else { Err(refusal::NOT_LEADER.into()) }
}

pub async fn resign(seat: Seat, request: pb::ResignRequest) -> Result<pb::ResignResponse, Status> {
    let leader = request.leader.ok_or(refusal::MISSING_LEADER_KEY)?;
    let header = step_down(&seat.member, &leader).await.map_err(passed_on)?;
    Ok(pb::ResignResponse { header })
}

/// Whoever leads no more has nothing to give up, and is not told.
async fn step_down(member: &Member, leader: &pb::LeaderKey) -> Result<Option<pb::ResponseHeader>, Status> {
    let delete = pb::DeleteRangeRequest { key: leader.key.clone(), ..Default::default() };
    let given_up = wanted(vec![created_at(&leader.key, leader.rev)], vec![pb::Asked::Delete(delete)]);
    Ok(txn(member.clone(), given_up).await?.header)
}

pub async fn leader(seat: Seat, request: pb::LeaderRequest) -> Result<pb::LeaderResponse, Status> {
    let first = created(&prefix(&request.name), pb::SortOrder::Ascend);
    let found = range(seat.member, first).await.map_err(passed_on)?;
    let kv = found.kvs.into_iter().next().ok_or(refusal::NO_LEADER)?;
    Ok(pb::LeaderResponse { header: found.header, kv: Some(kv) })
}

type To = mpsc::UnboundedSender<Result<pb::LeaderResponse, Status>>;

/// Tells of every leader that it comes to see, and of what each proclaims, until nobody listens.
pub async fn observe(seat: Seat, request: pb::LeaderRequest, to: To) {
    let prefix = prefix(&request.name);
    tokio::select! {
        biased;
        () = to.closed() => {}
        Err(status) = look(&seat, &prefix, &to) => {
            // If nobody is there any more, nobody minds.
            let _gone = to.send(Err(passed_on(status)));
        }
    }
}

/// Never ends well.
async fn look(seat: &Seat, prefix: &Bytes, to: &To) -> Result<Infallible, Status> {
    let member = &seat.member;
    let tell = async |header, kv| {
        seat.travel(Direction::Reply).await;
        let _gone = to.send(Ok(pb::LeaderResponse { header, kv }));
    };
    loop {
        let first = range(member.clone(), created(prefix, pb::SortOrder::Ascend)).await?;
        let (header, kv) = match first.kvs.into_iter().next() {
            Some(kv) => (first.header, kv),
            None => first_put(member, prefix, revision_of(&first.header)).await?,
        };
        let (key, at) = (kv.key.clone(), revision_of(&header));
        tell(header, Some(kv)).await;
        let mut events = Events::of(member, &key, &Bytes::new(), at + 1)?;
        let mut is_there = true;
        while is_there {
            let (header, news) = events.next().await?;
            for event in news {
                if event.r#type() == pb::EventType::Delete {
                    is_there = false;
                    break;
                }
                tell(Some(header.clone()), event.kv).await;
            }
        }
    }
}

/// The first key that is put below the prefix.
async fn first_put(
    member: &Member,
    prefix: &Bytes,
    from: i64,
) -> Result<(Option<pb::ResponseHeader>, pb::KeyValue), Status> {
    let mut events = Events::below(member, prefix, from)?;
    loop {
        let (header, news) = events.next().await?;
        let is_put = |event: &pb::Event| event.r#type() == pb::EventType::Put;
        if let Some(kv) = news.into_iter().find(is_put).and_then(|event| event.kv) {
            let revision = kv.mod_revision;
            return Ok((Some(pb::ResponseHeader { revision, ..header }), kv));
        }
    }
}
