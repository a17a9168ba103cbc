//! What an event means to whoever runs, counts and shows a run.
//!
//! Engines know no [`Event`] by its name: they ask what it counts as, what it says of who holds, and how it is told. A new event of a
//! new system answers these questions here, and no engine hears of it.

use crate::access::{Access, AccessModes, Accesses};
use crate::history::{ClientId, ClientSet, Event, FencingToken, HoldId, LockId, Mode, ServerSet};
use crate::object::{ObjectAnswer, ObjectCall};

/// What an event counts as, in the numbers that tell how much of a run was about anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tally {
    /// Somebody was put into a queue.
    Enqueued,
    /// A grant of a lock.
    Grant,
    /// A refusal.
    Refusal,
    /// A call ended with the lock given back.
    Release,
    /// A lease was prolonged.
    Renewal,
    /// A client noticed that its lease was gone.
    LostLease,
    /// The resource accepted a write.
    Accepted,
    /// The resource turned a write down.
    Rejected,
    /// A client read what others had written down.
    RowRead,
    /// A record was gone without its client's doing.
    RecordGone,
    /// A waiter was told that something had changed.
    Woken,
    /// A call of a shared object came back.
    Answer,
    /// A call of a shared object was given up.
    Unknown,
    /// Something came out of a stream's handler.
    Output,
}

/// What an event says of the client's hold of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// It begins.
    Begins,
    /// The lease it rests on was prolonged.
    Prolonged,
    /// It ends: the client leaves by itself.
    Left,
    /// It ends: the client noticed that its lease is gone.
    Lost,
    /// What is left of it in the store is gone, too.
    Released,
}

/// What an event is of an operation on a shared object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallPart {
    /// Its beginning.
    Invoked(ObjectCall),
    /// Its end.
    Returned(ObjectAnswer),
    /// It was given up.
    Unknown,
}

/// How much of the eye's attention what an event is told by deserves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Emphasis {
    /// As much as any step.
    Plain,
    /// More.
    Strong,
    /// Somebody holds from here on.
    Holds,
}

impl Event {
    /// The client's process ended.
    pub fn crashed(client: ClientId) -> Event {
        Event::Crashed { client }
    }

    /// What it counts as, if anything.
    pub fn tally(&self) -> Option<Tally> {
        match self {
            Event::Enqueued { .. } => Some(Tally::Enqueued),
            Event::Granted { .. } => Some(Tally::Grant),
            Event::Refused { .. } => Some(Tally::Refusal),
            Event::Released { .. } => Some(Tally::Release),
            Event::Renewed { .. } => Some(Tally::Renewal),
            Event::Lost { .. } => Some(Tally::LostLease),
            Event::Accepted { .. } => Some(Tally::Accepted),
            Event::Rejected { .. } => Some(Tally::Rejected),
            Event::RowRead { .. } => Some(Tally::RowRead),
            Event::RecordGone { .. } => Some(Tally::RecordGone),
            Event::Woken { .. } => Some(Tally::Woken),
            Event::Returned { .. } => Some(Tally::Answer),
            Event::Unknown { .. } => Some(Tally::Unknown),
            Event::Output { .. } | Event::Counted { .. } => Some(Tally::Output),
            Event::Called { .. }
            | Event::FoundFree { .. }
            | Event::Left { .. }
            | Event::Crashed { .. }
            | Event::ResourceRead { .. }
            | Event::Secured { .. }
            | Event::Acquired { .. }
            | Event::RecordWritten { .. }
            | Event::Written { .. }
            | Event::ReadBegun { .. }
            | Event::TimeGiven { .. }
            | Event::Invoked { .. }
            | Event::Input { .. }
            | Event::Settled { .. }
            | Event::Has { .. }
            | Event::RecordMade { .. }
            | Event::Notified { .. } => None,
        }
    }

    /// What it says of the client's hold, if anything.
    pub fn hold(&self) -> Option<Hold> {
        match self {
            Event::Granted { .. } => Some(Hold::Begins),
            Event::Renewed { .. } => Some(Hold::Prolonged),
            Event::Left { .. } => Some(Hold::Left),
            Event::Lost { .. } => Some(Hold::Lost),
            Event::Released { .. } => Some(Hold::Released),
            Event::Called { .. }
            | Event::FoundFree { .. }
            | Event::Enqueued { .. }
            | Event::Refused { .. }
            | Event::Crashed { .. }
            | Event::ResourceRead { .. }
            | Event::Accepted { .. }
            | Event::Rejected { .. }
            | Event::RowRead { .. }
            | Event::Secured { .. }
            | Event::Acquired { .. }
            | Event::RecordGone { .. }
            | Event::RecordWritten { .. }
            | Event::TimeGiven { .. }
            | Event::Woken { .. }
            | Event::Written { .. }
            | Event::ReadBegun { .. }
            | Event::Invoked { .. }
            | Event::Returned { .. }
            | Event::Unknown { .. }
            | Event::Input { .. }
            | Event::Output { .. }
            | Event::Counted { .. }
            | Event::Settled { .. }
            | Event::Has { .. }
            | Event::RecordMade { .. }
            | Event::Notified { .. } => None,
        }
    }

    /// Whether somebody's turn begins or ends with it: a run in which that goes on is busy.
    pub fn changes_hands(&self) -> bool {
        match (self.hold(), self.tally()) {
            (Some(Hold::Begins | Hold::Left | Hold::Released), _)
            | (_, Some(Tally::Refusal | Tally::Answer)) => true,
            (Some(Hold::Prolonged | Hold::Lost) | None, _) => false,
        }
    }

    /// What it is of an operation on a shared object; `None` where it is neither its beginning nor its end.
    pub fn call_part(&self) -> Option<CallPart> {
        match *self {
            Event::Invoked { call, .. } => Some(CallPart::Invoked(call)),
            Event::Returned { answer, .. } => Some(CallPart::Returned(answer)),
            Event::Unknown { .. } => Some(CallPart::Unknown),
            _ => None,
        }
    }

    /// The same without what tells apart runs that do the same: its token is changed as `blank` says, and a hold has no number.
    #[must_use]
    pub fn without_numbers(self, mut blank: impl FnMut(&mut FencingToken)) -> Event {
        let mut blank = |mut fence: Option<FencingToken>| {
            fence.iter_mut().for_each(&mut blank);
            fence
        };
        match self {
            Event::Granted { client, fence, hold: _ } => {
                Event::Granted { client, fence: blank(fence), hold: HoldId(0) }
            }
            Event::ResourceRead { client, hold: _ } => Event::ResourceRead { client, hold: HoldId(0) },
            Event::Accepted { client, fence, hold: _ } => {
                Event::Accepted { client, fence: blank(fence), hold: None }
            }
            Event::Rejected { client, fence, hold: _ } => {
                Event::Rejected { client, fence: blank(fence), hold: None }
            }
            event => event,
        }
    }

    /// What it is called in JSON: verb first, then who. `accesses` is in which mode everybody asks or holds once it has happened.
    pub fn words(&self, accesses: &Accesses) -> String {
        let client = self.client();
        match self {
            Event::Called { mode, access, .. } => {
                format!("called {client} {}{}", mode_words(*mode), access_words(accesses, *access))
            }
            Event::FoundFree { .. } => format!("found-free {client}"),
            Event::Enqueued { .. } => format!("enqueued {client}"),
            Event::Granted { fence, .. } => {
                let access = access_words(accesses, accesses.of(client));
                format!("granted {client}{access}{}", fence_words(*fence))
            }
            Event::Refused { .. } => format!("refused {client}"),
            Event::Left { .. } => format!("left {client}"),
            Event::Lost { .. } => format!("lost {client}"),
            Event::Released { .. } => format!("released {client}"),
            Event::Renewed { .. } => format!("renewed {client}"),
            Event::Crashed { .. } => format!("crashed {client}"),
            Event::ResourceRead { .. } => format!("resource-read {client}"),
            Event::Accepted { fence, .. } => format!("accepted {client}{}", fence_words(*fence)),
            Event::Rejected { fence, .. } => format!("rejected {client}{}", fence_words(*fence)),
            Event::RowRead { saw, .. } => format!("row-read {client} saw {saw:?}"),
            Event::Secured { servers, .. } => {
                let count = servers.len();
                format!("secured {client} on {count} server{}", if count == 1 { "" } else { "s" })
            }
            Event::Acquired { .. } => format!("acquired {client}"),
            Event::RecordGone { server, .. } => format!("record-gone {client} on s{}", server + 1),
            Event::RecordWritten { .. } => format!("record-written {client}"),
            Event::Woken { .. } => format!("woken {client}"),
            Event::Written { .. } => format!("written {client}"),
            Event::ReadBegun { .. } => format!("read-begun {client}"),
            Event::Invoked { call, .. } => format!("invoked {client} {call}"),
            Event::Returned { answer, .. } => format!("returned {client} {answer}"),
            Event::Unknown { .. } => format!("unknown {client}"),
            Event::Input { stream, value, .. } => format!("input {client} {value} into stream {stream}"),
            Event::Output { value, .. } => format!("output {client} {value}"),
            Event::Counted { .. } => format!("counted {client}"),
            Event::Settled { .. } => format!("settled {client}"),
            Event::Has { access, resource, .. } => {
                format!("has {client} {} on R{}", mode_had(accesses, *access), resource.0 + 1)
            }
            Event::RecordMade { server, .. } => format!("record-made {client} on s{}", server + 1),
            Event::Notified { of, .. } => format!("notified {client} of {of}"),
            Event::TimeGiven { less, .. } => {
                format!(
                    "time-given {client} {}",
                    if *less { "less than before" } else { "as before or more" }
                )
            }
        }
    }

    /// How it is told beside the step that it is of; `None` for what the step itself shows.
    pub fn told(&self, accesses: &Accesses) -> Option<(Emphasis, String)> {
        let plain = |words: String| Some((Emphasis::Plain, words));
        let strong = |words: String| Some((Emphasis::Strong, words));
        match self {
            Event::Called { mode, access, .. } => {
                strong(format!("calls {}{}", mode_words(*mode), access_words(accesses, *access)))
            }
            Event::FoundFree { .. } => plain("found the lock free".to_owned()),
            Event::Enqueued { .. } => plain("is in the queue".to_owned()),
            Event::Granted { client, fence, .. } => {
                let access = access_words(accesses, accesses.of(*client));
                Some((Emphasis::Holds, format!("HOLDS{access}{}", fence_words(*fence))))
            }
            Event::Refused { .. } => strong("refused".to_owned()),
            Event::Left { .. } => strong("leaves".to_owned()),
            Event::Lost { .. } => strong("lease lost: leaves".to_owned()),
            Event::Released { .. } => strong("released".to_owned()),
            Event::Renewed { .. } => plain("lease prolonged".to_owned()),
            Event::ResourceRead { client, .. } => plain(format!("{client} reads")),
            Event::Accepted { .. } => strong("accepted".to_owned()),
            Event::Rejected { .. } => strong("turned down".to_owned()),
            Event::Written { .. } => strong("knows it is written, and tells".to_owned()),
            Event::ReadBegun { .. } => strong("begins to read".to_owned()),
            Event::Invoked { call, .. } => strong(call.to_string()),
            Event::Unknown { .. } => strong("gives the call up".to_owned()),
            Event::Input { stream, value, .. } => plain(format!("{value} into stream {stream}")),
            Event::Output { client, value } => strong(format!("{client} put out {value}")),
            Event::Counted { client } => strong(format!("{client} raised the counter")),
            Event::Settled { .. } => plain("all is handled".to_owned()),
            Event::Has { access, resource, .. } => {
                strong(format!("{} on R{}", mode_had(accesses, *access), resource.0 + 1))
            }
            Event::Secured { servers, .. } => {
                let plural = if servers.len() == 1 { "" } else { "s" };
                plain(format!("has it on {} server{plural}", servers.len()))
            }
            Event::Acquired { client, .. } => plain(format!("it is {client}'s")),
            Event::RecordGone { client, .. } => strong(format!("{client}'s record is gone")),
            Event::RecordWritten { client, .. } => plain(format!("{client}'s record is written")),
            Event::TimeGiven { less: true, .. } => strong("less than before".to_owned()),
            // The fault itself, the message read, the server's answer, and what came of a call are shown already.
            Event::Crashed { .. }
            | Event::RecordMade { .. }
            | Event::Notified { .. }
            | Event::RowRead { .. }
            | Event::Woken { .. }
            | Event::Returned { .. }
            | Event::TimeGiven { less: false, .. } => None,
        }
    }
}

/// In which of the system's modes a client has what it has.
fn mode_had(accesses: &Accesses, access: Option<Access>) -> String {
    access.map_or_else(|| "nothing".to_owned(), |access| accesses.modes().name(access).to_string())
}

fn mode_words(mode: Mode) -> &'static str {
    match mode {
        Mode::Lock => "lock",
        Mode::TryLock => "try_lock",
    }
}

/// ` (read)`, or nothing for a lock that has but one mode of access.
fn access_words(accesses: &Accesses, access: Access) -> String {
    match *accesses.modes() {
        AccessModes::EXCLUSIVE => String::new(),
        modes => format!(" ({})", modes.name(access)),
    }
}

/// ` token 5`, or nothing.
fn fence_words(fence: Option<FencingToken>) -> String {
    fence.map_or_else(String::new, |token| format!(" {token}"))
}

impl Event {
    /// One event of each kind, for tests that are to leave none out.
    #[doc(hidden)]
    pub fn one_of_each() -> Vec<Event> {
        let first = Event::Called { client: ClientId(0), mode: Mode::Lock, access: Access::FIRST };
        std::iter::successors(Some(first), next_kind).collect()
    }
}

/// Without `_`: a new kind of event has to be put in here.
fn next_kind(event: &Event) -> Option<Event> {
    let client = ClientId(0);
    let lock = LockId(0);
    Some(match event {
        Event::Called { .. } => Event::FoundFree { client },
        Event::FoundFree { .. } => Event::Enqueued { client, lock },
        Event::Enqueued { .. } => Event::Granted { client, fence: None, hold: HoldId(1) },
        Event::Granted { .. } => Event::Refused { client },
        Event::Refused { .. } => Event::Left { client },
        Event::Left { .. } => Event::Lost { client },
        Event::Lost { .. } => Event::Released { client },
        Event::Released { .. } => Event::Renewed { client },
        Event::Renewed { .. } => Event::Crashed { client },
        Event::Crashed { .. } => Event::ResourceRead { client, hold: HoldId(1) },
        Event::ResourceRead { .. } => Event::Accepted { client, fence: None, hold: None },
        Event::Accepted { .. } => Event::Rejected { client, fence: None, hold: None },
        Event::Rejected { .. } => Event::RowRead { client, saw: ClientSet::EMPTY },
        Event::RowRead { .. } => Event::Secured { client, servers: ServerSet::EMPTY },
        Event::Secured { .. } => Event::Acquired { client, lock },
        Event::Acquired { .. } => Event::RecordGone { client, lock, server: 0 },
        Event::RecordGone { .. } => Event::RecordWritten { client, lock },
        Event::RecordWritten { .. } => Event::Woken { client },
        Event::Woken { .. } => Event::Written { client },
        Event::Written { .. } => Event::ReadBegun { client },
        Event::ReadBegun { .. } => Event::TimeGiven { client, less: false },
        Event::TimeGiven { .. } => Event::Invoked { client, call: ObjectCall::Glance },
        Event::Invoked { .. } => Event::Returned { client, answer: ObjectAnswer::Done },
        Event::Returned { .. } => Event::Unknown { client },
        Event::Unknown { .. } => Event::Input { client, stream: 0, value: 1 },
        Event::Input { .. } => Event::Output { client, value: 1 },
        Event::Output { .. } => Event::Counted { client },
        Event::Counted { .. } => Event::Settled { client },
        Event::Settled { .. } => Event::Has { client, resource: lock, access: None },
        Event::Has { .. } => Event::RecordMade { client, lock, server: 0 },
        Event::RecordMade { .. } => Event::Notified { client, lock, of: ClientId(1) },
        Event::Notified { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_names_a_mode_of_access_where_there_are_several() {
        let client = ClientId(1);
        let call = Event::Called { client, mode: Mode::Lock, access: Access(1) };
        let granted = Event::Granted { client, fence: Some(FencingToken(5)), hold: HoldId(1) };
        let mut accesses = Accesses::new(AccessModes::SHARED_EXCLUSIVE);
        accesses.set(client, Access(1));
        assert_eq!(call.words(&accesses), "called B lock (read)");
        assert_eq!(granted.words(&accesses), "granted B (read) token 5");
        assert_eq!(granted.words(&Accesses::default()), "granted B token 5");
    }

    #[test]
    fn without_numbers_two_holds_of_one_client_are_alike() {
        let granted = |token, hold| Event::Granted {
            client: ClientId(0),
            fence: Some(FencingToken(token)),
            hold: HoldId(hold),
        };
        let blank = |token: &mut FencingToken| *token = FencingToken(0);
        assert_eq!(granted(1, 1).without_numbers(blank), granted(2, 2).without_numbers(blank));
        assert_ne!(granted(1, 1).without_numbers(|_| {}), granted(2, 2).without_numbers(|_| {}));
    }
}
