//! What engines and workload rely on: chance is asked for where it is used, restarts forget, every time and number in the
//! state is shown, a lost lock can be released in the entry that lost it.

use super::*;
use crate::machine::StampGroup;

fn choices(bench: &Bench, outcome: Option<Outcome>) -> u32 {
    let serial = bench.lock.awaited.map_or(0, |awaited| awaited.serial);
    bench.lock.choices(outcome.map(|outcome| Reply { serial, outcome }).as_ref(), &bench.settings)
}

const ERROR: Outcome = Outcome::Error(ServerError::ReadOnly);

#[test]
fn the_delay_is_drawn_where_an_attempt_of_lock_fails() {
    let mut bench = Bench::new(WRITTEN);
    bench.call(Call::Acquire { lock: LockId(0), mode: Mode::Lock, access: Access::FIRST });
    assert_eq!([Some(Outcome::Nil), Some(ERROR), None].map(|outcome| choices(&bench, outcome)), [4, 4, 4]);
    assert_eq!(choices(&bench, Some(Outcome::Ok)), 1);
    bench.reply(Outcome::Nil);
    assert_eq!(choices(&bench, None), 1, "the delay is over");
    bench.wake(millis(200));
    bench.reply(Outcome::Ok);
    assert_eq!(choices(&bench, None), 1, "holds");
    bench.call(Call::Release);
    assert_eq!(
        [Some(Outcome::Integer(1)), Some(ERROR), None].map(|outcome| choices(&bench, outcome)),
        [1, 1, 1]
    );
}

#[test]
fn try_lock_draws_nothing() {
    let mut bench = Bench::new(Settings::repaired());
    bench.call(Call::Acquire { lock: LockId(0), mode: Mode::TryLock, access: Access::FIRST });
    let outcomes = [Some(Outcome::Nil), Some(ERROR), None, Some(Outcome::Integer(1))];
    assert_eq!(outcomes.map(|outcome| choices(&bench, outcome)), [1; 4]);
}

#[test]
fn a_success_draws_only_if_the_clock_may_still_fail_it_and_then_all_grants_are_alike() {
    let minds = Settings { validity_margin: Some(Micros::ZERO), ..WRITTEN };
    let mut bench = Bench::new(minds);
    bench.call(Call::Acquire { lock: LockId(0), mode: Mode::Lock, access: Access::FIRST });
    assert_eq!(choices(&bench, Some(Outcome::Ok)), 4);
    let granted = [0, 3].map(|choice| {
        let mut bench = Bench { lock: bench.lock.clone(), choice, ..Bench::new(minds) };
        bench.reply(Outcome::Ok);
        (bench.lock, bench.out.answer)
    });
    assert_eq!(granted[0], granted[1]);

    let mut for_good = Bench::new(Settings { ttl: None, ..minds });
    for_good.call(Call::Acquire { lock: LockId(0), mode: Mode::Lock, access: Access::FIRST });
    assert_eq!(choices(&for_good, Some(Outcome::Ok)), 1);
}

#[test]
fn with_a_token_drawn_later_the_set_draws_nothing_and_the_incr_does() {
    let settings = Settings { fencing: Fencing::AfterGrant, validity_margin: Some(Micros::ZERO), ..WRITTEN };
    let mut bench = Bench::new(settings);
    bench.call(Call::Acquire { lock: LockId(0), mode: Mode::Lock, access: Access::FIRST });
    assert_eq!(choices(&bench, Some(Outcome::Ok)), 1);
    bench.reply(Outcome::Ok);
    assert_eq!(
        [Some(Outcome::Integer(1)), Some(ERROR), None].map(|outcome| choices(&bench, outcome)),
        [4, 4, 4]
    );
}

#[test]
fn a_fixed_delay_is_one_choice() {
    let mut bench = Bench::new(Settings { retry_choices: 1, ..WRITTEN });
    bench.call(Call::Acquire { lock: LockId(0), mode: Mode::Lock, access: Access::FIRST });
    assert_eq!(choices(&bench, Some(Outcome::Nil)), 1);
    bench.reply(Outcome::Nil);
    assert_eq!(bench.deadline(), Some(millis(200)));
}

#[test]
fn a_restart_forgets_everything_but_which_values_were_drawn() {
    let mut bench = Bench::holding(Settings::repaired());
    bench.call(Call::Release);
    bench.wake(seconds(1));
    bench.call(Call::Acquire { lock: LockId(0), mode: Mode::Lock, access: Access::FIRST });
    bench.restart();
    let serial = bench.lock.serial;
    assert_eq!(bench.lock, RedisSingle { serial, ..RedisSingle::new(0, &WRITTEN) });
    bench.late_reply(serial, Outcome::Integer(1));
    bench.call(Call::Acquire { lock: LockId(0), mode: Mode::Lock, access: Access::FIRST });
    assert!(matches!(bench.sent_to(0), Command::SetAndIncr { value, .. } if value == token(serial + 1)));
}

#[test]
fn a_deadline_that_has_not_come_changes_nothing() {
    for mut bench in walk(Settings::repaired(), Monotonic(0), 0) {
        let before = bench.lock.clone();
        bench.wake(Monotonic(bench.deadline().map_or(0, |at| at.0 - 1)));
        assert_eq!((bench.sent().len(), bench.out.answer), (0, None));
        assert_eq!(bench.lock, before);
    }
}

/// A client in each of its phases, its clock at `start` and its counter at `serial` in the beginning.
fn walk(settings: Settings, start: Monotonic, serial: u32) -> Vec<Bench> {
    let extension = Extension { lead: Micros::seconds(3), times_max: 2, how: ExtendBy::CompareAndExtend };
    let settings = Settings {
        fencing: Fencing::AfterGrant,
        release: Release::GetThenDelete,
        extension: Some(extension),
        ..settings
    };
    let entries: [&dyn Fn(&mut Bench); 8] = [
        &|bench| bench.call(Call::Acquire { lock: LockId(0), mode: Mode::Lock, access: Access::FIRST }),
        &|bench| bench.reply(Outcome::Nil),
        &|bench| bench.wake(bench.now + Micros::millis(200)),
        &|bench| bench.reply(Outcome::Ok),
        &|bench| bench.reply(Outcome::Integer(1)),
        &|bench| bench.wake(bench.deadline().expect("an extension is due")),
        &|bench| bench.call(Call::Release),
        &|bench| bench.reply(Outcome::Bulk(Value::Token(Token { client: 0, serial: serial + 2 }))),
    ];
    let mut bench = Bench::new(settings);
    bench.now = start;
    bench.lock.serial = serial;
    let mut walked = vec![];
    for entry in entries {
        entry(&mut bench);
        let Bench { lock, settings, now, .. } = &bench;
        walked.push(Bench { lock: lock.clone(), now: *now, ..Bench::new(*settings) });
    }
    walked
}

/// Moves every time and every number by as much as this.
struct Mover {
    time: Micros,
    number: u32,
}

impl Visitor for Mover {
    fn stamp(&mut self, group: StampGroup, at: &mut Wall) {
        unreachable!("nothing of this lock is a wall clock's: {group:?} {at:?}");
    }
    fn due(&mut self, due: &mut Due) {
        match due {
            Due::Monotonic(at) => *at = *at + self.time,
            Due::Wall(at) => unreachable!("nothing of this lock is a wall clock's: {at:?}"),
        }
    }
    fn since(&mut self, at: &mut Monotonic, _limit: Micros) {
        unreachable!("this lock keeps ends, not beginnings: {at:?}");
    }
    fn expiry_seconds(&mut self, at: &mut i64) {
        unreachable!("nothing of this lock is a wall clock's: {at:?}");
    }
    fn serial(&mut self, owner: Owner, serial: &mut u32) {
        assert_eq!(owner, Owner::Me);
        *serial += self.number;
    }
}

#[test]
fn every_time_and_every_number_in_the_state_is_shown() {
    let (time, number) = (Micros::seconds(1_000), 100);
    for settings in [WRITTEN, Settings::repaired()] {
        let early = walk(settings, Monotonic(0), 0);
        let late = walk(settings, Monotonic(0) + time, number);
        let mut lines = vec![];
        for (mut early, late) in early.into_iter().zip(late) {
            lines.push((early.lock.line().number, early.lock.doing()));
            early.lock.visit(&settings, &mut Mover { time, number });
            assert_eq!(early.lock, late.lock);
        }
        let phases = [
            (1, "setting the key"),
            (0, "waiting"),
            (1, "setting the key"),
            (2, "drawing a token"),
            (3, "holds"),
            (3, "holds, extends"),
            (4, "releasing: whose key?"),
            (4, "releasing"),
        ];
        assert_eq!(lines, phases);
    }
}

#[test]
fn an_application_that_is_told_of_the_loss_releases_within_the_same_entry() {
    let settings = Settings { validity_margin: Some(Micros::seconds(2)), ..WRITTEN };
    let workload = Workload {
        clients: 1,
        rounds: 1,
        retries: false,
        calls: Calls::Lock,
        access: AccessChoice::First,
        think: Micros::ZERO,
        hold: Micros::seconds(60),
        releases: true,
        writes: Writes::None,
        resource_checks: false,
        resource_forgets: false,
        locks: 1,
        attendants: 0,
        pace: None,
        varies: false,
        work_fits: false,
    };
    let mut client = Client::<RedisSingle>::new(0, &workload, Monotonic(0), &settings);
    let at = |monotonic| ProcessContext {
        machine: Context { me: 0, servers: 1, wall: Wall(0), monotonic, choice: 0, settings: &settings },
        workload: &workload,
    };
    let reply = |serial, outcome| Message::Reply(Reply { serial, outcome });
    let mut out = Out::default();
    client.on_app_deadline(&at(Monotonic(0)), &mut out);
    client.on_message(Node::Server(0), reply(1, Outcome::Ok), &at(Monotonic(1)), &mut out);
    assert!(client.holds());
    out.clear();
    client.on_deadline(&at(seconds(8)), &mut out);
    assert_eq!(out.events, [Event::Lost { client: ClientId(0) }]);
    assert_eq!(out.sends.len(), 1);
    assert!(!client.holds());
    client.on_message(Node::Server(0), reply(2, Outcome::Integer(0)), &at(seconds(9)), &mut out);
    assert!(client.is_done());
}
