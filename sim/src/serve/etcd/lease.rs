//! `service Lease` (`server/etcdserver/api/v3rpc/lease.go`, `server/etcdserver/v3_server.go`).

use super::connection::Seat;
use super::desk::{Answer, Desk, Said};
use super::grpc::words;
use super::member::{Member, REQUEST_TIMEOUT};
use super::pb;
use super::refusal;
use super::wording::Worded;
use crate::serve::condition::Direction;
use crate::serve::watch::record::What;
use picklock_model::stores::etcd::{LeaseId, Operation};
use picklock_model::time::Micros;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tonic::{Status, Streaming};

/// `MaxLeaseTTL`, in seconds.
const TTL_MAX_S: i64 = 9_000_000_000;

/// A keep-alive that the member cannot do anything with at the time is tried again after this.
const RENEW_AGAIN: Duration = Duration::from_millis(500);

pub async fn grant(member: Member, request: pb::LeaseGrantRequest) -> Result<pb::LeaseGrantResponse, Status> {
    if request.ttl > TTL_MAX_S {
        return Err(refusal::TTL_TOO_LARGE.into());
    }
    let id = match request.id {
        0 => member.look(|_, desk| desk.draw_lease()),
        id => id,
    };
    let ttl = Some(Micros::seconds(request.ttl.max(0)));
    let answer = member
        .ask(|names| {
            let lease = names.lease(id).ok_or(refusal::LEASE_NOT_FOUND)?;
            Ok(Operation::GrantAs { lease, ttl })
        })
        .await?;
    match answer {
        Answer { header, outcome: Said::Granted(ttl) } => {
            Ok(pb::LeaseGrantResponse { header: Some(header), id, ttl })
        }
        Answer { outcome, .. } => unreachable!("a grant is answered with {outcome:?}"),
    }
}

pub async fn revoke(
    member: Member,
    request: pb::LeaseRevokeRequest,
) -> Result<pb::LeaseRevokeResponse, Status> {
    let answer = about(&member, request.id, Operation::Revoke).await?;
    Ok(pb::LeaseRevokeResponse { header: Some(answer.header) })
}

pub async fn time_to_live(
    member: Member,
    request: pb::LeaseTimeToLiveRequest,
) -> Result<pb::LeaseTimeToLiveResponse, Status> {
    let id = request.id;
    let over =
        |header| pb::LeaseTimeToLiveResponse { header: Some(header), id, ttl: -1, ..Default::default() };
    if id == 0 {
        return Ok(over(member.header()));
    }
    match about(&member, id, Operation::TimeToLive).await? {
        Answer { header, outcome: Said::TimeToLive { granted: Some(granted_ttl), keys } } => {
            let keys = if request.keys { keys } else { Vec::new() };
            let ttl = member.seconds_left(id).unwrap_or(granted_ttl);
            Ok(pb::LeaseTimeToLiveResponse { header: Some(header), id, ttl, granted_ttl, keys })
        }
        Answer { header, outcome: Said::TimeToLive { granted: None, .. } } => Ok(over(header)),
        Answer { outcome, .. } => unreachable!("a question for a lease's time is answered with {outcome:?}"),
    }
}

/// As the member itself knows them.
pub async fn leases(
    member: Member,
    _request: pb::LeaseLeasesRequest,
) -> Result<pb::LeaseLeasesResponse, Status> {
    let status = |desk: &Desk, lease| pb::LeaseStatus { id: desk.names.number_of_lease(Some(lease)) };
    let leases = member.look(|machine, desk| machine.leases().map(|lease| status(desk, lease)).collect());
    Ok(pb::LeaseLeasesResponse { header: Some(member.header()), leases })
}

/// One keep-alive after the other.
pub async fn keep_alive(
    seat: Seat,
    mut requests: Streaming<pb::LeaseKeepAliveRequest>,
    to: mpsc::UnboundedSender<Result<pb::LeaseKeepAliveResponse, Status>>,
) {
    loop {
        let request = tokio::select! {
            biased;
            () = to.closed() => return,
            request = requests.message() => request,
        };
        // Its end, and its breaking, leave nobody to answer.
        let Ok(Some(request)) = request else { return };
        let (id, is_kept) = (request.id, seat.is_kept());
        let asked = if is_kept { request.words() } else { String::new() };
        seat.note(What::Asked, &asked, None);
        seat.travel(Direction::Request).await;
        // "Create header before we sent out the renew request": what ends the lease later has a higher revision.
        let header = Some(seat.member.header());
        let ttl = timeout(REQUEST_TIMEOUT, renew(&seat.member, id)).await;
        let ttl = ttl.unwrap_or_else(|_| Err(refusal::TIMED_OUT.into()));
        let response = ttl.map(|ttl| pb::LeaseKeepAliveResponse { header, id, ttl });
        let told = if is_kept { words(&response) } else { String::new() };
        seat.note(What::Ran, &asked, Some(&told));
        seat.travel(Direction::Reply).await;
        seat.note(What::Told, &told, None);
        let is_over = response.is_err();
        if to.send(response).is_err() || is_over {
            return;
        }
    }
}

/// For how long the lease goes on; 0 if it is over.
async fn renew(member: &Member, id: i64) -> Result<i64, Status> {
    if id == 0 {
        return Ok(0);
    }
    loop {
        let answered = timeout(RENEW_AGAIN, about(member, id, Operation::KeepAlive)).await;
        if let Ok(answer) = answered {
            return match answer?.outcome {
                Said::KeptAlive(ttl) => Ok(ttl),
                Said::LeaseOver => Ok(0),
                Said::NoLeader => Err(refusal::WITHOUT_LEADER.into()),
                outcome => unreachable!("a keep-alive is answered with {outcome:?}"),
            };
        }
    }
}

async fn about(member: &Member, id: i64, operation: impl Fn(LeaseId) -> Operation) -> Result<Answer, Status> {
    member.ask(|names| Ok(operation(names.lease(id).ok_or(refusal::LEASE_NOT_FOUND)?))).await
}
