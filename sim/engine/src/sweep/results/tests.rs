use super::*;
use crate::sweep::{SweepOptions, sweep};
use crate::toy;
use picklock_model::cluster::Setup;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

const OF: Range<u64> = 100..5000;
static NEVER: AtomicBool = AtomicBool::new(false);

fn question(seeds: Range<u64>) -> Question {
    Question::new("key", &[1, 2, 3], FaultSet::ALL, Strategy::Swarm, seeds, OF)
}

/// A folder of this test alone.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("picklock-results-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    folder
}

/// Runs what is missing in the file; gives up after so many reports, as if killed.
fn go_on(path: &Path, seeds: Range<u64>, jobs: usize, reports_max: usize) -> SweepReport {
    let setup: Setup<toy::Key> = toy::leased_setup();
    let results = Results::open(path, &question(seeds.clone())).expect("it can be written");
    let rest = results.next()..seeds.end;
    let state = Mutex::new((results, 0));
    let on_merged = |until, report| {
        let mut state = state.lock().unwrap();
        let (results, reports) = &mut *state;
        *reports += 1;
        if *reports <= reports_max {
            results.add(until, report, 0.0).expect("it can be written");
        }
    };
    let options = SweepOptions { on_merged: Some(&on_merged), ..options(&setup, jobs) };
    sweep(&setup, FaultSet::ALL, rest, &options).unwrap();
    state.into_inner().unwrap().0.finish().0
}

fn options(setup: &Setup<toy::Key>, jobs: usize) -> SweepOptions<'static> {
    SweepOptions {
        jobs,
        keep_going: true,
        sought: None,
        until_tested: None,
        strategy: Strategy::Swarm,
        limits: None,
        scale: crate::plans::swarm::Scale::of(setup),
        on_progress: &|_| {},
        on_merged: None,
        stop: &NEVER,
    }
}

fn at_once() -> SweepReport {
    let setup = toy::leased_setup();
    sweep(&setup, FaultSet::ALL, OF, &options(&setup, 2)).unwrap()
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_sweep_that_is_killed_and_goes_on_leaves_the_same_bytes_as_one_that_is_not() {
    let folder = folder("killed");
    let (whole, killed) = (folder.join("whole"), folder.join("killed"));
    assert_eq!(go_on(&whole, OF, 2, usize::MAX), at_once());
    for reports in [0, 3, 20, 17] {
        let report = go_on(&killed, OF, 3, reports);
        assert!(report.stopped && report.runs < OF.end - OF.start);
        // Killed in the middle of a line, too.
        let mut file = OpenOptions::new().append(true).open(&killed).unwrap();
        file.write_all(b"{\"seeds\":[1024,20").unwrap();
    }
    assert_eq!(go_on(&killed, OF, 1, usize::MAX), at_once());
    assert_eq!(std::fs::read(&killed).unwrap(), std::fs::read(&whole).unwrap());
    // There is nothing left to do.
    assert_eq!(Results::open(&killed, &question(OF)).unwrap().next(), OF.end);
}

#[test]
fn shards_together_are_the_whole_in_whatever_order_and_on_whatever_threads() {
    let folder = folder("shards");
    let paths: Vec<PathBuf> = ["1", "2", "3"].map(|name| folder.join(name)).into();
    for (path, seeds) in paths.iter().zip([100..1500, 1500..1600, 1600..5000]) {
        go_on(path, seeds, 2, usize::MAX);
    }
    let backwards: Vec<PathBuf> = paths.iter().rev().cloned().collect();
    let merged = merge(&backwards).unwrap().unwrap();
    assert_eq!((&merged.report, merged.missing.as_slice()), (&at_once(), &[][..]));
    assert_eq!(merged.question.seeds, [OF.start, OF.end]);

    let gap = merge(&[paths[2].clone(), paths[0].clone()]).unwrap().unwrap();
    assert_eq!((gap.missing.first(), gap.missing.len(), gap.report.stopped), (Some(&(1500..1600)), 1, true));
    let twice = merge(&[paths[0].clone(), paths[0].clone()]).unwrap_err().to_string();
    assert!(twice.contains("both have the seeds 100..1500"), "{twice}");
}

#[test]
fn what_is_not_listed_any_more_is_counted_still() {
    let folder = folder("listed");
    let report = go_on(&folder.join("all"), OF, 2, usize::MAX);
    let listed = report.violations.len() as u64;
    let counted: u64 = report.broken.values().sum();
    assert!(
        counted > 0 && listed <= counted && listed <= report.broken.len() as u64 * SweepReport::LISTED_MAX
    );
}

#[test]
fn a_file_of_another_sweep_or_of_none_is_refused_and_left_alone() {
    let folder = folder("refused");
    let path = folder.join("results");
    go_on(&path, OF, 2, 40);
    let before = std::fs::read(&path).unwrap();
    let others = [
        (Question { lock: "other".to_owned(), ..question(OF) }, "other lock"),
        (Question { strategy: Strategy::Pct, ..question(OF) }, "other strategy"),
        (Question { version: "0.0.1".to_owned(), ..question(OF) }, "other version"),
        (question(100..200), "other shard"),
        (Question { of: [0, 9], ..question(OF) }, "other seeds"),
    ];
    for (question, what) in others {
        let error = Results::open(&path, &question).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);

    let unversioned = String::from_utf8(before).unwrap().replacen("\"version\":", "\"conversion\":", 1);
    std::fs::write(&path, &unversioned).unwrap();
    let refused = [Results::open(&path, &question(OF)).err(), merge(std::slice::from_ref(&path)).err()];
    for error in refused.map(|error| error.map(|error| error.to_string()).unwrap_or_default()) {
        assert!(error.contains("does not say which version of picklock"), "{error}");
    }

    for text in ["Dear diary\n", "Dear diary", "{}\n", "{\"sweep\":7}\n"] {
        std::fs::write(&path, text).unwrap();
        let error = Results::open(&path, &question(OF)).unwrap_err().to_string();
        assert!(error.contains("line 1 is not what a sweep writes there"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), text.as_bytes());
    }
}

#[test]
fn two_sweeps_do_not_write_one_file() {
    let path = folder("busy").join("results");
    let first = Results::open(&path, &question(OF)).unwrap();
    assert!(matches!(Results::open(&path, &question(OF)), Err(ResultsError::Busy(_))));
    drop(first);
    Results::open(&path, &question(OF)).expect("nobody writes it any more");
}

#[test]
#[ignore = "long: `cargo test -- --include-ignored` runs it, as CI does"]
fn a_sweep_that_was_killed_before_its_first_line_has_nothing_to_say() {
    let path = folder("early").join("results");
    std::fs::write(&path, "{\"sweep\":{\"form").unwrap();
    assert!(merge(std::slice::from_ref(&path)).unwrap().is_none());
    assert_eq!(go_on(&path, OF, 2, usize::MAX), at_once());
}

/// A device has no end to be read to, and a folder holds no lines.
#[test]
fn what_is_no_file_is_refused_before_it_is_read() {
    let folder = folder("no-file");
    let mut refused = vec![(folder.clone(), "it is a folder, not a file")];
    if cfg!(target_os = "linux") {
        let devices = ["/dev/full", "/dev/zero"].map(PathBuf::from);
        refused.extend(devices.map(|path| (path, "it is a device or a pipe, not a file")));
    }
    for (path, why) in refused {
        let errors = [Results::open(&path, &question(OF)).err(), merge(std::slice::from_ref(&path)).err()];
        for error in errors.map(|error| error.map(|error| error.to_string()).unwrap_or_default()) {
            assert_eq!(error, format!("{}: {why}", path.display()));
        }
    }
}
