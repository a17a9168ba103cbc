//! What the operations do, and why they fail.

use super::*;
use std::cmp::Ordering;

#[test]
fn sequence_numbers_count_the_creates_of_one_parent_and_deletes_do_not_lower_them() {
    let mut all = Ensemble::single(1);
    let first = created(all.does(0, enqueue()));
    assert_eq!(first, numbered(0));
    let second = created(all.does(0, create(PLACE, CreateMode::PersistentSequential)));
    assert_eq!(second, numbered(1));
    assert_eq!(all.does(0, delete(second)), DONE);
    assert_eq!(created(all.does(0, enqueue())), numbered(2));
    // A child that is not sequential raises the counter, too.
    created(all.does(0, create(PLACE, CreateMode::Ephemeral)));
    assert_eq!(created(all.does(0, enqueue())), numbered(4));
}

#[test]
fn the_version_of_children_that_a_stat_shows_counts_creates_and_deletes() {
    let mut all = Ensemble::single(1);
    let place = created(all.does(0, enqueue()));
    created(all.does(0, enqueue()));
    all.does(0, delete(place));
    match all.does(0, exists(LOCK)) {
        Outcome::Exists(stat) => assert_eq!((stat.cversion, stat.children), (3, 1)),
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn a_parent_created_anew_counts_from_zero_and_with_a_later_czxid() {
    let mut all = Ensemble::single(1);
    let place = created(all.does(0, enqueue()));
    assert_eq!(all.does(0, delete(LOCK)), failed(Error::NotEmpty));
    all.does(0, delete(place));
    assert_eq!(all.does(0, delete(LOCK)), DONE);
    assert_eq!(all.does(0, enqueue()), failed(Error::NoNode));
    created(all.does(0, create(LOCK, CreateMode::Persistent)));
    assert_eq!(created(all.does(0, enqueue())), numbered(0));
}

#[test]
fn numbered_paths_hang_at_any_depth_and_take_sequence_numbers() {
    let mut all = Ensemble::single(1);
    let (a, b, item) = (Place::new(1), Place::new(2), Place::new(3));
    let path = |own, above| Path::Numbered(Numbered { own, above });
    let (one, two, three) = (path(a, None), path(b, Some(a)), path(item, Some(b)));
    assert_eq!(all.does(0, create(two, CreateMode::Persistent)), failed(Error::NoNode));
    for path in [one, two] {
        assert_eq!(created(all.does(0, create(path, CreateMode::Persistent))), path);
    }
    for number in 0..2 {
        let place = item.with_digits(number).expect("it is not negative");
        let made = created(all.does(0, create(three, CreateMode::EphemeralSequential)));
        assert_eq!(made, path(place, Some(b)));
        assert_eq!(place.digits(), Some(number as u32));
        let packed = postcard::to_stdvec(&made).expect("it can be packed");
        let unpacked: Path = postcard::from_bytes(&packed).expect("it was packed");
        assert_eq!((unpacked, unpacked.parent()), (made, Some(two)));
    }
    match all.does(0, children(two)) {
        Outcome::Children(children) => assert_eq!(children.len(), 2),
        outcome => panic!("{outcome:?}"),
    }
    assert_eq!(all.does(0, delete(two)), failed(Error::NotEmpty));
    let taken = path(item.with_digits(1).expect("it is not negative"), Some(b));
    assert_eq!(all.does(0, create(taken, CreateMode::Persistent)), failed(Error::NodeExists));
    assert_eq!(item.with_digits(-1), None);
}

#[test]
fn the_counter_of_3_8_stays_at_its_end_and_gives_one_number_to_all() {
    let settings = Settings { first_sequence: i32::MAX - 1, ..Settings::default() };
    let mut all = Ensemble::connected(1, 2, settings);
    assert_eq!(created(all.does(0, enqueue())), numbered(i32::MAX - 1));
    assert_eq!(created(all.does(0, enqueue())), numbered(i32::MAX));
    // Without a guid the name is taken ...
    assert_eq!(all.does(1, enqueue()), failed(Error::NodeExists));
    // ... and with one there are two with the same number.
    let with_guid = create(guarded(1, 7), CreateMode::EphemeralSequential);
    assert_eq!(created(all.does(1, with_guid)).suffix(), Some(Suffix::Number(i32::MAX)));
}

#[test]
fn the_counter_of_3_5_goes_on_below_zero_and_sorts_before_all_others() {
    let settings = Settings { first_sequence: i32::MAX, sequence: Counter::Wraps, ..Settings::default() };
    let mut all = Ensemble::connected(1, 1, settings);
    let holder = created(all.does(0, enqueue()));
    let newcomer = created(all.does(0, enqueue()));
    assert_eq!((holder, newcomer), (numbered(i32::MAX), numbered(i32::MIN)));
    let name = zookeeper_paths::WORDS.fill_in(&newcomer.to_string());
    assert_eq!(name, "/_locknode_0/lock--2147483648");
    let text = |path: Path| path.suffix().unwrap_or(Suffix::Number(0));
    assert_eq!(text(newcomer).cmp_text(text(holder)), Ordering::Less);
}

#[test]
fn suffixes_sort_as_their_text_does() {
    let numbers =
        [0, 1, 9, 10, 99, 1_000_000_000, i32::MAX, -1, -2, -10, -999_999_999, i32::MIN, i32::MIN + 1];
    for one in numbers {
        for two in numbers {
            let by_text = format!("{one:010}").cmp(&format!("{two:010}"));
            assert_eq!(Suffix::Number(one).cmp_text(Suffix::Number(two)), by_text, "{one} {two}");
        }
    }
}

#[test]
fn an_ephemeral_has_no_children() {
    let mut all = Ensemble::single(1);
    assert_eq!(all.does(0, delete(LOCK)), DONE);
    created(all.does(0, create(LOCK, CreateMode::Ephemeral)));
    assert_eq!(all.does(0, enqueue()), failed(Error::NoChildrenForEphemerals));
}

#[test]
fn a_version_is_compared_and_set() {
    let mut all = Ensemble::single(2);
    let set_by = |version| set(WORK, 7, version);
    assert!(matches!(all.does(0, set_by(Some(0))), Outcome::Applied(Applied::Set { .. })));
    assert_eq!(all.does(1, set_by(Some(0))), failed(Error::BadVersion));
    assert!(matches!(all.does(1, set(WORK, 8, None)), Outcome::Applied(Applied::Set { .. })));
    match all.does(0, get(WORK)) {
        Outcome::Data { data, stat } => assert_eq!((data, stat.version), (8, 2)),
        outcome => panic!("{outcome:?}"),
    }
    let delete_version = |version| Operation::Write(Write::Delete { path: WORK, version: Some(version) });
    assert_eq!(all.does(0, delete_version(1)), failed(Error::BadVersion));
    assert_eq!(all.does(0, delete_version(2)), DONE);
    assert_eq!(all.does(0, get(WORK)), failed(Error::NoNode));
}

#[test]
fn what_is_there_cannot_be_created_and_what_is_not_cannot_be_changed() {
    let mut all = Ensemble::single(1);
    assert_eq!(all.does(0, create(WORK, CreateMode::Persistent)), failed(Error::NodeExists));
    assert_eq!(all.does(0, create(Path::Root, CreateMode::Persistent)), failed(Error::BadArguments));
    assert_eq!(all.does(0, delete(Path::Root)), failed(Error::BadArguments));
    assert_eq!(
        all.does(0, create(zookeeper_paths::parent_path(LockId(5)), CreateMode::PersistentSequential)),
        failed(Error::BadArguments)
    );
    let missing = zookeeper_paths::work_path(LockId(9));
    assert_eq!(all.does(0, set(missing, 1, None)), failed(Error::NoNode));
    assert_eq!(all.does(0, delete(missing)), failed(Error::NoNode));
    assert_eq!(all.does(0, children(missing)), failed(Error::NoNode));
    assert_eq!(all.does(0, exists(missing)), failed(Error::NoNode));
}

#[test]
fn a_multi_does_everything_or_nothing() {
    let mut all = Ensemble::single(2);
    let place = created(all.does(0, enqueue()));
    let guarded_write = Operation::Multi(vec![
        Write::Check { path: place, version: Some(0) },
        Write::SetData { path: WORK, data: 5, version: None },
    ]);
    assert!(matches!(all.does(0, guarded_write.clone()), Outcome::Multi(done) if done.len() == 2));
    all.does(0, delete(place));
    let denied = Outcome::MultiFailed { place: 0, error: Error::NoNode };
    assert_eq!(all.does(0, guarded_write), denied);
    // The first write is taken back when the second fails.
    let half = Operation::Multi(vec![
        Write::SetData { path: WORK, data: 6, version: None },
        Write::Delete { path: place, version: None },
    ]);
    assert_eq!(all.does(0, half), Outcome::MultiFailed { place: 1, error: Error::NoNode });
    assert_eq!(all.data(0, WORK), Some(5));
}

#[test]
fn the_leader_alone_tells_in_which_order_the_lock_was_acquired_and_the_work_written() {
    use picklock_properties::{ClientId, Event};
    const A: ClientId = ClientId(0);
    const B: ClientId = ClientId(1);
    for servers in [1, 3] {
        let settings = if servers == 1 { Settings::default() } else { electing() };
        let mut all = Ensemble::new(servers, 2, settings);
        if servers > 1 {
            all.pass(Micros::seconds(5), &[]);
        }
        (0..2).for_each(|client| all.connect(client));
        all.deliver_all();
        let [one, other] = [0, 1].map(|client| created(all.does(client, enqueue())));
        let write = |place| {
            let check = Write::Check { path: place, version: None };
            Operation::Multi(vec![check, Write::SetData { path: WORK, data: 1, version: None }])
        };
        all.does(0, write(one));
        all.does(0, delete(one));
        all.does(1, write(other));
        all.does(0, write(one));
        let is_told = |event: &&Event| {
            matches!(event, Event::Acquired { .. } | Event::Accepted { .. } | Event::Rejected { .. })
        };
        let told: Vec<Event> = all.events.iter().filter(is_told).copied().collect();
        assert_eq!(
            told,
            [
                Event::Acquired { client: A, lock: LockId(0) },
                Event::Accepted { client: A, fence: None, hold: None },
                Event::Acquired { client: B, lock: LockId(0) },
                Event::Accepted { client: B, fence: None, hold: None },
                Event::Rejected { client: A, fence: None, hold: None },
            ],
            "{servers} servers"
        );
    }
}

#[test]
fn writes_of_a_multi_see_each_other_and_share_a_zxid() {
    let mut all = Ensemble::single(1);
    let both = Operation::Multi(vec![
        Write::Create { path: PLACE, mode: CreateMode::EphemeralSequential, data: 0 },
        Write::Create { path: PLACE, mode: CreateMode::EphemeralSequential, data: 0 },
        Write::Check { path: numbered(1), version: Some(0) },
    ]);
    match all.does(0, both) {
        Outcome::Multi(done) => match (done[0], done[1]) {
            (Applied::Created { path: one, stat: first }, Applied::Created { path: two, stat: second }) => {
                assert_eq!((one, two), (numbered(0), numbered(1)));
                assert_eq!(first.czxid, second.czxid);
            }
            done => panic!("{done:?}"),
        },
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn a_failed_write_takes_a_zxid_too() {
    let mut all = Ensemble::single(1);
    let before = all.servers[0].last_applied();
    all.does(0, delete(zookeeper_paths::work_path(LockId(9))));
    assert!(all.servers[0].last_applied() > before);
}

#[test]
fn the_contents_name_every_znode_and_who_watches() {
    let mut all = Ensemble::single(1);
    created(all.does(0, enqueue()));
    all.does(0, watch(WORK));
    let contents = all.servers[0].contents();
    let contents: Vec<String> = contents.iter().map(|line| zookeeper_paths::WORDS.fill_in(line)).collect();
    assert!(
        contents.iter().any(|line| line.contains("/_locknode_0/lock-0000000000 of session A@1")),
        "{contents:?}"
    );
    assert!(contents.iter().any(|line| line == "watches of session A@1: /work0"), "{contents:?}");
}
