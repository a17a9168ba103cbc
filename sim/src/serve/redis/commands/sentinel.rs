//! `SENTINEL`, for clients that ask who the master is (`src/sentinel.c` `sentinelCommand`).
//!
//! Where servers are replicated, each of them answers as a Sentinel would that runs on its machine: it knows what this
//! server knows, so one that is cut off goes on naming the old master; it is paused with it, and down with it. The
//! master's name is `mymaster`.
//!
//! Simplifications: nobody is called down (`s_down`, `o_down`), the fields about pings are those of a peer that has just
//! answered, and nothing is published on `+switch-master`: clients ask again when they lose the master.

use super::about::{address, followers};
use super::unknown_subcommand;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::turn::{Replied, Turn, lower, refuse, wrong_number};
use bytes::Bytes;
use picklock_model::stores::redis::Layout;

/// As in the real server's `sentinel.conf`.
const NAME: &[u8] = b"mymaster";

pub fn sentinel(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let what = lower(&words[1]);
    match (what.as_str(), &words[2..]) {
        ("get-master-addr-by-name", [name]) if name.as_ref() != NAME => Ok(Reply::NoArray),
        ("get-master-addr-by-name", [_]) => {
            let (host, port) = master(turn);
            Ok(Reply::strings([Bytes::from(host), Bytes::from(port.to_string())]))
        }
        ("masters", []) => Ok(Reply::Array(vec![of_master(turn)])),
        ("master" | "replicas" | "slaves" | "sentinels" | "ckquorum", [name]) if name.as_ref() != NAME => {
            refuse("ERR No such master with that name")
        }
        ("master", [_]) => Ok(of_master(turn)),
        ("replicas" | "slaves", [_]) => Ok(Reply::Array(of_replicas(turn))),
        ("sentinels", [_]) => Ok(Reply::Array(of_sentinels(turn))),
        ("ckquorum", [_]) => {
            let count = turn.around.replicas.len();
            Ok(Reply::Status(
                format!("OK {count} usable Sentinels. Quorum and failover authorization can be reached")
                    .into(),
            ))
        }
        ("myid", []) => Ok(Reply::bulk(id(turn.cx.me.into()))),
        (
            "get-master-addr-by-name"
            | "masters"
            | "master"
            | "replicas"
            | "slaves"
            | "sentinels"
            | "ckquorum"
            | "myid",
            _,
        ) => refuse(wrong_number(&format!("sentinel|{what}"))),
        _ => {
            turn.house.missing(&format!("SENTINEL {}", what.to_uppercase()));
            refuse(unknown_subcommand("SENTINEL", &words[1]))
        }
    }
}

fn master(turn: &Turn) -> (String, u16) {
    address(turn, turn.instance.master().unwrap_or(0).into())
}

/// Forty digits, of which the last say which server it is.
fn id(server: usize) -> String {
    format!("{:040x}", server + 1)
}

type Fields = Vec<(&'static str, String)>;

fn shown(fields: Fields) -> Reply {
    Reply::Map(fields.into_iter().map(|(name, value)| (Reply::bulk(name), Reply::bulk(value))).collect())
}

/// The fields that all have, with the kind of server in `flags`.
fn begun(name: String, (host, port): (String, u16), run_id: String, flags: &str) -> Fields {
    vec![
        ("name", name),
        ("ip", host),
        ("port", port.to_string()),
        ("runid", run_id),
        ("flags", flags.to_owned()),
        ("link-pending-commands", "0".to_owned()),
        ("link-refcount", "1".to_owned()),
        ("last-ping-sent", "0".to_owned()),
        ("last-ok-ping-reply", "0".to_owned()),
        ("last-ping-reply", "0".to_owned()),
    ]
}

fn down_after_ms(turn: &Turn) -> String {
    match turn.cx.settings.layout {
        Layout::Replicated { down_after, .. } => (down_after.0 / 1_000).to_string(),
        Layout::Independent => "0".to_owned(),
    }
}

fn of_master(turn: &Turn) -> Reply {
    let server = usize::from(turn.instance.master().unwrap_or(0));
    let mut fields = begun("mymaster".to_owned(), master(turn), id(server), "master");
    let servers = turn.around.replicas.len();
    let epoch = turn.instance.replicated().map_or(0, |(epoch, _)| epoch);
    fields.extend([
        ("down-after-milliseconds", down_after_ms(turn)),
        ("info-refresh", "0".to_owned()),
        ("role-reported", "master".to_owned()),
        ("role-reported-time", "0".to_owned()),
        ("config-epoch", epoch.to_string()),
        ("num-slaves", others(turn, server).len().to_string()),
        ("num-other-sentinels", servers.saturating_sub(1).to_string()),
        ("quorum", (servers / 2 + 1).to_string()),
        ("failover-timeout", "180000".to_owned()),
        ("parallel-syncs", "1".to_owned()),
    ]);
    shown(fields)
}

/// Those who follow, and how far they are.
fn others(turn: &Turn, master: usize) -> Vec<((String, u16), u32)> {
    let master = address(turn, master);
    followers(turn, None).into_iter().filter(|(address, _)| *address != master).collect()
}

fn of_replicas(turn: &Turn) -> Vec<Reply> {
    let (host, port) = master(turn);
    let server = usize::from(turn.instance.master().unwrap_or(0));
    let one = |((ip, its_port), offset): ((String, u16), u32)| {
        let name = format!("{ip}:{its_port}");
        let mut fields = begun(name, (ip, its_port), String::new(), "slave");
        fields.extend([
            ("down-after-milliseconds", down_after_ms(turn)),
            ("info-refresh", "0".to_owned()),
            ("role-reported", "slave".to_owned()),
            ("role-reported-time", "0".to_owned()),
            ("master-link-down-time", "0".to_owned()),
            ("master-link-status", "ok".to_owned()),
            ("master-host", host.clone()),
            ("master-port", port.to_string()),
            ("slave-priority", "100".to_owned()),
            ("slave-repl-offset", offset.to_string()),
            ("replica-announced", "1".to_owned()),
        ]);
        shown(fields)
    };
    others(turn, server).into_iter().map(one).collect()
}

fn of_sentinels(turn: &Turn) -> Vec<Reply> {
    let servers = (0..turn.around.replicas.len()).filter(|server| *server != usize::from(turn.cx.me));
    servers
        .map(|server| {
            let mut fields = begun(id(server), address(turn, server), id(server), "sentinel");
            fields.extend([
                ("down-after-milliseconds", down_after_ms(turn)),
                ("last-hello-message", "0".to_owned()),
                ("voted-leader", "?".to_owned()),
                ("voted-leader-epoch", "0".to_owned()),
            ]);
            shown(fields)
        })
        .collect()
}
