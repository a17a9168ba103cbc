//! `picklock serve redis`.

use super::{Watched, Watching, Wrong, address, in_range, told, unix_micros};
use crate::cli::screen::Screen;
use crate::cli::{BadCall, Ending};
use crate::serve::redis::{Servers, Settings, serve};
use clap::{Args, ValueEnum};
use picklock_model::stores::redis::{Eviction, Layout, Persistence};
use picklock_model::time::Micros;
use picklock_properties::PromiseSet;
use std::net::SocketAddr;

/// Simulated Redis in RESP2 and RESP3: for redis-cli, and for clients and lock libraries in any language
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
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    keys_max: Option<u16>,
    #[command(flatten)]
    wrong: Wrong,
    #[command(flatten)]
    watching: Watching,
}

const EXAMPLES: &str = "\
Examples:
  picklock serve redis                     a Redis on 127.0.0.1:6379, no faults
  picklock serve redis --servers 5         five masters for Redlock, 6379 to 6383
  picklock serve redis --servers 5 --faults pause,clock
  picklock serve redis --servers 3 --replicated --faults crash,power-loss --seed 7
  picklock serve redis --servers 5 --faults pause,clock --witness 127.0.0.1:7000 --until-broken
  redis-cli -p 6379 SET lock mine NX PX 10000

It says what strikes when it strikes; ^C ends it, with a verdict: of what clients \
told the witness, or else of what the servers have handed out. It exits with 0 if \
that is kept, 1 if it is broken, and with --witness or --until-broken 4 if nobody ever asked for what another one had. Commands and \
Lua scripts are those of Redis 7.0, as far as locks need them; what a client asks \
for in vain is named once. A message that is lost takes its connection with it.";

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
        let witness = self.watching.witness.as_deref().map(told::witness_address).transpose()?;
        let asked = self.watching.asked()?;
        self.watching.out.as_deref().map(told::folder).transpose()?;
        let record = self.watching.record.as_deref().map(told::created).transpose()?;
        let servers = Servers::new(count, self.settings());
        servers.watch(unix_micros(), record, Default::default());
        let process = |servers, server, listener| async move { serve(&servers, server, listener).await };
        let told = |addresses: &[SocketAddr]| servers.advertise(addresses.to_vec());
        self.wrong.serve(&servers, listen, faults, process, told, self.watched(witness, asked), screen)
    }

    fn watched(&self, witness: Option<SocketAddr>, asked: PromiseSet) -> Watched {
        let replicated = if self.replicated { " --replicated" } else { "" };
        let persistence = match self.persistence {
            Disk::None => "",
            Disk::Everysec => " --persistence everysec",
            Disk::Always => " --persistence always",
            Disk::Rdb => " --persistence rdb",
        };
        Watched {
            title: "picklock serve redis".to_owned(),
            again: format!("serve redis --servers {}{replicated}{persistence}", self.servers),
            witness,
            until_broken: self.watching.until_broken,
            asked,
            out: self.watching.out.clone(),
            servers_judge: true,
        }
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
        Settings { layout, persistence, eviction, keys_max: self.keys_max, date: unix_micros() }
    }
}
