//! Commands about the server.

use super::{SPECS, Spec, VERSION, is_out_of_memory, unknown_subcommand};
use crate::serve::redis::events::{Class, Wanted};
use crate::serve::redis::glob::matches;
use crate::serve::redis::limits::LIMITS;
use crate::serve::redis::numbers::integer;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::stats::{Calls, Stats};
use crate::serve::redis::store::DATABASES;
use crate::serve::redis::turn::{
    Refusal, Replied, SYNTAX, Turn, Within, lower, number, refuse, wrong_number,
};
use bytes::Bytes;
use picklock_model::stores::redis::{Eviction, Persistence};
use std::fmt::Write;
use std::time::Duration;

pub fn ping(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let text = words.get(1);
    if turn.session.version < 3 && turn.session.subscriptions() > 0 {
        let text = text.cloned().unwrap_or_default();
        return Ok(Reply::strings([Bytes::from_static(b"pong"), text]));
    }
    match words.len() {
        1 => Ok(Reply::status("PONG")),
        2 => Ok(Reply::Bulk(words[1].clone())),
        _ => refuse(wrong_number("ping")),
    }
}

pub fn echo(_: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::Bulk(words[1].clone()))
}

pub fn time(turn: &mut Turn, _: &[Bytes]) -> Replied {
    let since = match turn.within {
        Within::Script { since: Some(since), .. } => since.elapsed(),
        _ => Duration::ZERO,
    };
    let now = turn.now_micros() + i64::try_from(since.as_micros()).unwrap_or_default();
    let parts = [now.div_euclid(1_000_000), now.rem_euclid(1_000_000)];
    Ok(Reply::strings(parts.map(|part| Bytes::from(part.to_string()))))
}

/// As `HELLO` says it.
pub fn role_name(turn: &Turn) -> &'static str {
    if turn.instance.is_master() { "master" } else { "replica" }
}

fn offset(turn: &Turn) -> i64 {
    turn.instance.replicated().map_or(0, |(_, offset)| offset.into())
}

/// Where another server listens.
pub fn address(turn: &Turn, server: usize) -> (String, u16) {
    match turn.around.addresses.get(server) {
        Some(address) => (address.ip().to_string(), address.port()),
        None => (format!("s{}", server + 1), 6379),
    }
}

/// Those who follow a master, but for this server: where they listen, and how far they are.
pub fn followers(turn: &Turn, but: Option<u8>) -> Vec<((String, u16), u32)> {
    let replicas = turn.around.replicas.iter().enumerate();
    let follow = replicas.filter_map(|(server, offset)| Some((server, (*offset)?)));
    follow
        .filter(|(server, _)| but.is_none_or(|but| *server != usize::from(but)))
        .map(|(server, offset)| (address(turn, server), offset))
        .collect()
}

pub fn role(turn: &mut Turn, _: &[Bytes]) -> Replied {
    let text = |text: String| Reply::bulk(text);
    if turn.instance.is_master() {
        let replicas = followers(turn, Some(turn.cx.me)).into_iter().map(|((host, port), offset)| {
            Reply::Array(vec![text(host), text(port.to_string()), text(offset.to_string())])
        });
        let replicas = Reply::Array(replicas.collect());
        return Ok(Reply::Array(vec![Reply::bulk("master"), Reply::Integer(offset(turn)), replicas]));
    }
    let (host, port) = address(turn, turn.instance.master().unwrap_or(0).into());
    Ok(Reply::Array(vec![
        Reply::bulk("slave"),
        text(host),
        Reply::Integer(port.into()),
        Reply::bulk("connected"),
        Reply::Integer(offset(turn)),
    ]))
}

pub fn wait(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let replicas = number(&words[1])?;
    let timeout = match number(&words[2]) {
        Ok(timeout) => timeout,
        Err(_) => return refuse("ERR timeout is not an integer or out of range"),
    };
    if !turn.instance.is_master() {
        return refuse(
            "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is \
             configured to be writable (which is not the default) writes to replicas are just local and are not \
             propagated.",
        );
    }
    let Ok(timeout_ms) = u64::try_from(timeout) else { return refuse("ERR timeout is negative") };
    match turn.within {
        Within::Itself => Err(Refusal::Replicas { offset: turn.instance.replicated(), replicas, timeout_ms }),
        Within::Transaction | Within::Script { .. } => {
            Ok(Reply::Integer(followers(turn, Some(turn.cx.me)).len() as i64))
        }
    }
}

/// `CLUSTER`, `ASKING`, `READONLY`, `READWRITE`: no server is part of a cluster.
pub fn cluster(_: &mut Turn, _: &[Bytes]) -> Replied {
    refuse("ERR This instance has cluster support disabled")
}

/// `src/db.c` `shutdownCommand`. The process ends as by a crash, but for a snapshot that is taken before.
pub fn shutdown(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let options: Vec<String> = words[1..].iter().map(lower).collect();
    let has = |option: &str| options.iter().any(|has| has == option);
    let is_known = |option: &String| matches!(option.as_str(), "nosave" | "save" | "now" | "force" | "abort");
    let is_only_abort = options.iter().all(|option| option == "abort");
    if !options.iter().all(is_known) || (has("abort") && !is_only_abort) || (has("save") && has("nosave")) {
        return refuse(SYNTAX);
    }
    if has("abort") {
        return refuse("ERR No shutdown in progress.");
    }
    if let Some(busy) = turn.house.busy.as_ref().filter(|_| !has("nosave")) {
        return refuse(busy.says());
    }
    let saves = turn.cx.settings.persistence == Persistence::Rdb && !has("nosave");
    if saves {
        turn.instance.keyspace.sync(turn.cx);
    }
    turn.house.ends = true;
    Ok(Reply::ok())
}

pub fn config(turn: &mut Turn, words: &[Bytes]) -> Replied {
    match (lower(&words[1]).as_str(), &words[2..]) {
        ("get", patterns @ [_, ..]) => {
            let all = configuration(turn);
            let is_asked = |name: &str| {
                let name = name.as_bytes();
                patterns.iter().any(|pattern| matches(&pattern.to_ascii_lowercase(), name))
            };
            let asked = all.into_iter().filter(|(name, _)| is_asked(name));
            Ok(Reply::Map(asked.map(|(name, value)| (Reply::bulk(name), Reply::bulk(value))).collect()))
        }
        // It is kept and shown. What depends on it: `maxmemory`, if that is less than an empty server takes, and those that
        // `most` knows.
        ("set", pairs @ [_, _, ..]) if pairs.len().is_multiple_of(2) => {
            let known: Vec<String> = configuration(turn).into_iter().map(|(name, _)| name).collect();
            for pair in pairs.chunks_exact(2) {
                let name = lower(&pair[0]);
                if !known.contains(&name) {
                    turn.house.unknown(&format!("CONFIG SET {name}"));
                    let shown = String::from_utf8_lossy(&pair[0]);
                    return refuse(format!(
                        "ERR Unknown option or number of arguments for CONFIG SET - '{shown}'"
                    ));
                }
                if let Err(why) = is_setting(turn, &name, &pair[1]) {
                    return refuse(format!(
                        "ERR CONFIG SET failed (possibly related to argument '{name}') - {why}"
                    ));
                }
                if name == LIMITS {
                    limit(turn, &pair[1]);
                    continue;
                }
                let mut value = String::from_utf8_lossy(&pair[1]).into_owned();
                if let Some(events) = Wanted::read(&pair[1]).filter(|_| name == EVENTS) {
                    (turn.house.events, value) = (events, events.show());
                } else if is_answered_yes_or_no(&name) {
                    value.make_ascii_lowercase();
                    turn.house.missing(&format!("the effect of CONFIG SET {name}"));
                } else if !matches!(name.as_str(), "maxmemory" | POLICY) && most(&name).is_none() {
                    turn.house.missing(&format!("the effect of CONFIG SET {name}"));
                }
                if let Some(other) = other_name(&name) {
                    turn.house.config.insert(other.to_owned(), value.clone());
                }
                turn.house.config.insert(name, value);
            }
            make_room(turn);
            Ok(Reply::ok())
        }
        ("resetstat", []) => {
            (turn.house.stats, turn.house.commands) = (Stats::default(), 0);
            Ok(Reply::ok())
        }
        ("rewrite", []) => refuse("ERR The server is running without a config file"),
        (what @ ("get" | "set" | "resetstat" | "rewrite"), _) => {
            refuse(wrong_number(&format!("config|{what}")))
        }
        _ => refuse(unknown_subcommand("CONFIG", &words[1])),
    }
}

/// How much may wait to be read by a client.
fn limit(turn: &mut Turn, value: &Bytes) {
    let Ok(limits) = turn.house.limits.changed(value) else { return };
    if !limits.differ_for_subscribers_only(&turn.house.limits) {
        turn.house.missing(&format!("the effect of CONFIG SET {LIMITS} on others than subscribers"));
    }
    turn.house.limits = limits;
}

/// Where there is no room for anything, all keys go that may (`src/evict.c` `performEvictions`).
fn make_room(turn: &mut Turn) {
    let policy = turn.house.config.get(POLICY).cloned().unwrap_or_default();
    let (all, mortal) = (policy.starts_with("allkeys"), policy.starts_with("volatile"));
    if is_out_of_memory(turn) && (all || mortal) {
        for place in turn.instance.keyspace.evict_all(!all, turn.cx) {
            turn.house.event(Class::Evicted, "evicted", &place);
        }
    }
}

const POLICY: &str = "maxmemory-policy";
const EVENTS: &str = "notify-keyspace-events";

/// The most that those numbers may be that change something here (`src/config.c`).
fn most(name: &str) -> Option<i64> {
    match name {
        "busy-reply-threshold" | "lua-time-limit" => Some(i64::MAX),
        "min-replicas-to-write" | "min-slaves-to-write" => Some(i32::MAX.into()),
        _ => None,
    }
}

/// The other name of the same parameter.
fn other_name(name: &str) -> Option<&'static str> {
    let names = [
        ("busy-reply-threshold", "lua-time-limit"),
        ("min-replicas-to-write", "min-slaves-to-write"),
        ("replica-read-only", "slave-read-only"),
    ];
    names.into_iter().find_map(|(one, other)| match name {
        name if name == one => Some(other),
        name if name == other => Some(one),
        _ => None,
    })
}

fn is_answered_yes_or_no(name: &str) -> bool {
    matches!(name, "replica-read-only" | "slave-read-only")
}

/// Whether a parameter can be set to this.
fn is_setting(turn: &Turn, name: &str, value: &Bytes) -> Result<(), String> {
    if name == LIMITS {
        turn.house.limits.changed(value)?;
    }
    if name == "maxmemory" && !value.first().is_some_and(u8::is_ascii_digit) {
        return Err("argument must be a memory value".to_owned());
    }
    if name == EVENTS && Wanted::read(value).is_none() {
        return Err("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.".to_owned());
    }
    if is_answered_yes_or_no(name) && !matches!(lower(value).as_str(), "yes" | "no") {
        return Err("argument must be 'yes' or 'no'".to_owned());
    }
    let Some(most) = most(name) else { return Ok(()) };
    match integer(value) {
        None => Err("argument couldn't be parsed into an integer".to_owned()),
        Some(number) if (0..=most).contains(&number) => Ok(()),
        Some(_) => Err(format!("argument must be between 0 and {most} inclusive")),
    }
}

fn configuration(turn: &Turn) -> Vec<(String, String)> {
    let settings = turn.cx.settings;
    let (appends, fsync, save) = match settings.persistence {
        Persistence::None => ("no", "everysec", ""),
        Persistence::AofEverySecond => ("yes", "everysec", ""),
        Persistence::AofAlways => ("yes", "always", ""),
        Persistence::Rdb => ("no", "everysec", "3600 1 300 100 60 10000"),
    };
    let policy = match settings.eviction {
        Eviction::No => "noeviction",
        Eviction::AllKeysLru => "allkeys-lru",
    };
    let known = [
        ("appendonly", appends),
        ("appendfsync", fsync),
        ("save", save),
        ("maxmemory", "0"),
        (POLICY, policy),
        ("maxclients", "10000"),
        ("timeout", "0"),
        (EVENTS, ""),
        ("proto-max-bulk-len", "536870912"),
        ("lua-time-limit", "5000"),
        ("busy-reply-threshold", "5000"),
        ("min-replicas-to-write", "0"),
        ("min-slaves-to-write", "0"),
        ("replica-read-only", "yes"),
        ("slave-read-only", "yes"),
        ("requirepass", ""),
    ];
    let databases = ("databases".to_owned(), DATABASES.to_string());
    let mut all: Vec<(String, String)> = known
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .chain([databases])
        .collect();
    all.push((LIMITS.to_owned(), turn.house.limits.show()));
    for (name, value) in &mut all {
        if let Some(set) = turn.house.config.get(name) {
            value.clone_from(set);
        }
    }
    all
}

pub fn command(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let said = |spec: &Spec| {
        let (first, last, step) = spec.keys;
        let flags = if spec.writes { "write" } else { "readonly" };
        Reply::Array(vec![
            Reply::bulk(spec.name),
            Reply::Integer(spec.arity),
            Reply::Set(vec![Reply::status(flags)]),
            Reply::Integer(first),
            Reply::Integer(last),
            Reply::Integer(step),
            Reply::Set(Vec::new()),
            Reply::Array(Vec::new()),
            Reply::Array(Vec::new()),
            Reply::Array(Vec::new()),
        ])
    };
    match words.get(1).map(lower).as_deref() {
        None => Ok(Reply::Array(SPECS.iter().map(said).collect())),
        Some("count") => Ok(Reply::Integer(SPECS.len() as i64)),
        Some("info") if words.len() == 2 => Ok(Reply::Array(SPECS.iter().map(said).collect())),
        Some("info") => {
            let asked = words[2..].iter().map(|name| super::spec_of(name).map_or(Reply::Nil, said));
            Ok(Reply::Array(asked.collect()))
        }
        // What a client does with it is colour and help.
        Some("docs") => Ok(Reply::Map(Vec::new())),
        Some("list") => Ok(Reply::Array(SPECS.iter().map(|spec| Reply::bulk(spec.name)).collect())),
        Some(other) => {
            turn.house.missing(&format!("COMMAND {}", other.to_uppercase()));
            refuse(unknown_subcommand("COMMAND", &words[1]))
        }
    }
}

/// Of the many lines of the real server, those that clients look at.
pub fn info(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let asked: Vec<String> = words[1..].iter().map(lower).collect();
    let is_asked = |section: &str| {
        let is_default = section != "commandstats";
        let names_it = |name: &String| match name.as_str() {
            "all" | "everything" => true,
            "default" => is_default,
            name => name == section,
        };
        if asked.is_empty() { is_default } else { asked.iter().any(names_it) }
    };
    let mut said = String::new();
    let mut add = |section: &str, lines: Vec<(String, String)>| {
        if is_asked(&section.to_ascii_lowercase()) {
            if !said.is_empty() {
                said.push_str("\r\n");
            }
            // Into a string nothing fails to be written.
            let _ = write!(said, "# {section}\r\n");
            for (name, value) in lines {
                let _ = write!(said, "{name}:{value}\r\n");
            }
        }
    };
    let line = |name: &str, value: String| (name.to_owned(), value);
    let (_, port) = address(turn, turn.cx.me.into());
    add(
        "Server",
        vec![
            line("redis_version", VERSION.to_owned()),
            line("redis_mode", "standalone".to_owned()),
            line("picklock", "simulated".to_owned()),
            line("os", std::env::consts::OS.to_owned()),
            line("arch_bits", "64".to_owned()),
            line("tcp_port", port.to_string()),
            line("server_time_usec", turn.now_micros().to_string()),
            line("uptime_in_seconds", (turn.cx.monotonic.0 / 1_000_000).to_string()),
        ],
    );
    let connected = turn.house.sessions.iter().count() + 1;
    let blocked = turn.house.waiters.len();
    add(
        "Clients",
        vec![
            line("connected_clients", connected.to_string()),
            line("maxclients", "10000".to_owned()),
            line("blocked_clients", blocked.to_string()),
        ],
    );
    let scripts = turn.house.scripts.count().to_string();
    add("Memory", vec![line("maxmemory", "0".to_owned()), line("number_of_cached_scripts", scripts)]);
    let aof = u8::from(matches!(
        turn.cx.settings.persistence,
        Persistence::AofEverySecond | Persistence::AofAlways
    ));
    add("Persistence", vec![line("loading", "0".to_owned()), line("aof_enabled", aof.to_string())]);
    add(
        "Stats",
        vec![
            line("total_commands_processed", turn.house.commands.to_string()),
            line("total_error_replies", turn.house.stats.errors.to_string()),
        ],
    );
    add("Replication", replication(turn));
    let calls = |(name, Calls { calls, rejected, failed }): (&str, &Calls)| {
        let times = "usec=0,usec_per_call=0.00";
        let counts = format!("calls={calls},{times},rejected_calls={rejected},failed_calls={failed}");
        (format!("cmdstat_{name}"), counts)
    };
    add("Commandstats", turn.house.stats.commands().map(calls).collect());
    let code = |(code, count): (&str, u64)| (format!("errorstat_{code}"), format!("count={count}"));
    add("Errorstats", turn.house.stats.codes().map(code).collect());
    add("Cluster", vec![line("cluster_enabled", "0".to_owned())]);
    let mut databases = Vec::new();
    for database in 0..DATABASES {
        let keys = turn.instance.keyspace.len(database);
        if keys > 0 {
            let mortal = turn.instance.keyspace.mortal(database);
            databases.push((format!("db{database}"), format!("keys={keys},expires={mortal},avg_ttl=0")));
        }
    }
    add("Keyspace", databases);
    Ok(Reply::text(said))
}

fn replication(turn: &Turn) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| lines.push((name.to_owned(), value));
    if turn.instance.is_master() {
        let followers = followers(turn, Some(turn.cx.me));
        line("role", "master".to_owned());
        line("connected_slaves", followers.len().to_string());
        for (number, ((host, port), offset)) in followers.into_iter().enumerate() {
            let slave = format!("ip={host},port={port},state=online,offset={offset},lag=0");
            line(&format!("slave{number}"), slave);
        }
    } else {
        let (host, port) = address(turn, turn.instance.master().unwrap_or(0).into());
        line("role", "slave".to_owned());
        line("master_host", host);
        line("master_port", port.to_string());
        let is_up = turn.instance.replicated().is_some();
        line("master_link_status", if is_up { "up" } else { "down" }.to_owned());
        line("slave_read_only", "1".to_owned());
    }
    line("master_repl_offset", offset(turn).to_string());
    lines
}

/// `QUIT` is the connection's affair; here it is agreed to.
pub fn quit(_: &mut Turn, _: &[Bytes]) -> Replied {
    Ok(Reply::ok())
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::direct::Direct;
    use crate::serve::redis::{Servers, Settings};
    use picklock_model::stores::redis::Persistence;

    #[test]
    fn a_parameter_of_two_names_is_one_and_says_yes_or_no() {
        let client = Direct::new(&Servers::new(1, Settings::default()));
        assert_eq!(client.line("CONFIG GET replica-read-only"), "*2 $17 replica-read-only $3 yes");
        assert_eq!(client.line("CONFIG SET slave-read-only NO"), "+OK");
        assert_eq!(client.line("CONFIG GET replica-read-only"), "*2 $17 replica-read-only $2 no");
        let refused = "-ERR CONFIG SET failed (possibly related to argument 'replica-read-only') - argument must be \
                       'yes' or 'no'";
        assert_eq!(client.line("CONFIG SET replica-read-only maybe"), refused);
    }

    #[test]
    fn a_server_of_no_cluster_says_so() {
        let client = Direct::new(&Servers::new(1, Settings::default()));
        for command in ["CLUSTER INFO", "READONLY", "READWRITE", "ASKING"] {
            assert_eq!(client.line(command), "-ERR This instance has cluster support disabled");
        }
        let unknown = "-ERR unknown subcommand 'NOSUCH'. Try CLUSTER HELP.";
        assert_eq!(client.line("CLUSTER NOSUCH"), unknown);
    }

    #[test]
    fn what_no_server_has_is_not_said_to_be_missing_here() {
        let servers = Servers::new(1, Settings::default());
        let client = Direct::new(&servers);
        assert_eq!(client.line("COMMAND INFO nosuch"), "*1 $-1");
        let refused = "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'";
        assert_eq!(client.line("CONFIG SET nosuch 1"), refused);
        let notices: Vec<String> = servers.take_notices().into_iter().map(|(_, text)| text).collect();
        assert_eq!(notices, ["s1 was asked for CONFIG SET nosuch, which it does not know"]);
    }

    #[test]
    fn shutdown_takes_a_snapshot_unless_it_is_told_not_to() {
        let servers = Servers::new(1, Settings { persistence: Persistence::Rdb, ..Settings::default() });
        for (value, command, kept) in
            [("1", "SHUTDOWN", "$1 1"), ("2", "SHUTDOWN NOSAVE", "$1 1"), ("3", "SHUTDOWN SAVE NOW", "$1 3")]
        {
            let client = Direct::new(&servers);
            assert_eq!(client.line(&format!("SET a {value}")), "+OK");
            assert_eq!(client.line("SHUTDOWN SAVE NOSAVE"), "-ERR syntax error");
            assert_eq!(client.line("SHUTDOWN ABORT"), "-ERR No shutdown in progress.");
            assert_eq!(client.say(&command.split(' ').collect::<Vec<_>>()), None, "{command}");
            servers.restart(0);
            assert_eq!(Direct::new(&servers).line("GET a"), kept, "{command}");
        }
        let client = Direct::new(&servers);
        assert_eq!(client.line("MULTI"), "+OK");
        assert_eq!(client.line("SHUTDOWN"), "-ERR Command not allowed inside a transaction");
    }
}
