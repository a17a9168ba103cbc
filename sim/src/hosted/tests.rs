//! The driver on real sockets: turmoil's transport has tests of its own.

use super::*;
use crate::seeded::dice::{Dice, Stream};
use crate::toy::{self, Desk, Key};
use picklock_model::machine::{Message, Node, Store};
use picklock_model::time::Monotonic;
use picklock_model::workload::Workload;
use picklock_model::{cluster::Setup, time::Micros};
use picklock_properties::{Event, Monitors, PromiseSet};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::{JoinSet, LocalSet};

/// Events of all nodes, as they came.
#[derive(Clone, Default)]
struct Events(Arc<Mutex<Vec<Event>>>);

impl<S: Store> Record<S> for Events {
    fn record(&mut self, step: Recorded<'_, S>) {
        self.0.lock().expect("nobody panics with it").extend_from_slice(step.events);
    }
}

/// Addresses that nobody listens at, no two of them the same.
fn free_addresses<const N: usize>() -> [SocketAddr; N] {
    let listeners =
        [(); N].map(|()| TcpListener::bind("127.0.0.1:0").expect("a machine has a loopback interface"));
    listeners.map(|listener| listener.local_addr().expect("a bound socket has an address"))
}

/// The node's driver, until it is done; servers never are.
async fn drive<M: Machine<Call = std::convert::Infallible>>(machine: M, tcp: Tcp, events: Events) {
    let me = machine.me();
    let listens = tcp.addresses.contains_key(&me);
    let dials: Vec<Node> = tcp.addresses.keys().copied().filter(|_| !listens).collect();
    let opened = Connections::open(me, &dials, listens, &tcp, Patience::default()).await;
    let (connections, mut inbox) = opened.expect("the address is free");
    let dice = Dice::new(0, Stream::Choice);
    let clock = NodeClock::default();
    let mut driver = Driver::new(machine, clock, SinceStart::new(), dice, connections, events);
    let (_nobody, mut calls) = unbounded_channel();
    while !driver.machine().is_done() {
        driver.turn(&mut inbox, &mut calls).await;
    }
}

fn setup() -> Arc<Setup<Key>> {
    let usual = toy::setup();
    let workload =
        Workload { rounds: 3, hold: Micros::millis(2), think: Micros::millis(1), ..usual.workload };
    Arc::new(Setup { workload, ..usual })
}

#[test]
fn the_same_machines_run_over_real_tcp() {
    let (setup, events) = (setup(), Events::default());
    let nodes = [Node::Server(0), Node::Resource];
    let tcp = Tcp { addresses: nodes.into_iter().zip(free_addresses::<2>()).collect() };
    let (local, mut servers) = (LocalSet::new(), JoinSet::new());
    let desk = ServerNode::<Desk>::new(0, 1, setup.store);
    servers.spawn_local_on(drive(desk, tcp.clone(), events.clone()), &local);
    servers.spawn_local_on(drive(ResourceNode::new(setup.clone()), tcp.clone(), events.clone()), &local);
    let clients = (0..setup.workload.clients).map(|me| {
        let client = ClientNode::new(me, Monotonic::default(), setup.clone());
        local.spawn_local(drive(client, tcp.clone(), events.clone()))
    });
    let clients: Vec<_> = clients.collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let clients = async {
        for client in clients {
            client.await.expect("a client does its rounds");
        }
    };
    local.block_on(&runtime.expect("a runtime needs nothing"), async {
        tokio::select! {
            () = clients => {}
            // Nobody would be answered any more.
            Some(ended) = servers.join_next() => panic!("a server has ended: {ended:?}"),
        }
    });
    let events = events.0.lock().expect("nobody panics with it");
    let grants = events.iter().filter(|event| matches!(event, Event::Granted { .. })).count();
    assert_eq!(grants, 9);
    let mut monitors = Monitors::new(PromiseSet::safety());
    for event in &*events {
        monitors.observe(*event, &mut |violation| panic!("{violation:?} in {events:?}"));
    }
}

#[test]
fn a_node_takes_only_what_is_meant_for_it() {
    let setup = setup();
    let client = ClientNode::new(0, Monotonic::default(), setup.clone());
    let resource = ResourceNode::new(setup.clone());
    let desk = ServerNode::<Desk>::new(0, 1, setup.store);
    let write = |lock| Message::Write { serial: 0, lock: picklock_properties::LockId(lock), fence: None };
    assert!(resource.takes(Node::Client(0), &write(0)));
    assert!(!resource.takes(Node::Client(0), &write(200)), "there is one lock");
    assert!(!resource.takes(Node::Server(0), &write(0)));
    assert!(!client.takes(Node::Client(1), &write(0)));
    assert!(client.takes(Node::Resource, &Message::Written { serial: 0, accepted: true }));
    assert!(!desk.takes(Node::Client(0), &write(0)));
}
