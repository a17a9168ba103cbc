//! Why a promise that is kept without an assumption is no evidence that it does without it: nothing that the assumption rules out happened,
//! or nobody was there to whom it could have mattered.
//!
//! A fault that was let in and never came is one such reason, and the search counts those itself
//! ([`Struck::never`](crate::world::Struck::never)). The others are told here from what it counted.

use super::Assumption;
use crate::cluster::Setup;
use crate::explore::Coverage;
use crate::machine::Store;
use crate::system::System;
use crate::workload::Writes;
use picklock_properties::{Promise, PromiseSet};
use serde::Serialize;

/// What of a setup decides what has to be seen in its space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sight {
    /// Whether clients look at their wall clocks.
    reads_wall_clock: bool,
    /// Whether servers look at theirs.
    servers_read_wall_clock: bool,
    /// Whether the store tells of every record that ends.
    tells_of_ends: bool,
    /// Whether late writes are judged, and there is something to turn them down.
    is_guarded: bool,
}

impl Sight {
    /// Of this setup, where these promises are judged.
    pub fn of<Y: System>(setup: &Setup<Y>, judged: PromiseSet) -> Sight {
        let late_writes = [Promise::FencedResource, Promise::LostUpdate];
        let workload = &setup.workload;
        let checks_tokens = workload.writes.reach_the_resource() && workload.resource_checks;
        // A session that is over writes nothing in the store, whatever else is looked at.
        let is_guarded = checks_tokens || workload.writes == Writes::Store;
        Sight {
            reads_wall_clock: Y::reads_wall_clock(&setup.lock),
            servers_read_wall_clock: Y::Store::reads_wall_clock(&setup.store)
                && Y::needs_server_clock(&setup.lock),
            tells_of_ends: Y::Store::TELLS_OF_ENDS,
            is_guarded: is_guarded && late_writes.iter().any(|promise| judged.contains(*promise)),
        }
    }
}

/// Why a kept promise says nothing of whether it needs what was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unmet {
    /// [`Assumption::NoExpiry`] was dropped, and no lease, session or record is seen to have ended.
    NothingEnded,
    /// [`Assumption::StopsInTime`] was dropped, and no lock came to its end before its holder.
    NothingOutlived,
    /// An assumption about the wall clocks of clients, or of servers, was dropped, and none of these looks at one.
    NoClockRead,
    /// Something keeps the writes of earlier holders out, and none came.
    NothingTurnedDown,
}

impl Unmet {
    /// In words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Unmet::NothingEnded => "no lease, session or record is seen to have ended",
            Unmet::NothingOutlived => "nobody held for longer than its lock lasted",
            Unmet::NoClockRead => "nobody whose wall clock may be wrong reads it",
            Unmet::NothingTurnedDown => "no write was turned down: any token would do, or none",
        }
    }
}

/// What did not happen in a space, of what these assumptions rule out; empty if dropping them was put to the test.
pub fn unmet(dropped: &[Assumption], sight: Sight, seen: &Coverage) -> Vec<Unmet> {
    // Who holds may have stopped for another reason, where the end itself would have been told.
    let ended = seen.records_gone > 0 || !sight.tells_of_ends && seen.lost_leases > 0;
    // Who does not tell of an end may have had one where something struck that brings it about, or was kept from it.
    let may_have_ended = ended || !sight.tells_of_ends && seen.faults + seen.renewed > 0;
    let of = |assumption: &Assumption| match assumption {
        Assumption::NoExpiry => (!may_have_ended).then_some(Unmet::NothingEnded),
        Assumption::StopsInTime => (!ended && seen.faults == 0).then_some(Unmet::NothingOutlived),
        Assumption::ClocksAgree | Assumption::NoClockStep | Assumption::NoClockFreeze => {
            (!sight.reads_wall_clock).then_some(Unmet::NoClockRead)
        }
        Assumption::NoServerClockStep => (!sight.servers_read_wall_clock).then_some(Unmet::NoClockRead),
        // Their faults are counted.
        Assumption::NoPause
        | Assumption::NoSuspend
        | Assumption::NoCrash
        | Assumption::NoLoss
        | Assumption::NoDuplicate
        | Assumption::BoundedDrift
        | Assumption::MajorityUp
        | Assumption::Durable => None,
        // They are about what is there from the beginning.
        Assumption::UniqueIds
        | Assumption::QuorumsMeet
        | Assumption::ReadAfterAck
        | Assumption::FreeAtStart
        | Assumption::KeysKept
        | Assumption::KeysExpire
        | Assumption::NoFailOver => None,
    };
    let mut unmet: Vec<Unmet> = dropped.iter().filter_map(of).collect();
    if !dropped.is_empty() && sight.is_guarded && seen.rejected == 0 {
        unmet.push(Unmet::NothingTurnedDown);
    }
    unmet.dedup();
    unmet
}

#[cfg(test)]
mod tests {
    use super::*;

    const TELLING: Sight = Sight {
        reads_wall_clock: true,
        servers_read_wall_clock: true,
        tells_of_ends: true,
        is_guarded: false,
    };

    #[test]
    fn that_nothing_ends_is_put_to_the_test_where_something_ended() {
        let ended = Coverage { records_gone: 1, ..Coverage::default() };
        let struck = Coverage { faults: 1, ..Coverage::default() };
        let dropped = [Assumption::NoExpiry];
        assert_eq!(unmet(&dropped, TELLING, &Coverage::default()), [Unmet::NothingEnded]);
        assert_eq!(unmet(&dropped, TELLING, &struck), [Unmet::NothingEnded]);
        assert!(unmet(&dropped, TELLING, &ended).is_empty());
        let silent = Sight { tells_of_ends: false, ..TELLING };
        assert_eq!(unmet(&dropped, silent, &Coverage::default()), [Unmet::NothingEnded]);
        assert!(unmet(&dropped, silent, &struck).is_empty());
        let renewed = Coverage { renewed: 1, ..Coverage::default() };
        assert!(unmet(&dropped, silent, &renewed).is_empty());
        // A holder that stops for fear of it is no end.
        let stopped = Coverage { lost_leases: 1, ..Coverage::default() };
        assert_eq!(unmet(&dropped, TELLING, &stopped), [Unmet::NothingEnded]);
    }

    #[test]
    fn a_clock_that_nobody_reads_shows_nothing() {
        let unread = Sight { reads_wall_clock: false, ..TELLING };
        let both = [Assumption::ClocksAgree, Assumption::NoClockStep];
        assert_eq!(unmet(&both, unread, &Coverage::default()), [Unmet::NoClockRead]);
        assert!(unmet(&both, TELLING, &Coverage::default()).is_empty());
        assert!(unmet(&[], unread, &Coverage::default()).is_empty());
        let servers = [Assumption::NoServerClockStep];
        assert!(unmet(&servers, unread, &Coverage::default()).is_empty());
        let unread = Sight { servers_read_wall_clock: false, ..TELLING };
        assert_eq!(unmet(&servers, unread, &Coverage::default()), [Unmet::NoClockRead]);
    }

    #[test]
    fn a_guard_is_put_to_the_test_by_a_write_that_it_turns_down() {
        let guarded = Sight { is_guarded: true, ..TELLING };
        let turned_down = Coverage { rejected: 1, ..Coverage::default() };
        assert_eq!(unmet(&[Assumption::NoPause], guarded, &Coverage::default()), [Unmet::NothingTurnedDown]);
        assert!(unmet(&[Assumption::NoPause], guarded, &turned_down).is_empty());
        assert!(unmet(&[], guarded, &Coverage::default()).is_empty());
    }
}
