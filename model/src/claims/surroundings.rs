//! What most assumptions say of the world around any lock: how each is dropped where a lock's author has nothing to add.

use super::Assumption;
use crate::world::Bounds;

impl Bounds {
    /// Drops an assumption about nodes, network or clocks: its fault may come once. What lasts, or is off, is so for
    /// `ticks`, which should be longer than whatever it is to outlast. An untimed world becomes a timed one where the
    /// assumption is about time.
    ///
    /// Without effect for the assumptions about locks and stores, which theirs have to drop: unique ids, no expiry, free
    /// at the start, stops in time, quorums meet, read after acknowledgement, keys kept. A clock that stands still is for
    /// untimed worlds only.
    pub fn drop_assumption(&mut self, assumption: Assumption, ticks: u8) {
        let far = ticks.min(100) as i8;
        let mut about_time = true;
        match assumption {
            Assumption::NoPause => (self.pauses, self.pause_ticks) = (1, ticks),
            Assumption::BoundedDrift => (self.drifts, self.drift_ticks) = (ticks, 1),
            Assumption::NoClockStep => (self.clock_steps, self.clock_step_ticks) = (1, -far),
            Assumption::NoServerClockStep => {
                (self.server_clock_steps, self.server_clock_step_ticks) = (1, far);
            }
            Assumption::ClocksAgree => self.last_server_ahead_ticks = far,
            about_no_time => {
                about_time = false;
                self.drop_untimed(about_no_time);
            }
        }
        if about_time {
            self.latency_ticks.get_or_insert(0);
        }
    }

    fn drop_untimed(&mut self, assumption: Assumption) {
        match assumption {
            Assumption::NoCrash => self.crashes = 1,
            Assumption::MajorityUp => self.server_crashes = 1,
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
            | Assumption::KeysKept => {}
            Assumption::NoPause
            | Assumption::BoundedDrift
            | Assumption::NoClockStep
            | Assumption::NoServerClockStep
            | Assumption::ClocksAgree => unreachable!("these are about time"),
        }
    }
}
