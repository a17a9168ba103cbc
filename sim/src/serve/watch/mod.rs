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
use picklock_properties::{ClientId, Promise, Violation};
use record::{Happened, Record, What};
use std::collections::{BTreeMap, VecDeque};
use tokio::sync::mpsc::UnboundedSender;
use witness::{Said, Witness, Word};

/// How many strikes are remembered: those of the last plans.
const STRIKES_MAX: usize = 10_000;
/// How many broken promises are told: the rest is counted.
const BROKEN_MAX: usize = 1_000;

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
    /// How many times somebody asked for a lock that was somebody else's, as far as the servers know.
    pub turned_away: u64,
    /// How many connections of each client there are to the witness.
    seats: BTreeMap<ClientId, u32>,
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
        Ok(client)
    }

    /// A connection to the witness has ended, or is another client's from now on.
    pub fn stands(&mut self, client: ClientId, at: Micros) {
        let seats = self.seats.entry(client).or_default();
        *seats = seats.saturating_sub(1);
        if *seats > 0 {
            return;
        }
        self.ends(client, at);
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
mod tests {
    use super::*;

    /// What clients say, with what strikes A's process between the lines for a moment; what that breaks first.
    fn broken(lines: &[(i64, &str, &str)], strikes: &[(i64, i64)]) -> Broken {
        let mut watch = Watch::default();
        watch.record.begin(0, None);
        let (mut all, mut numbers) = (Vec::new(), BTreeMap::new());
        all.extend(lines.iter().map(|(at, client, line)| (*at, Some((*client, *line)))));
        for (from, to) in strikes {
            all.extend([(*from, None), (*to, None)]);
            numbers.insert(*from, *to);
        }
        all.sort_by_key(|(at, _)| *at);
        for (at, said) in all {
            let now = Micros(at);
            match said {
                Some((client, line)) => {
                    let client = watch.witness.client(Some(client)).expect("there is room");
                    watch.hears(client, line, now).expect("a line");
                }
                None if numbers.contains_key(&at) => {
                    let node = crate::plans::plan::Target::Client(0);
                    watch.struck(
                        now,
                        &Fault::Pause { node, length: Micros(numbers[&at] - at) },
                        Vec::new(),
                        Some(0),
                    );
                }
                None => {
                    let last = watch.last_strike;
                    watch.over(now, last);
                }
            }
        }
        watch.broken().next().expect("something is broken").clone()
    }

    const TWO_HOLD: [(i64, &str, &str); 4] = [
        (10, "A", "want orders"),
        (40, "A", "enter orders"),
        (50, "B", "want orders"),
        (60, "B", "enter orders"),
    ];

    #[test]
    fn there_is_no_verdict_if_the_witness_was_told_what_it_cannot_read() {
        let mut watch = Watch::default();
        let a = watch.sits(Some("A")).expect("there is room");
        assert!(watch.hears(a, "enter", Micros(5)).is_err());
        assert!(watch.summary(1).starts_with(
            "no verdict: the witness was told a line that it cannot read, \"enter\": enter takes a name"
        ));
        let b = watch.sits(Some("B")).expect("there is room");
        for (client, line) in
            [(a, "enter orders"), (b, "want orders"), (a, "leave orders"), (b, "enter orders")]
        {
            watch.hears(client, line, Micros(10)).expect("a line");
        }
        assert!(watch.hears(b, "enters orders\n", Micros(15)).is_err());
        assert_eq!(watch.verdict(), Verdict::Vacuous, "an entry may have been among them");
        let words = watch.summary(1);
        assert!(words.contains("told 2 lines that it cannot read, the first of them \"enter\""), "{words}");
        assert!(words.contains("clients said twice that they hold"), "{words}");
        // What broke broke.
        watch.hears(a, "enter orders", Micros(20)).expect("a line");
        assert_eq!(watch.verdict(), Verdict::Violated);
    }

    #[test]
    fn there_is_no_verdict_if_the_witness_turned_somebody_away() {
        let mut watch = Watch::default();
        let a = watch.sits(Some("A")).expect("there is room");
        let b = watch.sits(Some("B")).expect("there is room");
        for (client, line) in
            [(a, "enter orders"), (b, "want orders"), (a, "leave orders"), (b, "enter orders")]
        {
            watch.hears(client, line, Micros(10)).expect("a line");
        }
        assert_eq!(watch.verdict(), Verdict::Kept);
        let others = (0..ClientId::MAX).map(|number| watch.sits(Some(&format!("worker {number}")))).last();
        assert!(others.is_some_and(|last| last.is_err()));
        assert_eq!(watch.verdict(), Verdict::Vacuous);
        assert!(watch.summary(1).starts_with("no verdict: the witness turned clients away twice"));
    }

    #[test]
    fn whoever_is_killed_holds_no_more_before_its_connection_is_seen_to_end() {
        let mut watch = Watch::default();
        watch.record.begin(0, None);
        let a = watch.sits(Some("A")).expect("there is room");
        let b = watch.sits(Some("B")).expect("there is room");
        watch.hears(a, "enter orders", Micros(10)).expect("a line");
        let node = crate::plans::plan::Target::Client(0);
        watch.struck(Micros(20), &Fault::Crash { node, restart_after: None }, Vec::new(), Some(0));
        watch.hears(b, "enter orders", Micros(21)).expect("a line");
        assert!(watch.broken().next().is_none());
        watch.stands(a, Micros(22));
        assert_eq!(watch.record.past().filter(|happened| happened.what == What::Gone).count(), 1);
        // Lines of connections from before are its last words.
        assert!(watch.was_killed_since(0, Micros(15)) && !watch.was_killed_since(0, Micros(23)));
        assert!(!watch.was_killed_since(1, Micros(0)));
    }

    #[test]
    fn what_struck_while_the_first_holder_asked_is_to_blame_and_what_was_over_before_is_not() {
        let late = broken(&TWO_HOLD, &[(20, 30)]);
        assert_eq!(
            (late.property, late.fault.map(|strike| strike.at)),
            (Promise::MutualExclusion, Some(Micros(20)))
        );
        let before = broken(&TWO_HOLD, &[(1, 5)]);
        assert!(before.fault.is_none(), "{before}");
        let nothing = Because::NothingStruck { client: "A".to_owned(), since: Micros(10), until: None };
        assert!(before.because.contains(&nothing), "{before}");
    }

    #[test]
    fn a_clock_that_is_still_wrong_is_to_blame_where_clocks_are_compared() {
        use crate::plans::plan::Target;
        let ahead = Micros::seconds(3);
        for (clocks_compared, is_of_strobe, is_set_back, is_to_blame) in [
            (true, false, false, true),
            (true, true, false, true),
            (true, false, true, false),
            (true, true, true, false),
            (false, false, false, false),
            (false, true, false, false),
        ] {
            let mut watch = Watch::of_servers(clocks_compared);
            watch.record.begin(0, None);
            let node = Target::Server(1);
            let step = |by| Fault::ClockStep { node, by };
            // To and fro, and to again.
            let strobe = Fault::Strobe { node, by: ahead, period: Micros(1), times: 3 };
            let first = if is_of_strobe { strobe } else { step(ahead) };
            let number = watch.struck(Micros(1), &first, vec![1], None);
            if is_of_strobe {
                watch.over(Micros(2), number);
            }
            if is_set_back {
                watch.struck(Micros(2), &step(Micros(-ahead.0)), vec![1], None);
            }
            for (at, client, line) in TWO_HOLD {
                let client = watch.witness.client(Some(client)).expect("there is room");
                watch.hears(client, line, Micros(at)).expect("a line");
            }
            let broken = watch.broken().next().expect("two hold").clone();
            assert_eq!(broken.fault.is_some(), is_to_blame, "{broken}");
        }
    }

    #[test]
    fn of_clocks_that_are_wrong_the_one_that_is_wrong_by_most_is_to_blame() {
        use crate::plans::plan::Target;
        let node = Target::Server(0);
        let freeze = (Fault::Freeze { node, length: Micros::seconds(60) }, 0);
        let drift = (Fault::Drift { node: Target::Server(1), ppm: -1_000 }, 1);
        let step = |by| (Fault::ClockStep { node: Target::Server(2), by: Micros(by) }, 2);
        let pause = (Fault::Pause { node, length: Micros::seconds(60) }, 0);
        // A second after the first of them, which strike a moment after each other.
        for (faults, blamed) in [
            (vec![freeze.clone(), drift.clone(), step(2_000)], 0),
            (vec![step(1_500_000), freeze.clone(), drift.clone()], 0),
            // The second one has set it right again, nearly.
            (vec![step(1_500_000), step(-1_490_000), freeze.clone()], 2),
            (vec![drift.clone(), step(2_000)], 1),
            // Ahead by 2.8 s, and behind.
            (vec![step(-5_300_000), step(8_300_000), step(-200_000)], 1),
            (vec![step(5_000_000), step(1_000)], 0),
            (vec![step(-5_300_000), step(1_000_000), step(-200_000)], 0),
            (vec![step(500), drift.clone()], 1),
            // Not of a clock.
            (vec![freeze, step(2_000), pause], 2),
        ] {
            let mut watch = Watch::of_servers(true);
            watch.record.begin(0, None);
            for (place, (fault, server)) in (1..).zip(&faults) {
                watch.struck(Micros(place), fault, vec![*server], None);
            }
            for (at, client, line) in TWO_HOLD {
                let client = watch.witness.client(Some(client)).expect("there is room");
                watch.hears(client, line, Micros(1_000_000 + at)).expect("a line");
            }
            let broken = watch.broken().next().expect("two hold").clone();
            assert_eq!(broken.fault.map(|strike| strike.number), Some(blamed + 1), "{faults:?}");
        }
    }

    #[test]
    fn a_server_that_is_down_loses_nothing_more() {
        use crate::plans::plan::Target;
        let node = Target::Server(0);
        let strike = |at, over, fault, server| Strike {
            number: 1,
            at: Micros(at),
            over,
            fault,
            servers: vec![server],
            client: None,
        };
        let loss = Fault::PowerLoss { node, restart_after: None };
        let crash = Fault::Crash { node, restart_after: None };
        let lost = [strike(5, Some(Micros(15)), loss.clone(), 0)];
        let crashed = [strike(5, None, crash.clone(), 0)];
        for (fault, earlier, at, server, is_vain) in [
            (&loss, &lost, 10, 0, true),
            (&crash, &lost, 10, 0, true),
            (&crash, &crashed, 10, 0, true),
            // What was only in memory is gone now.
            (&loss, &crashed, 10, 0, false),
            // It was there again, or is another server.
            (&loss, &lost, 15, 0, false),
            (&loss, &lost, 10, 1, false),
        ] {
            assert_eq!(
                strike(at, None, fault.clone(), server).is_vain(earlier.iter()),
                is_vain,
                "{fault} at {at}"
            );
        }
    }

    #[test]
    fn an_answer_that_comes_after_the_lease_is_a_cause_and_the_lease_of_an_earlier_hold_is_none() {
        use bytes::Bytes;
        for (is_told, over) in [(true, vec![Micros(12_978_000)]), (false, Vec::new())] {
            let mut watch = Watch::default();
            watch.record.begin(0, None);
            watch.claims = Claims::new(1);
            let key = Bytes::from_static(b"orders");
            // Each asks for two seconds.
            let takes = |watch: &mut Watch, client: u8, asked: i64, told: Option<i64>| {
                let (asked, life) = (Micros::seconds(asked), Some(Micros::seconds(2)));
                let (value, owner) =
                    (Bytes::from(asked.to_string()), Owner { link: 0, client: Some(client) });
                let number = watch.claims.took(0, &key, &value, life, owner, asked, asked);
                if let Some(told) = told {
                    watch.told(0, &key, number, Micros::seconds(told));
                }
            };
            takes(&mut watch, 0, 1, Some(1));
            takes(&mut watch, 0, 11, is_told.then_some(80));
            takes(&mut watch, 1, 82, Some(82));
            for (at, client, line) in
                [(10, "A", "want orders"), (81, "A", "enter orders"), (83, "B", "enter orders")]
            {
                let client = watch.witness.client(Some(client)).expect("there is room");
                watch.hears(client, line, Micros::seconds(at)).expect("a line");
            }
            let broken = watch.broken().next().expect("two hold").clone();
            let ends = |because: &Because| match because {
                Because::LeaseOver { client, at } if client == "A" => Some(*at),
                _ => None,
            };
            assert_eq!(broken.because.iter().filter_map(ends).collect::<Vec<_>>(), over, "{broken}");
        }
    }

    #[test]
    fn a_session_that_ended_while_its_client_was_in_is_a_cause_and_one_that_was_closed_is_none() {
        use std::net::SocketAddr;
        for (is_closed, at, is_told) in [(false, 50, true), (true, 50, false), (false, 5, false)] {
            let mut watch = Watch::default();
            watch.record.begin(0, None);
            let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
            watch.record.know_doors(BTreeMap::from([(7000, 0)]));
            let link = watch.record.connect(Micros(1), 1, Some((address(7000), address(50_000))));
            let over = SessionOver { link, is_closed };
            for (now, client, line) in TWO_HOLD {
                if now > at && watch.record.past().all(|happened| happened.what != What::SessionOver) {
                    watch.session_over(Micros(at), 1, &over);
                }
                let client = watch.witness.client(Some(client)).expect("there is room");
                watch.hears(client, line, Micros(now)).expect("a line");
            }
            let broken = watch.broken().next().expect("two hold").clone();
            let ended = Because::SessionOver { client: "A".to_owned(), server: 1, at: Micros(at) };
            assert_eq!(broken.because.contains(&ended), is_told, "{broken}");
            let lines = broken.to_string();
            assert_eq!(lines.contains("s2 ended A's session at "), is_told, "{lines}");
        }
    }

    #[test]
    fn what_was_in_force_when_a_session_ended_is_to_blame_and_never_what_struck_later() {
        use crate::plans::plan::{Side, Target};
        use std::net::SocketAddr;
        let node = Target::Client(0);
        let pause = Fault::Pause { node, length: Micros(60) };
        let reset = Fault::Reset {
            between: Side::Clients,
            and: Side::Nodes([Target::Server(0)].into_iter().collect()),
        };
        // Faults of A, with when they strike and when they are over, around the end of its session at 50; who is blamed.
        for (faults, blamed) in [
            (vec![(20, 55, &pause), (30, 30, &reset)], Some(1)),
            (vec![(20, 55, &pause), (52, 52, &reset)], Some(1)),
            (vec![(20, 25, &pause), (30, 30, &reset)], Some(2)),
            (vec![(52, 55, &pause)], None),
        ] {
            let mut watch = Watch::default();
            watch.record.begin(0, None);
            let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
            watch.record.know_doors(BTreeMap::from([(7000, 0)]));
            let link = watch.record.connect(Micros(1), 0, Some((address(7000), address(50_000))));
            for now in 1..=60 {
                for (number, (at, over, fault)) in (1..).zip(&faults) {
                    if *at == now {
                        watch.struck(Micros(now), fault, Vec::new(), Some(0));
                    }
                    if *over == now {
                        watch.over(Micros(now), number);
                    }
                }
                if now == 50 {
                    watch.session_over(Micros(now), 0, &SessionOver { link, is_closed: false });
                }
                for (_, client, line) in TWO_HOLD.iter().filter(|(at, ..)| *at == now) {
                    let client = watch.witness.client(Some(client)).expect("there is room");
                    watch.hears(client, line, Micros(now)).expect("a line");
                }
            }
            let broken = watch.broken().next().expect("two hold").clone();
            assert_eq!(broken.fault.as_ref().map(|strike| strike.number), blamed, "{broken}");
            let is_untold = broken.to_string().contains("no fault struck from when A asked for it until");
            assert_eq!(is_untold, blamed.is_none(), "{broken}");
        }
    }

    #[test]
    fn what_another_one_deletes_is_to_blame_and_no_fault_is() {
        use bytes::Bytes;
        for (by, is_to_blame) in [(1, true), (0, false)] {
            let mut watch = Watch::default();
            watch.record.begin(0, None);
            let key = Bytes::from_static(b"/orders/1");
            let owner = |client| Owner { link: 0, client: Some(client) };
            for (at, client, line) in TWO_HOLD {
                let now = Micros(at);
                if at == 40 {
                    watch.losses.put(Micros(30), 1, &key, owner(0), 0);
                }
                if at == 60 {
                    let node = crate::plans::plan::Target::Client(0);
                    watch.struck(Micros(52), &Fault::Pause { node, length: Micros(20) }, Vec::new(), Some(0));
                    watch.losses.deleted(Micros(55), 1, &key, owner(by));
                }
                let client = watch.witness.client(Some(client)).expect("there is room");
                watch.hears(client, line, now).expect("a line");
            }
            let broken = watch.broken().next().expect("two hold").clone();
            assert_eq!(broken.fault.is_none(), is_to_blame, "{broken}");
            let lines = broken.to_string();
            assert_eq!(
                lines.contains("B deletes on s2 at 55us /orders/1, which is A's"),
                is_to_blame,
                "{lines}"
            );
        }
    }

    #[test]
    fn of_a_late_write_it_is_its_writers_pause_that_counts() {
        let wrote = [
            &TWO_HOLD[..2],
            &[
                (45, "A", "lost orders"),
                (60, "B", "enter orders"),
                (61, "B", "write orders"),
                (70, "A", "write orders"),
            ],
        ];
        let late = broken(&wrote.concat(), &[(42, 44)]);
        assert_eq!((late.property, late.client.as_str()), (Promise::FencedResource, "A"));
        assert_eq!(late.fault.map(|strike| strike.at), Some(Micros(42)), "struck before B entered");
    }
}
