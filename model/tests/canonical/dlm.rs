//! Users of lock managers: one master that dies, several with a directory, and a cache with a journal.
//!
//! Silence is not compared. Without time any process that is listened for may be the silent one, whichever a manager picks; where
//! time passes it is the one that was heard of least recently.

use super::{Comparable, walk_cases, walks_alike};
use picklock_model::claims::dlm::{
    CachedVariable, among, asks, cached_variable, cached_whose_master_dies, journaled_variable, modes,
    queues_in_order, readers_and_writers, two_conversions, two_resources, whose_master_dies,
};
use picklock_model::explore::Space;
use picklock_model::managed::Managed;
use picklock_model::objects::cells::CacheSettings;
use picklock_model::stores::dlm::recovery::{Order, Recovery};
use picklock_model::stores::dlm::{Dlm, Journals, Settings};
use picklock_properties::Promise;

impl Comparable for Dlm {}

const PROMISES: &[Promise] = &[Promise::MutualExclusion];

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn masters_that_die_and_processes_that_die_with_doubled_messages() {
    let mut space = whose_master_dies(modes(Settings::LINUX, (3, 3), PROMISES), asks(3), 4);
    (space.bounds.crashes, space.bounds.duplicates) = (3, 3);
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
}

#[test]
fn queues_that_a_new_master_is_told_of() {
    let mut space = two_conversions(queues_in_order(Order::FreeUntilNoneWaits, 3), 3, PROMISES);
    (space.bounds.power_losses, space.bounds.crashes) = (4, 2);
    walks_alike(space, |walked| walked.grants > 100 && walked.faults > 50);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn several_nodes_of_which_some_die_and_processes_that_die() {
    let of = |space: Space<Managed>, nodes| {
        let mut space = among(space, nodes, 3);
        space.bounds.crashes = 2;
        // Who dies early is granted little: half as many walks as these now and then see fewer grants.
        walk_cases(600, space, |walked| walked.grants > 100 && walked.faults > 50);
    };
    of(readers_and_writers(Settings::LINUX, (3, 3), PROMISES), 2);
    of(two_resources(Settings::LINUX, (3, 3), PROMISES), 3);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn caches_whose_master_dies_and_journals_of_the_dead() {
    let of = |space: Space<CachedVariable>| {
        let mut space = cached_whose_master_dies(space, Recovery::LINUX);
        (space.bounds.crashes, space.bounds.power_losses) = (3, 3);
        walks_alike(space, |walked| walked.faults > 50);
    };
    let promises = &[Promise::Linearizable];
    of(cached_variable(CacheSettings::default(), Settings::LINUX, (3, 3), promises));
    of(journaled_variable(Journals::ReplayedFirst, (3, 3), promises));
}
