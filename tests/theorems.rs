//! Lemma 1, Theorems 1 to 3 and the progress of the Cassandra paper, *The Cassandra queue lock*, and what the Redlock article, *Distributed
//! Locks with Redis*, and the ZooKeeper article, *ZooKeeper, or writing a distributed lock service*, say of theirs: the verdict that each
//! claim expects, and that it was not had for nothing.

use crate::evidence::{breaks, check, evidence, lock, replay};
use crate::scenarios::is_golden;
use expect_test::expect;
use picklock_model::claims::{Assumption, Claim, Expected, Judgement, THEOREMS, claims};
use picklock_model::explore::Limits;
use picklock_properties::Promise;
use picklock_sim::registry::{CheckOptions, CheckVerdict, Checked};
use picklock_sim::report::TextOptions;

#[test]
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
fn whoever_waits_is_served_exactly_under_the_assumptions_of_progress() {
    comes_out_as_claimed("progress");
}

#[test]
fn the_old_lock_excludes_others_exactly_under_its_assumptions() {
    comes_out_as_claimed("old-lock");
}

#[test]
fn whoever_waits_for_the_old_lock_is_served_exactly_under_the_assumptions_of_its_progress() {
    comes_out_as_claimed("old-lock-progress");
}

#[test]
fn redlock_excludes_others_exactly_under_its_assumptions() {
    comes_out_as_claimed("redlock");
}

#[test]
fn the_keys_of_a_quorum_live_together_for_min_validity_exactly_under_its_assumptions() {
    comes_out_as_claimed("min-validity");
}

#[test]
fn redlock_is_granted_in_the_end_also_if_its_holder_crashed() {
    comes_out_as_claimed("liveness-a");
}

#[test]
fn redlock_is_granted_as_long_as_a_majority_is_up() {
    comes_out_as_claimed("liveness-b");
}

#[test]
fn the_five_steps_exclude_others_exactly_under_their_assumptions() {
    comes_out_as_claimed("zookeeper");
}

#[test]
fn the_five_steps_keep_the_order_of_the_queue_exactly_under_their_assumptions() {
    comes_out_as_claimed("zookeeper-fifo");
}

#[test]
fn whoever_waits_in_the_queue_of_the_five_steps_is_served_exactly_under_their_assumptions() {
    comes_out_as_claimed("zookeeper-progress");
}

#[test]
fn work_inside_the_ensemble_is_safe_if_it_is_guarded_and_work_outside_if_it_carries_a_token() {
    comes_out_as_claimed("inside");
}

#[test]
fn a_writer_is_alone_among_readers_exactly_under_the_assumptions_of_the_lock() {
    comes_out_as_claimed("readers-writer");
}

#[test]
fn a_semaphore_on_redis_is_held_by_no_more_than_it_has_permits_exactly_under_its_assumptions() {
    comes_out_as_claimed("semaphore");
}

/// The Redlock article gives no proof. These runs say what one would have to assume.
#[test]
fn the_shortest_counterexamples_to_redlock_are_as_they_were() {
    let broken = |claim: &Claim| claim.expected == Expected::Violated && claim.variant.is_empty();
    let claims: Vec<Claim> = short_claims("redlock").into_iter().filter(broken).collect();
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

/// A change of these numbers is a change of the model: of a machine, the store, the canonical form, or the bounds.
#[test]
fn the_spaces_of_the_theorems_have_their_sizes() {
    let mut table = String::new();
    for claim in claims().iter().filter(|claim| claim.dropped.is_empty() && !claim.long) {
        let explored = check(&claim.space, &claim.judgement).exploration;
        table += &format!(
            "{}: {} states, {} transitions, depth {}\n",
            title(claim),
            explored.states,
            explored.transitions,
            explored.depth
        );
    }
    expect![[r#"
        lemma-1, 3 clients, 1 server: 744 states, 1584 transitions, depth 15
        lemma-1, 2 clients, 3 servers, W=2 R=2 of 3: 5732 states, 17416 transitions, depth 22
        lemma-1, 2 clients, 3 servers, W=3 R=1 of 3: 232 states, 534 transitions, depth 18
        theorem-1, 3 clients, 1 server: 57020 states, 195546 transitions, depth 42
        theorem-1, 2 clients, 1 server, called twice: 3477 states, 8092 transitions, depth 56
        theorem-2, 3 clients, 1 server: 74314 states, 248973 transitions, depth 48
        theorem-2, 2 clients, 1 server, called twice: 6141 states, 13776 transitions, depth 59
        theorem-3, 3 clients, 1 server, not all are refused: 21033 states, 57804 transitions, depth 36
        theorem-3, 3 clients, 1 server, contention leads to a grant: 24471 states, 67513 transitions, depth 44
        progress, 3 clients, 1 server, nobody waits for ever: 62637 states, 213791 transitions, depth 42
        progress, 2 clients, 1 server, nobody waits for ever, called twice: 3477 states, 8092 transitions, depth 56
        old-lock, 3 clients, 1 server, lock: 5960 states, 16632 transitions, depth 48
        old-lock, 3 clients, 1 server, try_lock: 6903 states, 18186 transitions, depth 48
        old-lock-progress, 2 clients, 1 server, almost surely: 437 states, 830 transitions, depth 34
        old-lock-progress, 2 clients, 1 server, whatever is drawn: 437 states, 830 transitions, depth 34
        old-lock-progress, 2 clients, 1 server, somebody, in endless use: 1521 states, 3058 transitions, depth 54
        old-lock-progress, 2 clients, 1 server, everybody, in endless use: 1521 states, 3058 transitions, depth 54
        redlock, 2 clients, 3 servers, in turn: 38514 states, 109701 transitions, depth 27
        redlock, 2 clients, 3 servers, at once: 131406 states, 491968 transitions, depth 27
        redlock, 2 clients, 3 servers, in turn, until granted: 81368 states, 239178 transitions, depth 59
        min-validity, 2 clients, 3 servers, in turn: 38514 states, 109701 transitions, depth 27
        min-validity, 2 clients, 3 servers, at once: 131406 states, 491968 transitions, depth 27
        min-validity, 2 clients, 3 servers, in turn, until granted: 81368 states, 239178 transitions, depth 59
        liveness-a, 2 clients, 3 servers, almost surely: 1753 states, 5209 transitions, depth 22
        liveness-b, 1 clients, 3 servers, almost surely, one client: 140 states, 293 transitions, depth 12
        liveness-b, 2 clients, 3 servers, almost surely: 16633 states, 52860 transitions, depth 41
        readers-writer, 3 clients, 1 server, an entry each: 22125 states, 43334 transitions, depth 24
        readers-writer, 3 clients, 1 server, an entry each, until granted: 35280 states, 71793 transitions, depth 31
        readers-writer, 3 clients, 1 server, counted: 22929 states, 45635 transitions, depth 26
        readers-writer, 3 clients, 1 server, counted, until granted: 28180 states, 57843 transitions, depth 31
        semaphore, 3 clients, 1 server, the server's clock: 34025 states, 66582 transitions, depth 23
        semaphore, 3 clients, 1 server, the server's clock, until granted: 37547 states, 74850 transitions, depth 23
        semaphore, 3 clients, 1 server, the clients' clocks: 26950 states, 54127 transitions, depth 23
        zookeeper, 3 clients, 1 server, lock: 9275 states, 23394 transitions, depth 38
        zookeeper, 3 clients, 1 server, try_lock: 6746 states, 17565 transitions, depth 30
        zookeeper, 2 clients, 3 servers, followers lag: 57615 states, 280935 transitions, depth 39
        zookeeper-fifo, 3 clients, 1 server, one server: 9275 states, 23394 transitions, depth 38
        zookeeper-fifo, 2 clients, 3 servers, followers lag: 57615 states, 280935 transitions, depth 39
        zookeeper-progress, 3 clients, 1 server, one server: 9275 states, 23394 transitions, depth 38
        zookeeper-progress, 2 clients, 3 servers, followers lag: 57615 states, 280935 transitions, depth 39
        inside, 2 clients, 1 server: 432 states, 738 transitions, depth 28
        etcd, 3 clients, 1 server, lock: 166219 states, 442494 transitions, depth 57
        etcd, 3 clients, 1 server, try_lock: 208726 states, 521838 transitions, depth 42
        etcd-fifo, 3 clients, 1 server: 166219 states, 442494 transitions, depth 57
        etcd-progress, 3 clients, 1 server: 166219 states, 442494 transitions, depth 57
        etcd-fencing, 2 clients, 1 server: 1178 states, 2156 transitions, depth 39
        election, 3 clients, 1 server, lock: 171913 states, 458514 transitions, depth 54
        election, 2 clients, 1 server, try_lock: 2032 states, 3652 transitions, depth 36
        election-fifo, 3 clients, 1 server: 171913 states, 458514 transitions, depth 54
        election-progress, 3 clients, 1 server: 171913 states, 458514 transitions, depth 54
        election-fencing, 2 clients, 1 server: 1324 states, 2430 transitions, depth 44
        lease-key, 3 clients, 1 server, lock: 44845 states, 159210 transitions, depth 43
        lease-key, 3 clients, 1 server, try_lock: 28988 states, 73836 transitions, depth 42
        lease-key-progress, 3 clients, 1 server, watch from the answer on: 107629 states, 453504 transitions, depth 44
        lease-key-progress, 2 clients, 1 server, watch from its arrival on: 541 states, 1000 transitions, depth 28
        lease-key-fencing, 2 clients, 1 server: 770 states, 1424 transitions, depth 36
        chubby, 3 clients, 1 server, lock: 5791 states, 14538 transitions, depth 42
        chubby, 3 clients, 1 server, try_lock: 16958 states, 43491 transitions, depth 42
        chubby, 3 clients, 1 server, one writes, two read: 11678 states, 29858 transitions, depth 42
        chubby-fencing, 2 clients, 1 server: 490 states, 832 transitions, depth 36
        chubby-progress, 3 clients, 1 server: 5791 states, 14538 transitions, depth 42
        consul, 2 clients, 1 server: 3647 states, 8289 transitions, depth 91
        consul, 2 clients, 1 server, stops by its own count: 3647 states, 8289 transitions, depth 91
        consul-fencing, 2 clients, 1 server: 2256 states, 6109 transitions, depth 30
        variable, 2 clients, 1 server, ideal store: 18471 states, 43722 transitions, depth 22
        variable, 2 clients, 1 server, Redis: 18435 states, 43668 transitions, depth 22
        variable, 2 clients, 1 server, Cassandra: 19307 states, 45782 transitions, depth 22
        variable, 2 clients, 1 server, ZooKeeper: 14811 states, 35298 transitions, depth 26
        variable, 2 clients, 2 servers, ZooKeeper, a follower that lags: 27861 states, 78748 transitions, depth 17
        variable, 2 clients, 2 servers, ZooKeeper, a follower that lags, sync: 196664 states, 592669 transitions, depth 52
        variable, 2 clients, 1 server, etcd, with deletes, by VERSION: 170655 states, 373649 transitions, depth 20
        variable, 2 clients, 1 server, etcd, with deletes, by MOD: 218018 states, 520899 transitions, depth 28
        transfer, 1 clients, 2 servers, as written: 77 states, 116 transitions, depth 29
        transfer, 1 clients, 2 servers, intents: 162 states, 244 transitions, depth 58
        queue, 3 clients, 1 server, as written: 16336 states, 46838 transitions, depth 27
        queue, 3 clients, 1 server, marks: 18332 states, 52650 transitions, depth 29
        queue, 3 clients, 1 server, marks, of the index: 619959 states, 1862643 transitions, depth 55
        queue, 3 clients, 1 server, index set in any case: 136891 states, 370455 transitions, depth 28
        exactly-once, 2 clients, 2 servers, naive, two: 1015 states, 1977 transitions, depth 16
        exactly-once, 2 clients, 2 servers, at once, two: 30308 states, 67938 transitions, depth 46
        lock-manager, 3 clients, 1 server, modes, Linux: 93457 states, 255768 transitions, depth 18
        lock-manager, 3 clients, 1 server, modes, VMS: 114565 states, 311796 transitions, depth 18
        lock-manager, 3 clients, 1 server, upgrade, Linux: 1558 states, 3675 transitions, depth 24
        lock-manager, 3 clients, 1 server, two resources, VMS: 13227 states, 34358 transitions, depth 36
        lock-manager, 3 clients, 1 server, standby, Linux: 1324 states, 3396 transitions, depth 24
        lock-manager, 2 clients, 1 server, pages, VMS: 1068 states, 1980 transitions, depth 20
        lock-manager, 2 clients, 1 server, upgrade, Linux, CONVDEADLK: 100 states, 154 transitions, depth 16
        lock-manager, 2 clients, 1 server, upgrade, Linux, CONVDEADLK, reads on: 60 states, 92 transitions, depth 9
        lock-manager-progress, 2 clients, 1 server, modes, Linux: 7201 states, 18700 transitions, depth 24
        lock-manager-progress, 3 clients, 1 server, standby, Linux: 1324 states, 3396 transitions, depth 24
        lock-manager-progress, 2 clients, 1 server, pages, VMS: 1068 states, 1980 transitions, depth 20
        lock-manager-progress, 2 clients, 1 server, upgrade, Linux until 2007: 82 states, 128 transitions, depth 16
        lock-manager-progress, 3 clients, 1 server, upgrade, Linux: 1558 states, 3675 transitions, depth 24
        lock-manager-progress, 3 clients, 1 server, upgrade, VMS: 1896 states, 4499 transitions, depth 25
        lock-manager-progress, 2 clients, 1 server, upgrade, Linux, NODLCKWT: 82 states, 128 transitions, depth 16
        lock-manager-progress, 2 clients, 1 server, two resources, Linux: 351 states, 584 transitions, depth 20
        lock-manager-progress, 3 clients, 1 server, two resources, VMS: 13227 states, 34358 transitions, depth 36
        cache, 2 clients, 1 server: 10853 states, 24047 transitions, depth 53
        cache, 2 clients, 1 server, the lock first: 2324 states, 4468 transitions, depth 18
    "#]]
    .assert_eq(&table);
}

#[test]
fn etcds_mutex_excludes_others_exactly_under_its_assumptions() {
    comes_out_as_claimed("etcd");
}

#[test]
fn etcds_mutex_is_granted_in_the_order_of_create_revisions_as_long_as_leases_last() {
    comes_out_as_claimed("etcd-fifo");
}

#[test]
fn whoever_waits_for_etcds_mutex_is_served_exactly_under_its_assumptions() {
    comes_out_as_claimed("etcd-progress");
}

#[test]
fn a_create_revision_is_a_fencing_token_exactly_under_its_assumptions() {
    comes_out_as_claimed("etcd-fencing");
}

#[test]
fn etcds_election_has_one_leader_exactly_under_its_assumptions() {
    comes_out_as_claimed("election");
}

#[test]
fn etcds_election_elects_in_the_order_of_create_revisions_as_long_as_leases_last() {
    comes_out_as_claimed("election-fifo");
}

#[test]
fn whoever_campaigns_in_etcds_election_leads_in_the_end_exactly_under_its_assumptions() {
    comes_out_as_claimed("election-progress");
}

#[test]
fn the_create_revision_of_a_leaders_key_is_a_fencing_token_exactly_under_its_assumptions() {
    comes_out_as_claimed("election-fencing");
}

#[test]
fn a_key_with_a_lease_has_one_holder_exactly_under_its_assumptions() {
    comes_out_as_claimed("lease-key");
}

#[test]
fn whoever_waits_for_a_key_with_a_lease_puts_it_in_the_end_exactly_under_its_assumptions() {
    comes_out_as_claimed("lease-key-progress");
}

#[test]
fn the_create_revision_of_a_key_with_a_lease_is_a_fencing_token_exactly_under_its_assumptions() {
    comes_out_as_claimed("lease-key-fencing");
}

#[test]
fn a_variable_is_linearizable_in_every_store_exactly_under_its_assumptions() {
    comes_out_as_claimed("variable");
}

#[test]
fn a_transfer_in_two_halves_keeps_the_sum_exactly_under_its_assumptions() {
    comes_out_as_claimed("transfer");
}

#[test]
fn the_lock_free_queue_is_linearizable_exactly_under_its_assumptions() {
    comes_out_as_claimed("queue");
}

#[test]
fn handlers_take_effect_once_exactly_under_their_assumptions() {
    comes_out_as_claimed("exactly-once");
}

#[test]
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
fn a_lock_of_a_chubby_cell_excludes_others_exactly_under_its_assumptions() {
    comes_out_as_claimed("chubby");
}

#[test]
fn a_sequencer_is_a_fencing_token_exactly_under_its_assumptions() {
    comes_out_as_claimed("chubby-fencing");
}

#[test]
fn who_waits_for_a_lock_of_a_chubby_cell_gets_it_exactly_under_its_assumptions() {
    comes_out_as_claimed("chubby-progress");
}

#[test]
fn consuls_lock_excludes_others_exactly_under_its_assumptions() {
    comes_out_as_claimed("consul");
}

#[test]
fn consuls_lock_index_is_a_fencing_token_exactly_under_its_assumptions() {
    comes_out_as_claimed("consul-fencing");
}

/// A holder that always outlives its lock never comes to write, and a lock without tokens would seem to be safe.
#[test]
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

fn short_claims(theorem: &str) -> Vec<Claim> {
    claims().into_iter().filter(|claim| claim.theorem == theorem && !claim.long).collect()
}

fn comes_out_as_claimed(theorem: &str) {
    let claims = short_claims(theorem);
    assert!(!claims.is_empty(), "there is no claim about {theorem}");
    let complaints: Vec<String> = claims
        .iter()
        .filter_map(|claim| {
            let checked = check(&claim.space, &claim.judgement);
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
    };
    let found = checked.counterexample.as_ref();
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
