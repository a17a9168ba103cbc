//! `tests/robustness/model/deterministic_test.go`: what etcd's own reference model accepts, and what it refuses
//! (`commonTestScenarios`), and which histories lead to one state. "Fails" marks answers that must not come. The three scenarios of a stale
//! get are one test here.
//!
//! Left out is what has no counterpart here: defragmentation, which changes nothing, and values of more than twenty bytes ("large put").

use super::*;

/// A request and what must come of it, or must not.
enum Fact {
    Is(Operation, u32, Seen),
    IsNot(Operation, u32, Seen),
    Fails(Operation, Error),
}

/// What a client sees of an answer.
#[derive(Clone, PartialEq, Debug)]
enum Seen {
    Put,
    Deleted(u32),
    /// Value, version and mod revision.
    Got(Option<(u32, u32, u32)>),
    /// Name, value, version and mod revision of each, and the count.
    Listed(Vec<(u16, u32, u32, u32)>, u32),
    /// Which branch, and how many puts it made.
    Txn(bool, usize),
    Granted,
    Revoked,
}

use Fact::{Fails, Is, IsNot};
use Seen::{Deleted, Got, Granted, Listed, Revoked};

fn seen_of(operation: &Operation, outcome: &Outcome) -> Seen {
    let text = |value| match value {
        Value::Text(number) => number,
        value => panic!("{value:?} is no text"),
    };
    match (operation, outcome) {
        (_, Outcome::Put) => Seen::Put,
        (_, Outcome::Deleted(keys)) => Deleted(*keys),
        (Operation::Range(Range { keys: Keys::One(_), .. }), Outcome::Range(found)) => {
            Got(found.kvs.first().map(|kv| (text(kv.value), kv.version, kv.mod_revision.0)))
        }
        (_, Outcome::Range(found)) => {
            let line = |kv: &KeyValue| match kv.key.name {
                Name::Word(word) => (word, text(kv.value), kv.version, kv.mod_revision.0),
                name => panic!("{name:?} is no word"),
            };
            Listed(found.kvs.iter().map(line).collect(), found.count)
        }
        (_, Outcome::Txn { succeeded, responses }) => Seen::Txn(*succeeded, responses.len()),
        (_, Outcome::Granted { .. }) => Granted,
        (_, Outcome::Revoked) => Revoked,
        (_, outcome) => panic!("no scenario asks for {outcome:?}"),
    }
}

fn holds(facts: Vec<Fact>) {
    let mut member = Member::new(Settings::default());
    for (place, fact) in facts.into_iter().enumerate() {
        // What must not come is not done either: the reference model steps only where it accepts.
        let asked = |member: &mut Member, operation: Operation| {
            let serial = match operation {
                Operation::Grant { ttl: Some(ttl) } => ttl.whole_seconds() as u32 / 100,
                _ => 1_000 + place as u32,
            };
            let seen = member.ask_as(0, serial, operation.clone()).expect("answered at once");
            (seen.revision.0, seen.outcome, operation)
        };
        match fact {
            Is(operation, revision, expected) => {
                let (at, outcome, operation) = asked(&mut member, operation);
                assert_eq!((at, seen_of(&operation, &outcome)), (revision, expected), "step {place}");
            }
            IsNot(operation, revision, refused) => {
                let mut other = Member { etcd: member.etcd.clone(), ..Member::new(member.settings) };
                let (at, outcome, operation) = asked(&mut other, operation);
                assert_ne!((at, seen_of(&operation, &outcome)), (revision, refused), "step {place}");
            }
            Fails(operation, error) => {
                let before = member.etcd.clone();
                let (_, outcome, _) = asked(&mut member, operation);
                assert_eq!(outcome, Outcome::Failed(error), "step {place}");
                assert_eq!(member.etcd, before, "step {place} changed something");
            }
        }
    }
}

/// Lease `id` of client A: here a lease has the number of the request that granted it, which `holds` takes from the TTL.
fn lease(id: u32) -> LeaseId {
    LeaseId { client: 0, serial: id }
}

fn grant(id: u32) -> Operation {
    Operation::Grant { ttl: Some(Micros::seconds(100 * i64::from(id))) }
}

fn revoke(id: u32) -> Operation {
    Operation::Revoke(lease(id))
}

fn puts(name: u16, value: u32) -> Operation {
    put(name, value, None)
}

fn leased(name: u16, value: u32, id: u32) -> Operation {
    put(name, value, Some(lease(id)))
}

fn gets(name: u16) -> Operation {
    get(one(name))
}

fn gets_at(name: u16, revision: u32) -> Operation {
    Operation::Range(Range { revision: Some(Revision(revision)), ..Range::of(one(name)) })
}

fn lists(limit: u8) -> Operation {
    Operation::Range(Range { limit, ..Range::of(ALL) })
}

fn txn(name: u16, mod_revision: u32, then: Option<u32>, otherwise: Option<u32>) -> Operation {
    let step = |value: u32| Step::Put(Put { key: key(name), value: Value::Text(value), lease: None });
    Operation::Txn(Txn {
        compare: [compare(name, Comparison::Equal, Target::Mod(Revision(mod_revision)))]
            .into_iter()
            .collect(),
        success: then.map(step).into_iter().collect(),
        failure: otherwise.map(step).into_iter().collect(),
    })
}

const GONE: Seen = Got(None);

fn got(value: u32, version: u32, mod_revision: u32) -> Seen {
    Got(Some((value, version, mod_revision)))
}

#[test]
fn get_response_data_should_match_put() {
    holds(vec![
        Is(puts(1, 11), 2, Seen::Put),
        Is(puts(2, 12), 3, Seen::Put),
        IsNot(gets(1), 2, got(11, 1, 2)),
        IsNot(gets(1), 2, got(12, 1, 2)),
        IsNot(gets(1), 3, got(12, 1, 3)),
        Is(gets(1), 3, got(11, 1, 2)),
        IsNot(gets(2), 3, got(11, 1, 3)),
        IsNot(gets(2), 2, got(12, 1, 2)),
        IsNot(gets(2), 2, got(11, 1, 2)),
        Is(gets(2), 3, got(12, 1, 3)),
    ]);
}

#[test]
fn range_response_data_should_match_put() {
    let both = || Listed(vec![(1, 1, 1, 2), (2, 2, 1, 3)], 2);
    holds(vec![
        Is(puts(1, 1), 2, Seen::Put),
        Is(puts(2, 2), 3, Seen::Put),
        Is(lists(0), 3, both()),
        Is(lists(0), 3, both()),
    ]);
}

#[test]
fn range_limit_should_reduce_number_of_kvs_but_maintain_count() {
    let all = [(1, 1, 1, 2), (2, 2, 1, 3), (3, 3, 1, 4)];
    let mut facts =
        vec![Is(puts(1, 1), 2, Seen::Put), Is(puts(2, 2), 3, Seen::Put), Is(puts(3, 3), 4, Seen::Put)];
    for (limit, listed) in [(0, 3), (4, 3), (3, 3), (2, 2), (1, 1)] {
        facts.push(Is(lists(limit), 4, Listed(all[..listed].to_vec(), 3)));
    }
    holds(facts);
}

#[test]
fn range_response_should_be_ordered_by_key() {
    let (one, two, three) = ((1, 2, 1, 4), (2, 1, 1, 3), (3, 3, 1, 2));
    holds(vec![
        Is(puts(3, 3), 2, Seen::Put),
        Is(puts(2, 1), 3, Seen::Put),
        Is(puts(1, 2), 4, Seen::Put),
        Is(lists(0), 4, Listed(vec![one, two, three], 3)),
        IsNot(lists(0), 4, Listed(vec![two, one, three], 3)),
        IsNot(lists(0), 4, Listed(vec![three, two, one], 3)),
    ]);
}

#[test]
fn stale_get_needs_to_match_put_at_its_revision() {
    holds(vec![
        Is(puts(1, 1), 2, Seen::Put),
        Is(gets_at(1, 1), 2, GONE),
        IsNot(gets_at(1, 2), 3, got(1, 1, 2)),
        IsNot(gets_at(1, 2), 2, got(2, 1, 2)),
        Is(gets_at(1, 2), 2, got(1, 1, 2)),
        Is(puts(1, 2), 3, Seen::Put),
        Is(gets_at(1, 2), 3, got(1, 1, 2)),
    ]);
}

#[test]
fn put_must_increase_revision_by_1() {
    holds(vec![
        Is(gets(1), 1, GONE),
        IsNot(puts(1, 1), 1, Seen::Put),
        IsNot(puts(1, 1), 3, Seen::Put),
        Is(puts(1, 1), 2, Seen::Put),
    ]);
}

#[test]
fn delete_only_increases_revision_on_success() {
    holds(vec![
        Is(puts(1, 11), 2, Seen::Put),
        Is(puts(2, 12), 3, Seen::Put),
        IsNot(delete(1), 3, Deleted(1)),
        Is(delete(1), 4, Deleted(1)),
        IsNot(delete(1), 5, Deleted(0)),
        Is(delete(1), 4, Deleted(0)),
    ]);
}

#[test]
fn delete_not_existing_key() {
    holds(vec![Is(gets(1), 1, GONE), IsNot(delete(1), 2, Deleted(1)), Is(delete(1), 1, Deleted(0))]);
}

#[test]
fn delete_clears_value() {
    holds(vec![
        Is(puts(1, 1), 2, Seen::Put),
        Is(delete(1), 3, Deleted(1)),
        IsNot(gets(1), 2, got(1, 1, 2)),
        IsNot(gets(1), 3, got(1, 1, 3)),
        IsNot(gets(1), 3, got(1, 1, 2)),
        Is(gets(1), 3, GONE),
    ]);
}

#[test]
fn txn_executes_on_success_if_revision_matches_expected() {
    let change = || txn(1, 2, Some(2), None);
    holds(vec![
        Is(puts(1, 1), 2, Seen::Put),
        IsNot(change(), 2, Seen::Txn(true, 1)),
        IsNot(change(), 3, Seen::Txn(false, 1)),
        IsNot(change(), 2, Seen::Txn(false, 1)),
        Is(change(), 3, Seen::Txn(true, 1)),
        IsNot(gets(1), 2, got(1, 1, 2)),
        IsNot(gets(1), 3, got(1, 1, 2)),
        IsNot(gets(1), 3, got(1, 1, 3)),
        IsNot(gets(1), 2, got(2, 2, 2)),
        Is(gets(1), 3, got(2, 2, 3)),
    ]);
}

#[test]
fn txn_can_expect_on_key_not_existing() {
    holds(vec![
        Is(gets(1), 1, GONE),
        Is(txn(1, 0, Some(2), None), 2, Seen::Txn(true, 1)),
        IsNot(txn(1, 0, Some(3), None), 3, Seen::Txn(true, 1)),
        Is(txn(1, 0, Some(4), Some(5)), 3, Seen::Txn(false, 1)),
        Is(gets(1), 3, got(5, 2, 3)),
        Is(txn(2, 0, Some(6), None), 4, Seen::Txn(true, 1)),
    ]);
}

#[test]
fn txn_executes_on_failure_if_revision_doesnt_match_expected() {
    let change = || txn(1, 2, None, Some(2));
    holds(vec![
        Is(puts(1, 1), 2, Seen::Put),
        IsNot(change(), 3, Seen::Txn(false, 1)),
        IsNot(change(), 3, Seen::Txn(false, 0)),
        IsNot(change(), 3, Seen::Txn(true, 0)),
        IsNot(change(), 2, Seen::Txn(true, 1)),
        Is(change(), 2, Seen::Txn(true, 0)),
        Is(txn(1, 3, None, Some(2)), 3, Seen::Txn(false, 1)),
    ]);
}

#[test]
fn put_with_a_valid_lease_should_succeed_and_with_an_invalid_one_fail() {
    holds(vec![
        Is(grant(1), 1, Granted),
        Is(leased(1, 2, 1), 2, Seen::Put),
        Fails(leased(1, 3, 2), Error::LeaseNotFound),
        Is(gets(1), 2, got(2, 1, 2)),
    ]);
}

#[test]
fn lease_grant_returns_current_revision() {
    holds(vec![Is(puts(1, 1), 2, Seen::Put), Is(grant(1), 2, Granted)]);
}

#[test]
fn put_with_an_expired_lease_should_fail() {
    holds(vec![
        Is(grant(1), 1, Granted),
        Is(leased(1, 2, 1), 2, Seen::Put),
        Is(gets(1), 2, got(2, 1, 2)),
        Is(revoke(1), 3, Revoked),
        Fails(leased(1, 4, 1), Error::LeaseNotFound),
        Is(gets(1), 3, GONE),
    ]);
}

#[test]
fn revoke_should_increment_the_revision() {
    holds(vec![
        Is(grant(1), 1, Granted),
        Is(leased(1, 2, 1), 2, Seen::Put),
        Is(revoke(1), 3, Revoked),
        Is(gets(1), 3, GONE),
    ]);
}

#[test]
fn put_following_a_put_with_lease_will_detach_the_key_from_the_lease() {
    holds(vec![
        Is(grant(1), 1, Granted),
        Is(leased(1, 2, 1), 2, Seen::Put),
        Is(puts(1, 3), 3, Seen::Put),
        Is(revoke(1), 3, Revoked),
        Is(gets(1), 3, got(3, 2, 3)),
    ]);
}

#[test]
fn change_lease_then_revoking_the_older_lease_should_not_increment_revision() {
    holds(vec![
        Is(grant(1), 1, Granted),
        Is(grant(2), 1, Granted),
        Is(leased(1, 2, 1), 2, Seen::Put),
        Is(leased(1, 3, 2), 3, Seen::Put),
        Is(revoke(1), 3, Revoked),
        Is(gets(1), 3, got(3, 2, 3)),
        Is(revoke(2), 4, Revoked),
        Is(gets(1), 4, GONE),
    ]);
}

#[test]
fn update_key_with_same_lease() {
    holds(vec![
        Is(grant(1), 1, Granted),
        Is(leased(1, 2, 1), 2, Seen::Put),
        Is(leased(1, 3, 1), 3, Seen::Put),
        Is(gets(1), 3, got(3, 2, 3)),
    ]);
}

#[test]
fn deleting_a_leased_key_then_revoke_should_not_increment_revision() {
    holds(vec![
        Is(grant(1), 1, Granted),
        Is(leased(1, 2, 1), 2, Seen::Put),
        Is(delete(1), 3, Deleted(1)),
        IsNot(revoke(1), 4, Revoked),
        Is(revoke(1), 3, Revoked),
    ]);
}

#[test]
fn lease_a_few_keys_then_revoke_should_increment_revision_only_once() {
    let mut facts = vec![Is(grant(1), 1, Granted)];
    facts.extend((1..=4).map(|name| Is(leased(name, u32::from(name), 1), u32::from(name) + 1, Seen::Put)));
    facts.push(Is(revoke(1), 6, Revoked));
    holds(facts);
}

#[test]
fn lease_some_keys_then_delete_some_of_them_then_revoke_should_increment_revision() {
    let mut facts = vec![Is(grant(1), 1, Granted)];
    facts.extend((1..=4).map(|name| Is(leased(name, u32::from(name), 1), u32::from(name) + 1, Seen::Put)));
    facts.extend([(1, 6), (3, 7), (4, 8)].map(|(name, revision)| Is(delete(name), revision, Deleted(1))));
    facts.push(Is(revoke(1), 9, Revoked));
    facts.push(Is(delete(2), 9, Deleted(0)));
    facts.extend((1..=4).map(|name| Is(gets(name), 9, GONE)));
    holds(facts);
}

#[test]
fn lease_some_keys_then_delete_all_of_them_then_revoke_should_not_increment() {
    let mut facts = vec![Is(grant(1), 1, Granted)];
    facts.extend((1..=4).map(|name| Is(leased(name, u32::from(name), 1), u32::from(name) + 1, Seen::Put)));
    facts.extend((1..=4).map(|name| Is(delete(name), u32::from(name) + 5, Deleted(1))));
    facts.push(Is(revoke(1), 9, Revoked));
    holds(facts);
}

#[test]
fn all_request_types() {
    holds(vec![
        Is(grant(1), 1, Granted),
        Is(leased(1, 1, 1), 2, Seen::Put),
        Is(revoke(1), 3, Revoked),
        Is(puts(1, 4), 4, Seen::Put),
        Is(gets(1), 4, got(4, 1, 4)),
        Is(txn(1, 4, Some(5), None), 5, Seen::Txn(true, 1)),
        Is(delete(1), 6, Deleted(1)),
    ]);
}

/// `TestEtcdStateEqual`: what a member has after these requests, but for the past that it keeps.
fn state_after(requests: Vec<Operation>) -> (u32, Outcome, Vec<LeaseId>) {
    let mut member = Member::new(Settings::default());
    for (place, request) in requests.into_iter().enumerate() {
        let serial = if matches!(request, Operation::Grant { .. }) { 1 } else { 1_000 + place as u32 };
        let _ = member.ask_as(0, serial, request).expect("answered at once");
    }
    let all = member.outcome(Operation::Range(Range::of(ALL)));
    (member.etcd.revision().0, all, member.etcd.leases().collect())
}

#[test]
fn states_from_equal_histories_are_equal_and_from_others_not() {
    let one_then_two = || vec![puts(1, 1), puts(1, 2)];
    let two_then_one = || vec![puts(1, 2), puts(1, 1)];
    assert_eq!(state_after(vec![]), state_after(vec![]));
    assert_eq!(state_after(one_then_two()), state_after(one_then_two()));
    assert_ne!(state_after(one_then_two()), state_after(two_then_one()));
    let emptied = |mut puts: Vec<Operation>| {
        puts.push(delete(1));
        state_after(puts)
    };
    assert_eq!(emptied(one_then_two()), emptied(two_then_one()));
    assert_eq!(state_after(vec![]), state_after(vec![grant(1), revoke(1)]));
    assert_eq!(
        state_after(vec![grant(1), leased(1, 7, 1), revoke(1)]),
        state_after(vec![puts(1, 7), delete(1)])
    );
    assert_eq!(state_after(vec![txn(1, 0, Some(7), None)]), state_after(vec![puts(1, 7)]));
}

/// `TestEtcdStateEqualCommutativeRequests`: in every order of two of them, and in the order of the list and its reverse.
#[test]
fn requests_that_change_no_key_lead_to_one_state_in_any_order() {
    let requests =
        || vec![grant(1), revoke(3), revoke(4), gets(1), gets(2), Operation::Compact(Revision(1)), gets(1)];
    let base = state_after(requests());
    let count = requests().len();
    for (one, other) in (0..count).flat_map(|one| (0..count).map(move |other| (one, other))) {
        let mut swapped = requests();
        swapped.swap(one, other);
        assert_eq!(state_after(swapped), base, "{one} and {other}");
    }
    let mut reversed = requests();
    reversed.reverse();
    assert_eq!(state_after(reversed), base);
}
