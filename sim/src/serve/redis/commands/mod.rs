//! What clients ask for.
//!
//! Said of the real server: version 7.0.

mod about;
mod bounds;
mod client;
mod function;
mod hashes;
mod keys;
mod lcs;
mod lists;
mod pubsub;
mod script;
mod sentinel;
mod sets;
mod sort;
mod sorted;
mod strings;
mod table;
mod transactions;

use super::events::Class;
use super::reply::Reply;
use super::turn::{Refusal, Replied, Turn, Within, lower, refuse, wrong_number};
use bytes::Bytes;
use picklock_model::stores::redis::Eviction;
use std::borrow::Cow;
use std::sync::LazyLock;
use table::{MISSING, MISSING_IN_SCRIPTS, MISSING_IN_TRANSACTIONS, SPECS};
pub use transactions::{Rest, go_on};

/// The version that clients are told.
pub const VERSION: &str = "7.0.15";

type Run = fn(&mut Turn, &[Bytes]) -> Replied;

/// A command.
pub struct Spec {
    pub name: &'static str,
    /// How many words it has, with its name; below zero: at least.
    arity: i64,
    /// The first key, the last one, and the step between them.
    keys: (i64, i64, i64),
    pub run: Run,
    pub writes: bool,
    /// It may need memory.
    grows: bool,
    pub in_scripts: bool,
}

impl Spec {
    /// Whether a command may have so many words.
    pub fn admits(&self, words: usize) -> bool {
        let words = words as i64;
        if self.arity < 0 { words >= -self.arity } else { words == self.arity }
    }
}

/// The commands by the first letters of their names.
static BY_INITIAL: LazyLock<[Vec<&'static Spec>; 32]> = LazyLock::new(|| {
    let mut all: [Vec<&'static Spec>; 32] = Default::default();
    for spec in SPECS {
        all[initial(spec.name.as_bytes())].push(spec);
    }
    all
});

fn initial(name: &[u8]) -> usize {
    // The same for capitals.
    usize::from(name.first().copied().unwrap_or_default() & 0x1f)
}

/// The command that a word names, in capitals or not.
pub fn spec_of(word: &Bytes) -> Option<&'static Spec> {
    let of_initial = &BY_INITIAL[initial(word)];
    of_initial.iter().copied().find(|spec| word.eq_ignore_ascii_case(spec.name.as_bytes()))
}

/// Whether the real server has such a command, with this second word if it does several things. Those that are not here may
/// do anything.
pub fn is_command(words: &[Bytes]) -> bool {
    let Some(name) = words.first().map(lower) else { return false };
    let is_known = name != "sentinel" && (spec_of(&words[0]).is_some() || is_missing(&name));
    let does = subcommands(&name).zip(words.get(1).map(lower));
    is_known && does.is_none_or(|(known, what)| known.contains(&what.as_str()))
}

/// Whether the real server has this command, in lower case, and this one has not.
pub fn is_missing(name: &str) -> bool {
    MISSING.contains(&name)
}

/// Whether it is one of these that no script can call.
pub fn is_missing_in_scripts(name: &str) -> bool {
    MISSING_IN_SCRIPTS.contains(&name)
}

/// A client's command: run, or kept for its transaction (`src/server.c` `processCommand`).
pub fn execute(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let Some(first) = words.first() else { return Ok(Reply::Several(Vec::new())) };
    turn.house.commands += 1;
    let known = spec_of(first);
    let name = known.map_or_else(|| Cow::Owned(lower(first)), |spec| Cow::Borrowed(spec.name));
    let spec = match admitted(turn, known, &name, words) {
        Ok(spec) => spec,
        Err(refusal) => {
            if let Some(transaction) = &mut turn.session.transaction {
                transaction.is_broken = true;
            }
            let refusal = match (&*name, refusal) {
                ("exec", Refusal::Error(why)) => abort(turn, &why),
                (_, refusal) => refusal,
            };
            rejected(turn, known, words, &refusal);
            return Err(refusal);
        }
    };
    if name == "exec"
        && let Err(Refusal::Error(why)) = may_exec(turn)
    {
        let refusal = abort(turn, &why);
        rejected(turn, Some(spec), words, &refusal);
        return Err(refusal);
    }
    turn.session.last_command = spec.name;
    let is_now = matches!(spec.name, "exec" | "discard" | "multi" | "watch" | "quit" | "reset");
    if let Some(transaction) = turn.session.transaction.as_mut().filter(|_| !is_now) {
        transaction.commands.push(words.to_vec());
        return Ok(Reply::status("QUEUED"));
    }
    call(turn, spec, words)
}

/// Runs a command, and counts that (`src/server.c` `call`).
pub fn call(turn: &mut Turn, spec: &'static Spec, words: &[Bytes]) -> Replied {
    turn.house.stats.is_counted = false;
    let ran = (spec.run)(turn, words);
    let name = full_name(spec, words);
    turn.house.stats.of(name.clone()).calls += 1;
    if let Ok(Reply::Error(text)) = &ran {
        turn.house.stats.failed(name, text);
    } else if let Err(Refusal::Error(text)) = &ran {
        turn.house.stats.failed(name, text);
    }
    ran
}

/// A command is refused before it is run: that is counted.
pub fn rejected(turn: &mut Turn, spec: Option<&'static Spec>, words: &[Bytes], refusal: &Refusal) {
    if let Refusal::Error(text) = refusal {
        turn.house.stats.error(text);
    }
    if let Some(spec) = spec {
        turn.house.stats.of(full_name(spec, words)).rejected += 1;
    }
}

/// A command's name, with what it does if it does several things.
fn full_name(spec: &'static Spec, words: &[Bytes]) -> Cow<'static, str> {
    let known = subcommands(spec.name).and_then(|known| Some((known, words.get(1).map(lower)?)));
    match known.filter(|(known, what)| known.contains(&what.as_str())) {
        Some((_, what)) => Cow::Owned(format!("{}|{what}", spec.name)),
        None => Cow::Borrowed(spec.name),
    }
}

/// A script that went on by itself has replied this error.
pub fn failed(turn: &mut Turn, words: &[Bytes], text: &[u8]) {
    if let Some(spec) = words.first().and_then(spec_of) {
        turn.house.stats.failed(full_name(spec, words), text);
    }
}

/// `EXEC` is refused: its transaction is discarded (`src/multi.c` `execCommandAbort`).
fn abort(turn: &mut Turn, why: &[u8]) -> Refusal {
    turn.session.transaction = None;
    turn.house.unwatch(turn.session);
    let why = why.strip_prefix(b"ERR ").unwrap_or(why);
    Refusal::Error([b"EXECABORT Transaction discarded because of: ".as_slice(), why].concat())
}

/// Whether the client's transaction may be run, by what the commands in it do.
fn may_exec(turn: &mut Turn) -> Result<(), Refusal> {
    let commands = turn.session.transaction.iter().flat_map(|transaction| &transaction.commands);
    let specs: Vec<&Spec> = commands.filter_map(|words| spec_of(words.first()?)).collect();
    if specs.iter().any(|spec| spec.grows) && is_out_of_memory(turn) {
        return refuse(NO_MEMORY);
    }
    match specs.iter().any(|spec| spec.writes) {
        true => may_write(turn),
        false => Ok(()),
    }
}

/// Whether the server takes writes now (`src/server.c` `processCommand`).
pub fn may_write(turn: &Turn) -> Result<(), Refusal> {
    let least = turn.house.config.get("min-replicas-to-write").and_then(|text| text.parse().ok());
    let least: usize = least.unwrap_or(0);
    if least > 0 && turn.instance.is_master() && about::followers(turn, Some(turn.cx.me)).len() < least {
        return refuse(NO_REPLICAS);
    }
    if !turn.instance.is_master() {
        return refuse("READONLY You can't write against a read only replica.");
    }
    Ok(())
}

/// Whether the command may be run now, but for what only it can know.
fn admitted(
    turn: &mut Turn,
    known: Option<&'static Spec>,
    name: &str,
    words: &[Bytes],
) -> Result<&'static Spec, Refusal> {
    let known = known.filter(|spec| spec.name != "sentinel" || turn.instance.master().is_some());
    let Some(spec) = known else {
        if is_missing(name) {
            turn.house.missing(&name.to_uppercase());
        }
        if MISSING_IN_TRANSACTIONS.contains(&name) && turn.session.transaction.is_some() {
            return refuse(NOT_IN_TRANSACTIONS);
        }
        return refuse(unknown(words));
    };
    if !spec.admits(words.len()) {
        return refuse(wrong_number(name));
    }
    if let (Some(known), Some(what)) = (subcommands(name), words.get(1))
        && !known.contains(&lower(what).as_str())
    {
        return refuse(unknown_subcommand(&name.to_uppercase(), what));
    }
    if name == "shutdown" && turn.session.transaction.is_some() {
        return refuse(NOT_IN_TRANSACTIONS);
    }
    let listens = turn.session.version < 3 && turn.session.subscriptions() > 0;
    let is_listeners = matches!(
        name,
        "ping" | "subscribe" | "unsubscribe" | "psubscribe" | "punsubscribe" | "quit" | "reset"
    );
    allowed(turn, spec)?;
    if listens && !is_listeners {
        return refuse(format!(
            "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in \
             this context",
            full_name(spec, words)
        ));
    }
    if let Some(busy) = turn.house.busy.as_ref().filter(|_| !is_for_busy(name, words)) {
        return refuse(busy.says());
    }
    Ok(spec)
}

/// Whether it is answered while a script takes too long (`src/server.h` `CMD_ALLOW_BUSY`).
fn is_for_busy(name: &str, words: &[Bytes]) -> bool {
    let is_second = |known: &[&str]| words.get(1).is_some_and(|what| known.contains(&lower(what).as_str()));
    match name {
        "auth" | "hello" | "quit" | "reset" | "shutdown" | "multi" | "discard" | "watch" | "unwatch" => true,
        "script" => is_second(&["kill"]),
        "function" => is_second(&["kill", "stats"]),
        _ => false,
    }
}

/// What the real server knows as the second word of these: what it does not know is refused before it is queued.
fn subcommands(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "client" => &[
            "caching",
            "getname",
            "getredir",
            "help",
            "id",
            "info",
            "kill",
            "list",
            "no-evict",
            "no-touch",
            "pause",
            "reply",
            "setname",
            "tracking",
            "trackinginfo",
            "unblock",
            "unpause",
        ],
        "cluster" => &[
            "addslots",
            "addslotsrange",
            "bumpepoch",
            "count-failure-reports",
            "countkeysinslot",
            "delslots",
            "delslotsrange",
            "failover",
            "flushslots",
            "forget",
            "getkeysinslot",
            "help",
            "info",
            "keyslot",
            "links",
            "meet",
            "myid",
            "nodes",
            "replicas",
            "replicate",
            "reset",
            "saveconfig",
            "set-config-epoch",
            "setslot",
            "shards",
            "slaves",
            "slots",
        ],
        "command" => &["count", "docs", "getkeys", "getkeysandflags", "help", "info", "list"],
        "config" => &["get", "help", "resetstat", "rewrite", "set"],
        "function" => &["delete", "dump", "flush", "help", "kill", "list", "load", "restore", "stats"],
        "pubsub" => &["channels", "help", "numpat", "numsub", "shardchannels", "shardnumsub"],
        "script" => &["debug", "exists", "flush", "help", "kill", "load"],
        _ => return None,
    })
}

const NOT_IN_TRANSACTIONS: &str = "ERR Command not allowed inside a transaction";
pub const NO_REPLICAS: &str = "NOREPLICAS Not enough good replicas to write.";
pub const NO_MEMORY: &str = "OOM command not allowed when used memory > 'maxmemory'.";

/// What an empty server takes. Nothing is counted beside it.
const MEMORY_OF_NOTHING_BYTES: u64 = 1_000_000;

/// Whether `CONFIG SET maxmemory` leaves no room, not even to a server without keys.
pub fn is_out_of_memory(turn: &Turn) -> bool {
    let max = turn.house.config.get("maxmemory").and_then(|text| text.parse::<u64>().ok());
    max.is_some_and(|max| max > 0 && max < MEMORY_OF_NOTHING_BYTES)
}

/// Whether the server takes such a command now.
pub fn allowed(turn: &mut Turn, spec: &Spec) -> Result<(), Refusal> {
    // A script that has written is not stopped halfway (`src/script.c` `scriptVerifyOOM`).
    let has_written = matches!(turn.within, Within::Script { has_written: true, .. });
    let allows_oom = has_written || matches!(turn.within, Within::Script { allows_oom: true, .. });
    if spec.grows && !allows_oom && is_out_of_memory(turn) {
        return refuse(NO_MEMORY);
    }
    if spec.writes && !has_written {
        may_write(turn)?;
    }
    let is_full = |turn: &Turn| {
        let max = turn.cx.settings.keys_max.map(usize::from);
        max.is_some_and(|max| turn.instance.keyspace.total() >= max.max(1))
    };
    while spec.grows && is_full(turn) {
        let evicts = turn.cx.settings.eviction == Eviction::AllKeysLru;
        let Some(place) = evicts.then(|| turn.instance.keyspace.evict(turn.cx)).flatten() else {
            return refuse(NO_MEMORY);
        };
        turn.house.event(Class::Evicted, "evicted", &place);
    }
    Ok(())
}

/// Runs a command that was admitted before: of a transaction, or for who has waited.
pub fn run(turn: &mut Turn, words: &[Bytes]) -> Replied {
    match words.first().and_then(spec_of) {
        Some(spec) => {
            allowed(turn, spec)?;
            call(turn, spec, words)
        }
        None => refuse(unknown(words)),
    }
}

/// Runs a command for who has waited; `None`: in vain.
pub fn again(turn: &mut Turn, words: &[Bytes]) -> Option<Reply> {
    turn.within = Within::Itself;
    match run(turn, words) {
        Ok(reply) => Some(reply),
        Err(Refusal::Error(text)) => Some(Reply::error(text)),
        Err(Refusal::Block { .. } | Refusal::Replicas { .. } | Refusal::Runs) => None,
    }
}

/// `src/server.c` `commandCheckExistence`: at most 128 bytes of the arguments, each in quotes.
fn unknown(words: &[Bytes]) -> Vec<u8> {
    const SHOWN_MAX: usize = 128;
    // As C prints it: up to the first NUL.
    let shown = |word: &Bytes, most: usize| -> Vec<u8> {
        word.iter().copied().take(most).take_while(|byte| *byte != 0).collect()
    };
    let mut arguments = Vec::new();
    for word in &words[1..] {
        if arguments.len() >= SHOWN_MAX {
            break;
        }
        let text = shown(word, SHOWN_MAX - arguments.len());
        arguments.extend([b"'".as_slice(), &text, b"' "].concat());
    }
    let name = shown(&words[0], SHOWN_MAX);
    [b"ERR unknown command '".as_slice(), &name, b"', with args beginning with: ", &arguments].concat()
}

/// What a command says of what it does (`src/networking.c` `addReplyHelp`).
fn help(command: &str, lines: &[&'static str]) -> Reply {
    let first = format!("{command} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:");
    let last = ["HELP", "    Prints this help."];
    let rest = lines.iter().chain(&last).map(|line| Reply::status(line));
    Reply::Array(std::iter::once(Reply::Status(first.into())).chain(rest).collect())
}

fn unknown_subcommand(command: &str, what: &Bytes) -> Vec<u8> {
    let shown: Vec<u8> = what.iter().copied().take(128).take_while(|byte| *byte != 0).collect();
    [b"ERR unknown subcommand '".as_slice(), &shown, format!("'. Try {command} HELP.").as_bytes()].concat()
}
