//! A bound of a space, a little wider: what is verified within bounds is a claim about what lies beyond them, and the
//! nearest part of that can be looked at.

use super::{Judgement, NamedSpace};
use crate::cluster::Setup;
use crate::explore::{Goal, Space};
use crate::system::System;
use crate::time::Micros;
use crate::workload::{Calls, ROUNDS_WITHOUT_END, Workload};
use crate::world::{Bounds, TICK, WITHOUT_END};
use picklock_properties::ClientId;
use serde::{Deserialize, Serialize};

/// One step beyond a bound.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Widening {
    /// One client more.
    Client,
    /// One round more for each.
    Round,
    /// One more message that is lost, where any may be.
    Loss,
    /// One more message that arrives twice, where any may.
    Duplicate,
    /// One more pause, where there may be any.
    Pause,
    /// One more client that crashes, where any may.
    Crash,
    /// Messages that take a tick longer, where time passes.
    Latency,
    /// Holds that are a tick longer, where they have a length.
    Hold,
}

impl Widening {
    /// All of them, in the order of the tables.
    pub const ALL: [Widening; 8] = [
        Widening::Client,
        Widening::Round,
        Widening::Loss,
        Widening::Duplicate,
        Widening::Pause,
        Widening::Crash,
        Widening::Latency,
        Widening::Hold,
    ];

    /// The name it goes by.
    pub const fn name(self) -> &'static str {
        match self {
            Widening::Client => "client",
            Widening::Round => "round",
            Widening::Loss => "loss",
            Widening::Duplicate => "duplicate",
            Widening::Pause => "pause",
            Widening::Crash => "crash",
            Widening::Latency => "latency",
            Widening::Hold => "hold",
        }
    }

    /// How much wider, in words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Widening::Client => "a client more",
            Widening::Round => "a round more",
            Widening::Loss => "a loss more",
            Widening::Duplicate => "a duplicate more",
            Widening::Pause => "a pause more",
            Widening::Crash => "a crash more",
            Widening::Latency => "messages a tick slower",
            Widening::Hold => "holds a tick longer",
        }
    }

    /// The space with this bound wider by one, and every other as it was; `None` where that bound means nothing, or has no
    /// end. A fault that may not come at all is an assumption, and none is dropped here.
    pub fn of<Y: System>(self, space: &Space<Y>) -> Option<Space<Y>> {
        let Space { setup, bounds } = space.clone();
        let Setup { workload, .. } = &setup;
        let more = |budget: u8| (budget > 0 && budget != WITHOUT_END).then(|| budget + 1);
        let used = |workload: Workload| setup.with_workload(workload);
        let with = |bounds: Bounds| Some(Space { setup: setup.clone(), bounds });
        match self {
            Widening::Client => {
                let setup = used(Workload { clients: workload.clients + 1, ..*workload });
                Some(Space { setup, bounds })
            }
            Widening::Round if workload.rounds == ROUNDS_WITHOUT_END => None,
            // Whoever waits until it holds, and keeps that for good, has no second round.
            Widening::Round if !workload.releases && workload.calls == Calls::Lock => None,
            Widening::Round => {
                let setup = used(Workload { rounds: workload.rounds + 1, ..*workload });
                Some(Space { setup, bounds })
            }
            Widening::Loss => with(Bounds { losses: more(bounds.losses)?, ..bounds }),
            Widening::Duplicate => with(Bounds { duplicates: more(bounds.duplicates)?, ..bounds }),
            Widening::Pause => with(Bounds { pauses: more(bounds.pauses)?, ..bounds }),
            Widening::Crash => with(Bounds { crashes: more(bounds.crashes)?, ..bounds }),
            Widening::Latency => with(Bounds { latency_ticks: Some(bounds.latency_ticks? + 1), ..bounds }),
            Widening::Hold if !Y::HOLDS || bounds.latency_ticks.is_none() || bounds.unhurried_holders => None,
            Widening::Hold => {
                let hold = Micros(workload.hold.0 + TICK.0);
                let setup = used(Workload { hold, ..*workload });
                Some(Space { setup, bounds })
            }
        }
    }
}

/// A space with one bound wider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Widened {
    /// The space.
    pub space: NamedSpace,
    /// How many clients there are in it.
    pub clients: u8,
    /// How many servers.
    pub servers: u8,
}

impl Widened {
    /// Forgets the type.
    pub fn new<Y: System>(lock: &'static str, space: &Space<Y>) -> Widened {
        let Setup { workload, servers, .. } = &space.setup;
        Widened { space: NamedSpace::new(lock, space), clients: workload.clients, servers: *servers }
    }
}

/// A verified claim that falls when a bound of it is widened. In JSON the claim is not named again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Fall {
    /// The theorem, or the row whose repair it is.
    #[serde(skip)]
    pub name: &'static str,
    /// What sets the claim apart from others of that name; of a repair [`REPAIRED`].
    #[serde(skip)]
    pub variant: &'static str,
    /// The dropped assumptions, as [`Claim::dropped_names`](super::Claim::dropped_names) has them.
    #[serde(skip)]
    pub dropped: Option<&'static str>,
    /// Which bound.
    pub widening: Widening,
    /// What happens then.
    pub why: &'static str,
}

/// The variant of a claim that is the repair of a row of the catalogue.
pub const REPAIRED: &str = "repaired";

/// The claims that fall.
pub const FALLS: &[Fall] = &[
    Fall { why: STALE_LOOK, ..of_row("C9", Widening::Client) },
    Fall { why: STALE_LOOK, ..of_row("C9", Widening::Round) },
    Fall { why: WRITERS_TOO, ..of_row("R30", Widening::Client) },
    Fall { why: TOO_LATE, ..of_row("R30", Widening::Latency) },
    Fall { why: REPEATED, ..of_row("X7", Widening::Latency) },
    Fall { why: MEET_AGAIN, ..of_row("R18", Widening::Latency) },
    Fall { why: MEET_AGAIN, ..of_row("R19", Widening::Latency) },
    Fall { why: SPLIT_AGAIN, ..of_row("R20", Widening::Client) },
    Fall { why: ASKED_IN_TURN, ..of_row("R20", Widening::Latency) },
    Fall { why: MEET_AGAIN, ..of_row("R21", Widening::Latency) },
    Fall { why: SPLIT_AGAIN, ..of_row("R25", Widening::Client) },
    Fall { why: ASKED_IN_TURN, ..of_row("R25", Widening::Latency) },
    Fall { why: ASKED_IN_TURN, ..of_row("R28", Widening::Latency) },
    Fall { why: MAIN_CELL_FIRST, ..of_row("C10", Widening::Client) },
    Fall { why: GONE_UNDER_WAY, ..of_row("C10", Widening::Latency) },
    Fall { why: MEET_AGAIN, ..of_row("C17", Widening::Latency) },
    Fall { why: MEET_AGAIN, ..of_row("C21", Widening::Latency) },
    Fall { why: NO_TIME_LEFT, ..of_row("C22a", Widening::Crash) },
    Fall { why: GONE_UNDER_WAY, ..of_row("C25", Widening::Latency) },
    Fall { why: NEVER_IN_TIME, ..of_row("C29", Widening::Latency) },
    Fall { why: NEVER_IN_TIME, ..of_row("C31", Widening::Latency) },
    Fall { why: NO_KEEPER_LEFT, ..of_row("C34", Widening::Crash) },
    slower("variable", "ideal store", None, REPEATED),
    slower("variable", "Redis", None, REPEATED),
    slower("variable", "Cassandra", None, REPEATED),
    slower("variable", "etcd, with deletes, by MOD", None, REPEATED),
    slower("transfer", "as written", None, REPEATED),
    slower("queue", "as written", None, WRITTEN_AGAIN),
    Fall { why: PAUSES_ADD_UP, ..of_chubby("lock-delay of four ticks", "no-pause", Widening::Pause) },
    Fall {
        why: PAUSES_ADD_UP,
        ..of_chubby("lock-delay of four ticks, two rounds", "no-pause", Widening::Pause)
    },
    Fall { why: PAUSES_ADD_UP, ..of_chubby("lock-delay of four ticks", "no-suspend", Widening::Pause) },
    Fall {
        why: PAUSES_ADD_UP,
        ..of_chubby("lock-delay of five ticks", "no-pause+no-fail-over", Widening::Pause)
    },
    Fall {
        name: "consul",
        why: PAUSES_ADD_UP,
        ..of_chubby("lock-delay as long as the pause", "no-pause", Widening::Pause)
    },
    Fall { why: MARGIN_IS_SPENT, ..of_chubby("", "bounded-drift", Widening::Latency) },
    Fall { why: ASKS_TOO_LATE, ..of_chubby("", "no-fail-over+stops-in-time", Widening::Latency) },
    slower("theorem-1", "holds shorter than the TTL", Some("no-expiry"), OUTLASTS_ITS_RECORD),
    Fall {
        widening: Widening::Hold,
        ..slower("theorem-1", "holds shorter than the TTL", Some("no-expiry"), OUTLASTS_ITS_RECORD)
    },
    slower("theorem-1", "holds longer, messages at once", Some("no-expiry"), OUTLASTS_ITS_RECORD),
    slower("theorem-2", "holds shorter than the TTL", Some("no-expiry"), OUTLASTS_ITS_RECORD),
    Fall {
        widening: Widening::Hold,
        ..slower("theorem-2", "holds shorter than the TTL", Some("no-expiry"), OUTLASTS_ITS_RECORD)
    },
    slower("theorem-2", "holds longer, messages at once", Some("no-expiry"), OUTLASTS_ITS_RECORD),
    slower("old-lock", "shadow cells expire, messages at once", Some("no-expiry"), OUTLASTS_ITS_RECORD),
    slower("old-lock", "shadow cells expire later, slow messages", Some("no-expiry"), OUTLASTS_ITS_RECORD),
    slower("old-lock", "main cells expire, short holds", Some("no-expiry"), OUTLASTS_ITS_RECORD),
    Fall {
        widening: Widening::Hold,
        ..slower("old-lock", "main cells expire, short holds", Some("no-expiry"), OUTLASTS_ITS_RECORD)
    },
    slower("old-lock", "holds longer, messages at once", Some("no-expiry"), OUTLASTS_ITS_RECORD),
    slower("old-lock-progress", "almost surely", None, MEET_AGAIN),
    slower("old-lock-progress", "almost surely", Some("no-expiry"), MEET_AGAIN),
    slower("old-lock-progress", "almost surely", Some("no-expiry+no-crash"), MEET_AGAIN),
    slower("old-lock-progress", "somebody, in endless use", None, MEET_AGAIN),
    slower("liveness-b", "almost surely, one client", None, ASKED_IN_TURN),
    slower("readers-writer", "counted", None, BELOW_ZERO),
    slower("readers-writer", "counted, until granted", None, BELOW_ZERO),
    slower("readers-writer", "counted", Some("no-crash"), BELOW_ZERO),
    slower("readers-writer", "counted", Some("no-loss"), BELOW_ZERO),
    slower("zookeeper", "", Some("no-loss"), A_THIRD_OF_THE_LEASE),
    slower("zookeeper", "power loss, log synced", Some("no-expiry"), A_THIRD_OF_THE_LEASE),
    slower("zookeeper", "a tick of drift", Some("no-expiry"), A_THIRD_OF_THE_LEASE),
    slower("zookeeper", "", Some("majority-up"), A_THIRD_OF_THE_LEASE),
    slower("zookeeper-fifo", "", Some("no-expiry"), A_THIRD_OF_THE_LEASE),
    slower("etcd", "", Some("no-expiry"), A_THIRD_OF_THE_LEASE),
    slower("etcd", "one round", Some("no-server-clock-step"), A_THIRD_OF_THE_LEASE),
    slower("etcd", "", Some("no-server-clock-step"), A_THIRD_OF_THE_LEASE),
    slower("etcd", "one round", Some("clocks-agree"), A_THIRD_OF_THE_LEASE),
    slower("etcd", "", Some("clocks-agree"), A_THIRD_OF_THE_LEASE),
    Fall { widening: Widening::Duplicate, ..slower("etcd-fencing", "", Some("no-duplicate"), NEVER_FIRST) },
    slower("lease-key", "", Some("no-expiry"), A_THIRD_OF_THE_LEASE),
    slower("lease-key", "one round", Some("no-server-clock-step"), A_THIRD_OF_THE_LEASE),
    slower("lease-key", "", Some("no-server-clock-step"), A_THIRD_OF_THE_LEASE),
    slower("lease-key", "one round", Some("no-clock-step"), A_THIRD_OF_THE_LEASE),
    slower("lease-key", "", Some("no-clock-step"), A_THIRD_OF_THE_LEASE),
    slower("lease-key", "one round", Some("clocks-agree"), A_THIRD_OF_THE_LEASE),
    slower("lease-key", "", Some("clocks-agree"), A_THIRD_OF_THE_LEASE),
    slower("lease-key", "one round", Some("no-crash+no-expiry"), A_THIRD_OF_THE_LEASE),
    slower("lease-key", "", Some("no-crash+no-expiry"), A_THIRD_OF_THE_LEASE),
];

const OUTLASTS_ITS_RECORD: &str = "with its messages a hold then outlasts the record that expires";

const MEET_AGAIN: &str = "messages as slow as the difference between two waits let the two meet again and again, whatever they draw";

const SPLIT_AGAIN: &str = "a second client, which waits equally long, splits the vote of the two nodes that are left, again and again: that is \
                           row R18, and wants a random delay";

const ASKED_IN_TURN: &str = "nodes that are asked one after the other, and answer slowly, take as long as the lock that they give is valid: it \
                             is given back at once, for ever";

const MAIN_CELL_FIRST: &str = "a second client meets a release whose deletion of the main cell arrived first, and is refused for the cell that \
                               the old holder still has in the queue: that is row C9";

const GONE_UNDER_WAY: &str = "a caller's cell in the queue expires while its messages are on their way: it does not find itself there any more, \
                              and is refused a lock that nobody has";

const NEVER_IN_TIME: &str = "an answer that takes longer than its client waits is asked for again, and comes too late again, for ever";

const NO_TIME_LEFT: &str = "both replicas of the time service are dead then, nobody publishes the time, and who asks for it waits for ever";

const NO_KEEPER_LEFT: &str = "the holder and both its keepers die, and nobody ends its lease";

const BELOW_ZERO: &str = "the counter expires before a reader's slow DECR, which leaves it below zero: the next reader is not counted";

const A_THIRD_OF_THE_LEASE: &str =
    "a message then takes a third of the session or lease, which ends before its client knows";

const NEVER_FIRST: &str = "a doubled deletion takes a waiter's key away, a doubled transaction makes it again, and the waiter, who only looks whether \
                           it is there, enters by a key that was never the first, beside the holder; the tokens still grow, but not in \
                           the order of the grants";

const PAUSES_ADD_UP: &str = "two pauses, one after the other, outlast the lock-delay";

const MARGIN_IS_SPENT: &str = "the drift uses up the client's margin, and the KeepAlive that would have saved the session is still on its way";

const ASKS_TOO_LATE: &str = "the KeepAlive that died with the master is sent again in jeopardy only, and comes when the lease that the new \
                             master gives is over";

const WRITERS_TOO: &str =
    "a second writer that comes back at once takes the lock, and the mark, before the first one";

const TOO_LATE: &str =
    "an answer that takes longer than its client waits is a lock that is given back at once, for ever";

const REPEATED: &str =
    "an answer that takes longer than its client waits is asked for again: that is row X1, and wants marks";

const WRITTEN_AGAIN: &str = "an item whose answer takes longer than its client waits is written again, at the next position: that is row X2, and \
                             wants the pusher's mark";

const STALE_LOOK: &str = "a look at the main row from before the last grant finds the lock free, and the queue still has the holder \
                          that is leaving";

const fn of_row(name: &'static str, widening: Widening) -> Fall {
    Fall { name, variant: REPAIRED, dropped: None, widening, why: "" }
}

/// Of a claim that holds for messages of a certain length, what longer ones do to it.
const fn slower(
    name: &'static str,
    variant: &'static str,
    dropped: Option<&'static str>,
    why: &'static str,
) -> Fall {
    Fall { name, variant, dropped, widening: Widening::Latency, why }
}

const fn of_chubby(variant: &'static str, dropped: &'static str, widening: Widening) -> Fall {
    Fall { name: "chubby", variant, dropped: Some(dropped), widening, why: "" }
}

/// The widenings by which this claim is known to fall.
pub fn known_falls(name: &str, variant: &str, dropped: Option<&str>) -> impl Iterator<Item = &'static Fall> {
    FALLS.iter().filter(move |fall| (fall.name, fall.variant, fall.dropped) == (name, variant, dropped))
}

/// Whether this claim is known to fall when this bound is widened.
pub fn known_fall(
    name: &str,
    variant: &str,
    dropped: Option<&str>,
    widening: Widening,
) -> Option<&'static Fall> {
    known_falls(name, variant, dropped).find(|fall| fall.widening == widening)
}

impl Fall {
    /// What is said beside the claim's ✓.
    pub fn in_words(&self) -> String {
        format!("falls with {}: {}", self.widening.in_words(), self.why)
    }
}

impl std::fmt::Display for Widening {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl Judgement {
    /// By what a space with one client more is judged: if all were owed service, so is the new one.
    #[must_use]
    pub fn with_client(&self, clients: u8) -> Judgement {
        match self {
            Judgement::Safety => Judgement::Safety,
            Judgement::Progress { goals, draws } => {
                let is_owed = |client: u8| goals.contains(&Goal::StarvationFreedom(ClientId(client)));
                let mut goals = goals.clone();
                if clients > 1 && (0..clients - 1).all(is_owed) {
                    goals.push(Goal::StarvationFreedom(ClientId(clients - 1)));
                }
                Judgement::Progress { goals, draws: *draws }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::cassandra_served::timed;
    use crate::claims::redis::redlock;
    use crate::claims::{Claim, Expected, claims, scenarios};
    use crate::explore::Draws;

    #[test]
    fn each_widening_changes_one_bound_and_no_two_the_same() {
        let mut space = redlock(2, 3, Calls::Lock, &[]);
        let bounds = &mut space.bounds;
        (bounds.losses, bounds.duplicates, bounds.pauses, bounds.crashes) = (1, 1, 1, 1);
        bounds.unhurried_holders = false;
        let widened: Vec<_> = Widening::ALL
            .iter()
            .map(|widening| widening.of(&space).expect("all mean something here"))
            .collect();
        for (place, one) in widened.iter().enumerate() {
            assert_ne!(*one, space);
            assert!(widened[..place].iter().all(|other| other != one), "{:?}", Widening::ALL[place]);
        }
    }

    #[test]
    fn what_may_not_come_at_all_is_no_bound_and_time_that_does_not_pass_has_no_latency() {
        let space = timed(2, 1, &[]);
        let meant: Vec<Widening> =
            Widening::ALL.into_iter().filter(|widening| widening.of(&space).is_some()).collect();
        assert_eq!(meant, [Widening::Client, Widening::Round]);
    }

    #[test]
    fn a_round_more_is_none_for_whoever_keeps_what_it_is_granted_unless_it_may_be_refused() {
        let kept = |calls| {
            let mut space = redlock(2, 3, calls, &[]);
            space.setup.workload.releases = false;
            Widening::Round.of(&space).is_some()
        };
        assert_eq!([kept(Calls::Lock), kept(Calls::TryLock)], [false, true]);
    }

    #[test]
    fn a_lock_whose_settings_name_the_number_of_clients_hears_of_the_new_one() {
        let space = Widening::Client.of(&timed(2, 1, &[])).expect("there may be three");
        assert_eq!((space.setup.workload.clients, space.setup.lock.threads), (3, 3));
    }

    #[test]
    fn every_claim_that_is_said_to_fall_is_one_that_is_made() {
        let (claims, rows) = (claims(), scenarios());
        for fall in FALLS {
            let is_meant = |claim: &&Claim| {
                let dropped = claim.dropped_names();
                (claim.theorem, claim.variant, dropped.as_deref()) == (fall.name, fall.variant, fall.dropped)
            };
            let meant: Vec<&Claim> = claims.iter().filter(is_meant).collect();
            let is_claim = matches!(meant[..], [claim] if claim.expected != Expected::Violated);
            let is_repair = fall.variant == REPAIRED && rows.iter().any(|row| row.id == fall.name);
            assert!(is_claim || is_repair, "{fall:?} is said of {} claims", meant.len());
            let times = known_falls(fall.name, fall.variant, fall.dropped)
                .filter(|other| other.widening == fall.widening)
                .count();
            assert_eq!(times, 1, "{fall:?}");
        }
    }

    #[test]
    fn if_all_are_owed_service_so_is_who_comes_on_top() {
        let owed =
            |clients: u8| (0..clients).map(|client| Goal::StarvationFreedom(ClientId(client))).collect();
        let judged = |goals: Vec<Goal>| Judgement::Progress { goals, draws: Draws::Dice };
        assert_eq!(judged(owed(2)).with_client(3), judged(owed(3)));
        let somebody = judged(vec![Goal::DeadlockFreedom]);
        assert_eq!(somebody.with_client(3), somebody);
    }
}
