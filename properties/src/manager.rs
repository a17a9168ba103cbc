//! The judge of a lock manager's users: whoever believes to have locks on one resource has them in modes that go together.
//!
//! Source: the lock-manager article, *Distributed lock manager*, "Режимы блокировки"; `__dlm_compat_matrix` in Linux, `fs/dlm/lock.c`.
//!
//! A lock of a manager is not taken and given back like others: it is converted while it is held, and a client may have several. So
//! what counts is not the beginning and end of a critical section but what a client goes by ([`Event::Has`]): from the moment at which
//! it is told that it has a mode, to the one at which it asks for less. The promise is [`Promise::MutualExclusion`], by the table of six
//! modes ([`AccessModes::DLM`]).

use crate::Promise;
use crate::access::{Access, AccessModes};
use crate::history::{ClientId, Event, LockId};
use crate::monitor::{Having, Violation};
use crate::object::Judge;
use crate::promise_set::PromiseSet;
use serde::{Deserialize, Serialize};

/// Who has what, of the locks that keep anybody out.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct ManagerMonitors {
    promises: PromiseSet,
    /// In order, at most one for each resource and client; none of a mode that bears everything.
    had: Vec<(LockId, ClientId, Access)>,
}

impl ManagerMonitors {
    fn other(&self, event: Event) -> Option<(ClientId, Access)> {
        let Event::Has { client, resource, access: Some(_) } = event else { return None };
        let is_other = |had: &&(LockId, ClientId, Access)| had.0 == resource && had.1 != client;
        self.had.iter().find(is_other).map(|(_, other, mode)| (*other, *mode))
    }
}

impl Judge for ManagerMonitors {
    fn new(promises: PromiseSet) -> ManagerMonitors {
        let watched = [Promise::MutualExclusion].into_iter().collect();
        ManagerMonitors { promises: promises.intersection(watched), had: Vec::new() }
    }

    fn observe(&mut self, event: Event, on_violation: &mut dyn FnMut(Violation)) {
        if self.promises.is_empty() {
            return;
        }
        match event {
            Event::Has { client, resource, access } => {
                self.had.retain(|(on, whose, _)| (*on, *whose) != (resource, client));
                let modes = AccessModes::DLM;
                let Some(mode) = access else { return };
                if modes.iter().all(|other| modes.compatible(mode, other)) {
                    return;
                }
                let met = self.had.iter().find(|had| had.0 == resource && !modes.compatible(mode, had.2));
                if let Some((_, other, theirs)) = met.copied() {
                    on_violation(Violation {
                        modes: Some([modes.name(mode), modes.name(theirs)]),
                        having: Having::IsGranted,
                        ..Violation::new(Promise::MutualExclusion, client, other)
                    });
                }
                let had = (resource, client, mode);
                let place = self.had.binary_search(&had).unwrap_or_else(|place| place);
                self.had.insert(place, had);
            }
            Event::Crashed { client } => self.had.retain(|(_, whose, _)| *whose != client),
            // Whatever else happens, it is not what anybody has.
            _ => {}
        }
    }

    /// By whoever comes to have a lock beside another one that keeps somebody out.
    fn tested_by(&self, event: Event) -> PromiseSet {
        if self.other(event).is_some() { self.promises } else { PromiseSet::EMPTY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::*;

    fn has(client: ClientId, resource: u8, mode: &str) -> Event {
        Event::Has { client, resource: LockId(resource), access: AccessModes::DLM.named(mode) }
    }

    fn broken(history: &[Event]) -> Vec<(ClientId, ClientId, Vec<String>)> {
        let (mut judge, mut broken) = (ManagerMonitors::new(PromiseSet::ALL), Vec::new());
        for event in history {
            judge.observe(*event, &mut |violation| {
                let modes = violation.modes.into_iter().flatten().map(String::from).collect();
                broken.push((violation.client, violation.other, modes));
            });
        }
        broken
    }

    #[test]
    fn two_that_do_not_go_together_are_rejected_and_two_that_do_are_not() {
        let modes = AccessModes::DLM;
        for one in modes.iter() {
            for other in modes.iter() {
                let [first, second] = [one, other].map(|mode| modes.name(mode).as_str().to_owned());
                let found = broken(&[has(A, 0, &first), has(B, 0, &second)]);
                let expected = match modes.compatible(one, other) {
                    true => vec![],
                    false => vec![(B, A, vec![second.clone(), first.clone()])],
                };
                assert_eq!(found, expected, "{first} {second}");
            }
        }
    }

    #[test]
    fn a_violation_is_told_of_what_they_have_and_not_of_a_critical_section() {
        let (mut judge, mut told) = (ManagerMonitors::new(PromiseSet::ALL), Vec::new());
        for event in [has(A, 0, "PR"), has(B, 0, "EX")] {
            judge.observe(event, &mut |violation| told.push(violation.having));
        }
        assert_eq!(told, [Having::IsGranted]);
    }

    #[test]
    fn a_reader_that_goes_up_beside_another_reader_is_rejected() {
        let readers = [has(A, 0, "PR"), has(B, 0, "PR")];
        assert_eq!(broken(&readers), []);
        assert_eq!(broken(&[&readers[..], &[has(A, 0, "EX")]].concat()).len(), 1);
    }

    #[test]
    fn who_has_gone_down_or_off_or_died_or_is_elsewhere_is_in_nobodys_way() {
        let none = Event::Has { client: A, resource: LockId(0), access: None };
        for between in [has(A, 0, "NL"), has(A, 0, "CR"), none, crashed(A)] {
            assert_eq!(broken(&[has(A, 0, "EX"), between, has(B, 0, "PW")]), [], "{between:?}");
        }
        assert_eq!(broken(&[has(A, 0, "EX"), has(B, 1, "EX")]), []);
    }

    #[test]
    fn a_lock_is_put_to_the_test_by_another_one_and_an_unwatched_promise_by_none() {
        let mut judge = ManagerMonitors::new(PromiseSet::ALL);
        assert!(judge.tested_by(has(A, 0, "EX")).is_empty());
        judge.observe(has(A, 0, "CR"), &mut |_| {});
        assert!(judge.tested_by(has(B, 0, "CW")).contains(Promise::MutualExclusion));
        let none = ManagerMonitors::new(PromiseSet::objects());
        let mut fed = none.clone();
        fed.observe(has(A, 0, "EX"), &mut |_| {});
        assert_eq!(fed, none);
    }
}
