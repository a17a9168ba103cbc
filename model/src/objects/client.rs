//! A client of shared objects: it draws what to do, does it with the algorithm of the object, and repeats what is not answered.

use super::cells::{Ask, Cell, Cells, Heard, Here, Question, Version, Word};
use crate::machine::{Data, Effects, Line, Message, Node, Owner, Store, Visitor};
use crate::names::Words;
use crate::system::{Process, ProcessContext, System};
use crate::time::{Due, Micros, Monotonic};
use crate::workload::{ROUNDS_WITHOUT_END, Workload};
use picklock_properties::{ClientId, Event, Judge, ObjectAnswer, ObjectCall, ObjectMonitors, PromiseSet};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::marker::PhantomData;

/// One operation of an object under way, as a machine over variables: entered at its beginning and with what each of its requests
/// came to. What it does next is a [`Next`].
pub trait Object: Data {
    /// The variant: named knobs.
    type Settings: Data + Default;

    /// The words for its variables.
    const WORDS: Words;

    /// How many different calls the client can make in this round; which one it makes is drawn.
    fn calls(_settings: &Self::Settings, _whose: Turn) -> u32 {
        1
    }

    /// The `choice`th of them.
    fn call(settings: &Self::Settings, whose: Turn, choice: u32) -> ObjectCall;

    /// Begins the call.
    fn begin(call: ObjectCall, whose: Turn, settings: &Self::Settings) -> (Self, Next);

    /// Goes on with what its request came to.
    fn go_on(&mut self, heard: Heard, whose: Turn, settings: &Self::Settings) -> Next;

    /// Whether by its end all has come out that was in when it began.
    fn settles(&self) -> bool {
        false
    }

    /// How to read what its variables hold; nothing, if that is what it looks like.
    fn stored(_settings: &Self::Settings) -> Option<&'static str> {
        None
    }

    /// What is there before anything happens, for the judges.
    fn given(_settings: &Self::Settings) -> Vec<Event> {
        Vec::new()
    }

    /// What a change of a variable means to the judges beside what clients are told.
    fn means(_cell: Cell, _before: Option<u32>, _after: Option<u32>, _by: u8) -> Option<Event> {
        None
    }

    /// Shows every version that it remembers.
    fn each_version(&mut self, show: &mut dyn FnMut(&mut Version));

    /// Where in its source it stands.
    fn line(&self) -> Line;

    /// What it does, in a few words.
    fn doing(&self) -> &'static str;
}

/// Whose operation it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// The client's number.
    pub client: u8,
    /// How many rounds it has finished.
    pub round: u8,
    /// How many clients there are.
    pub clients: u8,
    /// How many rounds each has.
    pub rounds: u8,
}

impl Turn {
    /// Whether the client has no round after this one.
    pub fn is_last_round(self) -> bool {
        self.round + 1 == self.rounds
    }
}

/// What an operation does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// A request about a variable.
    Ask(Cell, Ask),
    /// The same request as before, after a while.
    AskLater(Cell, Ask),
    /// It is over: this is the answer.
    Return(ObjectAnswer),
}

/// What a client does about a request that is not answered in time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Repeats {
    /// It gives the whole operation up: the outcome is unknown.
    Never,
    /// It sends the same request again, and again, so many times, and then gives the operation up ("можно бесконечно повторять эту
    /// операцию до тех пор, пока не вернется реальный ответ"). A late answer to an earlier one is not recognised: each is a
    /// call of its own, as with gRPC or HTTP.
    Times(u8),
}

/// The variant of an object and of its clients.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Settings<O, C> {
    /// Of the algorithm.
    pub object: O,
    /// Of how variables are kept.
    pub cells: C,
    /// What is done about requests that are not answered.
    pub repeats: Repeats,
    /// After how long a request counts as not answered.
    pub timeout: Micros,
    /// How long it waits before it asks again for what is not there yet.
    pub poll_interval: Micros,
}

impl<O: Default, C: Default> Default for Settings<O, C> {
    /// A second; as often as a message can be lost and more.
    fn default() -> Settings<O, C> {
        Settings {
            object: O::default(),
            cells: C::default(),
            repeats: Repeats::Times(20),
            timeout: Micros::seconds(1),
            poll_interval: Micros::millis(500),
        }
    }
}

/// The system: clients of one algorithm over variables in one store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Shared<O: Object, C: Cells>(PhantomData<(O, C)>);

impl<O: Object, C: Cells> System for Shared<O, C> {
    type Store = C::Store;
    type Settings = Settings<O::Settings, C::Settings>;
    type Process = ObjectClient<O, C>;
    type Judge = ObjectMonitors;

    const WORDS: Words = O::WORDS;
    const HOLDS: bool = false;

    fn judge(settings: &Self::Settings, promises: PromiseSet) -> ObjectMonitors {
        let mut judge = ObjectMonitors::new(promises);
        for event in O::given(&settings.object) {
            judge
                .observe(event, &mut |violation| unreachable!("what is given breaks nothing: {violation:?}"));
        }
        judge
    }

    fn stored(settings: &Self::Settings) -> Option<&'static str> {
        O::stored(&settings.object)
    }

    fn meaning(change: &<C::Store as Store>::Change, _server: u8) -> Option<Event> {
        let changed = C::changed(change)?;
        O::means(changed.cell, changed.before, changed.after, changed.by)
    }
}

/// A client with its application.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct ObjectClient<O: Object, C: Cells> {
    phase: Phase<O>,
    rounds_left: u8,
    /// Counts its requests, if the link does not.
    serial: u32,
    link: C::Link,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
enum Phase<O: Object> {
    /// Will begin an operation.
    Thinks { until: Monotonic },
    /// Has sent a request, and will repeat it or give up; without a time, when the link says so.
    Asks { object: O, cell: Cell, ask: Ask, again: Option<Monotonic>, repeats_left: u8 },
    /// Will ask for what was not there.
    Waits { object: O, cell: Cell, ask: Ask, until: Monotonic },
    /// Will begin no other operation.
    Done,
}

type Cx<'a, O, C> = ProcessContext<'a, Shared<O, C>>;
type Out<C> = Effects<<C as Cells>::Store>;

impl<O: Object, C: Cells> ObjectClient<O, C> {
    /// The operation under way.
    pub fn object(&self) -> Option<&O> {
        match &self.phase {
            Phase::Asks { object, .. } | Phase::Waits { object, .. } => Some(object),
            Phase::Thinks { .. } | Phase::Done => None,
        }
    }

    fn turn(&self, me: u8, workload: &Workload) -> Turn {
        let round = workload.rounds - self.rounds_left.min(workload.rounds);
        Turn { client: me, round, clients: workload.clients, rounds: workload.rounds }
    }

    fn next(&mut self, object: O, next: Next, cx: &Cx<O, C>, effects: &mut Out<C>) {
        match next {
            Next::Ask(cell, ask) => {
                let repeats_left = match cx.machine.settings.repeats {
                    Repeats::Never => 0,
                    Repeats::Times(times) => times,
                };
                self.ask(object, cell, ask, repeats_left, cx, effects);
            }
            Next::AskLater(cell, ask) => {
                let until = cx.machine.monotonic + cx.machine.settings.poll_interval;
                self.phase = Phase::Waits { object, cell, ask, until };
            }
            Next::Return(answer) => {
                let client = ClientId(cx.machine.me);
                effects.record(Event::Returned { client, answer });
                if object.settles() {
                    effects.record(Event::Settled { client });
                }
                self.next_round(cx);
            }
        }
    }

    fn ask(
        &mut self,
        object: O,
        cell: Cell,
        ask: Ask,
        repeats_left: u8,
        cx: &Cx<O, C>,
        effects: &mut Out<C>,
    ) {
        self.put(Question { cell, ask: C::first(ask) }, cx, effects);
        let again = C::TIMES_OUT.then(|| cx.machine.monotonic + cx.machine.settings.timeout);
        self.phase = Phase::Asks { object, cell, ask, again, repeats_left };
    }

    fn put(&mut self, question: Question, cx: &Cx<O, C>, effects: &mut Out<C>) {
        if C::TIMES_OUT {
            self.serial = self.serial.wrapping_add(1);
        }
        let here = Here::new(&cx.machine, &cx.machine.settings.cells);
        C::ask(&mut self.link, question, self.serial, &here, effects);
    }

    /// What the link has learned of the request under way.
    fn on_word(&mut self, word: Word, cx: &Cx<O, C>, effects: &mut Out<C>) {
        let Phase::Asks { object, cell, ask, .. } = &self.phase else { return };
        let heard = match word {
            Word::Heard(heard) => heard,
            Word::Unknown => return self.ask_again(cx, effects),
        };
        let (mut object, cell, ask) = (object.clone(), *cell, *ask);
        let next = match C::then(ask, heard) {
            // Nothing was done: the same again.
            Ok(Heard::Failed) => Next::AskLater(cell, ask),
            Ok(heard) => {
                let turn = self.turn(cx.machine.me, cx.workload);
                object.go_on(heard, turn, &cx.machine.settings.object)
            }
            Err(ask) => {
                self.put(Question { cell, ask }, cx, effects);
                if let Phase::Asks { again: Some(again), .. } = &mut self.phase {
                    *again = cx.machine.monotonic + cx.machine.settings.timeout;
                }
                return;
            }
        };
        self.next(object, next, cx, effects);
    }

    /// The request under way is not answered.
    fn ask_again(&mut self, cx: &Cx<O, C>, effects: &mut Out<C>) {
        match &self.phase {
            Phase::Asks { repeats_left: 0, .. } => self.give_up(cx, effects),
            Phase::Asks { object, cell, ask, repeats_left, .. } => {
                let (object, cell, ask, left) = (object.clone(), *cell, *ask, *repeats_left - 1);
                self.ask(object, cell, ask, left, cx, effects);
            }
            Phase::Thinks { .. } | Phase::Waits { .. } | Phase::Done => {}
        }
    }

    fn give_up(&mut self, cx: &Cx<O, C>, effects: &mut Out<C>) {
        effects.record(Event::Unknown { client: ClientId(cx.machine.me) });
        self.next_round(cx);
    }

    fn next_round(&mut self, cx: &Cx<O, C>) {
        let is_counted = cx.workload.rounds != ROUNDS_WITHOUT_END;
        self.rounds_left -= u8::from(is_counted && self.rounds_left > 0);
        self.phase = match self.rounds_left {
            0 => Phase::Done,
            _ => {
                let round = self.turn(cx.machine.me, cx.workload).round;
                let until = cx.machine.monotonic + cx.workload.think_of(cx.machine.me, round);
                Phase::Thinks { until }
            }
        };
    }
}

impl<O: Object, C: Cells> Process<Shared<O, C>> for ObjectClient<O, C> {
    fn new(
        me: u8,
        workload: &Workload,
        start: Monotonic,
        _settings: &Settings<O::Settings, C::Settings>,
    ) -> Self {
        let rounds_left = if me < workload.clients { workload.rounds } else { 0 };
        let phase = match rounds_left {
            0 => Phase::Done,
            _ => Phase::Thinks { until: start + workload.think_of(me, 0) },
        };
        ObjectClient { phase, rounds_left, serial: 0, link: C::link(me) }
    }

    fn on_message(&mut self, from: Node, message: Message<C::Store>, cx: &Cx<O, C>, effects: &mut Out<C>) {
        let Message::Reply(reply) = message else {
            unreachable!("{from} does not send {message:?} to a client")
        };
        let here = Here::new(&cx.machine, &cx.machine.settings.cells);
        if let Some(word) = C::on_reply(&mut self.link, &reply, self.serial, &here, effects) {
            self.on_word(word, cx, effects);
        }
    }

    fn on_app_deadline(&mut self, cx: &Cx<O, C>, effects: &mut Out<C>) {
        let turn = self.turn(cx.machine.me, cx.workload);
        let settings = &cx.machine.settings.object;
        let call = O::call(settings, turn, cx.machine.choice);
        effects.record(Event::Invoked { client: ClientId(cx.machine.me), call });
        let (object, next) = O::begin(call, turn, settings);
        self.next(object, next, cx, effects);
    }

    fn on_deadline(&mut self, cx: &Cx<O, C>, effects: &mut Out<C>) {
        let is_due = |at: Option<Monotonic>| at.is_some_and(|at| at <= cx.machine.monotonic);
        if is_due(C::deadline(&self.link)) {
            let here = Here::new(&cx.machine, &cx.machine.settings.cells);
            if let Some(word) = C::on_deadline(&mut self.link, &here, effects) {
                self.on_word(word, cx, effects);
            }
        }
        match &self.phase {
            Phase::Asks { again, .. } if is_due(*again) => self.ask_again(cx, effects),
            Phase::Waits { object, cell, ask, until } if is_due(Some(*until)) => {
                let (object, cell, ask) = (object.clone(), *cell, *ask);
                self.next(object, Next::Ask(cell, ask), cx, effects);
            }
            // Not yet due: the link was.
            Phase::Asks { .. } | Phase::Waits { .. } | Phase::Thinks { .. } | Phase::Done => {}
        }
    }

    fn on_restart(&mut self, cx: &Cx<O, C>) {
        C::on_restart(&mut self.link, cx.machine.me);
        // What was under way when it crashed is unknown; the judges know since then.
        match self.phase {
            Phase::Asks { .. } | Phase::Waits { .. } => self.next_round(cx),
            Phase::Thinks { .. } | Phase::Done => {}
        }
    }

    fn app_deadline(&self, _workload: &Workload) -> Option<Due> {
        match self.phase {
            Phase::Thinks { until } => Some(Due::Monotonic(until)),
            Phase::Asks { .. } | Phase::Waits { .. } | Phase::Done => None,
        }
    }

    fn deadline(&self, _settings: &Settings<O::Settings, C::Settings>) -> Option<Due> {
        let own = match self.phase {
            Phase::Asks { again, .. } => again,
            Phase::Waits { until, .. } => Some(until),
            Phase::Thinks { .. } | Phase::Done => None,
        };
        own.into_iter().chain(C::deadline(&self.link)).min().map(Due::Monotonic)
    }

    fn app_choices(&self, me: u8, workload: &Workload, settings: &Settings<O::Settings, C::Settings>) -> u32 {
        O::calls(&settings.object, self.turn(me, workload))
    }

    fn dismisses(&self, message: &Message<C::Store>) -> bool {
        let Message::Reply(reply) = message else { return false };
        C::dismisses(&self.link, reply, self.serial, matches!(self.phase, Phase::Asks { .. }))
    }

    fn visit<V: Visitor>(&mut self, settings: &Settings<O::Settings, C::Settings>, visitor: &mut V) {
        if C::TIMES_OUT {
            visitor.serial(Owner::Me, &mut self.serial);
        }
        C::visit_link(&mut self.link, visitor);
        let (object, ask) = match &mut self.phase {
            Phase::Thinks { until } => return visitor.wake(until),
            Phase::Asks { object, ask, again, .. } => {
                again.iter_mut().for_each(|at| visitor.wake(at));
                (object, ask)
            }
            Phase::Waits { object, ask, until, .. } => {
                visitor.wake(until);
                (object, ask)
            }
            Phase::Done => return,
        };
        let mut show = |version: &mut Version| C::visit_version(version, &settings.cells, visitor);
        object.each_version(&mut show);
        if let Ask::SetIfVersion(version, _) = ask {
            show(version);
        }
    }

    fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }

    fn is_thinking(&self) -> bool {
        matches!(self.phase, Phase::Thinks { .. })
    }

    fn line(&self) -> Line {
        self.object().map_or(Line::NONE, Object::line)
    }

    fn doing(&self) -> &'static str {
        match &self.phase {
            Phase::Thinks { .. } => "thinks",
            Phase::Asks { object, .. } => object.doing(),
            Phase::Waits { .. } => "waits",
            Phase::Done => "done",
        }
    }
}
