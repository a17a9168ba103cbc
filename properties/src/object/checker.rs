//! Whether a finished history is linearizable: the search of Wing and Gong with the memory of Lowe.
//!
//! Sources: J. M. Wing, C. Gong, "Testing and Verifying Concurrent Objects", 1993: try each call that began before any other one came
//! back as the first, and go on with the rest. G. Lowe, "Testing for linearizability", 2017: never go on twice from the same set of
//! done calls with the same state of the object. Objects are searched one by one, since a history is linearizable if it is for each.
//!
//! [`Linearizable`](crate::Linearizable) judges the same as it happens and keeps all that an object may be; this goes after one explanation
//! first, and bears histories of thousands of calls, of many clients, with times. Only queues are judged here as they are there: what a
//! queue may be is short to tell.

use super::appended::check_queue;
use super::call::{ObjectAnswer, ObjectCall};
use super::specification::Specification;
use super::variable::Variable;
use crate::history::ClientId;
use std::collections::{BTreeMap, BTreeSet};

/// One call of a history.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Operation<Call, Answer> {
    /// Who asked.
    pub client: ClientId,
    /// What it asked for.
    pub call: Call,
    /// When, in any unit.
    pub invoked_at: u64,
    /// When it came back, in the same unit, and with what; `None` if nobody knows what became of it. A call that came back when
    /// another one began counts as overlapping it.
    pub returned: Option<(u64, Answer)>,
}

/// No order of the calls explains the answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotLinearizable {
    /// The place of the operation at which the longest explanation ends: it had come back, and could not be placed any more.
    pub operation: usize,
    /// How many operations of its object that explanation places.
    pub explained: usize,
}

impl std::fmt::Display for NotLinearizable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let NotLinearizable { operation, explained } = self;
        write!(
            f,
            "no order explains operation {operation}, which is where {explained} others of its object lead"
        )
    }
}

impl std::error::Error for NotLinearizable {}

/// Whether the operations on variables and queues are linearizable, each object by itself; those on accounts are passed over. The
/// operations may be in any order.
///
/// # Errors
///
/// Some object is not; variables are judged before queues.
///
/// # Example
///
/// ```
/// use picklock_properties::{ClientId, ObjectAnswer, ObjectCall, ObjectId, Operation, check_objects};
///
/// let variable = ObjectId(0);
/// let write = Operation {
///     client: ClientId(0),
///     call: ObjectCall::Write { variable, value: 1 },
///     invoked_at: 10,
///     returned: Some((30, ObjectAnswer::Done)),
/// };
/// let read = |invoked_at: u64, value| Operation {
///     client: ClientId(1),
///     call: ObjectCall::Read { variable },
///     invoked_at,
///     returned: Some((invoked_at + 5, ObjectAnswer::Value { value, version: None })),
/// };
///
/// assert!(check_objects(&[write.clone(), read(15, None), read(21, Some(1)), read(40, Some(1))]).is_ok());
/// // It was seen, and then it was not.
/// let error = check_objects(&[write, read(15, Some(1)), read(21, None)]).unwrap_err();
/// assert_eq!(error.operation, 2);
/// ```
pub fn check_objects(operations: &[Operation<ObjectCall, ObjectAnswer>]) -> Result<(), NotLinearizable> {
    check_those::<Variable>(operations, |call| call.variable().is_some())?;
    let queues = by_object(operations, |operation| operation.call.queue());
    queues.into_values().try_for_each(|places| check_queue(operations, &places))
}

/// The places of the operations on each object.
fn by_object<Call, Answer, Object: Ord>(
    operations: &[Operation<Call, Answer>],
    object: impl Fn(&Operation<Call, Answer>) -> Option<Object>,
) -> BTreeMap<Object, Vec<usize>> {
    let mut objects = BTreeMap::<Object, Vec<usize>>::new();
    for (place, operation) in operations.iter().enumerate() {
        if let Some(object) = object(operation) {
            objects.entry(object).or_default().push(place);
        }
    }
    objects
}

/// Whether the operations are linearizable, each object by itself. They may be in any order.
///
/// # Errors
///
/// Some object is not: the one of which that is found first.
pub fn check<S: Specification>(operations: &[Operation<S::Call, S::Answer>]) -> Result<(), NotLinearizable> {
    check_those::<S>(operations, |_| true)
}

fn check_those<S: Specification>(
    operations: &[Operation<S::Call, S::Answer>],
    is_judged: impl Fn(&S::Call) -> bool,
) -> Result<(), NotLinearizable> {
    let object = |operation: &Operation<S::Call, S::Answer>| {
        is_judged(&operation.call).then(|| S::object(&operation.call))
    };
    let objects = by_object(operations, object);
    // One object may be hard to explain where another one is easily seen to be wrong: all are searched in turns, longer each time.
    let mut searches: Vec<_> =
        objects.into_values().map(|places| Search::<S>::new(operations, places)).collect();
    let mut moves = FIRST_TURN_MOVES;
    while !searches.is_empty() {
        let mut unfinished = Vec::new();
        for mut search in searches {
            match search.go_on(moves) {
                Some(verdict) => verdict?,
                None => unfinished.push(search),
            }
        }
        searches = unfinished;
        moves = moves.saturating_mul(2);
    }
    Ok(())
}

/// How many moves of the search an object has before it is another one's turn.
const FIRST_TURN_MOVES: u64 = 1 << 16;

/// The search through the operations of one object.
struct Search<'a, S: Specification> {
    operations: &'a [Operation<S::Call, S::Answer>],
    /// The operations, those that came back first, each part in the order of beginnings: an operation is known by its place here.
    places: Vec<usize>,
    /// How many came back.
    returned: usize,
    /// Of each one that did not, the one before it that asked for the same.
    twins: Vec<Option<usize>>,
    agenda: Agenda,
    done: Done,
    state: S::State,
    /// From where the search has gone on already.
    met: BTreeSet<(Box<[u64]>, S::State)>,
    trail: Vec<Step<S>>,
    /// Which moment is looked at: the beginning of an operation that may be next, or the end of one that was not.
    moment: usize,
    /// At such an end, which of those that never came back is tried next.
    next_unknown: usize,
    /// How many of those that came back are not done.
    left: usize,
    /// At whose end the longest trail so far ended, and how long it was.
    longest: Option<(usize, usize)>,
}

/// An operation that was done, and what to come back to.
struct Step<S: Specification> {
    id: usize,
    /// Where the search was.
    moment: usize,
    next_unknown: usize,
    before: S::State,
    /// What else may come of it.
    alternatives: Vec<S::State>,
}

impl<'a, S: Specification> Search<'a, S> {
    fn new(operations: &'a [Operation<S::Call, S::Answer>], mut places: Vec<usize>) -> Search<'a, S> {
        let state = S::State::default();
        // What nobody waits for and what changes nothing explains nothing.
        places.retain(|place| {
            let operation = &operations[*place];
            operation.returned.is_some() || S::may_change(&state, &operation.call)
        });
        places.sort_by_key(|place| (operations[*place].returned.is_none(), operations[*place].invoked_at));
        let returned = places.iter().filter(|place| operations[**place].returned.is_some()).count();
        let agenda = Agenda::new(places.iter().map(|place| {
            let operation = &operations[*place];
            (operation.invoked_at, operation.returned.as_ref().map(|(at, _)| *at))
        }));
        let mut latest = BTreeMap::new();
        let twins =
            (returned..places.len()).map(|id| latest.insert(&operations[places[id]].call, id)).collect();
        let done = Done::new(returned, places.len() - returned);
        Search {
            moment: agenda.first(),
            next_unknown: 0,
            left: returned,
            longest: None,
            operations,
            places,
            returned,
            twins,
            agenda,
            done,
            state,
            met: BTreeSet::new(),
            trail: Vec::new(),
        }
    }

    /// The verdict, unless it takes more moves than this.
    fn go_on(&mut self, moves: u64) -> Option<Result<(), NotLinearizable>> {
        for _ in 0..moves {
            if self.left == 0 {
                return Some(Ok(()));
            }
            let moment = self.moment;
            let (id, is_beginning) = self.agenda.at(moment);
            if is_beginning {
                if !self.advance(id) {
                    self.moment = self.agenda.after(moment);
                }
                continue;
            }
            // It came back here, and is not done. Perhaps something that never came back was done before…
            if let Some(id) = self.agenda.unknown(self.next_unknown, moment) {
                self.next_unknown += 1;
                if !self.done.contains(id) {
                    self.advance(id);
                }
                continue;
            }
            // …or else back to what could have been done otherwise.
            let explained = self.trail.len();
            let longest = self.longest.filter(|(_, length)| *length >= explained).unwrap_or((id, explained));
            self.longest = Some(longest);
            if !self.go_back() {
                let (id, explained) = longest;
                return Some(Err(NotLinearizable { operation: self.places[id], explained }));
            }
        }
        None
    }

    /// The states in which the operation may leave the object, answering as it did.
    ///
    /// One that did not come back need not be done, and so is done only where it changes something; and of several that ask for
    /// the same, the one that began first is done first.
    fn outcomes(&self, id: usize) -> Vec<S::State> {
        let Operation { call, returned, .. } = &self.operations[self.places[id]];
        let mut states = Vec::new();
        let twin = id.checked_sub(self.returned).and_then(|unknown| self.twins[unknown]);
        if twin.is_some_and(|twin| !self.done.contains(twin)) {
            return states;
        }
        S::outcomes(&self.state, call, &mut |state, given| {
            let is_possible = match returned {
                Some((_, told)) => S::agrees(call, &given, told),
                None => state != self.state,
            };
            if is_possible {
                states.push(state);
            }
        });
        states
    }

    /// Does the operation, if that leads to where the search has not gone on from before.
    fn advance(&mut self, id: usize) -> bool {
        let outcomes = self.outcomes(id);
        self.advance_to(id, outcomes)
    }

    /// Does the operation, with the last of these outcomes from which the search has not gone on before.
    fn advance_to(&mut self, id: usize, mut outcomes: Vec<S::State>) -> bool {
        self.done.set(id);
        while let Some(state) = outcomes.pop() {
            if self.met.insert((self.done.key(), state.clone())) {
                let before = std::mem::replace(&mut self.state, state);
                let (moment, next_unknown) = (self.moment, self.next_unknown);
                self.trail.push(Step { id, moment, next_unknown, before, alternatives: outcomes });
                if id < self.returned {
                    self.agenda.take_out(moment);
                    self.left -= 1;
                }
                (self.moment, self.next_unknown) = (self.agenda.first(), 0);
                return true;
            }
        }
        self.done.clear(id);
        false
    }

    /// Undoes what was done last, and goes on with what else may come of it or may be done instead; whether anything was done.
    fn go_back(&mut self) -> bool {
        let Some(Step { id, moment, next_unknown, before, alternatives }) = self.trail.pop() else {
            return false;
        };
        let is_returned = id < self.returned;
        if is_returned {
            self.agenda.put_back(moment);
            self.left += 1;
        }
        self.done.clear(id);
        self.state = before;
        (self.moment, self.next_unknown) = (moment, next_unknown);
        if !self.advance_to(id, alternatives) && is_returned {
            self.moment = self.agenda.after(moment);
        }
        true
    }
}

/// The beginnings and ends of the operations that came back and are not done, in the order of time: a doubly linked list, out of which
/// an operation is taken and into which it is put back in the opposite order.
///
/// Those that never came back are not in the list. They may be done at any time and need not be, so they are tried only where
/// nothing else goes on.
struct Agenda {
    /// Of each moment the operation, and whether it begins; the first is the head and stands for nothing.
    moments: Vec<(usize, bool)>,
    next: Vec<usize>,
    previous: Vec<usize>,
    /// Of each operation that came back the moment of its end.
    ends: Vec<usize>,
    /// Of each other one the moment of its beginning, in order.
    unknown: Vec<usize>,
}

impl Agenda {
    /// Of the operations in order, those that came back first.
    fn new(spans: impl Iterator<Item = (u64, Option<u64>)>) -> Agenda {
        let mut times = Vec::new();
        let mut ends = Vec::new();
        for (id, (invoked_at, returned_at)) in spans.enumerate() {
            // At the same time what begins is before what ends, so that both overlap.
            times.push((invoked_at, false, id));
            if let Some(at) = returned_at {
                times.push((at.max(invoked_at), true, id));
                ends.push(0);
            }
        }
        times.sort_unstable();
        let mut moments = vec![(0, false)];
        let mut unknown = Vec::new();
        let mut linked = vec![0];
        for (_, is_end, id) in times {
            let moment = moments.len();
            moments.push((id, !is_end));
            if id >= ends.len() {
                unknown.push(moment);
                continue;
            }
            linked.push(moment);
            if is_end {
                ends[id] = moment;
            }
        }
        let (mut next, mut previous) = (vec![0; moments.len()], vec![0; moments.len()]);
        for (place, moment) in linked.iter().enumerate() {
            let after = linked[(place + 1) % linked.len()];
            next[*moment] = after;
            previous[after] = *moment;
        }
        Agenda { moments, next, previous, ends, unknown }
    }

    /// The operation that comes at this place of those that never came back, if it began before that moment.
    fn unknown(&self, place: usize, moment: usize) -> Option<usize> {
        self.unknown.get(place).filter(|began| **began < moment).map(|began| self.moments[*began].0)
    }

    fn first(&self) -> usize {
        self.next[0]
    }

    fn after(&self, moment: usize) -> usize {
        self.next[moment]
    }

    fn at(&self, moment: usize) -> (usize, bool) {
        debug_assert_ne!(moment, 0, "an operation that came back and is not done has its end ahead");
        self.moments[moment]
    }

    fn take_out(&mut self, beginning: usize) {
        for moment in [beginning, self.ends[self.moments[beginning].0]] {
            let (previous, next) = (self.previous[moment], self.next[moment]);
            self.next[previous] = next;
            self.previous[next] = previous;
        }
    }

    fn put_back(&mut self, beginning: usize) {
        for moment in [self.ends[self.moments[beginning].0], beginning] {
            let (previous, next) = (self.previous[moment], self.next[moment]);
            self.next[previous] = moment;
            self.previous[next] = moment;
        }
    }
}

/// Which operations are done, one bit for each.
struct Done {
    /// Those that came back, in the order of beginnings: ones up to a point, and zeros from a little later on.
    returned: Vec<u64>,
    /// Those that did not.
    unknown: Vec<u64>,
    returned_count: usize,
    /// All words before this one are full; all from `end` on are empty.
    start: usize,
    end: usize,
}

impl Done {
    fn new(returned: usize, unknown: usize) -> Done {
        Done {
            returned: vec![0; returned.div_ceil(64)],
            unknown: vec![0; unknown.div_ceil(64)],
            returned_count: returned,
            start: 0,
            end: 0,
        }
    }

    fn word(&mut self, id: usize) -> (&mut u64, u64) {
        match id.checked_sub(self.returned_count) {
            None => (&mut self.returned[id / 64], 1 << (id % 64)),
            Some(id) => (&mut self.unknown[id / 64], 1 << (id % 64)),
        }
    }

    fn contains(&self, id: usize) -> bool {
        let (words, id) = match id.checked_sub(self.returned_count) {
            None => (&self.returned, id),
            Some(id) => (&self.unknown, id),
        };
        words[id / 64] & (1 << (id % 64)) != 0
    }

    fn set(&mut self, id: usize) {
        let (word, bit) = self.word(id);
        *word |= bit;
        if id < self.returned_count {
            self.end = self.end.max(id / 64 + 1);
            while self.returned.get(self.start) == Some(&u64::MAX) {
                self.start += 1;
            }
        }
    }

    fn clear(&mut self, id: usize) {
        let (word, bit) = self.word(id);
        *word &= !bit;
        if id < self.returned_count {
            self.start = self.start.min(id / 64);
            while self.end > 0 && self.returned[self.end - 1] == 0 {
                self.end -= 1;
            }
        }
    }

    /// The same for equal sets and for no others, and short.
    fn key(&self) -> Box<[u64]> {
        let window = &self.returned[self.start.min(self.end)..self.end];
        [&[self.start as u64][..], &self.unknown, window].concat().into_boxed_slice()
    }
}
