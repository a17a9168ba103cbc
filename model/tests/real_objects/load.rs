//! Clients in threads, one history after the other, and what happens to the server meanwhile.
//!
//! ```text
//!   5 threads: draw a call ──▶ Object: begin, go_on ──▶ a request ──▶ the real server ◀── stop, kill: at a moment that is drawn
//!        ▲                          (of the model)    ◀── an answer, or none
//!        └── Operation: call, when, answer or unknown ──▶ check_objects
//! ```
//!
//! A client whose request is not answered says it again on another connection, as often as it may; then it gives the operation up.
//! Its old connections may stay open, so that what it has given up is still done. At a moment that is drawn it goes away with a request
//! written and its answer not read, or is killed there. Who has given up, or was killed, goes on as another client: what became of the
//! operation is never known. Now and then a client stands still for a while before a request.

use super::connection::{Connection, Place};
use super::random::Random;
use super::server::{Kind, Server};
use picklock_model::objects::cells::{Ask, Cell, EtcdField, Heard};
use picklock_model::objects::{Next, Object, Repeats, Turn};
use picklock_properties::{ClientId, NotLinearizable, ObjectAnswer, ObjectCall, Operation, check_objects};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Clients at a time. There is room for the marks of so many.
pub const CLIENTS: u8 = 5;
/// Rounds of each at most: there are so many different marks.
pub const ROUNDS_MAX: u8 = 15;

/// After how long a request counts as not answered.
const PATIENCE: Duration = Duration::from_millis(60);
/// How long a server stands still: longer than any client waits for one answer.
const STOP: Duration = Duration::from_millis(130);
/// One request in so many is made late, and how late at most.
const STALL_ONE_IN: u32 = 50;
const STALL_MAX_MICROS: u32 = 10_000;
/// Of the requests that are not waited for, one in so many is the client's last.
const LAST_ONE_IN: u32 = 4;
/// After an error, and before a request that is made later.
const PAUSE: Duration = Duration::from_millis(5);
/// How long clients try to reach a server that starts again, in such pauses.
const CONNECTS_MAX: u32 = 6_000;

/// What happens to the server in each history.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    None,
    /// It stands still, and goes on.
    Stop,
    /// It is killed, and starts again.
    Kill,
}

/// What clients ask for.
pub trait Application: Object {
    /// The first call of a round.
    fn first(whose: Turn, random: &mut Random) -> ObjectCall;

    /// The second, in view of the first one's answer.
    fn second(first: ObjectAnswer, whose: Turn, settings: &Self::Settings, random: &mut Random)
    -> ObjectCall;

    /// Whether the history is linearizable.
    fn judge(operations: &[Recorded]) -> Result<(), NotLinearizable> {
        check_objects(operations)
    }
}

/// An operation as it was seen.
pub type Recorded = Operation<ObjectCall, ObjectAnswer>;

/// Histories of one kind.
pub struct Plan<O: Object> {
    /// In a few words.
    pub what: &'static str,
    pub object: O::Settings,
    /// What is compared, where the server is an etcd.
    pub by: EtcdField,
    pub repeats: Repeats,
    pub fault: Fault,
    /// One request in so many is not waited for.
    pub hurry_one_in: Option<u32>,
    /// How many clients are killed in a history, at most.
    pub killed_max: u32,
    /// Of each client, of two operations.
    pub rounds: u8,
    pub histories: u32,
    pub seed: u64,
}

impl<O: Object> Plan<O> {
    /// Where there is something to choose.
    fn place(&self, server: &Server) -> String {
        match server.kind {
            Kind::Etcd => format!("Etcd by {:?}", self.by),
            kind @ (Kind::RedisThatKeeps | Kind::RedisThatForgets) => format!("{kind:?}"),
        }
    }
}

/// How often what was met.
#[derive(Default, Debug)]
pub struct Tally {
    pub operations: u32,
    /// Operations that were given up.
    pub unknown: u32,
    /// Requests that were not answered in time, or with an error.
    pub unanswered: u32,
    /// Requests that were written and not waited for.
    pub hurried: u32,
    /// Of clients, with a request under way.
    pub killed: u32,
    /// Writes that had been done, were said again, and were told no: the client has found its mark.
    pub known_by_mark: u32,
    /// Faults of the server while clients were at work.
    pub struck: u32,
    pub histories: u32,
    pub linearizable: u32,
    /// The first that was not, told operation by operation.
    first_broken: Option<String>,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.operations += other.operations;
        self.unknown += other.unknown;
        self.unanswered += other.unanswered;
        self.hurried += other.hurried;
        self.killed += other.killed;
        self.known_by_mark += other.known_by_mark;
    }

    /// How many histories no order explains.
    pub fn broken(&self) -> u32 {
        self.histories - self.linearizable
    }

    /// All are linearizable, and something has happened that could have broken some: the fault, and clients that were told no by their
    /// own writes.
    pub fn assert_hold(tallies: &[Tally]) {
        for tally in tallies {
            if let Some(broken) = &tally.first_broken {
                panic!("{} of {} histories linearizable\n{broken}", tally.linearizable, tally.histories);
            }
            assert!(tally.struck > 0, "the fault came too late: {tally:?}");
        }
        let known_by_mark: u32 = tallies.iter().map(|tally| tally.known_by_mark).sum();
        assert!(known_by_mark > 0, "no answer was lost: {tallies:?}");
    }
}

/// Runs the histories one after the other and judges each.
pub fn run<O: Application>(server: &mut Server, plan: &Plan<O>) -> Tally {
    assert!(plan.rounds <= ROUNDS_MAX, "marks come again");
    let (begun, mut judging_max) = (now(), Duration::ZERO);
    let mut random = Random::new(plan.seed);
    let mut whole = Tally::default();
    for history in 0..plan.histories {
        // Keys of one plan are not those of another.
        let place = Place::new(server, plan.by, plan.seed as u32 * 1_000 + history);
        let operations = one_history(server, place, plan, &mut random, &mut whole);
        whole.histories += 1;
        let judged = now();
        match O::judge(&operations) {
            Ok(()) => whole.linearizable += 1,
            Err(error) => {
                whole.first_broken.get_or_insert_with(|| format!("{error}\n{}", told(&operations)));
            }
        }
        judging_max = judging_max.max(judged.elapsed());
    }
    let Tally { operations, unknown, unanswered, hurried, killed, known_by_mark, struck, .. } = whole;
    println!(
        "{} {:?}, {}, {:?} ({struck} times): {} of {} histories linearizable; {operations} operations, {unknown} unknown; \
         requests: {unanswered} unanswered, {hurried} not waited for, {known_by_mark} told no and known by their marks; {killed} clients \
         killed; {:.1} s; a history judged in {:.3} s at most",
        plan.what,
        plan.object,
        plan.place(server),
        plan.fault,
        whole.linearizable,
        whole.histories,
        begun.elapsed().as_secs_f64(),
        judging_max.as_secs_f64(),
    );
    if let Some(broken) = whole.first_broken.as_ref().filter(|_| std::env::var_os("PICKLOCK_TELL").is_some())
    {
        println!("{broken}");
    }
    whole
}

fn one_history<O: Application>(
    server: &mut Server,
    place: Place,
    plan: &Plan<O>,
    random: &mut Random,
    whole: &mut Tally,
) -> Vec<Recorded> {
    let shared = Shared {
        start: now(),
        names: AtomicU32::new(0),
        invoked: AtomicU32::new(0),
        killed: AtomicU32::new(0),
    };
    let wanted = u32::from(CLIENTS) * u32::from(plan.rounds) * 2;
    let strikes_at = wanted / 10 + random.below(wanted / 2);
    let randoms: Vec<Random> = (0..CLIENTS).map(|_| random.split()).collect();
    let mut operations = Vec::new();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .zip(randoms)
            .map(|(me, random)| {
                let mut client = Client::new(me, place, plan, &shared, random);
                scope.spawn(move || {
                    client.work();
                    (client.recorded, client.tally)
                })
            })
            .collect();
        let is_working = || clients.iter().any(|client| !client.is_finished());
        while is_working() && shared.invoked.load(Ordering::Relaxed) < strikes_at {
            std::thread::sleep(Duration::from_micros(100));
        }
        match plan.fault {
            Fault::None => {}
            Fault::Stop => {
                server.stop();
                whole.struck += u32::from(is_working());
                std::thread::sleep(STOP);
                server.go_on();
            }
            Fault::Kill => {
                server.kill();
                whole.struck += u32::from(is_working());
                server.restart();
            }
        }
        for client in clients {
            let (recorded, tally) = client.join().expect("a client does not fail");
            operations.extend(recorded);
            whole.add(&tally);
        }
    });
    operations
}

/// What clients of a history share.
struct Shared {
    start: Instant,
    /// The next client's name.
    names: AtomicU32,
    /// How many operations have begun.
    invoked: AtomicU32,
    /// How often a client was to be killed.
    killed: AtomicU32,
}

impl Shared {
    fn now(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }

    fn name(&self) -> ClientId {
        let name = self.names.fetch_add(1, Ordering::Relaxed);
        ClientId(name.try_into().expect("fewer than 256 clients a history"))
    }
}

struct Client<'a, O: Object> {
    me: u8,
    name: ClientId,
    place: Place,
    plan: &'a Plan<O>,
    shared: &'a Shared,
    random: Random,
    connection: Option<Box<dyn Connection>>,
    /// With requests that it does not wait for any more.
    left_open: Vec<Box<dyn Connection>>,
    recorded: Vec<Recorded>,
    tally: Tally,
}

impl<'a, O: Application> Client<'a, O> {
    fn new(me: u8, place: Place, plan: &'a Plan<O>, shared: &'a Shared, random: Random) -> Client<'a, O> {
        Client {
            me,
            name: shared.name(),
            place,
            plan,
            shared,
            random,
            connection: None,
            left_open: Vec::new(),
            recorded: Vec::new(),
            tally: Tally::default(),
        }
    }

    fn work(&mut self) {
        let rounds = self.plan.rounds;
        for round in 0..rounds {
            let whose = Turn { client: self.me, round, clients: CLIENTS, rounds };
            let first = O::first(whose, &mut self.random);
            if let Some(answer) = self.operation(first, whose) {
                let second = O::second(answer, whose, &self.plan.object, &mut self.random);
                self.operation(second, whose);
            }
        }
    }

    /// Does one operation and records it; nothing comes back if its outcome is unknown.
    fn operation(&mut self, call: ObjectCall, whose: Turn) -> Option<ObjectAnswer> {
        self.shared.invoked.fetch_add(1, Ordering::Relaxed);
        self.tally.operations += 1;
        let (client, invoked_at) = (self.name, self.shared.now());
        let answer = self.outcome(call, whose);
        let returned = answer.map(|answer| (self.shared.now(), answer));
        self.recorded.push(Operation { client, call, invoked_at, returned });
        if answer.is_none() {
            self.tally.unknown += 1;
            self.name = self.shared.name();
        }
        answer
    }

    fn outcome(&mut self, call: ObjectCall, whose: Turn) -> Option<ObjectAnswer> {
        let (mut object, mut next) = O::begin(call, whose, &self.plan.object);
        // Where it has said a write again and was told no.
        let mut refused = Vec::new();
        loop {
            let (cell, ask) = match next {
                Next::Ask(cell, ask) => (cell, ask),
                Next::AskLater(cell, ask) => {
                    std::thread::sleep(PAUSE);
                    (cell, ask)
                }
                Next::Return(answer) => {
                    let is_known = match answer {
                        ObjectAnswer::Done => !refused.is_empty(),
                        ObjectAnswer::Pushed { position } => refused
                            .iter()
                            .any(|cell: &Cell| cell.word.0 == 1 && u32::from(cell.number) == position),
                        _ => false,
                    };
                    self.tally.known_by_mark += u32::from(is_known);
                    return Some(answer);
                }
            };
            let (heard, is_repeated) = self.ask(cell, ask)?;
            match heard {
                Heard::Set(false) if is_repeated => refused.push(cell),
                Heard::Set(true) => refused.retain(|other| *other != cell),
                Heard::Set(false) | Heard::Found(..) | Heard::Failed => {}
            }
            next = object.go_on(heard, whose, &self.plan.object);
        }
    }

    /// Asks until there is an answer; tells whether it had to ask again. `None` if it gives up.
    fn ask(&mut self, cell: Cell, ask: Ask) -> Option<(Heard, bool)> {
        let repeats = match self.plan.repeats {
            Repeats::Never => 0,
            Repeats::Times(times) => times,
        };
        if self.random.one_in(STALL_ONE_IN) {
            std::thread::sleep(Duration::from_micros(self.random.below(STALL_MAX_MICROS).into()));
        }
        for attempt in 0..=repeats {
            let mut connection = self.connection.take().unwrap_or_else(|| self.connect());
            if connection.write(cell, ask).is_err() {
                self.tally.unanswered += 1;
                std::thread::sleep(PAUSE);
                continue;
            }
            if self.plan.hurry_one_in.is_some_and(|times| self.random.one_in(times)) {
                self.tally.hurried += 1;
                std::thread::sleep(Duration::from_micros(self.random.below(1_000).into()));
                if self.random.one_in(LAST_ONE_IN) && self.may_be_killed() {
                    // All its connections are closed.
                    self.tally.killed += 1;
                    self.left_open.clear();
                    return None;
                }
            } else {
                match connection.read(ask) {
                    Ok(heard) => {
                        self.connection = Some(connection);
                        return Some((heard, attempt > 0));
                    }
                    Err(_) => {
                        self.tally.unanswered += 1;
                        std::thread::sleep(PAUSE);
                    }
                }
            }
            if self.random.one_in(2) {
                self.left_open.push(connection);
            }
        }
        None
    }

    fn may_be_killed(&self) -> bool {
        let killed = self.shared.killed.fetch_add(1, Ordering::Relaxed);
        killed < self.plan.killed_max
    }

    fn connect(&self) -> Box<dyn Connection> {
        for _ in 0..CONNECTS_MAX {
            match self.place.connect(PATIENCE) {
                Ok(connection) => return connection,
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
        panic!("nobody listens");
    }
}

#[expect(clippy::disallowed_methods, reason = "a real server, which takes real time")]
fn now() -> Instant {
    Instant::now()
}

/// A line for each operation, in the order of beginnings.
fn told(operations: &[Recorded]) -> String {
    let mut places: Vec<usize> = (0..operations.len()).collect();
    places.sort_by_key(|place| operations[*place].invoked_at);
    let line = |place: usize| {
        let Operation { client, call, invoked_at, returned } = &operations[place];
        let outcome = match returned {
            Some((at, answer)) => format!("{answer} at {at} µs"),
            None => "unknown".to_owned(),
        };
        format!("{place:4}: client {:3} at {invoked_at} µs: {call}: {outcome}\n", client.0)
    };
    places.into_iter().map(line).collect()
}
