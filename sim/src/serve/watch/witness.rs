//! What clients say of themselves, and what that comes to: the judge of two who believe that they hold.
//!
//! A client says it over a connection of its own, a line at a time, and waits for the line that comes back before it goes on.
//! So what is said is said in time: between `enter` and `leave` a client believes that it holds, and whoever enters in between
//! enters while it does.
//!
//! ```text
//!   client worker-1        what this connection is called; else the next letter
//!   want orders            it asks for the lock (optional: with it, more counts as contended)
//!   enter orders 33        it holds, with fencing token 33; without a number: with none
//!   write orders 33        it writes to what the lock protects, which turns down tokens older than the newest it has seen
//!   leave orders           it is about to give the lock back
//!   lost orders            it has noticed that it lost the lock
//! ```
//!
//! Back comes `ok`; for a write that is turned down `stale`; for a line that is none of these `error: …`. A connection that ends
//! while its client holds is the end of the client: it holds no more.

use picklock_model::time::Micros;
use picklock_properties::{
    Access, ClientId, ClientSet, Event, FencingToken, HoldId, Mode, Monitors, Promise, PromiseSet, Violation,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub const LOCKS_MAX: usize = 1_000;
const NAME_MAX: usize = 100;
const TOKENS_MAX: usize = 10_000;

/// What clients say can break. Grants count in the order in which clients say that they entered; for [`Promise::TokenOrder`],
/// which the monitors of a simulated lock judge by the order in which the store grants, see [`Tokens`].
pub fn promises() -> PromiseSet {
    monitored().union(PromiseSet::from_iter([Promise::TokenOrder]))
}

fn monitored() -> PromiseSet {
    [Promise::MutualExclusion, Promise::FencedResource].into_iter().collect()
}

/// What a client says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    Want,
    Enter,
    Leave,
    Lost,
    Write,
}

/// What a line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// `client NAME`
    Client(String),
    /// The rest: of which lock, with which token.
    Of(Word, String, Option<i64>),
}

/// Reads a line.
///
/// # Errors
/// What is wrong with it.
pub fn read(line: &str) -> Result<Said, String> {
    let mut words = line.split_whitespace();
    let verb = words.next().unwrap_or_default().to_ascii_lowercase();
    let name = words.next().unwrap_or_default();
    let rest: Vec<&str> = words.collect();
    let word = match verb.as_str() {
        "client" => None,
        "want" => Some(Word::Want),
        "enter" => Some(Word::Enter),
        "leave" => Some(Word::Leave),
        "lost" => Some(Word::Lost),
        "write" => Some(Word::Write),
        _ => return Err("a line begins with client, want, enter, leave, lost or write".to_owned()),
    };
    if name.is_empty() || name.len() > NAME_MAX || name.chars().any(char::is_control) {
        return Err(format!(
            "{verb} takes a name of 1 to {NAME_MAX} bytes that can be shown, as in {verb} orders"
        ));
    }
    let token = match (word, rest.as_slice()) {
        (_, []) => None,
        (Some(Word::Enter | Word::Write), [token]) => match token.parse() {
            Ok(token @ 0..) => Some(token),
            Ok(_) | Err(_) => {
                return Err(format!("a token is a whole number from 0 to {}, and not {token:?}", i64::MAX));
            }
        },
        (Some(Word::Enter | Word::Write), _) => return Err(format!("{verb} takes a name and one token")),
        _ => return Err(format!("{verb} takes no more than a name here")),
    };
    Ok(match word {
        None => Said::Client(name.to_owned()),
        Some(word) => Said::Of(word, name.to_owned(), token),
    })
}

/// What a word came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Heard {
    /// A write was turned down.
    pub is_turned_down: bool,
    pub broken: Vec<Violation>,
}

/// What all clients have said.
#[derive(Debug, Default)]
pub struct Witness {
    clients: Vec<String>,
    /// Those that have never said a name.
    nameless: ClientSet,
    /// Of these who is no more, the first first: their places are given to others when there is no other left.
    free: VecDeque<ClientId>,
    locks: BTreeMap<String, Lock>,
    /// How often somebody was turned away, as there were too many clients or locks.
    pub refused: u64,
    /// How many times somebody entered.
    pub entered: u64,
    /// How many writes were turned down of those whose hold another one had come after.
    pub turned_down: u64,
    /// How many of those that entered last.
    pub turned_down_in_time: u64,
    /// What was put to the test.
    pub tested: PromiseSet,
    /// Lines that say nothing.
    pub unread: Option<Unread>,
}

/// Lines that were turned down as they are none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unread {
    /// How many.
    pub count: u64,
    /// The first of them.
    pub first: String,
    /// What is wrong with it.
    pub why: String,
}

/// A lock that nobody is in, and who has asked for it all the while.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct InVain {
    pub lock: String,
    pub clients: Vec<String>,
    /// For how long now.
    #[serde(rename = "us")]
    pub length: Micros,
}

impl InVain {
    /// In a line.
    pub fn in_words(&self) -> String {
        let InVain { lock, clients, length } = self;
        let clients = clients.join(" and ");
        format!(
            "nobody was in {lock} for the last {length}, though {clients} asked for it; no judge looks at that: is it stuck?\n"
        )
    }
}

/// So much of a line that says nothing is said again.
const UNREAD_MAX: usize = 40;

/// What is known of a hold.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    id: HoldId,
    /// When its client asked for it; as it entered, if it did not say.
    pub asked: Micros,
    /// When its client entered.
    pub entered: Micros,
}

#[derive(Debug)]
struct Lock {
    monitors: Monitors,
    /// The hold that each client is in, or was in last.
    holds: BTreeMap<ClientId, Hold>,
    /// When each client last said that it wants it, of those that have not entered since.
    wanted: BTreeMap<ClientId, Micros>,
    /// Since when each of them has wanted it, however often it has said so.
    waiting: BTreeMap<ClientId, Micros>,
    /// When the last holder left or ended, if nobody has entered since; `None`: somebody is in, or nobody ever was.
    free_since: Option<Micros>,
    /// Who had asked in vain, and for how long, of those that have ended since somebody was in.
    in_vain: (BTreeSet<ClientId>, Micros),
    /// The newest token that came with a write.
    newest: Option<i64>,
    tokens: Tokens,
}

/// The tokens that clients hold by. Two clients never hold by the same one. That one is smaller than another means something only
/// if it was granted later: a client may be slow to say that it was granted, but it was not before it asked, which it did after its
/// last word about this lock, at the earliest.
#[derive(Debug, Default)]
struct Tokens {
    /// Who was the first to hold by each; the smallest are forgotten when there are many.
    held_by: BTreeMap<i64, ClientId>,
    /// The clients that have shown the token of the hold that they are in.
    shown: ClientSet,
    /// The largest one that was known when each client said its last word.
    before: BTreeMap<ClientId, (i64, ClientId)>,
}

impl Tokens {
    /// The client shows what it holds by: the client against whom that is wrong, if it is.
    fn show(&mut self, client: ClientId, token: i64) -> Option<ClientId> {
        self.shown.insert(client);
        let same = self.held_by.get(&token).copied().filter(|other| *other != client);
        let passed_by =
            self.before.get(&client).filter(|(before, _)| *before >= token).map(|(_, other)| *other);
        self.held_by.entry(token).or_insert(client);
        if self.held_by.len() > TOKENS_MAX {
            self.held_by.pop_first();
        }
        same.or(passed_by)
    }

    /// A client asks, or holds no more.
    fn spoke(&mut self, client: ClientId) {
        self.shown.remove(client);
        if let Some((largest, holder)) = self.held_by.last_key_value() {
            self.before.insert(client, (*largest, *holder));
        }
    }

    /// A client holds, and has shown nothing yet.
    fn entered(&mut self, client: ClientId) {
        self.shown.remove(client);
    }
}

impl Default for Lock {
    fn default() -> Lock {
        Lock {
            monitors: Monitors::new(monitored()),
            holds: BTreeMap::new(),
            wanted: BTreeMap::new(),
            waiting: BTreeMap::new(),
            free_since: None,
            in_vain: Default::default(),
            newest: None,
            tokens: Tokens::default(),
        }
    }
}

impl Witness {
    /// The client of this name, who may have been here before; a new one gets the next letter if it has no name.
    ///
    /// # Errors
    /// There are too many.
    pub fn client(&mut self, name: Option<&str>) -> Result<ClientId, String> {
        if let Some(at) = self.clients.iter().position(|known| Some(known.as_str()) == name) {
            return Ok(ClientId(at as u8));
        }
        if self.clients.len() < ClientId::MAX {
            let client = ClientId(self.clients.len() as u8);
            if name.is_none() {
                self.nameless.insert(client);
            }
            let letters = || (client.0..=u8::MAX).map(|letter| ClientId(letter).to_string());
            let letter = || letters().find(|letter| !self.knows(letter)).unwrap_or_default();
            self.clients.push(name.map_or_else(letter, str::to_owned));
            return Ok(client);
        }
        match self.free.pop_front().filter(|_| name.is_none()) {
            Some(client) => {
                self.locks.values_mut().for_each(|lock| lock.forget(client));
                Ok(client)
            }
            None => {
                self.refused += 1;
                Err(format!("there are more than {} clients", ClientId::MAX))
            }
        }
    }

    /// Somebody said a line that says nothing.
    pub fn not_read(&mut self, line: &str, why: &str) {
        let new = || Unread {
            count: 0,
            first: line.trim_end().chars().take(UNREAD_MAX).collect(),
            why: why.to_owned(),
        };
        self.unread.get_or_insert_with(new).count += 1;
    }

    /// What a client is called.
    pub fn name(&self, client: ClientId) -> String {
        self.clients.get(usize::from(client.0)).cloned().unwrap_or_else(|| client.to_string())
    }

    /// Takes a client's word.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn hear(
        &mut self,
        client: ClientId,
        word: Word,
        lock: &str,
        token: Option<i64>,
        now: Micros,
    ) -> Result<Heard, String> {
        if self.locks.len() >= LOCKS_MAX && !self.locks.contains_key(lock) {
            self.refused += 1;
            return Err(format!("there are more than {LOCKS_MAX} locks"));
        }
        let lock = self.locks.entry(lock.to_owned()).or_default();
        let is_in = lock.monitors.usage().holding.contains(client);
        let fence = token.map(FencingToken);
        let hold = lock.holds.get(&client).map(|hold| hold.id);
        let mut is_turned_down = false;
        let event = match word {
            Word::Want if is_in => {
                return Err("it holds this lock: leave comes before want".to_owned());
            }
            Word::Want => {
                lock.wanted.insert(client, now);
                lock.waiting.entry(client).or_insert(now);
                Event::Called { client, mode: Mode::Lock, access: Access::default() }
            }
            Word::Enter => {
                let id = HoldId(hold.map_or(0, |HoldId(last)| last.wrapping_add(1)));
                let asked = lock.wanted.remove(&client).unwrap_or(now);
                lock.waiting.remove(&client);
                lock.holds.insert(client, Hold { id, asked, entered: now });
                self.entered += 1;
                Event::Granted { client, fence, hold: id }
            }
            Word::Leave | Word::Lost if !is_in => {
                return Err("it does not hold this lock: enter comes before leave".to_owned());
            }
            Word::Leave => Event::Left { client },
            Word::Lost => Event::Lost { client },
            Word::Write if hold.is_none() => {
                return Err("it has never held this lock: enter comes before write".to_owned());
            }
            Word::Write => {
                is_turned_down = token.zip(lock.newest).is_some_and(|(token, newest)| token < newest);
                lock.newest = if is_turned_down { lock.newest } else { lock.newest.max(token) };
                match is_turned_down {
                    true => Event::Rejected { client, fence, hold },
                    false => Event::Accepted { client, fence, hold },
                }
            }
        };
        let mut broken = lock.observe(event, &mut self.tested);
        lock.note_holders(now);
        // A hold's token is the one that its client enters with, or else the first one that it writes with.
        if word == Word::Enter {
            lock.tokens.entered(client);
        }
        let is_shown = match word {
            Word::Enter => true,
            Word::Write => is_in && !lock.tokens.shown.contains(client),
            Word::Want | Word::Leave | Word::Lost => false,
        };
        if let Some(token) = token.filter(|_| is_shown) {
            if !lock.tokens.held_by.is_empty() {
                self.tested.insert(Promise::TokenOrder);
            }
            if let Some(other) = lock.tokens.show(client, token) {
                broken.push(Violation::new(Promise::TokenOrder, client, other));
            }
        }
        // What it enters with next it asks for after this.
        if matches!(word, Word::Want | Word::Leave | Word::Lost) {
            lock.tokens.spoke(client);
        }
        if is_turned_down {
            let own = lock.holds.get(&client).map(|hold| hold.entered);
            let is_later = |(other, hold): (&ClientId, &Hold)| *other != client && Some(hold.entered) > own;
            let is_late = lock.holds.iter().any(is_later);
            *if is_late { &mut self.turned_down } else { &mut self.turned_down_in_time } += 1;
        }
        Ok(Heard { is_turned_down, broken })
    }

    /// A client's connection, the only one or the last, has ended: so has the client. The locks that it held.
    pub fn gone(&mut self, client: ClientId, now: Micros) -> Vec<String> {
        if self.nameless.contains(client) && !self.free.contains(&client) {
            self.free.push_back(client);
        }
        let mut held = Vec::new();
        for (name, lock) in &mut self.locks {
            let usage = lock.monitors.usage();
            if usage.holding.contains(client) {
                held.push(name.clone());
            }
            if usage.holding.contains(client) || usage.waiting.contains(client) {
                lock.observe(Event::Crashed { client }, &mut self.tested);
            }
            lock.note_holders(now);
            lock.note_in_vain(now);
            lock.waiting.remove(&client);
        }
        held
    }

    /// Of the locks that nobody has been in though clients wanted them, until now or until the clients ended, the one of which that was so
    /// for longest.
    pub fn wanted_in_vain(&self, now: Micros) -> Option<InVain> {
        let in_vain = self.locks.iter().filter_map(|(name, lock)| {
            let (clients, length) = lock.wanted_in_vain(now)?;
            let clients = clients.into_iter().map(|client| self.name(client)).collect();
            Some(InVain { lock: name.clone(), clients, length })
        });
        in_vain.max_by_key(|in_vain| in_vain.length)
    }

    /// The hold of this lock that this client is in, or was in last.
    pub fn hold(&self, lock: &str, client: ClientId) -> Option<Hold> {
        self.locks.get(lock)?.holds.get(&client).copied()
    }

    /// A lock that this client holds.
    pub fn held_by(&self, client: ClientId) -> Option<&str> {
        let holds = |lock: &Lock| lock.monitors.usage().holding.contains(client);
        self.locks.iter().find(|(_, lock)| holds(lock)).map(|(name, _)| name.as_str())
    }

    /// Whether a client of this name has said anything.
    pub fn knows(&self, name: &str) -> bool {
        self.number(name).is_some()
    }

    /// The client of this name, if it has said anything.
    pub fn number(&self, name: &str) -> Option<ClientId> {
        self.clients.iter().position(|known| known == name).map(|at| ClientId(at as u8))
    }

    /// How many clients have said anything.
    pub fn clients(&self) -> usize {
        self.clients.len()
    }
}

impl Lock {
    /// Another one has this client's place from now on.
    fn forget(&mut self, client: ClientId) {
        self.wanted.remove(&client);
        self.waiting.remove(&client);
        self.tokens.shown.remove(client);
        self.tokens.before.remove(&client);
        self.tokens.held_by.retain(|_, holder| *holder != client);
    }

    /// Who asks for it, or did until he ended, while nobody is in, and for how long that has been so.
    fn wanted_in_vain(&self, now: Micros) -> Option<(BTreeSet<ClientId>, Micros)> {
        if !self.monitors.usage().holding.is_empty() {
            return None;
        }
        let (mut clients, mut length) = self.in_vain.clone();
        if let Some(wanted) = self.waiting.values().min() {
            let since = self.free_since.map_or(*wanted, |free| free.max(*wanted));
            length = length.max(now - since);
            clients.extend(self.waiting.keys());
        }
        (!clients.is_empty()).then_some((clients, length))
    }

    /// A client ends: what it has asked for in vain is known still.
    fn note_in_vain(&mut self, now: Micros) {
        if let Some(in_vain) = self.wanted_in_vain(now) {
            self.in_vain = in_vain;
        }
    }

    fn note_holders(&mut self, now: Micros) {
        let is_entered = !self.monitors.usage().holding.is_empty();
        match is_entered {
            true => (self.free_since, self.in_vain) = (None, Default::default()),
            false if !self.holds.is_empty() => {
                self.free_since.get_or_insert(now);
            }
            false => {}
        }
    }

    fn observe(&mut self, event: Event, tested: &mut PromiseSet) -> Vec<Violation> {
        *tested = tested.union(self.monitors.tested_by(event).intersection(promises()));
        let mut broken = Vec::new();
        self.monitors.observe(event, &mut |violation| broken.push(violation));
        // A write is of the hold in which its client says it: nobody asks for earlier ones again.
        let holds = &self.holds;
        self.monitors.forget_holds(&|client, hold| holds.get(&client).is_some_and(|last| last.id != hold));
        broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of clients, and what comes of the last one.
    fn said(lines: &[(&str, &str)]) -> Result<Heard, String> {
        let mut witness = Witness::default();
        let mut last = Err("nothing was said".to_owned());
        for (at, (client, line)) in lines.iter().enumerate() {
            let client = witness.client(Some(client))?;
            last = match read(line)? {
                Said::Of(word, lock, token) => witness.hear(client, word, &lock, token, Micros(at as i64)),
                Said::Client(name) => Err(name),
            };
        }
        last
    }

    #[test]
    fn who_asks_for_a_lock_that_nobody_is_in_waits_in_vain_until_somebody_enters() {
        let mut witness = Witness::default();
        let [a, b] = ["A", "B"].map(|name| witness.client(Some(name)).unwrap());
        let say = |witness: &mut Witness, client, word, at| {
            witness.hear(client, word, "orders", None, Micros(at)).unwrap();
        };
        let in_vain = |witness: &Witness, at| {
            let in_vain = witness.wanted_in_vain(Micros(at))?;
            Some((in_vain.clients.join(" "), in_vain.length.0))
        };
        say(&mut witness, a, Word::Want, 1);
        assert_eq!(in_vain(&witness, 5), Some(("A".to_owned(), 4)));
        say(&mut witness, a, Word::Enter, 10);
        say(&mut witness, b, Word::Want, 11);
        assert_eq!(in_vain(&witness, 90), None, "somebody is in");
        assert_eq!(witness.gone(a, Micros(100)), ["orders"]);
        // However often it asks.
        say(&mut witness, b, Word::Want, 120);
        assert_eq!(in_vain(&witness, 150), Some(("B".to_owned(), 50)));
        assert_eq!(witness.gone(b, Micros(160)), [""; 0]);
        assert_eq!(in_vain(&witness, 200), Some(("B".to_owned(), 60)), "it had asked until it ended");
        say(&mut witness, a, Word::Enter, 300);
        say(&mut witness, a, Word::Leave, 301);
        assert_eq!(in_vain(&witness, 400), None, "nobody asks any more");
    }

    #[test]
    fn who_enters_while_another_holds_breaks_mutual_exclusion() {
        let heard = said(&[("A", "enter orders"), ("B", "enter orders")]).unwrap();
        let violation = Violation::new(Promise::MutualExclusion, ClientId(1), ClientId(0));
        assert_eq!(heard.broken, [violation]);
        for end in ["leave orders", "lost orders"] {
            assert_eq!(said(&[("A", "enter orders"), ("A", end), ("B", "enter orders")]).unwrap().broken, []);
        }
        assert_eq!(said(&[("A", "enter orders"), ("B", "enter bills")]).unwrap().broken, [], "another lock");
    }

    #[test]
    fn a_late_write_is_turned_down_by_its_token_and_accepted_without_one() {
        let both = [("A", "enter orders 1"), ("B", "enter orders 2"), ("B", "write orders 2")];
        let late = said(&[both.as_slice(), &[("A", "write orders 1")]].concat()).unwrap();
        assert_eq!(late, Heard { is_turned_down: true, broken: Vec::new() });
        let blind = said(&[both.as_slice(), &[("A", "write orders")]].concat()).unwrap();
        let violation = Violation::new(Promise::FencedResource, ClientId(0), ClientId(1));
        assert_eq!(blind, Heard { is_turned_down: false, broken: vec![violation] });
    }

    #[test]
    fn clients_without_a_name_that_are_gone_make_room_and_who_is_turned_away_is_counted() {
        let mut witness = Witness::default();
        assert_eq!(witness.client(Some("B")), Ok(ClientId(0)));
        let nameless: Vec<ClientId> =
            (1..ClientId::MAX).map(|_| witness.client(None).expect("there is room")).collect();
        assert!(nameless.iter().all(|client| witness.name(*client) != "B"), "each has a letter of its own");
        assert!(witness.client(None).is_err() && witness.client(Some("worker")).is_err());
        assert_eq!(witness.refused, 2);
        let gone = nameless[7];
        let hear = |witness: &mut Witness, client, word| {
            witness.hear(client, word, "orders", None, Micros::ZERO).expect("it may say so").broken
        };
        assert_eq!(hear(&mut witness, gone, Word::Enter), []);
        assert_eq!(witness.gone(gone, Micros(9)), ["orders"]);
        assert_eq!(witness.client(None), Ok(gone));
        assert_eq!(hear(&mut witness, gone, Word::Enter), [], "another one enters, after its end");
        let two = hear(&mut witness, nameless[8], Word::Enter);
        assert_eq!(two.first().map(|violation| violation.promise), Some(Promise::MutualExclusion));
        assert_eq!(witness.refused, 2);
    }

    #[test]
    fn a_token_that_does_not_grow_is_told_from_one_that_is_said_late() {
        let order = |lines: &[(&str, &str)]| said(lines).unwrap().broken;
        let falls =
            [("A", "enter orders 5"), ("A", "leave orders"), ("B", "want orders"), ("B", "enter orders 3")];
        let violation = Violation::new(Promise::TokenOrder, ClientId(1), ClientId(0));
        assert_eq!(order(&falls), [violation]);
        let own = [("A", "enter orders 5"), ("A", "leave orders"), ("A", "enter orders 5")];
        assert_eq!(order(&own), [Violation::new(Promise::TokenOrder, ClientId(0), ClientId(0))]);
        let late = [falls[2], falls[0], falls[1], falls[3]];
        assert_eq!(order(&late), [], "B may have been granted before A");
        let same = [falls[2], falls[0], falls[1], ("B", "enter orders 5")];
        let of_second = Violation::new(Promise::TokenOrder, ClientId(0), ClientId(1));
        assert_eq!(order(&same), [of_second], "whoever was granted first, two have one token");
        let written = [
            falls[0],
            falls[1],
            falls[2],
            ("B", "enter orders"),
            ("B", "write orders 3"),
            ("B", "write orders 3"),
        ];
        assert!(
            order(&written[..5]).contains(&violation) && !order(&written).contains(&violation),
            "said once"
        );
        let unasked = [falls[0], falls[1], falls[3]];
        assert_eq!(order(&unasked), [], "nobody knows when B asked");
    }

    #[test]
    fn the_end_of_a_client_is_the_end_of_its_hold() {
        let mut witness = Witness::default();
        let (a, b) = (witness.client(None).unwrap(), witness.client(None).unwrap());
        assert_eq!((witness.name(a), witness.name(b)), ("A".to_owned(), "B".to_owned()));
        witness.hear(a, Word::Enter, "orders", None, Micros::ZERO).unwrap();
        assert_eq!(witness.gone(a, Micros(9)), ["orders"]);
        witness.hear(b, Word::Want, "orders", None, Micros(1)).unwrap();
        assert_eq!(witness.hear(b, Word::Enter, "orders", None, Micros(2)).unwrap().broken, []);
        let hold = witness.hold("orders", b).unwrap();
        assert_eq!((hold.asked, hold.entered), (Micros(1), Micros(2)));
    }

    #[test]
    fn a_pass_means_something_if_somebody_wanted_what_another_had() {
        let mut witness = Witness::default();
        let (a, b) = (witness.client(None).unwrap(), witness.client(None).unwrap());
        for (client, word) in [(a, Word::Enter), (a, Word::Leave), (b, Word::Enter)] {
            witness.hear(client, word, "orders", None, Micros::ZERO).unwrap();
        }
        assert!(!witness.tested.contains(Promise::MutualExclusion));
        witness.hear(a, Word::Want, "orders", None, Micros::ZERO).unwrap();
        assert!(witness.tested.contains(Promise::MutualExclusion));
    }

    #[test]
    fn what_is_no_line_is_told_what_would_be_one() {
        for (line, what) in [
            ("", "a line begins with client, want, enter, leave, lost or write"),
            ("enter", "enter takes a name of 1 to 100 bytes that can be shown, as in enter orders"),
            ("want \u{1b}[31m", "want takes a name of 1 to 100 bytes that can be shown, as in want orders"),
            ("enter orders x", "a token is a whole number from 0 to 9223372036854775807, and not \"x\""),
            ("enter orders -1", "a token is a whole number from 0 to 9223372036854775807, and not \"-1\""),
            ("client A b", "client takes no more than a name here"),
            ("leave orders 1", "leave takes no more than a name here"),
        ] {
            assert_eq!(read(line), Err(what.to_owned()));
        }
        assert_eq!(
            said(&[("A", "write orders 1")]).unwrap_err(),
            "it has never held this lock: enter comes before write"
        );
        assert_eq!(
            said(&[("A", "leave orders")]).unwrap_err(),
            "it does not hold this lock: enter comes before leave"
        );
    }
}
