//! Lemma 1, Theorems 1 to 3 and the progress of the Cassandra paper, *The Cassandra queue lock*, and what the Redlock article, *Distributed
//! Locks with Redis*, and the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, say of theirs: the verdict that each
//! claim expects, and that it was not had for nothing.

use crate::evidence::{breaks, check, evidence, left_for_long, lock, replay, size};
use crate::scenarios::{is_golden, is_golden_file, repaired};
use picklock_model::claims::{
    Assumption, Claim, Expected, Judgement, NamedSpace, Search, THEOREMS, claims, scenarios,
};
use picklock_model::explore::Limits;
use picklock_properties::Promise;
use picklock_sim::registry::{CheckOptions, CheckVerdict, Checked};
use picklock_sim::report::TextOptions;

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn lemma_1_holds_exactly_under_its_assumptions() {
    comes_out_as_claimed("lemma-1");
}

#[test]
fn theorem_1_holds_exactly_under_its_assumptions() {
    comes_out_as_claimed("theorem-1");
}

#[test]
fn theorem_2_holds_exactly_under_its_assumptions() {
    comes_out_as_claimed("theorem-2");
}

#[test]
fn theorem_3_holds_exactly_under_its_assumptions() {
    comes_out_as_claimed("theorem-3");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn nobody_is_passed_twice_by_the_same_thread_exactly_under_its_assumptions() {
    comes_out_as_claimed("bounded-overtaking");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn whoever_waits_is_served_exactly_under_the_assumptions_of_progress() {
    comes_out_as_claimed("progress");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_old_lock_excludes_others_exactly_under_its_assumptions() {
    comes_out_as_claimed("old-lock");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn whoever_waits_for_the_old_lock_is_served_exactly_under_the_assumptions_of_its_progress() {
    comes_out_as_claimed("old-lock-progress");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn redlock_excludes_others_exactly_under_its_assumptions() {
    comes_out_as_claimed("redlock");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_keys_of_a_quorum_live_together_for_min_validity_exactly_under_its_assumptions() {
    comes_out_as_claimed("min-validity");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn redlock_is_granted_in_the_end_also_if_its_holder_crashed() {
    comes_out_as_claimed("liveness-a");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn redlock_is_granted_as_long_as_a_majority_is_up() {
    comes_out_as_claimed("liveness-b");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_five_steps_exclude_others_exactly_under_their_assumptions() {
    comes_out_as_claimed("zookeeper");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_five_steps_keep_the_order_of_the_queue_exactly_under_their_assumptions() {
    comes_out_as_claimed("zookeeper-fifo");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn whoever_waits_in_the_queue_of_the_five_steps_is_served_exactly_under_their_assumptions() {
    comes_out_as_claimed("zookeeper-progress");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn work_inside_the_ensemble_is_safe_if_it_is_guarded_and_work_outside_if_it_carries_a_token() {
    comes_out_as_claimed("inside");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_writer_is_alone_among_readers_exactly_under_the_assumptions_of_the_lock() {
    comes_out_as_claimed("readers-writer");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_semaphore_on_redis_is_held_by_no_more_than_it_has_permits_exactly_under_its_assumptions() {
    comes_out_as_claimed("semaphore");
}

/// The Redlock article gives no proof. These runs say what one would have to assume.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_shortest_counterexamples_to_redlock_are_as_they_were() {
    let broken = |claim: &Claim| claim.expected == Expected::Violated && claim.variant.is_empty();
    // The large ones among them, too: each is to be read.
    let of_redlock = claims().into_iter().filter(|claim| claim.theorem == "redlock" && !claim.long);
    let claims: Vec<Claim> = of_redlock.filter(broken).collect();
    assert!(claims.len() >= 6, "there are only {} drops that break it", claims.len());
    for claim in claims {
        let found = check(&claim.space, &claim.judgement).counterexample;
        let found = found.unwrap_or_else(|| panic!("{} is not broken", title(&claim)));
        let name = format!("redlock-without-{}", claim.dropped_names().unwrap_or_default());
        is_golden(&name, &replay(&found.token, &TextOptions::default()).text);
    }
}

#[test]
fn every_theorem_has_a_test_above() {
    let tests = include_str!("theorems.rs");
    for theorem in THEOREMS {
        let call = format!("    comes_out_as_claimed({:?});", theorem.name);
        assert!(tests.contains(&call), "no test runs {}", theorem.name);
    }
}

#[test]
fn every_theorem_is_claimed_with_all_its_assumptions_and_with_some_dropped() {
    for theorem in THEOREMS {
        let claims: Vec<Claim> = short_claims(theorem.name);
        let is_base = |claim: &&Claim| claim.dropped.is_empty() && claim.expected == Expected::Holds;
        let is_broken = |claim: &&Claim| !claim.dropped.is_empty() && claim.expected == Expected::Violated;
        assert!(claims.iter().any(|claim| is_base(&claim)), "{}: no claim without faults", theorem.name);
        assert!(claims.iter().any(|claim| is_broken(&claim)), "{}: nothing it leans on", theorem.name);
    }
}

/// A change of these numbers is a change of the model: of a machine, the store, the canonical form, or the bounds. Of the large spaces
/// only what they came to last time is there, without `PICKLOCK_LONG=1`.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_spaces_of_the_theorems_and_of_the_repairs_have_their_sizes() {
    let mut table = String::new();
    let mut left = 0;
    let mut line = |name: &str, space: &NamedSpace, judgement: &Judgement| {
        let known = left_for_long(name);
        left += u32::from(known.is_some());
        let line = known.map_or_else(|| size(name, &check(space, judgement)), str::to_owned);
        table += &(line + "\n");
    };
    let claims: Vec<Claim> = claims().into_iter().filter(|claim| !claim.long).collect();
    claims.iter().for_each(|claim| line(&title(claim), &claim.space, &claim.judgement));
    for row in scenarios() {
        if let Search::Space { space, judgement } = &row.fix_search {
            line(&repaired(row.id), space, judgement);
        }
    }
    is_golden_file("sizes.txt", &table);
    let spaces = table.lines().count() as u32;
    assert!(left * 5 < spaces, "{left} of {spaces} spaces are not explored every day");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn etcds_mutex_excludes_others_exactly_under_its_assumptions() {
    comes_out_as_claimed("etcd");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn etcds_mutex_is_granted_in_the_order_of_create_revisions_as_long_as_leases_last() {
    comes_out_as_claimed("etcd-fifo");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn whoever_waits_for_etcds_mutex_is_served_exactly_under_its_assumptions() {
    comes_out_as_claimed("etcd-progress");
}

#[test]
fn a_create_revision_is_a_fencing_token_exactly_under_its_assumptions() {
    comes_out_as_claimed("etcd-fencing");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn etcds_election_has_one_leader_exactly_under_its_assumptions() {
    comes_out_as_claimed("election");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn etcds_election_elects_in_the_order_of_create_revisions_as_long_as_leases_last() {
    comes_out_as_claimed("election-fifo");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn whoever_campaigns_in_etcds_election_leads_in_the_end_exactly_under_its_assumptions() {
    comes_out_as_claimed("election-progress");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_create_revision_of_a_leaders_key_is_a_fencing_token_exactly_under_its_assumptions() {
    comes_out_as_claimed("election-fencing");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_key_with_a_lease_has_one_holder_exactly_under_its_assumptions() {
    comes_out_as_claimed("lease-key");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn whoever_waits_for_a_key_with_a_lease_puts_it_in_the_end_exactly_under_its_assumptions() {
    comes_out_as_claimed("lease-key-progress");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_create_revision_of_a_key_with_a_lease_is_a_fencing_token_exactly_under_its_assumptions() {
    comes_out_as_claimed("lease-key-fencing");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_variable_is_linearizable_in_every_store_exactly_under_its_assumptions() {
    comes_out_as_claimed("variable");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_transfer_in_two_halves_keeps_the_sum_exactly_under_its_assumptions() {
    comes_out_as_claimed("transfer");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_lock_free_queue_is_linearizable_exactly_under_its_assumptions() {
    comes_out_as_claimed("queue");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn handlers_take_effect_once_exactly_under_their_assumptions() {
    comes_out_as_claimed("exactly-once");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn holders_of_a_lock_managers_locks_go_together_exactly_under_its_assumptions() {
    comes_out_as_claimed("lock-manager");
}

#[test]
fn a_lock_managers_deadlocks_end_exactly_where_somebody_looks_for_them() {
    comes_out_as_claimed("lock-manager-progress");
}

#[test]
fn a_cache_under_a_lock_is_fresh_exactly_if_it_is_emptied_first_and_minds_validity() {
    comes_out_as_claimed("cache");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_lock_of_a_chubby_cell_excludes_others_exactly_under_its_assumptions() {
    comes_out_as_claimed("chubby");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_sequencer_is_a_fencing_token_exactly_under_its_assumptions() {
    comes_out_as_claimed("chubby-fencing");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn who_waits_for_a_lock_of_a_chubby_cell_gets_it_exactly_under_its_assumptions() {
    comes_out_as_claimed("chubby-progress");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn consuls_lock_excludes_others_exactly_under_its_assumptions() {
    comes_out_as_claimed("consul");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn consuls_lock_index_is_a_fencing_token_exactly_under_its_assumptions() {
    comes_out_as_claimed("consul-fencing");
}

/// A holder that always outlives its lock never comes to write, and a lock without tokens would seem to be safe.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_has_no_tokens_lets_late_writers_in_whatever_outlives_the_lock() {
    use Assumption::{Durable, KeysKept, NoPause, NoServerClockStep};
    let breaks = [
        ("redis-single", NoPause),
        ("redis-single", NoServerClockStep),
        ("redis-single", Durable),
        ("redis-single", KeysKept),
        ("redis-single-fenced", Durable),
        ("redlock", NoPause),
    ];
    for (name, assumption) in breaks {
        let options = CheckOptions {
            clients: 2,
            servers: lock(name).usual_servers(),
            rounds: 1,
            try_lock: false,
            drop: vec![assumption],
            promises: [Promise::FencedResource].into_iter().collect(),
        };
        let checked = check(&lock(name).space(&options), &Judgement::Safety);
        let broken = checked.counterexample.map(|found| found.promise);
        assert_eq!(broken, Some(Promise::FencedResource), "{name} without {assumption}");
    }
}

/// Whose clients read no wall clock goes through as many states whatever these clocks show.
#[test]
fn a_clock_that_is_said_to_be_read_by_nobody_changes_no_space() {
    let mut seen = 0;
    for claim in claims().iter().filter(|claim| claim.dropped == [Assumption::ClocksAgree] && !claim.long) {
        // Where a server reads its clock, a state knows how far all clocks are from each other, whoever looks.
        let is_small = matches!(claim.theorem, "zookeeper" | "chubby" | "election");
        if claim.expected != Expected::Untested || !is_small {
            continue;
        }
        let mut agreeing = claim.space.clone();
        agreeing.bounds.last_client_ahead_ticks = 0;
        let explored = |space: &NamedSpace| {
            let explored = check(space, &claim.judgement).exploration;
            (explored.states, explored.transitions, explored.depth)
        };
        assert_eq!(explored(&agreeing), explored(&claim.space), "{}", title(claim));
        seen += 1;
    }
    assert!(seen >= 3, "{seen} spaces");
}

/// A lease that never has to be renewed says nothing about renewal.
#[test]
fn where_a_lease_is_held_longer_than_it_lasts_it_is_renewed() {
    let leased = claims()
        .into_iter()
        .filter(|claim| claim.variant.starts_with("holds longer") && claim.dropped == [Assumption::NoExpiry]);
    let mut seen = 0;
    for claim in leased {
        let checked = check(&claim.space, &claim.judgement);
        assert!(checked.exploration.coverage.renewed > 0, "{}: {:?}", claim.theorem, checked.exploration);
        seen += 1;
    }
    assert_eq!(seen, 6, "Theorems 1 and 2 and the old lock, with prompt messages and with slow ones");
}

#[test]
fn an_incomplete_search_is_no_pass() {
    for claim in claims().iter().filter(|claim| claim.expected == Expected::Holds && !claim.long) {
        let checked =
            lock(claim.space.lock).check(&claim.space, &claim.judgement, &Limits::states(2)).unwrap();
        assert_eq!(checked.verdict, CheckVerdict::Incomplete, "{}", title(claim));
        assert_eq!(checked.counterexample, None, "{}", title(claim));
    }
}

/// Those of every day.
fn short_claims(theorem: &str) -> Vec<Claim> {
    let is_short = |claim: &Claim| !claim.long && left_for_long(&title(claim)).is_none();
    claims().into_iter().filter(|claim| claim.theorem == theorem && is_short(claim)).collect()
}

fn comes_out_as_claimed(theorem: &str) {
    let claims = short_claims(theorem);
    assert!(!claims.is_empty(), "there is no claim about {theorem}");
    let complaints: Vec<String> = claims
        .iter()
        .filter_map(|claim| {
            let checked = check(&claim.space, &claim.judgement).without(&claim.dropped);
            complaint(claim, &checked).map(|complaint| format!("{}: {complaint}", title(claim)))
        })
        .collect();
    assert!(complaints.is_empty(), "{} of {}:\n{}", complaints.len(), claims.len(), complaints.join("\n\n"));
}

/// `theorem-1, 3 clients, 1 server`, and what sets the claim apart from others.
fn title(claim: &Claim) -> String {
    let servers = if claim.servers == 1 { "server" } else { "servers" };
    let mut title = format!("{}, {} clients, {} {servers}", claim.theorem, claim.clients, claim.servers);
    if !claim.variant.is_empty() {
        title += &format!(", {}", claim.variant);
    }
    if let Some(dropped) = claim.dropped_names() {
        title += &format!(", without {dropped}");
    }
    title
}

/// What is not as claimed.
fn complaint(claim: &Claim, checked: &Checked) -> Option<String> {
    let expected = match claim.expected {
        Expected::Holds => CheckVerdict::Holds,
        Expected::Violated => CheckVerdict::Violated,
        Expected::Untested => CheckVerdict::Vacuous,
    };
    let found = checked.counterexample.as_ref();
    if claim.expected == Expected::Untested && !checked.is_merely_unmet() {
        return Some(format!("{}: it is to be vacuous, and for no other reason: {checked:?}", title(claim)));
    }
    if checked.verdict != expected {
        let verdicts = format!("{}, but claimed to be {}", checked.verdict.name(), expected.name());
        let why = format!("{verdicts} ({})", claim.reason);
        return Some(match found {
            Some(found) => format!("{why}\n{}", evidence(found.promise, &found.token)),
            None => format!("{why}\n{:?}", checked.exploration),
        });
    }
    match (expected, found) {
        (CheckVerdict::Holds, None) => nothing_shown(claim, checked),
        // For no other reason than that.
        (CheckVerdict::Vacuous, None) if checked.untested.is_empty() && !checked.unmet.is_empty() => {
            nothing_shown(claim, checked)
        }
        (CheckVerdict::Violated, Some(found)) => {
            let shown = replay(&found.token, &TextOptions::default());
            (!breaks(&shown, found.promise)).then(|| {
                format!(
                    "its counterexample, replayed, does not break it\n{}",
                    evidence(found.promise, &found.token)
                )
            })
        }
        (_, found) => Some(format!("{} with the counterexample {found:?}", expected.name())),
    }
}

/// What did not happen, though without it a kept promise says nothing.
fn nothing_shown(claim: &Claim, checked: &Checked) -> Option<String> {
    let explored = &checked.exploration;
    let happened = match lock(claim.space.lock).is_lock() {
        true => explored.coverage.granted,
        false => explored.coverage.row_reads + explored.coverage.returned,
    };
    if explored.states <= 1 || happened == 0 {
        return Some(format!("kept where nothing happened: {explored:?}"));
    }
    if !checked.never_struck.is_empty() {
        return Some(format!("kept where some faults never struck: {:?}", checked.never_struck));
    }
    // Without time no pause is a fault of its own: whoever says nothing for long enough is taken for dead.
    let is_managed = claim.space.lock.starts_with("dlm-") && claim.space.bounds.latency_ticks.is_none();
    if is_managed && claim.dropped.contains(&Assumption::NoPause) && explored.coverage.lost_leases == 0 {
        return Some(format!("kept where nobody was taken for dead: {explored:?}"));
    }
    None
}
