//! What a visitor and the reader of a trace are shown.

use super::*;
use crate::machine::StampGroup;

/// Moves every moment and number that it is shown by as much.
#[derive(Default)]
struct Mover {
    dues: usize,
    serials: usize,
}

const MOVED: u32 = 1_000;

impl Visitor for Mover {
    fn stamp(&mut self, _group: StampGroup, _at: &mut Wall) {
        panic!("Redlock compares no clocks of different nodes");
    }

    fn due(&mut self, due: &mut Due) {
        self.dues += 1;
        match due {
            Due::Wall(at) => at.0 += i64::from(MOVED),
            Due::Monotonic(at) => at.0 += i64::from(MOVED),
        }
    }

    fn since(&mut self, _at: &mut Monotonic, _limit: Micros) {
        panic!("Redlock asks only whether a moment has come");
    }

    fn expiry_seconds(&mut self, _at: &mut i64) {
        panic!("Redlock counts no seconds");
    }

    fn serial(&mut self, owner: Owner, serial: &mut u32) {
        assert_eq!(owner, Owner::Me);
        self.serials += 1;
        *serial += MOVED;
    }
}

fn shown(client: &Client) -> (usize, usize) {
    let mut mover = Mover::default();
    client.lock.clone().visit(&client.settings, &mut mover);
    (mover.dues, mover.serials)
}

fn extended() -> Settings {
    Settings { extension: Some(Extension::as_written(Micros::seconds(10))), ..Settings::as_written() }
}

#[test]
fn every_moment_and_number_is_shown() {
    let mut client = Client::new(2, extended());
    assert_eq!(shown(&client), (0, 1), "idle: the counter");
    client.acquire(Mode::Lock);
    assert_eq!(shown(&client), (2, 3), "acquiring: validity and time-out; counter, value and request");
    client.reply(0, Outcome::Nil);
    client.reply(1, Outcome::Nil);
    assert_eq!(shown(&client), (1, 1), "waiting: the delay; the counter");
    client.sleep();
    client.reply(0, Outcome::Ok);
    client.reply(1, Outcome::Ok);
    assert_eq!(shown(&client), (1, 2), "holding: the validity; counter and value");
    client.sleep();
    assert_eq!(shown(&client), (3, 3), "extending: both validities and the time-out; request too");
    client.release();
    assert_eq!(shown(&client), (0, 1), "released: the counter");
}

#[test]
fn the_value_that_the_next_attempt_will_have_is_shown() {
    let mut client = Client::new(1, Settings { value: DrawnFor::PerCall, ..Settings::as_written() });
    client.acquire(Mode::Lock);
    client.reply(0, Outcome::Nil);
    assert_eq!(shown(&client), (1, 2), "waiting: the delay; counter and value");
}

/// A client that has been moved does the same as one that has not, that much later and with numbers that much larger.
#[test]
fn a_client_whose_times_and_numbers_are_moved_does_the_same() {
    let run = |move_at: usize| {
        let mut client = Client::new(2, extended());
        let mut told = Vec::new();
        for step in 0..8 {
            if step == move_at {
                client.lock.visit(&client.settings, &mut Mover::default());
                client.now = client.now + Micros(i64::from(MOVED));
            }
            match step {
                0 => client.acquire(Mode::Lock),
                1 => client.reply(0, Outcome::Ok),
                2 | 3 | 6 => client.sleep(),
                4 => client.reply(0, Outcome::Ok),
                5 => client.reply(1, Outcome::Ok),
                _ => client.release(),
            }
            told.push((client.out.answer, client.out.events.clone(), client.sent().len()));
        }
        (told, client.now)
    };
    let (unmoved, end) = run(8);
    assert_eq!(unmoved[5].0, Some(Answer::Granted { fence: None }));
    for step in 1..8 {
        let (moved, moved_end) = run(step);
        assert_eq!(moved, unmoved, "moved before step {step}");
        assert_eq!(moved_end, end + Micros(i64::from(MOVED)));
    }
}

#[test]
fn the_steps_of_the_source_are_named() {
    let mut client = Client::new(1, Settings::as_written());
    let mut lines = vec![client.lock.line().to_string()];
    client.acquire(Mode::Lock);
    lines.push(client.lock.line().to_string());
    client.reply(0, Outcome::Nil);
    lines.push(client.lock.line().to_string());
    client.sleep();
    client.reply(0, Outcome::Ok);
    lines.push(client.lock.line().to_string());
    assert_eq!(lines, ["", "step 2", "step 5", "step 4"]);
}

#[test]
fn the_lease_is_the_lifetime_of_the_keys() {
    assert_eq!(Redlock::lease(&Settings::as_written()), Some(Micros::seconds(10)));
    assert_eq!(Redlock::lease(&Settings { ttl: None, ..Settings::as_written() }), None);
}

#[test]
fn the_usual_margin_is_a_hundredth_and_two_milliseconds() {
    assert_eq!(Settings::as_written().drift_margin, Micros::millis(102));
}
