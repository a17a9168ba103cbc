//! Which plans no engine should be given: they come from files and tokens, which may say anything.

use super::{Fault, Plan, Planned};
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
    use crate::plans::plan::{Fault, Planned, Target, When};
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
