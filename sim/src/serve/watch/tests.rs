//! What is blamed, and what is told of it.

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
    for (client, line) in [(a, "enter orders"), (b, "want orders"), (a, "leave orders"), (b, "enter orders")]
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
    for (client, line) in [(a, "enter orders"), (b, "want orders"), (a, "leave orders"), (b, "enter orders")]
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
            let (value, owner) = (Bytes::from(asked.to_string()), Owner { link: 0, client: Some(client) });
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
    let reset =
        Fault::Reset { between: Side::Clients, and: Side::Nodes([Target::Server(0)].into_iter().collect()) };
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
        assert_eq!(lines.contains("B deletes on s2 at 55us /orders/1, which is A's"), is_to_blame, "{lines}");
    }
}

#[test]
fn what_the_next_holder_puts_in_its_place_when_the_lease_is_over_takes_nothing_away() {
    use bytes::Bytes;
    // The holder pauses; its lease is over, or not, before the next one overwrites what both count by.
    for (over_at, is_to_blame) in [(Some(50), true), (None, false)] {
        let mut watch = Watch::default();
        watch.record.begin(0, None);
        let key = Bytes::from_static(b"orders/counter");
        let owner = |client| Owner { link: 0, client: Some(client) };
        for (at, client, line) in TWO_HOLD {
            if at == 40 {
                watch.losses.granted(7, owner(0));
                watch.losses.put(Micros(30), 0, &key, owner(0), 0);
            }
            if at == 60 {
                let node = crate::plans::plan::Target::Client(0);
                watch.struck(Micros(42), &Fault::Pause { node, length: Micros(20) }, Vec::new(), Some(0));
                if let Some(over_at) = over_at {
                    watch.losses.lease_over(Micros(over_at), 0, 7);
                }
                watch.losses.put(Micros(55), 0, &key, owner(1), 0);
            }
            let client = watch.witness.client(Some(client)).expect("there is room");
            watch.hears(client, line, Micros(at)).expect("a line");
        }
        let broken = watch.broken().next().expect("two hold").clone();
        assert_eq!(broken.fault.is_some(), is_to_blame, "{broken}");
        assert_eq!(broken.to_string().contains("overwrites"), !is_to_blame, "{broken}");
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

#[test]
fn who_closes_its_connection_has_left_and_who_was_killed_has_not() {
    let mut watch = Watch::default();
    watch.record.begin(0, None);
    let [a, b] = ["A", "B"].map(|name| watch.sits(Some(name)).expect("there is room"));
    assert_eq!((watch.away_since(0), watch.away_since(2)), (None, None), "C has never been there");
    watch.stands(a, Micros::seconds(1));
    assert_eq!(watch.away_since(0), Some(Micros::seconds(1)));
    watch.sits(Some("A")).expect("it is known");
    assert_eq!(watch.away_since(0), None);
    let node = crate::plans::plan::Target::Client(1);
    let crash = Fault::Crash { node, restart_after: Some(Micros(1)) };
    watch.struck(Micros::seconds(2), &crash, Vec::new(), Some(1));
    watch.starts(1);
    watch.stands(b, Micros(2_100_000));
    assert_eq!(watch.away_since(1), None, "the process is another one, and has yet to come");
    watch.sits(Some("B")).expect("it is known");
    watch.stands(b, Micros::seconds(4));
    assert_eq!(watch.away_since(1), Some(Micros::seconds(4)));
}
