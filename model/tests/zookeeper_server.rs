//! The ZooKeeper simulator against a real server: the same operations get the same answers, stats, zxids and events.
//!
//! Needs `apt-get install zookeeper`; where there is none, this says so and passes. The server listens on a loopback port,
//! keeps its data in a temporary directory, and goes with the test.

#[path = "zookeeper_server/model.rs"]
mod model;
#[path = "zookeeper_server/real.rs"]
mod real;
#[path = "zookeeper_server/server.rs"]
mod server;

use model::Model;
use picklock_model::locks::zookeeper_paths::{parent_path, place_path, work_path};
use picklock_model::stores::zookeeper::{
    CreateMode, Ephemerals, Flaw, Guid, Operation, Path, SessionId, Settings, Stat, Suffix, Write, Zxid,
};
use picklock_properties::LockId;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use real::Real;
use server::Server;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// How many sequences are compared.
const SEQUENCES: u32 = 1_000;

/// How many sessions take part in one.
const SESSIONS: usize = 2;

#[derive(Clone, Debug)]
enum Step {
    /// A session asks for something.
    Asks { session: usize, operation: Operation },
    /// A session is closed, and another one opened in its place.
    Reopens { session: usize },
}

fn any_path() -> impl Strategy<Value = Path> {
    prop_oneof![
        4 => Just(parent_path(LockId(0))),
        1 => Just(parent_path(LockId(1))),
        2 => (0..2u8).prop_map(|number| work_path(LockId(number))),
        6 => any_child(),
    ]
}

/// Children of the lock's parent that may be there.
fn any_child() -> impl Strategy<Value = Path> {
    let suffix = prop_oneof![1 => Just(None), 8 => (0..5).prop_map(|number| Some(Suffix::Number(number)))];
    (any_guid(), suffix).prop_map(|(guid, suffix)| place_path(LockId(0), guid).with_suffix(suffix))
}

fn any_guid() -> impl Strategy<Value = Option<Guid>> {
    prop_oneof![2 => Just(None), 1 => (0..2u8).prop_map(|client| Some(Guid { client, serial: 7 }))]
}

fn any_version() -> impl Strategy<Value = Option<i32>> {
    prop_oneof![2 => Just(None), 2 => (0..2).prop_map(Some)]
}

fn any_create() -> impl Strategy<Value = Write> {
    let sequential = (any_guid(), prop::bool::ANY).prop_map(|(guid, ephemeral)| {
        let mode = if ephemeral { CreateMode::EphemeralSequential } else { CreateMode::PersistentSequential };
        (place_path(LockId(0), guid), mode)
    });
    let plain = (any_path(), prop::bool::ANY).prop_map(|(path, ephemeral)| {
        (path, if ephemeral { CreateMode::Ephemeral } else { CreateMode::Persistent })
    });
    (prop_oneof![3 => sequential, 2 => plain], 0..9u32).prop_map(|((path, mode), data)| Write::Create {
        path,
        mode,
        data,
    })
}

fn any_write() -> impl Strategy<Value = Write> {
    prop_oneof![
        4 => any_create(),
        4 => (any_path(), any_version()).prop_map(|(path, version)| Write::Delete { path, version }),
        2 => (any_path(), 0..9u32, any_version())
            .prop_map(|(path, data, version)| Write::SetData { path, data, version }),
    ]
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let check = (any_path(), any_version()).prop_map(|(path, version)| Write::Check {
        path,
        // The client knows no check without a version.
        version: Some(version.unwrap_or(0)),
    });
    let part = prop_oneof![3 => any_write(), 1 => check];
    let read = || (any_path(), prop::bool::weighted(0.6));
    prop_oneof![
        8 => any_write().prop_map(Operation::Write),
        2 => prop::collection::vec(part, 1..4).prop_map(Operation::Multi),
        3 => read().prop_map(|(path, watch)| Operation::Exists { path, watch }),
        2 => read().prop_map(|(path, watch)| Operation::GetData { path, watch }),
        3 => read().prop_map(|(path, watch)| Operation::GetChildren { path, watch }),
        1 => Just(Operation::Sync),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0..SESSIONS, any_operation()).prop_map(|(session, operation)| Step::Asks { session, operation }),
        1 => (0..SESSIONS).prop_map(|session| Step::Reopens { session }),
    ]
}

/// Takes the model's numbers to the real server's: sessions by who holds them, zxids by how far they are from the
/// beginning, which is right only if every transaction takes exactly one on both sides.
struct Translation {
    /// The last zxid of the real server before the sequence, and the model's.
    before: (i64, i64),
    sessions: Vec<(SessionId, i64)>,
}

impl Translation {
    fn same_zxid(&self, model: Zxid, real: i64) -> bool {
        match model {
            // There before the sequence began.
            Zxid::NONE => real <= self.before.0,
            zxid => i64::from(zxid.counter) - self.before.1 == real - self.before.0,
        }
    }

    fn same_stat(&self, model: &Stat, real: &zookeeper_client::Stat) -> bool {
        let owner = model.owner.map_or(Some(0), |owner| {
            self.sessions.iter().find(|(session, _)| *session == owner).map(|(_, real)| *real)
        });
        self.same_zxid(model.czxid, real.czxid)
            && self.same_zxid(model.mzxid, real.mzxid)
            && self.same_zxid(model.pzxid, real.pzxid)
            && model.version == real.version
            && model.cversion == real.cversion
            && model.children == real.num_children
            && owner == Some(real.ephemeral_owner)
    }
}

/// Both sides of the comparison, and what was seen of the real one.
struct Comparison {
    real: Real,
    kinds: BTreeSet<String>,
}

impl Comparison {
    fn compare(&mut self, steps: &[Step], settings: Settings) -> Result<(), TestCaseError> {
        let real = &mut self.real;
        let mut model = Model::new(SESSIONS, settings);
        let before = (real.begin(SESSIONS), model.last_counter());
        let mut translation = Translation { before, sessions: Vec::new() };
        for session in 0..SESSIONS {
            translation.sessions.push((model.session(session), real.session(session)));
        }
        for (place, step) in steps.iter().enumerate() {
            match step {
                Step::Asks { session, operation } => {
                    let ours = model.ask(*session, operation.clone());
                    let theirs = real.ask(*session, operation);
                    self.kinds.insert(theirs.kind());
                    prop_assert!(
                        theirs.is(&ours, &translation),
                        "step {place}, {step:?}: the model has {ours:?}, the real server {theirs:?}"
                    );
                }
                Step::Reopens { session } => {
                    model.reopen(*session);
                    real.reopen(*session);
                    translation.sessions.push((model.session(*session), real.session(*session)));
                }
            }
            for session in 0..SESSIONS {
                let (ours, theirs) = (model.events(session), real.events(session));
                self.kinds.extend(theirs.iter().map(|(_, event)| format!("{event:?}")));
                prop_assert_eq!(
                    ours,
                    theirs,
                    "events of session {} after step {}, {:?}",
                    session,
                    place,
                    step
                );
            }
        }
        Ok(())
    }
}

fn compare_many(comparison: &RefCell<Comparison>, settings: Settings, cases: u32) -> Result<(), String> {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(3),
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    };
    let steps = prop::collection::vec(any_step(), 1..24);
    TestRunner::new(config)
        .run(&steps, |steps| comparison.borrow_mut().compare(&steps, settings))
        .map_err(|failure| failure.to_string())
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_simulator_answers_as_a_real_server_does_and_a_flawed_one_does_not() {
    let Some(server) = Server::start() else {
        println!("no ZooKeeper here to compare with (apt-get install zookeeper)");
        return;
    };
    let comparison = RefCell::new(Comparison { real: Real::new(server), kinds: BTreeSet::new() });
    if let Err(difference) = compare_many(&comparison, Settings::default(), SEQUENCES) {
        panic!("{difference}");
    }
    // A comparison during which nothing interesting happened proves nothing.
    let seen = comparison.borrow().kinds.clone();
    for kind in KINDS {
        assert!(seen.contains(kind), "{kind} was never seen: {seen:?}");
    }
    for flawed in [
        Settings { flaw: Flaw::SequenceCountsChildren, ..Settings::default() },
        Settings { ephemerals: Ephemerals::StayBehind, ..Settings::default() },
    ] {
        assert!(compare_many(&comparison, flawed, SEQUENCES).is_err(), "{flawed:?} is not told apart");
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn the_counter_of_a_real_server_stays_at_its_end() {
    let Some(server) = Server::start_next_to_the_end() else {
        println!("no ZooKeeper here, or no Java compiler, to see its counter end with");
        return;
    };
    let numbers = Real::new(server).number(&["a-", "b-", "c-", "d-", "d-"]);
    let numbers: Vec<Option<&str>> = numbers.iter().map(|number| number.as_deref().ok()).collect();
    let end = Some("2147483647");
    assert_eq!(numbers, [Some("2147483646"), end, end, end, None]);
}

/// Errors, answers and events, all of which must come up.
const KINDS: [&str; 18] = [
    "NoNode",
    "NodeExists",
    "BadVersion",
    "NotEmpty",
    "NoChildrenForEphemerals",
    "created",
    "set",
    "done",
    "all",
    "none",
    "exists",
    "data",
    "children",
    "synced",
    "Created",
    "Deleted",
    "DataChanged",
    "ChildrenChanged",
];
