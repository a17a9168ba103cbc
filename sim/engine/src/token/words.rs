//! Words that tokens need a byte for. They only save characters: a word that is not here is spelt.
//!
//! Each list may grow at its end and nowhere else, for a word's place is what tokens hold: `tests/tokens` would not be
//! readable any more.

/// Names of parts.
pub(super) const NAMES: &[&str] = &[
    // A token.
    "lock",
    "promise",
    "setup",
    "own_setup",
    "plan",
    "pins",
    "seed",
    "bounds",
    "actions",
    "loop",
    "mark",
    // A setup and its workload.
    "store",
    "servers",
    "workload",
    "promises",
    "clients",
    "rounds",
    "retries",
    "calls",
    "think",
    "hold",
    "releases",
    "writes",
    "resource_checks",
    "resource_forgets",
    "locks",
    "attendants",
    // Bounds.
    "latency_ticks",
    "unhurried",
    "losses",
    "duplicates",
    "pauses",
    "pause_ticks",
    "crashes",
    "aim",
    "power_losses",
    "server_crashes",
    "crashes_take_sent",
    "resource_restarts",
    "server_clock_steps",
    "server_clock_step_ticks",
    "drifts",
    "drift_ticks",
    "clock_steps",
    "clock_step_ticks",
    "freezes",
    "last_server_ahead_ticks",
    "last_client_ahead_ticks",
    "colocated",
    "link_messages_max",
    // A plan.
    "network",
    "faults",
    "heal_at",
    "schedule",
    "latency_min",
    "latency_max",
    "tail_per_mille",
    "tail_max",
    "loss_per_mille",
    "duplicate_per_mille",
    "reply_loss_per_mille",
    "priorities",
    "of",
    "changes",
    "messages",
    "when",
    "fault",
    "at",
    "trigger",
    "client",
    "event",
    "nth",
    "delay",
    "line",
    "listing",
    "number",
    "server",
    "nodes",
    "pause",
    "crash",
    "power-loss",
    "clock-step",
    "drift",
    "freeze",
    "strobe",
    "cut",
    "isolate",
    "slow-link",
    "lose-next",
    "node",
    "length",
    "restart_after",
    "by",
    "ppm",
    "period",
    "times",
    "from",
    "to",
    "both_ways",
    "extra",
    "count",
    // What settings of locks and stores often have.
    "ttl",
    "request_timeout",
    "renewal",
    "read_repair",
    "expiry_clock",
    "persistence",
    "restart_delay",
    "layout",
    "election",
    "heartbeat",
    "timeout",
    "reads",
    "ties",
    "commit_log",
    "extension",
    "marks",
    "server_crashes_restart",
];

/// Texts that stand for themselves.
pub(super) const TEXTS: &[&str] = &[
    // Promises.
    "mutual-exclusion",
    "fenced-resource",
    "deadlock-freedom",
    "starvation-freedom",
    "fifo",
    "lease-loss",
    "theorem-1",
    "theorem-2",
    "theorem-3",
    "lemma-1",
    "min-validity",
    "no-herd",
    "fresh-read",
    "time-order",
    // A plan.
    "enqueued",
    "granted",
    "renewed",
    "left",
    "struck",
    "everybody",
    "clients",
    "servers",
    "resource",
    "uniform",
    "nodes",
    "links",
    // Workload and bounds.
    "Lock",
    "TryLock",
    "None",
    "Resource",
    "Store",
    "Holding",
    "Waiting",
    // Settings.
    "Monotonic",
    "Wall",
];

/// Sets of names that occur together.
pub(super) const SHAPES: &[&[&str]] = &[
    // Whole tokens.
    &["lock", "promise", "plan", "seed", "mark"],
    &["lock", "promise", "setup", "plan", "seed", "mark"],
    &["lock", "promise", "plan", "pins", "seed", "mark"],
    &["lock", "promise", "setup", "plan", "pins", "seed", "mark"],
    &["lock", "promise", "setup", "bounds", "actions", "mark"],
    &["lock", "promise", "setup", "bounds", "actions", "loop", "mark"],
    // Plans.
    &["faults", "heal_at"],
    &["network", "faults", "heal_at"],
    &["network", "heal_at"],
    // Moments.
    &["when", "fault"],
    &["at"],
    &["trigger"],
    &["event", "nth"],
    &["event", "nth", "delay"],
    &["client", "event", "nth"],
    &["client", "event", "nth", "delay"],
    &["line"],
    &["listing", "number"],
    &["number"],
    // Nodes.
    &["client"],
    &["server"],
    &["nodes"],
    // Faults.
    &["pause"],
    &["crash"],
    &["power-loss"],
    &["clock-step"],
    &["drift"],
    &["freeze"],
    &["strobe"],
    &["cut"],
    &["isolate"],
    &["slow-link"],
    &["lose-next"],
    &["node"],
    &["node", "length"],
    &["node", "restart_after"],
    &["node", "by"],
    &["node", "ppm"],
    &["node", "by", "period", "times"],
    &["from", "to", "length"],
    &["from", "to", "both_ways", "length"],
    &["from", "to", "extra", "length"],
    &["from", "to", "count"],
    // Networks.
    &["latency_max"],
    &["latency_max", "tail_per_mille", "tail_max"],
    &["loss_per_mille"],
    &["reply_loss_per_mille"],
    &["loss_per_mille", "reply_loss_per_mille"],
    &["duplicate_per_mille"],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_one_place_and_a_byte_to_name_it() {
        let distinct = |words: &[&str]| {
            let mut sorted = words.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            sorted.len() == words.len()
        };
        assert!(distinct(NAMES) && NAMES.len() < 0xff);
        assert!(distinct(TEXTS) && TEXTS.len() <= 64);
        let shapes: Vec<String> = SHAPES
            .iter()
            .map(|shape| {
                let mut names = shape.to_vec();
                names.sort_unstable();
                names.join(" ")
            })
            .collect();
        let shapes: Vec<&str> = shapes.iter().map(String::as_str).collect();
        assert!(distinct(&shapes) && SHAPES.len() <= 64);
    }
}
