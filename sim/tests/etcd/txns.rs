//! Transactions.

use crate::client::{bytes, one, refused, text, with_one};
use crate::pb;
use tonic::Code;

fn step(asked: pb::Asked) -> pb::RequestOp {
    pb::RequestOp { request: Some(asked) }
}

fn put(key: &str, value: &str) -> pb::RequestOp {
    step(pb::Asked::Put(pb::PutRequest { key: bytes(key), value: bytes(value), ..Default::default() }))
}

fn get(key: &str) -> pb::RequestOp {
    step(pb::Asked::Range(one(key)))
}

fn compare(key: &str, result: pb::CompareResult, operand: pb::Operand) -> pb::Compare {
    let target = match operand {
        pb::Operand::Version(_) => pb::CompareTarget::Version,
        pb::Operand::CreateRevision(_) => pb::CompareTarget::Create,
        pb::Operand::ModRevision(_) => pb::CompareTarget::Mod,
        pb::Operand::Value(_) => pb::CompareTarget::Value,
        pb::Operand::Lease(_) => pb::CompareTarget::Lease,
    };
    pb::Compare {
        result: result.into(),
        target: target.into(),
        key: bytes(key),
        operand: Some(operand),
        range_end: bytes(""),
    }
}

#[test]
fn all_comparisons_decide_which_steps_are_taken() {
    use pb::CompareResult::{Equal, Greater, Less, NotEqual};
    use pb::Operand::{CreateRevision, Lease, ModRevision, Value, Version};
    with_one(async |client| {
        client.grant(5, 600).await.expect("granted");
        client.set("k", "b").await;
        let leased = pb::PutRequest { key: bytes("k"), value: bytes("m"), lease: 5, ..Default::default() };
        client.put(leased).await.expect("put");
        let cases = [
            ("k", Equal, Version(2), true),
            ("k", Less, Version(-1), false),
            ("k", Greater, Version(-1), true),
            ("k", Less, Version(1 << 40), true),
            ("k", Equal, CreateRevision(2), true),
            ("k", NotEqual, ModRevision(3), false),
            ("k", Greater, Value(bytes("l")), true),
            ("k", Less, Value(bytes("mm")), true),
            ("k", Greater, Value(bytes("")), true),
            ("k", Greater, Lease(4), true),
            ("k", Less, Lease(6), true),
            ("k", Equal, Lease(5), true),
            ("gone", Equal, CreateRevision(0), true),
            ("gone", Equal, Lease(0), true),
            ("gone", NotEqual, Value(bytes("x")), false),
        ];
        for (key, result, operand, expected) in cases {
            let compare = vec![compare(key, result, operand.clone())];
            let txn = pb::TxnRequest { compare, success: vec![get("k")], failure: Vec::new() };
            let done = client.txn(txn).await.expect("done");
            assert_eq!(done.succeeded, expected, "{key} {result:?} {operand:?}");
        }
    });
}

#[test]
fn steps_see_what_came_before_them_and_share_one_revision() {
    with_one(async |client| {
        let delete = pb::DeleteRangeRequest { key: bytes("a"), range_end: bytes(""), prev_kv: true };
        client.set("a", "old").await;
        let success = vec![get("b"), put("b", "new"), get("b"), step(pb::Asked::Delete(delete))];
        let done = client.txn(pb::TxnRequest { success, ..Default::default() }).await.expect("done");
        assert_eq!(done.header.expect("a header").revision, 3);
        let answers: Vec<pb::Answered> =
            done.responses.into_iter().filter_map(|done| done.response).collect();
        let [
            pb::Answered::Range(before),
            pb::Answered::Put(_),
            pb::Answered::Range(after),
            pb::Answered::Delete(deleted),
        ] = &answers[..]
        else {
            panic!("{answers:?}")
        };
        assert_eq!((before.kvs.len(), before.header.as_ref().expect("a header").revision), (0, 2));
        assert_eq!((text(&after.kvs[0].value), after.kvs[0].mod_revision), ("new".into(), 3));
        assert_eq!((deleted.deleted, text(&deleted.prev_kvs[0].value)), (1, "old".into()));
    });
}

#[test]
fn transactions_inside_look_at_what_was_before() {
    with_one(async |client| {
        client.set("k", "1").await;
        let value =
            |value: &str| vec![compare("k", pb::CompareResult::Equal, pb::Operand::Value(bytes(value)))];
        let inner = |value_is: &str| {
            let (success, failure) = (vec![put("yes", "y")], vec![put("no", "n"), get("k")]);
            step(pb::Asked::Txn(pb::TxnRequest { compare: value(value_is), success, failure }))
        };
        let txn =
            pb::TxnRequest { compare: value("1"), success: vec![put("k", "2"), inner("2")], failure: vec![] };
        let done = client.txn(txn).await.expect("done");
        let Some(pb::Answered::Txn(inside)) = &done.responses[1].response else { panic!("{done:?}") };
        assert!(done.succeeded && !inside.succeeded, "the one inside was decided before the put");
        let Some(pb::Answered::Range(seen)) = &inside.responses[1].response else { panic!("{inside:?}") };
        assert_eq!(text(&seen.kvs[0].value), "2");
        assert_eq!((client.get("no").await, client.get("yes").await), (Some("n".into()), None));
        assert_eq!(done.header.expect("a header").revision, 3);
    });
}

#[test]
fn what_may_not_be_in_a_transaction_is_refused() {
    with_one(async |client| {
        let invalid = |text: &str| (Code::InvalidArgument, format!("etcdserver: {text}"));
        let of = |success| pb::TxnRequest { success, ..Default::default() };
        let twice = vec![put("k", "1"), put("k", "2")];
        assert_eq!(
            refused(client.txn(of(twice.clone())).await),
            invalid("duplicate key given in txn request")
        );
        let inside = vec![put("k", "1"), step(pb::Asked::Txn(of(vec![put("k", "2")])))];
        assert_eq!(refused(client.txn(of(inside)).await), invalid("duplicate key given in txn request"));
        let many = (0..129).map(|n| put(&format!("{n}"), "")).collect();
        assert_eq!(refused(client.txn(of(many)).await), invalid("too many operations in txn request"));
        let nothing = vec![pb::RequestOp { request: None }];
        assert_eq!(refused(client.txn(of(nothing)).await), invalid("key not found"));
        let either =
            pb::TxnRequest { success: vec![put("k", "1")], failure: vec![put("k", "2")], compare: vec![] };
        client.txn(of(vec![step(pb::Asked::Txn(either))])).await.expect("only one of them is done");
    });
}

#[test]
fn a_put_that_keeps_its_value_misses_no_other_put() {
    with_one(async |client| {
        client.set("k", "0").await;
        client.grant(9, 600).await.expect("granted");
        let busy = async {
            for value in 1..=200 {
                client.set("k", &value.to_string()).await;
            }
        };
        let keeping = async {
            let keep = pb::PutRequest { key: bytes("k"), ignore_value: true, lease: 9, ..Default::default() };
            for _ in 0..50 {
                client.put(keep.clone()).await.expect("put");
            }
        };
        tokio::join!(busy, keeping);
        let kv = client.range(one("k")).await.expect("found").kvs.remove(0);
        assert_eq!((text(&kv.value), kv.version), ("200".into(), 251));
    });
}
