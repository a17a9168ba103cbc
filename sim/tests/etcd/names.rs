//! Members know keys by numbers: the numbers run out between neighbours, and are spread anew while everything goes on.

use crate::client::{Watcher, between, bytes, names, text, with_members};
use crate::pb;
use picklock_model::stores::etcd::Settings;
use std::collections::BTreeMap;

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn keys_stay_in_order_on_all_members_however_they_come() {
    with_members(3, Settings::default(), async |cluster| {
        let clients = [cluster.client(0).await, cluster.client(1).await, cluster.client(2).await];
        clients[0].grant(3, 600).await.expect("granted");
        let mut expected = BTreeMap::new();
        let mut watcher = Watcher::new(&clients[2]);
        watcher
            .watch(pb::WatchCreateRequest {
                key: bytes("/a/"),
                range_end: bytes("/a0"),
                ..Default::default()
            })
            .await;
        clients[0].set("/b", "after").await;
        // In order, from the other end, and all between two of them: none of them leaves its neighbours much room.
        for n in 0..300_u32 {
            for key in [
                format!("/a/{n:04}"),
                format!("/a/9{:03}", 999 - n),
                format!("/a/5{}", "0".repeat(n as usize / 4)),
            ] {
                let value = (n * 7 % 11).to_string();
                let put =
                    pb::PutRequest { key: bytes(&key), value: bytes(&value), lease: 3, ..Default::default() };
                clients[n as usize % 3].put(put).await.expect("put");
                assert_eq!(watcher.events().await, [(true, key.clone())]);
                expected.insert(key, value);
            }
        }
        let deleted = pb::DeleteRangeRequest {
            key: bytes("/a/0100"),
            range_end: bytes("/a/0200"),
            ..Default::default()
        };
        assert_eq!(clients[1].delete(deleted).await.expect("deleted").deleted, 100);
        assert_eq!(watcher.events().await.len(), 100);
        expected.retain(|key, _| !("/a/0100"..="/a/01999").contains(&key.as_str()));
        let expected: Vec<(String, String)> = expected.into_iter().collect();
        for client in &clients {
            let found = client.range(between("/a/", "/a0")).await.expect("found");
            let found: Vec<(String, String)> =
                found.kvs.iter().map(|kv| (text(&kv.key), text(&kv.value))).collect();
            assert_eq!(found, expected);
            let some = client.range(between("/a/0290", "/a/9")).await.expect("found");
            assert!(names(&some).iter().all(|key| key.as_str() >= "/a/0290" && key.as_str() < "/a/9"));
            assert_eq!(client.time_to_live(3).await.expect("there it is").keys.len(), expected.len());
        }
        clients[2].revoke(3).await.expect("revoked");
        assert_eq!(names(&clients[0].range(between("/", "\0")).await.expect("found")), ["/b"]);
    });
}
