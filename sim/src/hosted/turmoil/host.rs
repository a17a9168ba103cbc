//! A node as a host of turmoil: its process may end, and what is then left of it.

use super::gate::{Gate, Gated};
use super::net::{Net, Slowness, host_name};
use crate::hosted::connections::{Connections, Patience};
use crate::hosted::driver::{Driver, NodeClock, Record, Recorded, TrueTime};
use crate::hosted::node::{Machine, Reading};
use crate::seeded::dice::{Dice, Stream};
use ::turmoil::Sim;
use picklock_model::cluster::{Entry, Status, Wake};
use picklock_model::machine::{Effects, Line, Message, Node, Store};
use picklock_model::time::{Clock, Due, Micros, Monotonic};
use picklock_model::trace::Happening;
use picklock_properties::{Event, LockId};
use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc::unbounded_channel;

/// What is known of a node outside of its process.
#[derive(Debug)]
pub(super) struct Host {
    pub node: Node,
    pub name: String,
    pub clock: NodeClock,
    pub gate: Arc<Gate>,
    pub status: Cell<Status>,
    /// Counts its process's starts.
    pub life: Cell<u8>,
    /// Whether it is down and will start again.
    pub restarts: Cell<bool>,
    /// How it went down last.
    pub power_lost: Cell<bool>,
    pub paused_until: Cell<Micros>,
    pub frozen_until: Cell<Micros>,
    /// While its machine is suspended: what its monotonic clock showed then, and whether its wall clock loses the time, too.
    pub suspended: Cell<Option<(Monotonic, bool)>>,
    pub suspended_until: Cell<Micros>,
    /// The line that a client stood at after its last step, and whether it was done.
    pub line: Cell<Option<Line>>,
    pub is_done: Cell<bool>,
}

impl Host {
    pub fn new(node: Node) -> Host {
        Host {
            node,
            name: host_name(node),
            clock: NodeClock::new(Clock::default()),
            gate: Arc::default(),
            status: Cell::new(Status::Up),
            life: Cell::new(0),
            restarts: Cell::new(false),
            power_lost: Cell::new(false),
            paused_until: Cell::new(Micros::ZERO),
            frozen_until: Cell::new(Micros::ZERO),
            suspended: Cell::new(None),
            suspended_until: Cell::new(Micros::ZERO),
            line: Cell::new(None),
            is_done: Cell::new(false),
        }
    }
}

/// A step of some node.
#[derive(Debug)]
pub(super) struct Logged<S: Store> {
    pub at: Micros,
    /// The node's place among the hosts.
    pub position: usize,
    pub happening: Happening<S>,
    pub events: Vec<Event>,
    pub about: [Option<LockId>; 2],
    pub line: Option<Line>,
    pub is_done: bool,
}

/// Steps of all nodes, in the order in which turmoil came to them: within a tick it runs one host after the other.
pub(super) type Log<S> = Rc<RefCell<Vec<Logged<S>>>>;

struct Scribe<S: Store> {
    log: Log<S>,
    position: usize,
}

impl<S: Store> Record<S> for Scribe<S> {
    fn record(&mut self, Recorded { at, happening, events, about, line, is_done }: Recorded<'_, S>) {
        let (position, events) = (self.position, events.to_vec());
        self.log.borrow_mut().push(Logged { at, position, happening, events, about, line, is_done });
    }
}

/// How long the simulation has gone on, as the host that runs sees it.
struct SimTime;

impl TrueTime for SimTime {
    fn now(&self) -> Micros {
        let elapsed = ::turmoil::sim_elapsed().unwrap_or_default();
        Micros(i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX))
    }
}

/// How hosts are run.
#[derive(Clone)]
pub(super) struct Conditions<S: Store> {
    pub seed: u64,
    pub patience: Patience,
    pub slowness: Slowness,
    pub log: Log<S>,
}

/// Adds a host with the machine to the simulation. The machine outlives the process: what a restart makes it forget is
/// the machine's affair, as on the other engines.
pub(super) fn add<M: Machine<Call = Infallible> + 'static>(
    sim: &mut Sim<'static>,
    position: usize,
    host: &Rc<Host>,
    machine: M,
    dials: Vec<Node>,
    conditions: &Conditions<M::Store>,
) {
    let (host, conditions) = (host.clone(), conditions.clone());
    let machine = Kept(Rc::new(RefCell::new(machine)));
    sim.host(host.name.clone(), move || {
        let process = process(position, host.clone(), machine.clone(), dials.clone(), conditions.clone());
        Gated::new(host.gate.clone(), process)
    });
}

async fn process<M: Machine<Call = Infallible>>(
    position: usize,
    host: Rc<Host>,
    machine: Kept<M>,
    dials: Vec<Node>,
    conditions: Conditions<M::Store>,
) -> ::turmoil::Result {
    let Conditions { seed, patience, slowness, log } = conditions;
    let net = Net { me: host.node, gate: host.gate.clone(), slowness };
    let listens = !matches!(host.node, Node::Client(_));
    let (connections, mut inbox) = Connections::open(host.node, &dials, listens, &net, patience).await?;
    // Every process draws from its own stream: how much one draws changes nothing for the others.
    let stream = (position as u64) << 48 | u64::from(host.life.get()) << 40;
    let dice = Dice::new(seed ^ stream, Stream::Choice);
    let scribe = Scribe { log, position };
    let mut driver = Driver::new(machine, host.clock.clone(), SimTime, dice, connections, scribe);
    if host.life.get() > 0 {
        driver.restart(host.power_lost.get());
    }
    let (_nobody, mut calls) = unbounded_channel();
    driver.run(&mut inbox, &mut calls).await;
    Ok(())
}

/// A machine that outlives its driver.
struct Kept<M>(Rc<RefCell<M>>);

impl<M> Clone for Kept<M> {
    fn clone(&self) -> Self {
        Kept(self.0.clone())
    }
}

impl<M: Machine> Machine for Kept<M> {
    type Store = M::Store;
    type Call = M::Call;

    fn me(&self) -> Node {
        self.0.borrow().me()
    }

    fn takes(&self, from: Node, message: &Message<M::Store>) -> bool {
        self.0.borrow().takes(from, message)
    }

    fn deadlines(&self) -> [Option<(Due, Wake)>; 2] {
        self.0.borrow().deadlines()
    }

    fn choices(&self, entry: &Entry<M::Store>) -> u32 {
        self.0.borrow().choices(entry)
    }

    fn enter(&mut self, entry: Entry<M::Store>, reading: Reading, effects: &mut Effects<M::Store>) {
        self.0.borrow_mut().enter(entry, reading, effects);
    }

    fn call(&mut self, call: M::Call, reading: Reading, effects: &mut Effects<M::Store>) {
        self.0.borrow_mut().call(call, reading, effects);
    }

    fn restart(&mut self, power_lost: bool, reading: Reading, effects: &mut Effects<M::Store>) {
        self.0.borrow_mut().restart(power_lost, reading, effects);
    }

    fn about(&self, entry: Option<&Entry<M::Store>>) -> Option<LockId> {
        self.0.borrow().about(entry)
    }

    fn line(&self) -> Option<Line> {
        self.0.borrow().line()
    }

    fn is_done(&self) -> bool {
        self.0.borrow().is_done()
    }
}
