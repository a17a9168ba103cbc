//! `SUBSCRIBE`, `PSUBSCRIBE`, `PUBLISH` and what belongs to them. Messages reach those who listen at this server only: a
//! master does not pass them on to its replicas.

use super::unknown_subcommand;
use crate::serve::redis::glob::matches;
use crate::serve::redis::house::forget;
use crate::serve::redis::reply::Reply;
use crate::serve::redis::turn::{Replied, Turn, lower, refuse, wrong_number};
use bytes::Bytes;

/// `SUBSCRIBE`, `PSUBSCRIBE`.
pub fn subscribe(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let name = lower(&words[0]);
    let is_pattern = name == "psubscribe";
    let mut said = Vec::new();
    for channel in &words[1..] {
        let (own, all) = match is_pattern {
            true => (&mut turn.session.patterns, &mut turn.house.patterns),
            false => (&mut turn.session.channels, &mut turn.house.channels),
        };
        own.insert(channel.clone());
        all.entry(channel.clone()).or_default().insert(turn.session.id);
        said.push(confirmed(&name, Reply::Bulk(channel.clone()), turn));
    }
    Ok(Reply::Several(said))
}

/// `UNSUBSCRIBE`, `PUNSUBSCRIBE`: without channels, from all.
pub fn unsubscribe(turn: &mut Turn, words: &[Bytes]) -> Replied {
    let name = lower(&words[0]);
    let is_pattern = name == "punsubscribe";
    let own = if is_pattern { &turn.session.patterns } else { &turn.session.channels };
    let named: Vec<Bytes> = match &words[1..] {
        [] => own.iter().cloned().collect(),
        named => named.to_vec(),
    };
    if named.is_empty() {
        return Ok(confirmed(&name, Reply::Nil, turn));
    }
    let mut said = Vec::new();
    for channel in named {
        let (own, all) = match is_pattern {
            true => (&mut turn.session.patterns, &mut turn.house.patterns),
            false => (&mut turn.session.channels, &mut turn.house.channels),
        };
        if own.remove(&channel) {
            forget(all, &channel, turn.session.id);
        }
        said.push(confirmed(&name, Reply::Bulk(channel), turn));
    }
    Ok(Reply::Several(said))
}

fn confirmed(name: &str, channel: Reply, turn: &Turn) -> Reply {
    Reply::Push(vec![Reply::bulk(name.to_owned()), channel, Reply::Integer(turn.session.subscriptions())])
}

pub fn publish(turn: &mut Turn, words: &[Bytes]) -> Replied {
    Ok(Reply::Integer(turn.house.publish(&words[1], &words[2])))
}

pub fn pubsub(turn: &mut Turn, words: &[Bytes]) -> Replied {
    match (lower(&words[1]).as_str(), &words[2..]) {
        ("channels", [] | [_]) => {
            let admits = |channel: &&Bytes| words.get(2).is_none_or(|pattern| matches(pattern, channel));
            Ok(Reply::strings(turn.house.channels.keys().filter(admits).cloned()))
        }
        ("numsub", channels) => {
            let count = |channel| turn.house.channels.get(channel).map_or(0, |clients| clients.len() as i64);
            let pairs =
                channels.iter().map(|channel| [Reply::Bulk(channel.clone()), Reply::Integer(count(channel))]);
            Ok(Reply::Array(pairs.flatten().collect()))
        }
        ("numpat", []) => Ok(Reply::Integer(turn.house.patterns.len() as i64)),
        ("shardchannels" | "shardnumsub", _) => Ok(Reply::Array(Vec::new())),
        (name @ ("channels" | "numpat"), _) => refuse(wrong_number(&format!("pubsub|{name}"))),
        _ => refuse(unknown_subcommand("PUBSUB", &words[1])),
    }
}

#[cfg(test)]
mod tests {
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;
    use crate::serve::redis::limits::LIMITS;

    const WRONG_LIMIT: &str = "-ERR CONFIG SET failed (possibly related to argument 'client-output-buffer-limit') - Wrong \
                               number of arguments in buffer limit configuration.";

    #[test]
    fn a_subscriber_for_which_too_much_waits_is_given_up() {
        let servers = Servers::new(1, Default::default());
        let (reader, sleeper, other) = (Direct::new(&servers), Direct::new(&servers), Direct::new(&servers));
        for listener in [&reader, &sleeper] {
            assert_eq!(listener.line("SUBSCRIBE c"), "*3 $9 subscribe $1 c :1");
        }
        let message = "x".repeat(20 << 20);
        for _ in 0..2 {
            assert_eq!(other.say(&["PUBLISH", "c", &message]).as_deref(), Some(":2"));
            assert!(reader.pushed().ends_with(&message));
        }
        assert_eq!(sleeper.pushed(), "", "what waited is thrown away");
        let notices: Vec<String> = servers.take_notices().into_iter().map(|(_, text)| text).collect();
        let said =
            "s1 closes connections of subscribers for which more waits than client-output-buffer-limit lets";
        assert_eq!(notices, [said]);
        assert_eq!(other.line("CONFIG SET client-output-buffer-limit pubsub"), WRONG_LIMIT);
        assert_eq!(other.say(&["CONFIG", "SET", LIMITS, "pubsub 0 0 0"]).as_deref(), Some("+OK"));
        let limits = "normal 0 0 0 slave 268435456 67108864 60 pubsub 0 0 0";
        assert_eq!(other.line("CONFIG GET client-output-*"), format!("*2 $26 {LIMITS} $53 {limits}"));
        for _ in 0..2 {
            other.say(&["PUBLISH", "c", &message]);
        }
        assert!(reader.pushed().len() > 2 * message.len());
    }

    #[test]
    fn a_transaction_subscribes_when_it_is_run() {
        let client = Direct::new(&Servers::new(1, Default::default()));
        assert_eq!(client.line("MULTI"), "+OK");
        for line in ["SUBSCRIBE a b", "PING", "GET x", "PUBLISH a hi", "UNSUBSCRIBE a", "PSUBSCRIBE p*"] {
            assert_eq!(client.line(line), "+QUEUED", "{line}");
        }
        assert_eq!(
            client.line("EXEC"),
            "*6 *3 $9 subscribe $1 a :1 *3 $9 subscribe $1 b :2 *2 $4 pong $0  $-1 \
             *3 $7 message $1 a $2 hi :1 *3 $11 unsubscribe $1 a :1 *3 $10 psubscribe $2 p* :2"
        );
        assert_eq!(client.pushed(), "");
        let refused = "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are \
                       allowed in this context";
        assert_eq!(client.line("GET x"), refused);
        assert_eq!(client.line("PUNSUBSCRIBE"), "*3 $12 punsubscribe $2 p* :1");
    }
}
