//! `picklock serve`: a simulated store for others, in its own protocol.

mod cassandra;
mod etcd;
mod redis;
mod stop;
pub mod told;
mod zookeeper;

use super::plan_file::PlanFile;
use super::screen::{Screen, counted, sentence};
use super::sweep::names_of;
use super::{BadCall, Ending, memory, names, written};
use crate::plans::fault::FaultSet;
use crate::plans::plan::{Fault, Plan, Planned, When};
use crate::plans::swarm::Scale;
use crate::serve::watch;
use crate::serve::{DRIFT_PPM_MIN, Served, Servers, for_servers, over_tcp};
use clap::{Args, Subcommand};
use picklock_model::time::Micros;
use picklock_properties::{Promise, PromiseSet};
use serde::Serialize;
use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
pub use stop::{asked_to_stop, at_last, listen_for_it};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinSet;
use told::{Outcome, Told};

/// Serves a simulated store to any client, with faults
#[derive(Debug, Args)]
pub struct Serve {
    #[command(subcommand)]
    store: Store,
}

#[derive(Debug, Subcommand)]
enum Store {
    Redis(redis::Redis),
    Etcd(etcd::Etcd),
    #[command(name = "zookeeper")]
    ZooKeeper(zookeeper::ZooKeeper),
    Cassandra(cassandra::Cassandra),
}

/// What goes wrong, whatever is served.
#[derive(Debug, Args)]
struct Wrong {
    /// The faults in this file (JSON), as far as they are about servers and at a time
    #[arg(long, value_name = "FILE", conflicts_with = "faults")]
    plan: Option<PathBuf>,
    /// Random faults of these kinds, one plan after the other until ^C; `picklock faults` lists them
    #[arg(long, value_name = "FAULT,FAULT", allow_hyphen_values = true)]
    faults: Option<String>,
    /// The seed of the first random plan; the next plan has the next seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How long your locks live: random pauses and errors of clocks are up to three times as long
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 10_000)]
    lease: u64,
    /// How long the faults of a random plan go on beginning
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    round: u64,
}

/// What is kept of it, and what is said of it.
#[derive(Debug, Args)]
struct Watching {
    /// Everything that happens, a line of JSON each: commands, replies, faults and their ends, who holds
    #[arg(long, value_parser = written::named(), value_name = "FILE")]
    record: Option<PathBuf>,
    /// Where clients say what they do, a line each: want LOCK, enter LOCK [TOKEN], write LOCK [TOKEN], leave LOCK, lost LOCK; then
    /// theirs is the verdict
    #[arg(long, value_name = "IP:PORT")]
    witness: Option<String>,
    /// Stops when a promise is broken, and says which fault is suspected
    #[arg(long)]
    until_broken: bool,
    /// Judges only this promise, mutual-exclusion, fenced-resource or token-order; may be repeated. Without it, all of them
    #[arg(long = "property", value_name = "P", value_delimiter = ',')]
    properties: Vec<String>,
    /// Where the plan and the picture go when something broke, numbered if some are there. Without it, into a new folder among
    /// temporary files
    #[arg(long, value_parser = written::named(), value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Watching {
    /// Where clients tell what they hold, of a store whose servers tell nobody: without that nothing can be broken.
    fn by_clients(&self) -> Result<Option<SocketAddr>, BadCall> {
        if self.until_broken && self.witness.is_none() {
            let what = "--until-broken needs clients who say what they hold, as in --witness 127.0.0.1:7000";
            return Err(BadCall(what.to_owned()));
        }
        self.witness.as_deref().map(told::witness_address).transpose()
    }

    /// The promises that are asked for; none: all that can be judged.
    fn asked(&self) -> Result<PromiseSet, BadCall> {
        let asked = promises_of_clients(&self.properties)?;
        let of_clients = asked.iter().find(|promise| *promise != Promise::MutualExclusion);
        match of_clients.filter(|_| self.witness.is_none()) {
            None => Ok(asked),
            Some(promise) => Err(BadCall(format!(
                "--property {promise} needs clients who say what they hold, as in --witness 127.0.0.1:7000"
            ))),
        }
    }
}

/// How a store is watched, and what is called what there.
struct Watched {
    title: String,
    /// What a call with the same plan begins with.
    again: String,
    witness: Option<SocketAddr>,
    until_broken: bool,
    /// The promises that are asked for; none: all that can be judged.
    asked: PromiseSet,
    out: Option<PathBuf>,
    /// Servers tell what they hand out, and are judged by it where no client says anything.
    servers_judge: bool,
}

impl Watched {
    /// How it is watched, as options of the call.
    fn options(&self) -> String {
        let witness = self.witness.map_or_else(String::new, |witness| format!(" --witness {witness}"));
        witness + if self.until_broken { " --until-broken" } else { "" } + &property_option(self.asked)
    }
}

/// What happened, for machines.
#[derive(Serialize)]
struct Summary {
    listening: Vec<SocketAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    witness: Option<SocketAddr>,
    #[serde(flatten)]
    told: Told,
    first_seed: Option<u64>,
    connections: u64,
    commands: u64,
    messages_lost: u64,
    faults_struck: u64,
}

/// How often it looks whether there is something to be said of the servers.
const NOTICE_PERIOD: Duration = Duration::from_millis(50);
/// How often it looks whether something is broken.
const BROKEN_PERIOD: Duration = Duration::from_millis(5);
pub const LEASE_MAX_MS: u64 = 86_400_000;
pub const ROUND_MAX_S: u64 = 86_400;

impl Serve {
    /// Serves until ^C.
    pub fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        memory::in_small_pages();
        match self.store {
            Store::Redis(redis) => redis.run(screen),
            Store::Etcd(etcd) => etcd.run(screen),
            Store::ZooKeeper(zookeeper) => zookeeper.run(screen),
            Store::Cassandra(cassandra) => cassandra.run(screen),
        }
    }
}

/// What goes wrong.
enum Faults {
    None,
    Once(Plan),
    Random { kinds: FaultSet, scale: Scale },
}

/// Where servers listen, the first one here and the others on the ports after it.
fn address(listen: &str, example: &str) -> Result<SocketAddr, BadCall> {
    let wrong = |_| BadCall(format!("--listen {listen}: it takes an address and a port, as in {example}"));
    listen.parse().map_err(wrong)
}

impl Wrong {
    fn faults(&self, count: u8) -> Result<Faults, BadCall> {
        let lease = in_range("lease", self.lease, LEASE_MAX_MS)? as i64;
        let round = in_range("round", self.round, ROUND_MAX_S)? as i64;
        match (&self.plan, &self.faults) {
            (Some(path), _) => {
                let plan = PlanFile::read(path)?.plan().clone();
                // Clients of a plan are nobody here, and their faults are left out.
                match unservable(&plan, u8::MAX, count) {
                    None => Ok(Faults::Once(plan)),
                    Some(why) => Err(BadCall(format!("the plan {} cannot be served: {why}", path.display()))),
                }
            }
            (None, Some(kinds)) => {
                let kinds = names::faults_of_servers(kinds)?;
                if kinds.is_empty() {
                    return Ok(Faults::None);
                }
                let scale = Scale {
                    clients: 1,
                    servers: count,
                    lease: Some(Micros::millis(lease)),
                    horizon: Micros::seconds(round),
                    messages: 0,
                    lines: Vec::new(),
                };
                Ok(Faults::Random { kinds, scale })
            }
            (None, None) => Ok(Faults::None),
        }
    }

    /// Serves until ^C. `process` is one server behind its listener; `told` hears where all of them are, before anybody is
    /// served.
    #[expect(clippy::too_many_arguments, reason = "what is the same for all stores, and what is not")]
    fn serve<S: Served, P>(
        &self,
        servers: &Servers<S>,
        listen: SocketAddr,
        faults: Faults,
        process: impl Fn(Servers<S>, u8, TcpListener) -> P,
        told: impl FnOnce(&[SocketAddr]),
        watched: Watched,
        screen: &mut Screen,
    ) -> Result<Ending, BadCall>
    where
        P: Future<Output = std::io::Result<Infallible>> + Send + 'static,
    {
        runtime()?.block_on(self.go_on(servers, listen, faults, process, told, watched, screen))
    }

    #[expect(clippy::too_many_arguments, reason = "what is the same for all stores, and what is not")]
    async fn go_on<S: Served, P>(
        &self,
        servers: &Servers<S>,
        listen: SocketAddr,
        faults: Faults,
        process: impl Fn(Servers<S>, u8, TcpListener) -> P,
        told: impl FnOnce(&[SocketAddr]),
        watched: Watched,
        screen: &mut Screen,
    ) -> Result<Ending, BadCall>
    where
        P: Future<Output = std::io::Result<Infallible>> + Send + 'static,
    {
        let mut processes: JoinSet<std::io::Result<Infallible>> = JoinSet::new();
        let (mut listening, mut listeners) = (Vec::new(), Vec::new());
        for server in 0..servers.count() {
            let port = match listen.port() {
                0 => Some(0),
                first => first.checked_add(server.into()),
            };
            let Some(port) = port else {
                return Err(BadCall(format!(
                    "--listen {listen}: there are not {} ports after it",
                    servers.count()
                )));
            };
            let address = SocketAddr::new(listen.ip(), port);
            let cannot = |error| BadCall(format!("nobody can listen on {address} here: {error}"));
            let listener = bound(address).map_err(cannot)?;
            listening.push(listener.local_addr().map_err(cannot)?);
            listeners.push(listener);
        }
        told(&listening);
        if !watched.asked.is_empty() {
            servers.watched(|watch, _| watch.ask(watched.asked));
        }
        for (server, listener) in (0..).zip(listeners) {
            processes.spawn(process(servers.clone(), server, listener));
        }
        for (server, address) in listening.iter().enumerate() {
            announce(screen, &format!("s{} listens on {address}\n", server + 1));
        }
        let mut witness = None;
        if let Some(address) = watched.witness {
            let cannot = |error| BadCall(format!("nobody can listen on {address} here: {error}"));
            let listener = bound(address).map_err(cannot)?;
            let address = listener.local_addr().map_err(cannot)?;
            processes.spawn(watch::listen(servers.clone(), listener, None));
            announce(screen, &format!("the witness listens on {address}\n"));
            witness = Some(address);
        }
        let screen = RefCell::new(screen);
        let in_force = RefCell::new(None);
        tokio::select! {
            biased;
            stopped = asked_to_stop() => {
                stopped.map_err(|error| BadCall(format!("^C cannot be caught here: {error}")))?;
            }
            Some(ended) = processes.join_next() => match ended {
                Ok(Ok(never)) => match never {},
                Ok(Err(error)) => return Err(BadCall(format!("a server has stopped: {error}"))),
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            },
            () = broken(servers), if watched.until_broken => {}
            () = self.strike(servers, faults, &screen, &in_force) => {}
            () = say_notices(servers, &screen) => {}
            never = memory::give_back() => match never {},
        }
        say_now(servers, &screen);
        let (screen, tally) = (screen.into_inner(), servers.tally());
        let plan = in_force.into_inner();
        let Outcome { ending, text, told } = Outcome::of(servers, &watched, plan)?;
        screen.text(&sentence(&format!(
            "served {} on {}; {} struck, {} lost with their connections",
            counted(tally.commands, "command"),
            counted(tally.connections, "connection"),
            counted(tally.faults, "fault"),
            counted(tally.lost, "message"),
        )));
        let fits = |line: &str| line.starts_with(' ') || Screen::fits(line.chars().count());
        let lines = text.lines().map(|line| if fits(line) { format!("{line}\n") } else { sentence(line) });
        screen.text(&lines.collect::<String>());
        screen.versioned(&Summary {
            listening,
            witness,
            told,
            first_seed: self.faults.as_ref().map(|_| self.seed),
            connections: tally.connections,
            commands: tally.commands,
            messages_lost: tally.lost,
            faults_struck: tally.faults,
        });
        Ok(ending)
    }

    /// Never ends.
    async fn strike<S: Served>(
        &self,
        servers: &Servers<S>,
        faults: Faults,
        screen: &RefCell<&mut Screen>,
        in_force: &RefCell<Option<Plan>>,
    ) {
        match faults {
            Faults::None => announce(&mut screen.borrow_mut(), "no faults\n"),
            Faults::Once(plan) => {
                in_force.replace(Some(plan.clone()));
                follow(servers, &plan, screen).await;
            }
            Faults::Random { kinds, scale } => {
                for seed in self.seed.. {
                    announce(&mut screen.borrow_mut(), &format!("\nseed {seed}\n"));
                    let plan =
                        for_servers(Plan::random(kinds, seed, &scale), seed, servers.count(), scale.horizon);
                    in_force.replace(Some(plan.clone()));
                    follow(servers, &plan, screen).await;
                }
            }
        }
        std::future::pending().await
    }
}

/// The option that asks for these promises, with a space before it.
pub fn property_option(asked: PromiseSet) -> String {
    match names_of(asked).as_slice() {
        [] => String::new(),
        names => format!(" --property {}", names.join(",")),
    }
}

/// Promises that clients can break, as far as they tell a witness; none where none is asked for.
///
/// # Errors
/// There is no such promise, or nobody here can judge it.
pub fn promises_of_clients(names: &[String]) -> Result<PromiseSet, BadCall> {
    let (asked, judged) = (names::promises(names)?, watch::witness::promises());
    match asked.iter().find(|promise| !judged.contains(*promise)) {
        None => Ok(asked),
        Some(promise) => Err(BadCall(format!(
            "--property {promise}: of real clients nobody can judge that, but {}",
            names_of(judged).join(", ")
        ))),
    }
}

/// What runs servers and waits.
pub fn runtime() -> Result<tokio::runtime::Runtime, BadCall> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| BadCall(format!("the network cannot be used: {error}")))
}

/// How many connections may be made before they are taken, as on the real Redis (`tcp-backlog`). Whoever comes after them is
/// dropped, and tries again a second later.
const BACKLOG: u32 = 511;

/// A port that is open.
///
/// # Errors
/// Nobody can listen there.
///
/// # Panics
/// Outside of tokio's runtime.
pub fn bound(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // There it would let two listen on one port.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Waits until something is broken.
pub async fn broken<S: Served>(servers: &Servers<S>) {
    while servers.watched(|watch, _| watch.broken().next().is_none()) {
        tokio::time::sleep(BROKEN_PERIOD).await;
    }
}

/// What is said of a plan in which requests arrive twice.
pub const NOTHING_TWICE: &str = "left out, as nothing comes twice over TCP: requests that do\n";

/// Why servers cannot be given this plan.
pub fn unservable(plan: &Plan, clients: u8, servers: u8) -> Option<String> {
    if let Some(why) = plan.names_nobody(clients, servers) {
        return Some(why);
    }
    let cannot_be_served = plan.faults.iter().find_map(|Planned { when, fault }| match (when, fault) {
        (When::At(at), _) if *at >= plan.heal_at => {
            Some(format!("at {at} everything is healed since {}, and nothing strikes: {fault}", plan.heal_at))
        }
        (_, Fault::Drift { ppm, .. }) if *ppm < DRIFT_PPM_MIN => {
            Some(format!("no clock drifts by {ppm} ppm here, {DRIFT_PPM_MIN} is the least"))
        }
        _ => None,
    });
    cannot_be_served.or_else(|| {
        let served = Plan { network: over_tcp(plan.network), ..plan.clone() };
        let is_idle = served.faults.is_empty() && served.network.is_of_a_good_day();
        match is_idle && plan.network.duplicate_per_mille > 0 {
            true => Some("it can strike nothing at all; nothing comes twice over TCP".to_owned()),
            false => served.strikes_nothing(clients, servers),
        }
    })
}

/// Says what will happen and what will not, and lets it happen.
async fn follow<S: Served>(servers: &Servers<S>, plan: &Plan, screen: &RefCell<&mut Screen>) {
    let is_here = |planned: &Planned| matches!(planned.when, When::At(_)) && servers.feels(&planned.fault);
    let (mut here, elsewhere): (Vec<Planned>, Vec<Planned>) = plan.faults.iter().cloned().partition(is_here);
    here.sort_by_key(|planned| match planned.when {
        When::At(at) => at,
        When::Trigger { delay, .. } => delay,
    });
    let say = |text: &str| announce(&mut screen.borrow_mut(), text);
    let network = over_tcp(plan.network);
    say(&format!("{}\n", Plan { faults: here, network, ..plan.clone() }));
    say(&format!("it begins at {} of the servers' time\n", servers.now()));
    if plan.network.duplicate_per_mille > 0 {
        say(NOTHING_TWICE);
    }
    for planned in elsewhere {
        say(&format!("left out, as nobody here can see it: {planned}\n"));
    }
    say("\n");
    let told = |at, fault: &Fault| {
        say_now(servers, screen);
        say(&format!("struck at {at}: {fault}\n"));
    };
    servers.follow(plan, told).await;
    say_now(servers, screen);
    say("healed: links are whole, processes run, clocks are right\n");
}

/// Says what the servers do of their own accord, and what they are asked for in vain, for as long as anybody reads it.
async fn say_notices<S: Served>(servers: &Servers<S>, screen: &RefCell<&mut Screen>) {
    while !screen.borrow().is_closed() {
        say_now(servers, screen);
        tokio::time::sleep(NOTICE_PERIOD).await;
    }
}

fn say_now<S: Served>(servers: &Servers<S>, screen: &RefCell<&mut Screen>) {
    for (at, notice) in servers.take_notices() {
        announce(&mut screen.borrow_mut(), &format!("at {at}: {notice}\n"));
    }
}

/// Text where text is wanted; with a document on stdout, to stderr.
pub fn announce(screen: &mut Screen, text: &str) {
    if screen.wants_json() {
        // If nobody reads it, nobody can be told.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    } else {
        screen.text(text);
    }
}

pub fn in_range(name: &str, number: u64, max: u64) -> Result<u64, BadCall> {
    match (1..=max).contains(&number) {
        true => Ok(number),
        false => Err(BadCall(format!("--{name} {number}: it takes 1 to {max}"))),
    }
}

/// What clients hold for the date: moments in their commands are compared with it.
pub fn unix_micros() -> i64 {
    #[allow(clippy::disallowed_types, reason = "not a run: real clients, who have a date")]
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_connections_does_not_wait() {
        runtime().expect("a runtime").block_on(async {
            let port = bound(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a free port");
            let address = port.local_addr().expect("it has one");
            // Nobody takes them.
            let connect = |_| std::net::TcpStream::connect_timeout(&address, Duration::from_millis(500));
            let connections: Result<Vec<_>, _> = (0..300).map(connect).collect();
            assert!(connections.is_ok(), "{connections:?}");
        });
    }
}
