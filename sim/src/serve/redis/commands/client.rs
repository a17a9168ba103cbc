//! What a client says of itself: `HELLO`, `AUTH`, `CLIENT`, `RESET`.

use super::about::role_name;
use super::{VERSION, unknown_subcommand};
use crate::serve::redis::house::{Quiet, Sent, Session};
use crate::serve::redis::numbers::integer;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::turn::{Replied, SYNTAX, Turn, lower, number, refuse, wrong_number};
use bytes::Bytes;

/// `src/networking.c` `helloCommand`.
pub fn hello(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let version = match words.get(1).map(|word| integer(word)) {
        None => turn.session.version,
        Some(Some(2)) => 2,
        Some(Some(3)) => 3,
        Some(Some(_)) => return refuse("NOPROTO unsupported protocol version"),
        Some(None) => return refuse("ERR Protocol version is not an integer or out of range"),
    };
    let mut rest = words.get(2..).unwrap_or_default();
    while let Some((option, after)) = rest.split_first() {
        rest = match (lower(option).as_str(), after) {
            ("auth", [user, password, rest @ ..]) => {
                check(user, password)?;
                rest
            }
            ("setname", [name, rest @ ..]) => {
                set_name(name, turn.session)?;
                rest
            }
            _ => return refuse([b"ERR Syntax error in HELLO option '".as_slice(), option, b"'"].concat()),
        };
    }
    turn.session.version = version;
    let said = [
        ("server", Reply::bulk("redis")),
        ("version", Reply::bulk(VERSION)),
        ("proto", Reply::Integer(version.into())),
        ("id", Reply::Integer(turn.session.id)),
        ("mode", Reply::bulk("standalone")),
        ("role", Reply::bulk(role_name(turn))),
        ("modules", Reply::Array(Vec::new())),
    ];
    Ok(Reply::Map(said.into_iter().map(|(name, value)| (Reply::bulk(name), value)).collect()))
}

/// There is one user, and no password.
fn check(user: &Bytes, _password: &Bytes) -> Replied {
    match user.as_ref() {
        b"default" => Ok(Reply::ok()),
        _ => refuse("WRONGPASS invalid username-password pair or user is disabled."),
    }
}

pub fn auth(_: &mut Turn, words: &[Bytes]) -> Replied {
    match &words[1..] {
        [_] => refuse(
            "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
             configuration is correct?",
        ),
        [user, password] => check(user, password),
        _ => refuse(SYNTAX),
    }
}

pub fn reset(turn: &mut Turn, _: &[Bytes]) -> Replied {
    turn.session.transaction = None;
    turn.house.unwatch(turn.session);
    turn.house.unsubscribe_all(turn.session);
    (turn.session.database, turn.session.version) = (0, 2);
    turn.session.name = Bytes::new();
    // Who has skipped the reply to this has skipped it (`src/networking.c` `clearClientConnectionState`).
    if turn.session.quiet != Quiet::Next {
        turn.session.quiet = Quiet::No;
    }
    Ok(Reply::status("RESET"))
}

fn is_printable(name: &[u8]) -> bool {
    name.iter().all(|byte| (b'!'..=b'~').contains(byte))
}

fn set_name(name: &Bytes, session: &mut Session) -> Replied {
    if !is_printable(name) {
        return refuse("ERR Client names cannot contain spaces, newlines or special characters.");
    }
    session.name = name.clone();
    Ok(Reply::ok())
}

pub fn client(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let what = lower(&words[1]);
    match (what.as_str(), &words[2..]) {
        ("id", []) => Ok(Reply::Integer(turn.session.id)),
        ("getname", []) if turn.session.name.is_empty() => Ok(Reply::Nil),
        ("getname", []) => Ok(Reply::Bulk(turn.session.name.clone())),
        ("setname", [name]) => set_name(name, turn.session),
        ("info", []) => Ok(Reply::text(described(turn.session, turn))),
        ("list", options) => list(turn, options),
        ("kill", options) => kill(turn, options),
        ("no-evict" | "no-touch", [how]) => match lower(how).as_str() {
            "on" | "off" => Ok(Reply::ok()),
            _ => refuse(SYNTAX),
        },
        ("reply", [how]) => {
            turn.session.quiet = match (lower(how).as_str(), turn.session.quiet) {
                ("on", _) => Quiet::No,
                ("off", _) | ("skip", Quiet::Always) => Quiet::Always,
                ("skip", _) => Quiet::ThisAndNext,
                _ => return refuse(SYNTAX),
            };
            Ok(Reply::ok())
        }
        ("getredir", []) => Ok(Reply::Integer(-1)),
        ("unpause", []) => Ok(Reply::ok()),
        ("unblock", [_] | [_, _]) => unblock(turn, &words[2..]),
        (
            "id" | "getname" | "setname" | "info" | "no-evict" | "no-touch" | "getredir" | "unpause"
            | "unblock" | "reply",
            _,
        ) => refuse(wrong_number(&format!("client|{what}"))),
        ("pause" | "tracking" | "caching" | "trackinginfo", _) => {
            turn.house.missing(&format!("CLIENT {}", what.to_uppercase()));
            refuse(unknown_subcommand("CLIENT", &words[1]))
        }
        _ => refuse(unknown_subcommand("CLIENT", &words[1])),
    }
}

/// One line of `CLIENT LIST`; addresses and sizes are not known here.
fn described(session: &Session, turn: &Turn) -> String {
    let age = (turn.now_micros() - turn.cx.settings.date - session.since.0).max(0) / 1_000_000;
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    let queued = session.transaction.as_ref().map_or(-1, |transaction| transaction.commands.len() as i64);
    let flag = match (session.subscriptions() > 0, queued >= 0) {
        (true, _) => "P",
        (_, true) => "x",
        _ => "N",
    };
    format!(
        "id={} addr=127.0.0.1:0 laddr=127.0.0.1:0 fd=0 name={} age={age} idle=0 flags={flag} db={} sub={} psub={} \
         ssub=0 multi={queued} qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=1024 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 \
         events=r cmd={} user=default redir=-1 resp={}\n",
        session.id,
        text(&session.name),
        session.database,
        session.channels.len(),
        session.patterns.len(),
        session.last_command,
        session.version,
    )
}

fn list(turn: &mut Turn, options: &[Bytes]) -> Replied {
    let mut asked: Option<Vec<i64>> = None;
    match options {
        [] => {}
        [option, kind] if lower(option) == "type" => match lower(kind).as_str() {
            "normal" => {}
            "master" | "replica" | "slave" | "pubsub" => asked = Some(Vec::new()),
            _ => return refuse([b"ERR Unknown client type '".as_slice(), kind, b"'"].concat()),
        },
        [option, ids @ ..] if lower(option) == "id" && !ids.is_empty() => {
            asked = Some(ids.iter().map(number).collect::<Result<_, _>>()?);
        }
        _ => return refuse(SYNTAX),
    }
    let others = turn.house.sessions.iter();
    let mut all: Vec<&Session> = others.chain([&*turn.session]).collect();
    all.sort_by_key(|session| session.id);
    let is_asked = |session: &&&Session| asked.as_ref().is_none_or(|asked| asked.contains(&session.id));
    Ok(Reply::text(all.iter().filter(is_asked).map(|session| described(session, turn)).collect()))
}

/// By number only.
fn kill(turn: &mut Turn, options: &[Bytes]) -> Replied {
    match options {
        [option, id, ..] if lower(option) == "id" => {
            let Some(id) = integer(id).filter(|id| *id > 0) else {
                return refuse("ERR client-id should be greater than 0");
            };
            let is_there = turn.house.sessions.get(id).is_some() || turn.session.id == id;
            if is_there {
                turn.house.pushes.push((id, Sent::Close));
            }
            Ok(Reply::truth(is_there))
        }
        [_] => refuse("ERR No such client"),
        [] => refuse(wrong_number("client|kill")),
        _ => refuse(SYNTAX),
    }
}

/// Who waits for keys is told that it was in vain, or an error (`src/networking.c` `clientCommand`). Who waits for replicas goes
/// on waiting.
fn unblock(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let is_error = match words.get(1).map(lower).as_deref() {
        None | Some("timeout") => false,
        Some("error") => true,
        Some(_) => return refuse("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"),
    };
    let id = number(&words[0])?;
    let waiters = &mut turn.house.waiters;
    let ticket = waiters.iter().find(|(_, waiter)| waiter.client == id).map(|(ticket, _)| *ticket);
    let Some(waiter) = ticket.and_then(|ticket| waiters.remove(&ticket)) else {
        return Ok(Reply::Integer(0));
    };
    // If it hears nothing, it has waited in vain; if it has gone meanwhile, nobody hears it.
    if is_error {
        drop(waiter.answer.send(Reply::error("UNBLOCKED client unblocked via CLIENT UNBLOCK")));
    }
    Ok(Reply::Integer(1))
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    fn what_came_after_7_0_is_unknown() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        let unknown = "-ERR unknown subcommand 'SETINFO'. Try CLIENT HELP.";
        assert_eq!(client.line("CLIENT SETINFO lib-name x"), unknown);
        assert!(!client.line("CLIENT LIST").contains("lib-name"));
    }

    #[test]
    fn who_waits_for_keys_is_let_go() {
        let servers = Servers::new(1, Default::default());
        let (waiting, other) = (Direct::new(&servers), Direct::new(&servers));
        assert_eq!(waiting.line("CLIENT ID"), ":1");
        assert_eq!(waiting.say(&["BLPOP", "l", "0"]), None, "it waits");
        for (line, said) in [
            ("CLIENT UNBLOCK 9", ":0"),
            ("CLIENT UNBLOCK x", "-ERR value is not an integer or out of range"),
            ("CLIENT UNBLOCK 1 FOO", "-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"),
            ("CLIENT UNBLOCK", "-ERR wrong number of arguments for 'client|unblock' command"),
            ("CLIENT UNBLOCK 1 ERROR", ":1"),
            ("CLIENT UNBLOCK 1", ":0"),
        ] {
            assert_eq!(other.line(line), said, "{line}");
        }
    }
}
