//! `picklock serve`: a simulated store for others, in its own protocol.

mod etcd;
mod redis;

use super::plan_file::PlanFile;
use super::screen::{Screen, counted};
use super::{BadCall, Ending, names};
use crate::plans::fault::FaultSet;
use crate::plans::plan::{Plan, Planned, When};
use crate::plans::swarm::Scale;
use crate::serve::{Served, Servers, for_servers};
use clap::{Args, Subcommand};
use picklock_model::time::Micros;
use serde::Serialize;
use std::convert::Infallible;
use std::future::Future;
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
    Redis(redis::Redis),
    Etcd(etcd::Etcd),
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

const LEASE_MAX_MS: u64 = 86_400_000;
const ROUND_MAX_S: u64 = 86_400;

impl Serve {
    /// Serves until ^C.
    pub fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        match self.store {
            Store::Redis(redis) => redis.run(screen),
            Store::Etcd(etcd) => etcd.run(screen),
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

    /// Serves until ^C. `process` is one server behind its listener; `told` hears where all of them are, before anybody is
    /// served.
    fn serve<S: Served, P>(
        &self,
        servers: &Servers<S>,
        listen: SocketAddr,
        faults: Faults,
        process: impl Fn(Servers<S>, u8, TcpListener) -> P,
        told: impl FnOnce(&[SocketAddr]),
        screen: &mut Screen,
    ) -> Result<Ending, BadCall>
    where
        P: Future<Output = std::io::Result<Infallible>> + Send + 'static,
    {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| BadCall(format!("the network cannot be used: {error}")))?;
        runtime.block_on(self.go_on(servers, listen, faults, process, told, screen))
    }

    async fn go_on<S: Served, P>(
        &self,
        servers: &Servers<S>,
        listen: SocketAddr,
        faults: Faults,
        process: impl Fn(Servers<S>, u8, TcpListener) -> P,
        told: impl FnOnce(&[SocketAddr]),
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
            let listener = TcpListener::bind(address).await.map_err(cannot)?;
            listening.push(listener.local_addr().map_err(cannot)?);
            listeners.push(listener);
        }
        told(&listening);
        for (server, listener) in (0..).zip(listeners) {
            processes.spawn(process(servers.clone(), server, listener));
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
    async fn strike<S: Served>(&self, servers: &Servers<S>, faults: Faults, screen: &mut Screen) {
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
async fn follow<S: Served>(servers: &Servers<S>, plan: &Plan, screen: &mut Screen) {
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
