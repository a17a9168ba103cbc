use super::super::{AnyLock, Registered};
use super::*;
use crate::plans::fault::FaultKind;
use crate::plans::plan::{Plan, Trigger, When};
use crate::plans::strategy::Strategy;
use crate::report::TextOptions;
use crate::toy::{self, Desk, Key, KeySettings};
use picklock_model::claims::pack_setup;
use picklock_model::machine::{Call, Context, Effects, Line, Lock, Store, Visitor};
use picklock_model::time::{Due, Micros};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The key, with other names for its lines.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Renamed(Key);

impl Lock for Renamed {
    type Store = Desk;
    type Settings = KeySettings;

    fn new(me: u8, settings: &KeySettings) -> Self {
        Renamed(Key::new(me, settings))
    }

    fn on_call(&mut self, call: Call, cx: &Context<KeySettings>, out: &mut Effects<Desk>) {
        self.0.on_call(call, cx, out);
    }

    fn on_reply(
        &mut self,
        from: u8,
        reply: <Desk as Store>::Reply,
        cx: &Context<KeySettings>,
        out: &mut Effects<Desk>,
    ) {
        self.0.on_reply(from, reply, cx, out);
    }

    fn on_deadline(&mut self, cx: &Context<KeySettings>, out: &mut Effects<Desk>) {
        self.0.on_deadline(cx, out);
    }

    fn on_restart(&mut self, cx: &Context<KeySettings>) {
        self.0.on_restart(cx);
    }

    fn deadline(&self, settings: &KeySettings) -> Option<Due> {
        self.0.deadline(settings)
    }

    fn visit<V: Visitor>(&mut self, settings: &KeySettings, visitor: &mut V) {
        self.0.visit(settings, visitor);
    }

    fn line(&self) -> Line {
        Line { listing: 7, number: self.0.line().number + 20 }
    }

    fn doing(&self) -> &'static str {
        self.0.doing()
    }

    fn lease(settings: &KeySettings) -> Option<Micros> {
        Key::lease(settings)
    }
}

fn as_it_was() -> Registered<Key> {
    Registered::new("key", "", toy::leased_setup)
}

fn renamed() -> Registered<Renamed> {
    Registered::new("key", "", || {
        let Setup { lock, store, servers, workload, promises } = toy::leased_setup();
        Setup { lock, store, servers, workload, promises }
    })
}

#[test]
fn ten_tokens_replay_alike_after_a_change_of_every_line_label() {
    let before = as_it_was();
    let setup = pack_setup(&toy::leased_setup());
    let waits_for_line = |plan: &Plan| {
        plan.faults
            .iter()
            .any(|planned| matches!(planned.when, When::Trigger { event: Trigger::Line(_), .. }))
    };
    let seeds: Vec<u64> = (0..200).collect();
    let faults = [FaultKind::Pause, FaultKind::Clock, FaultKind::Crash].into_iter().collect();
    let plans = before.plans(&setup, faults, Strategy::Swarm, &seeds).unwrap();
    let runs = plans.into_iter().zip(seeds).map(|(plan, seed)| PlannedRun { plan, seed });
    let (mut tokens, mut would_differ) = (0, 0);
    for run in runs.filter(|run| waits_for_line(&run.plan)).take(10) {
        let token: Token = before.token(&setup, &run, None).unwrap().encode().parse().unwrap();
        let [then, now] = [&before as &dyn AnyLock, &renamed()]
            .map(|lock| lock.replay(&token, &TextOptions::default()).unwrap());
        assert_eq!(then.trace_hash, now.trace_hash, "{}", run.plan);
        assert!(!now.came_out_otherwise);
        tokens += 1;
        // By the labels alone some of them would be other runs.
        let Body::Planned { plan, seed, .. } = token.body.clone() else { unreachable!("it was drawn") };
        let by_labels = Token { body: Body::Planned { plan, pins: vec![], seed }, ..token };
        would_differ +=
            usize::from(renamed().replay(&by_labels, &TextOptions::default()).unwrap().came_out_otherwise);
    }
    assert_eq!(tokens, 10);
    assert!(would_differ > 3, "{would_differ} of the runs depend on where the line is");
}

#[test]
fn a_run_that_comes_out_otherwise_is_noticed() {
    let setup = pack_setup(&toy::leased_setup());
    let run = PlannedRun { plan: Plan::default(), seed: 1 };
    let token = as_it_was().token(&setup, &run, None).unwrap();
    let another: Registered<Key> = Registered::new("key", "", || {
        let mut setup = toy::leased_setup();
        setup.workload.hold = Micros::millis(21);
        setup
    });
    let replay = another.replay(&token, &TextOptions::default()).unwrap();
    assert!(replay.came_out_otherwise, "the holders hold a millisecond longer than when the token was made");
}

#[test]
fn a_setup_that_the_lock_does_not_have_is_refused_by_the_name_of_its_part() {
    let setup = pack_setup(&toy::leased_setup());
    let token = as_it_was().token(&setup, &PlannedRun { plan: Plan::default(), seed: 1 }, None).unwrap();
    let with = |changes: Value| {
        let setup = SetupChanges { base: SetupBase::Registered, changes: Some(changes) };
        as_it_was()
            .replay(&Token { setup, ..token.clone() }, &TextOptions::default())
            .unwrap_err()
            .to_string()
    };
    let nothing = "it says \"lock.colour\" of its setup, of which the lock as it is here has nothing";
    assert_eq!(with(serde_json::json!({"lock": {"colour": 3}})), nothing);
    assert!(with(serde_json::json!({"workload": {"clients": 0}})).contains("a run has 1 to 128"));
    assert!(with(serde_json::json!({"workload": {"clients": "many"}})).contains("not one of this lock"));
    let promises: BTreeSet<&str> = ["world-peace"].into();
    assert!(with(serde_json::json!({"promises": [promises]})).contains("world-peace"));
    for plain in [serde_json::json!(3), serde_json::json!("all of it")] {
        assert!(with(plain).ends_with("not one of this lock: it has no parts"));
    }
}

#[test]
fn a_plan_or_bounds_that_make_no_sense_are_refused() {
    let setup = pack_setup(&toy::leased_setup());
    let token = as_it_was().token(&setup, &PlannedRun { plan: Plan::default(), seed: 1 }, None).unwrap();
    let with = |body: Body| {
        let token = Token { body, ..token.clone() };
        as_it_was().replay(&token, &TextOptions::default()).unwrap_err().to_string()
    };
    let plan = Plan { heal_at: Micros(i64::MAX), ..Plan::default() };
    let endless = with(Body::Planned { plan, pins: vec![], seed: 1 });
    assert!(endless.starts_with("the plan in it cannot be run: "), "{endless}");
    assert!(endless.ends_with("which are 30 days"), "{endless}");
    let bounds = |bounds: Value| with(Body::Path { bounds: Some(bounds), actions: vec![], loop_start: None });
    assert_eq!(bounds(serde_json::json!(3)), "the bounds in it cannot be read");
    let mut whole = serde_json::to_value(Bounds::default()).unwrap();
    whole["weather"] = serde_json::json!("rain");
    let later = bounds(serde_json::json!([whole]));
    assert!(later.starts_with("it says \"weather\" of its setup"), "{later}");
}
