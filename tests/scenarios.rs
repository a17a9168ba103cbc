//! The catalogue: each known failure is found again where its row looks for it, and its repair survives the same search.

use crate::evidence::{
    STATES_MAX, breaks, check, evidence, first_seed, is_long, left_for_long, lock, replay, seeded_token,
    sweep,
};
use picklock_model::claims::{Hunt, Judgement, NamedSpace, Scenario, Search, UNHUNTED, scenarios};
use picklock_properties::{Promise, PromiseSet};
use picklock_sim::plans::fault::FaultSet;
use picklock_sim::registry::{CheckVerdict, Checked};
use picklock_sim::report::TextOptions;
use picklock_sim::token::Token;
use std::path::Path;

#[test]
fn c1_a_clock_that_steps_back_hides_a_record_behind_its_own_tombstone() {
    is_found_and_repaired("C1");
}

#[test]
fn c2_a_pause_between_lines_3_and_4_breaks_mutual_exclusion() {
    is_found_and_repaired("C2");
}

#[test]
fn c3_a_paused_holder_breaks_mutual_exclusion_and_a_fencing_token_keeps_it_from_writing() {
    is_found_and_repaired("C3");
}

#[test]
fn c4_a_blind_renewal_prolongs_a_lease_that_is_over() {
    is_found_and_repaired("C4");
}

#[test]
fn c6_a_waiter_whose_queue_cell_expired_waits_for_ever() {
    is_found_and_repaired("C6");
}

#[test]
fn c7_a_crashed_head_of_the_queue_blocks_it_for_ever_without_ttl() {
    is_found_and_repaired("C7");
}

#[test]
fn c8_a_crashed_holder_blocks_the_lock_for_ever_without_ttl() {
    is_found_and_repaired("C8");
}

#[test]
fn c9_a_release_in_the_wrong_order_makes_try_lock_refuse_a_free_lock() {
    is_found_and_repaired("C9");
}

#[test]
fn c10_a_renewal_that_arrives_after_its_release_makes_try_lock_refuse_a_free_lock() {
    is_found_and_repaired("C10");
}

#[test]
fn c11_at_consistency_one_two_clients_hold_at_once() {
    is_found_and_repaired("C11");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn c12_a_quorum_that_loses_power_forgets_the_holder() {
    is_found_and_repaired("C12");
}

#[test]
fn c14_a_deletion_on_too_few_replicas_blocks_the_queue() {
    is_found_and_repaired("C14");
}

#[test]
fn c15_a_coordinator_clock_ahead_by_more_than_the_ttl_breaks_mutual_exclusion() {
    is_found_and_repaired("C15");
}

#[test]
fn c16_two_threads_with_one_id_hold_at_once() {
    is_found_and_repaired("C16");
}

#[test]
fn c17_a_shadow_cell_left_by_a_crash_blocks_everybody_for_ever() {
    is_found_and_repaired("C17");
}

#[test]
fn c18_a_pause_before_line_11_breaks_mutual_exclusion_if_shadow_cells_expire() {
    is_found_and_repaired("C18");
}

#[test]
fn c19_a_clock_that_steps_back_hides_a_shadow_cell_behind_its_own_tombstone() {
    is_found_and_repaired("C19");
}

#[test]
fn c21_two_threads_that_wait_equally_long_fight_for_ever() {
    is_found_and_repaired("C21");
}

#[test]
fn c22a_a_time_service_whose_fast_replica_died_lets_one_thread_overtake_the_other_for_ever() {
    is_found_and_repaired("C22a");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn c22b_two_writes_with_one_time_of_the_service_hide_a_record_behind_its_own_tombstone() {
    is_found_and_repaired("C22b");
}

#[test]
fn c22c_two_replicas_of_the_time_service_make_its_time_go_back() {
    is_found_and_repaired("C22c");
}

#[test]
fn c23_a_late_cell_with_a_small_key_goes_before_one_that_stood_there() {
    is_found_and_repaired("C23");
}

#[test]
fn c24_a_caller_of_try_lock_that_meets_a_dead_record_gets_no_answer() {
    is_found_and_repaired("C24");
}

#[test]
fn c25_a_crash_after_line_5_leaves_all_callers_of_try_lock_refused() {
    is_found_and_repaired("C25");
}

#[test]
fn c29_a_conditional_insert_repeated_blindly_waits_for_itself_for_ever() {
    is_found_and_repaired("C29");
}

#[test]
fn c30_a_relock_without_a_look_prolongs_a_lease_that_is_over() {
    is_found_and_repaired("C30");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn c31_a_lost_deletion_of_the_main_cell_blocks_the_lock_for_ever() {
    is_found_and_repaired("C31");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn c32_a_keeper_that_is_blind_to_renewals_of_one_time_ends_the_lease_of_a_prompt_holder() {
    is_found_and_repaired("C32");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn c33_a_paused_keeper_ends_a_lease_that_was_renewed_meanwhile() {
    is_found_and_repaired("C33");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn c34_without_a_keeper_nobody_ends_the_lease_of_a_dead_holder() {
    is_found_and_repaired("C34");
}

#[test]
fn c35_a_killed_process_forgets_the_holder_that_its_commit_log_has_no_mark_behind() {
    is_found_and_repaired("C35");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn c36_a_deletion_that_a_replica_missed_is_undone_when_the_others_have_purged_its_tombstone() {
    is_found_and_repaired("C36");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn c37_a_replica_that_is_away_for_longer_than_the_grace_period_brings_the_deleted_back_whatever_hints_there_are()
 {
    is_found_and_repaired("C37");
}

/// What the notes of C14 and C37 say of hints: the setups that break, with hints, or without what keeps a replica away for long.
#[test]
fn hints_bring_a_deletion_to_a_replica_that_has_missed_it() {
    let seeds = if is_long() { 3000 } else { 500 };
    for (id, faults) in [("C14", ["loss", "partition"]), ("C37", ["loss", "partition"])] {
        let Search::Seeds { lock, setup, .. } = row(id).search else { panic!("{id} is found by seeds") };
        let setup = crate::evidence::lock(lock).changed(&setup, "store.hint_period", "2s").unwrap();
        let faults: FaultSet = faults.iter().map(|name| fault(name)).collect();
        let report = sweep(lock, &setup, faults, 0..seeds, true);
        assert!(report.violations.is_empty(), "{id}: {:?}", report.violations.first());
        assert!(
            report.strikes.lost + report.strikes.cut_off > 0 && report.grants > seeds,
            "{id}: nothing was put to the test"
        );
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn c38_a_queue_that_has_seen_more_than_a_read_may_pass_tombstones_grants_nothing_any_more() {
    is_found_and_repaired("C38");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn c39_what_few_have_accepted_is_finished_after_its_deletion_was_rejected() {
    is_found_and_repaired("C39");
}

#[test]
fn r1_a_paused_holder_breaks_mutual_exclusion_of_redlock_and_a_fencing_token_keeps_it_from_writing() {
    is_found_and_repaired("R1");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn r2_a_pause_before_the_replies_breaks_mutual_exclusion_if_validity_is_counted_from_them() {
    is_found_and_repaired("R2");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn r3_a_nodes_wall_clock_that_jumps_past_the_ttl_breaks_mutual_exclusion() {
    is_found_and_repaired("R3");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn r9_a_client_that_measures_by_a_wall_clock_set_back_overstays_its_validity() {
    is_found_and_repaired("R9");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn r10_a_drift_beyond_the_margin_breaks_mutual_exclusion() {
    is_found_and_repaired("R10");
}

#[test]
fn r16_an_extension_that_counts_from_its_replies_overstays_its_validity() {
    is_found_and_repaired("R16");
}

#[test]
fn r4_a_node_that_restarts_empty_breaks_mutual_exclusion() {
    is_found_and_repaired("R4");
}

#[test]
fn r5_a_power_loss_that_takes_the_last_second_breaks_mutual_exclusion() {
    is_found_and_repaired("R5");
}

#[test]
fn r23_an_evicted_key_breaks_mutual_exclusion() {
    is_found_and_repaired("R23");
}

#[test]
fn r7_a_master_that_dies_before_its_replica_has_heard_breaks_mutual_exclusion() {
    is_found_and_repaired("R7");
}

#[test]
fn r8_a_replica_whose_clock_is_ahead_lets_the_lock_expire_when_it_is_promoted() {
    is_found_and_repaired("R8");
}

#[test]
fn r11_a_late_del_deletes_the_key_of_the_next_one() {
    is_found_and_repaired("R11");
}

#[test]
fn r12_a_del_after_a_get_deletes_the_key_of_the_next_one() {
    is_found_and_repaired("R12");
}

#[test]
fn r15_an_extension_that_makes_a_lost_key_again_hides_that_the_lock_was_lost() {
    is_found_and_repaired("R15");
}

#[test]
fn r24_a_set_that_arrives_after_its_release_blocks_the_lock_for_ever_without_ttl() {
    is_found_and_repaired("R24");
}

#[test]
fn r18_a_fixed_retry_delay_splits_the_vote_for_ever() {
    is_found_and_repaired("R18");
}

#[test]
fn r19_a_tie_blocks_a_client_that_waits_for_a_majority() {
    is_found_and_repaired("R19");
}

#[test]
fn r20_an_error_of_one_node_that_counts_as_failure_blocks_the_lock_for_ever() {
    is_found_and_repaired("R20");
}

#[test]
fn r21_keys_left_behind_by_a_failed_attempt_block_the_lock_for_ever() {
    is_found_and_repaired("R21");
}

#[test]
fn r25_a_node_that_hangs_blocks_a_client_without_a_time_out() {
    is_found_and_repaired("R25");
}

#[test]
fn r28_a_client_cut_off_from_the_majority_again_and_again_never_gets_the_lock() {
    is_found_and_repaired("R28");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn r29_a_reader_that_counts_down_too_late_lets_a_writer_in_beside_another_reader() {
    is_found_and_repaired("R29");
}

#[test]
fn r30_a_writer_starves_among_readers_that_come_and_go() {
    is_found_and_repaired("R30");
}

#[test]
fn r31_a_smaller_stamp_takes_a_permit_that_is_none() {
    is_found_and_repaired("R31");
}

#[test]
fn r32_a_larger_count_that_is_entered_first_takes_a_permit_that_is_another_clients() {
    is_found_and_repaired("R32");
}

#[test]
fn r33_a_clock_that_is_ahead_removes_all_holders_of_a_semaphore() {
    is_found_and_repaired("R33");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn r34_an_unlocking_that_is_late_deletes_the_keys_of_the_next_attempt_of_its_call() {
    is_found_and_repaired("R34");
}

#[test]
fn f1_a_token_drawn_after_the_grant_lets_a_late_writer_in() {
    is_found_and_repaired("F1");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn f2_a_counter_that_fails_over_gives_its_tokens_out_again() {
    is_found_and_repaired("F2");
}

#[test]
fn f3_a_resource_that_forgets_its_largest_token_lets_a_late_writer_in() {
    is_found_and_repaired("F3");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn f4_the_largest_of_a_quorums_counters_is_no_fencing_token() {
    is_found_and_repaired("F4");
}

#[test]
fn z1_a_create_repeated_without_a_guid_leaves_a_znode_that_nobody_owns() {
    is_found_and_repaired("Z1");
}

#[test]
fn z2_a_create_given_up_leaves_a_znode_that_nobody_owns() {
    is_found_and_repaired("Z2");
}

#[test]
fn z3_a_paused_holder_outlives_its_session_and_a_fencing_token_keeps_it_from_writing() {
    is_found_and_repaired("Z3");
}

#[test]
fn z4_a_holder_that_goes_on_without_a_connection_is_not_alone() {
    is_found_and_repaired("Z4");
}

#[test]
fn z5_a_counter_that_wraps_lets_a_newcomer_overtake_the_holder() {
    is_found_and_repaired("Z5");
}

#[test]
fn z7_the_wrong_znode_to_watch_gives_the_lock_to_two() {
    is_found_and_repaired("Z7");
}

#[test]
fn z8_a_watch_on_the_parent_wakes_all_who_wait_at_one_release() {
    is_found_and_repaired("Z8");
}

#[test]
fn z9_what_was_told_elsewhere_is_not_read_on_a_follower_that_lags() {
    is_found_and_repaired("Z9");
}

#[test]
fn z11_a_znode_that_outlives_its_session_keeps_everybody_waiting() {
    is_found_and_repaired("Z11");
}

#[test]
fn z12_a_jump_of_the_servers_wall_clock_takes_the_lock_from_its_holder() {
    is_found_and_repaired("Z12");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn z13_sequence_numbers_are_no_fencing_tokens_if_the_parent_is_created_anew() {
    is_found_and_repaired("Z13");
}

#[test]
fn z18_a_resource_outside_of_zookeeper_takes_a_late_write_if_it_compares_no_tokens() {
    is_found_and_repaired("Z18");
}

#[test]
fn z19_a_guid_looked_for_where_its_create_is_not_applied_yet_makes_a_second_znode() {
    is_found_and_repaired("Z19");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn z20_a_follower_that_dies_with_a_sign_of_life_lets_its_client_hold_too_long() {
    is_found_and_repaired("Z20");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e1_a_waiter_whose_key_went_with_its_lease_takes_itself_for_the_first() {
    is_found_and_repaired("E1");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e2_a_paused_holder_outlives_its_lease_and_a_fencing_token_keeps_it_from_writing() {
    is_found_and_repaired("E2");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e3_a_candidate_whose_key_went_with_its_lease_takes_itself_for_the_leader() {
    is_found_and_repaired("E3");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e4_an_unlock_called_again_deletes_what_the_same_session_has_locked_since() {
    is_found_and_repaired("E4");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e5_a_leader_that_was_stuck_ends_leases_that_others_keep_alive() {
    is_found_and_repaired("E5");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e6_a_leader_that_was_stuck_answers_keep_alives_by_itself() {
    is_found_and_repaired("E6");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e7_a_jump_of_the_leaders_wall_clock_takes_the_lock_from_its_holder() {
    is_found_and_repaired("E7");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e8_leaders_that_change_often_keep_a_dead_holders_lease_for_ever() {
    is_found_and_repaired("E8");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e9_a_leader_that_is_cut_off_answers_a_read_from_the_past() {
    is_found_and_repaired("E9");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e11_a_lock_that_has_deleted_its_key_answers_success() {
    is_found_and_repaired("E11");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e12_a_key_drawn_anew_waits_behind_its_own_first_one() {
    is_found_and_repaired("E12");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e13_a_resignation_that_fails_is_forgotten_and_the_election_stops() {
    is_found_and_repaired("E13");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e14_a_late_resignation_passes_the_guard_and_deletes_the_key_of_a_leader() {
    is_found_and_repaired("E14");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e15_a_campaign_that_comes_twice_leaves_a_key_that_nobody_knows_of() {
    is_found_and_repaired("E15");
}

#[test]
fn e16_an_unlock_by_name_that_comes_twice_deletes_anybodys_key() {
    is_found_and_repaired("E16");
}

#[test]
fn e17_a_watch_that_begins_with_now_misses_the_deletion_before_it() {
    is_found_and_repaired("E17");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e18_a_transaction_that_is_said_again_waits_for_itself() {
    is_found_and_repaired("E18");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn e19_a_waiter_that_does_not_ping_is_not_told_that_its_members_host_has_died() {
    is_found_and_repaired("E19");
}

#[test]
fn x1_a_withdrawal_whose_answer_is_lost_is_taken_twice() {
    is_found_and_repaired("X1");
}

#[test]
fn x2_an_item_whose_answer_is_lost_is_pushed_twice() {
    is_found_and_repaired("X2");
}

#[test]
fn x3_money_is_in_neither_account_if_its_owner_dies_between_the_halves() {
    is_found_and_repaired("X3");
}

#[test]
fn x4_a_stalled_pusher_of_the_naive_queue_blocks_its_readers() {
    is_found_and_repaired("X4");
}

#[test]
fn x5_an_index_that_is_taken_and_never_filled_is_a_hole() {
    is_found_and_repaired("X5");
}

#[test]
fn x6_a_naive_handler_that_crashes_between_its_effects_does_them_twice() {
    is_found_and_repaired("X6");
}

#[test]
fn x7_a_version_that_starts_again_lets_an_old_compare_succeed() {
    is_found_and_repaired("X7");
}

#[test]
fn x8_two_naive_handlers_overwrite_each_other() {
    is_found_and_repaired("X8");
}

#[test]
fn v1_two_readers_that_want_to_write_wait_for_each_other() {
    is_found_and_repaired("V1");
}

#[test]
fn v2_a_demoted_reader_goes_on_reading() {
    is_found_and_repaired("V2");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn v3_a_new_master_is_sent_no_value_block_and_takes_an_empty_one_for_valid() {
    is_found_and_repaired("V3");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn v4_a_lock_is_given_on_before_the_journal_of_its_holder_is_replayed() {
    is_found_and_repaired("V4");
}

#[test]
fn v5_a_cache_is_emptied_after_its_lock_is_given_up() {
    is_found_and_repaired("V5");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn v6_an_answer_to_a_recovery_that_was_given_up_brings_back_what_was_given_back() {
    is_found_and_repaired("V6");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn v7_conversions_come_to_stand_anew_and_wait_for_one_another() {
    is_found_and_repaired("V7");
}

#[test]
fn v8_a_circle_over_two_resources_is_not_seen_in_place() {
    is_found_and_repaired("V8");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn v9_a_value_block_in_doubt_is_taken_for_fresh() {
    is_found_and_repaired("V9");
}

#[test]
fn h1_a_lease_that_is_counted_from_the_answer_ends_too_late() {
    is_found_and_repaired("H1");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn h2_a_sequencer_at_which_nobody_looks_keeps_no_write_out() {
    is_found_and_repaired("H2");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn h3_a_lock_delay_protects_from_what_is_shorter() {
    is_found_and_repaired("H3");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn h4_the_newest_sequencer_that_was_seen_is_not_the_newest_that_there_is() {
    is_found_and_repaired("H4");
}

#[test]
fn h5_a_new_master_ends_a_session_that_the_old_one_prolonged() {
    is_found_and_repaired("H5");
}

#[test]
fn h6_a_renewer_that_gives_up_loses_the_lock_at_every_election() {
    is_found_and_repaired("H6");
}

#[test]
fn every_row_of_the_catalogue_has_a_test_above() {
    let tests = include_str!("scenarios.rs");
    for row in scenarios() {
        let call = format!("    is_found_and_repaired({:?});", row.id);
        assert!(tests.contains(&call), "no test runs row {}", row.id);
    }
}

#[test]
fn nine_rows_in_ten_are_hunted_and_the_others_say_why_not() {
    let rows = scenarios();
    for row in &rows {
        let reasons = UNHUNTED.iter().filter(|(id, _)| *id == row.id).count();
        assert_eq!(reasons, usize::from(row.hunt.is_none()), "{} is hunted, or says once why not", row.id);
    }
    for (id, why) in UNHUNTED {
        assert!(rows.iter().any(|row| row.id == *id) && !why.is_empty(), "{id}: {why:?}");
    }
    assert!(UNHUNTED.len() * 10 <= rows.len(), "{} of {} rows are not hunted", UNHUNTED.len(), rows.len());
}

/// `picklock hunt` counts to ten thousand.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn random_plans_come_upon_most_of_the_failures_within_300_seeds() {
    let hunted = hunted();
    let is_late = |(row, hunt): &&(Scenario, Hunt)| {
        assert!(
            watched(hunt.lock, &hunt.setup).contains(row.breaks),
            "{} is not hunted for what it breaks",
            row.id
        );
        first_seed(hunt.lock, &hunt.setup, faults(hunt.faults), 0..300, row.breaks).0.is_none()
    };
    let late: Vec<&str> = hunted.iter().filter(is_late).map(|(row, _)| row.id).collect();
    assert!(late.len() * 3 <= hunted.len(), "of {} hunts these take longer: {late:?}", hunted.len());
}

/// Their runs are ten times as long as those of other rows: eight clients with 200 rounds each, and waiters that ask in vain until the
/// run ends.
const LONG_RUNS: [&str; 4] = ["R30", "R23", "C3", "C4"];

/// With `PICKLOCK_LONG=1` 2,000 of them each; `picklock hunt --repairs 100000` tries more.
#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn what_is_hunted_survives_fresh_plans_when_repaired() {
    for (row, hunt) in hunted() {
        let fresh = match (is_long(), LONG_RUNS.contains(&row.id)) {
            (true, _) => 2000,
            (false, false) => 300,
            (false, true) => 50,
        };
        let report = sweep(hunt.fixed_lock, &hunt.fixed, faults(hunt.faults), FRESH..FRESH + fresh, true);
        assert!(report.violations.is_empty(), "{}, repaired: {:?}", row.id, report.violations);
        let happened = report.grants + report.row_reads;
        assert!(happened > 0, "{}: kept where nobody ever held the lock, or read anything", row.id);
    }
}

/// Seeds that no hunt was looked at with.
const FRESH: u64 = 1_000_000_000_000;

fn hunted() -> Vec<(Scenario, Hunt)> {
    scenarios().into_iter().filter_map(|row| row.hunt.clone().map(|hunt| (row, hunt))).collect()
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_traces_worth_reading_are_as_they_were() {
    let cassandra = ["C1", "C2", "C6", "C9", "C18", "C19", "C22a", "C22b", "C22c", "C32"];
    let redis = ["R1", "R3", "R4", "R7", "R8", "R18", "F1"];
    let managers = ["V1", "V2"];
    for id in cassandra.into_iter().chain(redis).chain(managers) {
        let token = found(id);
        let options = TextOptions { width: 120, ascii: false, ..TextOptions::default() };
        is_golden(&id.to_lowercase(), &replay(&token, &options).text);
    }
}

/// The run that breaks what the row says.
pub(crate) fn found(id: &str) -> Token {
    let row = row(id);
    find(&row.search, row.breaks).unwrap_or_else(|| panic!("{id} is not found"))
}

pub(crate) fn row(id: &str) -> Scenario {
    match scenarios().into_iter().find(|row| row.id == id) {
        Some(row) => row,
        None => panic!("the catalogue has no row {id}"),
    }
}

fn is_found_and_repaired(id: &str) {
    let row = row(id);
    let Some(token) = find(&row.search, row.breaks) else {
        panic!("{id}: {} is not broken any more, but the catalogue says: {}", row.breaks, row.story);
    };
    assert!(
        breaks(&replay(&token, &TextOptions::default()), row.breaks),
        "{id}: what was found, replayed, breaks nothing\n{}",
        evidence(row.breaks, &token)
    );
    is_repaired(&row);
}

fn find(search: &Search, promise: Promise) -> Option<Token> {
    match search {
        Search::Space { space, judgement } => {
            let checked = explored(space, judgement);
            checked.counterexample.filter(|found| found.promise == promise).map(|found| found.token)
        }
        Search::Seeds { lock, setup, faults, seeds } => {
            let faults: FaultSet = faults.iter().map(|name| fault(name)).collect();
            let token =
                seeded_token(lock, setup, faults, first_seed(lock, setup, faults, 0..*seeds, promise).0?);
            let what = if crate::evidence::lock(lock).is_lock() { "granted" } else { "returned" };
            assert!(
                has_reported(&token, what),
                "broken where nobody ever held the lock, or was answered: {token}"
            );
            Some(token)
        }
    }
}

/// A repair may be judged by another promise than the one that it gives up (C3, C25, R1): whatever it breaks is wrong. And
/// it proves nothing where the lock was never held, or where no write came through to the resource that is watched.
fn is_repaired(row: &Scenario) {
    let Scenario { id, fix, .. } = row;
    let fails = |promise, token: &Token| {
        panic!("{id}: the repair ({fix}) does not hold\n{}", evidence(promise, token));
    };
    match &row.fix_search {
        Search::Space { .. } if left_for_long(&repaired(id)).is_some() => {
            println!("{id}: the space of the repair is explored with PICKLOCK_LONG=1");
        }
        Search::Space { space, judgement } => {
            let checked = explored(space, judgement);
            if let Some(found) = &checked.counterexample {
                fails(found.promise, &found.token);
            }
            let watched = watched(space.lock, &space.setup);
            let coverage = checked.exploration.coverage;
            let watches_resource = watched.contains(Promise::FencedResource);
            assert!(coverage.accepted > 0 || !watches_resource, "{id}: kept where nothing was ever written");
            let watches_herd = watched.contains(Promise::NoHerd);
            assert!(coverage.woken > 0 || !watches_herd, "{id}: kept where nobody was ever woken");
        }
        Search::Seeds { lock, setup, faults, seeds } => {
            let faults: FaultSet = faults.iter().map(|name| fault(name)).collect();
            let seeds = if is_long() { *seeds } else { (*seeds).min(SEEDS_EVERY_DAY) };
            let report = sweep(lock, setup, faults, 0..seeds, true);
            if let Some(found) = report.violations.first() {
                fails(found.violation.promise, &seeded_token(lock, setup, faults, found.seed));
            }
            let is_tested = match crate::evidence::lock(lock).is_lock() {
                true => report.grants > 0,
                false => report.tested.untested(watched(lock, setup)).is_empty(),
            };
            assert!(
                is_tested,
                "{id}: kept where nobody ever held the lock, or what is promised was never put to the test"
            );
            if watched(lock, setup).contains(Promise::FencedResource) {
                let first = seeded_token(lock, setup, faults, 0);
                assert!(has_reported(&first, "accepted"), "{id}: kept where nothing was ever written");
            }
        }
    }
}

/// A repair that is held against seeds goes through all that its row names with `PICKLOCK_LONG=1`.
const SEEDS_EVERY_DAY: u64 = 1000;

/// What the space of a row's repair goes by.
pub(crate) fn repaired(id: &str) -> String {
    format!("{id}, repaired")
}

fn explored(space: &NamedSpace, judgement: &Judgement) -> Checked {
    let checked = check(space, judgement);
    assert_ne!(checked.verdict, CheckVerdict::Incomplete, "more than {STATES_MAX} states: nothing is known");
    let coverage = checked.exploration.coverage;
    let happened = match lock(space.lock).is_lock() {
        true => coverage.granted,
        false => coverage.row_reads + coverage.returned + coverage.outputs,
    };
    assert!(happened > 0, "nobody ever held the lock, or was answered: nothing is known");
    checked
}

/// Whether the run has an event of this name.
fn has_reported(token: &Token, event: &str) -> bool {
    let run = replay(token, &TextOptions::default());
    run.events.iter().flat_map(|step| &step.reported).any(|reported| reported.starts_with(event))
}

/// What a packed setup of this lock watches.
fn watched(name: &str, setup: &[u8]) -> PromiseSet {
    lock(name).watched_in(setup).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn faults(names: &[&str]) -> FaultSet {
    names.iter().map(|name| fault(name)).collect()
}

fn fault(name: &str) -> picklock_sim::plans::fault::FaultKind {
    name.parse().unwrap_or_else(|error| panic!("the catalogue names a fault that there is not: {error}"))
}

/// Compares with `golden/NAME.txt`, or writes it if `PICKLOCK_UPDATE_GOLDEN=1`. Tokens are left out: a golden is about what
/// is shown, and `tokens` about what tokens hold.
pub(crate) fn is_golden(name: &str, actual: &str) {
    let mut words = actual.split("pk5_");
    let mut shown = words.next().unwrap_or_default().to_owned();
    for rest in words {
        shown += "pk5_…";
        shown += rest.trim_start_matches(|character: char| character.is_ascii_alphanumeric());
    }
    is_golden_file(&format!("{name}.txt"), &shown);
}

/// The same with any file in `golden/`.
pub(crate) fn is_golden_file(name: &str, actual: &str) {
    is_kept(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name), actual);
}

/// The same with any file of the repository.
pub(crate) fn is_kept(file: &Path, actual: &str) {
    if std::env::var_os("PICKLOCK_UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        std::fs::write(file, actual).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        return;
    }
    let again = "PICKLOCK_UPDATE_GOLDEN=1 writes it again; read the difference before it is committed";
    let golden = match std::fs::read_to_string(file) {
        Ok(golden) => golden,
        Err(error) => panic!("{}: {error}; {again}", file.display()),
    };
    if golden != actual {
        let same = golden.lines().zip(actual.lines()).take_while(|(golden, actual)| golden == actual).count();
        let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").to_owned();
        panic!(
            "{} differs from line {} on; {again}\nwas: {}\nis:  {}\n\n{actual}",
            file.display(),
            same + 1,
            line(&golden),
            line(actual)
        );
    }
}
