//! The monitors of shared objects against references that keep the whole history, and against the checker.
//!
//! - histories: what clients of objects may see, most of it as it should be, some of it not
//! - what calls do, written down once more, by replaying them from the beginning
//! - linearizable and conserved: every order of the calls is tried
//! - the queue: the definitions word by word
//! - exactly once: every order of the inputs is tried
//! - monitor and checker against each other; long histories
//! - how often all of this had anything to judge

mod long_history;

use picklock_properties::{
    ClientId, Conservation, Event, ExactlyOnce, Handler, IndexNeverFalls, Judge, Linearizable, Monitor,
    NoDuplicate, NoHole, NoOverwrite, ObjectAnswer, ObjectCall, ObjectId, ObjectMonitors, Operation, Promise,
    PromiseSet, Queue, check, check_objects,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, TestRunner};
use std::collections::{BTreeMap, BTreeSet};

const CLIENTS: u8 = 3;

/// Of which objects a history is.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Variables,
    Accounts,
    Queues,
    /// One queue, of which half of the pushes are given up and hardly an answer is wrong.
    LostPushes,
}

impl Kind {
    fn is_given_up(self, call: ObjectCall, choice: u8) -> bool {
        match (self, call) {
            (Kind::LostPushes, ObjectCall::Push { .. }) => choice.is_multiple_of(2),
            (Kind::LostPushes, _) => false,
            (Kind::Variables | Kind::Accounts | Kind::Queues, _) => choice.is_multiple_of(9),
        }
    }

    /// What decides how an answer is told; 7 of 8 is wrong.
    fn noise(self, noise: u8) -> u8 {
        match self {
            Kind::LostPushes if noise < 232 => noise & !4,
            Kind::LostPushes => noise | 7,
            Kind::Variables | Kind::Accounts | Kind::Queues => noise,
        }
    }
}

/// All objects, as they are after some calls one after the other.
#[derive(Clone, Default)]
struct World {
    /// Every value that a variable ever had.
    variables: BTreeMap<ObjectId, Vec<Option<i32>>>,
    queues: BTreeMap<ObjectId, Vec<i32>>,
    sum: i64,
}

impl World {
    /// Does the call, which is told `told`, or nobody knows what; what it should be told.
    fn call(&mut self, call: ObjectCall, told: Option<ObjectAnswer>) -> ObjectAnswer {
        match call {
            ObjectCall::Add { amount, .. } => self.sum += i64::from(amount),
            ObjectCall::Withdraw { .. } | ObjectCall::Transfer { .. }
                if told == Some(ObjectAnswer::Refused) =>
            {
                return ObjectAnswer::Refused;
            }
            ObjectCall::Withdraw { amount, .. } => self.sum -= i64::from(amount),
            ObjectCall::Transfer { .. } => {}
            ObjectCall::Audit => return ObjectAnswer::Total { total: self.sum as i32 },
            ObjectCall::Glance => {
                return match told {
                    Some(ObjectAnswer::Total { total }) if i64::from(total) <= self.sum => {
                        ObjectAnswer::Total { total }
                    }
                    _ => ObjectAnswer::Total { total: self.sum as i32 },
                };
            }
            ObjectCall::Push { queue, item } => {
                let items = self.queues.entry(queue).or_default();
                items.push(item);
                return ObjectAnswer::Pushed { position: items.len() as u32 - 1 };
            }
            ObjectCall::ReadAt { queue, position } => {
                let items = self.queues.entry(queue).or_default();
                return ObjectAnswer::Item { item: items.get(position as usize).copied() };
            }
            ObjectCall::ReadIndex { queue } => {
                let end = self.queues.entry(queue).or_default().len() as u32;
                return match told {
                    Some(ObjectAnswer::Index { index }) if index <= end => ObjectAnswer::Index { index },
                    _ => ObjectAnswer::Index { index: end },
                };
            }
            ObjectCall::Handle => unreachable!("nobody handles streams here"),
            ObjectCall::Read { variable }
            | ObjectCall::Write { variable, .. }
            | ObjectCall::CompareAndSet { variable, .. }
            | ObjectCall::CompareAndSetVersion { variable, .. }
            | ObjectCall::Delete { variable } => return self.call_variable(variable, call, told),
        }
        ObjectAnswer::Done
    }

    fn call_variable(
        &mut self,
        variable: ObjectId,
        call: ObjectCall,
        told: Option<ObjectAnswer>,
    ) -> ObjectAnswer {
        let values = self.variables.entry(variable).or_default();
        let value = values.last().copied().flatten();
        let version = if value.is_some() { values.len() as u32 } else { 0 };
        let new = match call {
            ObjectCall::Read { .. } => {
                let is_untold = matches!(told, Some(ObjectAnswer::Value { version: None, .. }));
                return ObjectAnswer::Value { value, version: (!is_untold).then_some(version) };
            }
            ObjectCall::Write { value, .. } => Some(value),
            ObjectCall::CompareAndSet { expected, new, .. } if expected == value => Some(new),
            ObjectCall::CompareAndSetVersion { version: expected, new, .. } if expected == version => {
                Some(new)
            }
            ObjectCall::Delete { .. } if value.is_some() => None,
            ObjectCall::Delete { .. } => return ObjectAnswer::Done,
            _ => return ObjectAnswer::Refused,
        };
        values.push(new);
        ObjectAnswer::Done
    }
}

/// What a client has under way: its call, and what it will be told once it is done.
type Doing = Option<(ObjectCall, Option<ObjectAnswer>)>;

/// Histories of objects that do what they should at moments of their own, but for an answer now and then.
fn histories(kind: Kind, length: usize) -> impl Strategy<Value = Vec<Event>> {
    let step = (0..CLIENTS, any::<u8>(), any::<u8>());
    proptest::collection::vec(step, 0..length).prop_map(move |steps| {
        let mut world = World::default();
        let mut doing: [Doing; CLIENTS as usize] = [None; CLIENTS as usize];
        let take = |(client, choice, noise): (u8, u8, u8)| {
            let id = ClientId(client);
            let doing = &mut doing[usize::from(client)];
            match *doing {
                None => {
                    let call = call(kind, choice, noise);
                    *doing = Some((call, None));
                    Some(Event::Invoked { client: id, call })
                }
                Some((call, _)) if kind.is_given_up(call, choice) => {
                    *doing = None;
                    let crashed = choice.is_multiple_of(2);
                    Some(if crashed { Event::Crashed { client: id } } else { Event::Unknown { client: id } })
                }
                Some((call, None)) => {
                    let refused = (noise.is_multiple_of(4)).then_some(ObjectAnswer::Refused);
                    *doing = Some((call, Some(world.call(call, refused))));
                    // Half of them come back at once.
                    choice.is_multiple_of(2).then(|| returned(id, doing, kind.noise(noise)))
                }
                Some((_, Some(_))) => Some(returned(id, doing, kind.noise(noise))),
            }
        };
        steps.into_iter().filter_map(take).collect()
    })
}

fn returned(client: ClientId, doing: &mut Doing, noise: u8) -> Event {
    let (call, answer) = doing.take().expect("the call is done");
    let right = answer.expect("the call is done");
    let small = i32::from(noise % 4);
    let answer = match (right, noise % 8) {
        (ObjectAnswer::Value { value, .. }, 0..=2) => ObjectAnswer::Value { value, version: None },
        (ObjectAnswer::Index { index }, 0..=3) => ObjectAnswer::Index { index: index.saturating_sub(1) },
        (ObjectAnswer::Total { total }, 4..=5) if call == ObjectCall::Glance => {
            ObjectAnswer::Total { total: total - 1 }
        }
        (_, 7) => match right {
            ObjectAnswer::Done => ObjectAnswer::Done,
            ObjectAnswer::Refused => ObjectAnswer::Done,
            ObjectAnswer::Value { version, .. } => ObjectAnswer::Value { value: Some(small), version },
            ObjectAnswer::Pushed { position } => ObjectAnswer::Pushed { position: position + 1 },
            ObjectAnswer::Item { item } => {
                ObjectAnswer::Item { item: (item.is_none() || noise & 16 == 0).then_some(small) }
            }
            ObjectAnswer::Index { index } => ObjectAnswer::Index { index: index + 1 },
            ObjectAnswer::Total { total } => ObjectAnswer::Total { total: total + 1 },
        },
        _ => right,
    };
    Event::Returned { client, answer }
}

fn call(kind: Kind, choice: u8, noise: u8) -> ObjectCall {
    let object = ObjectId(u8::from(noise.is_multiple_of(5)));
    let small = i32::from(noise % 3);
    match (kind, choice % 8) {
        (Kind::Variables, 0..=2) => ObjectCall::Read { variable: object },
        (Kind::Variables, 3) => ObjectCall::Write { variable: object, value: small },
        (Kind::Variables, 4..=5) => {
            let expected = (!noise.is_multiple_of(4)).then_some(i32::from(noise % 2));
            ObjectCall::CompareAndSet { variable: object, expected, new: small }
        }
        (Kind::Variables, 6) => {
            ObjectCall::CompareAndSetVersion { variable: object, version: u32::from(noise % 4), new: small }
        }
        (Kind::Variables, _) => ObjectCall::Delete { variable: object },
        (Kind::Accounts, 0..=1) => ObjectCall::Add { account: object, amount: u32::from(noise % 3) },
        (Kind::Accounts, 2..=3) => ObjectCall::Withdraw { account: object, amount: u32::from(noise % 3) },
        (Kind::Accounts, 4) => ObjectCall::Transfer { from: ObjectId(0), to: ObjectId(1), amount: 1 },
        (Kind::Accounts, 5) => ObjectCall::Glance,
        (Kind::Accounts, _) => ObjectCall::Audit,
        (Kind::Queues, 0..=2) => ObjectCall::Push { queue: object, item: small },
        (Kind::Queues, 3..=5) => ObjectCall::ReadAt { queue: object, position: u32::from(noise % 4) },
        (Kind::Queues, _) => ObjectCall::ReadIndex { queue: object },
        (Kind::LostPushes, 0..=3) => ObjectCall::Push { queue: ObjectId(0), item: i32::from(noise % 5) },
        (Kind::LostPushes, 4..=6) => {
            ObjectCall::ReadAt { queue: ObjectId(0), position: u32::from(noise % 7) }
        }
        (Kind::LostPushes, _) => ObjectCall::ReadIndex { queue: ObjectId(0) },
    }
}

/// The operations of a history, the times being the places of the events.
fn operations(history: &[Event]) -> Vec<Operation<ObjectCall, ObjectAnswer>> {
    let mut operations: Vec<Operation<ObjectCall, ObjectAnswer>> = Vec::new();
    let mut under_way = BTreeMap::new();
    for (at, event) in history.iter().enumerate() {
        match *event {
            Event::Invoked { client, call } => {
                under_way.insert(client, operations.len());
                operations.push(Operation { client, call, invoked_at: at as u64, returned: None });
            }
            Event::Returned { client, answer } => {
                let place: usize = under_way.remove(&client).expect("the call began");
                operations[place].returned = Some((at as u64, answer));
            }
            _ => {
                under_way.remove(&event.client());
            }
        }
    }
    operations
}

/// Whether some order explains the operations: any may be next that began before every one that is left came back. Everything is
/// tried, and replayed from the beginning.
fn is_explained(
    order: &mut Vec<Operation<ObjectCall, ObjectAnswer>>,
    left: &[Operation<ObjectCall, ObjectAnswer>],
) -> bool {
    let mut world = World::default();
    let is_right = order.iter().all(|operation| {
        let told = operation.returned.map(|(_, told)| told);
        let given = world.call(operation.call, told);
        told.is_none_or(|told| told == given)
    });
    if !is_right {
        return false;
    }
    let ends = left.iter().filter_map(|operation| operation.returned.map(|(at, _)| at));
    let Some(deadline) = ends.min() else { return true };
    (0..left.len()).any(|place| {
        if left[place].invoked_at > deadline {
            return false;
        }
        let mut left = left.to_vec();
        order.push(left.remove(place));
        let is_explained = is_explained(order, &left);
        order.pop();
        is_explained
    })
}

/// The first event after which no order explains what came before.
fn first_unexplained(history: &[Event]) -> Option<usize> {
    (0..history.len()).find(|last| {
        matches!(history[*last], Event::Returned { .. })
            && !is_explained(&mut Vec::new(), &operations(&history[..=*last]))
    })
}

fn first_broken(mut monitor: impl Monitor, history: &[Event]) -> Option<usize> {
    history.iter().position(|event| monitor.observe(*event).is_err())
}

fn broken(mut monitor: impl Monitor, history: &[Event]) -> Vec<bool> {
    history.iter().map(|event| monitor.observe(*event).is_err()).collect()
}

/// The call that comes back with the last event, where it began, and what it is told.
fn last_call(history: &[Event]) -> Option<(usize, ObjectCall, ObjectAnswer)> {
    let (last, before) = history.split_last()?;
    let Event::Returned { client, answer } = *last else { return None };
    let began = before.iter().rposition(|event| event.client() == client)?;
    match before[began] {
        Event::Invoked { call, .. } => Some((began, call, answer)),
        _ => None,
    }
}

/// Applies a judgement of (everything up to the event) to every event.
fn reference(history: &[Event], is_broken: impl Fn(&[Event]) -> bool) -> Vec<bool> {
    (1..=history.len()).map(|end| is_broken(&history[..end])).collect()
}

/// Which item the last event shows, and where.
fn shown(history: &[Event]) -> Option<(ObjectId, u32, Option<i32>)> {
    match last_call(history)? {
        (_, ObjectCall::Push { queue, item }, ObjectAnswer::Pushed { position }) => {
            Some((queue, position, Some(item)))
        }
        (_, ObjectCall::ReadAt { queue, position }, ObjectAnswer::Item { item }) => {
            Some((queue, position, item))
        }
        _ => None,
    }
}

fn no_hole(history: &[Event]) -> bool {
    let Some((began, ObjectCall::ReadAt { queue, position }, ObjectAnswer::Item { item: None })) =
        last_call(history)
    else {
        return false;
    };
    (1..=began).any(|end| match last_call(&history[..end]) {
        Some((_, ObjectCall::ReadIndex { queue: of }, ObjectAnswer::Index { index })) => {
            of == queue && index > position
        }
        _ => shown(&history[..end])
            .is_some_and(|(of, filled, item)| of == queue && item.is_some() && filled > position),
    })
}

/// What is known to be at a position: what was shown last, unless it was found to be gone.
fn known(queue: ObjectId, position: u32, history: &[Event]) -> Option<i32> {
    let end = (1..=history.len()).rev().find(|end| match shown(&history[..*end]) {
        Some((of, at, item)) => {
            (of, at) == (queue, position) && (item.is_some() || no_overwrite(&history[..*end]))
        }
        None => false,
    })?;
    shown(&history[..end]).and_then(|(_, _, item)| item)
}

fn no_overwrite(history: &[Event]) -> bool {
    let Some((queue, position, item)) = shown(history) else { return false };
    let (began, ..) = last_call(history).expect("something is shown by an answer");
    let now = known(queue, position, &history[..history.len() - 1]);
    match item {
        Some(item) => now.is_some_and(|known| known != item),
        None => now.is_some() && known(queue, position, &history[..began]).is_some(),
    }
}

fn no_duplicate(history: &[Event]) -> bool {
    let Some((queue, position, Some(item))) = shown(history) else { return false };
    let before = (1..history.len()).filter_map(|end| shown(&history[..end]));
    let places: BTreeSet<u32> =
        before.filter(|(of, _, what)| (*of, *what) == (queue, Some(item))).map(|(_, at, _)| at).collect();
    let is_push = |event: &&Event| matches!(event, Event::Invoked { call, .. } if *call == ObjectCall::Push { queue, item });
    !places.contains(&position) && places.len() + 1 > history.iter().filter(is_push).count()
}

fn index_never_falls(history: &[Event]) -> bool {
    let Some((began, ObjectCall::ReadIndex { queue }, ObjectAnswer::Index { index })) = last_call(history)
    else {
        return false;
    };
    (1..=began).any(|end| match last_call(&history[..end]) {
        Some((_, ObjectCall::ReadIndex { queue: of }, ObjectAnswer::Index { index: earlier })) => {
            of == queue && earlier > index
        }
        _ => false,
    })
}

const STREAMS: u8 = 2;

/// Handlers that put out what they should, mostly, of a few inputs that come now and then.
fn streams() -> impl Strategy<Value = (Handler, Vec<Event>)> {
    let handler = (0..4u8, 0..3u8).prop_map(|(window, boundary)| Handler { window, boundary });
    let step = (any::<u8>(), any::<u8>());
    (handler, proptest::collection::vec(step, 0..22)).prop_map(|(handler, steps)| {
        let (mut inputs, mut held, mut history) =
            (vec![Vec::new(); usize::from(STREAMS)], Vec::new(), Vec::new());
        let mut count = 0;
        for (choice, noise) in steps {
            let (client, stream) = (ClientId(choice / 16 % 2), usize::from(noise % STREAMS));
            match choice % 10 {
                0..=2 if count < 6 => {
                    let value = i32::from(noise % 5) - 1;
                    inputs[stream].push(value);
                    count += 1;
                    history.push(Event::Input { client: ClientId(5), stream: stream as u8, value });
                }
                0..=6 if !inputs[stream].is_empty() => {
                    let (value, counts) = handler.step(&mut held, inputs[stream].remove(0));
                    history.push(Event::Output { client, value });
                    if counts && noise < 230 {
                        history.push(Event::Counted { client });
                    }
                }
                7 => history.push(Event::Settled { client }),
                8 if noise < 60 => history.push(Event::Counted { client }),
                8 if noise < 90 => history.push(Event::Output { client, value: i32::from(noise % 3) }),
                _ => history.push(Event::Crashed { client }),
            }
        }
        (handler, history)
    })
}

/// What one handler does that takes the streams in this order: what it puts out, and whether it counts. `None` if a stream has not so
/// many.
fn run(handler: Handler, order: &[u8], inputs: &[Vec<i32>]) -> Option<Vec<(i32, bool)>> {
    let (mut taken, mut held) = ([0; STREAMS as usize], Vec::new());
    let mut steps = Vec::new();
    for stream in order {
        let taken = &mut taken[usize::from(*stream)];
        steps.push(handler.step(&mut held, *inputs[usize::from(*stream)].get(*taken)?));
        *taken += 1;
    }
    Some(steps)
}

fn inputs(history: &[Event]) -> Vec<Vec<i32>> {
    let of = |stream: u8| {
        let value = move |event: &Event| match *event {
            Event::Input { stream: into, value, .. } if into == stream => Some(value),
            _ => None,
        };
        history.iter().filter_map(value).collect()
    };
    (0..STREAMS).map(of).collect()
}

fn orders(length: usize) -> Vec<Vec<u8>> {
    (0..1u32 << length).map(|bits| (0..length).map(|place| (bits >> place & 1) as u8).collect()).collect()
}

/// Whether a handler that takes the streams in this order is one that all events fit to: what came out was the next that it puts out, of
/// what had come in by then; and what was counted it counts, if not by then, then by going on.
fn fits(handler: Handler, order: &[u8], history: &[Event]) -> bool {
    let (mut outputs, mut counted) = (0, 0);
    for (place, event) in history.iter().enumerate() {
        let available = inputs(&history[..place]);
        match event {
            Event::Output { value, .. } => {
                outputs += 1;
                let steps = run(handler, &order[..outputs], &available);
                if steps.is_none_or(|steps| steps[outputs - 1].0 != *value) {
                    return false;
                }
            }
            Event::Counted { .. } => {
                counted += 1;
                let all = available.iter().map(Vec::len).sum::<usize>();
                let goes_on = orders(all).into_iter().filter(|longer| longer.starts_with(&order[..outputs]));
                let mut runs = goes_on.filter_map(|longer| run(handler, &longer, &available));
                if !runs.any(|steps| steps.iter().filter(|(_, counts)| *counts).count() >= counted) {
                    return false;
                }
            }
            Event::Settled { .. } => {
                let steps = run(handler, &order[..outputs], &available).expect("it has put them out");
                let counts = steps.iter().filter(|(_, counts)| *counts).count();
                if outputs != available.iter().map(Vec::len).sum::<usize>() || counts != counted {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

fn first_unrefined(handler: Handler, history: &[Event]) -> Option<usize> {
    (0..history.len()).find(|last| {
        let history = &history[..=*last];
        let outputs = history.iter().filter(|event| matches!(event, Event::Output { .. })).count();
        !orders(outputs).iter().any(|order| fits(handler, order, history))
    })
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/object_references.proptest-regressions",
        ))),
        ..ProptestConfig::with_cases(600)
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn variables_are_linearizable_when_some_order_explains_them(history in histories(Kind::Variables, 22)) {
        prop_assert_eq!(first_broken(Linearizable::default(), &history), first_unexplained(&history));
    }

    #[test]
    fn queues_are_linearizable_when_some_order_explains_them(history in histories(Kind::Queues, 22)) {
        prop_assert_eq!(first_broken(Linearizable::default(), &history), first_unexplained(&history));
    }

    #[test]
    fn money_is_conserved_when_some_order_explains_the_sums(history in histories(Kind::Accounts, 22)) {
        prop_assert_eq!(first_broken(Conservation::default(), &history), first_unexplained(&history));
    }

    #[test]
    fn monitor_and_checker_agree_on_variables(history in histories(Kind::Variables, 60)) {
        let checked = check_objects(&operations(&history)).is_err();
        prop_assert_eq!(first_broken(Linearizable::default(), &history).is_some(), checked);
    }

    #[test]
    fn monitor_and_checker_agree_on_queues(history in histories(Kind::Queues, 60)) {
        let searched = check::<Queue>(&operations(&history)).is_err();
        prop_assert_eq!(first_broken(Linearizable::default(), &history).is_some(), searched);
        prop_assert_eq!(check_objects(&operations(&history)).is_err(), searched);
    }

    #[test]
    fn monitor_and_checker_agree_on_queues_with_lost_pushes(history in histories(Kind::LostPushes, 40)) {
        let searched = check::<Queue>(&operations(&history)).is_err();
        prop_assert_eq!(first_broken(Linearizable::default(), &history).is_some(), searched);
        prop_assert_eq!(check_objects(&operations(&history)).is_err(), searched);
    }

    #[test]
    fn the_queue_keeps_its_promises_when_their_definitions_say_so(history in histories(Kind::Queues, 60)) {
        prop_assert_eq!(broken(NoHole::default(), &history), reference(&history, no_hole));
        prop_assert_eq!(broken(NoOverwrite::default(), &history), reference(&history, no_overwrite));
        prop_assert_eq!(broken(NoDuplicate::default(), &history), reference(&history, no_duplicate));
        prop_assert_eq!(broken(IndexNeverFalls::default(), &history), reference(&history, index_never_falls));
    }

    #[test]
    fn what_came_out_is_right_when_one_handler_would_put_it_out((handler, history) in streams()) {
        prop_assert_eq!(first_broken(ExactlyOnce::of(handler), &history), first_unrefined(handler, &history));
    }

    #[test]
    fn the_composite_reports_what_its_monitors_would_and_comes_back_from_its_bytes(
        history in prop_oneof![histories(Kind::Variables, 40), histories(Kind::Queues, 40), histories(Kind::Accounts, 40)],
        bits in 0u32..1 << 7,
    ) {
        let all: Vec<Promise> = PromiseSet::objects().iter().collect();
        let wanted: PromiseSet = all.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, promise)| *promise).collect();
        let mut judge = ObjectMonitors::new(wanted);
        let mut alone: Vec<_> = wanted.iter().map(|promise| ObjectMonitors::new([promise].into_iter().collect())).collect();
        for event in history {
            let (mut together, mut apart) = (Vec::new(), Vec::new());
            judge.observe(event, &mut |violation| together.push(violation));
            alone.iter_mut().for_each(|judge| judge.observe(event, &mut |violation| apart.push(violation)));
            prop_assert_eq!(together, apart);
            let bytes = postcard::to_stdvec(&judge).unwrap();
            judge = postcard::from_bytes(&bytes).unwrap();
            prop_assert_eq!(postcard::to_stdvec(&judge).unwrap(), bytes);
        }
    }
}

#[test]
fn ten_thousand_operations_are_judged_and_one_wrong_answer_among_them_is_found() {
    let mut history = long_history::long_history(10_000);
    assert_eq!(check_objects(&history), Ok(()));
    let seen =
        |operation: &Operation<_, _>| matches!(operation.returned, Some((_, ObjectAnswer::Value { .. })));
    let late = history.iter().rposition(seen).expect("somebody reads");
    let at = history[late].returned.expect("it came back").0;
    // Nobody writes such a value.
    history[late].returned = Some((at, ObjectAnswer::Value { value: Some(-1), version: None }));
    assert_eq!(check_objects(&history).map_err(|error| error.operation), Err(late));
}

/// Of the histories drawn, how many break the promise.
fn broken_share(
    mut is_broken: impl FnMut(&[Event]) -> bool,
    histories: impl Strategy<Value = Vec<Event>>,
) -> usize {
    let mut runner = TestRunner::deterministic();
    (0..200)
        .filter(|_| is_broken(&histories.new_tree(&mut runner).expect("nothing is filtered").current()))
        .count()
}

#[test]
fn the_histories_drawn_break_every_promise_and_keep_it_too() {
    let any = |verdicts: Vec<bool>| verdicts.contains(&true);
    let lines = |history: &[Event]| first_broken(Linearizable::default(), history).is_some();
    let shares = [
        ("variables", broken_share(lines, histories(Kind::Variables, 22))),
        ("queues", broken_share(lines, histories(Kind::Queues, 22))),
        (
            "sums",
            broken_share(
                |history| first_broken(Conservation::default(), history).is_some(),
                histories(Kind::Accounts, 22),
            ),
        ),
        (
            "no hole",
            broken_share(|history| any(broken(NoHole::default(), history)), histories(Kind::Queues, 60)),
        ),
        (
            "no overwrite",
            broken_share(|history| any(broken(NoOverwrite::default(), history)), histories(Kind::Queues, 60)),
        ),
        (
            "no duplicate",
            broken_share(|history| any(broken(NoDuplicate::default(), history)), histories(Kind::Queues, 60)),
        ),
        (
            "index",
            broken_share(
                |history| any(broken(IndexNeverFalls::default(), history)),
                histories(Kind::Queues, 60),
            ),
        ),
        (
            "exactly once",
            broken_share(
                |history| first_broken(ExactlyOnce::default(), history).is_some(),
                streams().prop_map(|(_, history)| history),
            ),
        ),
    ];
    for (what, broken) in shares {
        assert!((10..=190).contains(&broken), "{what}: {broken} of 200, {shares:?}");
    }
}
