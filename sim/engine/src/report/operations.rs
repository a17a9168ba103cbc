//! What clients ask of shared objects, from call to return, as history checkers draw it: a bar for each operation.
//!
//! ```text
//!   A   ├─ x0.write(1) → done ─┤          ├─ x0.read() → 1 ─┤
//!   B          ├─ x0.compare_and_set(1, 2) → ? ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄    given up: it may have been done, or be done later
//! ```

use super::JsonEvent;
use picklock_properties::{CallPart, Event, Promise};
use serde::Serialize;

/// One end of an operation, as a step of a run has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum JsonOperation {
    /// It began.
    Invoked {
        /// Who asks.
        client: String,
        /// What for: `x0.compare_and_set(1, 2)`.
        call: String,
    },
    /// It came back.
    Returned {
        /// Who asked.
        client: String,
        /// What the client was told: `refused`.
        answer: String,
    },
    /// It was given up.
    Unknown {
        /// Who asked.
        client: String,
    },
}

impl JsonOperation {
    /// `None` where the event is neither the beginning nor the end of an operation.
    pub(super) fn of(event: &Event) -> Option<JsonOperation> {
        let client = event.client().to_string();
        match event.call_part()? {
            CallPart::Invoked(call) => Some(JsonOperation::Invoked { client, call: call.to_string() }),
            CallPart::Returned(answer) => {
                Some(JsonOperation::Returned { client, answer: answer.to_string() })
            }
            CallPart::Unknown => Some(JsonOperation::Unknown { client }),
        }
    }
}

/// An operation of a run. Positions are those of steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Who asks.
    pub client: String,
    /// What for.
    pub call: String,
    /// What the client was told. `None`: nothing; whether it was done, or will be, is unknown.
    pub answer: Option<String>,
    /// Where it began.
    pub begun: usize,
    /// Where the client was told, gave up, or crashed; `None`: it waits still at the end.
    pub ended: Option<usize>,
    /// What its answer broke, or what it broke while it was under way.
    pub broke: Vec<Promise>,
}

impl Operation {
    /// The call and what came of it: `x0.compare_and_set(1, 2) → refused`, and `→ ?` where that is unknown.
    pub fn label(&self) -> String {
        labelled(&self.call, self.answer.as_deref())
    }

    /// Whether the client waits for it in this step, or begins or ends to.
    pub fn is_under_way(&self, position: usize) -> bool {
        self.begun <= position && self.ended.is_none_or(|ended| position <= ended)
    }
}

/// A call and what came of it, if that is known.
pub fn labelled(call: &str, answer: Option<&str>) -> String {
    format!("{call} → {}", answer.unwrap_or("?"))
}

/// Every operation of the run, in the order of their beginnings.
pub fn operations(events: &[JsonEvent]) -> Vec<Operation> {
    let mut operations: Vec<Operation> = Vec::new();
    for (position, event) in events.iter().enumerate() {
        for end in &event.operations {
            match end {
                JsonOperation::Invoked { client, call } => operations.push(Operation {
                    client: client.clone(),
                    call: call.clone(),
                    answer: None,
                    begun: position,
                    ended: None,
                    broke: Vec::new(),
                }),
                JsonOperation::Returned { client, answer } => {
                    if let Some(operation) = under_way(&mut operations, client) {
                        operation.ended = Some(position);
                        operation.answer = Some(answer.clone());
                    }
                }
                JsonOperation::Unknown { client } => end_unknown(&mut operations, client, position),
            }
        }
        if let ("crashed", Some(node)) = (event.what, &event.node) {
            end_unknown(&mut operations, node, position);
        }
        for violation in &event.violations {
            // A client has one call at a time: the latest is the one that came back in this step, or is under way.
            let latest = operations.iter_mut().rfind(|operation| operation.client == violation.client);
            if let Some(operation) = latest.filter(|operation| operation.is_under_way(position)) {
                operation.broke.push(violation.property);
            }
        }
    }
    operations
}

fn under_way<'a>(operations: &'a mut [Operation], client: &str) -> Option<&'a mut Operation> {
    operations.iter_mut().rfind(|operation| operation.ended.is_none() && operation.client == client)
}

fn end_unknown(operations: &mut [Operation], client: &str, position: usize) {
    if let Some(operation) = under_way(operations, client) {
        operation.ended = Some(position);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::toy;

    #[test]
    fn an_operation_lasts_from_its_call_to_its_answer() {
        let operations = operations(&toy::calls());
        let lasts: Vec<(&str, usize, Option<usize>)> = operations
            .iter()
            .map(|operation| (operation.client.as_str(), operation.begun, operation.ended))
            .collect();
        assert_eq!(
            lasts,
            [("A", 0, Some(4)), ("B", 2, Some(11)), ("A", 6, Some(7)), ("A", 12, Some(12)), ("A", 13, None)]
        );
        assert_eq!(operations[0].label(), "x0.compare_and_set(1, 2) → refused");
        assert!(operations[0].is_under_way(0) && operations[0].is_under_way(4));
        assert!(!operations[0].is_under_way(5));
    }

    #[test]
    fn what_came_of_a_call_that_was_given_up_or_cut_short_by_a_crash_is_unknown() {
        let operations = operations(&toy::calls());
        let unknown: Vec<String> =
            operations.iter().filter(|operation| operation.answer.is_none()).map(Operation::label).collect();
        assert_eq!(unknown, ["x0.write(7) → ?", "x0.delete() → ?"]);
        let mut crashed = toy::calls();
        crashed[12].what = "crashed";
        crashed[12].node = Some("B".to_owned());
        assert_eq!(super::operations(&crashed), operations, "B waits for nothing then");
        crashed[14].what = "crashed";
        crashed[14].node = Some("A".to_owned());
        assert_eq!(super::operations(&crashed)[4].ended, Some(14));
    }

    #[test]
    fn who_broke_a_promise_did_so_with_the_call_that_was_answered_then() {
        let operations = operations(&toy::calls());
        let broke: Vec<bool> = operations.iter().map(|operation| !operation.broke.is_empty()).collect();
        assert_eq!(broke, [false, true, false, false, false]);
    }
}
