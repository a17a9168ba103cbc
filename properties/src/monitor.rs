//! A monitor folds the events of a run into a verdict.

use crate::Promise;
use crate::access::{AccessModes, ModeName};
use crate::history::{ClientId, ClientSet, Event, FencingToken, HoldId, Mode, ServerSet};
use crate::object::{ObjectAnswer, ObjectCall};
use crate::usage::Usage;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::hash::Hash;

/// Whether an event keeps the promise.
pub type Verdict = Result<(), Violation>;

/// Judges one promise, event by event.
///
/// A monitor holds only what it needs to judge what is still to come: it is hashed with every state of an exhaustive
/// search, and a monitor that kept the history would make every path a state of its own. Two histories after which the
/// same futures are violations should leave equal monitors.
///
/// There is one method for each kind of event. A monitor says what it does at those that concern its promise; at all
/// others nothing happens. Those for which modes of access may matter are told the usage of the lock, which says who may hold
/// beside whom.
pub trait Monitor: Clone + Eq + Hash + std::fmt::Debug {
    /// Takes the next event of the history of a lock with one mode of access; `Err` if it breaks the promise. After an `Err`
    /// the monitor goes on as if the event had been legal, so that a run can be watched past its first violation.
    fn observe(&mut self, event: Event) -> Verdict {
        self.observe_beside(event, &Usage::default())
    }

    /// [`Monitor::observe`] for a lock with any modes: `usage` is folded from the same history, this event included.
    fn observe_beside(&mut self, event: Event, usage: &Usage) -> Verdict {
        match event {
            Event::Called { client, mode, access: _ } => self.on_called(client, mode, usage),
            Event::FoundFree { client } => self.on_found_free(client),
            Event::Enqueued { client, lock: _ } => self.on_enqueued(client),
            Event::Granted { client, fence, hold } => self.on_granted(client, fence, hold, usage),
            Event::Refused { client } => self.on_refused(client),
            Event::Left { client } => self.on_left(client),
            Event::Lost { client } => self.on_lost(client),
            Event::Released { client } => self.on_released(client),
            Event::Renewed { client } => self.on_renewed(client, usage),
            Event::Crashed { client } => self.on_crashed(client),
            Event::ResourceRead { client, hold } => self.on_resource_read(client, hold),
            Event::Accepted { client, fence: _, hold } => self.on_accepted(client, hold, usage),
            Event::Rejected { client, fence: _, hold } => self.on_rejected(client, hold),
            Event::RowRead { client, saw } => self.on_row_read(client, saw),
            Event::Secured { client, servers } => self.on_secured(client, servers),
            Event::Acquired { client, lock: _ } => self.on_acquired(client, usage),
            Event::RecordGone { client, lock: _, server } => self.on_record_gone(client, server),
            Event::RecordWritten { client, lock: _ } => self.on_record_written(client, usage),
            Event::Woken { client } => self.on_woken(client, usage),
            Event::Written { client } => self.on_written(client),
            Event::ReadBegun { client } => self.on_read_begun(client),
            Event::TimeGiven { client, less } => self.on_time_given(client, less),
            Event::Invoked { client, call } => self.on_invoked(client, call),
            Event::Returned { client, answer } => self.on_returned(client, answer),
            Event::Unknown { client } => self.on_unknown(client),
            Event::Input { client, stream, value } => self.on_input(client, stream, value),
            Event::Output { client, value } => self.on_output(client, value),
            Event::Counted { client } => self.on_counted(client),
            Event::Settled { client } => self.on_settled(client),
            Event::RecordMade { client, lock: _, server } => self.on_record_made(client, server, usage),
            Event::Notified { client, lock: _, of } => self.on_notified(client, of),
            // Not of a lock that is taken and given back: a judge of its own watches it.
            Event::Has { .. } => Ok(()),
        }
    }

    /// A hold is over, however it ended: by default what leaving, losing the lease and crashing come to.
    fn on_hold_ended(&mut self, _client: ClientId) {}

    /// A call is over: by default what being refused, a finished release, a crash and the beginning of the next call come
    /// to.
    fn on_call_ended(&mut self, _client: ClientId) {}

    /// [`Event::Called`].
    fn on_called(&mut self, client: ClientId, _mode: Mode, _usage: &Usage) -> Verdict {
        self.on_call_ended(client);
        Ok(())
    }

    /// [`Event::FoundFree`].
    fn on_found_free(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::Enqueued`].
    fn on_enqueued(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::Granted`].
    fn on_granted(
        &mut self,
        _client: ClientId,
        _fence: Option<FencingToken>,
        _hold: HoldId,
        _usage: &Usage,
    ) -> Verdict {
        Ok(())
    }

    /// [`Event::Refused`].
    fn on_refused(&mut self, client: ClientId) -> Verdict {
        self.on_call_ended(client);
        Ok(())
    }

    /// [`Event::Left`].
    fn on_left(&mut self, client: ClientId) -> Verdict {
        self.on_hold_ended(client);
        Ok(())
    }

    /// [`Event::Lost`].
    fn on_lost(&mut self, client: ClientId) -> Verdict {
        self.on_hold_ended(client);
        Ok(())
    }

    /// [`Event::Released`].
    fn on_released(&mut self, client: ClientId) -> Verdict {
        self.on_call_ended(client);
        Ok(())
    }

    /// [`Event::Renewed`].
    fn on_renewed(&mut self, _client: ClientId, _usage: &Usage) -> Verdict {
        Ok(())
    }

    /// [`Event::Crashed`].
    fn on_crashed(&mut self, client: ClientId) -> Verdict {
        self.on_hold_ended(client);
        self.on_call_ended(client);
        Ok(())
    }

    /// [`Event::ResourceRead`].
    fn on_resource_read(&mut self, _client: ClientId, _hold: HoldId) -> Verdict {
        Ok(())
    }

    /// [`Event::Accepted`].
    fn on_accepted(&mut self, _client: ClientId, _hold: Option<HoldId>, _usage: &Usage) -> Verdict {
        Ok(())
    }

    /// [`Event::Rejected`].
    fn on_rejected(&mut self, _client: ClientId, _hold: Option<HoldId>) -> Verdict {
        Ok(())
    }

    /// [`Event::RowRead`].
    fn on_row_read(&mut self, _client: ClientId, _saw: ClientSet) -> Verdict {
        Ok(())
    }

    /// [`Event::Secured`].
    fn on_secured(&mut self, _client: ClientId, _servers: ServerSet) -> Verdict {
        Ok(())
    }

    /// [`Event::Acquired`].
    fn on_acquired(&mut self, _client: ClientId, _usage: &Usage) -> Verdict {
        Ok(())
    }

    /// [`Event::RecordGone`].
    fn on_record_gone(&mut self, _client: ClientId, _server: u8) -> Verdict {
        Ok(())
    }

    /// [`Event::RecordWritten`].
    fn on_record_written(&mut self, _client: ClientId, _usage: &Usage) -> Verdict {
        Ok(())
    }

    /// [`Event::RecordMade`].
    fn on_record_made(&mut self, _client: ClientId, _server: u8, _usage: &Usage) -> Verdict {
        Ok(())
    }

    /// [`Event::Woken`].
    fn on_woken(&mut self, _client: ClientId, _usage: &Usage) -> Verdict {
        Ok(())
    }

    /// [`Event::Notified`].
    fn on_notified(&mut self, _client: ClientId, _of: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::Written`].
    fn on_written(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::ReadBegun`].
    fn on_read_begun(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::TimeGiven`].
    fn on_time_given(&mut self, _client: ClientId, _less: bool) -> Verdict {
        Ok(())
    }

    /// [`Event::Invoked`].
    fn on_invoked(&mut self, _client: ClientId, _call: ObjectCall) -> Verdict {
        Ok(())
    }

    /// [`Event::Returned`].
    fn on_returned(&mut self, _client: ClientId, _answer: ObjectAnswer) -> Verdict {
        Ok(())
    }

    /// [`Event::Unknown`].
    fn on_unknown(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::Input`].
    fn on_input(&mut self, _client: ClientId, _stream: u8, _value: i32) -> Verdict {
        Ok(())
    }

    /// [`Event::Output`].
    fn on_output(&mut self, _client: ClientId, _value: i32) -> Verdict {
        Ok(())
    }

    /// [`Event::Counted`].
    fn on_counted(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// [`Event::Settled`].
    fn on_settled(&mut self, _client: ClientId) -> Verdict {
        Ok(())
    }

    /// The clients have other numbers from now on: client *n* has number `numbers[n]`, and who is not among them keeps his. The
    /// monitor is then as if all that it has observed had been done under these numbers. By default nothing changes, which is right
    /// for whoever remembers no client.
    fn renumber_clients(&mut self, _numbers: &[u8]) {}

    /// Shows every number of a hold that the monitor remembers, so that an engine can renumber a client's holds.
    fn each_hold(&mut self, _show: &mut dyn FnMut(ClientId, &mut HoldId)) {}

    /// Shows every fencing token that the monitor remembers, so that an engine can move tokens that are times.
    fn each_token(&mut self, _show: &mut dyn FnMut(&mut FencingToken)) {}

    /// Forgets the holds of which the engine knows that nothing can arrive from them any more.
    fn forget_holds(&mut self, _is_over: &dyn Fn(ClientId, HoldId) -> bool) {}
}

/// A promise was broken: which one, by whom, against whom. Two are the same if that is: in which modes, and by what, follows from the
/// history, and a state that comes back from its bytes is to be the state that it was.
#[derive(Clone, Copy, Debug)]
pub struct Violation {
    /// The broken promise.
    pub promise: Promise,
    /// The client whose step broke it.
    pub client: ClientId,
    /// The other party: the client that already held, was overtaken, was superseded by… `client` itself where there
    /// is no second one.
    pub other: ClientId,
    /// The modes of access of both, in that order, where they matter and the lock has more than one.
    pub modes: Option<[ModeName; 2]>,
    /// What the two do with what does not go together.
    pub having: Having,
}

/// What clients do with what they have, so that a violation can be told in words that are true of them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Having {
    /// They enter a critical section, and hold while they are in it.
    #[default]
    Enters,
    /// They are granted something and have it, whether they work with it or not ([`Event::Has`](crate::Event::Has)).
    IsGranted,
}

impl Having {
    fn is_usual(&self) -> bool {
        *self == Having::Enters
    }
}

impl Violation {
    /// Of a promise to which modes of access do not matter, or of a lock that has one.
    pub fn new(promise: Promise, client: ClientId, other: ClientId) -> Violation {
        Violation { promise, client, other, modes: None, having: Having::Enters }
    }

    /// The two hold in modes that do not go together, or too many hold in them.
    pub(crate) fn of_modes(promise: Promise, client: ClientId, other: ClientId, usage: &Usage) -> Violation {
        let accesses = &usage.accesses;
        let names = || [client, other].map(|whose| accesses.modes().name(accesses.of(whose)));
        let modes = (*accesses.modes() != AccessModes::EXCLUSIVE).then(names);
        Violation { modes, ..Violation::new(promise, client, other) }
    }
}

impl Violation {
    fn what(&self) -> (Promise, ClientId, ClientId) {
        (self.promise, self.client, self.other)
    }
}

impl PartialEq for Violation {
    fn eq(&self, other: &Violation) -> bool {
        self.what() == other.what()
    }
}

impl Eq for Violation {}

impl PartialOrd for Violation {
    fn partial_cmp(&self, other: &Violation) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Violation {
    fn cmp(&self, other: &Violation) -> std::cmp::Ordering {
        self.what().cmp(&other.what())
    }
}

impl std::hash::Hash for Violation {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.what().hash(state);
    }
}

/// Who and what goes into the bytes of a state; the names of modes are for readers, and go where those read.
impl Serialize for Violation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Violation { promise, client, other, modes, having } = *self;
        match serializer.is_human_readable() {
            true => Told { promise, client, other, modes, having }.serialize(serializer),
            false => (promise, client, other).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Violation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Violation, D::Error> {
        if deserializer.is_human_readable() {
            let Told { promise, client, other, modes, having } = Told::deserialize(deserializer)?;
            return Ok(Violation { promise, client, other, modes, having });
        }
        let (promise, client, other) = Deserialize::deserialize(deserializer)?;
        Ok(Violation::new(promise, client, other))
    }
}

#[derive(Serialize, Deserialize)]
struct Told {
    promise: Promise,
    client: ClientId,
    other: ClientId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    modes: Option<[ModeName; 2]>,
    #[serde(default, skip_serializing_if = "Having::is_usual")]
    having: Having,
}
