//! What happened at the servers, on one time line: the last of it in memory, all of it in a file if one is wanted.

use picklock_model::machine::Node;
use picklock_model::time::Micros;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::Arc;

/// How much is kept in memory: the last minutes of a lock that is used, and little beside the servers themselves.
const KEPT_MAX: usize = 40_000;
/// How many bytes of words: that much is kept even of statements and values that are all long.
const KEPT_BYTES_MAX: usize = 32 << 20;
/// So many are forgotten at once.
const FORGOTTEN_AT_ONCE: usize = 1_000;
/// Of how many connections it is kept who they were.
const LINKS_MAX: usize = 20_000;

/// A connection, numbered from 1 over all servers.
pub type LinkId = u64;

/// What can happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Somebody connects.
    Connected,
    /// A connection ends: its client has closed it.
    Closed,
    /// A connection ends: the server's process has, or a message on it was lost.
    Reset,
    /// A command has come out of its client's socket: it is on its way.
    Asked,
    /// A command is run.
    Ran,
    /// A reply was written into its client's socket.
    Told,
    /// A fault strikes.
    Struck,
    /// A fault is over.
    Over,
    /// Links are whole, processes run, clocks are right.
    Healed,
    /// A server does something of its own accord, or is asked for something in vain.
    Noted,
    /// A client says that it wants a lock.
    Wants,
    /// A client says that it holds a lock.
    Entered,
    /// A client says that it leaves, and will give the lock back.
    Left,
    /// A client says that it has noticed that it lost the lock.
    Lost,
    /// A client writes under the lock, and the write is accepted.
    Wrote,
    /// A client writes under the lock, and the write is turned down: its token is old.
    TurnedDown,
    /// A client is gone.
    Gone,
    /// A server ends a client's session, and tells nobody.
    SessionOver,
    /// So many servers have given a lock to somebody as make it theirs.
    HandedOut,
    /// A promise is broken.
    Broken,
}

/// One thing that happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Happened {
    /// True time since the first server was served.
    pub at: Micros,
    pub what: What,
    pub server: Option<u8>,
    pub link: Option<LinkId>,
    /// The client that says it, or is struck.
    pub client: Option<String>,
    /// A command, a fault, a lock.
    pub text: Arc<str>,
    /// What a command came to.
    pub reply: Option<Arc<str>>,
    /// The number of the fault, from 1.
    pub strike: Option<usize>,
}

impl Happened {
    pub fn new(at: Micros, what: What, text: impl Into<Arc<str>>) -> Happened {
        let text = text.into();
        Happened { at, what, server: None, link: None, client: None, text, reply: None, strike: None }
    }
}

/// One thing that happened, with words that are somebody else's.
#[derive(Clone, Copy, Debug)]
struct Fact<'a> {
    at: Micros,
    what: What,
    server: Option<u8>,
    link: Option<LinkId>,
    client: Option<&'a str>,
    /// What is not UTF-8 in it is shown as such.
    text: &'a [u8],
    reply: Option<&'a [u8]>,
    strike: Option<usize>,
}

/// One thing that happened, as it is kept: every command leaves three of these, so its words lie with all others' in one place, in
/// this order, and nothing is allocated for it.
#[derive(Debug)]
struct Kept {
    at: Micros,
    link: Option<NonZeroU64>,
    strike: Option<NonZeroU64>,
    /// The lengths of its words in bytes.
    text: u32,
    reply: Option<u32>,
    client: Option<u32>,
    what: What,
    server: Option<u8>,
}

/// Longer words are cut off: nobody reads them, and they would take the room of others.
const WORDS_MAX: usize = 1 << 13;

/// Who is at the other end of a connection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Link {
    pub server: u8,
    pub address: Option<SocketAddr>,
    /// The client of a trial: it has ports of its own.
    pub client: Option<u8>,
    /// What it says it is called (`CLIENT SETNAME`).
    pub name: String,
}

/// The time line.
#[derive(Debug, Default)]
pub struct Record {
    is_on: bool,
    past: VecDeque<Kept>,
    /// Some of it is forgotten.
    is_cut: bool,
    /// What they say, one after the other.
    words: VecDeque<u8>,
    /// Where the words of a command are put together.
    line: Vec<u8>,
    links: BTreeMap<LinkId, Link>,
    last_link: LinkId,
    /// Ports that belong to one client of a trial each.
    doors: BTreeMap<u16, u8>,
    file: Option<BufWriter<File>>,
    /// The date at true time 0, in microseconds since 1970.
    date: i64,
    /// The file could not be written to.
    failed: Option<std::io::Error>,
}

/// A line of the file.
#[derive(Serialize)]
struct Line<'a> {
    at_us: i64,
    unix_us: i64,
    what: What,
    #[serde(skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connection: Option<LinkId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<SocketAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<usize>,
    #[serde(skip_serializing_if = "str::is_empty")]
    text: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<&'a str>,
}

impl Record {
    /// From now on what happens is kept. `date` is that of true time 0, in microseconds since 1970.
    pub fn begin(&mut self, date: i64, file: Option<File>) {
        (self.is_on, self.date) = (true, date);
        // A ring touches all of the room it has, sooner or later.
        self.past.reserve_exact(KEPT_MAX + FORGOTTEN_AT_ONCE);
        self.file = file.map(BufWriter::new);
    }

    /// Whoever comes through one of these ports is this client of a trial.
    pub fn know_doors(&mut self, doors: BTreeMap<u16, u8>) {
        self.doors = doors;
    }

    /// How many clients of a trial there are.
    pub fn clients(&self) -> u8 {
        self.doors.values().max().map_or(0, |last| last.saturating_add(1))
    }

    /// Whether what happens is kept.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Somebody connects to a server, from and to these addresses: here, and at the other end.
    pub fn connect(&mut self, at: Micros, server: u8, ends: Option<(SocketAddr, SocketAddr)>) -> LinkId {
        let client = ends.and_then(|(here, _)| self.doors.get(&here.port()).copied());
        let link = Link { server, address: ends.map(|(_, there)| there), client, name: String::new() };
        self.last_link += 1;
        if self.is_on {
            self.links.insert(self.last_link, link);
            while self.links.len() > LINKS_MAX {
                self.links.pop_first();
            }
            self.add(Happened { link: Some(self.last_link), ..Happened::new(at, What::Connected, "") });
        }
        self.last_link
    }

    /// The newest connection.
    pub fn last_link(&self) -> LinkId {
        self.last_link
    }

    /// Who is at the other end of a connection.
    pub fn link(&self, link: LinkId) -> Option<&Link> {
        self.links.get(&link)
    }

    /// Which client of a trial is there, if it is one.
    pub fn client_of(&self, link: LinkId) -> Option<u8> {
        self.links.get(&link).and_then(|link| link.client)
    }

    /// Whether this client of a trial has connected.
    pub fn has_seen(&self, client: u8) -> bool {
        self.links.values().any(|link| link.client == Some(client))
    }

    /// A connection says what it is called.
    pub fn name(&mut self, link: LinkId, name: &str) {
        let Some(link) = self.links.get_mut(&link) else { return };
        // Most have no name. Comparing nothing with nothing is not free: some processors are slow to see that there is nothing.
        let is_same = link.name.len() == name.len() && (name.is_empty() || link.name == name);
        if !is_same {
            link.name = name.to_owned();
        }
    }

    /// Something happens.
    pub fn add(&mut self, happened: Happened) {
        let Happened { at, what, server, link, client, text, reply, strike } = &happened;
        let server = server.or_else(|| self.link((*link)?).map(|link| link.server));
        self.keep(Fact {
            at: *at,
            what: *what,
            server,
            link: *link,
            client: client.as_deref(),
            text: text.as_bytes(),
            reply: reply.as_deref().map(str::as_bytes),
            strike: *strike,
        });
    }

    /// A connection's command is on its way to this server, is run, or is answered.
    pub fn of_command(
        &mut self,
        at: Micros,
        what: What,
        server: u8,
        link: LinkId,
        text: impl FnOnce(&mut Vec<u8>),
        reply: Option<&str>,
    ) {
        if !self.is_on {
            return;
        }
        let (server, link, mut line) = (Some(server), Some(link), std::mem::take(&mut self.line));
        line.clear();
        text(&mut line);
        let reply = reply.map(str::as_bytes);
        self.keep(Fact { at, what, server, link, client: None, text: &line, reply, strike: None });
        self.line = line;
    }

    fn keep(&mut self, fact: Fact) {
        if !self.is_on {
            return;
        }
        self.write(&fact);
        if self.past.len() >= KEPT_MAX + FORGOTTEN_AT_ONCE || self.words.len() > KEPT_BYTES_MAX {
            self.is_cut = true;
            let forgotten = self.past.len().min(FORGOTTEN_AT_ONCE);
            let words: usize = self.past.drain(..forgotten).map(|kept| kept.words()).sum();
            self.words.drain(..words);
        }
        let mut put = |words: &[u8]| {
            let words = &words[..words.len().min(WORDS_MAX)];
            self.words.extend(words);
            words.len() as u32
        };
        let kept = Kept {
            at: fact.at,
            link: fact.link.and_then(NonZeroU64::new),
            strike: fact.strike.and_then(|strike| NonZeroU64::new(strike as u64)),
            text: put(fact.text),
            reply: fact.reply.map(&mut put),
            client: fact.client.map(str::as_bytes).map(&mut put),
            what: fact.what,
            server: fact.server,
        };
        self.past.push_back(kept);
    }

    /// How much is kept, if that is not all that ever happened.
    pub fn kept_of_more(&self) -> Option<usize> {
        (self.is_cut || self.past.len() > KEPT_MAX).then_some(self.past.len().min(KEPT_MAX))
    }

    /// What is kept, the oldest first.
    pub fn past(&self) -> impl Iterator<Item = Happened> {
        let old = self.past.len().saturating_sub(KEPT_MAX);
        let mut from: usize = self.past.range(..old).map(Kept::words).sum();
        self.past.range(old..).map(move |kept| {
            let mut next = |length: u32| {
                let words = from..from + length as usize;
                from = words.end;
                words
            };
            Happened {
                at: kept.at,
                what: kept.what,
                server: kept.server,
                link: kept.link.map(NonZeroU64::get),
                text: self.read(next(kept.text)).into(),
                reply: kept.reply.map(|length| self.read(next(length)).into()),
                client: kept.client.map(|length| self.read(next(length))),
                strike: kept.strike.map(|strike| strike.get() as usize),
            }
        })
    }

    fn read(&self, words: Range<usize>) -> String {
        let bytes: Vec<u8> = self.words.range(words).copied().collect();
        // Only the last letter of words that were cut off may be none.
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Brings on disk what is in the file; what was wrong with that, if anything was.
    pub fn finish(&mut self) -> Option<std::io::Error> {
        let flushed = self.file.as_mut().map_or(Ok(()), BufWriter::flush);
        self.failed.take().or(flushed.err())
    }

    fn write(&mut self, happened: &Fact) {
        let Some(file) = &mut self.file else { return };
        let link = happened.link.and_then(|link| self.links.get(&link));
        let of_link = link.and_then(|link| link.client).map(|client| Node::Client(client).to_string());
        let reply = happened.reply.map(String::from_utf8_lossy);
        let line = Line {
            at_us: happened.at.0,
            unix_us: self.date.saturating_add(happened.at.0),
            what: happened.what,
            server: happened.server.map(|server| Node::Server(server).to_string()),
            client: happened.client.or(of_link.as_deref()),
            connection: happened.link,
            address: link.and_then(|link| link.address),
            name: link.map(|link| link.name.as_str()).filter(|name| !name.is_empty()),
            fault: happened.strike,
            text: &String::from_utf8_lossy(happened.text),
            reply: reply.as_deref(),
        };
        let written = serde_json::to_writer(&mut *file, &line).map_err(std::io::Error::from);
        if let Err(error) = written.and_then(|()| file.write_all(b"\n")) {
            self.failed.get_or_insert(error);
            self.file = None;
        }
    }
}

impl Kept {
    /// How many bytes of words are its own.
    fn words(&self) -> usize {
        let others = [self.reply, self.client].into_iter().flatten();
        others.fold(self.text as usize, |sum, length| sum + length as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_bounded_and_the_last_of_it() {
        let mut record = Record::default();
        record.add(Happened::new(Micros::ZERO, What::Healed, "before it was on"));
        record.begin(0, None);
        for at in 0..KEPT_MAX as i64 + 10 {
            record.add(Happened::new(Micros(at), What::Noted, ""));
        }
        assert_eq!(record.past().count(), KEPT_MAX);
        assert_eq!(record.past().next().map(|first| first.at), Some(Micros(10)));
    }

    #[test]
    fn long_words_are_cut_off_and_bounded_all_together() {
        let mut record = Record::default();
        record.begin(0, None);
        let long = "x".repeat(2 * WORDS_MAX);
        let last = (3 * KEPT_BYTES_MAX / WORDS_MAX) as i64;
        for at in 0..=last {
            let reply = Some(long.as_str().into());
            record.add(Happened { reply, ..Happened::new(Micros(at), What::Ran, long.as_str()) });
        }
        let count = record.past().filter(|happened| happened.text.len() == WORDS_MAX).count();
        let bytes = 2 * WORDS_MAX * count;
        let full = KEPT_BYTES_MAX - 2 * FORGOTTEN_AT_ONCE * WORDS_MAX..=KEPT_BYTES_MAX + 2 * WORDS_MAX;
        assert!(full.contains(&bytes), "{bytes}");
        assert_eq!(record.past().last().map(|last| last.at), Some(Micros(last)));
        assert_eq!(record.kept_of_more(), Some(count));
    }

    #[test]
    fn everything_that_is_kept_has_its_own_words() {
        let mut record = Record::default();
        record.begin(0, None);
        let all = |at: i64| Happened {
            server: (at % 3 == 0).then_some(1),
            link: (at % 4 > 0).then_some(at as u64),
            client: (at % 5 == 0).then(|| format!("client {at}")),
            reply: (at % 2 == 0).then(|| format!("reply {at}").into()),
            strike: (at % 7 > 0).then_some(at as usize),
            ..Happened::new(Micros(at), What::Ran, format!("text {at}"))
        };
        let last = 2 * KEPT_MAX as i64 + 5;
        (0..last).for_each(|at| record.add(all(at)));
        assert!(record.past().eq((last - KEPT_MAX as i64..last).map(all)));
    }

    #[test]
    fn a_line_says_who_where_and_when() {
        let path = std::env::temp_dir().join(format!("picklock-record-{}.jsonl", std::process::id()));
        let mut record = Record::default();
        record.begin(1_000_000, Some(File::create(&path).unwrap()));
        let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
        record.know_doors(BTreeMap::from([(7000, 0)]));
        let link = record.connect(Micros(5), 1, Some((address(7000), address(50_000))));
        record.name(link, "worker");
        let reply = Some("OK".into());
        record.add(Happened { link: Some(link), reply, ..Happened::new(Micros(7), What::Ran, "SET lock v") });
        assert!(record.finish().is_none());
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let expected = serde_json::json!({
            "at_us": 7, "unix_us": 1_000_007, "what": "ran", "server": "s2", "client": "A", "connection": 1,
            "address": "127.0.0.1:50000", "name": "worker", "text": "SET lock v", "reply": "OK",
        });
        assert_eq!(last, expected);
    }
}
