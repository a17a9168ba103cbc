//! `picklock serve cassandra`, its servers in this process, asked over TCP: the statements of locks, consistency levels, faults. With
//! DataStax's driver for Python, where it is there; and beside a real node, where there is one.

use crate::cql::{Answer, Connection, Level};
use crate::real::Real;
use picklock_model::time::Micros;
use picklock_sim::plans::plan::{Fault, Target};
use picklock_sim::serve::cassandra::{Servers, serve};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

#[expect(clippy::disallowed_methods, reason = "the servers are in real time")]
fn real_now() -> Instant {
    Instant::now()
}

/// Servers on free ports, in a thread of their own.
struct Served {
    servers: Servers,
    addresses: Vec<SocketAddr>,
}

impl Served {
    fn start(count: u8) -> Served {
        let servers = Servers::new(count, Default::default());
        let (told, heard) = std::sync::mpsc::channel();
        let theirs = servers.clone();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let mut processes = tokio::task::JoinSet::new();
                for server in 0..count {
                    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
                    told.send(listener.local_addr().expect("an address")).expect("somebody listens");
                    let servers = theirs.clone();
                    processes.spawn(async move {
                        serve(&servers, server, listener).await.map(|never| match never {})
                    });
                }
                let ended: Option<Result<std::io::Result<()>, _>> = processes.join_next().await;
                drop(ended);
            });
        });
        let addresses: Vec<SocketAddr> = (0..count).map(|_| heard.recv().expect("it listens")).collect();
        servers.advertise(vec![addresses.clone()]);
        servers.set_date(crate::clock::now().0);
        Served { servers, addresses }
    }

    fn client(&self, server: usize) -> Connection {
        Connection::open(self.addresses[server]).expect("it takes clients")
    }

    /// With a keyspace and two tables.
    fn with_tables(count: u8) -> (Served, Connection) {
        let served = Served::start(count);
        let mut client = served.client(0);
        TABLES.iter().for_each(|statement| done(&client.ask(statement, Level::One)));
        (served, client)
    }
}

const TABLES: [&str; 3] = [
    "CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE k.locks (name text PRIMARY KEY, owner text, fence bigint)",
    "CREATE TABLE k.queue (key text, name text, value text, PRIMARY KEY (key, name))",
];

fn done(answer: &Answer) {
    assert!(!matches!(answer, Answer::Error { .. }), "{answer:?}");
}

/// Rows as texts; a number of eight bytes is one, one byte is a truth.
fn rows(answer: Answer) -> Vec<Vec<String>> {
    let Answer::Rows { rows, .. } = answer else { panic!("{answer:?}") };
    let show = |value: Option<Vec<u8>>| match value {
        None => "null".to_owned(),
        Some(value) => match <[u8; 8]>::try_from(&value[..]) {
            Ok(number) if number[0] == 0 || number[0] == 0xff => i64::from_be_bytes(number).to_string(),
            _ if value.len() == 1 && value[0] < 2 => (value[0] == 1).to_string(),
            _ => String::from_utf8_lossy(&value).into_owned(),
        },
    };
    rows.into_iter().map(|row| row.into_iter().map(show).collect()).collect()
}

fn code(answer: Answer) -> i32 {
    match answer {
        Answer::Error { code, .. } => code,
        other => panic!("{other:?}"),
    }
}

fn pause(server: u8, seconds: i64) -> Fault {
    Fault::Pause { node: Target::Server(server), length: Micros::seconds(seconds) }
}

/// Statements, and what they come to on a node of its own, real or not.
const SAME: [&str; 46] = [
    "INSERT INTO k.locks (name, owner, fence) VALUES ('a', 'me', 7) IF NOT EXISTS USING TTL 1000",
    "INSERT INTO k.locks (name, owner) VALUES ('a', 'you') IF NOT EXISTS",
    "UPDATE k.locks SET owner = 'you' WHERE name = 'a' IF owner = 'nobody'",
    "UPDATE k.locks SET owner = 'you' WHERE name = 'a' IF owner = 'me' AND fence > 6",
    "SELECT * FROM k.locks WHERE name = 'a'",
    "UPDATE k.locks SET owner = 'x' WHERE name = 'b' IF EXISTS",
    "UPDATE k.locks SET owner = 'x' WHERE name = 'b' IF owner = null",
    "SELECT name, owner, fence FROM k.locks WHERE name = 'b'",
    "DELETE FROM k.locks WHERE name = 'a' IF owner IN ('me', 'you')",
    "SELECT * FROM k.locks WHERE name = 'a'",
    "DELETE FROM k.locks WHERE name = 'a' IF EXISTS",
    "INSERT INTO k.queue (key, name, value) VALUES ('q', '2', 'two') USING TIMESTAMP 2000",
    "INSERT INTO k.queue (key, name, value) VALUES ('q', '1', 'one') USING TIMESTAMP 2000",
    "INSERT INTO k.queue (key, name, value) VALUES ('q', '3', 'three') USING TIMESTAMP 2000",
    "DELETE FROM k.queue USING TIMESTAMP 1999 WHERE key = 'q' AND name = '1'",
    "DELETE FROM k.queue USING TIMESTAMP 2000 WHERE key = 'q' AND name = '2'",
    "SELECT name, value, WRITETIME(value) FROM k.queue WHERE key = 'q'",
    "SELECT name FROM k.queue WHERE key = 'q' AND name >= '2' LIMIT 1",
    "SELECT name FROM k.queue WHERE key = 'q' ORDER BY name DESC LIMIT 1",
    "UPDATE k.queue USING TIMESTAMP 2001 SET value = 'again' WHERE key = 'q' AND name = '2'",
    "DELETE value FROM k.queue USING TIMESTAMP 2002 WHERE key = 'q' AND name = '2'",
    "SELECT * FROM k.queue WHERE key = 'q' AND name = '2'",
    "BEGIN BATCH USING TIMESTAMP 3000 INSERT INTO k.queue (key, name) VALUES ('p', '1'); DELETE FROM k.queue WHERE key = 'q' AND name = '3'; APPLY BATCH",
    "SELECT * FROM k.queue WHERE key IN ('p', 'q')",
    "DELETE FROM k.queue USING TIMESTAMP 2500 WHERE key = 'q'",
    "SELECT COUNT(*) FROM k.queue WHERE key = 'q'",
    "INSERT INTO k.queue (key, name, value) VALUES ('q', '9', 'x') USING TIMESTAMP 2400",
    "INSERT INTO k.queue (key, name, value) VALUES ('q', '8', 'x') USING TIMESTAMP 2600",
    "SELECT name FROM k.queue WHERE key = 'q'",
    "SELECT nothing FROM k.queue WHERE key = 'q'",
    "SELECT * FROM k.queue WHERE value = 'x'",
    "INSERT INTO k.queue (key, value) VALUES ('q', 'x')",
    "UPDATE k.locks SET name = 'c' WHERE name = 'a'",
    "SELEKT 1",
    "UPDATE k.locks SET owner = 'y' WHERE name = 'b' IF owner = 'nobody' AND fence = 1",
    "BEGIN BATCH UPDATE k.locks SET owner = 'y' WHERE name = 'b' IF owner = 'nobody' APPLY BATCH",
    "BEGIN BATCH UPDATE k.queue SET value = 'y' WHERE key = 'q' AND name = '8' IF value = 'y' APPLY BATCH",
    "BEGIN BATCH UPDATE k.locks SET owner = 'y' WHERE name = 'none' IF owner = 'nobody' APPLY BATCH",
    "BEGIN BATCH UPDATE k.locks SET owner = 'y' WHERE name = 'none' IF EXISTS APPLY BATCH",
    "BEGIN BATCH INSERT INTO k.locks (name, owner) VALUES ('b', 'y') IF NOT EXISTS APPLY BATCH",
    "BEGIN BATCH UPDATE k.locks SET owner = 'y' WHERE name = 'b' IF owner = 'x' APPLY BATCH",
    "SELECT name, owner FROM k.locks WHERE name = 'b'",
    "INSERT INTO k.locks (name, owner) VALUES ('n', 'me') USING TTL null",
    "SELECT * FROM k.locks LIMIT null",
    "INSERT INTO k.locks (name, owner) VALUES ('t', 'me') USING TTL 5 AND TTL 1000",
    "INSERT INTO k.locks (name, owner) VALUES ('n', 'me') USING TIMESTAMP null",
];

/// What a statement came to, without the words of errors.
fn outcome(client: &mut Connection, statement: &str) -> String {
    match client.ask(statement, Level::One) {
        Answer::Void => "done".to_owned(),
        Answer::Error { code, .. } => format!("error {code:#x}"),
        Answer::Rows { columns, rows: values } => {
            let shown = rows(Answer::Rows { columns: columns.clone(), rows: values });
            format!("{columns:?} {shown:?}")
        }
    }
}

#[test]
fn who_does_not_read_is_answered_when_it_does() {
    const ASKED: usize = 150;
    let (served, mut client) = Served::with_tables(1);
    let owner = "x".repeat(1 << 20);
    let insert = format!("INSERT INTO k.locks (name, owner) VALUES ('l', '{owner}')");
    done(&client.ask(&insert, Level::One));
    let before = served.servers.tally().commands;
    for _ in 0..ASKED {
        client.send("SELECT owner FROM k.locks WHERE name = 'l'", Level::One).expect("it reads");
    }
    std::thread::sleep(Duration::from_secs(1));
    // 32 MB, and what is in the sockets.
    let answered = served.servers.tally().commands - before;
    assert!((1..80).contains(&answered), "{answered}");
    for _ in 0..ASKED {
        let answer = client.answer().expect("it answers");
        assert!(rows(answer) == [[owner.clone()]]);
    }
}

#[test]
fn the_statements_of_locks_come_to_what_they_are_written_for() {
    let (_served, mut client) = Served::with_tables(1);
    let wanted = [
        (0, r#"["[applied]"] [["true"]]"#),
        (1, r#"["[applied]", "name", "fence", "owner"] [["false", "a", "7", "me"]]"#),
        (2, r#"["[applied]", "owner"] [["false", "me"]]"#),
        (3, r#"["[applied]"] [["true"]]"#),
        (4, r#"["name", "fence", "owner"] [["a", "7", "you"]]"#),
        (5, r#"["[applied]"] [["false"]]"#),
        (7, r#"["name", "owner", "fence"] [["b", "x", "null"]]"#),
        (9, r#"["name", "fence", "owner"] []"#),
        (16, r#"["name", "value", "writetime(value)"] [["1", "one", "2000"], ["3", "three", "2000"]]"#),
        (17, r#"["name"] [["3"]]"#),
        (18, r#"["name"] [["3"]]"#),
        (21, r#"["key", "name", "value"] []"#),
        (23, r#"["key", "name", "value"] [["p", "1", "null"], ["q", "1", "one"]]"#),
        (25, r#"["count"] [["0"]]"#),
        (28, r#"["name"] [["8"]]"#),
        (29, "error 0x2200"),
        (33, "error 0x2000"),
        (34, r#"["[applied]", "owner", "fence"] [["false", "x", "null"]]"#),
    ];
    for (number, statement) in SAME.iter().enumerate() {
        let found = outcome(&mut client, statement);
        if let Some((_, wanted)) = wanted.iter().find(|(of, _)| *of == number) {
            assert_eq!(found, *wanted, "{statement}");
        }
    }
}

#[test]
fn a_real_node_answers_the_same() {
    let Some(real) = Real::start(1, false) else { return };
    let (_served, mut simulated) = Served::with_tables(1);
    let mut theirs = Connection::open(real.address(0)).expect("it takes clients");
    TABLES.iter().for_each(|statement| done(&theirs.ask(statement, Level::One)));
    for statement in SAME {
        assert_eq!(outcome(&mut simulated, statement), outcome(&mut theirs, statement), "{statement}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_in_the_words_of_a_real_node() {
    let take = "INSERT INTO k.locks (name, owner) VALUES ('a', 'me') IF NOT EXISTS";
    let (_served, mut simulated) = Served::with_tables(1);
    let refused = [
        (take, Level::Serial, "SERIAL is not supported as conditional update commit consistency"),
        (take, Level::LocalSerial, "LOCAL_SERIAL is not supported as conditional update commit consistency"),
        ("SELECT * FROM k.locks", Level::Any, "ANY ConsistencyLevel is only supported for writes"),
        (
            "UPDATE k.queue SET value = 'b' WHERE key = 'a' AND name = 'b'",
            Level::Serial,
            "You must use conditional updates",
        ),
        (take, Level::EachQuorum, "consistency level EACH_QUORUM not compatible with replication strategy"),
        (
            "UPDATE k.locks SET fence = 1 WHERE name = 'a' IF fence > null",
            Level::One,
            "Invalid comparison with null for operator \">\"",
        ),
        (
            "INSERT INTO k.locks (name, owner) VALUES ('b', 'me') USING TTL 630720000",
            Level::One,
            "Request on table k.locks with ttl of 630720000 seconds exceeds maximum supported expiration date",
        ),
        (
            "SELECT * FROM k.queue WHERE key = 'a' AND name = 'b' AND name = 'c'",
            Level::One,
            "name cannot be restricted by more than one relation if it includes an Equal",
        ),
        (
            "SELECT * FROM k.queue WHERE key = 'a' AND name > 'b' AND name = 'c'",
            Level::One,
            "Column \"name\" cannot be restricted by both an equality and an inequality relation",
        ),
        (
            "SELECT * FROM k.queue WHERE key = 'a' AND name > 'b' AND name >= 'c'",
            Level::One,
            "More than one restriction was found for the start bound on name",
        ),
        (
            "SELECT * FROM k.queue WHERE key = 'a' AND value = 'b' AND value = 'c' ALLOW FILTERING",
            Level::One,
            "value cannot be restricted by more than one relation if it includes an Equal",
        ),
        (
            "SELECT * FROM k.queue WHERE key = 'a' AND value > 'b' AND value > 'c' ALLOW FILTERING",
            Level::One,
            "More than one restriction was found for the start bound on value",
        ),
        ("INSERT INTO k.locks (name, owner) VALUES (null, 'me')", Level::One, "Invalid null value"),
        ("SELECT * FROM k.locks WHERE name = null", Level::One, "Invalid null value"),
        ("SELECT * FROM k.locks WHERE name IN ('a', null)", Level::One, "Invalid null value"),
        ("SELECT * FROM k.locks WHERE owner = null ALLOW FILTERING", Level::One, ""),
        ("DELETE FROM k.locks WHERE owner = 'me'", Level::One, ""),
        ("UPDATE k.locks SET owner = 'a' WHERE fence = 3", Level::One, ""),
        (
            "INSERT INTO k.locks (name) VALUES ('b') USING TIMESTAMP -9223372036854775808",
            Level::One,
            "Out of",
        ),
        (
            "SELECT * FROM k.locks WHERE name IN ('a', 'b')",
            Level::Serial,
            "SERIAL/LOCAL_SERIAL consistency may only be requested for one partition at a time",
        ),
        (
            "CREATE KEYSPACE other WITH replication = {'class': 'Nowhere', 'replication_factor': 1}",
            Level::One,
            "Unable to find replication strategy class 'org.apache.cassandra.locator.Nowhere'",
        ),
        (
            "CREATE KEYSPACE other WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 'two'}",
            Level::One,
            "For input string: \"two\"",
        ),
        (
            "CREATE KEYSPACE other WITH replication = {'replication_factor': 1}",
            Level::One,
            "Missing replication strategy class",
        ),
        (
            "CREATE TABLE k.other (a text PRIMARY KEY) WITH default_time_to_live = -1",
            Level::One,
            "default_time_to_live must be greater than or equal to 0 (got -1)",
        ),
        (
            "BEGIN BATCH USING TTL 5 INSERT INTO k.locks (name) VALUES ('b') APPLY BATCH",
            Level::One,
            "Global TTL on the BATCH statement is not supported.",
        ),
        (
            "BEGIN BATCH USING TIMESTAMP 5 INSERT INTO k.locks (name) VALUES ('b') USING TIMESTAMP 6 APPLY BATCH",
            Level::One,
            "Timestamp must be set either on BATCH or individual statements",
        ),
        (
            "BEGIN BATCH USING TIMESTAMP 5 INSERT INTO k.locks (name) VALUES ('b') IF NOT EXISTS APPLY BATCH",
            Level::One,
            "Cannot provide custom timestamp for conditional BATCH",
        ),
    ];
    for (statement, level, words) in refused {
        let Answer::Error { code, message } = simulated.ask(statement, level) else { panic!("{statement}") };
        assert!(
            matches!(code, 0x2200 | 0x2300) && message.starts_with(words),
            "{statement}: {code:x} {message}"
        );
    }
    assert_eq!(rows(simulated.ask(take, Level::Any)), [["true"]]);
    let Some(real) = Real::start(1, false) else { return };
    let mut theirs = Connection::open(real.address(0)).expect("it takes clients");
    TABLES.iter().for_each(|statement| done(&theirs.ask(statement, Level::One)));
    let differs = |(statement, level, _): &(&str, Level, &str)| {
        let (ours, theirs) = (simulated.ask(statement, *level), theirs.ask(statement, *level));
        (ours != theirs).then(|| format!("{statement}: {ours:?}, and really {theirs:?}"))
    };
    let different: Vec<String> = refused.iter().filter_map(differs).collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn a_row_ends_with_its_time_to_live() {
    let (_served, mut client) = Served::with_tables(1);
    done(
        &client.ask(
            "INSERT INTO k.locks (name, owner) VALUES ('a', 'me') IF NOT EXISTS USING TTL 1",
            Level::One,
        ),
    );
    done(&client.ask("INSERT INTO k.queue (key, name) VALUES ('a', 'b') USING TTL 1", Level::One));
    let began = real_now();
    while rows(client.ask("SELECT * FROM k.locks WHERE name = 'a'", Level::One)).len()
        + rows(client.ask("SELECT * FROM k.queue WHERE key = 'a'", Level::One)).len()
        > 0
    {
        assert!(began.elapsed() < Duration::from_secs(20), "it is there still");
        std::thread::sleep(Duration::from_millis(20));
    }
    let again = client.ask("INSERT INTO k.locks (name, owner) VALUES ('a', 'you') IF NOT EXISTS", Level::One);
    assert_eq!(rows(again), [["true"]]);
}

#[test]
fn of_clients_that_race_for_a_row_one_gets_it() {
    let (served, mut client) = Served::with_tables(3);
    for round in 0..10 {
        let racers: Vec<_> = (0..3)
            .map(|server| {
                let mut client = served.client(server);
                std::thread::spawn(move || {
                    let take = format!(
                        "INSERT INTO k.locks (name, owner) VALUES ('r{round}', 'c{server}') IF NOT EXISTS"
                    );
                    match client.ask(&take, Level::Quorum) {
                        Answer::Rows { rows, .. } => Some(rows[0][0] == Some(vec![1])),
                        Answer::Error { code, message } => {
                            assert_eq!(code, 0x1100, "a time-out at most");
                            assert!(
                                !message.contains("received 3 of 2"),
                                "who refused has not accepted: {message}"
                            );
                            None
                        }
                        Answer::Void => panic!("a transaction shows whether it was applied"),
                    }
                })
            })
            .collect();
        let said: Vec<Option<bool>> =
            racers.into_iter().map(|racer| racer.join().expect("it ends")).collect();
        let won = said.iter().filter(|said| **said == Some(true)).count();
        let unknown = said.iter().filter(|said| said.is_none()).count();
        assert!(won <= 1 && won + unknown >= 1, "round {round}: {said:?}");
        let row =
            rows(client.ask(&format!("SELECT owner FROM k.locks WHERE name = 'r{round}'"), Level::Quorum));
        if let Some(winner) = said.iter().position(|said| *said == Some(true)) {
            assert_eq!(row, [[format!("c{winner}")]], "round {round}");
        }
    }
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn with_two_of_three_paused_a_quorum_times_out_and_one_still_answers() {
    let (served, mut client) = Served::with_tables(3);
    done(&client.ask("INSERT INTO k.queue (key, name) VALUES ('a', '1')", Level::All));
    served.servers.strike(&pause(1, 60));
    let read = "SELECT name FROM k.queue WHERE key = 'a'";
    let began = real_now();
    assert_eq!(rows(client.ask(read, Level::Quorum)), [["1"]], "the third one is asked after a while");
    assert!(began.elapsed() < Duration::from_secs(3));
    served.servers.strike(&pause(2, 60));
    assert_eq!(rows(client.ask(read, Level::One)), [["1"]]);
    assert_eq!(code(client.ask("INSERT INTO k.queue (key, name) VALUES ('a', '2')", Level::Quorum)), 0x1100);
    assert_eq!(
        code(client.ask("DELETE FROM k.locks WHERE name = 'a' IF owner = 'me'", Level::Quorum)),
        0x1100
    );
    assert_eq!(rows(client.ask(read, Level::One)), [["1"], ["2"]], "what timed out is written here");
    assert_eq!(code(client.ask(read, Level::Quorum)), 0x1200);
    served.servers.heal();
    assert_eq!(rows(client.ask(read, Level::Quorum)), [["1"], ["2"]]);
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn who_is_silent_for_long_counts_as_down_and_nothing_is_begun() {
    let (served, mut client) = Served::with_tables(3);
    served.servers.strike(&Fault::Isolate { node: Target::Server(2), length: Micros::seconds(100) });
    let began = real_now();
    let write = "INSERT INTO k.queue (key, name) VALUES ('a', '1')";
    loop {
        let code = code(client.ask(write, Level::All));
        if code == 0x1000 {
            break;
        }
        assert_eq!(code, 0x1100);
        assert!(began.elapsed() < Duration::from_secs(40), "it never counts as down");
    }
    assert!(began.elapsed() > Duration::from_secs(15), "so soon nobody is given up");
    done(&client.ask(write, Level::Quorum));
}

#[test]
fn a_crash_resets_connections_and_what_was_acknowledged_is_there_after_it() {
    let (served, mut client) = Served::with_tables(1);
    done(&client.ask("INSERT INTO k.queue (key, name) VALUES ('a', '1')", Level::One));
    served.servers.strike(&Fault::PowerLoss { node: Target::Server(0), restart_after: None });
    assert!(client.try_ask("SELECT * FROM k.queue", Level::One).is_err());
    served.servers.restart(0);
    let mut client = served.client(0);
    assert_eq!(rows(client.ask("SELECT name FROM k.queue WHERE key = 'a'", Level::One)), [["1"]]);
}

#[test]
fn another_version_of_the_protocol_is_answered_with_those_that_are_spoken() {
    let served = Served::start(1);
    for version in [5, 6, 0x42] {
        let mut stream = TcpStream::connect(served.addresses[0]).expect("it takes clients");
        stream.write_all(&[version, 0, 0, 9, 5, 0, 0, 0, 0]).expect("it is sent");
        let mut header = [0; 9];
        stream.read_exact(&mut header).expect("an answer");
        assert_eq!(header[..5], [0x84, 0, 0, 9, 0], "an error, in version 4, of that stream");
        let mut body = vec![0; usize::from(header[8]) + usize::from(header[7]) * 256];
        stream.read_exact(&mut body).expect("its body");
        assert_eq!(body[..4], [0, 0, 0, 0x0A]);
        assert!(String::from_utf8_lossy(&body).contains("unsupported protocol version"));
    }
}

#[test]
fn bytes_that_are_no_requests_end_the_connection_or_are_refused() {
    let served = Served::start(1);
    for bytes in [&[0x84; 9][..], &[4, 1, 0, 1, 7, 0, 0, 0, 0]] {
        let mut stream = TcpStream::connect(served.addresses[0]).expect("it takes clients");
        stream.write_all(bytes).expect("it is sent");
        assert!(matches!(stream.read(&mut [0; 9]), Ok(0) | Err(_)), "{bytes:?}");
    }
    let mut stream = TcpStream::connect(served.addresses[0]).expect("it takes clients");
    stream.write_all(&[4, 0, 0, 1, 7, 0, 0, 0, 4, 0x7f, 0xff, 0xff, 0xff]).expect("it is sent");
    let mut header = [0; 9];
    stream.read_exact(&mut header).expect("an answer");
    assert_eq!(header[..5], [0x84, 0, 0, 1, 0], "a statement longer than its frame");
}

/// What is said on a new connection, a version, an opcode and a body each, and what is answered: an opcode each and the words of errors.
fn talk(address: SocketAddr, said: &[(u8, u8, &[u8])]) -> Vec<String> {
    let mut stream = TcpStream::connect(address).expect("it takes clients");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout is set");
    let mut answers = Vec::new();
    for (version, opcode, body) in said {
        let length = u32::try_from(body.len()).expect("a short body").to_be_bytes();
        let frame = [&[*version, 0, 0, 3, *opcode][..], &length[..], body].concat();
        let mut header = [0; 9];
        if stream.write_all(&frame).is_err() || stream.read_exact(&mut header).is_err() {
            answers.push("the end".to_owned());
            break;
        }
        let length = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        let mut body = vec![0; length as usize];
        stream.read_exact(&mut body).expect("its body");
        let words = match header[4] {
            0 => format!(" {:#x} {}", body[3], String::from_utf8_lossy(&body[6..])),
            _ => String::new(),
        };
        answers.push(format!("{:#x}{words}", header[4]));
    }
    answers
}

#[test]
fn a_connection_begins_and_goes_on_as_with_a_real_node() {
    const STARTUP: &[u8] = b"\0\x01\0\x0bCQL_VERSION\0\x053.0.0";
    let query = |statement: &str, rest: &[u8]| {
        let length = u32::try_from(statement.len()).expect("a short statement").to_be_bytes();
        [&length[..], statement.as_bytes(), rest].concat()
    };
    let local = "SELECT key FROM system.local";
    let fine = query(local, &[0, 1, 0]);
    let (of_level_77, at_the_least) =
        (query(local, &[0, 77, 0]), query(local, &[0, 1, 0x20, 0x80, 0, 0, 0, 0, 0, 0, 0]));
    let (start, ask) = ((4, 1, STARTUP), (4, 7, &fine[..]));
    let talks = [
        vec![ask, start, ask],
        vec![(4, 5, &[][..]), start, ask],
        vec![start, start, ask],
        vec![start, (3, 7, &fine[..]), ask],
        vec![start, (4, 7, &of_level_77[..]), ask],
        vec![start, (4, 7, &at_the_least[..]), ask],
    ];
    let served = Served::start(1);
    let ours: Vec<Vec<String>> = talks.iter().map(|said| talk(served.addresses[0], said)).collect();
    assert!(ours[0][0].starts_with("0x0 0xa Unexpected message QUERY"), "{ours:?}");
    assert_eq!(ours[1], ["0x6", "0x2", "0x8"]);
    assert!(ours[2][1].contains("already initialized") && ours[3][1].contains("message version"), "{ours:?}");
    let Some(real) = Real::start(1, false) else { return };
    let theirs: Vec<Vec<String>> = talks.iter().map(|said| talk(real.address(0), said)).collect();
    assert_eq!(ours, theirs);
}

#[test]
fn a_statement_that_is_too_long_is_refused_and_the_connection_goes_on() {
    let (_served, mut simulated) = Served::with_tables(1);
    let long = format!("INSERT INTO k.locks (name, owner) VALUES ('a', '{}')", "x".repeat(17_000_000));
    let refused = simulated.ask(&long, Level::One);
    let Answer::Error { code: 0x2200, message } = &refused else { panic!("{refused:?}") };
    assert!(message.ends_with("exceeds maximum allowed length 16777216."), "{message}");
    assert_eq!(rows(simulated.ask("SELECT * FROM k.locks", Level::One)), [[""; 0]; 0]);
    let Some(real) = Real::start(1, false) else { return };
    let mut theirs = Connection::open(real.address(0)).expect("it takes clients");
    assert_eq!(theirs.ask(&long, Level::One), refused);
    assert!(!matches!(theirs.ask("SELECT key FROM system.local", Level::One), Answer::Error { .. }));
}

/// What statements of clients that contend for a row came to.
#[derive(Default, Debug)]
struct Contended {
    applied: usize,
    not_applied: usize,
    timed_out: usize,
    /// How long each took, the shortest first.
    took: Vec<Duration>,
}

/// So many clients take a row, and give it back if they have it, by so many lightweight transactions each, one after the other.
fn contend(clients: usize, statements: usize, connect: impl Fn(usize) -> Connection) -> Contended {
    let contends = |number: usize, mut client: Connection| {
        let mut contended = Contended::default();
        let mut has_it = false;
        for _ in 0..statements {
            let statement = match has_it {
                false => {
                    format!("INSERT INTO c.locks (name, owner) VALUES ('one', 'c{number}') IF NOT EXISTS")
                }
                true => format!("DELETE FROM c.locks WHERE name = 'one' IF owner = 'c{number}'"),
            };
            let began = real_now();
            match client.ask(&statement, Level::Quorum) {
                Answer::Rows { rows, .. } if rows[0][0] == Some(vec![1]) => {
                    contended.applied += 1;
                    has_it = !has_it;
                }
                Answer::Rows { rows, .. } => {
                    contended.not_applied += 1;
                    // Of who does not know what came of its last statement.
                    has_it =
                        rows[0].iter().flatten().any(|value| *value == format!("c{number}").into_bytes());
                }
                Answer::Error { code: 0x1100 | 0x1200, .. } => contended.timed_out += 1,
                other => panic!("{other:?}"),
            }
            contended.took.push(began.elapsed());
        }
        contended
    };
    let connections: Vec<Connection> = (0..clients).map(|number| connect(number % 3)).collect();
    let all: Vec<Contended> = std::thread::scope(|scope| {
        let threads = connections.into_iter().enumerate();
        let threads = threads.map(|(number, client)| scope.spawn(move || contends(number, client)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    });
    let mut sum = all.into_iter().fold(Contended::default(), |mut sum, mut one| {
        sum.applied += one.applied;
        sum.not_applied += one.not_applied;
        sum.timed_out += one.timed_out;
        sum.took.append(&mut one.took);
        sum
    });
    sum.took.sort_unstable();
    sum
}

/// A few clients, to see that it can be measured; `PICKLOCK_CASSANDRA_SECONDS` measures more of them.
#[test]
fn how_many_of_those_who_contend_for_a_row_time_out_is_measured_here_and_there() {
    let Some(real) = crate::three_nodes::three_nodes(false) else { return };
    let is_long = std::env::var_os("PICKLOCK_CASSANDRA_SECONDS").is_some();
    let served = Served::start(3);
    for mut client in [served.client(0), real.connect(0)] {
        done(&client.ask(
            "CREATE KEYSPACE c WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}",
            Level::One,
        ));
        done(&client.ask("CREATE TABLE c.locks (name text PRIMARY KEY, owner text)", Level::One));
    }
    for node in 0..3 {
        let mut client = real.connect(node);
        while matches!(client.ask("SELECT * FROM c.locks", Level::One), Answer::Error { .. }) {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    contend(3, 20, |node| real.connect(node as u8));
    println!(
        "{:<12}{:>9}{:>9}{:>13}{:>11}{:>9}{:>9}",
        "", "clients", "applied", "not applied", "timed out", "p50 ms", "p99 ms"
    );
    for clients in if is_long { &[1, 3, 10, 50][..] } else { &[3][..] } {
        for place in ["simulated", "real"] {
            let told = match place {
                "real" => contend(*clients, 20, |node| real.connect(node as u8)),
                _ => contend(*clients, 20, |node| served.client(node)),
            };
            let of_took =
                |hundredths: usize| told.took[told.took.len() * hundredths / 100].as_secs_f64() * 1_000.0;
            println!(
                "{place:<12}{clients:>9}{:>9}{:>13}{:>11}{:>9.1}{:>9.1}",
                told.applied,
                told.not_applied,
                told.timed_out,
                of_took(50),
                of_took(99)
            );
        }
    }
}

/// What DataStax's driver for Python is made to do.
const PYTHON: &str = "
import os, warnings
warnings.simplefilter('ignore')
from cassandra import ConsistencyLevel as L
from cassandra.cluster import Cluster
from cassandra.connection import DefaultEndPoint
from cassandra.query import BatchStatement, SimpleStatement
at = [address.rsplit(':', 1) for address in os.environ['SERVERS'].split(',')]
cluster = Cluster([DefaultEndPoint(host, int(port)) for host, port in at])
s = cluster.connect()
print(cluster.protocol_version, len(cluster.metadata.all_hosts()))
s.execute(\"CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 3}\")
s.set_keyspace('k')
s.execute('CREATE TABLE locks (name text PRIMARY KEY, owner uuid, fence bigint)')
s.execute('CREATE TABLE queue (key text, name text, value blob, PRIMARY KEY (key, name))')
import uuid
me = uuid.uuid4()
take = s.prepare('INSERT INTO locks (name, owner, fence) VALUES (?, ?, ?) IF NOT EXISTS USING TTL ?')
print(s.execute(take, ('a', me, 1, 60)).was_applied, s.execute(take, ('a', uuid.uuid4(), 2, 60)).one().owner == me)
give = s.prepare('DELETE FROM locks WHERE name = ? IF owner = ?')
print(s.execute(give, ('a', me)).was_applied, s.execute(give, ('a', me)).was_applied)
add = s.prepare('INSERT INTO queue (key, name, value) VALUES (?, ?, ?) USING TTL 60')
add.consistency_level = L.QUORUM
for n in range(3): s.execute(add, ('k', '%020d' % n, b''))
batch = BatchStatement(consistency_level=L.QUORUM)
batch.add(s.prepare('DELETE FROM queue WHERE key = ? AND name = ?'), ('k', '%020d' % 0))
batch.add(add, ('k', '%020d' % 9, b'x'))
s.execute(batch)
read = s.prepare('SELECT name FROM queue WHERE key = ? AND name >= ? LIMIT ?')
read.consistency_level = L.QUORUM
print([int(row.name) for row in s.execute(read, ('k', '', 2))], [int(row.name) for row in s.execute(read, ('k', '%020d' % 2, 9))])
serial = SimpleStatement(\"SELECT * FROM locks WHERE name = 'a'\", consistency_level=L.SERIAL)
print(list(s.execute(serial)), sorted(cluster.metadata.keyspaces['k'].tables))
cluster.shutdown()
";

#[test]
fn the_driver_for_python_runs_unchanged() {
    let python = std::env::var_os("PICKLOCK_PYTHON").unwrap_or("python3".into());
    let has_driver = Command::new(&python).args(["-W", "ignore", "-c", "import cassandra.cluster"]).output();
    if !has_driver.is_ok_and(|output| output.status.success()) {
        println!("skipped: no cassandra-driver here; to install it: pip install cassandra-driver");
        return;
    }
    let served = Served::start(3);
    let addresses: Vec<String> = served.addresses.iter().map(ToString::to_string).collect();
    let output = Command::new(&python)
        .args(["-W", "ignore", "-c", PYTHON])
        .env("SERVERS", addresses.join(","))
        .output()
        .expect("python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "4 3\nTrue True\nTrue False\n[1, 2] [2, 9]\n[] ['locks', 'queue']\n");
}
