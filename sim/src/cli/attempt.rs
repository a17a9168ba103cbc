//! `picklock try -- COMMAND…`: somebody's clients on simulated servers, until they break.

mod again;
mod aim;
mod children;
mod ports;
mod store;
mod whole;

use super::screen::Screen;
use super::serve::told::{self, Told};
use super::serve::{
    NOTHING_TWICE, ROUND_MAX_S, announce, asked_to_stop, at_last, broken, in_range, listen_for_it,
    promises_of_clients, property_option, runtime, unix_micros, unservable,
};
use super::{BadCall, Ending, names, shell, written};
use crate::cli::plan_file::PlanFile;
use crate::plans::fault::{FaultKind, FaultSet};
use crate::plans::plan::{Plan, Planned, Target, When};
use crate::plans::swarm::Scale;
use crate::serve::watch::{Deed, Strike, Verdict, listen};
use crate::serve::{
    Doors, Served, Servers, cassandra, etcd, for_trial, is_aimed, over_tcp, redis, zookeeper,
};
use again::Round;
use aim::{Aim, Seen, of_process, with_target};
use children::Children;
use clap::Args;
use picklock_model::machine::Node;
use picklock_model::time::Micros;
use picklock_properties::PromiseSet;
use ports::Ports;
use std::cell::{OnceCell, RefCell};
use std::convert::Infallible;
use std::ffi::OsString;
use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::Store;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use whole::{EndedLine, Over, RoundLine, Whole};

/// Runs clients of yours against simulated servers that fail, round after round, until two hold at once
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct Try {
    /// What the clients are tried on
    #[arg(value_enum, value_name = "STORE", default_value_t = Store::Redis)]
    store: Store,
    /// How many servers there are: 1 to 16 of Redis, which know nothing of each other (without it, 5, for Redlock; for a lock on one
    /// server, 1); 1, 3 or 5 of etcd and of ZooKeeper, one ensemble (without it, 3); 1 to 16 of Cassandra, each of which has everything
    /// (without it, 3)
    #[arg(long, value_name = "N")]
    servers: Option<u64>,
    /// How many copies of the command run at once, 1 to 16
    #[arg(long, value_name = "N", default_value_t = 2)]
    clients: u64,
    /// How long your locks live: pauses and errors of clocks are up to three times as long. Without it, 1000 on Redis, else
    /// 2000. On etcd and Cassandra, whole seconds; on ZooKeeper, the timeout of every session, whatever its client asks for
    #[arg(long, value_name = "MILLISECONDS")]
    lease: Option<u64>,
    /// For how long it goes on
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    time: u64,
    /// How long a round takes: servers and clients are new in each. Without it, 8 on Redis, else 12
    #[arg(long, value_name = "SECONDS")]
    round: Option<u64>,
    /// How many rounds there are at most
    #[arg(long, value_name = "N")]
    rounds: Option<u64>,
    /// Random faults of these kinds; `picklock faults` lists them. Without it, pause,clock,power-loss on Redis,
    /// pause,partition,crash,clock on Cassandra, else pause,partition,crash,reset
    #[arg(long, value_name = "FAULT,FAULT", allow_hyphen_values = true)]
    faults: Option<String>,
    /// The seed of the first round's plan; the next round has the next seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// The faults in this file (JSON), in every round
    #[arg(long, value_name = "FILE", conflicts_with_all = ["faults", "seed", "round"])]
    plan: Option<PathBuf>,
    /// Goes on when something broke: in how many of the rounds it does
    #[arg(long)]
    keep_going: bool,
    /// Judges only this promise, mutual-exclusion, fenced-resource or token-order; may be repeated. Without it, all of them: of a lock
    /// that lets two in at once and turns late writes down by their tokens, ask for fenced-resource
    #[arg(long = "property", value_name = "P", value_delimiter = ',')]
    properties: Vec<String>,
    /// Starts a client again that ends by itself, a lease later, or a second. Without it, such a round is cut short, and passes for nothing
    #[arg(long)]
    restart: bool,
    /// Everything that happens, a line of JSON each: commands, replies, faults and their ends, who holds
    #[arg(long, value_parser = written::named(), value_name = "FILE")]
    record: Option<PathBuf>,
    /// Where the plan and the picture go when something broke, numbered if some are there; with --keep-going, a folder in there for
    /// each such round. Without it, into a new folder among temporary files
    #[arg(long, value_parser = written::named(), value_name = "DIR")]
    out: Option<PathBuf>,
    /// Shows what the clients print
    #[arg(long)]
    verbose: bool,
    /// The client, and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

const HELP: &str = "\
Examples:
  picklock try -- python3 worker.py                 a lock on five Redis servers, as Redlock
  picklock try --servers 1 -- python3 worker.py     a lock on one
  picklock try --servers 1 --clients 3 --lease 2000 -- node worker.mjs
  picklock try --faults power-loss --time 60 -- python3 worker.py
  picklock try --plan plan.json --rounds 10 --keep-going -- python3 worker.py
  picklock try --servers 1 --property fenced-resource -- python3 worker.py
  picklock try etcd --faults pause,partition -- ./worker
  picklock try zookeeper --servers 5 --lease 4000 -- python3 worker.py
  picklock try cassandra -- python3 worker.py

A client learns from its environment what it needs: PICKLOCK_REDIS, PICKLOCK_ETCD, \
PICKLOCK_ZOOKEEPER or PICKLOCK_CASSANDRA has the addresses of the servers (host:port, with commas between), \
PICKLOCK_WITNESS where it says what \
it does, PICKLOCK_CLIENT its name, PICKLOCK_LEASE_MS how long its lock should live.

To the witness it says `enter NAME [TOKEN]` when it has the lock, `leave NAME` before it gives \
it back, `want NAME` before it asks and `write NAME [TOKEN]` when it writes: a line each, \
and for each it waits for the line that comes back. It goes on until the witness does not answer any more: \
a round in which a client ends by itself is cut short, which is no pass. Pauses stop its process where it \
is; other faults strike the servers. What an etcd, a ZooKeeper and a Cassandra have handed out they do \
not tell: there the verdict is the clients', and without the witness there is none.";

const CLIENTS_MAX: u64 = 16;
const ROUNDS_MAX: u64 = 1_000_000;
/// How long clients may take until the first of them asks for anything.
const START_MAX: Duration = Duration::from_secs(20);
/// Whoever ends so soon has not begun.
const AT_ONCE: Duration = Duration::from_secs(2);
const LOOK_PERIOD: Duration = Duration::from_millis(10);
/// How much later a client is started again at most.
const RESTART_MAX: Micros = Micros::seconds(1);

/// A plan, as it is drawn or given.
enum Plans {
    Given(Plan),
    Drawn { kinds: FaultSet, scale: Scale, lease: Micros, round: Micros },
}

/// How a round went.
struct Played {
    told: Told,
    over: Over,
    seen: Seen,
    messages_lost: u64,
    commands: u64,
}

/// What is the same in all rounds.
struct Trial<'a> {
    call: &'a Try,
    servers: u8,
    clients: u8,
    lease: Micros,
    /// The promises that are asked for; none: all that can be judged.
    asked: PromiseSet,
    /// The folder for what broke, once it is known.
    out: OnceCell<PathBuf>,
    ends: Instant,
    record: Option<File>,
}

impl Try {
    /// Runs rounds until something breaks, or the time is up.
    pub fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        let servers = self.store.servers(self.servers)?;
        let lease = Micros::millis(self.store.lease_ms(self.lease)? as i64);
        let clients = in_range("clients", self.clients, CLIENTS_MAX)? as u8;
        let time = in_range("time", self.time, ROUND_MAX_S)?;
        let rounds = in_range("rounds", self.rounds.unwrap_or(ROUNDS_MAX), ROUNDS_MAX)?;
        let asked = promises_of_clients(&self.properties)?;
        let plans = self.plans(servers, clients, lease)?;
        self.out.as_deref().map(told::folder).transpose()?;
        let record = self.record.as_deref().map(told::created).transpose()?;
        let out = self.out.clone().map_or_else(OnceCell::new, OnceCell::from);
        runtime()?.block_on(async {
            let ends = Instant::now() + Duration::from_secs(time);
            let trial = Trial { call: &self, servers, clients, lease, asked, out, ends, record };
            trial.run(&plans, rounds, screen).await
        })
    }

    fn plans(&self, servers: u8, clients: u8, lease: Micros) -> Result<Plans, BadCall> {
        let usual = self.store.usual();
        let round = in_range("round", self.round.unwrap_or(usual.round_s), ROUND_MAX_S)?;
        let round = Micros::seconds(round as i64);
        if let Some(path) = &self.plan {
            let plan = PlanFile::read(path)?.plan().clone();
            return match unservable(&plan, clients, servers) {
                None => Ok(Plans::Given(plan)),
                Some(why) => Err(BadCall(format!("the plan {} cannot be tried: {why}", path.display()))),
            };
        }
        let kinds = names::faults_of_servers(self.faults.as_deref().unwrap_or(usual.faults))?;
        if kinds == FaultSet::from(FaultKind::Duplicate) {
            return Err(BadCall(
                "nothing comes twice over TCP: --faults duplicate would strike nothing".to_owned(),
            ));
        }
        // The rest of the round is for what the last fault leads to.
        let horizon = Micros((round.0 * 2 / 3).max(1));
        let scale = Scale { clients, servers, lease: Some(lease), horizon, messages: 0, lines: Vec::new() };
        Ok(Plans::Drawn { kinds, scale, lease, round })
    }
}

impl Plans {
    fn of(&self, seed: u64) -> Plan {
        match self {
            Plans::Given(plan) => plan.clone(),
            Plans::Drawn { kinds, scale, lease, round } => {
                let drawn = Plan::random(*kinds, seed, scale);
                for_trial(drawn, seed, scale.servers, *lease, scale.horizon, *round)
            }
        }
    }
}

impl Trial<'_> {
    async fn run(&self, plans: &Plans, rounds: u64, screen: &mut Screen) -> Result<Ending, BadCall> {
        at_last(children::kill_all);
        listen_for_it().map_err(|error| BadCall(format!("^C cannot be caught here: {error}")))?;
        let began = Instant::now();
        let mut lines: Vec<RoundLine> = Vec::new();
        let mut over = Over::Done;
        for round in 1..=rounds {
            let seed = self.call.seed.saturating_add(round - 1);
            let drawn = plans.of(seed);
            let plan = Plan { network: over_tcp(drawn.network), ..drawn.clone() };
            let is_drawn = matches!(plans, Plans::Drawn { .. });
            let of = if is_drawn { format!(", seed {seed}") } else { String::new() };
            let left_out = if plan.network == drawn.network { "" } else { NOTHING_TWICE };
            let head = format!("\nround {round}{of}\n{plan}\n{left_out}\n");
            let round_began = Instant::now();
            let played = self.round((round, &head), &plan, screen).await;
            let Played { told, over: how, seen, messages_lost, commands } = match played {
                Ok(played) => played,
                Err(bad) if lines.is_empty() => return Err(bad),
                // What came of the rounds before is told.
                Err(BadCall(why)) => {
                    announce(screen, &format!("error: {why}\n"));
                    over = Over::Failed;
                    break;
                }
            };
            let is_broken = told.verdict == Verdict::Violated;
            lines.push(RoundLine {
                round,
                seed: is_drawn.then_some(seed),
                seconds: round_began.elapsed().as_secs_f64(),
                told,
                faults_struck: seen.struck,
                messages_lost,
                is_idle: whole::is_idle(&plan, seen.struck, messages_lost),
                is_unused: commands == 0,
                ended: seen.ended,
            });
            over = how;
            let is_last = (is_broken && !self.call.keep_going) || Instant::now() >= self.ends;
            if is_last || over == Over::Interrupted || screen.is_closed() {
                break;
            }
        }
        let seconds = began.elapsed().as_secs_f64();
        let whole = Whole { lines, over, asked: self.asked, seconds };
        let ending = whole.ending();
        screen.text(&format!("\n{}", whole.in_words()));
        screen.versioned(&whole.document());
        Ok(ending)
    }

    /// One round: new servers, new clients, one plan. `head` is said once the clients are there.
    async fn round(
        &self,
        (number, head): (u64, &str),
        plan: &Plan,
        screen: &mut Screen,
    ) -> Result<Played, BadCall> {
        let record = self.record.as_ref().map(File::try_clone).transpose();
        let record = record.map_err(|error| BadCall(format!("--record: it cannot be written: {error}")))?;
        let ports = Ports::open(self.servers, self.clients).await?;
        let (count, date, doors) = (self.servers, unix_micros(), ports.clients.clone());
        match self.call.store {
            Store::Redis => {
                let settings = redis::Settings { date, ..redis::Settings::default() };
                let servers = redis::Servers::new(count, settings);
                servers.advertise(ports.addresses[0].clone());
                servers.watch(date, record, doors);
                let process =
                    |servers, server, doors| async move { redis::serve(&servers, server, doors).await };
                self.round_on(&servers, process, ports, (number, head), plan, screen).await
            }
            Store::Etcd => {
                let servers = etcd::Servers::new(count, Default::default());
                servers.advertise(store::urls(&ports.addresses[0]));
                servers.watch(date, record, doors);
                let process =
                    |servers, member, doors| async move { etcd::serve(&servers, member, doors).await };
                self.round_on(&servers, process, ports, (number, head), plan, screen).await
            }
            Store::ZooKeeper => {
                let servers = zookeeper::Servers::new(count, zookeeper::settings());
                let session = i32::try_from(self.lease.0 / 1_000).unwrap_or(i32::MAX);
                servers.bound_sessions(session, session);
                servers.watch(date, record, doors);
                let process =
                    |servers, server, doors| async move { zookeeper::serve(&servers, server, doors).await };
                self.round_on(&servers, process, ports, (number, head), plan, screen).await
            }
            Store::Cassandra => {
                let servers = cassandra::Servers::new(count, Default::default());
                servers.advertise(ports.addresses.clone());
                servers.watch(date, record, doors);
                let process =
                    |servers, server, doors| async move { cassandra::serve(&servers, server, doors).await };
                self.round_on(&servers, process, ports, (number, head), plan, screen).await
            }
        }
    }

    /// The same on these servers; `process` is one of them behind its ports.
    async fn round_on<S: Served, P>(
        &self,
        servers: &Servers<S>,
        process: impl Fn(Servers<S>, u8, Doors) -> P,
        ports: Ports,
        (number, head): (u64, &str),
        plan: &Plan,
        screen: &mut Screen,
    ) -> Result<Played, BadCall>
    where
        P: Future<Output = std::io::Result<Infallible>> + Send + 'static,
    {
        let environments = self.environments(&ports);
        let mut processes: JoinSet<std::io::Result<Infallible>> = JoinSet::new();
        for (server, doors) in (0..).zip(ports.servers) {
            processes.spawn(process(servers.clone(), server, doors));
        }
        for (client, (_, listener)) in (0..).zip(ports.witness) {
            processes.spawn(listen(servers.clone(), listener, Some(client)));
        }
        let (listener, mut deeds) = unbounded_channel();
        servers.watched(|watch, _| {
            watch.listener = Some(listener);
            if !self.asked.is_empty() {
                watch.ask(self.asked);
            }
        });
        let mut children = Children::start(self.call.command.clone(), environments, self.call.verbose)?;
        let over = self.play((head, plan), servers, &mut children, &mut deeds, processes, screen).await;
        children.stop().await;
        let (over, mut seen) = over?;
        seen.struck = servers.watched(|watch, _| watch.faults_struck());
        let told = self.judge((number, plan), over, &seen, servers, screen)?;
        let tally = servers.tally();
        Ok(Played { told, over, seen, messages_lost: tally.lost, commands: tally.commands })
    }

    /// What each client is told.
    fn environments(&self, ports: &Ports) -> Vec<Vec<(&'static str, String)>> {
        let environment = |(client, (witness, _)): (usize, &(SocketAddr, _))| {
            vec![
                (self.call.store.variable(), ports.told(client)),
                ("PICKLOCK_WITNESS", witness.to_string()),
                ("PICKLOCK_CLIENT", Node::Client(client as u8).to_string()),
                ("PICKLOCK_LEASE_MS", (self.lease.0 / 1_000).to_string()),
            ]
        };
        ports.witness.iter().enumerate().map(environment).collect()
    }

    /// Waits until all clients have asked for something, or some have for long.
    async fn begun<S: Served>(&self, servers: &Servers<S>, children: &mut Children) -> Result<(), BadCall> {
        let began = Instant::now();
        loop {
            let seen = (0..self.clients).filter(|client| servers.watched(|watch, _| watch.has_seen(*client)));
            let seen = seen.count();
            if seen == usize::from(self.clients) || (seen > 0 && began.elapsed() > START_MAX / 4) {
                return Ok(());
            }
            if let Some(ended) = children.ended().into_iter().next() {
                let has_asked = servers.watched(|watch, _| watch.has_seen(ended.client));
                return Err(no_client(&ended, has_asked));
            }
            if began.elapsed() > START_MAX || Instant::now() > self.ends {
                let (seconds, variable) = (began.elapsed().as_secs_f64(), self.call.store.variable());
                return Err(BadCall(format!(
                    "none of the clients has asked for anything in {seconds:.0} s: they find the servers in {variable}"
                )));
            }
            sleep(LOOK_PERIOD).await;
        }
    }

    /// Lets the plan happen.
    async fn play<S: Served>(
        &self,
        (head, plan): (&str, &Plan),
        servers: &Servers<S>,
        children: &mut Children,
        deeds: &mut UnboundedReceiver<Deed>,
        mut processes: JoinSet<std::io::Result<Infallible>>,
        screen: &mut Screen,
    ) -> Result<(Over, Seen), BadCall> {
        let stopped = |stopped: std::io::Result<()>| match stopped {
            Ok(()) => Ok(Over::Interrupted),
            Err(error) => Err(BadCall(format!("^C cannot be caught here: {error}"))),
        };
        tokio::select! {
            biased;
            asked = asked_to_stop() => return Ok((stopped(asked)?, Seen::default())),
            begun = self.begun(servers, children) => begun?,
        }
        announce(screen, head);
        // What they did before the plan began counts for nothing that is aimed.
        while deeds.try_recv().is_ok() {}
        let began = Instant::now();
        let screen = RefCell::new(screen);
        let say = |text: &str| announce(&mut screen.borrow_mut(), text);
        for planned in plan.faults.iter().filter(|planned| !self.strikes(servers, planned)) {
            say(&format!("left out, as nobody here can see it: {planned}\n"));
        }
        let (to_servers, mut aimed) = unbounded_channel();
        let plan_began = servers.now();
        say(&format!("all clients are there: the plan begins at {plan_began} of the servers' time\n"));
        let mut aim = Aim {
            servers,
            plan,
            clients: self.clients,
            restarts_after: self.call.restart.then_some(self.lease.min(RESTART_MAX)),
            began: plan_began,
            to_servers,
            seen: Seen::default(),
        };
        let struck = |at, fault: &crate::plans::plan::Fault| say(&format!("struck at {at}: {fault}\n"));
        let over = tokio::select! {
            biased;
            asked = asked_to_stop() => stopped(asked)?,
            Some(ended) = processes.join_next() => match ended {
                Ok(Ok(never)) => match never {},
                Ok(Err(error)) => return Err(BadCall(format!("a server has stopped: {error}"))),
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            },
            () = broken(servers) => Over::Done,
            ended = aim.strike(children, deeds, say) => {
                ended?;
                let is_early = began.elapsed() < AT_ONCE && servers.watched(|watch, _| watch.nobody_held());
                if is_early {
                    let few = servers.watched(|watch, _| watch.few_used(self.servers));
                    let few = few.map_or_else(String::new, |few| format!("; {few}"));
                    return Err(BadCall(format!(
                        "all clients have ended, and none of them ever held a lock{few}"
                    )));
                }
                Over::Done
            }
            () = servers.follow_aimed(plan, &mut aimed, struck) => Over::Done,
            () = tokio::time::sleep_until(self.ends) => Over::Done,
        };
        let mut seen = aim.seen;
        // While somebody hears them still: who is not there now has left.
        for client in (0..self.clients).filter(|client| children.lives(*client)) {
            let away = servers.watched(|watch, now| watch.away_since(client).map(|since| (since, now)));
            if let Some((since, now)) = away
                && now - since >= told::too_long(self.lease)
            {
                let left = EndedLine::left(client, since);
                say(&left.in_words());
                seen.ended.push(left);
            }
        }
        Ok((over, seen))
    }

    /// Whether a fault can strike anything here, at a moment that somebody here can tell.
    fn strikes<S: Served>(&self, servers: &Servers<S>, planned: &Planned) -> bool {
        let is_told = matches!(planned.when, When::At(_)) || is_aimed(planned.when);
        // Whoever pulls a trigger is a client.
        let fault = with_target(planned.fault.clone(), Target::Client(0));
        is_told && (servers.feels(&fault) || of_process(&fault).is_some())
    }

    fn judge<S: Served>(
        &self,
        (number, plan): (u64, &Plan),
        over: Over,
        seen: &Seen,
        servers: &Servers<S>,
        screen: &mut Screen,
    ) -> Result<Told, BadCall> {
        let began = servers.plan_began();
        servers.watched(|watch, now| {
            let (mut told, mut text) = Told::of(watch, self.servers, self.call.store.servers_judge());
            if told.verdict == Verdict::Kept {
                text += &told.look_for_stuck(watch, now, self.lease);
            }
            // What has not happened yet is no reason for anything.
            let is_all_heard = told.unread_lines == 0 && watch.witness.refused == 0;
            if over == Over::Interrupted && told.verdict == Verdict::Vacuous && is_all_heard {
                text = format!("round {number} was stopped before anything put it to the test\n");
            }
            if let Some(broken) = watch.broken().next() {
                let strikes: Vec<Strike> = watch.strikes().cloned().collect();
                let round = Round {
                    broken,
                    strikes: &strikes,
                    fired: &seen.fired,
                    entered: &seen.entered,
                    began,
                    lease: self.lease,
                };
                let plan = round.plan(plan);
                let again = |plan: &Path| self.again(plan);
                let title = format!("picklock try: {}", self.command());
                let written = self.folder(number).and_then(|out| {
                    told::write(watch, self.servers, &title, Some(&plan), &out, &again, &mut told)
                });
                text += &written.unwrap_or_else(|error| told::unwritten(&error));
            }
            if let Some(error) = watch.record.finish() {
                text += &told::lost_record(told.verdict, &error)?;
            }
            announce(screen, &text);
            Ok(told)
        })
    }

    /// Where the plan and the picture of a round go: what other rounds have found stays.
    fn folder(&self, round: u64) -> Result<PathBuf, BadCall> {
        let all = match self.out.get() {
            Some(all) => all,
            None => {
                let new = told::new_folder("try")?;
                self.out.get_or_init(|| new)
            }
        };
        Ok(if self.call.keep_going { all.join(format!("round-{round}")) } else { all.clone() })
    }

    /// The call that does it again, with the plan in this file.
    fn again(&self, plan: &Path) -> String {
        let (call, servers, clients) = (self.call.store.call(), self.servers, self.clients);
        let lease = self.lease.0 / 1_000;
        let asked = property_option(self.asked);
        let restart = if self.call.restart { " --restart" } else { "" };
        format!(
            "{} {call} --servers {servers} --clients {clients} --lease {lease}{asked}{restart} --plan {} -- {}",
            names::program(),
            shell::path(plan),
            self.command()
        )
    }

    fn command(&self) -> String {
        let words: Vec<_> = self.call.command.iter().map(|word| word.to_string_lossy()).collect();
        shell::line(words.iter().map(|word| &**word))
    }
}

/// A client has ended before it did anything.
fn no_client(ended: &children::Ended, has_asked: bool) -> BadCall {
    let name = Node::Client(ended.client);
    let said = match ended.last_words.as_str() {
        "" => "it said nothing on its standard error".to_owned(),
        words => format!("it said: {words}"),
    };
    let when = if has_asked { "all clients had asked" } else { "it asked" };
    BadCall(format!("client {name} has ended ({}) before {when} for anything; {said}", ended.status))
}
