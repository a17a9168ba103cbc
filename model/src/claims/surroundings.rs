//! What most assumptions say of the world around any lock: how each is dropped where a lock's author has nothing to add.

use super::Assumption;
use crate::world::{Aim, Bounds, WITHOUT_END};

/// How many of so many servers have to be down so that those that are up are no majority.
pub(super) fn majority_down(servers: u8) -> u8 {
    servers.div_ceil(2)
}

impl Bounds {
    /// What may go wrong in these bounds, and how often, each in a phrase.
    pub fn allowed(&self) -> Vec<String> {
        let times = |budget: u8| match budget {
            1 => "once".to_owned(),
            WITHOUT_END => "without end".to_owned(),
            times => format!("up to {times} times"),
        };
        let ticks = |ticks: i16| format!("{} tick{}", ticks.abs(), if ticks.abs() == 1 { "" } else { "s" });
        let step =
            |far: i8| format!("{} by {}", if far < 0 { "back" } else { "forward" }, ticks(i16::from(far)));
        let off = |far: i8| {
            format!("{} {} true time", ticks(i16::from(far)), if far < 0 { "behind" } else { "ahead of" })
        };
        let how = if self.pauses_suspend { "is suspended with its machine" } else { "pauses" };
        let when = match self.aim {
            Aim::Always => String::new(),
            Aim::Holding => " in its critical section".to_owned(),
            Aim::Asking => " while it asks".to_owned(),
            Aim::At(line) => format!(" at {line}"),
        };
        let budget = self.budget();
        let stops = if self.freezes_all {
            "all clients' clocks stop for good, and show the same"
        } else {
            "a client's clock stops for good"
        };
        let server_crashes = if self.server_crashes_restart {
            "a server's process is killed and starts again at once"
        } else {
            "a server crashes, for good or for a while,"
        };
        let budgets = [
            (self.losses, format!("a message is lost {}", times(self.losses))),
            (self.duplicates, format!("a message is doubled {}", times(self.duplicates))),
            (
                budget.pauses,
                format!(
                    "a client {how}{when} {}, for up to {}",
                    times(self.pauses),
                    ticks(i16::from(self.pause_ticks))
                ),
            ),
            (self.crashes, format!("a client crashes{when} {}", times(self.crashes))),
            (self.power_losses, format!("a server loses power {}", times(self.power_losses))),
            (self.server_crashes, format!("{server_crashes} {}", times(self.server_crashes))),
            (self.resource_restarts, format!("the resource restarts {}", times(self.resource_restarts))),
            (
                self.server_clock_steps,
                format!(
                    "a server's clock is set {} {}",
                    step(self.server_clock_step_ticks),
                    times(self.server_clock_steps)
                ),
            ),
            (budget.drifts, format!("a clock drifts by a tick {}", times(self.drifts))),
            (
                self.clock_steps,
                format!(
                    "a client's clock is set {} {}",
                    step(self.clock_step_ticks),
                    times(self.clock_steps)
                ),
            ),
            (budget.freezes, stops.to_owned()),
            (
                self.last_server_ahead_ticks.unsigned_abs(),
                format!("the last server's clock is {}", off(self.last_server_ahead_ticks)),
            ),
            (
                self.last_client_ahead_ticks.unsigned_abs(),
                format!("the last client's clock is {}", off(self.last_client_ahead_ticks)),
            ),
        ];
        budgets.into_iter().filter(|(budget, _)| *budget > 0).map(|(_, words)| words).collect()
    }

    /// Drops an assumption about nodes, network or clocks: its fault may come once. What lasts, or is off, is so for
    /// `ticks`, which should be longer than whatever it is to outlast; of `servers`, as many crash as leave no majority. An untimed world
    /// becomes a timed one where the assumption is about time.
    ///
    /// Without effect for the assumptions about locks and stores, which theirs have to drop: unique ids, no expiry, free
    /// at the start, stops in time, quorums meet, read after acknowledgement, keys kept, no fail-over. A clock that stands still is for
    /// untimed worlds only.
    pub fn drop_assumption(&mut self, assumption: Assumption, ticks: u8, servers: u8) {
        let far = ticks.min(100) as i8;
        let mut about_time = true;
        match assumption {
            Assumption::NoPause | Assumption::NoSuspend => {
                (self.pauses, self.pause_ticks) = (1, ticks);
                self.pauses_suspend |= assumption == Assumption::NoSuspend;
            }
            Assumption::BoundedDrift => (self.drifts, self.drift_ticks) = (ticks, 1),
            Assumption::NoClockStep => (self.clock_steps, self.clock_step_ticks) = (1, -far),
            Assumption::NoServerClockStep => {
                (self.server_clock_steps, self.server_clock_step_ticks) = (1, far);
            }
            Assumption::ClocksAgree => self.let_clocks_disagree(ticks),
            about_no_time => {
                about_time = false;
                self.drop_untimed(about_no_time, servers);
            }
        }
        if about_time {
            self.latency_ticks.get_or_insert(0);
        }
    }

    /// Lets clocks disagree from the beginning, by so many ticks and more: the last client's is ahead of the last server's, and that one
    /// of all others, so that each kind is compared with a clock that is behind it.
    pub(super) fn let_clocks_disagree(&mut self, ticks: u8) {
        let far = ticks.min(60) as i8;
        (self.last_server_ahead_ticks, self.last_client_ahead_ticks) = (far, 2 * far);
    }

    fn drop_untimed(&mut self, assumption: Assumption, servers: u8) {
        match assumption {
            Assumption::NoCrash => self.crashes = 1,
            Assumption::MajorityUp => self.server_crashes = majority_down(servers),
            Assumption::NoLoss => self.losses = 1,
            Assumption::NoDuplicate => self.duplicates = 1,
            Assumption::Durable => self.power_losses = 1,
            Assumption::NoClockFreeze if self.latency_ticks.is_none() => self.freezes = 1,
            Assumption::NoClockFreeze
            | Assumption::UniqueIds
            | Assumption::NoExpiry
            | Assumption::FreeAtStart
            | Assumption::StopsInTime
            | Assumption::QuorumsMeet
            | Assumption::ReadAfterAck
            | Assumption::KeysExpire
            | Assumption::KeysKept
            | Assumption::NoFailOver => {}
            Assumption::NoPause
            | Assumption::NoSuspend
            | Assumption::BoundedDrift
            | Assumption::NoClockStep
            | Assumption::NoServerClockStep
            | Assumption::ClocksAgree => unreachable!("these are about time"),
        }
    }
}
