//! The served Redis and the model's are the same to a lock: commands, expiry by a clock that steps, what crashes leave.

use super::{Instance, Settings};
use crate::serve::redis::commands::execute;
use crate::serve::redis::house::House;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::turn::{Surroundings, Turn, Within};
use crate::serve::watch::claims::Owner;
use bytes::Bytes;
use picklock_model::machine::{Context, Effects, Store};
use picklock_model::names::Word;
use picklock_model::stores::redis::{
    self as model, Command, Key, Millis, Outcome, Persistence, Redis, Request, Token, Value,
};
use picklock_model::time::{Due, Micros, Monotonic, Wall};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Ask(Command),
    Passes(Micros),
    ClockSteps(Micros),
    Restarts { power_lost: bool },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = (0_u32..3).prop_map(|number| Key { word: Word(0), number });
    let value = (0_u8..2, 0_u32..2).prop_map(|(client, serial)| Value::Token(Token { client, serial }));
    let ttl = prop_oneof![Just(1), Just(500), Just(1_000), Just(1_999), Just(30_000)].prop_map(Millis);
    let command = prop_oneof![
        (key.clone(), value, any::<bool>(), proptest::option::of(ttl.clone()))
            .prop_map(|(key, value, if_absent, ttl)| Command::Set { key, value, if_absent, ttl }),
        key.clone().prop_map(Command::Get),
        key.clone().prop_map(Command::Del),
        (key.clone(), ttl).prop_map(|(key, ttl)| Command::PExpire(key, ttl)),
        key.clone().prop_map(Command::Incr),
        key.prop_map(Command::Decr),
        Just(Command::FlushAll),
    ];
    let micros = prop_oneof![
        Just(1),
        Just(999),
        Just(1_000),
        Just(500_000),
        Just(1_000_000),
        Just(2_000_000),
        Just(61_000_000),
        Just(3_601_000_000_i64)
    ];
    let step = prop_oneof![
        6 => command.prop_map(Step::Ask),
        3 => micros.clone().prop_map(|length| Step::Passes(Micros(length))),
        1 => (micros, any::<bool>()).prop_map(|(by, back)| Step::ClockSteps(Micros(if back { -by } else { by }))),
        1 => any::<bool>().prop_map(|power_lost| Step::Restarts { power_lost }),
    ];
    proptest::collection::vec(step, 1..40)
}

fn words(command: &Command) -> Vec<Bytes> {
    let text = match command {
        Command::Set { key, value, if_absent, ttl } => {
            let nx = if *if_absent { " NX" } else { "" };
            let px = ttl.map_or_else(String::new, |ttl| format!(" PX {ttl}"));
            format!("SET {} {value}{nx}{px}", key.number)
        }
        Command::Get(key) => format!("GET {}", key.number),
        Command::Del(key) => format!("DEL {}", key.number),
        Command::PExpire(key, ttl) => format!("PEXPIRE {} {ttl}", key.number),
        Command::Incr(key) => format!("INCR {}", key.number),
        Command::Decr(key) => format!("DECR {}", key.number),
        Command::FlushAll => "FLUSHALL".to_owned(),
        other => unreachable!("{other} is not drawn"),
    };
    text.split(' ').map(|word| Bytes::from(word.to_owned())).collect()
}

fn said(outcome: Outcome) -> Reply {
    match outcome {
        Outcome::Ok => Reply::ok(),
        Outcome::Nil => Reply::Nil,
        Outcome::Bulk(value) => Reply::bulk(value.to_string()),
        Outcome::Integer(number) => Reply::Integer(number),
        Outcome::Error(_) => Reply::error("ERR value is not an integer or out of range"),
    }
}

struct Both {
    persistence: Persistence,
    model: Redis,
    served: Instance,
    house: House,
    monotonic: i64,
    wall: i64,
}

impl Both {
    fn new(persistence: Persistence) -> Both {
        let model = Redis::new(0, 1, &model::Settings { persistence, ..Default::default() });
        let served = Instance::new(0, 1, &Settings { persistence, ..Default::default() });
        Both { persistence, model, served, house: House::default(), monotonic: 0, wall: 0 }
    }

    fn enter(
        &mut self,
        in_model: impl FnOnce(&mut Redis, &Context<model::Settings>, &mut Effects<Redis>),
        in_served: impl FnOnce(&mut Instance, &mut House, &Context<Settings>, &mut Effects<Instance>),
    ) -> Option<Outcome> {
        let (wall, monotonic) = (Wall(self.wall), Monotonic(self.monotonic));
        let settings = model::Settings { persistence: self.persistence, ..Default::default() };
        let cx = Context { me: 0, servers: 1, wall, monotonic, choice: 0, settings: &settings };
        let mut effects = Effects::default();
        in_model(&mut self.model, &cx, &mut effects);
        let reply = effects.sends.pop().map(|(_, message)| match message {
            picklock_model::machine::Message::Reply(reply) => reply.outcome,
            other => unreachable!("a server alone says nothing like {other:?}"),
        });
        let settings = Settings { persistence: self.persistence, ..Default::default() };
        let cx = Context { me: 0, servers: 1, wall, monotonic, choice: 0, settings: &settings };
        in_served(&mut self.served, &mut self.house, &cx, &mut Effects::default());
        reply
    }

    fn is_due(&self, due: Option<Due>) -> bool {
        due.is_some_and(|due| match due {
            Due::Wall(at) => self.wall >= at.0,
            Due::Monotonic(at) => self.monotonic >= at.0,
        })
    }

    fn wake(&mut self) {
        let settings = model::Settings::default();
        let dues = [self.model.deadline(&settings), self.model.other_deadline(&settings)];
        let settings = Settings::default();
        let others = [self.served.deadline(&settings), self.served.other_deadline(&settings)];
        let (is_due, is_other_due) = (
            dues.map(|due| self.is_due(due)).contains(&true),
            others.map(|due| self.is_due(due)).contains(&true),
        );
        self.enter(
            |machine, cx, effects| {
                if is_due {
                    machine.on_deadline(cx, effects);
                }
            },
            |machine, _, cx, effects| {
                if is_other_due {
                    machine.on_deadline(cx, effects);
                }
            },
        );
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Passes(length) => {
                self.monotonic += length.0;
                self.wall += length.0;
            }
            Step::ClockSteps(by) => self.wall += by.0,
            Step::Restarts { power_lost } => {
                self.enter(
                    |machine, cx, effects| machine.on_restart(*power_lost, cx, effects),
                    |machine, _, cx, effects| machine.on_restart(*power_lost, cx, effects),
                );
            }
            Step::Ask(command) => {
                let request = Request { serial: 0, command: command.clone(), wait: false };
                let mut answer = Reply::Nil;
                let reply = self.enter(
                    |machine, cx, effects| machine.on_request(0, request, cx, effects),
                    |machine, house, cx, effects| {
                        let id = house.admit(Owner::default(), Micros::ZERO, Default::default());
                        let mut session = house.sessions.take(id).expect("just admitted");
                        machine.begin(cx);
                        let around = Surroundings::default();
                        let mut turn = Turn {
                            instance: machine,
                            cx,
                            house,
                            session: &mut session,
                            around: &around,
                            within: Within::Itself,
                        };
                        answer = match execute(&mut turn, &words(command)) {
                            Ok(reply) => reply,
                            Err(crate::serve::redis::turn::Refusal::Error(text)) => Reply::error(text),
                            Err(other) => panic!("{other:?}"),
                        };
                        machine.end(cx, effects);
                    },
                );
                prop_assert_eq!(answer, said(reply.expect("it replies")), "{}", command);
            }
        }
        self.wake();
        Ok(())
    }
}

proptest! {
    #[test]
    fn the_served_redis_and_the_models_say_the_same(
        persistence in prop_oneof![
            Just(Persistence::None),
            Just(Persistence::AofEverySecond),
            Just(Persistence::AofAlways),
            Just(Persistence::Rdb),
        ],
        steps in steps(),
    ) {
        let mut both = Both::new(persistence);
        for step in &steps {
            both.step(step)?;
        }
        // Whatever is left is the same, and dies at the same time.
        for number in 0..3 {
            both.step(&Step::Ask(Command::Get(Key { word: Word(0), number })))?;
        }
    }
}
