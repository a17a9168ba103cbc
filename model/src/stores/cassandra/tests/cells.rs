//! Which of two cells wins, when a cell is live, and in which order names stand.

use super::cell::{Column, Columns, merge_all, merge_into};
use super::*;
use proptest::prelude::*;

/// Few enough timestamps, values and seconds that ties happen at every level.
fn any_cell() -> impl Strategy<Value = Cell> {
    let live = (0..3u32, prop::option::of(0..3i64))
        .prop_map(|(value, expiry_seconds)| Content::Live { value: Value::Number(value), expiry_seconds });
    let tombstone =
        (0..3i64).prop_map(|local_deletion_seconds| Content::Tombstone { local_deletion_seconds });
    (0..3i64, prop_oneof![live, tombstone])
        .prop_map(|(timestamp, content)| Cell { timestamp: Wall(timestamp), content })
}

/// Some of few columns, in order.
fn any_columns() -> impl Strategy<Value = Columns> {
    let columns = prop::collection::btree_map(0..6u16, any_cell(), 0..6);
    let name = |thread| ColumnName { prefix: Prefix::None, thread: ThreadId(thread) };
    columns.prop_map(move |columns| {
        columns.into_iter().map(|(thread, cell)| Column { name: name(thread), cell }).collect()
    })
}

fn any_ties() -> impl Strategy<Value = TieRules> {
    prop_oneof![Just(TieRules::V4), Just(TieRules::V2_1)]
}

/// Whether `left` stays, told as `Cells.resolveRegular` tells it.
fn left_wins_as_the_source_says(left: &Cell, right: &Cell) -> bool {
    if left.timestamp != right.timestamp {
        return left.timestamp > right.timestamp;
    }
    let (left_deleted, right_deleted) = (left.local_deletion_seconds(), right.local_deletion_seconds());
    if left_deleted.is_some() || right_deleted.is_some() {
        if left_deleted.is_some() != right_deleted.is_some() {
            return left_deleted.is_some();
        }
        let is_tombstone = |cell: &Cell| matches!(cell.content, Content::Tombstone { .. });
        if is_tombstone(left) != is_tombstone(right) {
            return is_tombstone(left);
        }
        if left_deleted != right_deleted {
            return left_deleted > right_deleted;
        }
    }
    // Of live cells; a tombstone's value is empty.
    left.value_at(i64::MIN) >= right.value_at(i64::MIN)
}

proptest! {
    #[test]
    fn the_winner_depends_on_neither_order_nor_grouping(
        a in any_cell(), b in any_cell(), c in any_cell(), ties in any_ties(),
    ) {
        let wins = |left, right| reconcile(&left, &right, ties);
        prop_assert_eq!(wins(a, b), wins(b, a));
        prop_assert_eq!(wins(wins(a, b), c), wins(a, wins(b, c)));
        prop_assert_eq!(wins(a, a), a);
        prop_assert!(wins(a, b) == a || wins(a, b) == b);
    }

    #[test]
    fn the_winner_is_the_one_that_the_source_picks(a in any_cell(), b in any_cell()) {
        let expected = if left_wins_as_the_source_says(&a, &b) { a } else { b };
        prop_assert_eq!(reconcile(&a, &b, TieRules::V4), expected);
    }

    #[test]
    fn columns_in_order_are_merged_at_once_as_one_by_one(
        there in any_columns(), other in any_columns(), ties in any_ties(),
    ) {
        let (mut at_once, mut one_by_one) = (there.clone(), there);
        merge_all(&mut at_once, other.iter().copied(), ties);
        other.iter().for_each(|column| merge_into(&mut one_by_one, *column, ties));
        prop_assert_eq!(at_once, one_by_one);
    }

    #[test]
    fn names_are_ordered_as_the_strings_they_stand_for(
        left in any_name(), right in any_name(),
    ) {
        prop_assert_eq!(left.cmp(&right), bytes(left).cmp(&bytes(right)));
    }
}

/// A name as Listing 5 writes it.
fn bytes(name: ColumnName) -> String {
    match name.prefix {
        Prefix::Time(at) => format!("{:020}{}", at.unix_micros(), name.thread),
        Prefix::None => name.thread.to_string(),
    }
}

/// Any time from 1970 on that has at most twenty digits; the first life of a client with a letter.
fn any_name() -> impl Strategy<Value = ColumnName> {
    let unix_micros = prop_oneof![0..20i64, 0..i64::MAX / 2];
    let prefix = prop_oneof![
        Just(Prefix::None),
        unix_micros.prop_map(|micros| Prefix::Time(Wall(micros - EPOCH_UNIX_MICROS))),
    ];
    (prefix, 0..26u16).prop_map(|(prefix, thread)| ColumnName { prefix, thread: ThreadId(thread) })
}

fn live(timestamp: i64, value: u32, expiry_seconds: Option<i64>) -> Cell {
    Cell {
        timestamp: Wall(timestamp),
        content: Content::Live { value: Value::Number(value), expiry_seconds },
    }
}

fn tombstone(timestamp: i64, local_deletion_seconds: i64) -> Cell {
    Cell { timestamp: Wall(timestamp), content: Content::Tombstone { local_deletion_seconds } }
}

fn assert_order(ties: TieRules, weakest_first: &[Cell]) {
    for pair in weakest_first.windows(2) {
        assert_eq!(reconcile(&pair[0], &pair[1], ties), pair[1], "{pair:?} under {ties:?}");
    }
}

#[test]
fn ties_since_14592_go_to_tombstone_then_expiring_then_later_then_larger() {
    let cells = [
        live(5, 8, None),
        live(5, 9, None),
        live(5, 1, Some(3)),
        live(5, 2, Some(3)),
        live(5, 0, Some(4)),
        tombstone(5, 1),
        tombstone(5, 2),
        live(6, 0, None),
    ];
    assert_order(TieRules::V4, &cells);
}

#[test]
fn ties_in_2_1_go_to_tombstone_then_larger_then_later() {
    let cells = [
        live(5, 1, Some(4)),
        live(5, 2, Some(3)),
        live(5, 2, Some(4)),
        live(5, 3, None),
        tombstone(5, 1),
        tombstone(5, 2),
        live(6, 0, None),
    ];
    assert_order(TieRules::V2_1, &cells);
}

#[test]
fn a_cell_is_live_until_the_second_before_its_local_deletion_time() {
    let cell = live(0, 1, Some(10));
    assert!(cell.is_live_at(9));
    assert!(!cell.is_live_at(10));
}

#[test]
fn messages_and_contents_read_as_they_are_meant() {
    let columns: Columns = [
        Column { name: plain(A), cell: live(100, 1, Some(12)) },
        Column { name: plain(B), cell: tombstone(101, 0) },
    ]
    .into_iter()
    .collect();
    let first: Columns = columns.iter().take(1).copied().collect();
    let text = |peer: Peer| cassandra_tables::WORDS.fill_in(&peer.to_string());
    assert_eq!(
        text(Peer::Mutation { serial: None, row: MAIN, columns: first.clone() }),
        "mutate M[tA] ts 100us"
    );
    assert_eq!(text(Peer::Repair { serial: 1, row: MAIN, columns: columns.clone() }), "repair M[tA], M[†tB]");
    assert_eq!(
        text(Peer::Cells { serial: 1, row: MAIN, columns }),
        "cells M {tA=1@100us until 12s, †tB@101us}"
    );
    assert_eq!(text(Peer::Read { serial: 1, row: QUEUE, from: None }), "read Q");
    assert_eq!(text(Peer::Ack { serial: 1 }), "ack");
}
