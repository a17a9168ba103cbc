//! What else is true of the ZooKeeper recipe (document 003), beside its theorems and its rows of the catalogue.

use picklock_model::cluster::Setup;
use picklock_model::locks::ZookeeperLock;
use picklock_model::locks::zookeeper_lock::{Settings, Watch};
use picklock_model::machine::{Message, Node};
use picklock_model::stores::zookeeper as store;
use picklock_model::time::Micros;
use picklock_model::trace::{Happening, Observer, Step};
use picklock_model::workload::{Calls, Workload};
use picklock_properties::{Event, Promise};
use picklock_sim::outcome::Limits;
use picklock_sim::plan::Plan;
use picklock_sim::run;

/// Row Z8 breaks no promise: it is load, and load is counted.
#[test]
fn z8_a_release_wakes_everybody_if_all_watch_the_parent_and_one_if_each_watches_its_predecessor() {
    for clients in [2, 4, 8, 16] {
        let waiters = u64::from(clients) - 1;
        assert_eq!(wake_ups(clients, Watch::Predecessor), waiters, "{clients} clients, one after the other");
        for herd in [Watch::Parent, Watch::First] {
            let everybody_each_time = waiters * (waiters + 1) / 2;
            assert_eq!(wake_ups(clients, herd), everybody_each_time, "{clients} clients, {herd:?}");
        }
    }
}

/// How often a waiter was woken, from the first release on: all stand in the queue by then, and use the lock once.
fn wake_ups(clients: u8, watch: Watch) -> u64 {
    let setup: Setup<ZookeeperLock> = Setup {
        lock: Settings { watch, ..Settings::as_written() },
        store: store::Settings::default(),
        servers: 1,
        workload: Workload {
            clients,
            rounds: 1,
            retries: false,
            calls: Calls::Lock,
            think: Micros::ZERO,
            hold: Micros::seconds(1),
            releases: true,
            writes: picklock_model::workload::Writes::None,
            resource_checks: false,
            resource_forgets: false,
        },
        promises: [Promise::MutualExclusion, Promise::Fifo].into_iter().collect(),
    };
    let mut count = Count::default();
    let outcome = run::run(&setup, &Plan::default(), 0, &Limits::of(&setup), &mut count);
    assert_eq!(outcome.violations, []);
    assert_eq!((count.enqueued, count.left), (clients, clients), "{outcome:?}");
    count.woken
}

#[derive(Default)]
struct Count {
    enqueued: u8,
    left: u8,
    woken: u64,
}

impl Observer<ZookeeperLock> for Count {
    fn observe(&mut self, step: &Step<ZookeeperLock>) {
        let happened = |is_it: fn(&Event) -> bool| step.effects.events.iter().any(is_it);
        if happened(|event| matches!(event, Event::Enqueued { .. })) {
            assert_eq!(self.left, 0, "somebody comes when the first has left already");
            self.enqueued += 1;
        }
        self.left += u8::from(happened(|event| matches!(event, Event::Left { .. })));
        if let Happening::Delivered { to: Node::Client(_), message: Message::Reply(reply), .. } =
            &step.happening
        {
            self.woken += u64::from(self.left > 0 && reply.is_event());
        }
    }
}
