//! A store of one's own, and a lock on it: a clerk who lends one pen for a while, and remembers who has it in a notebook.
//! The notebook lies in a drawer ([`Clerk`] is told the time by its own clock, and its notes survive a power loss), or it
//! does not: then picklock shows what the loss of power does.
//!
//! ```sh
//! cargo run --release --example own_store -- matrix --lock pen,pen-unwritten
//! cargo run --release --example own_store -- check pen-unwritten --drop durable
//! ```

use picklock_model::cluster::Setup;
use picklock_model::machine::{Answer, Call, Context, Effects, Lock, Owner, Silence, Store, Visit, Visitor};
use picklock_model::time::{Due, Micros, Monotonic};
use picklock_model::workload::Workload;
use picklock_properties::{ClientId, Mode};
use picklock_sim::cli;
use picklock_sim::registry::{Locks, Registered};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};
use std::process::ExitCode;

const LENT_FOR: Micros = Micros::seconds(3);
const PATIENCE: Micros = Micros::millis(500);

// The store: messages, a server, and what survives what.

/// `Lend` or `TakeBack`, with a number that the reply repeats.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Request {
    serial: u32,
    lend: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Reply {
    serial: u32,
    yes: bool,
}

/// The server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Clerk {
    /// Who has the pen, and until when.
    lent: Option<(u8, Monotonic)>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Notebook {
    keeps_no_notes: bool,
}

impl Store for Clerk {
    type Settings = Notebook;
    type Request = Request;
    type Reply = Reply;
    type Peer = Silence;
    type Change = Silence;

    fn new(_me: u8, _servers: u8, _settings: &Notebook) -> Self {
        Clerk { lent: None }
    }

    fn on_request(&mut self, from: u8, request: Request, cx: &Context<Notebook>, out: &mut Effects<Self>) {
        let others = self.lent.is_some_and(|(who, until)| who != from && cx.monotonic < until);
        if !others {
            self.lent = request.lend.then(|| (from, cx.monotonic + LENT_FOR));
        }
        out.reply(from, Reply { serial: request.serial, yes: !others });
    }

    fn on_peer(&mut self, _from: u8, message: Silence, _cx: &Context<Notebook>, _out: &mut Effects<Self>) {
        match message {}
    }

    fn on_deadline(&mut self, _cx: &Context<Notebook>, _out: &mut Effects<Self>) {}

    fn on_restart(&mut self, power_lost: bool, cx: &Context<Notebook>, _out: &mut Effects<Self>) {
        if power_lost && cx.settings.keeps_no_notes {
            self.lent = None;
        }
    }

    fn deadline(&self, _settings: &Notebook) -> Option<Due> {
        None
    }

    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.lent.iter_mut().for_each(|(_, until)| visitor.wake(until));
    }

    fn contents(&self) -> Vec<String> {
        let line =
            |(who, until): &(u8, Monotonic)| format!("{} has it until {}", ClientId(*who), Micros(until.0));
        self.lent.iter().map(line).collect()
    }
}

impl Visit for Request {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Sender, &mut self.serial);
    }
}

impl Visit for Reply {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Receiver, &mut self.serial);
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.lend { "lend me the pen" } else { "here is the pen" })
    }
}

impl Display for Reply {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.yes { "yes" } else { "it is lent" })
    }
}

// The lock on it.

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
struct Pen {
    phase: Phase,
    serial: u32,
    again: Option<Monotonic>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
enum Phase {
    Idle,
    Asks(Mode),
    Writes,
    GivesBack,
}

impl Pen {
    fn send(&mut self, phase: Phase, now: Monotonic, out: &mut Effects<Clerk>) {
        *self = Pen { phase, serial: self.serial + 1, again: Some(now + PATIENCE) };
        out.request(0, Request { serial: self.serial, lend: phase != Phase::GivesBack });
    }
}

impl Lock for Pen {
    type Store = Clerk;
    type Settings = ();

    fn new(_me: u8, _settings: &()) -> Self {
        Pen { phase: Phase::Idle, serial: 0, again: None }
    }

    fn on_call(&mut self, call: Call, cx: &Context<()>, out: &mut Effects<Clerk>) {
        match call {
            Call::Acquire { mode, .. } => self.send(Phase::Asks(mode), cx.monotonic, out),
            Call::Release => self.send(Phase::GivesBack, cx.monotonic, out),
            Call::Write => unreachable!("only a lock that says so writes in its own store"),
        }
    }

    fn on_reply(&mut self, _from: u8, reply: Reply, _cx: &Context<()>, out: &mut Effects<Clerk>) {
        let (phase, answer) = match self.phase {
            _ if reply.serial != self.serial => return,
            Phase::Asks(_) if reply.yes => (Phase::Writes, Answer::Granted { fence: None }),
            Phase::Asks(Mode::TryLock) => (Phase::Idle, Answer::Refused),
            Phase::GivesBack => (Phase::Idle, Answer::Released),
            Phase::Asks(Mode::Lock) | Phase::Idle | Phase::Writes => return,
        };
        *self = Pen { phase, again: None, ..*self };
        out.answer(answer);
    }

    fn on_deadline(&mut self, cx: &Context<()>, out: &mut Effects<Clerk>) {
        self.send(self.phase, cx.monotonic, out);
    }

    fn on_restart(&mut self, _cx: &Context<()>) {
        *self = Pen { phase: Phase::Idle, again: None, ..*self };
    }

    fn deadline(&self, _settings: &()) -> Option<Due> {
        self.again.map(Due::Monotonic)
    }

    fn visit<V: Visitor>(&mut self, _settings: &(), visitor: &mut V) {
        visitor.serial(Owner::Me, &mut self.serial);
        self.again.iter_mut().for_each(|again| visitor.wake(again));
    }

    fn doing(&self) -> &'static str {
        match self.phase {
            Phase::Idle => "idle",
            Phase::Asks(_) => "asks for the pen",
            Phase::Writes => "writes",
            Phase::GivesBack => "gives it back",
        }
    }

    fn lease(_settings: &()) -> Option<Micros> {
        Some(LENT_FOR)
    }
}

fn main() -> ExitCode {
    // The clerk wants the pen back after a while, and nobody reminds the writer: who borrows it must be done before.
    fn setup() -> Setup<Pen> {
        Setup { workload: Workload { work_fits: true, ..Workload::default() }, ..Setup::default() }
    }
    let pen = Registered::new("pen", "a clerk lends a pen, and takes notes", setup);
    let unwritten = Registered::new("pen-unwritten", "the same clerk, without notes", || Setup {
        store: Notebook { keeps_no_notes: true },
        ..setup()
    });
    cli::main(&Locks::builtin().and(pen).and(unwritten))
}
