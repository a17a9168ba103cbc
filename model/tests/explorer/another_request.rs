//! Whoever waits must not need that somebody asks again.

use picklock_model::cluster::Setup;
use picklock_model::explore::{Draws, Goal, Lasso, Limits, Space, Verdict, check_liveness};
use picklock_model::machine::{Answer, Call, Context, Effects, Line, Lock, Store, Visit, Visitor};
use picklock_model::time::{Due, Micros};
use picklock_model::workload::{AccessChoice, Calls, ROUNDS_WITHOUT_END, Workload, Writes};
use picklock_model::world::Bounds;
use picklock_properties::ClientId;
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// A lock whose one server looks at its queue when somebody is released, or only when the next request comes in.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct AtTheDoor;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Says {
    Ask,
    Leave,
    Yours,
    Goodbye,
}

impl Visit for Says {
    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {}
}

impl Display for Says {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Doorkeeper {
    holds: bool,
    waiting: Vec<u8>,
}

#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Keeps {
    looks_at_release: bool,
}

impl Store for Doorkeeper {
    type Settings = Keeps;
    type Request = Says;
    type Reply = Says;
    type Peer = Says;
    type Change = Says;

    fn new(_me: u8, _servers: u8, _settings: &Keeps) -> Self {
        Doorkeeper::default()
    }

    fn on_request(&mut self, from: u8, request: Says, cx: &Context<Keeps>, out: &mut Effects<Self>) {
        let looks = match request {
            Says::Ask => {
                self.waiting.push(from);
                true
            }
            Says::Leave | Says::Yours | Says::Goodbye => {
                self.holds = false;
                out.reply(from, Says::Goodbye);
                cx.settings.looks_at_release
            }
        };
        if looks && !self.holds && !self.waiting.is_empty() {
            self.holds = true;
            out.reply(self.waiting.remove(0), Says::Yours);
        }
    }

    fn on_peer(&mut self, _from: u8, _message: Says, _cx: &Context<Keeps>, _out: &mut Effects<Self>) {}

    fn on_deadline(&mut self, _cx: &Context<Keeps>, _out: &mut Effects<Self>) {}

    fn on_restart(&mut self, _power_lost: bool, _cx: &Context<Keeps>, _out: &mut Effects<Self>) {}

    fn deadline(&self, _settings: &Keeps) -> Option<Due> {
        None
    }

    fn visit<V: Visitor>(&mut self, _visitor: &mut V) {}

    fn contents(&self) -> Vec<String> {
        Vec::new()
    }
}

impl Lock for AtTheDoor {
    type Store = Doorkeeper;
    type Settings = ();

    fn new(_me: u8, _settings: &()) -> Self {
        AtTheDoor
    }

    fn on_call(&mut self, call: Call, _cx: &Context<()>, out: &mut Effects<Doorkeeper>) {
        match call {
            Call::Acquire { .. } => out.request(0, Says::Ask),
            Call::Write => unreachable!("no setup has this lock write inside its store"),
            // It waits for the answer: else its next request may overtake this one, and nobody is served by either.
            Call::Release => out.request(0, Says::Leave),
        }
    }

    fn on_reply(&mut self, _from: u8, reply: Says, _cx: &Context<()>, out: &mut Effects<Doorkeeper>) {
        out.answer(match reply {
            Says::Goodbye => Answer::Released,
            Says::Ask | Says::Leave | Says::Yours => Answer::Granted { fence: None },
        });
    }

    fn on_deadline(&mut self, _cx: &Context<()>, _out: &mut Effects<Doorkeeper>) {}

    fn on_restart(&mut self, _cx: &Context<()>) {}

    fn deadline(&self, _settings: &()) -> Option<Due> {
        None
    }

    fn visit<V: Visitor>(&mut self, _settings: &(), _visitor: &mut V) {}

    fn line(&self) -> Line {
        Line::NONE
    }

    fn doing(&self) -> &'static str {
        "waits"
    }

    fn lease(_settings: &()) -> Option<Micros> {
        None
    }
}

fn starves(clients: u8, rounds: u8, looks_at_release: bool, bounds: Bounds) -> Option<Lasso> {
    let workload = Workload {
        clients,
        rounds,
        retries: false,
        calls: Calls::Lock,
        access: AccessChoice::First,
        think: Micros::ZERO,
        hold: Micros::ZERO,
        releases: true,
        writes: Writes::None,
        resource_checks: false,
        resource_forgets: false,
        locks: 1,
        attendants: 0,
        pace: None,
        varies: false,
        work_fits: false,
    };
    let store = Keeps { looks_at_release };
    let setup = Setup { lock: (), store, servers: 1, workload, promises: [].into_iter().collect() };
    let space: Space<AtTheDoor> = Space { setup, bounds };
    let goal = [Goal::StarvationFreedom(ClientId(0))];
    let (explored, mut lassos) = check_liveness(&space, &goal, Draws::Adversary, &Limits::states(1_000_000));
    assert_eq!(explored.verdict, Verdict::Verified);
    lassos.pop().flatten()
}

fn at_will() -> Bounds {
    Bounds { latency_ticks: Some(0), unhurried: true, ..Bounds::default() }
}

#[test]
fn who_is_served_by_the_next_request_alone_may_starve_though_others_can_ask_without_end() {
    for rounds in [1, 2, ROUNDS_WITHOUT_END] {
        for bounds in [Bounds::default(), at_will()] {
            let lasso = starves(2, rounds, false, bounds).expect("nobody has to ask again");
            assert!(lasso.cycle.is_empty(), "nothing is owed any more: {lasso:?}");
        }
    }
}

#[test]
fn who_is_served_at_the_release_does_not_starve() {
    for rounds in [1, 2, ROUNDS_WITHOUT_END] {
        for bounds in [Bounds::default(), at_will()] {
            assert_eq!(starves(2, rounds, true, bounds), None, "{rounds} rounds");
        }
    }
}

#[test]
fn where_clients_have_to_ask_again_at_once_the_next_request_comes() {
    let at_once = Bounds { latency_ticks: Some(0), ..Bounds::default() };
    assert_eq!(starves(2, ROUNDS_WITHOUT_END, false, at_once), None);
}
