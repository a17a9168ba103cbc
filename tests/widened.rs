//! A step beyond what is verified: what is said to fall there falls, and what was an accusation stays mended.

use crate::evidence::lock;
use picklock_model::claims::{FALLS, Judgement, NamedSpace, REPAIRED, Search, Widening, claims, scenarios};
use picklock_model::explore::Limits;
use picklock_model::world::Fault;
use picklock_sim::registry::{CheckVerdict, Checked};

/// Enough for each of these.
const STATES_MAX: u64 = 400_000;

fn wider(space: &NamedSpace, judgement: &Judgement, widening: Widening) -> Checked {
    let lock = lock(space.lock);
    let wider =
        lock.widened(space, widening).expect("the space is this lock's").expect("there is such a bound");
    let judgement = match widening {
        Widening::Client => judgement.with_client(wider.clients),
        _ => judgement.clone(),
    };
    lock.check(&wider.space, &judgement, &Limits::states(STATES_MAX)).expect("it can be checked")
}

/// Of a row, the repair.
fn repair(id: &str) -> (NamedSpace, Judgement) {
    let row = scenarios().into_iter().find(|row| row.id == id);
    match row.map(|row| row.fix_search) {
        Some(Search::Space { space, judgement }) => (space, judgement),
        Some(Search::Seeds { .. }) | None => panic!("{id} is repaired in no space"),
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn repairs_and_objects_that_are_said_to_fall_a_step_beyond_their_bounds_fall_there() {
    let all = claims();
    let mut fallen = 0;
    for fall in FALLS {
        let is_it = |claim: &&picklock_model::claims::Claim| {
            (claim.theorem, claim.variant, claim.dropped_names().as_deref())
                == (fall.name, fall.variant, fall.dropped)
        };
        let (space, judgement) = match fall.variant {
            REPAIRED => repair(fall.name),
            // What takes longer is in the book's table, which `picklock widen --long` writes.
            _ if !["variable", "transfer", "queue"].contains(&fall.name) => continue,
            _ => match all.iter().find(is_it) {
                Some(claim) => (claim.space.clone(), claim.judgement.clone()),
                None => panic!("no claim is {} {}", fall.name, fall.variant),
            },
        };
        let checked = wider(&space, &judgement, fall.widening);
        assert_eq!(
            checked.verdict,
            CheckVerdict::Violated,
            "{} {}, {}",
            fall.name,
            fall.variant,
            fall.in_words()
        );
        fallen += 1;
    }
    assert!(fallen > 20, "{fallen} fell");
}

#[test]
fn when_all_clients_have_crashed_nobody_is_owed_a_grant() {
    let (space, judgement) = repair("C25");
    let checked = wider(&space, &judgement, Widening::Crash);
    assert_eq!(checked.verdict, CheckVerdict::Holds, "{:?}", checked.counterexample);
    assert!(checked.exploration.coverage.struck[Fault::Crash] > 0, "nobody crashed");
}
