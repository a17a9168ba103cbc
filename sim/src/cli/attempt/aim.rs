//! Faults of clients, and faults that are aimed at what clients do.

use super::children::Children;
use super::whole::EndedLine;
use crate::cli::BadCall;
use crate::plans::plan::{Fault, Plan, Target, Trigger, When};
use crate::serve::watch::Deed;
use crate::serve::{Served, Servers};
use picklock_model::time::Micros;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::sleep;

/// How often it looks whether a client has ended.
const LOOK_PERIOD: Duration = Duration::from_millis(20);

/// The number of no fault: a client is started that ended by itself.
const NO_STRIKE: usize = 0;

/// What is to be done at a moment.
enum Due {
    Strike(Fault),
    /// A client goes on, if nothing else has stopped it meanwhile.
    Resume(u8, usize),
    Start(u8, usize),
}

/// Who strikes clients, and tells others when to strike servers.
pub struct Aim<'a, S: Served> {
    pub servers: &'a Servers<S>,
    pub plan: &'a Plan,
    pub clients: u8,
    /// How much later a client is started again that ends by itself, if it is.
    pub restarts_after: Option<Micros>,
    pub began: Micros,
    /// Where faults of servers go.
    pub to_servers: UnboundedSender<Fault>,
    pub seen: Seen,
}

/// What whoever wants it once more has to know of a round.
#[derive(Default)]
pub struct Seen {
    /// Which faults of the plan were aimed, by their place in it, and have struck.
    pub fired: BTreeSet<usize>,
    /// Who entered, and when, the first first.
    pub entered: Vec<(Micros, u8)>,
    /// Which clients ended by themselves, the first first; of many only the first.
    pub ended: Vec<EndedLine>,
    /// How many faults have struck.
    pub struck: usize,
}

/// How many ends are told of a round.
const ENDED_MAX: usize = 100;

/// What clients have done so far, for a trigger that counts.
type Counts = BTreeMap<usize, u16>;

impl<S: Served> Aim<'_, S> {
    /// Strikes as the plan says. Ends when all clients have ended, and none is to be started again.
    pub async fn strike(
        &mut self,
        children: &mut Children,
        deeds: &mut UnboundedReceiver<Deed>,
        mut say: impl FnMut(&str),
    ) -> Result<(), BadCall> {
        let mut agenda: BTreeMap<(Micros, usize), Due> = BTreeMap::new();
        let mut paused: BTreeMap<u8, Micros> = BTreeMap::new();
        let (mut added, mut counts) = (0, Counts::new());
        let mut add = |agenda: &mut BTreeMap<_, _>, at: Micros, due: Due| {
            added += 1;
            agenda.insert((at, added), due);
        };
        for planned in &self.plan.faults {
            if let When::At(at) = planned.when
                && self.client(&planned.fault).is_some()
            {
                add(&mut agenda, self.began + at, Due::Strike(planned.fault.clone()));
            }
        }
        loop {
            let now = self.servers.now();
            while let Some(entry) = agenda.first_entry().filter(|entry| entry.key().0 <= now) {
                match entry.remove() {
                    Due::Strike(fault) => {
                        let Some(client) = self.client(&fault) else {
                            // Who strikes servers has ended: so has all of it.
                            let _over = self.to_servers.send(fault);
                            continue;
                        };
                        if !children.lives(client) {
                            continue;
                        }
                        let fault = of_client(fault, client);
                        let number = self
                            .servers
                            .watched(|watch, now| watch.struck(now, &fault, Vec::new(), Some(client)));
                        say(&format!("struck at {now}: {fault}\n"));
                        match fault {
                            Fault::Pause { length, .. } => {
                                children.pause(client);
                                let until = paused.entry(client).or_default();
                                *until = (*until).max(now + length);
                                add(&mut agenda, now + length, Due::Resume(client, number));
                            }
                            Fault::Crash { restart_after, .. } => {
                                children.kill(client);
                                self.servers.watched(|watch, now| watch.ended(client, now));
                                if let Some(after) = restart_after {
                                    add(&mut agenda, now + after, Due::Start(client, number));
                                }
                            }
                            _ => unreachable!("a process is paused or killed, and nothing else"),
                        }
                    }
                    Due::Resume(client, number) => {
                        if paused.get(&client).is_none_or(|until| *until <= now) {
                            children.resume(client);
                        }
                        self.servers.watched(|watch, now| watch.over(now, number));
                    }
                    Due::Start(client, number) => {
                        let is_started = !children.lives(client);
                        if is_started {
                            children.start_one(client)?;
                            let waits = |line: &&mut EndedLine| line.waits(client);
                            self.seen.ended.iter_mut().filter(waits).for_each(EndedLine::starts_again);
                        }
                        self.servers.watched(|watch, now| {
                            if is_started {
                                watch.starts(client);
                            }
                            watch.over(now, number);
                        });
                    }
                }
            }
            for ended in children.ended() {
                self.servers.watched(|watch, now| watch.ended(ended.client, now));
                let came_to_nothing = self.servers.watched(|watch, _| watch.has_yet_to_come(ended.client));
                let line = EndedLine::of(&ended, now, self.restarts_after.is_some(), came_to_nothing);
                say(&line.in_words());
                if self.seen.ended.len() < ENDED_MAX {
                    self.seen.ended.push(line);
                }
                if let Some(after) = self.restarts_after {
                    add(&mut agenda, now + after, Due::Start(ended.client, NO_STRIKE));
                }
            }
            let is_coming = agenda.values().any(|due| matches!(due, Due::Start(..)));
            if !children.anybody_lives() && !is_coming {
                return Ok(());
            }
            let wait = agenda
                .first_key_value()
                .map(|((at, _), _)| Duration::from_micros((at.0 - now.0).max(0) as u64));
            tokio::select! {
                biased;
                Some(deed) = deeds.recv() => {
                    let now = self.servers.now();
                    if let Deed::Granted(client) = deed {
                        self.seen.entered.push((now, client));
                    }
                    for (delay, fault) in self.aimed_at(deed, &mut counts) {
                        add(&mut agenda, now + delay, Due::Strike(fault));
                    }
                }
                () = sleep(wait.unwrap_or(LOOK_PERIOD).min(LOOK_PERIOD)) => {}
            }
        }
    }

    /// What strikes because a client does this, and how much later.
    fn aimed_at(&mut self, deed: Deed, counts: &mut Counts) -> Vec<(Micros, Fault)> {
        let (done, who) = match deed {
            Deed::Granted(client) => (Trigger::Granted, client),
            Deed::Left(client) => (Trigger::Left, client),
        };
        let mut faults = Vec::new();
        for (place, planned) in self.plan.faults.iter().enumerate() {
            let When::Trigger { client, event, nth, delay } = planned.when else { continue };
            let is_meant = client.is_none_or(|client| client % self.clients == who);
            if event != done || !is_meant {
                continue;
            }
            let count = counts.entry(place).or_default();
            *count = count.saturating_add(1);
            if *count == nth {
                self.seen.fired.insert(place);
                faults.push((delay, with_target(planned.fault.clone(), Target::Client(who))));
            }
        }
        faults
    }

    /// Which client's process a fault strikes.
    fn client(&self, fault: &Fault) -> Option<u8> {
        of_process(fault).map(|client| client % self.clients)
    }
}

/// The client whose process a fault strikes, before it is counted modulo how many there are; whoever pulled a trigger is the first.
pub fn of_process(fault: &Fault) -> Option<u8> {
    match fault {
        Fault::Pause { node, .. } | Fault::Crash { node, .. } => match node {
            Target::Client(client) => Some(*client),
            Target::Struck => Some(0),
            Target::Server(_) | Target::Resource => None,
        },
        _ => None,
    }
}

/// The fault of a process, with the number that the client has here.
fn of_client(mut fault: Fault, client: u8) -> Fault {
    if let Fault::Pause { node, .. } | Fault::Crash { node, .. } = &mut fault {
        *node = Target::Client(client);
    }
    fault
}

/// The fault strikes this node, where it would strike whoever pulled its trigger.
pub fn with_target(mut fault: Fault, target: Target) -> Fault {
    fault.for_each_target(|node| {
        if *node == Target::Struck {
            *node = target;
        }
    });
    fault
}
