//! `picklock serve redis`.

use super::{Wrong, address, in_range, unix_micros};
use crate::cli::screen::Screen;
use crate::cli::{BadCall, Ending};
use crate::serve::redis::{Servers, serve};
use clap::{Args, ValueEnum};
use picklock_model::stores::redis::{Eviction, Layout, Persistence, Settings};
use picklock_model::time::Micros;

/// Simulated Redis in RESP2: for redis-cli, and for any Redlock library in any language
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Redis {
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
    #[command(flatten)]
    wrong: Wrong,
}

const EXAMPLES: &str = "\
Examples:
  picklock serve redis                                   a Redis on 127.0.0.1:6379, no faults
  picklock serve redis --servers 5 --faults pause,clock  five masters for Redlock, 6379 to 6383
  picklock serve redis --servers 3 --replicated --faults crash,power-loss --seed 7
  redis-cli -p 6379 SET lock mine NX PX 10000

It says what strikes when it strikes; ^C ends it, with a summary. Expiry,
persistence and failover are those of the simulator; values are strings, scripts
are known by their text. A message that is lost takes its connection with it.";

/// What is on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Disk {
    None,
    Everysec,
    Always,
    Rdb,
}

const SERVERS_MAX: u64 = 16;

impl Redis {
    pub(super) fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        let count = in_range("servers", self.servers, SERVERS_MAX)? as u8;
        if self.replicated && count < 2 {
            return Err(BadCall("--replicated needs a master and a replica, as in --servers 2".to_owned()));
        }
        let listen = address(&self.listen, "127.0.0.1:6379")?;
        let faults = self.wrong.faults(count)?;
        let servers = Servers::since(count, self.settings(), unix_micros());
        let process = |servers, server, listener| async move { serve(&servers, server, listener).await };
        self.wrong.serve(&servers, listen, faults, process, |_| {}, screen)
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
}
