//! What differs from a default, by name: whatever gets a new part with a default later is still read.
//!
//! Named parts are gone into; anything else is replaced as a whole. So that both can be told apart, a list or a thing with
//! parts that takes another one's place stands in a list of one.

use serde_json::{Map, Value};

/// How `actual` differs from `default`; `None` if it does not.
pub(crate) fn differences(default: &Value, actual: &Value) -> Option<Value> {
    if default == actual {
        return None;
    }
    match (default, actual) {
        (Value::Object(default), Value::Object(actual)) if has_same_names(default, actual) => {
            let differing = |(name, default): (&String, &Value)| {
                Some((name.clone(), differences(default, actual.get(name)?)?))
            };
            Some(Value::Object(default.iter().filter_map(differing).collect()))
        }
        (_, Value::Object(_) | Value::Array(_)) => Some(Value::Array(vec![actual.clone()])),
        (_, plain) => Some(plain.clone()),
    }
}

/// The default with these differences.
pub(crate) fn applied(default: &Value, differences: &Value) -> Result<Value, NoSuchPart> {
    match differences {
        Value::Object(changes) => {
            let Value::Object(default) = default else {
                let first = changes.keys().next().cloned();
                return Err(NoSuchPart(first.unwrap_or_default()));
            };
            let mut parts = default.clone();
            for (name, change) in changes {
                let part = parts.get_mut(name).ok_or_else(|| NoSuchPart(name.clone()))?;
                *part = applied(part, change)
                    .map_err(|NoSuchPart(inner)| NoSuchPart(format!("{name}.{inner}")))?;
            }
            Ok(Value::Object(parts))
        }
        Value::Array(whole) => match whole.as_slice() {
            [whole] => Ok(whole.clone()),
            _ => Err(NoSuchPart(String::new())),
        },
        plain => Ok(plain.clone()),
    }
}

/// A name in a token that stands for nothing here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NoSuchPart(pub String);

/// The first name in `given` that `known` does not have, though it was read from it: what would be passed over in silence. With the names
/// of what it stands in.
pub fn passed_over(given: &Value, known: &Value) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            given.iter().find_map(|(name, value)| match known.get(name) {
                None => Some(name.clone()),
                Some(known) => passed_over(value, known).map(|inner| match inner.starts_with('[') {
                    true => format!("{name}{inner}"),
                    false => format!("{name}.{inner}"),
                }),
            })
        }
        (Value::Array(given), Value::Array(known)) => {
            given.iter().zip(known).enumerate().find_map(|(place, (given, known))| {
                passed_over(given, known).map(|inner| format!("[{place}].{inner}"))
            })
        }
        (_, _) => None,
    }
}

/// The value without parts that say nothing: 0, false, or null. What reads it takes them for granted.
pub(crate) fn without_nothing(value: &Value) -> Value {
    match value {
        Value::Object(parts) => {
            let says_something = |(_, value): &(&String, &Value)| match value {
                Value::Null | Value::Bool(false) => false,
                Value::Number(number) => number.as_u64() != Some(0),
                Value::Bool(true) | Value::String(_) | Value::Array(_) | Value::Object(_) => true,
            };
            let parts = parts.iter().filter(says_something);
            Value::Object(parts.map(|(name, value)| (name.clone(), without_nothing(value))).collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(without_nothing).collect()),
        plain => plain.clone(),
    }
}

fn has_same_names(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    one.len() == other.len() && one.keys().all(|name| other.contains_key(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn there_and_back(default: &Value, actual: &Value) -> Value {
        let changes = differences(default, actual).unwrap_or(json!({}));
        assert_eq!(applied(default, &changes).as_ref(), Ok(actual), "{changes}");
        changes
    }

    #[test]
    fn only_what_differs_is_named() {
        let default = json!({"ttl": 5, "layout": "independent", "work": {"clients": 2, "rounds": 3}});
        let actual = json!({"ttl": 5, "layout": "independent", "work": {"clients": 4, "rounds": 3}});
        assert_eq!(there_and_back(&default, &actual), json!({"work": {"clients": 4}}));
        assert_eq!(differences(&default, &default), None);
    }

    #[test]
    fn what_has_other_parts_or_is_a_list_is_replaced_as_a_whole() {
        let default = json!({"layout": {"independent": {"n": 1}}, "list": [1, 2], "maybe": null});
        let actual = json!({"layout": {"failover": {"n": 1}}, "list": [2], "maybe": {"n": 2}});
        let changes = there_and_back(&default, &actual);
        assert_eq!(changes, json!({"layout": [{"failover": {"n": 1}}], "list": [[2]], "maybe": [{"n": 2}]}));
        there_and_back(&actual, &default);
    }

    #[test]
    fn a_part_that_came_later_keeps_its_default() {
        let changes = json!({"work": {"clients": 4}});
        let now = json!({"work": {"clients": 2, "drawn": true}, "new": 1});
        let expected = json!({"work": {"clients": 4, "drawn": true}, "new": 1});
        assert_eq!(applied(&now, &changes), Ok(expected));
    }

    #[test]
    fn a_part_that_is_gone_is_named() {
        let gone = applied(&json!({"work": {"clients": 2}}), &json!({"work": {"rounds": 4}}));
        assert_eq!(gone, Err(NoSuchPart("work.rounds".to_owned())));
        assert!(applied(&json!({"work": 2}), &json!({"work": {"rounds": 4}})).is_err());
        assert!(applied(&json!(1), &json!([1, 2])).is_err());
    }

    #[test]
    fn a_name_that_was_passed_over_is_found() {
        let known = json!({"faults": [{"pause": {"node": "struck", "length": 0}}]});
        assert_eq!(passed_over(&json!({"faults": [{"pause": {"node": "struck"}}]}), &known), None);
        let later = json!({"faults": [{"pause": {"node": "struck", "depth": 3}}]});
        assert_eq!(passed_over(&later, &known).as_deref(), Some("faults[0].pause.depth"));
    }

    #[test]
    fn what_says_nothing_is_left_out() {
        let full = json!({"a": 0, "b": [{"c": null, "d": 1}], "e": false, "f": "x", "g": {"h": 0}});
        assert_eq!(without_nothing(&full), json!({"b": [{"d": 1}], "f": "x", "g": {}}));
    }
}
