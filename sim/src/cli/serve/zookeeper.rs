//! `picklock serve zookeeper`.

use super::{Watched, Watching, Wrong, address, in_range, told, unix_micros};
use crate::cli::screen::Screen;
use crate::cli::{BadCall, Ending};
use crate::serve::zookeeper::{Servers, serve, settings};
use clap::Args;
use picklock_model::stores::zookeeper::{Log, Settings};
use picklock_properties::PromiseSet;
use std::net::SocketAddr;

/// Simulated ZooKeeper in its own protocol: for kazoo, Curator, and any other client
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ZooKeeper {
    /// Where the first server listens; the others take the ports after it. Port 0: ports that are free
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:2181")]
    listen: String,
    /// How many servers there are: 1, 3 or 5
    #[arg(long, value_name = "N", default_value_t = 1)]
    servers: u64,
    /// The timeout of every session, whatever its client asks for; random pauses are up to three times as long. Without, it is
    /// what the client asks for, but 4 to 40 s
    #[arg(long, value_name = "MILLISECONDS", conflicts_with = "lease")]
    session: Option<u64>,
    /// A loss of power takes everything from a server's disk, as forceSync=no risks it
    #[arg(long)]
    no_force_sync: bool,
    #[command(flatten)]
    wrong: Wrong,
    #[command(flatten)]
    watching: Watching,
}

const EXAMPLES: &str = "\
Examples:
  picklock serve zookeeper                 a ZooKeeper on 127.0.0.1:2181, no faults
  picklock serve zookeeper --servers 3     an ensemble, 2181 to 2183
  picklock serve zookeeper --servers 3 --faults pause,partition --session 10000
  picklock serve zookeeper --faults pause --witness 127.0.0.1:7000 --until-broken
  echo srvr | nc 127.0.0.1 2181

It says what strikes when it strikes; ^C ends it, with a verdict of what clients told the witness: it exits with 0 if that is kept, 1 \
if it is broken, and with --witness or --until-broken 4 if nobody ever asked for what another one had. Elections, sessions and logs are \
those of the simulator. Access lists but world:anyone, znodes with a time to live, and persistent watches are refused. A message that is \
lost takes its connection with it.";

/// A day.
const SESSION_MAX_MS: u64 = 86_400_000;

impl ZooKeeper {
    pub(super) fn run(mut self, screen: &mut Screen) -> Result<Ending, BadCall> {
        let count = match self.servers {
            1 => 1,
            3 => 3,
            5 => 5,
            other => return Err(BadCall(format!("--servers {other}: it takes 1, 3 or 5"))),
        };
        let session = self.session.map(|session| in_range("session", session, SESSION_MAX_MS)).transpose()?;
        if let Some(session) = session {
            self.wrong.lease = session;
        }
        let listen = address(&self.listen, "127.0.0.1:2181")?;
        let faults = self.wrong.faults(count)?;
        let witness = self.watching.by_clients()?;
        let asked = self.watching.asked()?;
        self.watching.out.as_deref().map(told::folder).transpose()?;
        let record = self.watching.record.as_deref().map(told::created).transpose()?;
        let log = if self.no_force_sync { Log::Unsynced } else { Log::Synced };
        let servers = Servers::new(count, Settings { log, ..settings() });
        servers.watch(unix_micros(), record, Default::default());
        if let Some(session) = session.and_then(|session| i32::try_from(session).ok()) {
            servers.bound_sessions(session, session);
        }
        let process = |servers, server, listener| async move { serve(&servers, server, listener).await };
        let watched = self.watched(witness, asked);
        self.wrong.serve(&servers, listen, faults, process, |_: &[SocketAddr]| {}, watched, screen)
    }

    fn watched(&self, witness: Option<SocketAddr>, asked: PromiseSet) -> Watched {
        let session = self.session.map(|session| format!(" --session {session}")).unwrap_or_default();
        let log = if self.no_force_sync { " --no-force-sync" } else { "" };
        Watched {
            title: "picklock serve zookeeper".to_owned(),
            again: format!("serve zookeeper --servers {}{session}{log}", self.servers),
            witness,
            until_broken: self.watching.until_broken,
            asked,
            out: self.watching.out.clone(),
            servers_judge: false,
        }
    }
}
