//! Leases.

use crate::client::{bytes, refused, with_one};
use crate::pb;
use std::time::Duration;
use tonic::Code;

fn leased(key: &str, lease: i64) -> pb::PutRequest {
    pb::PutRequest { key: bytes(key), lease, ..Default::default() }
}

#[test]
fn a_lease_takes_its_keys_with_it_when_it_is_revoked() {
    with_one(async |client| {
        let granted = client.grant(0, 60).await.expect("granted");
        assert!(granted.id > 0 && granted.ttl == 60, "{granted:?}");
        assert_eq!(client.grant(77, 1).await.expect("granted").ttl, 2, "the shortest there is");
        assert_eq!(
            refused(client.grant(77, 60).await),
            (Code::FailedPrecondition, "etcdserver: lease already exists".into())
        );
        let too_large = (Code::OutOfRange, "etcdserver: too large lease TTL".into());
        assert_eq!(refused(client.grant(78, 9_000_000_001).await), too_large);
        for key in ["b", "a"] {
            client.put(leased(key, granted.id)).await.expect("put");
        }
        let left = client.time_to_live(granted.id).await.expect("there it is");
        assert_eq!((left.granted_ttl, left.keys), (60, vec![bytes("a"), bytes("b")]));
        assert!((58..=60).contains(&left.ttl), "{}", left.ttl);
        let all: Vec<i64> =
            client.leases().await.expect("leases").leases.iter().map(|lease| lease.id).collect();
        assert!(all.len() == 2 && all.contains(&77) && all.contains(&granted.id), "{all:?}");
        let revoked = client.revoke(granted.id).await.expect("revoked");
        assert_eq!(revoked.header.expect("a header").revision, 4);
        assert_eq!(client.get("a").await, None);
        let gone = (Code::NotFound, "etcdserver: requested lease not found".into());
        assert_eq!(refused(client.revoke(granted.id).await), gone);
        assert_eq!(client.time_to_live(granted.id).await.expect("an answer").ttl, -1);
        assert_eq!(client.keep_alive(granted.id).await, 0);
    });
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_lease_ends_by_itself_unless_it_is_kept_alive() {
    with_one(async |client| {
        for (key, lease) in [("kept", 1), ("left", 2)] {
            client.grant(lease, 2).await.expect("granted");
            client.put(leased(key, lease)).await.expect("put");
        }
        for _ in 0..8 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert_eq!(client.keep_alive(1).await, 2);
        }
        assert_eq!((client.get("kept").await, client.get("left").await), (Some(String::new()), None));
    });
}
