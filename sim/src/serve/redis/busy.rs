//! Scripts that take too long (`src/script.c` `scriptInterrupt`, `src/server.c` `processCommand`).
//!
//! ```text
//!   0 ms      10 ms                     busy-reply-threshold (5 s)
//!   │ one step │ a thread of its own       │ the same thread                 │ ends, or is killed
//!   │ all wait │ this server's clients wait│ they are told BUSY              │ the caller is answered
//! ```
//!
//! A script is run in the step in which it was called, which holds up all of the servers. After 10 ms of that it is begun
//! anew on a thread ([`Slow`] says how), and each command that it calls is a step. For the clients of its server all of it is
//! one still: what they ask waits, and from `busy-reply-threshold` on it is answered with `BUSY`, but for what the real
//! server answers then; no key expires, and replicas, clients that wait for a key and clients that watch one are told at the
//! script's end. The rest of a transaction comes after the script that is in it.
//!
//! As on the real server, such a script goes on if its client hangs up, and nobody can kill it once it has written. The end
//! of the server's process ends it.

use super::commands::{Rest, failed, go_on};
use super::house::{House, Outgoing, Session};
use super::lua::{Signals, Slow, command};
use super::reply::Reply;
use super::turn::{Refusal, Replied, Surroundings, Turn, Within, refuse};
use super::visit::{Servers, State, settle, unsaid};
use super::watched::{Asked, Sight, Tells, reply_text, show_command};
use crate::serve::servers::duration;
use crate::serve::watch::claims::Owner;
use crate::serve::watch::record::What;
use bytes::Bytes;
use picklock_model::time::Micros;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// For how long a script may hold up all servers.
const STEP_MAX: Duration = Duration::from_millis(10);
/// `busy-reply-threshold`, in milliseconds, as it is configured at first.
pub const THRESHOLD_MS: u64 = 5_000;
/// How often a thread looks whether its server's process runs again.
const LOOK_PERIOD: Duration = Duration::from_millis(1);

pub const BUSY_EVAL: &str =
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.";
pub const BUSY_FUNCTION: &str =
    "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE.";
const UNKILLABLE: &str = "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either \
                          wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.";

/// A script that goes on over several steps, as its server knows it. When the server forgets it, it ends.
pub struct Busy {
    signals: Arc<Signals>,
    /// Until it is on its thread.
    slow: Option<Slow>,
    /// What comes after it in its transaction.
    pub rest: Option<Rest>,
    name: String,
    is_function: bool,
    /// The numbers of libraries and of functions.
    libraries: Option<(usize, usize)>,
    began: Instant,
    /// What its client has asked for.
    command: Vec<Bytes>,
}

impl std::fmt::Debug for Busy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Busy").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.signals.is_over.store(true, Ordering::Relaxed);
    }
}

impl Busy {
    /// A script that is about to go on.
    pub fn new(slow: Slow) -> Busy {
        let signals = Signals::default();
        let has_written = matches!(slow.within, Within::Script { has_written: true, .. });
        signals.has_written.store(has_written, Ordering::Relaxed);
        Busy {
            signals: Arc::new(signals),
            rest: None,
            name: slow.name().to_owned(),
            is_function: slow.is_function(),
            libraries: slow.libraries(),
            began: slow.began,
            slow: Some(slow),
            command: Vec::new(),
        }
    }

    /// What everybody is told.
    pub fn says(&self) -> &'static str {
        if self.is_function { BUSY_FUNCTION } else { BUSY_EVAL }
    }

    /// `SCRIPT KILL`, `FUNCTION KILL` (`src/script.c` `scriptKill`).
    pub fn kill(&self, is_function: bool) -> Replied {
        if self.signals.has_written.load(Ordering::Relaxed) {
            return refuse(UNKILLABLE);
        }
        if is_function != self.is_function {
            return refuse(self.says());
        }
        self.signals.is_killed.store(true, Ordering::Relaxed);
        Ok(Reply::ok())
    }

    /// As `FUNCTION STATS` shows it (`src/functions.c` `functionStatsCommand`), and the numbers of libraries and functions.
    ///
    /// # Errors
    /// If it is not a function.
    pub fn stats(&self) -> Result<(Reply, (usize, usize)), Refusal> {
        let Some(counts) = self.libraries else { return refuse(self.says()) };
        let duration_ms = i64::try_from(self.began.elapsed().as_millis()).unwrap_or(i64::MAX);
        let shown = vec![
            (Reply::bulk("name"), Reply::bulk(self.name.clone())),
            (Reply::bulk("command"), Reply::strings(self.command.iter().cloned())),
            (Reply::bulk("duration_ms"), Reply::Integer(duration_ms)),
        ];
        Ok((Reply::Map(shown), counts))
    }
}

/// The real time, which is what a script takes too much of: not asked for where time is virtual.
#[allow(clippy::disallowed_methods, reason = "in virtual time no script is busy")]
pub fn real_now() -> Instant {
    Instant::now()
}

/// `busy-reply-threshold`; `None`: nobody is ever told `BUSY`.
fn threshold(config: &BTreeMap<String, String>) -> Option<Duration> {
    let set = config.get("busy-reply-threshold").and_then(|text| text.parse().ok());
    Some(set.unwrap_or(THRESHOLD_MS)).filter(|ms| *ms > 0).map(Duration::from_millis)
}

/// For how long a script may be one step.
pub fn patience(house: &House) -> Duration {
    threshold(&house.config).map_or(STEP_MAX, |threshold| threshold.min(STEP_MAX))
}

/// Whether a script keeps this server's clients from being told anything.
pub fn holds_up(house: Option<&House>) -> bool {
    house.is_some_and(|house| {
        let is_early =
            |busy: &Busy| threshold(&house.config).is_none_or(|threshold| busy.began.elapsed() < threshold);
        house.busy.as_ref().is_some_and(is_early)
    })
}

/// Who has asked for a script, and what is to be said of it.
struct Asker {
    client: i64,
    owner: Owner,
    words: Vec<Bytes>,
    sight: Option<Sight>,
    asked: Asked,
}

/// What a script needs to go on, and to be answered.
pub struct Job {
    asker: Asker,
    signals: Arc<Signals>,
    slow: Slow,
}

impl Job {
    /// The script that this server's house is busy with since this step.
    pub fn new(
        house: &mut House,
        session: &Session,
        words: Vec<Bytes>,
        sight: Option<Sight>,
        asked: &mut Asked,
    ) -> Option<Job> {
        let (slow, signals) = taken_up(house, &words)?;
        let (client, owner, asked) = (session.id, session.owner, asked.hand_over());
        Some(Job { asker: Asker { client, owner, words, sight, asked }, signals, slow })
    }
}

/// The script that the house is busy with, if nobody runs it yet.
fn taken_up(house: &mut House, words: &[Bytes]) -> Option<(Slow, Arc<Signals>)> {
    let busy = house.busy.as_mut()?;
    let slow = busy.slow.take()?;
    busy.command = words.to_vec();
    Some((slow, busy.signals.clone()))
}

impl Asker {
    /// The session of a client that is not there any more, or of what it has called.
    fn absent(&self, database: u8) -> Session {
        Session { database, ..Session::new(self.client, self.owner, Micros::ZERO, Arc::default()) }
    }

    /// What it is told, which is kept, too.
    fn answer(
        &mut self,
        state: &mut State,
        server: u8,
        session: &mut Session,
        ran: Replied,
        now: Micros,
    ) -> Outgoing {
        let reply = match ran {
            Ok(reply) => reply,
            Err(Refusal::Error(text)) => Reply::error(text),
            // Neither a script nor a transaction waits.
            Err(Refusal::Block { .. } | Refusal::Replicas { .. } | Refusal::Runs) => Reply::Nil,
        };
        let mut tells = Tells::default();
        if let Some(sight) = self.sight.take() {
            tells.claims = sight.tell(server, &self.words, &mut self.asked, now, &mut state.watch);
            tells.text = reply_text(&reply);
            let (record, link) = (&mut state.watch.record, self.owner.link);
            let text = |to: &mut Vec<u8>| show_command(&self.words, to);
            record.of_command(now, What::Ran, server, link, text, Some(&tells.text));
        }
        let reply = unsaid(session, Ok(&reply)).unwrap_or(reply);
        let outgoing = state.outgoing(server, self.owner, &reply, session.version, false, now);
        Outgoing { tells, ..outgoing }
    }
}

/// Lets a script go on, on a thread of its own; what its client is told at its end, if that comes before the end of the
/// server's process.
pub fn start(servers: &Servers, server: u8, job: Job) -> oneshot::Receiver<Outgoing> {
    let (answer, told) = oneshot::channel();
    let signals = job.signals.clone();
    let its = servers.clone();
    let thread = std::thread::Builder::new().name("script".to_owned());
    if thread.spawn(move || run(&its, server, job, answer)).is_err() {
        servers.step(|state, _| {
            if let Some(mut house) = busy_house(state, server, &signals) {
                house.busy = None;
                state.desk.put(server, house);
                state.nodes[usize::from(server)].machine.let_go();
            }
        });
    }
    told
}

fn run(servers: &Servers, server: u8, job: Job, answer: oneshot::Sender<Outgoing>) {
    let Job { mut asker, mut signals, mut slow } = job;
    loop {
        let mut caller = Caller {
            servers,
            server,
            signals: signals.clone(),
            session: asker.absent(slow.database),
            within: slow.within.in_steps(),
        };
        let ran = slow.go_on(&signals, &mut |words| caller.call(&words));
        match finish(servers, server, &mut asker, slow, &signals, ran) {
            Finished::Not(next) => (slow, signals) = *next,
            Finished::So(outgoing) => {
                // Who has hung up is not told.
                let _gone = answer.send(*outgoing);
                return;
            }
            Finished::Gone => return,
        }
    }
}

/// The server's house, if this script is still the one that it is busy with. It is to be put back.
fn busy_house(state: &mut State, server: u8, signals: &Arc<Signals>) -> Option<Box<House>> {
    let house = state.desk.house(server)?;
    let is_its = house.busy.as_ref().is_some_and(|busy| Arc::ptr_eq(&busy.signals, signals));
    if is_its { state.desk.take(server) } else { None }
}

/// A script on its thread, as it calls commands.
struct Caller<'a> {
    servers: &'a Servers,
    server: u8,
    signals: Arc<Signals>,
    session: Session,
    within: Within,
}

impl Caller<'_> {
    /// One step.
    fn call(&mut self, words: &[Bytes]) -> Reply {
        let Caller { servers, server, signals, session, within } = self;
        while_paused(servers, *server, signals);
        let now = servers.now();
        let state = &mut *servers.state();
        let mut reply = Reply::error("ERR the server has ended");
        let Some(mut house) = busy_house(state, *server, signals) else {
            signals.is_over.store(true, Ordering::Relaxed);
            return reply;
        };
        let around = Surroundings::of(state, servers.settings());
        state.enter(servers, *server, now, |instance, cx, _| {
            let mut turn =
                Turn { instance, cx, house: &mut house, session, around: &around, within: *within };
            reply = command(&mut turn, words);
            *within = turn.within;
        });
        if matches!(within, Within::Script { has_written: true, .. }) {
            signals.has_written.store(true, Ordering::Relaxed);
        }
        state.desk.put(*server, house);
        reply
    }
}

/// A process that does not run runs no script.
fn while_paused(servers: &Servers, server: u8, signals: &Signals) {
    loop {
        let now = servers.now();
        let runs_at = servers.state().nodes[usize::from(server)].condition.runs_at(now);
        match runs_at {
            Some(at) if at > now && !signals.is_over.load(Ordering::Relaxed) => {
                std::thread::sleep(duration(at - now).min(LOOK_PERIOD));
            }
            Some(_) | None => return,
        }
    }
}

/// What has become of a script.
enum Finished {
    /// Its client is told this.
    So(Box<Outgoing>),
    /// The next one in its transaction takes long, too.
    Not(Box<(Slow, Arc<Signals>)>),
    /// Its server's process has ended.
    Gone,
}

/// The last step: everybody may come in again.
fn finish(
    servers: &Servers,
    server: u8,
    asker: &mut Asker,
    slow: Slow,
    signals: &Arc<Signals>,
    (mut ran, is_counted): (Replied, bool),
) -> Finished {
    while_paused(servers, server, signals);
    servers.step(|state, now| {
        let Some(mut house) = busy_house(state, server, signals) else { return Finished::Gone };
        let known = house.sessions.take(asker.client);
        let is_there = known.is_some();
        let mut session = known.unwrap_or_else(|| Box::new(asker.absent(slow.database)));
        let around = Surroundings::of(state, servers.settings());
        slow.give_back(&mut house);
        let rest = house.busy.take().and_then(|mut busy| busy.rest.take());
        state.enter(servers, server, now, |instance, cx, effects| {
            instance.let_go();
            house.stats.is_counted = is_counted;
            let (house, session, within) = (&mut house, &mut session, Within::Itself);
            let mut turn = Turn { instance, cx, house, session, around: &around, within };
            ran = last(&mut turn, &asker.words, rest, std::mem::replace(&mut ran, Ok(Reply::Nil)));
            let Turn { instance, house, session, .. } = turn;
            if let Some(sight) = &mut asker.sight {
                sight.look_again(instance);
            }
            settle(instance, cx, effects, house, session, &around);
        });
        let finished = match taken_up(&mut house, &asker.words) {
            Some(next) => Finished::Not(Box::new(next)),
            None => {
                let told = std::mem::replace(&mut ran, Ok(Reply::Nil));
                Finished::So(Box::new(asker.answer(state, server, &mut session, told, now)))
            }
        };
        if is_there {
            house.sessions.put(session);
        }
        state.push(server, &mut house, now);
        for notice in house.notices.drain(..) {
            state.notice(server, now, &notice);
        }
        state.desk.put(server, house);
        finished
    })
}

/// What a script has come to is counted, or goes into its transaction, whose rest comes after it.
fn last(turn: &mut Turn, words: &[Bytes], rest: Option<Rest>, ran: Replied) -> Replied {
    if let Some(rest) = rest {
        return go_on(turn, rest.after(ran));
    }
    if let Ok(Reply::Error(text)) = &ran {
        failed(turn, words, text);
    } else if let Err(Refusal::Error(text)) = &ran {
        failed(turn, words, text);
    }
    ran
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::redis::direct::Direct;
    use std::thread::JoinHandle;

    fn servers(threshold_ms: u64) -> (Servers, Direct) {
        let servers = Servers::new(1, Default::default());
        let client = Direct::new(&servers);
        assert_eq!(client.line(&format!("CONFIG SET busy-reply-threshold {threshold_ms}")), "+OK");
        (servers, client)
    }

    /// Another client asks this on a thread of its own.
    fn asks(servers: &Servers, words: &[&str]) -> JoinHandle<Option<String>> {
        let other = Direct::new(servers);
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        std::thread::spawn(move || other.say(&words.iter().map(String::as_str).collect::<Vec<_>>()))
    }

    fn until_busy(client: &Direct) {
        for _ in 0..10_000 {
            match client.line("PING").as_str() {
                "+PONG" => std::thread::sleep(LOOK_PERIOD),
                busy => return assert_eq!(busy, format!("-{BUSY_EVAL}")),
            }
        }
        panic!("it is not busy");
    }

    fn reply(asking: JoinHandle<Option<String>>) -> String {
        asking.join().expect("no panic").expect("it is answered")
    }

    #[test]
    fn a_script_that_takes_too_long_can_be_killed() {
        let (servers, client) = servers(20);
        let script = "redis.call('get', 'a')\nwhile true do end";
        let asking = asks(&servers, &["EVAL", script, "0"]);
        until_busy(&client);
        assert_eq!(client.line("SET a 1"), format!("-{BUSY_EVAL}"));
        assert_eq!(client.line("FUNCTION KILL"), format!("-{BUSY_EVAL}"));
        assert_eq!(client.line("FUNCTION STATS"), format!("-{BUSY_EVAL}"));
        assert_eq!(client.line("MULTI"), "+OK");
        assert_eq!(client.line("INCR a"), format!("-{BUSY_EVAL}"));
        assert_eq!(client.line("EXEC"), format!("-EXECABORT Transaction discarded because of: {BUSY_EVAL}"));
        assert_eq!(client.line("SCRIPT KILL"), "+OK");
        let said = reply(asking);
        let killed = "-ERR Script killed by user with SCRIPT KILL... script: ";
        assert!(said.starts_with(killed) && said.contains(", on @user_script:"), "{said}");
        assert_eq!(client.line("SCRIPT KILL"), "-NOTBUSY No scripts in execution right now.");
        assert_eq!(client.line("EXISTS a"), ":0");
        assert_eq!(client.say(&["EVAL", "return 7", "0"]).as_deref(), Some(":7"), "Lua goes on");
    }

    #[test]
    fn nothing_catches_a_kill() {
        let (servers, client) = servers(20);
        for script in [
            "local f = function() while 1 do redis.call('ping') end end while 1 do pcall(f) end",
            "while 1 do coroutine.resume(coroutine.create(function() while 1 do end end)) end",
            "local function f() pcall(f) end while 1 do xpcall(function() while 1 do end end, f) end",
        ] {
            let asking = asks(&servers, &["EVAL", script, "0"]);
            until_busy(&client);
            assert_eq!(client.line("SCRIPT KILL"), "+OK");
            let said = reply(asking);
            assert!(said.starts_with("-ERR Script killed by user"), "{said}");
        }
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn a_script_that_has_written_goes_on_and_does_nothing_twice() {
        let (servers, client) = servers(20);
        let script = "redis.call('set', 'a', '1') redis.call('select', '3') local n = 0
            while redis.call('get', 'stop') == false and n < 100000 do n = redis.call('incr', 'n') end
            return n - redis.call('get', 'n')";
        let asking = asks(&servers, &["EVAL", script, "0"]);
        until_busy(&client);
        assert_eq!(client.line("SCRIPT KILL"), format!("-{UNKILLABLE}"));
        assert_eq!(reply(asking), ":0");
        assert_eq!(client.line("GET n"), "$-1", "it was in another database");
        assert_eq!(client.line("SELECT 3"), "+OK");
        assert_eq!(client.line("GET n"), "$6 100000");
    }

    #[test]
    #[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
    fn what_follows_in_a_transaction_comes_after_it() {
        let (servers, client) = servers(20);
        let other = Direct::new(&servers);
        let slow = "for n = 1, 60000 do redis.call('incr', 'n') end return redis.call('get', 'x')";
        let asking = std::thread::spawn(move || {
            assert_eq!(other.line("MULTI"), "+OK");
            assert_eq!(other.line("SET x 1"), "+QUEUED");
            for _ in 0..2 {
                assert_eq!(other.say(&["EVAL", slow, "0"]).as_deref(), Some("+QUEUED"));
                assert_eq!(other.line("INCR x"), "+QUEUED");
            }
            other.say(&["EXEC"])
        });
        until_busy(&client);
        assert_eq!(reply(asking), "*5 +OK $1 1 :2 $1 2 :3");
        assert_eq!(client.line("GET n"), "$6 120000");
    }

    #[test]
    fn who_asks_before_the_threshold_waits() {
        let (servers, client) = servers(60_000);
        let script = "for n = 1, 20000 do redis.call('incr', 'n') end";
        let asking = asks(&servers, &["EVAL", script, "0"]);
        while servers.state().desk.house(0).is_none_or(|house| house.busy.is_none()) {
            assert!(!asking.is_finished(), "it is over too soon");
        }
        assert_eq!(client.line("GET n"), "$5 20000");
        assert_eq!(reply(asking), "$-1");
    }

    #[test]
    fn the_end_of_the_process_ends_it() {
        let (servers, client) = servers(20);
        let asking = asks(&servers, &["EVAL", "while true do redis.call('incr', 'a') end", "0"]);
        until_busy(&client);
        servers.crash(0, false);
        assert_eq!(asking.join().expect("no panic"), None);
        servers.restart(0);
        let again = Direct::new(&servers);
        assert_eq!(again.line("PING"), "+PONG");
        assert_eq!(again.say(&["EVAL", "return 7", "0"]).as_deref(), Some(":7"));
    }

    #[test]
    fn shutdown_ends_a_script_that_has_written() {
        let (servers, client) = servers(20);
        let asking = asks(&servers, &["EVAL", "redis.call('set', 'a', '1') while true do end", "0"]);
        until_busy(&client);
        assert_eq!(client.line("SCRIPT KILL"), format!("-{UNKILLABLE}"));
        assert_eq!(client.line("SHUTDOWN"), format!("-{BUSY_EVAL}"));
        assert_eq!(client.say(&["SHUTDOWN", "NOSAVE"]), None);
        assert_eq!(asking.join().expect("no panic"), None);
        assert!(servers.connect(0, None).is_none(), "its process has ended");
        servers.restart(0);
        assert_eq!(Direct::new(&servers).line("PING"), "+PONG");
    }

    #[test]
    fn a_function_is_killed_as_one() {
        let (servers, client) = servers(20);
        let library = "#!lua name=one\nredis.register_function('f', function() while true do end end)";
        assert_eq!(client.say(&["FUNCTION", "LOAD", library]).as_deref(), Some("$3 one"));
        let asking = asks(&servers, &["FCALL", "f", "0"]);
        let busy = format!("-{BUSY_FUNCTION}");
        while client.line("PING") != busy {}
        assert_eq!(client.line("SCRIPT KILL"), busy);
        let stats = client.line("FUNCTION STATS");
        assert!(stats.contains("$1 f $7 command *3 $5 FCALL $1 f $1 0 $11 duration_ms :"), "{stats}");
        assert!(stats.ends_with("$15 libraries_count :1 $15 functions_count :1"), "{stats}");
        assert_eq!(client.line("FUNCTION KILL"), "+OK");
        let said = reply(asking);
        assert!(said.ends_with(" script: f, on @user_function:2."), "{said}");
    }
}
