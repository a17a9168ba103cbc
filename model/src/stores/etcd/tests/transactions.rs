//! Comparisons, branches, what is refused.

use super::*;
use smallvec::smallvec;

fn then(compare: Compare) -> Operation {
    Operation::Txn(Txn { compare: smallvec![compare], success: smallvec![], failure: smallvec![] })
}

fn succeeds(member: &mut Member, compare: Compare) -> bool {
    match member.outcome(then(compare)) {
        Outcome::Txn { succeeded, .. } => succeeded,
        outcome => panic!("no transaction: {outcome:?}"),
    }
}

#[test]
fn each_field_is_compared_in_each_way() {
    use Comparison::{Equal, Greater, Less, NotEqual};
    let mut member = Member::new(Settings::default());
    let lease = member.grant(1, Micros::seconds(60));
    member.ask(put(1, 5, Some(lease)));
    member.ask(put(1, 6, Some(lease)));
    // Version 2, created at 2, put last at 3.
    type Field = fn(u32) -> Target;
    let fields: [(Field, u32); 4] = [
        (Target::Version, 2),
        (|at| Target::Create(Revision(at)), 2),
        (|at| Target::Mod(Revision(at)), 3),
        (|text| Target::Value(Value::Text(text)), 6),
    ];
    for (target, is) in fields {
        for (operand, expected) in [
            (is - 1, [false, true, true, false]),
            (is, [true, false, false, false]),
            (is + 1, [false, true, false, true]),
        ] {
            let held = [Equal, NotEqual, Greater, Less]
                .map(|result| succeeds(&mut member, compare(1, result, target(operand))));
            assert_eq!(held, expected, "{:?}", target(operand));
        }
    }
    assert!(succeeds(&mut member, compare(1, Equal, Target::Lease(Some(lease)))));
    assert!(!succeeds(&mut member, compare(1, Equal, Target::Lease(None))));
}

#[test]
fn a_missing_key_compares_as_zeros_but_nothing_holds_of_its_value() {
    use Comparison::{Equal, NotEqual};
    let mut member = Member::new(Settings::default());
    assert!(succeeds(&mut member, compare(1, Equal, Target::Create(Revision::ZERO))));
    assert!(succeeds(&mut member, compare(1, Equal, Target::Version(0))));
    assert!(succeeds(&mut member, compare(1, Equal, Target::Lease(None))));
    assert!(!succeeds(&mut member, compare(1, Equal, Target::Value(Value::Empty))));
    assert!(!succeeds(&mut member, compare(1, NotEqual, Target::Value(Value::Empty))));
}

#[test]
fn of_several_keys_all_must_compare() {
    let mut member = Member::new(Settings::default());
    member.put(1, 7);
    member.put(2, 7);
    let all =
        |value| Compare { keys: ALL, result: Comparison::Equal, target: Target::Value(Value::Text(value)) };
    assert!(succeeds(&mut member, all(7)));
    member.put(2, 8);
    assert!(!succeeds(&mut member, all(7)));
}

/// Delete and create again: a compare-and-set on the version does not see it, one on the mod revision does.
#[test]
fn a_version_comes_again_and_a_mod_revision_does_not() {
    let mut member = Member::new(Settings::default());
    member.put(1, 1);
    member.outcome(delete(1));
    member.put(1, 2);
    assert!(succeeds(&mut member, compare(1, Comparison::Equal, Target::Version(1))));
    assert!(!succeeds(&mut member, compare(1, Comparison::Equal, Target::Mod(Revision(2)))));
}

#[test]
fn the_steps_of_a_transaction_see_those_before_and_share_one_revision() {
    let mut member = Member::new(Settings::default());
    member.put(3, 3);
    let step = |name| Step::Put(Put { key: key(name), value: Value::Text(9), lease: None });
    let txn = Txn {
        compare: smallvec![],
        success: smallvec![
            Step::Range(Range::of(ALL)),
            step(1),
            step(2),
            Step::Delete(one(3)),
            Step::Range(Range::of(ALL))
        ],
        failure: smallvec![],
    };
    let reply = member.ask(Operation::Txn(txn));
    assert_eq!(reply.revision, Revision(3));
    let Outcome::Txn { succeeded: true, responses } = reply.outcome else { panic!("{:?}", reply.outcome) };
    let counts: Vec<u32> = responses
        .iter()
        .map(|response| match response {
            Response::Range(found) => found.count,
            Response::Deleted(keys) => *keys,
            Response::Put => 0,
        })
        .collect();
    assert_eq!(counts, [1, 0, 0, 1, 2]);
    let (one, two) = (*member.etcd.get(key(1)).unwrap(), *member.etcd.get(key(2)).unwrap());
    assert_eq!((one.mod_revision, two.mod_revision), (Revision(3), Revision(3)));
}

#[test]
fn a_key_may_not_be_changed_twice_and_a_refused_transaction_changes_nothing() {
    let put = |name, lease| Step::Put(Put { key: key(name), value: Value::Empty, lease });
    let no_lease = Some(LeaseId { client: 9, serial: 9 });
    let refused = [
        (vec![put(1, None), put(1, None)], Error::DuplicateKey),
        (vec![put(1, None), Step::Delete(ALL)], Error::DuplicateKey),
        (vec![Step::Delete(one(1)), put(1, None)], Error::DuplicateKey),
        (vec![put(1, None), put(2, no_lease)], Error::LeaseNotFound),
    ];
    for (steps, error) in refused {
        let mut member = Member::new(Settings::default());
        let before = member.etcd.clone();
        let txn = Txn { compare: smallvec![], success: steps.into_iter().collect(), failure: smallvec![] };
        assert_eq!(member.outcome(Operation::Txn(txn)), Outcome::Failed(error));
        assert_eq!(member.etcd, before);
    }
}

#[test]
fn two_lists_may_change_the_same_key() {
    let mut member = Member::new(Settings::default());
    let put = |value| Step::Put(Put { key: key(1), value: Value::Text(value), lease: None });
    let txn = Txn { compare: smallvec![], success: smallvec![put(1)], failure: smallvec![put(2)] };
    assert!(matches!(member.outcome(Operation::Txn(txn)), Outcome::Txn { succeeded: true, .. }));
}
