//! `picklock serve`: a simulated store for others, in its own protocol.

use super::plan_file::PlanFile;
use super::screen::{Screen, counted};
use super::{BadCall, Ending, names};
use crate::plans::fault::FaultSet;
use crate::plans::plan::{Plan, Planned, When};
use crate::plans::swarm::Scale;
use crate::serve::redis::{Servers, for_servers, serve};
use clap::{Args, Subcommand, ValueEnum};
use picklock_model::stores::redis::{Eviction, Layout, Persistence, Settings};
use picklock_model::time::Micros;
use serde::Serialize;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Serves a simulated store to any client, with faults
#[derive(Debug, Args)]
pub struct Serve {
    #[command(subcommand)]
    store: Store,
}

#[derive(Debug, Subcommand)]
enum Store {
    Redis(Redis),
}

/// Simulated Redis in RESP2: for redis-cli, and for any Redlock library in any language
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
struct Redis {
    /// Where the first server listens; the others take the ports after it. Port 0: ports that are free
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:6379")]
    listen: String,
    /// How many servers there are, 1 to 16
    #[arg(long, value_name = "N", default_value_t = 1)]
    servers: u64,
    /// The first server is the master of the others, one of which is promoted when it is silent for 5 s. Without, all are
    /// masters, which know nothing of each other (Redlock)
    #[arg(long)]
    replicated: bool,
    /// What is on disk: nothing, all but the last second, or all
    #[arg(long, value_enum, default_value_t = Disk::None)]
    persistence: Disk,
    /// How many keys fit into the memory; when it is full, the one not used for longest is evicted
    #[arg(long, value_name = "N")]
    keys_max: Option<u16>,
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

const EXAMPLES: &str = "\
Examples:
  picklock serve redis                                   a Redis on 127.0.0.1:6379, no faults
  picklock serve redis --servers 5 --faults pause,clock  five masters for Redlock, 6379 to 6383
  picklock serve redis --servers 3 --replicated --faults crash,power-loss --seed 7
  redis-cli -p 6379 SET lock mine NX PX 10000

It says what strikes when it strikes; ^C ends it, with a summary. Expiry, persistence and failover are
those of the simulator; values are strings, scripts are known by their text. A message that is lost takes
its connection with it.";

/// What is on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Disk {
    None,
    Everysec,
    Always,
    Rdb,
}

/// What happened, for machines.
#[derive(Serialize)]
struct Summary {
    listening: Vec<SocketAddr>,
    first_seed: Option<u64>,
    connections: u64,
    commands: u64,
    messages_lost: u64,
    faults_struck: u64,
}

const SERVERS_MAX: u64 = 16;
const LEASE_MAX_MS: u64 = 86_400_000;
const ROUND_MAX_S: u64 = 86_400;

impl Serve {
    /// Serves until ^C.
    pub fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        let Store::Redis(redis) = self.store;
        redis.run(screen)
    }
}

/// What goes wrong.
enum Faults {
    None,
    Once(Plan),
    Random { kinds: FaultSet, scale: Scale },
}

impl Redis {
    fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        let count = in_range("servers", self.servers, SERVERS_MAX)? as u8;
        if self.replicated && count < 2 {
            return Err(BadCall("--replicated needs a master and a replica, as in --servers 2".to_owned()));
        }
        let listen: SocketAddr = self.listen.parse().map_err(|_| {
            BadCall(format!("--listen {}: it takes an address and a port, as in 127.0.0.1:6379", self.listen))
        })?;
        let faults = self.faults(count)?;
        let servers = Servers::since(count, self.settings(), unix_micros());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| BadCall(format!("the network cannot be used: {error}")))?;
        runtime.block_on(self.serve(&servers, listen, faults, screen))
    }

    fn settings(&self) -> Settings {
        let layout = match self.replicated {
            true => Layout::Replicated { ping_period: Micros::seconds(1), down_after: Micros::seconds(5) },
            false => Layout::Independent,
        };
        let persistence = match self.persistence {
            Disk::None => Persistence::None,
            Disk::Everysec => Persistence::AofEverySecond,
            Disk::Always => Persistence::AofAlways,
            Disk::Rdb => Persistence::Rdb,
        };
        let eviction = if self.keys_max.is_some() { Eviction::AllKeysLru } else { Eviction::No };
        Settings { layout, persistence, eviction, keys_max: self.keys_max, ..Settings::default() }
    }

    fn faults(&self, count: u8) -> Result<Faults, BadCall> {
        let lease = in_range("lease", self.lease, LEASE_MAX_MS)? as i64;
        let round = in_range("round", self.round, ROUND_MAX_S)? as i64;
        match (&self.plan, &self.faults) {
            (Some(path), _) => Ok(Faults::Once(PlanFile::read(path)?.plan().clone())),
            (None, Some(kinds)) => {
                let kinds = names::faults(kinds)?;
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

    async fn serve(
        &self,
        servers: &Servers,
        listen: SocketAddr,
        faults: Faults,
        screen: &mut Screen,
    ) -> Result<Ending, BadCall> {
        let mut processes: JoinSet<std::io::Result<Infallible>> = JoinSet::new();
        let mut listening = Vec::new();
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
            let listener = TcpListener::bind(address).await.map_err(cannot)?;
            listening.push(listener.local_addr().map_err(cannot)?);
            let servers = servers.clone();
            processes.spawn(async move { serve(&servers, server, listener).await });
        }
        for (server, address) in listening.iter().enumerate() {
            announce(screen, &format!("s{} listens on {address}\n", server + 1));
        }
        tokio::select! {
            biased;
            // Also where a shell has it ignored, as in scripts that start this in the background.
            stopped = tokio::signal::ctrl_c() => {
                stopped.map_err(|error| BadCall(format!("^C cannot be caught here: {error}")))?;
            }
            Some(ended) = processes.join_next() => match ended {
                Ok(Ok(never)) => match never {},
                Ok(Err(error)) => return Err(BadCall(format!("a server has stopped: {error}"))),
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            },
            () = self.strike(servers, faults, screen) => {}
        }
        let tally = servers.tally();
        screen.text(&format!(
            "served {} on {}; {} struck, {} lost with their connections\n",
            counted(tally.commands, "command"),
            counted(tally.connections, "connection"),
            counted(tally.faults, "fault"),
            counted(tally.lost, "message"),
        ));
        screen.document(&Summary {
            listening,
            first_seed: self.faults.as_ref().map(|_| self.seed),
            connections: tally.connections,
            commands: tally.commands,
            messages_lost: tally.lost,
            faults_struck: tally.faults,
        });
        Ok(Ending::Fine)
    }

    /// Never ends.
    async fn strike(&self, servers: &Servers, faults: Faults, screen: &mut Screen) {
        match faults {
            Faults::None => announce(screen, "no faults\n"),
            Faults::Once(plan) => follow(servers, &plan, screen).await,
            Faults::Random { kinds, scale } => {
                for seed in self.seed.. {
                    announce(screen, &format!("\nseed {seed}\n"));
                    let plan =
                        for_servers(Plan::random(kinds, seed, &scale), seed, servers.count(), scale.horizon);
                    follow(servers, &plan, screen).await;
                }
            }
        }
        std::future::pending().await
    }
}

/// Says what will happen and what will not, and lets it happen.
async fn follow(servers: &Servers, plan: &Plan, screen: &mut Screen) {
    let is_here = |planned: &Planned| matches!(planned.when, When::At(_)) && servers.feels(&planned.fault);
    let (mut here, elsewhere): (Vec<Planned>, Vec<Planned>) = plan.faults.iter().cloned().partition(is_here);
    here.sort_by_key(|planned| match planned.when {
        When::At(at) => at,
        When::Trigger { delay, .. } => delay,
    });
    announce(screen, &format!("{}\n", Plan { faults: here, ..plan.clone() }));
    for planned in elsewhere {
        announce(screen, &format!("left out, as nobody here can see it: {planned}\n"));
    }
    announce(screen, "\n");
    servers.follow(plan, |at, fault| announce(screen, &format!("struck at {at}: {fault}\n"))).await;
    announce(screen, "healed\n");
}

/// Text where text is wanted; with a document on stdout, to stderr.
fn announce(screen: &mut Screen, text: &str) {
    if screen.wants_json() {
        // If nobody reads it, nobody can be told.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    } else {
        screen.text(text);
    }
}

fn in_range(name: &str, number: u64, max: u64) -> Result<u64, BadCall> {
    match (1..=max).contains(&number) {
        true => Ok(number),
        false => Err(BadCall(format!("--{name} {number}: it takes 1 to {max}"))),
    }
}

/// What clients hold for the date: moments in their commands are compared with it.
fn unix_micros() -> i64 {
    #[allow(clippy::disallowed_types, reason = "not a run: real clients, who have a date")]
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
