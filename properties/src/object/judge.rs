//! A judge folds the events of a system into violations: what an engine carries in every state, whatever the system is.

use crate::history::Event;
use crate::monitor::Violation;
use crate::promise_set::PromiseSet;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::hash::Hash;

/// Judges the history of a system, event by event.
///
/// A judge is part of every state of an exhaustive search. It holds only what it needs to judge what is still to come, and
/// two judges that will judge alike should be equal and have the same bytes.
pub trait Judge:
    Clone + Default + Eq + Ord + Hash + Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Watches those of these promises that the judge knows how to judge.
    fn new(promises: PromiseSet) -> Self;

    /// Takes the next event of the history, and reports the promises that it breaks, in the order of
    /// [`Promise::ALL`](crate::Promise::ALL).
    fn observe(&mut self, event: Event, on_violation: &mut dyn FnMut(Violation));

    /// Told that a fault strikes a node or a message now, which is in no history: a judge that has to know whether everything went
    /// smoothly remembers it. It is not told of wrong clocks: nothing is done twice, or not at all, by those alone. Nor is it told whether
    /// anything came of the fault: what follows a lost message that nobody misses counts as put to the test.
    fn struck(&mut self) {}

    /// The watched promises that this event, coming next, puts to the test.
    fn tested_by(&self, event: Event) -> PromiseSet;
}

/// Judges nothing, in no bytes.
impl Judge for () {
    fn new(_promises: PromiseSet) {}

    fn observe(&mut self, _event: Event, _on_violation: &mut dyn FnMut(Violation)) {}

    fn tested_by(&self, _event: Event) -> PromiseSet {
        PromiseSet::EMPTY
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    #[test]
    fn nothing_judges_nothing_in_no_bytes() {
        <() as Judge>::new(PromiseSet::ALL);
        for event in [granted(A), granted(B)] {
            assert_eq!(().tested_by(event), PromiseSet::EMPTY);
            ().observe(event, &mut |violation| panic!("{violation:?}"));
        }
        assert!(postcard::to_stdvec(&()).unwrap().is_empty());
    }
}
