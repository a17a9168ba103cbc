//! Lua 5.1 as the scripts of Redis 7.0 have it.
//!
//! Scripts see the libraries of Lua but for `os`, `io`, `debug` and the loading of files and bytecode, and of Redis
//! `redis.call` and its like, `cjson`, `cmsgpack` and `bit`. Globals and libraries cannot be written. All of a script is one
//! step: nobody comes in between. If it takes too long, nobody does either, but everybody is told so ([`busy`](super::busy)).
//!
//! Left out: `struct`, the debugger. `redis.log` writes nothing.
//! `redis.set_repl` does nothing: what scripts change is always replicated. `math.random` draws other numbers than the real
//! one's, the same in each process of a server.
//!
//! Scripts that take too long differ from the real server's in this:
//!
//! - After 10 ms a script is begun anew ([`Slow`]) and takes those 10 ms once more. The commands that it had called are not
//!   run again, but what it keeps beside the keys (locals of a library of functions, options of `cjson`) has seen them twice. One
//!   that has written and then calls other commands than before, which it can if it depends on where in memory its tables
//!   are, is stopped with an error.
//! - If the process ends in the middle, what the script has written is kept as what others have written is; the real server
//!   writes it into the append-only file at the script's end.
//! - Where it was killed may be said to be the line of the last command that it has called.
//! - A replica goes on following its master, and servers stay in touch.
//! - In virtual time a script is stopped with an error after 100 million instructions of Lua's machine, and the loading of a
//!   library is so always; the real server stops that after 500 ms.

mod bits;
mod convert;
mod decode;
mod flags;
mod json;
mod leash;
mod libraries;
mod msgpack;
mod random;
mod slow;

pub use flags::Flags;
pub use leash::Signals;
pub use libraries::{Libraries, call_function, load_library};
pub use slow::Slow;

use super::busy::{Busy, patience, real_now};
use super::commands::{Spec, allowed, call as call_command, is_command, rejected, spec_of};
use super::reply::Reply;
use super::turn::{Refusal, Replied, Turn, Within, lower, refuse};
use bytes::Bytes;
use leash::{Cut, INSTRUCTIONS_MAX, Leash, Limit};
use mlua::{Error, Function, Lua, LuaOptions, MultiValue, StdLib, Table, Value};
use slow::{Called, Shelf};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

const MEMORY_MAX_BYTES: usize = 512 * 1024 * 1024;
const PRELUDE: &str = include_str!("prelude.lua");
/// Under which names Lua has the text of a script, and that of a library.
const SCRIPT: &str = "@user_script";
const LIBRARY: &str = "@user_function";
/// In the table of an error: it was counted when a command replied it.
const COUNTED: &str = "ignore_error_stats_update";

/// The scripts that a server knows, and what runs them.
#[derive(Default)]
pub struct Scripts {
    known: BTreeMap<String, Script>,
    machine: Option<Machine>,
}

/// A script, or a function of a library.
#[derive(Clone)]
struct Script {
    body: Function,
    flags: Flags,
}

impl Debug for Scripts {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.known.keys()).finish()
    }
}

#[derive(Clone)]
struct Machine {
    lua: Lua,
    environment: Table,
    globals: Table,
    redis: Table,
    run: Function,
    leash: Leash,
    /// The state of `math.random`.
    dice: Arc<AtomicU64>,
    /// The version of the protocol that the script has chosen (`redis.setresp`).
    version: Arc<AtomicU8>,
}

impl Scripts {
    pub fn knows(&self, sha: &str) -> bool {
        self.known.contains_key(sha)
    }

    pub fn count(&self) -> usize {
        self.known.len()
    }

    /// `SCRIPT FLUSH`: they are forgotten, with all that Lua had.
    pub fn clear(&mut self) {
        *self = Scripts::default();
    }

    fn machine(&mut self) -> mlua::Result<Machine> {
        match &self.machine {
            Some(machine) => Ok(machine.clone()),
            None => Ok(self.machine.insert(Machine::new()?).clone()),
        }
    }
}

/// What `redis.call` and its like raise: an error as the server replies it.
#[derive(Debug)]
struct Raised {
    text: String,
    /// A command has replied it, and it was counted then.
    is_counted: bool,
}

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Raised {
    /// As scripts see it.
    fn table(&self, lua: &Lua) -> mlua::Result<Table> {
        let table = lua.create_table()?;
        table.set("err", self.text.as_str())?;
        if self.is_counted {
            table.set(COUNTED, true)?;
        }
        Ok(table)
    }
}

/// An error of one of the functions of `redis`.
fn raise(text: impl Into<String>) -> Error {
    Error::external(Raised { text: text.into(), is_counted: false })
}

impl std::error::Error for Raised {}

impl Machine {
    fn new() -> mlua::Result<Machine> {
        let lua = Lua::new_with(StdLib::TABLE | StdLib::STRING | StdLib::MATH, LuaOptions::default())?;
        lua.set_memory_limit(MEMORY_MAX_BYTES)?;
        let (leash, dice) = (Leash::new(), Arc::new(AtomicU64::new(0)));
        let libraries = lua.create_table()?;
        libraries.set("redis", lua.create_table()?)?;
        libraries.set("cjson", json::library(&lua)?)?;
        libraries.set("cmsgpack", msgpack::library(&lua)?)?;
        libraries.set("bit", bits::library(&lua)?)?;
        let drawn = dice.clone();
        let random = move |lua: &Lua, bounds: MultiValue| random::random(lua, &drawn, &bounds.into_vec());
        libraries.set("random", lua.create_function(random)?)?;
        let seeded = dice.clone();
        let seed = move |_: &Lua, seed: f64| {
            seeded.store(seed as i64 as u64, Ordering::Relaxed);
            Ok(())
        };
        libraries.set("randomseed", lua.create_function(seed)?)?;
        let untangle = lua.create_function(|lua, failure: Value| untangled(lua, failure))?;
        let line = lua.create_function(|lua, ()| Ok(place_of(lua).map(|(_, line)| line)))?;
        let (environment, globals, redis, run) =
            lua.load(PRELUDE).set_name("=picklock").call((libraries, untangle, line))?;
        let machine = Machine { lua, environment, globals, redis, run, leash, dice, version: Arc::default() };
        machine.redis.set("sha1hex", machine.lua.create_function(sha1hex)?)?;
        machine.redis.set("acl_check_cmd", machine.lua.create_function(acl_check_cmd)?)?;
        machine.leash.fasten(&machine.lua)?;
        Ok(machine)
    }
}

/// A text, a table with the text of an error in `err`, or whatever else was raised.
fn untangled(lua: &Lua, failure: Value) -> mlua::Result<Value> {
    let Value::Error(error) = &failure else { return Ok(failure) };
    let text = match raised(error) {
        Some(raised) => return raised.table(lua).map(Value::Table),
        None => plain(error),
    };
    Ok(Value::String(lua.create_string(text)?))
}

fn raised(error: &Error) -> Option<&Raised> {
    match error {
        Error::CallbackError { cause, .. } => raised(cause),
        Error::ExternalError(error) => error.downcast_ref(),
        _ => None,
    }
}

fn plain(error: &Error) -> String {
    match error {
        Error::CallbackError { cause, .. } => plain(cause),
        Error::RuntimeError(text) => text.clone(),
        other => other.to_string(),
    }
}

/// In which line of which text the script is.
fn place_of(lua: &Lua) -> Option<(&'static str, usize)> {
    for level in 0..64 {
        let seen = lua.inspect_stack(level, |frame| {
            let source = frame.source().source?;
            let name = [SCRIPT, LIBRARY].into_iter().find(|name| source == **name)?;
            Some((name, frame.current_line()?))
        });
        match seen {
            Some(Some(place)) => return Some(place),
            Some(None) => {}
            None => return None,
        }
    }
    None
}

/// An error with the place in front of it, as Lua's own have it.
fn misused(lua: &Lua, text: &str) -> Error {
    let place = place_of(lua).map_or_else(String::new, |(name, line)| format!("{}:{line}: ", &name[1..]));
    Error::RuntimeError(format!("{place}{text}"))
}

fn sha1hex(_: &Lua, arguments: MultiValue) -> mlua::Result<String> {
    match arguments.into_vec().as_slice() {
        [text] => {
            // What is no text is an empty one (`src/script_lua.c` `luaRedisSha1hexCommand`).
            let text = convert::word(text).unwrap_or_default();
            Ok(sha1_smol::Sha1::from(&text).digest().to_string())
        }
        _ => Err(raise("ERR wrong number of arguments")),
    }
}

/// Whether the user may call this: there is one, who may do everything that there is
/// (`src/script_lua.c` `luaRedisAclCheckCmdPermissionsCommand`).
fn acl_check_cmd(_: &Lua, words: MultiValue) -> mlua::Result<bool> {
    let words = words_of(&words).map_err(raise)?;
    match is_command(&words) {
        true => Ok(true),
        false => Err(raise("ERR Invalid command passed to redis.acl_check_cmd()")),
    }
}

/// The script's name, under which the server knows it from now on.
///
/// # Errors
/// What the server replies, if it is no Lua.
pub fn load(scripts: &mut Scripts, text: &Bytes) -> Result<String, String> {
    let sha = sha1_smol::Sha1::from(text).digest().to_string();
    if scripts.knows(&sha) {
        return Ok(sha);
    }
    let wrong = |error: Error| match error {
        Error::SyntaxError { message, .. } => {
            format!("ERR Error compiling script (new function): {message}")
        }
        other => format!("ERR Error compiling script (new function): {other}"),
    };
    if text.first() == Some(&27) {
        return Err("ERR Error compiling script (new function): no bytecode is loaded".to_owned());
    }
    let (flags, body) = Flags::of(text)?;
    let machine = scripts.machine().map_err(wrong)?;
    let chunk = machine.lua.load(body).set_name(SCRIPT).set_environment(machine.environment.clone());
    let body = chunk.into_function().map_err(wrong)?;
    scripts.known.insert(sha.clone(), Script { body, flags });
    Ok(sha)
}

/// Runs a script that the server knows.
pub fn call(turn: &mut Turn, sha: &str, keys: &[Bytes], arguments: &[Bytes], read_only: bool) -> Replied {
    let Some(script) = turn.house.scripts.known.get(sha).cloned() else {
        return refuse("NOSCRIPT No matching script. Please use EVAL.");
    };
    script.flags.admit(turn, read_only)?;
    let machine = turn.house.scripts.machine().map_err(broken)?;
    run(turn, &machine, &script, (sha, SCRIPT), keys, arguments, read_only)
}

fn broken(error: Error) -> Refusal {
    match (raised(&error), &error) {
        (Some(raised), _) => Refusal::Error(raised.text.clone().into_bytes()),
        (None, Error::MemoryError(_)) => Refusal::Error(no_memory().into_bytes()),
        (None, _) => Refusal::Error(format!("ERR {error}").into_bytes()),
    }
}

/// The real server gives a script all that the machine has.
fn no_memory() -> String {
    format!("ERR script needs more than {} MB, which this server does not give it", MEMORY_MAX_BYTES >> 20)
}

/// What the handler of errors was not called for, or has failed at: Lua calls it for everything but a lack of memory.
fn unhandled(said: &Value) -> String {
    let text = match said {
        Value::String(text) => text.to_string_lossy(),
        Value::Error(error) => plain(error),
        other => other.type_name().to_owned(),
    };
    match text.contains("not enough memory") {
        true => no_memory(),
        false => format!("ERR the script has failed: {text}"),
    }
}

/// Runs a script or a function, which errors call by this name, and its text by that.
fn run(
    turn: &mut Turn,
    machine: &Machine,
    script: &Script,
    (name, text): (&str, &'static str),
    keys: &[Bytes],
    arguments: &[Bytes],
    read_only: bool,
) -> Replied {
    let read_only = read_only || script.flags.no_writes;
    let (began, dice, may_be_busy) =
        (real_now(), machine.dice.load(Ordering::Relaxed), turn.house.may_be_busy);
    let allows_oom = script.flags.allows_oom();
    let since = may_be_busy.then_some(began);
    let within = Within::Script { read_only, allows_oom, has_written: false, since };
    let (outside, database) = (std::mem::replace(&mut turn.within, within), turn.session.database);
    machine.leash.begin(match may_be_busy {
        true => Limit::Until(began + patience(turn.house)),
        false => Limit::Instructions(INSTRUCTIONS_MAX),
    });
    let mut called = Called::new();
    let mut call = |words: Vec<Bytes>| {
        let reply = command(turn, &words);
        if may_be_busy {
            called.push_back((words, reply.clone()));
        }
        reply
    };
    let ended = perform(machine, &script.body, text == LIBRARY, &mut call, keys, arguments);
    let within = std::mem::replace(&mut turn.within, outside);
    let database = std::mem::replace(&mut turn.session.database, database);
    if machine.leash.cut() != Some(Cut::Time) {
        let (ran, is_counted) = outcome(machine, ended, name, text);
        turn.house.stats.is_counted = is_counted;
        return ran;
    }
    machine.leash.fasten(&machine.lua).map_err(broken)?;
    turn.instance.hold(turn.cx);
    turn.house.busy = Some(Busy::new(Slow {
        machine: machine.clone(),
        script: script.clone(),
        name: name.to_owned(),
        text,
        keys: keys.to_vec(),
        arguments: arguments.to_vec(),
        dice,
        called,
        shelf: Shelf::take(turn.house, text == LIBRARY),
        database,
        within,
        began,
    }));
    Err(Refusal::Runs)
}

/// What a script or a function has come to, and whether that is an error that was counted before.
fn outcome(machine: &Machine, ended: mlua::Result<(bool, Value)>, name: &str, text: &str) -> (Replied, bool) {
    let is_counted = match &ended {
        Ok((_, Value::Table(said))) => said.raw_get(COUNTED).unwrap_or(false),
        _ => false,
    };
    (replied(machine, ended, name, text), is_counted)
}

fn replied(machine: &Machine, ended: mlua::Result<(bool, Value)>, name: &str, text: &str) -> Replied {
    if !matches!(ended, Ok((true, _))) {
        // The hook may have been set to stop everything, the handler of errors too.
        machine.leash.fasten(&machine.lua).map_err(broken)?;
    }
    if let Some(cut) = machine.leash.cut() {
        return refuse(cut.verdict(name, text));
    }
    let (is_well, said) = ended.map_err(broken)?;
    if is_well {
        return Ok(convert::reply_of(&said, machine.version.load(Ordering::Relaxed)));
    }
    let failure = match said {
        Value::Table(failure) => failure,
        other => {
            // Lua 5.1 does not look for garbage when its memory is at an end.
            machine.lua.gc_collect().map_err(broken)?;
            return refuse(unhandled(&other));
        }
    };
    let error: mlua::LuaString = failure.get("err").map_err(broken)?;
    let line: Option<usize> = failure.get("line").map_err(broken)?;
    let mut error = error.as_bytes().to_vec();
    if let Some(line) = line {
        error.extend(format!(" script: {name}, on {text}:{line}.").into_bytes());
    }
    Err(Refusal::Error(error))
}

/// Runs the text of a script or a function; what it calls is called by this.
fn perform(
    machine: &Machine,
    script: &Function,
    is_function: bool,
    call: &mut dyn FnMut(Vec<Bytes>) -> Reply,
    keys: &[Bytes],
    arguments: &[Bytes],
) -> mlua::Result<(bool, Value)> {
    let Machine { lua, globals, redis, run, leash, version, .. } = machine;
    let texts = |texts: &[Bytes]| {
        let strings = texts.iter().map(|text| lua.create_string(text)).collect::<mlua::Result<Vec<_>>>()?;
        lua.create_sequence_from(strings)
    };
    let (keys, arguments) = (texts(keys)?, texts(arguments)?);
    if !is_function {
        globals.set("KEYS", &keys)?;
        globals.set("ARGV", &arguments)?;
    }
    let run_command = RefCell::new(call);
    version.store(2, Ordering::Relaxed);
    let called = |lua: &Lua, words: MultiValue| -> mlua::Result<Result<Value, Raised>> {
        leash.look(lua)?;
        let reply = match words_of(&words) {
            Ok(words) => run_command.borrow_mut()(words),
            Err(wrong) => return Ok(Err(Raised { text: wrong.to_owned(), is_counted: false })),
        };
        match reply {
            Reply::Error(text) => {
                let text = String::from_utf8_lossy(&text).into_owned();
                Ok(Err(Raised { text, is_counted: true }))
            }
            reply => Ok(Ok(convert::value_of(lua, &reply, version.load(Ordering::Relaxed))?)),
        }
    };
    lua.scope(|scope| {
        let call = |lua: &Lua, words: MultiValue| called(lua, words)?.map_err(Error::external);
        let pcall = |lua: &Lua, words: MultiValue| match called(lua, words)? {
            Ok(value) => Ok(value),
            Err(raised) => raised.table(lua).map(Value::Table),
        };
        let set_resp = |lua: &Lua, mut asked: MultiValue| {
            let [asked] = asked.make_contiguous() else {
                return Err(raise("ERR redis.setresp() requires one argument."));
            };
            let asked = lua.coerce_number(asked.clone())?.unwrap_or_default() as i64;
            match u8::try_from(asked) {
                Ok(asked @ (2 | 3)) => {
                    version.store(asked, Ordering::Relaxed);
                    Ok(())
                }
                _ => Err(raise("ERR RESP version must be 2 or 3.")),
            }
        };
        redis.set("call", scope.create_function(call)?)?;
        redis.set("pcall", scope.create_function(pcall)?)?;
        redis.set("setresp", scope.create_function(set_resp)?)?;
        match is_function {
            true => run.call::<(bool, Value)>((script, keys, arguments)),
            false => run.call(script),
        }
    })
}

/// The words of what a script calls.
///
/// # Errors
/// What is replied, if they are none.
fn words_of(words: &MultiValue) -> Result<Vec<Bytes>, &'static str> {
    if words.is_empty() {
        return Err("ERR Please specify at least one argument for this redis lib call");
    }
    let words = words.iter().map(convert::word).collect::<Option<Vec<Bytes>>>();
    words.ok_or("ERR Lua redis lib command arguments must be strings or integers")
}

/// What a script calls (`src/script.c` `scriptCall`).
pub fn command(turn: &mut Turn, words: &[Bytes]) -> Reply {
    let ran = match admitted(turn, words) {
        Ok(spec) => {
            if let Within::Script { has_written, .. } = &mut turn.within {
                *has_written |= spec.writes;
            }
            call_command(turn, spec, words)
        }
        Err(refusal) => {
            rejected(turn, spec_of(&words[0]), words, &refusal);
            Err(refusal)
        }
    };
    match ran {
        Ok(reply) => reply,
        Err(Refusal::Error(text)) => Reply::error(text),
        Err(Refusal::Block { in_vain, .. }) => in_vain,
        Err(Refusal::Replicas { .. } | Refusal::Runs) => Reply::Integer(0),
    }
}

/// Whether a script may call this now.
fn admitted(turn: &mut Turn, words: &[Bytes]) -> Result<&'static Spec, Refusal> {
    let Some(spec) = spec_of(&words[0]) else {
        let name = lower(&words[0]);
        if super::commands::is_missing(&name) {
            turn.house.missing(&name.to_uppercase());
        }
        if super::commands::is_missing_in_scripts(&name) {
            return refuse("ERR This Redis command is not allowed from script");
        }
        return refuse("ERR Unknown Redis command called from script");
    };
    if !spec.admits(words.len()) {
        return refuse("ERR Wrong number of args calling Redis command from script");
    }
    // Of a cluster's commands one is not for scripts (`src/commands/cluster-reset.json`).
    let resets =
        spec.name == "cluster" && words.get(1).is_some_and(|word| word.eq_ignore_ascii_case(b"reset"));
    if !spec.in_scripts || resets {
        return refuse("ERR This Redis command is not allowed from script");
    }
    // Of those that can tell other servers something without writing (`CMD_MAY_REPLICATE`), scripts can call this one.
    let tells = spec.writes || spec.name == "publish";
    if tells && matches!(turn.within, Within::Script { read_only: true, .. }) {
        return refuse("ERR Write commands are not allowed from read-only scripts.");
    }
    allowed(turn, spec)?;
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_script_that_needs_too_much_memory_is_told_so() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let script = "return #string.rep('x', 600000000)";
        let said = "-ERR script needs more than 512 MB, which this server does not give it";
        assert_eq!(client.say(&["EVAL", script, "0"]).as_deref(), Some(said));
        assert_eq!(client.say(&["EVAL", "return 7", "0"]).as_deref(), Some(":7"), "Lua goes on");
    }

    #[test]
    fn of_a_cluster_s_commands_scripts_may_not_reset_it() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let said = |script: &str| client.say(&["EVAL", script, "0"]).expect("it answers");
        assert!(said("return redis.call('cluster', 'reset')").contains("is not allowed from script"));
        assert!(said("return redis.call('cluster', 'info')").contains("cluster support disabled"));
    }

    /// What a client is told of these scripts.
    fn are_told<'a>(client: &Direct, scripts: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (script, told) in scripts {
            let said = client.say(&["EVAL", script, "0"]).expect("it answers");
            let said = said.split(" script: ").next().unwrap_or_default();
            assert_eq!(said, told, "{script}");
        }
    }

    #[test]
    fn nobody_writes_into_what_all_scripts_see() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        for table in [
            "_G",
            "redis",
            "cjson",
            "cmsgpack",
            "bit",
            "string",
            "math",
            "table",
            "coroutine",
            "getmetatable(_G)",
            "getmetatable('')",
        ] {
            for write in [
                "table.insert(T, 1)",
                "table.insert(T, 1, 1)",
                "rawset(T, 1, 1)",
                "setmetatable(T, {})",
                "setmetatable(T, nil)",
                "T[1] = 1",
                "T.type = nil",
                "pcall(table.insert, T, 1) error('ERR Attempt to modify a readonly table', 0)",
                "coroutine.wrap(function() table.insert(T, 1) end)()",
            ] {
                let script = format!("local T = {table} {write}");
                let said = client.say(&["EVAL", &script, "0"]).expect("it answers");
                assert!(said.contains("Attempt to modify a readonly table"), "{script}: {said}");
            }
            let script = format!(
                "local T = {table} table.remove(T) table.remove(T, 1) table.sort(T)
                return {{ select('#', unpack(T)), #T, tostring(rawget(T, 1)), table.concat(T) }}"
            );
            let said = client.say(&["EVAL", &script, "0"]);
            assert_eq!(said.as_deref(), Some("*4 :0 :0 $3 nil $0"), "{table}");
        }
    }

    #[test]
    fn what_is_misused_says_so_where_it_was_called() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let readonly = "-ERR Attempt to modify a readonly table";
        are_told(
            &client,
            [
                ("rawset(_G, 'a', 1)", readonly),
                ("setmetatable(_G, {})", readonly),
                ("table.insert(_G, 1)", readonly),
                ("a = 1", "-ERR user_script:1: Attempt to modify a readonly table"),
                (
                    "table.insert(1, 2)",
                    "-ERR user_script:1: bad argument #1 to 'insert' (table expected, got number)",
                ),
                ("table.insert({})", "-ERR user_script:1: wrong number of arguments to 'insert'"),
                (
                    "table.insert({}, 'x', 2)",
                    "-ERR user_script:1: bad argument #2 to 'insert' (number expected, got string)",
                ),
                (
                    "rawset()",
                    "-ERR user_script:1: bad argument #1 to 'rawset' (table expected, got no value)",
                ),
                ("rawset({}, 1)", "-ERR user_script:1: bad argument #3 to 'rawset' (value expected)"),
                (
                    "setmetatable({})",
                    "-ERR user_script:1: bad argument #2 to 'setmetatable' (nil or table expected)",
                ),
                (
                    "setmetatable(setmetatable({}, { __metatable = 1 }), {})",
                    "-ERR user_script:1: cannot change a protected metatable",
                ),
                ("load(1)", "-ERR user_script:1: bad argument #1 to 'load' (function expected, got number)"),
                ("xpcall()", "-ERR user_script:1: bad argument #2 to 'xpcall' (value expected)"),
                ("local t = { 1, 3 } table.insert(t, 2, 2) table.insert(t, 4) return t", "*4 :1 :2 :3 :4"),
                ("local t = {} table.insert(t, '2', 5) return t[2]", ":5"),
            ],
        );
    }

    #[test]
    fn a_script_that_may_not_write_may_not_publish() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let library = "#!lua name=one\nlocal tell = function() return redis.call('publish', 'c', 'm') end
            redis.register_function('writes', tell)
            redis.register_function{function_name = 'reads', callback = tell, flags = {'no-writes'}}";
        assert_eq!(client.say(&["FUNCTION", "LOAD", library]).as_deref(), Some("$3 one"));
        let script = "return redis.call('publish', 'c', 'm')";
        let refused = "-ERR Write commands are not allowed from read-only scripts.";
        for words in [["EVAL_RO", script, "0"], ["FCALL_RO", "reads", "0"], ["FCALL", "reads", "0"]] {
            let said = client.say(&words).expect("it answers");
            assert!(said.starts_with(refused), "{words:?}: {said}");
        }
        for words in [["EVAL", script, "0"], ["FCALL", "writes", "0"]] {
            assert_eq!(client.say(&words).as_deref(), Some(":0"), "{words:?}");
        }
    }

    #[test]
    fn functions_of_redis_raise_what_the_real_ones_do() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let flags = "-ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.";
        are_told(
            &client,
            [
                ("redis.log()", "-ERR redis.log() requires two arguments or more."),
                ("redis.log('x', 'y')", "-ERR First argument must be a number (log level)."),
                ("redis.log(9, 'x')", "-ERR Invalid debug level."),
                ("redis.log(redis.LOG_DEBUG, 'x') return 1", ":1"),
                ("redis.set_repl()", "-ERR redis.set_repl() requires two arguments."),
                ("redis.set_repl(9)", flags),
                ("redis.set_repl(-1)", flags),
                ("redis.set_repl(redis.REPL_ALL) return 1", ":1"),
                ("redis.setresp()", "-ERR redis.setresp() requires one argument."),
                ("redis.setresp(4)", "-ERR RESP version must be 2 or 3."),
                ("redis.setresp('3') return 1", ":1"),
                ("return redis.acl_check_cmd('set', 'a', 'b')", ":1"),
                ("return redis.acl_check_cmd('config', 'get')", ":1"),
                (
                    "return redis.acl_check_cmd('config', 'foo')",
                    "-ERR Invalid command passed to redis.acl_check_cmd()",
                ),
                (
                    "return redis.acl_check_cmd()",
                    "-ERR Please specify at least one argument for this redis lib call",
                ),
                (
                    "bit.band()",
                    "-ERR user_script:1: bad argument #1 to 'band' (number expected, got no value)",
                ),
                (
                    "bit.bor(1, {}, cjson.null)",
                    "-ERR user_script:1: bad argument #3 to 'bor' (number expected, got userdata)",
                ),
                (
                    "bit.tohex(1, nil)",
                    "-ERR user_script:1: bad argument #2 to 'tohex' (number expected, got nil)",
                ),
                (
                    "return { bit.tohex(255, -4), bit.band('7', 3), bit.tobit(2 ^ 31) }",
                    "*3 $4 00FF :3 :-2147483648",
                ),
            ],
        );
        // Nobody has counted these before.
        let stats = client.line("INFO errorstats");
        assert!(stats.contains("errorstat_ERR:count=13"), "{stats}");
    }

    #[test]
    fn a_script_says_what_only_resp3_has() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let scripts = [
            ("return { big_number = '1\\r2' }", "$3 1 2", "(1 2"),
            ("return { verbatim_string = { format = 'markdown', string = 'a' } }", "$1 a", "=5 mar:a"),
            ("return { verbatim_string = { format = 'x', string = 'a' } }", "$1 a", "=5 x  :a"),
            ("return { verbatim_string = 'a' }", "*0", "*0"),
            ("redis.setresp(3) return { true, false }", "*2 :1 :0", "*2 #t #f"),
            ("return { true, false }", "*2 :1 $-1", "*2 :1 _"),
        ];
        are_told(&client, scripts.map(|(script, old, _)| (script, old)));
        client.line("HELLO 3");
        are_told(&client, scripts.map(|(script, _, new)| (script, new)));
    }

    #[test]
    fn time_goes_on_in_a_script() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let script = "local function now() local t = redis.call('time') return t[1] * 1e6 + t[2] end
            local before = now() for n = 1, 100000 do end return now() - before";
        let said = client.say(&["EVAL", script, "0"]).expect("it answers");
        let micros: i64 = said.trim_start_matches(':').parse().expect("a number");
        assert!((1..1_000_000).contains(&micros), "{micros}");
    }
}
