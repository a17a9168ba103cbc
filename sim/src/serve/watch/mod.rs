//! What is known of the use of the servers: what happened, who holds, and what that breaks.
//!
//! ```text
//!   commands and replies ──▶ claims: what the servers have handed out ──┐
//!   witness connections ──▶ witness: what clients believe ──────────────┼──▶ broken: who, against whom, by which fault
//!   strikes and their ends ─────────────────────────────────────────────┘
//!                  └────────────── record: all of it, on one time line
//! ```
//!
//! Two judges, and they judge different things. *Clients* say when they enter and leave ([`witness`]): two who are in at once break
//! mutual exclusion. *Servers* know only what they have handed out ([`claims`]): a lock that is somebody's for some time still, who
//! has not given it back, and becomes somebody else's, was handed out twice. Where clients say anything, theirs is the verdict.

mod broken;
pub mod claims;
mod listen;
pub mod losses;
pub mod record;
mod seen;
mod story;
pub mod witness;

pub use broken::{Because, Broken, BrokenLine, JudgedBy, Verdict};
pub use listen::listen;
pub use story::Picture;

use super::servers::SessionOver;
use crate::plans::plan::Fault;
use claims::{Claim, Claims, Overlap, Owner, Taken};
use losses::{Cause, Loss, Losses};
use picklock_model::machine::Node;
use picklock_model::time::Micros;
use picklock_properties::{ClientId, Promise, PromiseSet, Violation};
use record::{Happened, Record, What};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use tokio::sync::mpsc::UnboundedSender;
use witness::{Said, Witness, Word};

/// How many strikes are remembered: those of the last plans.
const STRIKES_MAX: usize = 10_000;
/// How many broken promises are told: the rest is counted.
const BROKEN_MAX: usize = 1_000;

/// So soon after a process was killed its connections are seen to end.
const CLOSES_WITHIN: Micros = Micros::seconds(1);

/// A fault that has struck.
#[derive(Clone, Debug)]
pub struct Strike {
    /// From 1 on, as they strike.
    pub number: usize,
    pub at: Micros,
    pub over: Option<Micros>,
    pub fault: Fault,
    /// Which servers it is about.
    pub servers: Vec<u8>,
    /// Which client of a trial it is about.
    pub client: Option<u8>,
}

impl Strike {
    /// Whether it ended processes of servers that were down already, and took nothing more along: nothing came of it.
    fn is_vain<'a>(&self, mut earlier: impl Iterator<Item = &'a Strike>) -> bool {
        let takes_along =
            |strike: &Strike| matches!(strike.fault, Fault::PowerLoss { .. } | Fault::Replace { .. });
        let may_be_vain = |other: &Strike| match self.fault {
            Fault::Crash { .. } => matches!(other.fault, Fault::Crash { .. }) || takes_along(other),
            Fault::PowerLoss { .. } => takes_along(other),
            _ => false,
        };
        let is_down = |other: &Strike| other.over.is_none_or(|over| over > self.at);
        let of_same = |other: &Strike| !self.servers.is_empty() && other.servers == self.servers;
        earlier.any(|other| may_be_vain(other) && is_down(other) && of_same(other))
    }
}

/// What a client of a trial does, for whoever aims faults at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    /// It holds.
    Granted(u8),
    /// It leaves.
    Left(u8),
}

/// What is known of the use of the servers.
#[derive(Debug, Default)]
pub struct Watch {
    pub record: Record,
    pub claims: Claims,
    pub witness: Witness,
    strikes: VecDeque<Strike>,
    /// Whether servers compare their wall clocks: a step is over when the clock shows the true time again, else at once.
    clocks_compared: bool,
    pub losses: Losses,
    last_strike: usize,
    broken: Vec<Broken>,
    broken_times: u64,
    /// The promises that are asked for; `None`: all that can be judged.
    asked: Option<PromiseSet>,
    /// How many times two were in at once, where nobody asks for that.
    pub overlapped_unasked: u64,
    /// How many times somebody asked for a lock that was somebody else's, as far as the servers know.
    pub turned_away: u64,
    /// How many connections of each client there are to the witness.
    seats: BTreeMap<ClientId, u32>,
    /// Since when each client that had one has none.
    away: BTreeMap<ClientId, Micros>,
    /// Who was started again, and has not come to the witness yet, where it was before.
    yet_to_come: BTreeSet<ClientId>,
    /// When the process of each client of a trial was killed last.
    killed: BTreeMap<u8, Micros>,
    /// Who would like to hear what clients of a trial do.
    pub listener: Option<UnboundedSender<Deed>>,
}

impl Watch {
    /// Of servers that compare their wall clocks with each other's, or do not.
    pub fn of_servers(clocks_compared: bool) -> Watch {
        Watch { clocks_compared, ..Watch::default() }
    }

    /// Only these promises are judged from now on.
    pub fn ask(&mut self, promises: PromiseSet) {
        self.asked = Some(promises);
    }

    /// Whether anybody asks for this promise.
    fn is_asked(&self, promise: Promise) -> bool {
        self.asked.is_none_or(|asked| asked.contains(promise))
    }

    /// A fault strikes; its number.
    pub fn struck(&mut self, at: Micros, fault: &Fault, servers: Vec<u8>, client: Option<u8>) -> usize {
        self.last_strike += 1;
        let number = self.last_strike;
        if !self.record.is_on() {
            return number;
        }
        if self.strikes.len() >= STRIKES_MAX {
            self.strikes.pop_front();
        }
        let fault = fault.clone();
        self.record.add(Happened {
            strike: Some(number),
            server: servers.first().copied().filter(|_| servers.len() == 1),
            client: client.map(|client| Node::Client(client).to_string()),
            ..Happened::new(at, What::Struck, fault.to_string())
        });
        let is_a_moment = match fault {
            Fault::LoseNext { .. } | Fault::Reset { .. } => true,
            Fault::ClockStep { .. } => !self.clocks_compared || servers.is_empty(),
            _ => false,
        };
        let over = is_a_moment.then_some(at);
        if let (Some(client), Fault::Crash { .. } | Fault::PowerLoss { .. } | Fault::Replace { .. }) =
            (client, &fault)
        {
            self.kills(client, at);
        }
        self.strikes.push_back(Strike { number, at, over, fault, servers, client });
        self.ends_steps(at);
        number
    }

    /// Of faults in the order in which they struck, the last one; if that is of a clock, the one whose clock is wrong by most.
    fn suspect<'a>(&self, strikes: &[&'a Strike], now: Micros) -> Option<&'a Strike> {
        let last = *strikes.last()?;
        let wrong = |strike: &Strike| self.clock_error(strike, now);
        if wrong(last).is_none() {
            return Some(last);
        }
        // Of steps of one clock, the one that took it furthest to where it is now.
        let steps_to_it = |strike: &Strike| {
            let by = left_wrong_by(&strike.fault).filter(|_| strike.over.is_none())?;
            Some(by.0.saturating_mul(self.steps_of(strike).signum()))
        };
        strikes.iter().copied().max_by_key(|strike| (wrong(strike), steps_to_it(strike), strike.number))
    }

    /// By how much steps that are in force have left a strike's clock ahead.
    fn steps_of(&self, strike: &Strike) -> i64 {
        let is_of_it = |other: &&Strike| other.over.is_none() && other.servers == strike.servers;
        self.strikes
            .iter()
            .filter(is_of_it)
            .filter_map(|other| left_wrong_by(&other.fault))
            .map(|by| by.0)
            .sum()
    }

    /// By how much the clock that a fault is about is wrong by now; if it is over, by how much it was. `None`: it is not about a clock.
    fn clock_error(&self, strike: &Strike, now: Micros) -> Option<i64> {
        let until = strike.over.map_or(now, |over| over.min(now));
        let lasted = until.0.saturating_sub(strike.at.0);
        match strike.fault {
            Fault::ClockStep { by, .. } if strike.over.is_some() => Some(by.0.abs()),
            Fault::ClockStep { .. } => Some(self.steps_of(strike).abs()),
            Fault::Strobe { by, .. } => Some(by.0.abs()),
            Fault::Drift { ppm, .. } => Some(lasted.saturating_mul(i64::from(ppm).abs()) / 1_000_000),
            Fault::Freeze { .. } => Some(lasted),
            Fault::CoarseClock { granularity, .. } => Some(granularity.0),
            _ => None,
        }
    }

    /// Steps of clocks are over that have come to nothing together.
    fn ends_steps(&mut self, at: Micros) {
        let Some(last) = self.strikes.back() else { return };
        let is_of_it = |strike: &&Strike| strike.over.is_none() && strike.servers == last.servers;
        let step = |strike: &Strike| left_wrong_by(&strike.fault).map(|by| (strike.number, by));
        let steps: Vec<(usize, Micros)> = self.strikes.iter().filter(is_of_it).filter_map(step).collect();
        if step(last).is_some() && steps.iter().map(|(_, by)| by.0).sum::<i64>() == 0 {
            steps.into_iter().for_each(|(number, _)| self.ends_fault(at, number));
        }
    }

    /// The process of a client of a trial has ended: what it had is nobody's.
    pub fn ended(&mut self, client: u8, at: Micros) {
        self.claims.ended(client, at);
        self.losses.ended(client, self.record.last_link());
    }

    /// The process of a client of a trial is killed. It holds no more from then on, though its connections are still to be seen to end:
    /// what the kernel takes back from a dead process, a lock of a file, is another one's before that.
    fn kills(&mut self, client: u8, at: Micros) {
        self.killed.insert(client, at);
        self.losses.ended(client, self.record.last_link());
        let name = Node::Client(client).to_string();
        let known = self.witness.knows(&name).then(|| self.witness.client(Some(&name)));
        if let Some(Ok(client)) = known {
            self.ends(client, at);
        }
    }

    /// Whether the process of a client of a trial was killed since then.
    pub fn was_killed_since(&self, client: u8, since: Micros) -> bool {
        self.killed.get(&client).is_some_and(|killed| *killed >= since)
    }

    /// A fault is over: of what leaves a clock wrong, nothing but the strike.
    pub fn over(&mut self, at: Micros, number: usize) {
        let strike = self.strikes.iter().find(|strike| strike.number == number);
        let stays =
            strike.is_some_and(|strike| self.clocks_compared && left_wrong_by(&strike.fault).is_some());
        if !stays {
            self.ends_fault(at, number);
        }
    }

    fn ends_fault(&mut self, at: Micros, number: usize) {
        let Some(strike) = self.strikes.iter_mut().find(|strike| strike.number == number) else { return };
        if strike.over.is_some() {
            return;
        }
        strike.over = Some(at);
        self.record.add(Happened {
            strike: Some(number),
            server: strike.servers.first().copied().filter(|_| strike.servers.len() == 1),
            client: strike.client.map(|client| Node::Client(client).to_string()),
            ..Happened::new(at, What::Over, strike.fault.to_string())
        });
    }

    /// A server has ended a session.
    pub fn session_over(&mut self, at: Micros, server: u8, over: &SessionOver) {
        let client = self.record.client_of(over.link);
        let name = self.owner(Owner { link: over.link, client });
        let why = if over.is_closed { "it was closed" } else { "nothing came from it in time" };
        let text = format!("{name}'s session is over: {why}");
        self.record.add(Happened {
            server: Some(server),
            link: Some(over.link),
            client: Some(name),
            ..Happened::new(at, What::SessionOver, text)
        });
        if let Some(client) = client {
            self.losses.session_ended(client);
            if !over.is_closed {
                self.losses.session_over(at, server, client, over.link);
            }
        }
    }

    /// Whatever was wrong is right.
    pub fn healed(&mut self, at: Micros) {
        let open: Vec<usize> =
            self.strikes.iter().filter(|strike| strike.over.is_none()).map(|strike| strike.number).collect();
        open.into_iter().for_each(|number| self.ends_fault(at, number));
        self.record.add(Happened::new(at, What::Healed, ""));
    }

    /// How many faults have struck.
    pub fn faults_struck(&self) -> usize {
        self.last_strike
    }

    /// What has struck, the first first.
    pub fn strikes(&self) -> impl DoubleEndedIterator<Item = &Strike> {
        self.strikes.iter()
    }

    /// Somebody has made a connection to the witness: under which name, or the client of the trial that it is.
    ///
    /// # Errors
    /// There are too many clients.
    pub fn sits(&mut self, name: Option<&str>) -> Result<ClientId, String> {
        let client = self.witness.client(name)?;
        *self.seats.entry(client).or_default() += 1;
        self.away.remove(&client);
        self.yet_to_come.remove(&client);
        Ok(client)
    }

    /// A connection to the witness has ended, or is another client's from now on.
    pub fn stands(&mut self, client: ClientId, at: Micros) {
        let seats = self.seats.entry(client).or_default();
        *seats = seats.saturating_sub(1);
        if *seats > 0 {
            return;
        }
        // What a killed process leaves is not what the next one has left.
        let killed = number_of(&self.witness.name(client)).and_then(|number| self.killed.get(&number));
        if killed.is_none_or(|killed| at - *killed >= CLOSES_WITHIN) {
            self.away.insert(client, at);
        }
        self.ends(client, at);
    }

    /// The process of a client of a trial is started again: it takes as long as it likes to come to the witness.
    pub fn starts(&mut self, client: u8) {
        if let Some(client) = self.witness.number(&Node::Client(client).to_string()) {
            self.away.remove(&client);
            self.yet_to_come.insert(client);
        }
    }

    /// Whether a client of a trial was started again, and has not come to the witness yet, where it was before.
    pub fn has_yet_to_come(&self, client: u8) -> bool {
        let number = self.witness.number(&Node::Client(client).to_string());
        number.is_some_and(|client| self.yet_to_come.contains(&client))
    }

    /// Since when a client of a trial has had no connection to the witness, if its process has ever had one.
    pub fn away_since(&self, client: u8) -> Option<Micros> {
        let client = self.witness.number(&Node::Client(client).to_string())?;
        self.away.get(&client).copied()
    }

    /// A client is no more, and what it held is not held.
    fn ends(&mut self, client: ClientId, at: Micros) {
        for lock in self.witness.gone(client, at) {
            let client = Some(self.witness.name(client));
            self.record.add(Happened { client, ..Happened::new(at, What::Gone, lock) });
        }
    }

    /// A client says something; what it hears.
    pub fn hears(
        &mut self,
        client: ClientId,
        line: &str,
        at: Micros,
    ) -> Result<(ClientId, &'static str), String> {
        let said = witness::read(line).inspect_err(|why| self.witness.not_read(line, why))?;
        let (word, lock, token) = match said {
            Said::Client(name) => {
                if let Some(lock) = self.witness.held_by(client) {
                    return Err(format!("it holds {lock}: leave comes before client"));
                }
                let named = self.sits(Some(&name))?;
                self.stands(client, at);
                return Ok((named, "ok"));
            }
            Said::Of(word, lock, token) => (word, lock, token),
        };
        let heard = self.witness.hear(client, word, &lock, token, at)?;
        let what = match word {
            Word::Want => What::Wants,
            Word::Enter => What::Entered,
            Word::Leave => What::Left,
            Word::Lost => What::Lost,
            Word::Write if heard.is_turned_down => What::TurnedDown,
            Word::Write => What::Wrote,
        };
        let name = self.witness.name(client);
        let text = token.map_or_else(|| lock.clone(), |token| format!("{lock} {token}"));
        self.record.add(Happened { client: Some(name.clone()), ..Happened::new(at, what, text) });
        for violation in &heard.broken {
            self.breaks(at, &lock, *violation);
        }
        match (word, number_of(&name)) {
            (Word::Enter, Some(client)) => self.deed(Deed::Granted(client)),
            (Word::Leave, Some(client)) => self.deed(Deed::Left(client)),
            _ => {}
        }
        Ok((client, if heard.is_turned_down { "stale" } else { "ok" }))
    }

    /// Whether this client of a trial has asked or said anything.
    pub fn has_seen(&self, client: u8) -> bool {
        self.record.has_seen(client) || self.witness.knows(&Node::Client(client).to_string())
    }

    /// Whether nobody ever held anything, as far as anybody knows.
    pub fn nobody_held(&self) -> bool {
        self.witness.entered == 0 && self.claims.handed_out == 0
    }

    /// Whether clients say anything: theirs is the verdict then.
    pub fn has_witness(&self) -> bool {
        self.witness.clients() > 0
    }

    /// A server has told the owner of a claim that it took it.
    pub fn told(&mut self, server: u8, key: &bytes::Bytes, number: u64, at: Micros) {
        let (handed_out, overlaps) = self.claims.told(server, key, number, at);
        if let Some(claim) = handed_out {
            let lock = shown(key);
            self.record.add(Happened {
                link: Some(claim.owner.link),
                client: Some(self.owner(claim.owner)),
                ..Happened::new(at, What::HandedOut, lock)
            });
            // Who says when it enters says it later, when it knows.
            if let (Some(client), false) = (claim.owner.client, self.has_witness()) {
                self.deed(Deed::Granted(client));
            }
        }
        for overlap in overlaps {
            self.overlaps(at, &overlap);
        }
    }

    /// What a connection's client is called: its letter, its own word, or the connection's number.
    pub fn owner(&self, owner: Owner) -> String {
        if let Some(client) = owner.client {
            return Node::Client(client).to_string();
        }
        let name = self.record.link(owner.link).map(|link| link.name.clone()).filter(|name| !name.is_empty());
        name.unwrap_or_else(|| format!("c{}", owner.link))
    }

    /// What was broken, the first first, as far as it counts for the verdict.
    pub fn broken(&self) -> impl Iterator<Item = &Broken> {
        let counts = if self.has_witness() { JudgedBy::Clients } else { JudgedBy::Servers };
        self.broken.iter().filter(move |broken| broken.judged_by == counts)
    }

    /// How many times the servers have handed a lock out twice.
    pub fn overlapped(&self) -> usize {
        self.broken.iter().filter(|broken| broken.judged_by == JudgedBy::Servers).count()
    }

    /// How it all came out.
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self)
    }

    fn deed(&mut self, deed: Deed) {
        if let Some(listener) = &self.listener {
            // Who has stopped listening aims nothing any more.
            let _gone = listener.send(deed);
        }
    }

    fn breaks(&mut self, at: Micros, lock: &str, violation: Violation) {
        if !self.is_asked(violation.promise) {
            self.overlapped_unasked += u64::from(violation.promise == Promise::MutualExclusion);
            return;
        }
        let (client, other) = (self.witness.name(violation.client), self.witness.name(violation.other));
        // What struck while the first holder asked counts as well: it may have heard too late that it holds.
        let (first, second, first_name) = match violation.promise {
            Promise::MutualExclusion | Promise::TokenOrder => {
                (violation.other, violation.client, other.clone())
            }
            // Who writes late entered first.
            _ => (violation.client, violation.other, client.clone()),
        };
        let hold = self.witness.hold(lock, first);
        let since = hold.map_or(at, |hold| hold.asked);
        let words = match violation.promise {
            Promise::MutualExclusion if client == other => {
                format!("{client} enters {lock} while it is in already")
            }
            Promise::MutualExclusion => format!("{client} enters {lock} while {other} is in"),
            Promise::TokenOrder => {
                format!("{client} holds {lock} by a token that is no larger than one before, of {other}")
            }
            _ if client == other => {
                format!(
                    "what {lock} protects accepts a write of {client} that rests on no hold, or on an earlier one"
                )
            }
            _ => format!(
                "what {lock} protects accepts a write of {client} after one of {other}, who entered later"
            ),
        };
        let numbers = (number_of(&first_name), number_of(&self.witness.name(second)));
        let entered = hold.map(|hold| Because::Entered { client: first_name.clone(), at: hold.entered });
        let mut because: Vec<Because> = entered.into_iter().collect();
        let mut ground = Ground { since, first: numbers.0, ..Ground::default() };
        // What was over before the first holder asked is of an earlier hold.
        let is_of_hold = |claim: &Claim| claim.ends().is_none_or(|ends| ends >= since);
        let claims = numbers.0.zip(numbers.1).and_then(|(first, second)| self.claims.between(first, second));
        if let Some((first, second)) = claims.filter(|(first, _)| is_of_hold(first)) {
            (ground.moved, ground.taken) = (first.moved_to(second), first.taken.clone());
            ground.over(first.ends().filter(|ends| *ends <= at));
        } else if let (None, Some(first)) = (claims, numbers.0) {
            // By what the second one holds it, no server has told.
            let heard = |claim: &Claim| hold.is_some_and(|hold| claim.was_heard_within(since, hold.entered));
            if let Some(first) = self.claims.last_of(first).filter(|claim| is_of_hold(claim) && heard(claim))
            {
                ground.taken = first.taken.iter().copied().filter(|taken| taken.at <= at).collect();
                ground.moved = ground.taken.iter().map(|taken| (taken.server, since)).collect();
                ground.over(first.ends().filter(|ends| *ends <= at));
            }
        }
        if let Some(over) = ground.over {
            because.push(Because::LeaseOver { client: first_name.clone(), at: over });
        }
        let losses = numbers.0.into_iter().flat_map(|first| self.losses.of(first, since));
        let losses: Vec<Loss> = losses.filter(|loss| loss.at <= at).cloned().collect();
        for Loss { server, at, cause, .. } in losses {
            let client = first_name.clone();
            // Whose hold was over already loses nothing more: the next holder may put its own in the same place.
            let is_too_late = ground.over.is_some_and(|over| over < at);
            if is_too_late && matches!(cause, Cause::Taken { .. }) {
                continue;
            }
            because.push(match cause {
                Cause::SessionOver => Because::SessionOver { client, server, at },
                Cause::LeaseOver => Because::LeaseOver { client, at },
                Cause::Taken { by, how, key, .. } => {
                    ground.is_taken = true;
                    let key = Some(shown(&key));
                    Because::Taken { by: self.owner(by), how, server, whose: client, key, at }
                }
            });
            ground.over(Some(at));
        }
        let broken = Broken {
            at,
            judged_by: JudgedBy::Clients,
            property: violation.promise,
            lock: lock.to_owned(),
            client,
            other,
            words,
            because,
            fault: None,
        };
        self.add(broken, ground);
    }

    fn overlaps(&mut self, at: Micros, overlap: &Overlap) {
        if !self.is_asked(Promise::MutualExclusion) {
            return;
        }
        let (client, other) = (self.owner(overlap.second.owner), self.owner(overlap.first.owner));
        let lock = shown(&overlap.key);
        let rest = match overlap.rest(at) {
            Some(rest) => format!("for another {rest}"),
            None => "without an end".to_owned(),
        };
        let broken = Broken {
            at,
            judged_by: JudgedBy::Servers,
            property: Promise::MutualExclusion,
            words: format!("the servers hand {lock} out to {client} while it is {other}'s {rest}"),
            lock,
            client,
            other,
            because: Vec::new(),
            fault: None,
        };
        let since = overlap.first.handed_out.unwrap_or(at);
        let (first, moved) = (overlap.first.owner.client, overlap.moved.clone());
        self.add(
            broken,
            Ground { since, first, moved, taken: overlap.first.taken.clone(), ..Ground::default() },
        );
    }

    /// Of what has struck since the first holder asked for what it holds: what struck it, else what struck the servers that the
    /// lock moved on, else what struck any; of these the last. If its hold was over before another one entered, what struck later is not to
    /// blame for that, and what was in force at the time is before what was not. Where clients have taken away what the first one holds on
    /// all the servers that the lock moved on, no fault is to blame.
    fn add(&mut self, mut broken: Broken, ground: Ground) {
        let Ground { since, first, moved, taken, over, is_taken } = ground;
        let taken_on = |server: u8| taken.iter().find(|taken| taken.server == server);
        let is_taken_everywhere =
            !moved.is_empty() && moved.iter().all(|(server, _)| taken_on(*server).is_some());
        let is_taken = is_taken || is_taken_everywhere;
        let began = moved.iter().map(|(_, since)| *since).chain([since]).min().unwrap_or(since);
        let active = |strike: &&Strike| strike.over.is_none_or(|over| over >= began);
        let of_first = |strike: &&Strike| first.is_some() && strike.client == first;
        let of_moved = |strike: &&Strike| moved.iter().any(|(server, _)| strike.servers.contains(server));
        let struck = self
            .strikes
            .iter()
            .enumerate()
            .filter(|(place, strike)| !strike.is_vain(self.strikes.iter().take(*place)));
        let active: Vec<&Strike> =
            struck.map(|(_, strike)| strike).filter(active).filter(|_| !is_taken).collect();
        let in_time: Vec<&Strike> =
            active.iter().copied().filter(|strike| over.is_none_or(|over| strike.at <= over)).collect();
        let in_force =
            |strike: &&Strike| over.is_some_and(|over| strike.over.is_none_or(|healed| healed >= over));
        let suspect = |strikes: Vec<&Strike>| self.suspect(&strikes, broken.at).cloned();
        let of_these = |is_one: &dyn Fn(&&Strike) -> bool| {
            let strikes: Vec<&Strike> = in_time.iter().copied().filter(|strike| is_one(strike)).collect();
            suspect(strikes.iter().copied().filter(in_force).collect()).or_else(|| suspect(strikes))
        };
        let cause = of_these(&of_first).or_else(|| of_these(&of_moved)).or_else(|| of_these(&|_| true));
        for strike in active.iter().filter(|strike| of_first(strike) || moved.is_empty() || of_moved(strike))
        {
            broken.because.push(Because::Struck { fault: strike.fault.to_string(), at: strike.at });
        }
        let first = match broken.property {
            Promise::MutualExclusion | Promise::TokenOrder => &broken.other,
            _ => &broken.client,
        }
        .clone();
        for Taken { by, how, server, at } in moved.iter().filter_map(|(server, _)| taken_on(*server)).copied()
        {
            let (by, whose) = (self.owner(by), first.clone());
            broken.because.push(Because::Taken { by, how, server, whose, key: None, at });
        }
        if cause.is_none() && !is_taken {
            let until = over.filter(|_| !active.is_empty());
            broken.because.push(Because::NothingStruck { client: first, since, until });
        }
        broken.fault = cause;
        broken.because.sort_by_key(Because::at);
        self.record.add(Happened {
            client: Some(broken.client.clone()),
            strike: broken.fault.as_ref().map(|strike| strike.number),
            ..Happened::new(broken.at, What::Broken, broken.words.clone())
        });
        self.broken_times += 1;
        if self.broken.len() < BROKEN_MAX {
            self.broken.push(broken);
        }
    }
}

/// What is known of how it came about.
#[derive(Debug, Default)]
struct Ground {
    /// When the first holder asked for what it holds.
    since: Micros,
    /// Which client of a trial that is.
    first: Option<u8>,
    /// Servers that have given the lock to the second holder, with since when the first had had it there.
    moved: Vec<(u8, Micros)>,
    /// What others have done there to what was the first one's.
    taken: Vec<Taken>,
    /// When the first holder's lease or session was over, or was taken away: the first of these.
    over: Option<Micros>,
    /// Something that the first one put there while it asked was taken away by somebody else.
    is_taken: bool,
}

impl Ground {
    fn over(&mut self, at: Option<Micros>) {
        self.over = self.over.into_iter().chain(at).min();
    }
}

/// By how much a server's clock is wrong when a fault has struck it for the last time.
fn left_wrong_by(fault: &Fault) -> Option<Micros> {
    match *fault {
        Fault::ClockStep { by, .. } => Some(by),
        Fault::Strobe { by, times, .. } if times % 2 == 1 => Some(by),
        _ => None,
    }
}

/// The client of a trial that is called so.
fn number_of(name: &str) -> Option<u8> {
    (0..ClientId::MAX as u8).find(|number| Node::Client(*number).to_string() == name)
}

/// Bytes of a client as text, and not too much of it.
pub fn shown(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    show(bytes, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// A text, and not too much of it.
pub fn abridged(mut text: String) -> String {
    const BYTES_MAX: usize = 160;
    if text.len() > BYTES_MAX {
        let end = (0..=BYTES_MAX).rev().find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
        text.push('…');
    }
    text
}

/// Adds bytes of a client to a text, and not too much of them.
pub fn show(bytes: &[u8], to: &mut Vec<u8>) {
    const SHOWN_MAX: usize = 48;
    let first = &bytes[..bytes.len().min(SHOWN_MAX)];
    // The usual case, once per word of every command: to look at all of it is faster than to stop at the first that is not.
    if first.iter().fold(true, |all, byte| all & (b' '..0x7f).contains(byte)) {
        to.extend_from_slice(first);
    } else {
        let text = String::from_utf8_lossy(first);
        let text: String =
            text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        to.extend_from_slice(text.as_bytes());
    }
    if bytes.len() > SHOWN_MAX {
        to.extend_from_slice("…".as_bytes());
    }
}

#[cfg(test)]
mod tests;
