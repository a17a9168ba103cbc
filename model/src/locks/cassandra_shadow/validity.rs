//! Whether a cell that was written can have expired by now, as its writer's own clock has it.

use super::{CassandraShadow, Cx, Phase, Settings};
use crate::time::{Micros, Monotonic};

impl CassandraShadow {
    /// Whether the shadow cell cannot have expired yet, by the client's own clock.
    pub(super) fn shadow_is_valid(&self, cx: &Cx) -> bool {
        let end = end(self.shadow_since, cx.settings.shadow_ttl(), cx.settings);
        !cx.settings.validity_check || end.is_none_or(|end| cx.monotonic < end)
    }

    /// Whether the main cell cannot have expired yet, by the client's own clock.
    pub(super) fn lease_is_valid(&self, cx: &Cx) -> bool {
        let end = end(self.lease_since, cx.settings.ttl(), cx.settings);
        !cx.settings.validity_check || end.is_none_or(|end| cx.monotonic < end)
    }

    /// When the thread that holds must notice that its lease is over.
    pub(super) fn validity_deadline(&self, settings: &Settings) -> Option<Monotonic> {
        let holds = settings.validity_check && self.phase == Phase::Held;
        if holds { end(self.lease_since, settings.ttl(), settings) } else { None }
    }
}

/// When a cell that was sent then is taken for expired; `None` if it never is.
fn end(since: Option<Monotonic>, ttl: Option<Micros>, settings: &Settings) -> Option<Monotonic> {
    Some(since? + (ttl? - settings.validity_margin))
}
