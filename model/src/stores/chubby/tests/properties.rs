//! What holds in every history, and the master's mistake that each of these finds.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// What happens next.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// So many tenths of a second pass.
    Waits(u16),
    Creates(u8),
    KeepsAlive(u8),
    Acquires(u8, bool),
    Releases(u8),
    FailsOver,
}

fn doing() -> impl Strategy<Value = Doing> {
    let client = 0..3_u8;
    prop_oneof![
        4 => (1..200_u16).prop_map(Doing::Waits),
        2 => client.clone().prop_map(Doing::Creates),
        6 => client.clone().prop_map(Doing::KeepsAlive),
        4 => (client.clone(), any::<bool>()).prop_map(|(client, shared)| Doing::Acquires(client, shared)),
        2 => client.prop_map(Doing::Releases),
        1 => Just(Doing::FailsOver),
    ]
}

/// What looks at the cell and its replies after each step.
type Look<'a> = &'a mut dyn FnMut(&Cell, &[(u8, Reply)]);

/// Clients without a clock, who know of every master, and a cell.
struct History {
    cell: Cell,
    sessions: [Option<SessionId>; 3],
    handles: [Option<u32>; 3],
    serial: u32,
}

impl History {
    fn new(settings: Settings) -> History {
        History { cell: Cell::new(settings), sessions: [None; 3], handles: [None; 3], serial: 0 }
    }

    /// One step, at the earliest moment at which there is something to do for the master, if time passes.
    fn step(&mut self, doing: Doing, judge: Look) {
        self.serial += 1;
        let serial = self.serial;
        // Every third KeepAlive comes while the master is overloaded.
        self.cell.choice = serial % 3;
        let replies = match doing {
            Doing::Waits(tenths) => {
                let end = self.cell.now + Micros::millis(100 * i64::from(tenths));
                while let Some(Due::Monotonic(at)) = self.cell.chubby.deadline(&self.cell.settings)
                    && at <= end
                {
                    let length = (at - self.cell.now).max(Micros::ZERO);
                    let replies = self.cell.after(length);
                    judge(&self.cell, &replies);
                }
                let length = end - self.cell.now;
                self.cell.after(length)
            }
            Doing::Creates(client) => {
                self.sessions[usize::from(client)] = Some(SessionId { client, number: serial });
                self.handles[usize::from(client)] = None;
                self.cell.hears(client, serial, Operation::CreateSession { lease: Some(LEASE) })
            }
            Doing::KeepsAlive(client) => match self.sessions[usize::from(client)] {
                Some(session) => self.cell.keeps_alive(session, serial),
                None => return,
            },
            Doing::Acquires(client, shared) => {
                let Some(session) = self.sessions[usize::from(client)] else { return };
                let handle = *self.handles[usize::from(client)].get_or_insert(serial);
                self.cell.acquires(session, handle, if shared { SHARED } else { EXCLUSIVE })
            }
            Doing::Releases(client) => {
                let Some(session) = self.sessions[usize::from(client)] else { return };
                let Some(handle) = self.handles[usize::from(client)].take() else { return };
                self.cell.releases(session, handle)
            }
            Doing::FailsOver => {
                self.cell.fails_over();
                Vec::new()
            }
        };
        judge(&self.cell, &replies);
    }
}

/// Whether a judge finds something to say in histories under these settings.
fn is_broken<J: FnMut(&Cell, &[(u8, Reply)]) -> Result<(), String>>(
    settings: Settings,
    judge: impl Fn() -> J,
) -> bool {
    let config = Config { cases: 400, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let outcome = runner.run(&vec(doing(), 1..80), |history| {
        let (mut told, mut judge) = (Ok(()), judge());
        let mut cell = History::new(settings);
        for doing in history {
            cell.step(doing, &mut |cell, replies| {
                if told.is_ok() {
                    told = judge(cell, replies);
                }
            });
        }
        told.map_err(TestCaseError::fail)
    });
    outcome.is_err()
}

/// A master that is overloaded now and then.
const BUSY: Settings =
    Settings { load: Some(Load { one_in: 3, lease: Micros::seconds(40) }), ..Settings::CHUBBY };

/// No session's lease ends earlier than it did, whoever is master.
fn leases_move_forward() -> impl FnMut(&Cell, &[(u8, Reply)]) -> Result<(), String> {
    let mut known: Vec<(SessionId, Monotonic)> = Vec::new();
    move |cell, _| {
        let sessions = &cell.chubby.sessions;
        let now = sessions.iter().filter_map(|session| Some((session.id, session.lasts_until()?))).collect();
        let before = std::mem::replace(&mut known, now);
        for (id, until) in before {
            let moved = known.iter().find(|(other, _)| *other == id).map(|(_, until)| *until);
            match moved {
                Some(later) if later < until => {
                    return Err(format!("{id} ended at {until:?}, now at {later:?}"));
                }
                None if cell.now < until => return Err(format!("{id} is lost before {until:?}")),
                Some(_) | None => {}
            }
        }
        Ok(())
    }
}

#[test]
fn a_lease_never_moves_back_and_no_fail_over_shortens_it() {
    assert!(!is_broken(BUSY, leases_move_forward));
    assert!(is_broken(Settings { flaw: Flaw::LeaseMovesBack, ..BUSY }, leases_move_forward));
    assert!(is_broken(Settings { fail_over: FailOver::Usual, ..BUSY }, leases_move_forward));
    assert!(is_broken(Settings { fail_over: FailOver::Forgotten, ..BUSY }, leases_move_forward));
}

/// Whoever acquires alone has a larger generation than everybody before.
fn generations_grow() -> impl FnMut(&Cell, &[(u8, Reply)]) -> Result<(), String> {
    let mut largest = Generation(0);
    move |cell, _| {
        for change in &cell.changes {
            let Change::Acquired { .. } = change else { continue };
            let [node] = &cell.chubby.nodes[..] else { return Err("there is one lock".to_owned()) };
            let is_shared = node.is_shared();
            if node.generation < largest || !is_shared && node.generation == largest {
                return Err(format!("{:?} after {largest:?}", node.generation));
            }
            largest = node.generation;
        }
        Ok(())
    }
}

#[test]
fn a_generation_grows_from_holder_to_holder() {
    assert!(!is_broken(BUSY, generations_grow));
    assert!(is_broken(Settings { flaw: Flaw::GenerationStays, ..BUSY }, generations_grow));
    assert!(is_broken(Settings { on_loss: OnLoss::Delete, ..BUSY }, generations_grow));
}

/// Nobody is given a lock within the lock-delay after a session that held it is lost.
fn lock_delays_are_kept() -> impl FnMut(&Cell, &[(u8, Reply)]) -> Result<(), String> {
    let mut rests_until = Monotonic(0);
    move |cell, _| {
        for change in &cell.changes {
            match change {
                Change::Lost { .. } => rests_until = cell.now + DELAY,
                Change::Acquired { .. } if cell.now < rests_until => {
                    return Err(format!("acquired at {:?}, and it rests until {rests_until:?}", cell.now));
                }
                Change::Acquired { .. } | Change::Wrote { .. } => {}
            }
        }
        Ok(())
    }
}

#[test]
fn a_lock_delay_is_kept_whoever_is_master() {
    assert!(!is_broken(BUSY, lock_delays_are_kept));
    assert!(is_broken(Settings { delays: Delays::Forgotten, ..BUSY }, lock_delays_are_kept));
}

/// No KeepAlive is answered before little is left of the lease, but by a new master, who has something to tell.
fn keep_alives_are_held() -> impl FnMut(&Cell, &[(u8, Reply)]) -> Result<(), String> {
    let mut known: Vec<(SessionId, Monotonic)> = Vec::new();
    move |cell, replies| {
        for (client, reply) in replies {
            let Outcome::KeptAlive { failed_over: false, .. } = reply.outcome else { continue };
            let left =
                |(id, until): &(SessionId, Monotonic)| (id.client == *client).then(|| *until - cell.now);
            // Of several sessions of a client, the one with the least left.
            if known.iter().filter_map(left).min().is_some_and(|left| left > Micros::seconds(2)) {
                return Err(format!("{reply} with so much left: {:?}", known));
            }
        }
        let sessions = &cell.chubby.sessions;
        known = sessions.iter().filter_map(|session| Some((session.id, session.lasts_until()?))).collect();
        Ok(())
    }
}

#[test]
fn a_keep_alive_is_held() {
    assert!(!is_broken(BUSY, keep_alives_are_held));
    let at_once = Settings { keep_alives: KeepAlives::AnsweredAtOnce, ..BUSY };
    assert!(is_broken(at_once, keep_alives_are_held));
}
