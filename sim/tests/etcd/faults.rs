//! What goes wrong, and what must not.

use crate::client::{Client, Cluster, Watcher, bytes, refused, with_members};
use crate::pb;
use picklock_model::stores::etcd::{Log, Settings};
use picklock_model::time::Micros;
use picklock_sim::plans::plan::{Fault, Side, Target};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// A client of a member, once it takes connections and answers.
async fn again(cluster: &Cluster, member: usize) -> Client {
    for _ in 0..500 {
        if let Some(client) = Client::try_connect(cluster.addresses[member]).await
            && client.status().await.is_ok()
        {
            return client;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("member {member} does not answer");
}

/// Who leads, as somebody knows who is not it.
async fn leader(client: &Client) -> Option<u64> {
    Some(client.status().await.expect("it answers").leader).filter(|leader| *leader != 0)
}

#[test]
fn a_paused_member_answers_when_the_pause_is_over() {
    with_members(1, Settings::default(), async |cluster| {
        let client = cluster.client(0).await;
        client.set("k", "v").await;
        cluster.servers.strike(&Fault::Pause { node: Target::Server(0), length: Micros::millis(600) });
        let get = client.get("k");
        tokio::pin!(get);
        assert!(timeout(Duration::from_millis(300), &mut get).await.is_err(), "nobody is answered");
        assert_eq!(get.await.as_deref(), Some("v"));
    });
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_lease_ends_early_for_a_clock_that_runs_fast() {
    with_members(1, Settings::default(), async |cluster| {
        let client = cluster.client(0).await;
        client.grant(1, 60).await.expect("granted");
        client.put(pb::PutRequest { key: bytes("k"), lease: 1, ..Default::default() }).await.expect("put");
        // The wall clock is not what leases are counted by.
        cluster.servers.strike(&Fault::ClockStep { node: Target::Server(0), by: Micros::seconds(100) });
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert!(client.get("k").await.is_some());
        cluster.servers.strike(&Fault::Drift { node: Target::Server(0), ppm: 100_000_000 });
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        assert_eq!(client.get("k").await, None);
    });
}

#[test]
fn a_crash_resets_connections_and_only_an_unsynced_log_forgets() {
    for (log, expected) in [(Log::Synced, Some("v")), (Log::Unsynced, None)] {
        with_members(1, Settings { log, ..Settings::default() }, async |cluster| {
            let client = cluster.client(0).await;
            client.set("k", "v").await;
            let mut watcher = Watcher::new(&client);
            watcher.watch(pb::WatchCreateRequest { key: bytes("k"), ..Default::default() }).await;
            cluster.servers.strike(&Fault::PowerLoss { node: Target::Server(0), restart_after: None });
            assert!(client.status().await.is_err(), "its connection is reset");
            cluster.servers.restart(0);
            let client = again(&cluster, 0).await;
            assert_eq!(client.get("k").await.as_deref(), expected);
            client.set("k", "w").await;
        });
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_leader_that_is_cut_off_is_replaced_and_nothing_is_lost() {
    with_members(3, Settings::default(), async |cluster| {
        let (old, new) = (cluster.client(0).await, cluster.client(1).await);
        old.set("k", "before").await;
        let old_leader = leader(&new).await.expect("somebody leads");
        assert_eq!(old.status().await.expect("it answers").header.expect("a header").member_id, old_leader);
        let cut = |length| Fault::Cut {
            from: Side::Nodes([Target::Server(0)].into_iter().collect()),
            to: Side::Nodes([Target::Server(1), Target::Server(2)].into_iter().collect()),
            both_ways: true,
            length,
        };
        cluster.servers.strike(&cut(Micros::seconds(20)));
        let stale = pb::RangeRequest { key: bytes("k"), ..Default::default() };
        let fresh = async {
            while leader(&new).await.is_none_or(|leader| leader == old_leader) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            new.set("k", "after").await
        };
        timeout(Duration::from_secs(10), fresh).await.expect("another one leads");
        let serializable = pb::RangeRequest { serializable: true, ..stale.clone() };
        assert_eq!(old.range(serializable).await.expect("it answers").kvs[0].value, "before", "it is behind");
        let timed_out = (tonic::Code::Unavailable, "etcdserver: request timed out".to_owned());
        assert_eq!(refused(old.range(stale).await), timed_out, "it finds no quorum");
        cluster.servers.heal();
        assert_eq!(old.get("k").await.as_deref(), Some("after"));
    });
}

#[test]
fn a_reply_that_is_lost_takes_its_connection_with_it_after_the_request_was_run() {
    with_members(1, Settings::default(), async |cluster| {
        let client = cluster.client(0).await;
        let fault = Fault::LoseNext {
            from: Side::Nodes([Target::Server(0)].into_iter().collect()),
            to: Side::Clients,
            count: 1,
        };
        cluster.servers.strike(&fault);
        let put = pb::PutRequest { key: bytes("k"), value: bytes("v"), ..Default::default() };
        assert!(client.put(put).await.is_err());
        assert_eq!(again(&cluster, 0).await.get("k").await.as_deref(), Some("v"));
        assert_eq!(cluster.servers.tally().lost, 1);
    });
}

#[test]
fn what_is_no_grpc_harms_nobody() {
    with_members(1, Settings::default(), async |cluster| {
        let client = cluster.client(0).await;
        for said in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
            b"",
            &[0; 4096],
        ] {
            let mut stream = tokio::net::TcpStream::connect(cluster.addresses[0]).await.expect("it listens");
            let _refused = stream.write_all(said).await;
            let _refused = stream.shutdown().await;
            let mut answer = Vec::new();
            let _reset =
                timeout(Duration::from_secs(10), stream.read_to_end(&mut answer)).await.expect("it ends");
        }
        // A message that is no message, and calls that there are not.
        let damaged: Result<pb::RangeResponse, _> =
            client.call("/etcdserverpb.KV/Range", Damaged { key: -1 }).await;
        assert!(damaged.is_err());
        for call in REFUSED {
            let unknown: Result<pb::StatusResponse, _> = client.call(call, pb::StatusRequest {}).await;
            let (code, text) = refused(unknown);
            assert_eq!(code, tonic::Code::Unimplemented, "{call}");
            assert!(text.contains(call), "{call}: {text}");
        }
        assert_eq!(client.get("k").await, None);
    });
}

/// What `docs/src/serve.md` names as refused.
const REFUSED: [&str; 12] = [
    "/etcdserverpb.Auth/AuthEnable",
    "/etcdserverpb.Auth/Authenticate",
    "/etcdserverpb.Auth/UserAdd",
    "/etcdserverpb.Cluster/MemberAdd",
    "/etcdserverpb.Cluster/MemberRemove",
    "/etcdserverpb.Cluster/MemberUpdate",
    "/etcdserverpb.Cluster/MemberPromote",
    "/etcdserverpb.Maintenance/Hash",
    "/etcdserverpb.Maintenance/HashKV",
    "/etcdserverpb.Maintenance/Snapshot",
    "/etcdserverpb.Maintenance/MoveLeader",
    "/etcdserverpb.Maintenance/Downgrade",
];

/// Where a key should be, a number is.
#[derive(Clone, PartialEq, prost::Message)]
struct Damaged {
    #[prost(int64, tag = "1")]
    key: i64,
}
