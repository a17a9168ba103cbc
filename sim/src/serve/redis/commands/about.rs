//! Commands about the server and the connection: what clients say when they connect.

use super::{Refusal, Replied, SYNTAX, Session, VERSION, bulk, number, ok, refuse, wrong_number};
use crate::serve::redis::visit::Visit;
use bytes::Bytes;
use redis_protocol::resp2::types::BytesFrame;

pub(super) fn run(name: &str, arguments: &[Bytes], session: &mut Session, visit: &mut Visit) -> Replied {
    match (name, arguments) {
        ("ping", []) => Ok(BytesFrame::SimpleString(Bytes::from_static(b"PONG"))),
        ("ping", [text]) => Ok(bulk(text.clone())),
        ("ping" | "time" | "dbsize" | "role", [_, ..]) => refuse(wrong_number(name)),
        ("echo", _) => Ok(bulk(arguments[0].clone())),
        ("select", _) => match number(&arguments[0]) {
            Ok(0) => Ok(ok()),
            // There is one database.
            Ok(_) => refuse("ERR DB index is out of range"),
            Err(_) => refuse("ERR value is not an integer or out of range"),
        },
        ("auth", _) => refuse(
            "ERR AUTH <password> called without any password configured for the default user. Are you sure your \
             configuration is correct?",
        ),
        ("hello", _) => hello(arguments, session, visit),
        ("client", _) => client(arguments, session),
        ("config", _) => config(arguments),
        ("command", []) => Ok(BytesFrame::Array(Vec::new())),
        ("command", [what, ..]) => match what.to_ascii_lowercase().as_slice() {
            // What a client does with it is colour and help.
            b"docs" | b"info" | b"list" => Ok(BytesFrame::Array(Vec::new())),
            b"count" => Ok(BytesFrame::Integer(0)),
            _ => refuse(unknown_subcommand("COMMAND", what)),
        },
        ("info", _) => Ok(bulk(info(visit))),
        ("time", []) => {
            let now = visit.unix_micros();
            let parts = [now.div_euclid(1_000_000), now.rem_euclid(1_000_000)];
            Ok(BytesFrame::Array(parts.map(|part| bulk(part.to_string())).to_vec()))
        }
        ("dbsize", []) => {
            let server = visit.server;
            // The other lines are about the server.
            let lines = visit.state.contents(server);
            Ok(BytesFrame::Integer(lines.iter().filter(|line| line.contains(" = ")).count() as i64))
        }
        ("role", []) => Ok(BytesFrame::Array(match visit.is_master() {
            true => vec![bulk("master"), BytesFrame::Integer(offset(visit)), BytesFrame::Array(Vec::new())],
            false => vec![
                bulk("slave"),
                bulk("?"),
                BytesFrame::Integer(0),
                bulk("connected"),
                BytesFrame::Integer(offset(visit)),
            ],
        })),
        (other, _) => unreachable!("{other} is not about the server"),
    }
}

pub(super) fn unknown_subcommand(command: &str, what: &Bytes) -> String {
    let what = String::from_utf8_lossy(what).replace(['\r', '\n'], " ");
    format!("ERR unknown subcommand '{what}'. Try {command} HELP.")
}

/// `src/networking.c` `helloCommand`. RESP3 is not spoken here, and a client that wants it is told what an old server says.
fn hello(arguments: &[Bytes], session: &mut Session, visit: &mut Visit) -> Replied {
    let mut rest = arguments.iter();
    if let Some(version) = rest.next() {
        match number(version) {
            Ok(2) => {}
            Ok(_) => return refuse("NOPROTO unsupported protocol version"),
            Err(_) => return refuse("ERR Protocol version is not an integer or out of range"),
        }
    }
    while let Some(option) = rest.next() {
        match (option.to_ascii_lowercase().as_slice(), rest.next()) {
            (b"setname", Some(name)) => session.name = name.clone(),
            _ => return refuse(format!("{SYNTAX} in HELLO option '{}'", String::from_utf8_lossy(option))),
        }
    }
    let role = if visit.is_master() { "master" } else { "replica" };
    Ok(BytesFrame::Array(vec![
        bulk("server"),
        bulk("redis"),
        bulk("version"),
        bulk(VERSION),
        bulk("proto"),
        BytesFrame::Integer(2),
        bulk("id"),
        BytesFrame::Integer(session.id),
        bulk("mode"),
        bulk("standalone"),
        bulk("role"),
        bulk(role),
        bulk("modules"),
        BytesFrame::Array(Vec::new()),
    ]))
}

fn client(arguments: &[Bytes], session: &mut Session) -> Replied {
    match (arguments[0].to_ascii_lowercase().as_slice(), &arguments[1..]) {
        (b"id", []) => Ok(BytesFrame::Integer(session.id)),
        (b"getname", []) if session.name.is_empty() => Ok(BytesFrame::Null),
        (b"getname", []) => Ok(bulk(session.name.clone())),
        (b"setname", [name]) => {
            session.name = name.clone();
            Ok(ok())
        }
        // `SETINFO` came with version 7.2; newer clients say it unasked, and nothing depends on it.
        (b"setinfo", [_, _]) | (b"no-evict" | b"no-touch", [_]) => Ok(ok()),
        _ => refuse(unknown_subcommand("CLIENT", &arguments[0])),
    }
}

fn config(arguments: &[Bytes]) -> Replied {
    match (arguments[0].to_ascii_lowercase().as_slice(), &arguments[1..]) {
        (b"get", [_, ..]) => {
            let known = [("save", ""), ("appendonly", "no"), ("databases", "1"), ("maxmemory", "0")];
            let wanted =
                |name: &str| arguments[1..].iter().any(|asked| asked.eq_ignore_ascii_case(name.as_bytes()));
            let found = known.iter().filter(|(name, _)| wanted(name));
            Ok(BytesFrame::Array(found.flat_map(|(name, value)| [bulk(*name), bulk(*value)]).collect()))
        }
        _ => Err(Refusal::Error(unknown_subcommand("CONFIG", &arguments[0]))),
    }
}

fn offset(visit: &mut Visit) -> i64 {
    visit.replicated().map_or(0, |(_, offset)| offset.into())
}

fn info(visit: &mut Visit) -> String {
    let (is_master, offset) = (visit.is_master(), offset(visit));
    let role = if is_master { "master" } else { "slave" };
    format!(
        "# Server\r\nredis_version:{VERSION}\r\nredis_mode:standalone\r\npicklock:simulated\r\n\r\n\
         # Replication\r\nrole:{role}\r\nmaster_repl_offset:{offset}\r\n"
    )
}
