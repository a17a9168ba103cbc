//! `picklock serve redis` as its users have it: the `redis` crate and redis-cli over real TCP, the `redis` crate inside a
//! turmoil simulation, and the real server beside it, whose words it has to use.
//!
//! - `differential`: random commands for both
//! - `gave_up`: what was sent before a client gave up; messages that are on the way together
//! - `hosted`: inside turmoil
//! - `process`: the built command, and a real `redis-server`, each on a port of its own
//! - `whole`: what clients know of a Redis beyond strings: transactions, messages, lists, scripts, RESP3
//! - `libraries`: scripts that try lock libraries of other languages, on a real server or on ours
//! - here: over real TCP

#[path = "serve/differential.rs"]
mod differential;
#[path = "serve/gave_up.rs"]
#[expect(clippy::disallowed_methods, reason = "a real server waits in real time")]
mod gave_up;
#[path = "serve/hosted.rs"]
mod hosted;
#[path = "serve/process.rs"]
mod process;
#[path = "serve/whole.rs"]
#[expect(clippy::disallowed_methods, reason = "a real server waits in real time")]
mod whole;

use process::{RealRedis, Served, redis_cli};

#[test]
fn the_redis_crate_takes_and_gives_back_a_lock() {
    let served = Served::start(&[]);
    let mut connection = served.connect();
    let set = |value: &str, connection: &mut redis::Connection| -> Option<String> {
        redis::cmd("SET").arg(&["lock", value, "NX", "PX", "30000"]).query(connection).expect("it replies")
    };
    assert_eq!(set("mine", &mut connection).as_deref(), Some("OK"));
    assert_eq!(set("yours", &mut connection), None);
    let ttl: i64 = redis::cmd("PTTL").arg("lock").query(&mut connection).expect("it replies");
    assert!((1..=30_000).contains(&ttl), "{ttl}");
    let release = redis::Script::new(
        r#"if redis.call("GET", KEYS[1]) == ARGV[1] then
               return redis.call("DEL", KEYS[1])
           else
               return 0
           end"#,
    );
    let release = |value: &str, connection: &mut redis::Connection| -> i64 {
        // First EVALSHA, then, told NOSCRIPT, SCRIPT LOAD, and EVALSHA again.
        release.key("lock").arg(value).invoke(connection).expect("it replies")
    };
    assert_eq!(release("yours", &mut connection), 0);
    assert_eq!(release("mine", &mut connection), 1);
    assert_eq!(set("yours", &mut connection).as_deref(), Some("OK"));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
#[allow(clippy::disallowed_methods, reason = "a real process, which pauses in real time")]
fn a_paused_server_answers_when_the_pause_is_over_and_a_crashed_one_has_forgotten() {
    let plan = r#"{"network":{"latency_min":0,"latency_max":0,"tail_per_mille":0,"tail_max":0,"loss_per_mille":0,
        "duplicate_per_mille":0,"reply_loss_per_mille":0},
        "faults":[{"when":{"at":300000},"fault":{"pause":{"node":{"server":0},"length":1000000}}},
                  {"when":{"at":1600000},"fault":{"crash":{"node":{"server":0},"restart_after":100000}}}],
        "heal_at":2500000}"#;
    let file = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pause-and-crash.json");
    std::fs::write(&file, plan).expect("a file for the test");
    let served = Served::start(&["--plan", file.to_str().expect("a path in UTF-8")]);
    let mut connection = served.connect();
    let began = std::time::Instant::now();
    let (mut longest, mut resets) = (std::time::Duration::ZERO, 0);
    redis::cmd("SET").arg(&["key", "value"]).exec(&mut connection).expect("it replies");
    while resets == 0 && began.elapsed() < std::time::Duration::from_secs(30) {
        let asked = std::time::Instant::now();
        match redis::cmd("PING").exec(&mut connection) {
            Ok(()) => longest = longest.max(asked.elapsed()),
            Err(_) => {
                resets += 1;
                connection = served.connect();
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(longest > std::time::Duration::from_millis(300), "the longest silence was {longest:?}");
    assert!(resets > 0, "the crash was not noticed");
    let value: Option<String> = redis::cmd("GET").arg("key").query(&mut connection).expect("it replies");
    assert_eq!(value, None);
    let summary = served.stop();
    assert!(summary.contains("2 faults struck"), "{summary}");
}

/// Nobody asks it for anything meanwhile.
#[test]
#[allow(clippy::disallowed_methods, reason = "a real process, which gives memory back in real time")]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn memory_goes_back_to_the_machine_when_all_keys_are_gone() {
    let served = Served::start(&[]);
    let mut connection = served.connect();
    let Some(empty) = served.resident_kib() else {
        println!("skipped: the kernel does not say how much memory a process takes");
        return;
    };
    for thousand in 0..300 {
        let mut keys = redis::pipe();
        for key in 0..1_000 {
            keys.set(format!("key:{}", thousand * 1_000 + key), [b'v'; 32].as_slice()).ignore();
        }
        keys.exec(&mut connection).expect("it replies");
    }
    let full = served.resident_kib().expect("it runs");
    assert!(full > empty + 40_000, "{full} KiB with all keys, {empty} without");
    redis::cmd("FLUSHALL").exec(&mut connection).expect("it replies");
    let few = || served.resident_kib().expect("it runs") < empty + (full - empty) / 3;
    let began = std::time::Instant::now();
    while !few() {
        let now = served.resident_kib();
        assert!(began.elapsed().as_secs() < 60, "{empty} KiB before, {full} with all keys, {now:?} after");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}

#[test]
fn redis_cli_speaks_with_it() {
    let served = Served::start(&[]);
    let Some(said) = redis_cli(served.port(), &["SET", "lock", "mine", "NX", "PX", "30000"]) else { return };
    assert_eq!(said, "OK");
    assert_eq!(redis_cli(served.port(), &["GET", "lock"]).as_deref(), Some("mine"));
    assert_eq!(redis_cli(served.port(), &["INCR", "counter"]).as_deref(), Some("1"));
    let script =
        "if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end";
    assert_eq!(redis_cli(served.port(), &["EVAL", script, "1", "lock", "mine"]).as_deref(), Some("1"));
    assert_eq!(redis_cli(served.port(), &["EXISTS", "lock"]).as_deref(), Some("0"));
}

#[test]
fn a_replica_takes_no_writes_and_wait_counts_it() {
    let served = Served::start(&["--servers", "2", "--replicated"]);
    let (mut master, mut replica) = (served.connect(), served.connect_to(1));
    redis::cmd("SET").arg(&["key", "value"]).exec(&mut master).expect("it replies");
    let replicas: i64 = redis::cmd("WAIT").arg(&["1", "5000"]).query(&mut master).expect("it replies");
    assert_eq!(replicas, 1);
    let value: String = redis::cmd("GET").arg("key").query(&mut replica).expect("it replies");
    assert_eq!(value, "value");
    let refused = redis::cmd("SET").arg(&["key", "other"]).exec(&mut replica).expect_err("it is a replica");
    assert_eq!(refused.code(), Some("READONLY"));
}

/// Each line is a command for both; the replies must be the same, to the byte. `{sha}` is that of the release script.
const SAME: &[&[&str]] = &[
    &["PING"],
    &["PING", "hello"],
    &["PING", "a", "b"],
    &["ECHO", "x"],
    &["NOSUCH"],
    &["NOSUCH", "a", "b c", "d"],
    &["get"],
    &["GET", "a", "b"],
    &["SELECT", "0"],
    &["SELECT", "x"],
    &["HELLO", "4"],
    &["HELLO", "x"],
    &["AUTH", "secret"],
    &["CLIENT", "SETNAME", "me"],
    &["CLIENT", "GETNAME"],
    &["CLIENT", "NOSUCH"],
    &["COMMAND", "NOSUCH"],
    &["SCRIPT", "NOSUCH"],
    &["SET", "k", "v"],
    &["GET", "k"],
    &["SET", "k", "w", "NX"],
    &["SET", "k", "w", "XX", "GET"],
    &["SET", "nokey", "w", "XX"],
    &["SET", "k", "w", "NX", "XX"],
    &["SET", "k", "w", "PX"],
    &["SET", "k", "w", "PX", "x"],
    &["SET", "k", "w", "PX", "0"],
    &["SET", "k", "w", "EX", "10", "PX", "10"],
    &["SET", "k", "w", "EX", "10", "KEEPTTL"],
    &["SET", "k", "w", "NOSUCH"],
    &["SETEX", "k", "0", "w"],
    &["SETEX", "k", "100", "w"],
    &["TTL", "k"],
    &["PERSIST", "k"],
    &["PERSIST", "k"],
    &["TTL", "k"],
    &["PTTL", "nokey"],
    &["EXPIRE", "k", "x"],
    &["EXPIRE", "nokey", "10"],
    &["EXPIRE", "k", "100"],
    &["SET", "k", "v2", "KEEPTTL"],
    &["TTL", "k"],
    &["SET", "k", "v3"],
    &["TTL", "k"],
    &["SET", "k", "v4", "PXAT", "1"],
    &["EXISTS", "k"],
    &["SETNX", "k", "v5"],
    &["SETNX", "k", "v6"],
    &["GETSET", "k", "v7"],
    &["GETDEL", "k"],
    &["GETDEL", "k"],
    &["SET", "a", "1"],
    &["MGET", "a", "b"],
    &["INCR", "a"],
    &["INCRBY", "a", "40"],
    &["INCRBY", "a", "x"],
    &["SET", "a", "01"],
    &["INCR", "a"],
    &["SET", "a", "9223372036854775807"],
    &["INCRBY", "a", "1"],
    &["STRLEN", "a"],
    &["DEL", "a", "b"],
    &["EXISTS", "a"],
    &["EVAL", "{release}", "1", "k", "v"],
    &["EVAL", "{release}", "x"],
    &["EVAL", "{release}", "-1"],
    &["EVAL", "{release}", "3", "k", "v"],
    &["SET", "k", "v"],
    &["EVALSHA", "{sha}", "1", "k", "w"],
    &["EVALSHA", "{sha}", "1", "k", "v"],
    &["EVALSHA", "0000000000000000000000000000000000000000", "0"],
    &["SCRIPT", "LOAD", "{release}"],
    &["SCRIPT", "EXISTS", "{sha}", "0000000000000000000000000000000000000000"],
    &["WAIT", "0", "0"],
    &["WAIT", "x", "0"],
    &["WAIT", "0", "-1"],
    &["DBSIZE"],
    &["FLUSHALL"],
    &["FLUSHALL", "NOSUCH"],
    &["DBSIZE"],
    &["RPUSH", "l", "3", "10", "1", "2", "2"],
    &["SORT", "l"],
    &["SORT", "l", "DESC", "LIMIT", "1", "2"],
    &["SORT", "l", "LIMIT", "-1", "9"],
    &["SORT", "l", "LIMIT", "7", "1"],
    &["SORT", "l", "LIMIT", "1", "x"],
    &["SORT", "l", "ALPHA", "DESC"],
    &["SORT", "l", "BY", "none", "DESC", "LIMIT", "1", "2"],
    &["MSET", "w_1", "5", "w_2", "4", "v_3", "three"],
    &["SORT", "l", "BY", "w_*", "GET", "#", "GET", "v_*"],
    &["SORT", "l", "BY", "w_*", "ALPHA", "GET", "w_*"],
    &["HSET", "h_1", "f", "x"],
    &["SORT", "l", "GET", "h_*->f", "GET", "h_*->"],
    &["SORT", "l", "GET", "v_*", "STORE", "m"],
    &["LRANGE", "m", "0", "-1"],
    &["SORT_RO", "l", "STORE", "m"],
    &["SORT", "w_1"],
    &["SORT", "l", "BY"],
    &["SET", "w_1", "x"],
    &["SORT", "l", "BY", "w_*"],
    &["ZADD", "z", "1", "9", "2", "8"],
    &["SORT", "z"],
    &["SORT", "z", "BY", "none", "DESC"],
    &["MSET", "one", "ohmytext", "other", "mynewtext"],
    &["LCS", "one", "other"],
    &["LCS", "one", "other", "LEN"],
    &["LCS", "one", "other", "IDX"],
    &["LCS", "one", "other", "IDX", "MINMATCHLEN", "4", "WITHMATCHLEN"],
    &["LCS", "one", "l"],
    &["LCS", "one", "other", "LEN", "IDX"],
    &["LCS", "one", "other", "MINMATCHLEN"],
    &[
        "EVAL",
        "return cmsgpack.pack(1, -7, 300, -70000, 2^40, 0.1, 0.5, 'a', {1, 2}, {a = {}}, true, nil)",
        "0",
    ],
    &["EVAL", "return {cmsgpack.unpack(cmsgpack.pack(1, {2, 3}, 'x'))}", "0"],
    &["EVAL", "return cmsgpack.unpack('\\193')", "0"],
    &["EVAL", "return {cmsgpack.unpack_limit('\\1\\2\\3', 2, 0)}", "0"],
    &["EVAL", "cjson.encode_sparse_array(true) return cjson.encode({[1] = 1, [100] = 2})", "0"],
    &["EVAL", "return redis.call('sort', 'l', 'by', 'none')", "0"],
    &["CONFIG", "SET", "lua-time-limit", "x"],
    &["CONFIG", "SET", "busy-reply-threshold", "-1"],
    &["CONFIG", "GET", "lua-time-limit"],
    &["SCRIPT", "KILL"],
    &["FUNCTION", "KILL"],
    &["FUNCTION", "STATS"],
    &["CONFIG", "SET", "min-replicas-to-write", "1"],
    &["SET", "k", "v"],
    &["EVAL", "return redis.call('set', 'k', 'v')", "0"],
    &["EVAL", "#!lua\nreturn 1", "0"],
    &["MULTI"],
    &["SET", "k", "v"],
    &["EXEC", "x"],
    &["CONFIG", "SET", "min-replicas-to-write", "0"],
    &["CONFIG", "RESETSTAT"],
    &["NOSUCH"],
    &["GET"],
    &["EVAL", "return redis.pcall('incr', 'l')", "0"],
    &["EVAL", "return redis.error_reply('MINE x')", "0"],
    &["INFO", "errorstats"],
    &["QUIT"],
];

#[test]
fn what_it_says_is_what_the_real_server_says() {
    let served = Served::start(&[]);
    let Some(real) = RealRedis::start() else { return };
    let release =
        "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
    let sha = redis::Script::new(release).get_hash().to_owned();
    let commands: Vec<Vec<String>> = SAME
        .iter()
        .map(|words| {
            words.iter().map(|word| word.replace("{release}", release).replace("{sha}", &sha)).collect()
        })
        .collect();
    let (simulated, real) =
        (process::raw_replies(served.port(), &commands), process::raw_replies(real.port(), &commands));
    let differ = (0..commands.len()).filter(|position| simulated[*position] != real[*position]);
    let differ: Vec<String> = differ
        .map(|position| {
            format!("{:?}: {:?} and not {:?}", commands[position], simulated[position], real[position])
        })
        .collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn random_commands_are_answered_as_the_real_server_answers_them() {
    let served = Served::start(&[]);
    let Some(real) = RealRedis::start() else { return };
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    // By default so many from each of four seeds.
    let (first, seeds) = number("PICKLOCK_SEED").map_or((0, 4), |seed: u64| (seed, 1));
    let count = number("PICKLOCK_REDIS_COMMANDS").unwrap_or(5_000);
    for seed in first..first + seeds {
        let differ = differential::differences(served.port(), real.port(), seed, count as usize);
        assert!(differ.is_empty(), "seed {seed}, {} differ:\n{}", differ.len(), differ.join("\n"));
    }
}
