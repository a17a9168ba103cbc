//! Locks and elections.

use crate::client::{Client, between, bytes, names, refused, text, with_one};
use crate::pb;
use std::time::Duration;
use tokio::time::timeout;
use tonic::Code;

/// Long enough for something that does not come.
const QUIET: Duration = Duration::from_millis(200);

async fn unlock(client: &Client, key: bytes::Bytes) {
    let unlocked = client.call("/v3lockpb.Lock/Unlock", pb::UnlockRequest { key }).await;
    let _: pb::UnlockResponse = unlocked.expect("unlocked");
}

#[test]
fn a_lock_is_held_by_one_lease_after_the_other() {
    with_one(async |client| {
        for lease in [10, 11, 12] {
            client.grant(lease, 600).await.expect("granted");
        }
        let first = client.lock("l", 10).await.expect("locked");
        assert_eq!(text(&first.key), "l/a");
        assert_eq!(client.lock("l", 10).await.expect("held already").key, first.key);
        let second = client.lock("l", 11);
        tokio::pin!(second);
        assert!(timeout(QUIET, &mut second).await.is_err(), "the first one holds it");
        let third = client.lock("l", 12);
        tokio::pin!(third);
        assert!(timeout(QUIET, &mut third).await.is_err());
        unlock(&client, first.key).await;
        let second = second.await.expect("locked");
        assert!(timeout(QUIET, &mut third).await.is_err(), "the second one holds it");
        client.revoke(11).await.expect("revoked");
        let third = third.await.expect("locked");
        assert_ne!(second.key, third.key);
    });
}

#[test]
fn who_waits_for_a_lock_and_goes_leaves_nothing_behind() {
    with_one(async |client| {
        for lease in [10, 11] {
            client.grant(lease, 600).await.expect("granted");
        }
        client.lock("l", 10).await.expect("locked");
        assert!(timeout(QUIET, client.lock("l", 11)).await.is_err());
        tokio::time::sleep(QUIET).await;
        assert_eq!(names(&client.range(between("l/", "l0")).await.expect("found")), ["l/a"]);
    });
}

#[test]
fn a_lock_whose_lease_is_gone_is_not_given() {
    with_one(async |client| {
        client.grant(10, 600).await.expect("granted");
        let unknown = (Code::Unknown, "etcdserver: requested lease not found".to_owned());
        assert_eq!(refused(client.lock("l", 9).await), unknown);
        client.lock("l", 10).await.expect("locked");
        client.grant(11, 600).await.expect("granted");
        let second = client.lock("l", 11);
        tokio::pin!(second);
        assert!(timeout(QUIET, &mut second).await.is_err());
        client.revoke(11).await.expect("revoked");
        client.revoke(10).await.expect("revoked");
        assert_eq!(refused(second.await), (Code::Unknown, "mutex: session is expired".to_owned()));
        let own = client.lock("l", 0).await.expect("locked with a lease of its own");
        assert!(text(&own.key).starts_with("l/"), "{own:?}");
    });
}

#[test]
fn an_election_has_one_leader_who_proclaims_and_resigns() {
    with_one(async |client| {
        for lease in [10, 11] {
            client.grant(lease, 600).await.expect("granted");
        }
        let name = || bytes("e");
        let leader = async || -> Result<pb::LeaderResponse, _> {
            client.call("/v3electionpb.Election/Leader", pb::LeaderRequest { name: name() }).await
        };
        assert_eq!(refused(leader().await), (Code::Unknown, "election: no leader".to_owned()));
        let mut seen = client.observe("e").await;
        let campaign = async |lease, value: &str| -> pb::CampaignResponse {
            let request = pb::CampaignRequest { name: name(), lease, value: bytes(value) };
            client.call("/v3electionpb.Election/Campaign", request).await.expect("elected")
        };
        let first = campaign(10, "one").await.leader.expect("a leader");
        assert_eq!((text(&first.key), first.lease), ("e/a".into(), 10));
        let second = campaign(11, "two");
        tokio::pin!(second);
        assert!(timeout(QUIET, &mut second).await.is_err(), "the first one leads");
        let proclaim = async |value: &str| -> Result<pb::ProclaimResponse, _> {
            let request = pb::ProclaimRequest { leader: Some(first.clone()), value: bytes(value) };
            client.call("/v3electionpb.Election/Proclaim", request).await
        };
        proclaim("uno").await.expect("proclaimed");
        assert_eq!(leader().await.expect("a leader").kv.expect("its key").value, "uno");
        let resign = pb::ResignRequest { leader: Some(first.clone()) };
        let _: pb::ResignResponse =
            client.call("/v3electionpb.Election/Resign", resign).await.expect("resigned");
        second.await;
        assert_eq!(refused(proclaim("again").await), (Code::Unknown, "election: not leader".to_owned()));
        let mut values = Vec::new();
        while values.last().is_none_or(|last| last != "two") {
            let next = timeout(Duration::from_secs(30), seen.message()).await.expect("in time");
            let kv = next.expect("an answer").expect("it goes on").kv.expect("a key");
            values.push(text(&kv.value));
        }
        assert_eq!(values, ["one", "uno", "two"]);
    });
}
