//! The members themselves: as much of `service Maintenance` and `service Cluster` as clients ask for before they begin.

use super::desk::member_id;
use super::member::Member;
use super::pb;
use tonic::Status;

/// Whose defaults the simulated members have: see [`Settings`](picklock_model::stores::etcd::Settings).
const VERSION: &str = "3.6.9";

/// A fresh store's file.
const EMPTY_BYTES: i64 = 20_480;

pub async fn status(member: Member, _request: pb::StatusRequest) -> Result<pb::StatusResponse, Status> {
    let header = Some(member.header());
    let (standing, size) = member.look(|machine, desk| (machine.standing(), desk.names.size()));
    let size = EMPTY_BYTES + i64::try_from(size).unwrap_or(i64::MAX - EMPTY_BYTES);
    let errors = match standing.leader {
        Some(_) => Vec::new(),
        None => vec!["etcdserver: no leader".to_owned()],
    };
    Ok(pb::StatusResponse {
        header,
        version: VERSION.to_owned(),
        db_size: size,
        leader: standing.leader.map_or(0, member_id),
        raft_index: standing.committed.into(),
        raft_term: standing.term.into(),
        raft_applied_index: standing.applied.into(),
        errors,
        db_size_in_use: size,
        is_learner: false,
    })
}

pub async fn member_list(
    member: Member,
    _request: pb::MemberListRequest,
) -> Result<pb::MemberListResponse, Status> {
    let urls = member.look(|_, desk| desk.urls.clone());
    let members = (0..member.servers.count()).map(|number| pb::Member {
        id: member_id(number),
        name: format!("s{}", number + 1),
        client_urls: urls.get(usize::from(number)).cloned().into_iter().collect(),
    });
    Ok(pb::MemberListResponse { header: Some(member.header()), members: members.collect() })
}

/// There are none: nothing raises one.
pub async fn alarm(member: Member, request: pb::AlarmRequest) -> Result<pb::AlarmResponse, Status> {
    match request.action() {
        pb::AlarmAction::Get | pb::AlarmAction::Deactivate => {
            Ok(pb::AlarmResponse { header: Some(member.header()) })
        }
        pb::AlarmAction::Activate => Err(Status::unimplemented("picklock serve etcd raises no alarms")),
    }
}

/// There is nothing to be tidied, and nobody could tell.
pub async fn defragment(
    _member: Member,
    _request: pb::DefragmentRequest,
) -> Result<pb::DefragmentResponse, Status> {
    Ok(pb::DefragmentResponse { header: None })
}
