//! A lock that breaks the one rule of [`picklock_model::machine`]: it decides by something that the engine does not give it.
//! Nobody needs such a lock; it is here to show that the determinism watch of `sweep` sees it.
//!
//! ```sh
//! cargo run --release --example undetermined -- sweep undetermined --faults none
//! ```

use picklock_model::cluster::Setup;
use picklock_model::locks::RedisSingle;
use picklock_model::locks::redis_single::Settings;
use picklock_model::machine::{Call, Context, Effects, Lock, Visitor};
use picklock_model::names::Words;
use picklock_model::stores::redis::{Change, Redis, Reply};
use picklock_model::time::{Due, Micros};
use picklock_model::workload::Workload;
use picklock_properties::Event;
use picklock_sim::cli;
use picklock_sim::registry::{Locks, Registered};
use serde::{Deserialize, Serialize};
use std::process::ExitCode;

/// The lock on one Redis, with a lifetime of its key that depends on the number of the process.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Undetermined(RedisSingle);

fn with_other_settings<R>(cx: &Context<Settings>, then: impl FnOnce(&Context<Settings>) -> R) -> R {
    let ttl = cx.settings.ttl.map(|ttl| ttl + Micros::millis(i64::from(std::process::id())));
    then(&Context { settings: &Settings { ttl, ..*cx.settings }, ..*cx })
}

impl Lock for Undetermined {
    type Store = Redis;
    type Settings = Settings;

    const WORDS: Words = RedisSingle::WORDS;

    fn new(me: u8, settings: &Settings) -> Self {
        Undetermined(RedisSingle::new(me, settings))
    }

    fn on_call(&mut self, call: Call, cx: &Context<Settings>, out: &mut Effects<Redis>) {
        with_other_settings(cx, |cx| self.0.on_call(call, cx, out));
    }

    fn on_reply(&mut self, from: u8, reply: Reply, cx: &Context<Settings>, out: &mut Effects<Redis>) {
        with_other_settings(cx, |cx| self.0.on_reply(from, reply, cx, out));
    }

    fn on_deadline(&mut self, cx: &Context<Settings>, out: &mut Effects<Redis>) {
        with_other_settings(cx, |cx| self.0.on_deadline(cx, out));
    }

    fn on_restart(&mut self, cx: &Context<Settings>) {
        self.0.on_restart(cx);
    }

    fn deadline(&self, settings: &Settings) -> Option<Due> {
        self.0.deadline(settings)
    }

    fn means(change: &Change, server: u8) -> Option<Event> {
        RedisSingle::means(change, server)
    }

    fn choices(&self, reply: Option<&Reply>, settings: &Settings) -> u32 {
        self.0.choices(reply, settings)
    }

    fn visit<V: Visitor>(&mut self, settings: &Settings, visitor: &mut V) {
        self.0.visit(settings, visitor);
    }

    fn doing(&self) -> &'static str {
        self.0.doing()
    }

    fn lease(settings: &Settings) -> Option<Micros> {
        RedisSingle::lease(settings)
    }
}

fn main() -> ExitCode {
    let lock = Registered::<Undetermined>::new("undetermined", "looks where it must not", || Setup {
        lock: Settings::as_written(),
        workload: Workload { work_fits: true, ..Workload::default() },
        ..Setup::default()
    });
    cli::main(&Locks::none().and(lock))
}
