//! What a lock and its store are set to, as `name=value`: for machines as it is in JSON, where times are microseconds; for people with
//! times as they are said, `ttl=3.999s`.
//!
//! JSON does not know any more which number was a time. So the settings are gone through once more, for the names of those that are.

mod times;

use picklock_model::time::Micros;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;
pub use times::names_of_times;

/// What is set otherwise than by default.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Set {
    /// For machines: `ttl=3999000`.
    pub plain: Vec<String>,
    /// For people: `ttl=3.999s`.
    pub told: Vec<String>,
}

impl Set {
    /// What differs; of settings within settings, `whole.part=value`.
    pub fn of<T: Serialize>(default: &T, actual: &T) -> Set {
        let mut found = Vec::new();
        if let (Ok(default), Ok(actual)) = (serde_json::to_value(default), serde_json::to_value(actual)) {
            collect("", &default, &actual, &mut found);
        }
        let times = names_of_times(actual);
        Set {
            plain: found.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect(),
            told: found.iter().map(|(name, value)| format!("{name}={}", told(name, value, &times))).collect(),
        }
    }

    /// These as well, with this before their names.
    pub fn and(mut self, prefix: &str, others: Set) -> Set {
        let named = |other: String| format!("{prefix}{other}");
        self.plain.extend(others.plain.into_iter().map(named));
        self.told.extend(others.told.into_iter().map(named));
        self
    }
}

/// The named fields of a settings struct, for machines.
pub fn fields<T: Serialize>(settings: &T) -> Vec<String> {
    match serde_json::to_value(settings) {
        Ok(Value::Object(fields)) => {
            fields.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect()
        }
        Ok(_) | Err(_) => Vec::new(),
    }
}

fn plain(value: &Value) -> String {
    value.to_string().replace('"', "")
}

fn told(name: &str, value: &Value, times: &BTreeSet<String>) -> String {
    match value {
        Value::Null => "none".to_owned(),
        // One of several alternatives: `{Fixed:1s}`.
        Value::Object(parts) => {
            let part = |(part, value): (&String, &Value)| {
                format!("{part}:{}", told(&format!("{name}.{part}"), value, times))
            };
            format!("{{{}}}", parts.iter().map(part).collect::<Vec<_>>().join(","))
        }
        value => match value.as_i64().filter(|_| times.contains(name)) {
            Some(time) => Micros(time).to_string(),
            None => plain(value),
        },
    }
}

fn collect(name: &str, default: &Value, actual: &Value, found: &mut Vec<(String, Value)>) {
    match (default, actual) {
        (default, actual) if default == actual => {}
        (Value::Object(default), Value::Object(actual)) if default.keys().eq(actual.keys()) => {
            for (part, value) in actual {
                let name = if name.is_empty() { part.clone() } else { format!("{name}.{part}") };
                collect(&name, &default[part], value, found);
            }
        }
        (_, actual) => found.push((name.to_owned(), actual.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Default)]
    struct Settings {
        ttl: Micros,
        retries: u32,
        patience: Option<Micros>,
        store: Store,
    }

    #[derive(Serialize, Default)]
    struct Store {
        ping: Micros,
        choice: Choice,
    }

    #[derive(Serialize, Default)]
    enum Choice {
        #[default]
        Nothing,
        Fixed(Micros),
        After {
            delay: Micros,
            times: u8,
        },
    }

    #[test]
    fn times_are_told_as_times_and_counts_as_counts() {
        let actual = Settings {
            ttl: Micros(3_999_000),
            retries: 1_000_000,
            patience: Some(Micros::seconds(1)),
            store: Store { ping: Micros(20), choice: Choice::Nothing },
        };
        let set = Set::of(&Settings::default(), &actual);
        assert_eq!(set.told, ["patience=1s", "retries=1000000", "store.ping=20us", "ttl=3.999s"]);
        assert_eq!(set.plain, ["patience=1000000", "retries=1000000", "store.ping=20", "ttl=3999000"]);
        let patient = Settings { patience: Some(Micros::seconds(1)), ..Settings::default() };
        let none = Set::of(&patient, &Settings::default());
        assert_eq!(
            (none.told, none.plain),
            (vec!["patience=none".to_owned()], vec!["patience=null".to_owned()])
        );
    }

    #[test]
    fn times_of_alternatives_are_told_as_times() {
        let told = |choice| Set::of(&Store::default(), &Store { choice, ..Store::default() }).told;
        assert_eq!(
            told(Choice::After { delay: Micros(5), times: 5 }),
            ["choice={After:{delay:5us,times:5}}"]
        );
        assert_eq!(told(Choice::Fixed(Micros::seconds(1))), ["choice={Fixed:1s}"]);
    }
}
