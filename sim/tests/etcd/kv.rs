//! Keys.

use crate::client::{Client, between, bytes, names, one, refused, text, with_one};
use crate::pb;
use tonic::Code;

/// Keys a1, b2, c3, d1 with values that are their digits, put in the order c3, a1, d1, b2.
async fn four(client: &Client) {
    for key in ["c3", "a1", "d1", "b2"] {
        client.set(key, &key[1..]).await;
    }
}

#[test]
fn ranges_are_cut_off_sorted_and_counted() {
    with_one(async |client| {
        four(&client).await;
        let found = client.range(between("a", "d")).await.expect("found");
        assert_eq!(
            (names(&found), found.count, found.more),
            (vec!["a1".into(), "b2".into(), "c3".into()], 3, false)
        );
        assert_eq!(found.header.expect("a header").revision, 5);
        let found = client.range(pb::RangeRequest { limit: 2, ..between("b", "\0") }).await.expect("found");
        assert_eq!((names(&found), found.count, found.more), (vec!["b2".into(), "c3".into()], 3, true));
        let sorted = async |target: pb::SortTarget, order: pb::SortOrder| {
            let (sort_target, sort_order) = (target.into(), order.into());
            let range = pb::RangeRequest { sort_target, sort_order, ..between("\0", "\0") };
            names(&client.range(range).await.expect("found"))
        };
        assert_eq!(sorted(pb::SortTarget::Create, pb::SortOrder::Ascend).await, ["c3", "a1", "d1", "b2"]);
        assert_eq!(sorted(pb::SortTarget::Mod, pb::SortOrder::Descend).await, ["b2", "d1", "a1", "c3"]);
        assert_eq!(sorted(pb::SortTarget::Value, pb::SortOrder::None).await, ["a1", "d1", "b2", "c3"]);
        assert_eq!(sorted(pb::SortTarget::Key, pb::SortOrder::Descend).await, ["d1", "c3", "b2", "a1"]);
        let counted =
            client.range(pb::RangeRequest { count_only: true, ..between("a", "z") }).await.expect("found");
        assert_eq!((counted.kvs.len(), counted.count), (0, 4));
        let keys = client.range(pb::RangeRequest { keys_only: true, ..one("a1") }).await.expect("found");
        assert!(keys.kvs[0].value.is_empty());
        let young = pb::RangeRequest { min_create_revision: 3, max_mod_revision: 4, ..between("a", "z") };
        let young = client.range(young).await.expect("found");
        assert_eq!((names(&young), young.count), (vec!["a1".into(), "d1".into()], 4));
    });
}

#[test]
fn puts_and_deletions_tell_what_was_there_and_puts_keep_what_they_shall() {
    with_one(async |client| {
        client.grant(7, 600).await.expect("granted");
        let put = |value: &str| pb::PutRequest { key: bytes("k"), value: bytes(value), ..Default::default() };
        let first = client.put(pb::PutRequest { lease: 7, prev_kv: true, ..put("1") }).await.expect("put");
        assert_eq!(first.prev_kv, None);
        let second = pb::PutRequest { ignore_lease: true, prev_kv: true, ..put("2") };
        let before = client.put(second).await.expect("put").prev_kv.expect("it was there");
        assert_eq!((text(&before.value), before.lease, before.version), ("1".into(), 7, 1));
        client.put(pb::PutRequest { ignore_value: true, ..put("") }).await.expect("put");
        let now = client.range(one("k")).await.expect("found").kvs.remove(0);
        assert_eq!((text(&now.value), now.lease, now.version), ("2".into(), 0, 3));
        assert_eq!((now.create_revision, now.mod_revision), (2, 4));
        let delete = pb::DeleteRangeRequest { key: bytes("a"), range_end: bytes("z"), prev_kv: true };
        let deleted = client.delete(delete.clone()).await.expect("deleted");
        assert_eq!((deleted.deleted, text(&deleted.prev_kvs[0].value)), (1, "2".into()));
        assert_eq!(client.delete(delete).await.expect("deleted").deleted, 0);
    });
}

#[test]
fn the_past_is_read_until_it_is_compacted() {
    with_one(async |client| {
        let (old, new) = (client.set("k", "old").await, client.set("k", "new").await);
        let at = async |revision| client.range(pb::RangeRequest { revision, ..one("k") }).await;
        assert_eq!(at(old).await.expect("found").kvs[0].value, "old");
        let future =
            (Code::OutOfRange, "etcdserver: mvcc: required revision is a future revision".to_owned());
        assert_eq!(refused(at(new + 1).await), future);
        assert_eq!(refused(client.compact(new + 1).await), future);
        client.compact(new).await.expect("compacted");
        let compacted =
            (Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted".to_owned());
        assert_eq!(refused(at(old).await), compacted);
        assert_eq!(refused(client.compact(new).await), compacted);
        assert_eq!(at(new).await.expect("found").kvs[0].value, "new");
    });
}

#[test]
fn refusals_have_the_real_servers_codes_and_words() {
    with_one(async |client| {
        let invalid = |text: &str| (Code::InvalidArgument, format!("etcdserver: {text}"));
        let put = pb::PutRequest { key: bytes("k"), value: bytes("v"), ..Default::default() };
        assert_eq!(refused(client.range(one("")).await), invalid("key is not provided"));
        let empty = pb::PutRequest { key: bytes(""), ..put.clone() };
        assert_eq!(refused(client.put(empty).await), invalid("key is not provided"));
        let valued = pb::PutRequest { ignore_value: true, ..put.clone() };
        assert_eq!(refused(client.put(valued).await), invalid("value is provided"));
        let leased = pb::PutRequest { ignore_lease: true, lease: 1, ..put.clone() };
        assert_eq!(refused(client.put(leased).await), invalid("lease is provided"));
        let kept = pb::PutRequest { ignore_lease: true, ..put.clone() };
        assert_eq!(refused(client.put(kept).await), invalid("key not found"));
        let leased = pb::PutRequest { lease: 1, ..put.clone() };
        assert_eq!(
            refused(client.put(leased).await),
            (Code::NotFound, "etcdserver: requested lease not found".into())
        );
        let large = pb::PutRequest { value: vec![0; 1_600_000].into(), ..put };
        assert_eq!(refused(client.put(large).await), invalid("request is too large"));
        assert_eq!(client.get("k").await, None);
    });
}
