//! What clients know of a Redis beyond strings.

use crate::differential::{Said, Spoken};
use crate::process::Served;
use std::time::{Duration, Instant};

fn words(line: &str) -> Vec<Vec<u8>> {
    line.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

fn said(spoken: &mut Spoken, line: &str) -> Said {
    spoken.ask(&words(line))
}

fn line(text: &str) -> Said {
    Said::Line(text.to_owned())
}

fn text(text: &str) -> Said {
    Said::Text(text.as_bytes().to_vec())
}

#[test]
fn a_transaction_is_all_or_nothing_and_none_if_a_watched_key_has_changed() {
    let served = Served::start(&[]);
    let (mut one, mut other) = (Spoken::to(served.port()), Spoken::to(served.port()));
    assert_eq!(said(&mut one, "MULTI"), line("+OK"));
    assert_eq!(said(&mut one, "SET a 1"), line("+QUEUED"));
    assert_eq!(said(&mut other, "GET a"), Said::Nothing("$-1".to_owned()));
    assert_eq!(said(&mut one, "DISCARD"), line("+OK"));
    assert_eq!(said(&mut one, "GET a"), Said::Nothing("$-1".to_owned()));
    for (is_overtaken, expected) in
        [(true, Said::Nothing("*-1".to_owned())), (false, Said::Many('*', vec![line("+OK")]))]
    {
        said(&mut one, "WATCH a");
        if is_overtaken {
            said(&mut other, "SET a 2");
        }
        said(&mut one, "MULTI");
        said(&mut one, "SET a 3");
        assert_eq!(said(&mut one, "EXEC"), expected);
    }
}

#[test]
fn a_watched_key_that_expires_has_changed() {
    let served = Served::start(&[]);
    let mut one = Spoken::to(served.port());
    said(&mut one, "SET a 1 PX 50");
    said(&mut one, "WATCH a");
    std::thread::sleep(Duration::from_millis(200));
    said(&mut one, "MULTI");
    said(&mut one, "PING");
    assert_eq!(said(&mut one, "EXEC"), Said::Nothing("*-1".to_owned()));
}

#[test]
fn messages_reach_who_listens_and_nobody_else() {
    let served = Served::start(&[]);
    let (mut listener, mut speaker) = (Spoken::to(served.port()), Spoken::to(served.port()));
    let confirmed = Said::Many('*', vec![text("subscribe"), text("news"), line(":1")]);
    assert_eq!(said(&mut listener, "SUBSCRIBE news"), confirmed);
    let confirmed = Said::Many('*', vec![text("psubscribe"), text("n*"), line(":2")]);
    assert_eq!(said(&mut listener, "PSUBSCRIBE n*"), confirmed);
    for (command, name) in [("GET a", "get"), ("CLIENT ID", "client|id")] {
        let refused = format!("-ERR Can't execute '{name}'");
        assert!(matches!(said(&mut listener, command), Said::Line(error) if error.starts_with(&refused)));
    }
    assert_eq!(said(&mut speaker, "PUBLISH other x"), line(":0"));
    assert_eq!(said(&mut speaker, "PUBLISH news x"), line(":2"));
    assert_eq!(listener.hear(), Said::Many('*', vec![text("message"), text("news"), text("x")]));
    assert_eq!(listener.hear(), Said::Many('*', vec![text("pmessage"), text("n*"), text("news"), text("x")]));
}

#[test]
fn who_waits_for_a_list_first_gets_what_comes_first() {
    let served = Served::start(&[]);
    let mut waiting: Vec<Spoken> = (0..3).map(|_| Spoken::to(served.port())).collect();
    for spoken in &mut waiting {
        spoken.send(&words("BLPOP list 20"));
        std::thread::sleep(Duration::from_millis(100));
    }
    // One gives up: nothing is popped for it.
    drop(waiting.remove(1));
    std::thread::sleep(Duration::from_millis(100));
    let mut giver = Spoken::to(served.port());
    assert_eq!(said(&mut giver, "RPUSH list a b c"), line(":3"));
    assert_eq!(waiting[0].hear(), Said::Many('*', vec![text("list"), text("a")]));
    assert_eq!(waiting[1].hear(), Said::Many('*', vec![text("list"), text("b")]));
    assert_eq!(said(&mut giver, "LRANGE list 0 -1"), Said::Many('*', vec![text("c")]));
    let asked = Instant::now();
    assert_eq!(said(&mut giver, "BLPOP other 0.2"), Said::Nothing("*-1".to_owned()));
    assert!(asked.elapsed() >= Duration::from_millis(199));
    assert_eq!(said(&mut giver, "BRPOPLPUSH other to 0.02"), Said::Nothing("*-1".to_owned()));
    for (command, reply) in [("MULTI", "+OK"), ("BLMOVE other to LEFT RIGHT 0.02", "+QUEUED")] {
        assert_eq!(said(&mut giver, command), line(reply));
    }
    assert_eq!(said(&mut giver, "EXEC"), Said::Many('*', vec![Said::Nothing("$-1".to_owned())]));
}

#[test]
fn resp3_is_spoken_with_who_asks_for_it() {
    let served = Served::start(&[]);
    let mut spoken = Spoken::to(served.port());
    let Said::Many('%', greeting) = said(&mut spoken, "HELLO 3") else { panic!("no map") };
    assert_eq!(greeting[..2], [text("server"), text("redis")]);
    said(&mut spoken, "HSET h a 1");
    assert_eq!(said(&mut spoken, "HGETALL h"), Said::Many('%', vec![text("a"), text("1")]));
    assert_eq!(said(&mut spoken, "GET nokey"), Said::Nothing("_".to_owned()));
    said(&mut spoken, "ZADD z 1.5 m");
    assert_eq!(said(&mut spoken, "ZSCORE z m"), line(",1.5"));
    assert_eq!(
        said(&mut spoken, "SUBSCRIBE c"),
        Said::Many('>', vec![text("subscribe"), text("c"), line(":1")])
    );
    // One that listens may go on asking.
    assert_eq!(said(&mut spoken, "GET nokey"), Said::Nothing("_".to_owned()));
}

#[test]
fn a_script_that_never_ends_makes_the_server_busy_until_it_is_killed_whatever_it_catches() {
    let served = Served::start(&[]);
    let mut other = Spoken::to(served.port());
    assert_eq!(said(&mut other, "CONFIG SET busy-reply-threshold 50"), line("+OK"));
    let busy =
        line("-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.");
    for script in ["while true do end", "while true do pcall(function() while true do end end) end"] {
        let mut spoken = Spoken::to(served.port());
        let words = [b"EVAL".to_vec(), script.as_bytes().to_vec(), b"0".to_vec()];
        let asking = std::thread::spawn(move || {
            let answer = spoken.ask(&words);
            (answer, said(&mut spoken, "PING"))
        });
        let began = Instant::now();
        while said(&mut other, "PING") == line("+PONG") {
            assert!(began.elapsed() < Duration::from_secs(20), "it is not busy");
        }
        assert_eq!(said(&mut other, "SET a 1"), busy);
        assert_eq!(said(&mut other, "SCRIPT KILL"), line("+OK"));
        let (answer, after) = asking.join().expect("it is answered");
        let killed = "-ERR Script killed by user with SCRIPT KILL... script: ";
        assert!(matches!(&answer, Said::Line(error) if error.starts_with(killed)), "{answer:?}");
        assert_eq!(after, line("+PONG"));
        assert_eq!(said(&mut other, "EXISTS a"), line(":0"));
    }
}

#[test]
fn a_script_goes_on_without_its_client_and_keeps_only_its_own_server_busy() {
    let served = Served::start(&["--servers", "2"]);
    let mut first = Spoken::to(served.ports()[0]);
    let mut second = Spoken::to(served.ports()[1]);
    said(&mut first, "CONFIG SET busy-reply-threshold 50");
    {
        let mut spoken = Spoken::to(served.port());
        let script = b"redis.call('set', 'a', '1') while redis.call('exists', 'a') == 1 do end".to_vec();
        spoken.send(&[b"EVAL".to_vec(), script, b"0".to_vec()]);
    }
    let began = Instant::now();
    while said(&mut first, "PING") == line("+PONG") {
        assert!(began.elapsed() < Duration::from_secs(20), "it is not busy");
    }
    assert_eq!(said(&mut second, "PING"), line("+PONG"));
    assert!(
        matches!(said(&mut first, "SCRIPT KILL"), Said::Line(error) if error.starts_with("-UNKILLABLE Sorry"))
    );
}

#[test]
fn a_server_that_is_told_to_end_is_down_from_then_on() {
    use std::io::{ErrorKind, Read, Write};
    let served = Served::start(&["--servers", "2"]);
    let mut other = Spoken::to(served.ports()[1]);
    let mut asking = std::net::TcpStream::connect(("127.0.0.1", served.port())).expect("it listens");
    asking.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out is set");
    asking.write_all(b"PING\r\nSHUTDOWN NOSAVE\r\nPING\r\n").expect("it reads");
    let mut heard = Vec::new();
    // The end of a process may come as one of the connection, or as a reset, and take with it what it has said.
    let is_over =
        asking.read_to_end(&mut heard).err().is_none_or(|error| error.kind() == ErrorKind::ConnectionReset);
    assert!(is_over && matches!(heard.as_slice(), b"" | b"+PONG\r\n"), "{heard:?}");
    assert_eq!(said(&mut other, "PING"), line("+PONG"));
    let output = served.stop();
    assert!(output.contains("s1 has ended, as a client has told it to (SHUTDOWN)"), "{output}");
}

#[test]
fn six_hundred_clients_are_served() {
    let served = Served::start(&[]);
    let mut clients: Vec<Spoken> = (0..600).map(|_| Spoken::to(served.port())).collect();
    for client in &mut clients {
        assert_eq!(said(client, "PING"), line("+PONG"));
    }
}

#[test]
fn a_key_that_lives_nearly_for_ever_ends_nothing() {
    let served = Served::start(&[]);
    let mut spoken = Spoken::to(served.port());
    for moment in ["9223372036854775807", "9223370399119966", "1000000000000000000"] {
        assert_eq!(said(&mut spoken, &format!("SET k v PXAT {moment}")), line("+OK"));
        assert_eq!(said(&mut spoken, &format!("PEXPIREAT k {moment}")), line(":1"));
        assert_eq!(said(&mut spoken, "PEXPIRETIME k"), line(&format!(":{moment}")));
        assert!(matches!(said(&mut spoken, "TTL k"), Said::Line(left) if left.len() > 9));
        assert_eq!(said(&mut spoken, "GET k"), text("v"));
    }
    assert_eq!(said(&mut spoken, "PEXPIREAT k -9223372036854775808"), line(":1"));
    assert_eq!(said(&mut spoken, "GET k"), Said::Nothing("$-1".to_owned()));
}

#[test]
fn functions_are_called_by_name_and_those_that_do_not_write_do_not() {
    let served = Served::start(&[]);
    let mut spoken = Spoken::to(served.port());
    let ask = |spoken: &mut Spoken, words: &[&str]| {
        spoken.ask(&words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>())
    };
    let library = "#!lua name=locks\n\
        redis.register_function('take', function(keys, args)\n\
          return redis.call('set', keys[1], args[1], 'nx', 'px', args[2])\nend)\n\
        redis.register_function{function_name='look', flags={'no-writes'}, callback=function(keys)\n\
          if redis.call('get', keys[1]) == 'write' then redis.call('del', keys[1]) end\n\
          return redis.call('get', keys[1])\nend}";
    assert_eq!(ask(&mut spoken, &["FUNCTION", "LOAD", library]), text("locks"));
    assert_eq!(ask(&mut spoken, &["FUNCTION", "LOAD", library]), line("-ERR Library 'locks' already exists"));
    assert_eq!(ask(&mut spoken, &["FUNCTION", "LOAD", "REPLACE", library]), text("locks"));
    assert_eq!(ask(&mut spoken, &["FCALL", "take", "1", "k", "me", "10000"]), line("+OK"));
    assert_eq!(
        ask(&mut spoken, &["FCALL", "take", "1", "k", "you", "10000"]),
        Said::Nothing("$-1".to_owned())
    );
    assert_eq!(ask(&mut spoken, &["FCALL_RO", "look", "1", "k"]), text("me"));
    ask(&mut spoken, &["SET", "k", "write"]);
    for call in ["FCALL", "FCALL_RO"] {
        let answer = ask(&mut spoken, &[call, "look", "1", "k"]);
        let is_refused =
            |error: &str| error.contains("Write commands are not allowed from read-only scripts");
        assert!(matches!(&answer, Said::Line(error) if is_refused(error)), "{answer:?}");
    }
    let refused = "-ERR Can not execute a script with write flag using *_ro command.";
    assert_eq!(ask(&mut spoken, &["FCALL_RO", "take", "1", "k", "me", "10"]), line(refused));
    // Scripts and functions are apart.
    assert_eq!(ask(&mut spoken, &["SCRIPT", "FLUSH"]), line("+OK"));
    assert_eq!(ask(&mut spoken, &["FUNCTION", "DELETE", "locks"]), line("+OK"));
    assert_eq!(ask(&mut spoken, &["FCALL", "take", "1", "k", "me", "10"]), line("-ERR Function not found"));
}

#[test]
fn every_server_says_who_the_master_is_as_a_sentinel_does() {
    let served = Served::start(&["--servers", "3", "--replicated"]);
    for port in served.ports() {
        let mut spoken = Spoken::to(*port);
        let master = Said::Many('*', vec![text("127.0.0.1"), text(&served.port().to_string())]);
        assert_eq!(said(&mut spoken, "SENTINEL get-master-addr-by-name mymaster"), master);
        let unknown = Said::Nothing("*-1".to_owned());
        assert_eq!(said(&mut spoken, "SENTINEL get-master-addr-by-name other"), unknown);
        let Said::Many('*', masters) = said(&mut spoken, "SENTINEL MASTERS") else { panic!("no array") };
        let [Said::Many('*', fields)] = masters.as_slice() else { panic!("not one master: {masters:?}") };
        let field = |name: &str| {
            let place = fields.iter().position(|field| *field == text(name)).expect("it has this field");
            fields[place + 1].clone()
        };
        assert_eq!((field("name"), field("flags")), (text("mymaster"), text("master")));
        assert_eq!(field("num-other-sentinels"), text("2"));
        let Said::Many('*', others) = said(&mut spoken, "SENTINEL SENTINELS mymaster") else {
            panic!("no array")
        };
        assert_eq!(others.len(), 2);
        assert_eq!(said(&mut spoken, "SENTINEL REPLICAS other"), line("-ERR No such master with that name"));
    }
    // A server of its own is no Sentinel.
    let alone = Served::start(&[]);
    let answer = said(&mut Spoken::to(alone.port()), "SENTINEL MASTERS");
    assert!(matches!(answer, Said::Line(error) if error.starts_with("-ERR unknown command 'SENTINEL'")));
}

#[test]
fn who_does_not_read_is_answered_when_it_does() {
    const GETS: usize = 80;
    let served = Served::start(&[]);
    let mut other = Spoken::to(served.port());
    let value = vec![b'x'; 4 << 20];
    assert_eq!(other.ask(&[b"SET".to_vec(), b"k".to_vec(), value.clone()]), line("+OK"));
    let before = served.resident_kib();
    let mut reader = Spoken::to(served.port());
    for _ in 0..GETS {
        reader.send(&words("GET k"));
    }
    reader.send(&words("SET last 1"));
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(said(&mut other, "EXISTS last"), line(":0"));
    if let (Some(before), Some(now)) = (before, served.resident_kib()) {
        assert!(now < before + 150 * 1024, "{now} kB, after {before}");
    }
    for _ in 0..GETS {
        assert!(reader.hear() == Said::Text(value.clone()));
    }
    assert_eq!(reader.hear(), line("+OK"));
    // Who hangs up has asked for all that it has asked for.
    {
        let mut gone = Spoken::to(served.port());
        for _ in 0..GETS {
            gone.send(&words("GET k"));
        }
        gone.send(&words("SET gone 1"));
        std::thread::sleep(Duration::from_millis(300));
    }
    let began = Instant::now();
    while said(&mut other, "EXISTS gone") == line(":0") {
        assert!(began.elapsed() < Duration::from_secs(20), "it is not run");
    }
}

#[test]
fn a_subscriber_that_does_not_read_is_gone() {
    let served = Served::start(&[]);
    let (mut other, mut sleeper) = (Spoken::to(served.port()), Spoken::to(served.port()));
    said(&mut sleeper, "SUBSCRIBE c");
    let message = vec![b'x'; 8 << 20];
    let publish = [b"PUBLISH".to_vec(), b"c".to_vec(), message];
    let began = Instant::now();
    while other.ask(&publish) == line(":1") {
        assert!(began.elapsed() < Duration::from_secs(20), "it is not gone");
    }
    assert_eq!(said(&mut other, "PUBSUB NUMSUB c"), Said::Many('*', vec![text("c"), line(":0")]));
}

#[test]
fn who_wants_no_replies_gets_none_but_what_it_listens_to() {
    let served = Served::start(&[]);
    let (mut quiet, mut speaker) = (Spoken::to(served.port()), Spoken::to(served.port()));
    for command in ["CLIENT REPLY SKIP", "PING"] {
        quiet.send(&words(command));
    }
    assert_eq!(said(&mut quiet, "ECHO after"), text("after"));
    // Nor if the reply comes later.
    for waits in ["BLPOP l 0.02", "WAIT 1 20", "RESET"] {
        quiet.send(&words("CLIENT REPLY SKIP"));
        quiet.send(&words(waits));
        assert_eq!(said(&mut quiet, "ECHO later"), text("later"), "{waits}");
    }
    for command in ["CLIENT REPLY OFF", "BLPOP l 0.02", "WAIT 1 20"] {
        quiet.send(&words(command));
    }
    assert_eq!(said(&mut quiet, "CLIENT REPLY ON"), line("+OK"));
    for command in ["CLIENT REPLY OFF", "SET a 1", "SUBSCRIBE news"] {
        quiet.send(&words(command));
    }
    assert_eq!(quiet.hear(), Said::Many('*', vec![text("subscribe"), text("news"), line(":1")]));
    assert_eq!(said(&mut speaker, "PUBLISH news x"), line(":1"));
    assert_eq!(quiet.hear(), Said::Many('*', vec![text("message"), text("news"), text("x")]));
    assert_eq!(said(&mut speaker, "GET a"), text("1"));
}

#[test]
fn where_there_is_no_memory_nothing_grows() {
    let served = Served::start(&[]);
    let mut spoken = Spoken::to(served.port());
    let full = line("-OOM command not allowed when used memory > 'maxmemory'.");
    said(&mut spoken, "SET a 1");
    said(&mut spoken, "MULTI");
    said(&mut spoken, "SET b 1");
    said(&mut Spoken::to(served.port()), "CONFIG SET maxmemory 1");
    let discarded = "-EXECABORT Transaction discarded because of: OOM command not allowed when used memory > \
                     'maxmemory'.";
    assert_eq!(said(&mut spoken, "EXEC"), line(discarded));
    assert_eq!((said(&mut spoken, "SET b 1"), said(&mut spoken, "GET a")), (full, text("1")));
    assert_eq!(said(&mut spoken, "DEL a"), line(":1"));
    said(&mut spoken, "CONFIG SET maxmemory 0");
    assert_eq!(said(&mut spoken, "SET b 1"), line("+OK"));
}
