//! Which plans no engine should be given: they come from files and tokens, which may say anything.

use super::{Fault, Plan, Planned, When};
use crate::seeded::cast::Cast;
use crate::seeded::schedule::Schedule;
use picklock_model::time::Micros;
use serde_json::Value;

/// No time in a plan is longer: 30 days. Nor is any other number larger.
pub(crate) const LENGTH_MAX: Micros = Micros::seconds(30 * 86_400);

/// No clock gains or loses more than this, in parts of a million.
pub const DRIFT_PPM_MAX: i32 = 500_000;

impl Plan {
    /// Why no engine should be given this plan; `None`: it can be run.
    pub fn implausible(&self) -> Option<String> {
        if self.network.latency_min > self.network.latency_max {
            return Some("its shortest latency is longer than its longest".to_owned());
        }
        let value = match serde_json::to_value(self) {
            Ok(value) => value,
            Err(error) => unreachable!("a plan is plain data: {error}"),
        };
        bad_number("", &value).or_else(|| self.faults.iter().find_map(too_fast))
    }

    /// Which client or server it names of which there is none where so many are.
    pub fn names_nobody(&self, clients: u8, servers: u8) -> Option<String> {
        let value = match serde_json::to_value(self) {
            Ok(value) => value,
            Err(error) => unreachable!("a plan is plain data: {error}"),
        };
        nobody("", &value, clients, servers)
    }

    /// Why it can strike nothing at all where so many clients and servers are, though it has faults. `None`: something may come of it. A plan
    /// without any faults asks for none, and is no mistake.
    pub fn strikes_nothing(&self, clients: u8, servers: u8) -> Option<String> {
        if self.schedule != Schedule::Uniform || !self.network.is_of_a_good_day() {
            return None;
        }
        let mut why = self.faults.iter().map(|planned| self.is_idle(planned, clients, servers));
        let first = why.next()??;
        why.all(|why| why.is_some()).then(|| format!("it can strike nothing at all; {first}"))
    }

    /// Why one of its faults can strike nothing.
    fn is_idle(&self, planned: &Planned, clients: u8, servers: u8) -> Option<String> {
        let Planned { when, fault } = planned;
        let (When::At(earliest) | When::Trigger { delay: earliest, .. }) = *when;
        if earliest > self.heal_at {
            return Some(format!(
                "everything is healed from {} on, before this strikes: {planned}",
                self.heal_at
            ));
        }
        let is_struck_by = |struck| Cast { clients, servers, struck }.can_be_struck(fault);
        let is_struck = match when {
            When::At(_) => is_struck_by(0),
            When::Trigger { client: Some(client), .. } => is_struck_by(client % clients.max(1)),
            When::Trigger { client: None, .. } => (0..clients).any(is_struck_by),
        };
        // If this is all that clocks are told, they are right as it is.
        let is_of_a_right_clock = match *fault {
            Fault::Drift { ppm, .. } => ppm == 0,
            Fault::CoarseClock { granularity, .. } => granularity <= Micros(1),
            _ => false,
        };
        let what = match fault {
            _ if is_of_a_right_clock => "the clock is as it was",
            fault if fault.amounts_to_nothing() => "this amounts to nothing",
            Fault::Cut { .. } | Fault::SlowLink { .. } | Fault::LoseNext { .. } => "there is no such link",
            Fault::Reset { .. } => "there is no such connection",
            _ => "the resource has no clock that could go wrong",
        };
        (!is_struck || is_of_a_right_clock).then(|| format!("{what}: {planned}"))
    }
}

/// A clock that stood still or ran twice as fast would be another fault.
fn too_fast(planned: &Planned) -> Option<String> {
    let Fault::Drift { ppm, .. } = planned.fault else { return None };
    let is_more = ppm.unsigned_abs() > DRIFT_PPM_MAX.unsigned_abs();
    is_more.then(|| format!("its clocks drift by {ppm} ppm, and none drifts by more than {DRIFT_PPM_MAX}"))
}

fn nobody(name: &str, value: &Value, clients: u8, servers: u8) -> Option<String> {
    match value {
        Value::Number(number) => {
            let most = match name {
                "client" => clients,
                "server" => servers,
                _ => return None,
            };
            let number = number.as_u64().filter(|number| *number >= u64::from(most))?;
            let last = most.saturating_sub(1);
            Some(format!("it names {name} {number}, and the last one there can be is {name} {last}"))
        }
        Value::Array(values) => values.iter().find_map(|value| nobody(name, value, clients, servers)),
        Value::Object(fields) => {
            fields.iter().find_map(|(name, value)| nobody(name, value, clients, servers))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

/// Looks at every number: none may be so large that times overflow; only clocks may be set back.
fn bad_number(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => {
            let number = number.as_i64()?;
            let most = LENGTH_MAX.0;
            let may_be_negative = matches!(name, "by" | "ppm");
            match name {
                _ if number < 0 && !may_be_negative => Some(format!("{number} is less than nothing")),
                _ if number > most => {
                    Some(format!("{number} is more than {most} microseconds, which are 30 days"))
                }
                _ if number < -most => {
                    Some(format!("{number} is less than -{most} microseconds, which are 30 days"))
                }
                _ if may_be_negative => None,
                "nth" if number == 0 => Some("nth 0: the first time is 1".to_owned()),
                _ if name.ends_with("_per_mille") && number > 1000 => {
                    Some(format!("{name} {number}: it takes 0 to 1000, of a thousand messages"))
                }
                _ => None,
            }
        }
        Value::Array(values) => values.iter().find_map(|value| bad_number(name, value)),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| bad_number(name, value)),
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::plan::{Side, Target, Trigger};
    use crate::seeded::network::Network;

    #[test]
    fn only_clocks_go_back_and_nothing_lasts_for_ever() {
        let node = Target::Client(0);
        let why = |fault| {
            let faults = vec![Planned { when: When::At(Micros::ZERO), fault }];
            Plan { faults, ..Plan::default() }.implausible().unwrap_or_default()
        };
        assert_eq!(why(Fault::ClockStep { node, by: Micros(-5) }), "");
        assert_eq!(why(Fault::Pause { node, length: LENGTH_MAX }), "");
        assert_eq!(why(Fault::Pause { node, length: Micros(-5) }), "-5 is less than nothing");
        assert!(why(Fault::Pause { node, length: LENGTH_MAX + Micros(1) }).ends_with("which are 30 days"));
        assert_eq!(why(Fault::Drift { node, ppm: -500_000 }), "");
        let too_fast = "its clocks drift by 500001 ppm, and none drifts by more than 500000";
        assert_eq!(why(Fault::Drift { node, ppm: 500_001 }), too_fast);
        let network = Network { latency_min: Micros(2), latency_max: Micros(1), ..Network::default() };
        assert!(Plan { network, ..Plan::default() }.implausible().is_some());
        let network = Network { loss_per_mille: 1001, ..Network::default() };
        let why = Plan { network, ..Plan::default() }.implausible().unwrap_or_default();
        assert_eq!(why, "loss_per_mille 1001: it takes 0 to 1000, of a thousand messages");
    }

    #[test]
    fn a_plan_whose_faults_can_strike_nothing_is_told_from_one_that_has_none_or_may_strike() {
        let why = |network: Network, planned: Vec<Planned>| {
            let heal_at = Micros::seconds(60);
            Plan { network, faults: planned, heal_at, ..Plan::default() }.strikes_nothing(3, 2)
        };
        let is_told = |why: Option<String>, of: &str| {
            let why = why.unwrap_or_default();
            assert!(why.starts_with(&format!("it can strike nothing at all; {of}: ")), "{why}");
        };
        let at = |fault| Planned { when: When::At(Micros::ZERO), fault };
        let good = Network::default();
        let length = Micros::seconds(5);
        let cut = |from, to| at(Fault::Cut { from, to, both_ways: false, length });
        let idle = || cut(Side::Servers, Side::Servers);
        let no_link = "it can strike nothing at all; there is no such link: at 0: cut from the servers to the servers, one way, for 5s";
        assert_eq!(why(good, vec![idle()]).as_deref(), Some(no_link));
        assert_eq!(why(good, vec![idle(), idle()]).as_deref(), Some(no_link), "the first is named");
        assert_eq!(why(good, vec![idle(), cut(Side::Everybody, Side::Servers)]), None);
        assert_eq!(why(good, vec![cut(Side::Everybody, Side::Servers), idle()]), None);
        assert_eq!(why(good, Vec::new()), None, "it asks for nothing");
        assert_eq!(why(Network { loss_per_mille: 1, ..good }, vec![idle()]), None);
        assert_eq!(why(Network { latency_max: Micros::millis(30), ..good }, vec![idle()]), None);

        let late = Planned { when: When::At(Micros::seconds(61)), ..cut(Side::Clients, Side::Servers) };
        is_told(why(good, vec![late]), "everything is healed from 60s on, before this strikes: at 61s");
        let step = Fault::ClockStep { node: Target::Resource, by: length };
        is_told(why(good, vec![at(step)]), "the resource has no clock that could go wrong");
        let none = Fault::LoseNext { from: Side::Clients, to: Side::Servers, count: 0 };
        is_told(why(good, vec![at(none)]), "this amounts to nothing");
        is_told(
            why(good, vec![at(Fault::Drift { node: Target::Client(0), ppm: 0 })]),
            "the clock is as it was",
        );
        let fine = Fault::CoarseClock { node: Target::Server(1), granularity: Micros(1) };
        is_told(why(good, vec![at(fine)]), "the clock is as it was");
        let at_once = Fault::Pause { node: Target::Client(0), length: Micros::ZERO };
        is_told(why(good, vec![at(at_once)]), "this amounts to nothing");

        // Whose links these are is only known when somebody has pulled the trigger.
        let one = |target| Side::Nodes([target].into_iter().collect());
        let reset = Fault::Reset { between: one(Target::Struck), and: one(Target::Client(0)) };
        let to_first =
            Fault::Cut { from: one(Target::Struck), to: one(Target::Client(0)), both_ways: false, length };
        let granted = |client| When::Trigger { client, event: Trigger::Granted, nth: 1, delay: Micros::ZERO };
        let aimed =
            |client, fault: &Fault| why(good, vec![Planned { when: granted(client), fault: fault.clone() }]);
        assert_eq!(aimed(None, &to_first), None);
        assert_eq!(aimed(Some(1), &to_first), None);
        is_told(aimed(Some(0), &to_first), "there is no such link");
        is_told(aimed(None, &reset), "there is no such connection");
    }

    #[test]
    fn nobody_is_struck_who_is_not_there() {
        let plan: Plan = serde_json::from_str(
            r#"{"network": {"latency_min": 1, "latency_max": 2, "tail_per_mille": 0, "tail_max": 0, "loss_per_mille": 0,
                            "duplicate_per_mille": 0, "reply_loss_per_mille": 0},
                "faults": [{"when": {"trigger": {"client": 3, "event": "granted", "nth": 1, "delay": 0}},
                            "fault": {"pause": {"node": {"server": 1}, "length": 5}}}],
                "heal_at": 60}"#,
        )
        .unwrap();
        assert_eq!(plan.names_nobody(4, 2), None);
        let client = "it names client 3, and the last one there can be is client 2";
        assert_eq!(plan.names_nobody(3, 2).as_deref(), Some(client));
        let server = "it names server 1, and the last one there can be is server 0";
        assert_eq!(plan.names_nobody(4, 1).as_deref(), Some(server));
        assert_eq!(Plan { faults: Vec::new(), ..plan }.names_nobody(0, 0), None);
    }
}
