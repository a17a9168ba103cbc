//! Calls of a shared object, in a run that has none.

use super::overlap;
use picklock_engine::report::{JsonEvent, JsonEvents, JsonOperation};

/// The steps of [`overlap`], with calls of a shared object in them. The answer to B comes where a promise breaks.
pub fn calls() -> Vec<JsonEvent> {
    let mut events = JsonEvents::default();
    overlap(&mut events);
    let mut events = events.finish();
    let invoked = |client: &str, call: &str| JsonOperation::Invoked {
        client: client.to_owned(),
        call: call.to_owned(),
    };
    let returned = |client: &str, answer: &str| JsonOperation::Returned {
        client: client.to_owned(),
        answer: answer.to_owned(),
    };
    for (position, operation) in [
        (0, invoked("A", "x0.compare_and_set(1, 2)")),
        (2, invoked("B", "x0.read()")),
        (4, returned("A", "refused")),
        (6, invoked("A", "x0.write(7)")),
        (7, JsonOperation::Unknown { client: "A".to_owned() }),
        (11, returned("B", "1")),
        (12, invoked("A", "x0.read()")),
        (12, returned("A", "7")),
        (13, invoked("A", "x0.delete()")),
    ] {
        events[position].operations.push(operation);
    }
    events
}
