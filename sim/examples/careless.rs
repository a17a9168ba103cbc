//! Two mistakes that are made in a first machine: it keeps a time that it does not show, and it panics at an answer out of turn. Nobody
//! needs such locks; they are here to show what becomes of them.
//!
//! ```sh
//! cargo run --release --example careless -- check forgetful
//! cargo run --release --example careless -- sweep hasty --faults duplicate
//! ```

use picklock_model::locks::RedisSingle;
use picklock_model::locks::redis_single::Settings;
use picklock_sim::prelude::model::names::Words;
use picklock_sim::prelude::model::stores::redis::{Change, Redis, Reply};
use picklock_sim::prelude::*;
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

/// The lock on one Redis, carelessly done; in which way is a parameter of the type.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Careless<const HASTY: bool> {
    lock: RedisSingle,
    /// The last answer came then: to be told apart from one that comes twice.
    heard: Option<Monotonic>,
}

impl<const HASTY: bool> Lock for Careless<HASTY> {
    type Store = Redis;
    type Settings = Settings;
    const WORDS: Words = RedisSingle::WORDS;

    fn new(me: u8, settings: &Settings) -> Self {
        Careless { lock: RedisSingle::new(me, settings), heard: None }
    }

    fn on_call(&mut self, call: Call, cx: &Context<Settings>, out: &mut Effects<Redis>) {
        self.lock.on_call(call, cx, out);
    }

    fn on_reply(&mut self, from: u8, reply: Reply, cx: &Context<Settings>, out: &mut Effects<Redis>) {
        assert!(!HASTY || !self.lock.dismisses(&reply), "an answer out of turn");
        // Two answers within a second: it takes the second one for a copy.
        let is_copy = self.heard.is_some_and(|heard| cx.monotonic.0 - heard.0 < 1_000_000);
        self.heard = Some(cx.monotonic);
        if HASTY || !is_copy {
            self.lock.on_reply(from, reply, cx, out);
        }
    }

    fn on_deadline(&mut self, cx: &Context<Settings>, out: &mut Effects<Redis>) {
        self.lock.on_deadline(cx, out);
    }

    fn on_restart(&mut self, cx: &Context<Settings>) {
        self.lock.on_restart(cx);
    }

    fn deadline(&self, settings: &Settings) -> Option<Due> {
        self.lock.deadline(settings)
    }

    fn means(change: &Change, server: u8) -> Option<Event> {
        RedisSingle::means(change, server)
    }

    /// `heard` is forgotten.
    fn visit<V: Visitor>(&mut self, settings: &Settings, visitor: &mut V) {
        self.lock.visit(settings, visitor);
    }

    fn doing(&self) -> &'static str {
        self.lock.doing()
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        RedisSingle::lease(settings)
    }
}

fn setup<const HASTY: bool>() -> Setup<Careless<HASTY>> {
    let lock = Settings { ttl: Some(Micros::seconds(3)), ..Settings::as_written() };
    Setup { lock, workload: Workload { work_fits: true, ..Workload::default() }, ..Setup::default() }
}

fn main() -> ExitCode {
    let forgetful = Registered::new("forgetful", "keeps a time that it does not show", setup::<false>);
    let hasty = Registered::new("hasty", "panics at an answer out of turn", setup::<true>);
    picklock_sim::cli::main(&Locks::builtin().and(forgetful).and(hasty))
}
