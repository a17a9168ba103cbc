//! The plan that does it again.
//!
//! A round's plan strikes by the clock, and real clients are never at the same place at the same time twice. So what struck while
//! the first holder held is written out as aimed at that: *when A enters for the third time* instead of *at 4.2 s*.

use crate::plans::plan::{Fault, Plan, Planned, Target, Trigger, When};
use crate::serve::watch::{Broken, Strike};
use picklock_model::machine::Node;
use picklock_model::time::Micros;
use picklock_properties::Promise;
use std::collections::BTreeSet;

/// What is known of a round that broke a promise. All times are the servers'.
pub struct Round<'a> {
    /// What broke first.
    pub broken: &'a Broken,
    /// What has struck.
    pub strikes: &'a [Strike],
    /// Which faults of the plan were aimed, by their place in it, and have struck.
    pub fired: &'a BTreeSet<usize>,
    /// Who entered, and when, the first first.
    pub entered: &'a [(Micros, u8)],
    /// When the plan began.
    pub began: Micros,
    pub lease: Micros,
}

/// The hold that somebody else did not respect.
struct Hold {
    client: u8,
    /// How many times its client had entered with it.
    nth: u16,
    since: Micros,
}

/// At how many holds before the one that was broken what struck it is aimed, too, every other one: no two rounds go alike.
const EARLIER_HOLDS: u16 = 2;
/// At how many later ones, where the holder is not kept in by it.
const LATER_HOLDS: u16 = 3;

/// The same fault at other holds than the one it is aimed at, if it is aimed at one.
fn at_other_holds(planned: &Planned, later: u16) -> Vec<Planned> {
    let When::Trigger { client, event: Trigger::Granted, nth, delay } = planned.when else {
        return Vec::new();
    };
    let earlier = (1..=EARLIER_HOLDS).filter_map(|before| nth.checked_sub(2 * before)).filter(|nth| *nth > 0);
    let later = (1..=later).filter_map(|after| nth.checked_add(2 * after));
    let when = |nth| When::Trigger { client, event: Trigger::Granted, nth, delay };
    earlier.chain(later).map(|nth| Planned { when: when(nth), fault: planned.fault.clone() }).collect()
}

impl Round<'_> {
    /// This round's plan without what did not strike until then, or was over before the first holder entered; what struck while it
    /// held is aimed at its hold.
    ///
    /// A pause of the holder begins as it enters, and ends when it ended, or half a lease after the lease if that was sooner: how long
    /// a client stays in is its own affair, and a pause that the next client just got in by is a matter of luck. What takes a lock away
    /// from a server, or sets its clock forward, strikes as soon as that can matter.
    ///
    /// No two rounds go alike, so it strikes at some holds before that one, too. And what does not keep the holder in breaks the lock
    /// only if the next client comes before it leaves, which is luck: so it strikes at some later holds, too.
    pub fn plan(&self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        let until = self.broken.at - self.began;
        let mut place = 0;
        plan.faults.retain(|planned| {
            place += 1;
            match planned.when {
                When::At(at) => at <= until,
                When::Trigger { .. } => self.fired.contains(&(place - 1)),
            }
        });
        let Some(hold) = self.hold() else { return plan };
        plan.faults.retain(|planned| !self.was_over(&hold, planned));
        let struck_it: Vec<bool> =
            plan.faults.iter().map(|planned| self.struck(planned) >= Some(hold.since)).collect();
        for planned in &mut plan.faults {
            if let Some(aimed) = self.aimed(&hold, planned) {
                *planned = aimed;
            }
        }
        let by_clock = |planned: &Planned| matches!(planned.when, When::At(_));
        let any_hold_will_do = !plan.faults.iter().any(by_clock);
        if any_hold_will_do {
            // Nothing that came before has to have been.
            for Planned { when, .. } in &mut plan.faults {
                if let When::Trigger { client: Some(client), nth, .. } = when
                    && (*client, *nth) == (hold.client, hold.nth)
                {
                    *nth = 1;
                }
            }
        }
        let aimed = plan.faults.iter().zip(struck_it).filter(|(_, struck)| *struck);
        let aimed: Vec<Planned> = aimed.map(|(planned, _)| planned.clone()).collect();
        let keeps_it_in =
            |planned: &Planned| matches!(planned.fault, Fault::Pause { node: Target::Struck, .. });
        let later = if aimed.iter().any(keeps_it_in) { 0 } else { LATER_HOLDS };
        plan.faults.extend(aimed.iter().flat_map(|planned| at_other_holds(planned, later)));
        plan
    }

    /// When this struck, if it did.
    fn struck(&self, planned: &Planned) -> Option<Micros> {
        match planned.when {
            When::At(at) => Some(self.began + at),
            When::Trigger { .. } => {
                Some(self.strikes.iter().find(|strike| is_that(strike, &planned.fault))?.at)
            }
        }
    }

    fn hold(&self) -> Option<Hold> {
        let first = match self.broken.property {
            Promise::MutualExclusion | Promise::TokenOrder => &self.broken.other,
            _ => &self.broken.client,
        };
        let client = (0..=u8::MAX).find(|client| Node::Client(*client).to_string() == *first)?;
        let until = self.broken.at;
        let entered = self.entered.iter().filter(|(at, who)| *who == client && *at <= until);
        let times: Vec<Micros> = entered.map(|(at, _)| *at).collect();
        let since = *times.last()?;
        Some(Hold { client, nth: times.len().try_into().ok()?, since })
    }

    /// Whether this struck by the clock, was over before the hold began, and leaves nothing behind that matters to it.
    fn was_over(&self, hold: &Hold, planned: &Planned) -> bool {
        let When::At(at) = planned.when else { return false };
        let length = match &planned.fault {
            // What a server has lost is missed by whoever was asking then.
            Fault::Crash { restart_after: Some(length), .. }
            | Fault::PowerLoss { restart_after: Some(length), .. }
            | Fault::Replace { restart_after: Some(length), .. } => *length + self.lease,
            Fault::Pause { length, .. }
            | Fault::Cut { length, .. }
            | Fault::Isolate { length, .. }
            | Fault::SlowLink { length, .. } => *length,
            _ => return false,
        };
        self.began + at + length < hold.since
    }

    /// The same fault, aimed at the hold, if it struck while that was.
    fn aimed(&self, hold: &Hold, planned: &Planned) -> Option<Planned> {
        let struck = self.struck(planned)?;
        if struck < hold.since {
            return None;
        }
        let after = struck - hold.since;
        let (delay, fault) = match planned.fault.clone() {
            Fault::Pause { node, length } if self.strikes_holder(hold, struck, length, node) => {
                let until = Micros((after + length).0.max(self.lease.0 * 3 / 2));
                (Micros::ZERO, Fault::Pause { node: Target::Struck, length: until })
            }
            // It strikes as soon as it can already.
            _ if matches!(planned.when, When::Trigger { delay: Micros::ZERO, .. }) => return None,
            Fault::ClockStep { node, by } => {
                let matters = Micros((self.lease - by).0.clamp(0, after.0));
                (matters, Fault::ClockStep { node, by })
            }
            fault @ (Fault::PowerLoss { .. } | Fault::Replace { .. } | Fault::Crash { .. })
                if is_of_servers(&fault) =>
            {
                (Micros::ZERO, fault)
            }
            fault => (after, fault),
        };
        let when = When::Trigger { client: Some(hold.client), event: Trigger::Granted, nth: hold.nth, delay };
        Some(Planned { when, fault })
    }

    /// Whether it was the holder that paused then, for so long.
    fn strikes_holder(&self, hold: &Hold, struck: Micros, length: Micros, node: Target) -> bool {
        let is_process = matches!(node, Target::Client(_) | Target::Struck);
        is_process
            && self.strikes.iter().any(|strike| {
                let is_pause = matches!(strike.fault, Fault::Pause { length: was, .. } if was == length);
                is_pause && strike.client == Some(hold.client) && strike.at >= struck
            })
    }
}

/// Whether this strike is that fault, which may not have said whom it would strike.
fn is_that(strike: &Strike, fault: &Fault) -> bool {
    match (&strike.fault, fault) {
        (Fault::Pause { length: was, .. }, Fault::Pause { node, length }) => {
            was == length && strike.client.is_some() == matches!(node, Target::Client(_) | Target::Struck)
        }
        (was, fault) => was == fault,
    }
}

fn is_of_servers(fault: &Fault) -> bool {
    matches!(
        fault,
        Fault::Crash { node: Target::Server(_), .. }
            | Fault::PowerLoss { node: Target::Server(_), .. }
            | Fault::Replace { node: Target::Server(_), .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::watch::JudgedBy;

    const LEASE: Micros = Micros(1_000_000);

    fn broken(at: i64) -> Broken {
        Broken {
            at: Micros(at),
            judged_by: JudgedBy::Clients,
            property: Promise::MutualExclusion,
            lock: "orders".to_owned(),
            client: "B".to_owned(),
            other: "A".to_owned(),
            words: String::new(),
            because: Vec::new(),
            fault: None,
        }
    }

    fn pause(length: i64) -> Fault {
        Fault::Pause { node: Target::Client(0), length: Micros(length) }
    }

    fn strike(at: i64, fault: Fault, client: Option<u8>) -> Strike {
        Strike { number: 1, at: Micros(at), over: None, fault, servers: Vec::new(), client }
    }

    fn plan(faults: Vec<(When, Fault)>) -> Plan {
        let faults = faults.into_iter().map(|(when, fault)| Planned { when, fault }).collect();
        Plan { faults, heal_at: Micros::seconds(8), ..Plan::default() }
    }

    fn at(at: i64) -> When {
        When::At(Micros(at))
    }

    fn when_a_enters(nth: u16, delay: i64) -> When {
        When::Trigger { client: Some(0), event: Trigger::Granted, nth, delay: Micros(delay) }
    }

    /// From A's `nth` hold on, at every other one.
    fn at_holds(nth: u16, delay: i64, fault: &Fault) -> Vec<(When, Fault)> {
        (0..=LATER_HOLDS).map(|later| (when_a_enters(nth + 2 * later, delay), fault.clone())).collect()
    }

    fn again(drawn: &Plan, strikes: &[Strike]) -> Vec<(When, Fault)> {
        again_if(drawn, strikes, &BTreeSet::new())
    }

    /// `fired`: the places of those faults that were aimed, and have struck.
    fn again_if(drawn: &Plan, strikes: &[Strike], fired: &BTreeSet<usize>) -> Vec<(When, Fault)> {
        let entered = [(Micros(1_500_000), 0), (Micros(1_900_000), 1), (Micros(3_000_000), 0)];
        let broken = broken(4_300_000);
        let round = Round {
            broken: &broken,
            strikes,
            fired,
            entered: &entered,
            began: Micros(1_000_000),
            lease: LEASE,
        };
        round.plan(drawn).faults.into_iter().map(|planned| (planned.when, planned.fault)).collect()
    }

    #[test]
    fn a_pause_of_the_holder_is_aimed_at_its_hold_and_outlasts_the_lease() {
        let drawn = plan(vec![
            (at(300_000), pause(500_000)),
            (at(2_250_000), pause(900_000)),
            (at(5_000_000), pause(1)),
        ]);
        let strikes =
            [strike(1_300_000, pause(500_000), Some(0)), strike(3_250_400, pause(900_000), Some(0))];
        let held = Fault::Pause { node: Target::Struck, length: Micros(1_500_000) };
        assert_eq!(again(&drawn, &strikes), [(when_a_enters(1, 0), held)]);
    }

    #[test]
    fn a_pause_that_was_aimed_already_outlasts_the_lease_too() {
        let aimed = |length| Fault::Pause { node: Target::Struck, length: Micros(length) };
        let drawn = plan(vec![(when_a_enters(2, 0), aimed(700_000))]);
        let strikes = [strike(3_000_300, pause(700_000), Some(0))];
        let fired = BTreeSet::from([0]);
        assert_eq!(again_if(&drawn, &strikes, &fired), [(when_a_enters(1, 0), aimed(1_500_000))]);
    }

    #[test]
    fn what_strikes_as_the_holder_enters_does_so_again() {
        let loss = Fault::PowerLoss { node: Target::Server(2), restart_after: Some(Micros(100)) };
        let drawn = plan(vec![(when_a_enters(1, 0), loss.clone())]);
        let fired = BTreeSet::from([0]);
        let strikes = [strike(3_000_300, loss.clone(), None)];
        assert_eq!(again_if(&drawn, &strikes, &fired), at_holds(1, 0, &loss));
    }

    #[test]
    fn at_every_other_hold_around_the_one_that_was_broken_it_strikes_too() {
        let loss = Fault::PowerLoss { node: Target::Server(2), restart_after: Some(Micros(100)) };
        let holds = |nth, later| -> Vec<When> {
            let planned = Planned { when: when_a_enters(nth, 7), fault: loss.clone() };
            at_other_holds(&planned, later).into_iter().map(|planned| planned.when).collect()
        };
        let expected = [4, 2, 8, 10, 12].map(|nth| when_a_enters(nth, 7));
        assert_eq!(holds(6, 3), expected);
        assert_eq!(holds(6, 0), expected[..2]);
        assert_eq!(holds(1, 0), []);
        assert_eq!(holds(u16::MAX, 3).len(), 2);
        assert_eq!(at_other_holds(&Planned { when: at(5), fault: loss }, 3), []);
    }

    #[test]
    fn what_a_server_lost_before_the_holder_asked_is_left_out() {
        let loss = |after| Fault::PowerLoss { node: Target::Server(2), restart_after: Some(Micros(after)) };
        let drawn =
            plan(vec![(at(100_000), loss(100)), (at(1_500_000), loss(200)), (at(2_500_000), loss(300))]);
        let again = again(&drawn, &[]);
        assert_eq!(again[0], (at(1_500_000), loss(200)));
        assert_eq!(again[1], (when_a_enters(2, 0), loss(300)));
        assert!(!again.iter().any(|(_, fault)| *fault == loss(100)), "{again:?}");
    }

    #[test]
    fn what_struck_before_the_hold_and_may_still_matter_stays_where_it_was() {
        let step = |by| Fault::ClockStep { node: Target::Server(1), by: Micros(by) };
        let drawn = plan(vec![(at(300_000), step(700_000)), (at(2_600_000), step(800_000))]);
        let again = again(&drawn, &[]);
        assert_eq!(again[0], (at(300_000), step(700_000)));
        assert_eq!(again[1..], at_holds(2, 200_000, &step(800_000)), "as soon as so big a step can matter");
    }

    #[test]
    fn a_power_loss_of_a_server_comes_as_the_holder_enters() {
        let loss = Fault::PowerLoss { node: Target::Server(2), restart_after: Some(Micros(100)) };
        let drawn = plan(vec![(at(2_600_000), loss.clone())]);
        assert_eq!(again(&drawn, &[]), at_holds(1, 0, &loss));
    }
}
