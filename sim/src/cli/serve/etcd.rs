//! `picklock serve etcd`.

use super::{Watched, Watching, Wrong, address, told, unix_micros};
use crate::cli::screen::Screen;
use crate::cli::{BadCall, Ending};
use crate::serve::etcd::{Servers, serve};
use clap::Args;
use picklock_model::stores::etcd::{Log, Settings};
use picklock_properties::PromiseSet;
use std::net::SocketAddr;

/// Simulated etcd in gRPC, version 3 of its API: for etcdctl, and for any client library in any language
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Etcd {
    /// Where the first member listens; the others take the ports after it. Port 0: ports that are free
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:2379")]
    listen: String,
    /// How many members there are: 1, 3 or 5. One alone has no log, and no elections
    #[arg(long, visible_alias = "servers", value_name = "N", default_value_t = 1)]
    members: u64,
    /// A loss of power takes everything from a member's disk, as --unsafe-no-fsync risks it
    #[arg(long)]
    unsafe_no_fsync: bool,
    #[command(flatten)]
    wrong: Wrong,
    #[command(flatten)]
    watching: Watching,
}

const EXAMPLES: &str = "\
Examples:
  picklock serve etcd                      an etcd on 127.0.0.1:2379, no faults
  picklock serve etcd --members 3          three members, 2379 to 2381
  picklock serve etcd --members 3 --faults pause,partition,crash
  picklock serve etcd --members 5 --faults pause,clock --seed 7 --lease 5000
  picklock serve etcd --members 3 --faults pause --witness 127.0.0.1:7000 --until-broken
  etcdctl --endpoints 127.0.0.1:2379 lock mine

It says what strikes when it strikes; ^C ends it, with a verdict of what clients \
told the witness: it exits with 0 if that is kept, 1 if it is broken, and with --witness or --until-broken 4 if nobody \
ever asked for what another one had. Elections, leases and logs are those of the simulator. KV, Watch, Lease, Lock and Election \
are whole; users, changes of membership, snapshots, hashes and moving the leader are not there. A message \
that is lost takes its connection with it.";

impl Etcd {
    pub(super) fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        let count = match self.members {
            1 => 1,
            3 => 3,
            5 => 5,
            other => return Err(BadCall(format!("--members {other}: it takes 1, 3 or 5"))),
        };
        let listen = address(&self.listen, "127.0.0.1:2379")?;
        let faults = self.wrong.faults(count)?;
        let witness = self.watching.by_clients()?;
        let asked = self.watching.asked()?;
        self.watching.out.as_deref().map(told::folder).transpose()?;
        let record = self.watching.record.as_deref().map(told::created).transpose()?;
        let log = if self.unsafe_no_fsync { Log::Unsynced } else { Log::Synced };
        let servers = Servers::new(count, Settings { log, ..Settings::default() });
        servers.watch(unix_micros(), record, Default::default());
        let process = |servers, member, listener| async move { serve(&servers, member, listener).await };
        let told = |addresses: &[SocketAddr]| {
            servers.advertise(addresses.iter().map(|address| format!("http://{address}")).collect());
        };
        let watched = self.watched(witness, asked);
        self.wrong.serve(&servers, listen, faults, process, told, watched, screen)
    }

    fn watched(&self, witness: Option<SocketAddr>, asked: PromiseSet) -> Watched {
        let log = if self.unsafe_no_fsync { " --unsafe-no-fsync" } else { "" };
        Watched {
            title: "picklock serve etcd".to_owned(),
            again: format!("serve etcd --members {}{log}", self.members),
            witness,
            until_broken: self.watching.until_broken,
            asked,
            out: self.watching.out.clone(),
            servers_judge: false,
        }
    }
}
