//! `picklock serve cassandra`.

use super::{Watched, Watching, Wrong, address, in_range, told, unix_micros};
use crate::cli::screen::Screen;
use crate::cli::{BadCall, Ending};
use crate::serve::cassandra::{Servers, serve};
use clap::Args;
use picklock_model::stores::cassandra::{CommitLog, Settings};
use picklock_model::time::Micros;
use picklock_properties::PromiseSet;
use std::net::SocketAddr;

/// Simulated Cassandra in CQL, over version 4 of its native protocol: for any driver in any language
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Cassandra {
    /// Where the first server listens; the others take the ports after it. Port 0: ports that are free
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:9042")]
    listen: String,
    /// How many servers there are, 1 to 16; each is a replica of everything
    #[arg(long, value_name = "N", default_value_t = 1)]
    servers: u64,
    /// A crash may lose the last tenth of a second, and a loss of power the last ten seconds, as cassandra.yaml has it
    /// (commitlog_sync: periodic). Without it, what is acknowledged is on the disk
    #[arg(long)]
    periodic_log: bool,
    /// What a replica has missed is sent again after so long, again and again (hinted handoff). Without it, it is not
    #[arg(long, value_name = "SECONDS")]
    hints: Option<u64>,
    #[command(flatten)]
    wrong: Wrong,
    #[command(flatten)]
    watching: Watching,
}

const EXAMPLES: &str = "\
Examples:
  picklock serve cassandra                 a Cassandra on 127.0.0.1:9042, no faults
  picklock serve cassandra --servers 3     a cluster of three, 9042 to 9044
  picklock serve cassandra --servers 3 --faults pause,partition,crash
  picklock serve cassandra --servers 3 --faults pause,clock --seed 7 --lease 5000
  picklock serve cassandra --faults pause --witness 127.0.0.1:7000 --until-broken

It says what strikes when it strikes; ^C ends it, with a verdict of what clients told the witness: it exits with 0 if that is kept, 1 \
if it is broken, and with --witness or --until-broken 4 if nobody ever asked for what another one had. Coordinators, replicas, \
timestamps, tombstones and rounds of Paxos are those of the simulator. There are tables of plain columns, INSERT, UPDATE, DELETE, SELECT, \
batches, prepared statements and conditions (IF); what is not served is refused with a word about it. A message that is lost takes its \
connection with it.";

const SERVERS_MAX: u64 = 16;
/// An hour.
const HINTS_MAX_S: u64 = 3_600;

impl Cassandra {
    pub(super) fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        let count = in_range("servers", self.servers, SERVERS_MAX)? as u8;
        let hints = self.hints.map(|hints| in_range("hints", hints, HINTS_MAX_S)).transpose()?;
        let listen = address(&self.listen, "127.0.0.1:9042")?;
        let faults = self.wrong.faults(count)?;
        let witness = self.watching.by_clients()?;
        let asked = self.watching.asked()?;
        self.watching.out.as_deref().map(told::folder).transpose()?;
        let record = self.watching.record.as_deref().map(told::created).transpose()?;
        let commit_log = if self.periodic_log { CommitLog::AS_SHIPPED } else { CommitLog::Batch };
        let hint_period = hints.map(|seconds| Micros::seconds(seconds as i64));
        let servers = Servers::new(count, Settings { commit_log, hint_period, ..Settings::default() });
        servers.watch(unix_micros(), record, Default::default());
        let process = |servers, server, listener| async move { serve(&servers, server, listener).await };
        let told = |addresses: &[SocketAddr]| servers.advertise(vec![addresses.to_vec()]);
        let watched = self.watched(witness, asked);
        self.wrong.serve(&servers, listen, faults, process, told, watched, screen)
    }

    fn watched(&self, witness: Option<SocketAddr>, asked: PromiseSet) -> Watched {
        let log = if self.periodic_log { " --periodic-log" } else { "" };
        let hints = self.hints.map(|hints| format!(" --hints {hints}")).unwrap_or_default();
        Watched {
            title: "picklock serve cassandra".to_owned(),
            again: format!("serve cassandra --servers {}{log}{hints}", self.servers),
            witness,
            until_broken: self.watching.until_broken,
            asked,
            out: self.watching.out.clone(),
            servers_judge: false,
        }
    }
}
