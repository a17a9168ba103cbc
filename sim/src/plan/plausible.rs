//! Which plans no engine should be given: they come from files and tokens, which may say anything.

use super::Plan;
use picklock_model::time::Micros;
use serde_json::Value;

/// No time in a plan is longer: 30 days. Nor is any other number larger.
pub(crate) const LENGTH_MAX: Micros = Micros::seconds(30 * 86_400);

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
        bad_number("", &value)
    }
}

/// Looks at every number: none may be so large that times overflow; only clocks may be set back.
fn bad_number(name: &str, value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => {
            let number = number.as_i64()?;
            if number.unsigned_abs() > LENGTH_MAX.0.unsigned_abs() {
                let most = LENGTH_MAX.0;
                return Some(format!("{number} is more than {most} microseconds, which are 30 days"));
            }
            (number < 0 && !matches!(name, "by" | "ppm")).then(|| format!("{number} is less than nothing"))
        }
        Value::Array(values) => values.iter().find_map(|value| bad_number(name, value)),
        Value::Object(fields) => fields.iter().find_map(|(name, value)| bad_number(name, value)),
        Value::Null | Value::Bool(_) | Value::String(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Network;
    use crate::plan::{Fault, Planned, Target, When};

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
        let network = Network { latency_min: Micros(2), latency_max: Micros(1), ..Network::default() };
        assert!(Plan { network, ..Plan::default() }.implausible().is_some());
    }
}
