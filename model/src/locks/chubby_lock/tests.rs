//! What the catalogue says of the lock, and is not so.

use crate::claims::{Judgement, Search, scenarios, unpack_setup};
use crate::explore::{Limits, Space, Verdict, search};
use crate::locks::ChubbyLock;
use picklock_properties::{Promise, PromiseSet};

/// Row H4 was said to break the order of the writes at the resource. It does not: what it breaks is what the new holder's write
/// rests on.
#[test]
fn a_server_that_has_not_seen_the_new_sequencer_keeps_the_order_of_writes_and_loses_an_update() {
    let row = scenarios().into_iter().find(|row| row.id == "H4").unwrap();
    let Search::Space { space: named, judgement: Judgement::Safety } = row.search else {
        panic!("H4 is searched exhaustively")
    };
    let verdict = |promise: Promise| {
        let mut setup = unpack_setup::<ChubbyLock>(&named.setup).unwrap();
        setup.promises = [promise].into_iter().collect::<PromiseSet>();
        search(&Space { setup, bounds: named.bounds.clone() }, &Limits::states(1_000_000)).verdict
    };
    assert_eq!(verdict(Promise::FencedResource), Verdict::Verified);
    assert!(matches!(verdict(Promise::LostUpdate), Verdict::Violated { .. }));
}
