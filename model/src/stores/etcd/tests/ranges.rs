//! Old revisions, bounds, order, limits, compaction.

use super::*;

fn at(revision: u32) -> Operation {
    Operation::Range(Range { revision: Some(Revision(revision)), ..Range::of(ALL) })
}

/// Keys 1 to 3, created at revisions 2 to 4; then 1 is put again, 2 goes, and comes again at 7.
fn filled() -> Member {
    let mut member = Member::new(Settings::default());
    (1..=3).for_each(|name| {
        member.put(name, 10);
    });
    member.put(1, 11);
    member.outcome(delete(2));
    member.put(2, 12);
    member
}

fn text(name: u16, value: u32) -> (u16, Value) {
    (name, Value::Text(value))
}

#[test]
fn the_past_stays_as_it_was() {
    let mut member = filled();
    let mut past = |revision| seen(&member.outcome(at(revision)));
    assert!(past(1).is_empty());
    assert_eq!(past(3), [text(1, 10), text(2, 10)]);
    assert_eq!(past(5), [text(1, 11), text(2, 10), text(3, 10)]);
    assert_eq!(past(6), [text(1, 11), text(3, 10)]);
    assert_eq!(past(7), [text(1, 11), text(2, 12), text(3, 10)]);
    assert_eq!(member.outcome(at(8)), Outcome::Failed(Error::FutureRevision));
}

#[test]
fn what_is_compacted_cannot_be_read_and_what_is_not_reads_as_before() {
    let mut member = filled();
    let before: Vec<_> = (5..=7).map(|revision| member.outcome(at(revision))).collect();
    assert_eq!(member.outcome(Operation::Compact(Revision(5))), Outcome::Compacted);
    assert_eq!(member.outcome(at(4)), Outcome::Failed(Error::Compacted));
    let after: Vec<_> = (5..=7).map(|revision| member.outcome(at(revision))).collect();
    assert_eq!(after, before);
    assert_eq!(member.outcome(Operation::Compact(Revision(5))), Outcome::Failed(Error::Compacted));
    assert_eq!(member.outcome(Operation::Compact(Revision(8))), Outcome::Failed(Error::FutureRevision));
}

#[test]
fn the_first_and_the_last_created_before_a_revision() {
    let mut member = filled();
    let mut read = |range| seen(&member.outcome(Operation::Range(range)));
    assert_eq!(read(Range::first_created(ALL)), [text(1, 11)]);
    assert_eq!(read(Range::last_created(ALL)), [text(2, 12)]);
    let before = |revision| Range { created_before: Some(Revision(revision)), ..Range::last_created(ALL) };
    assert_eq!(read(before(7)), [text(3, 10)]);
    assert_eq!(read(before(4)), [text(1, 11)]);
    assert!(read(before(2)).is_empty());
}

#[test]
fn a_bound_leaves_out_and_still_counts() {
    let mut member = filled();
    let range = Range { created_before: Some(Revision(4)), ..Range::of(ALL) };
    let Outcome::Range(found) = member.outcome(Operation::Range(range)) else { panic!("nothing was read") };
    assert_eq!((found.kvs.len(), found.count), (1, 3));
}
