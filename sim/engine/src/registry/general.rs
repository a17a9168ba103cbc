//! The general hunt of one lock: random plans that know of no row of the catalogue, on the lock in its registered use.
//!
//! A row's own hunt has a setup that was cut for it: few other flaws, the one kind of fault, work that meets it. Here only the
//! flaw itself is taken over. What tells it from its repair (the settings in which the two setups of the row's hunt differ) is put into
//! the registered setup, flawed and repaired; all else is as registered. Where the flawed one is the registered one, as for a lock
//! as its source has it, nothing at all was prepared, and rows share the search.

use super::RunError;
use crate::plans::fault::FaultSet;
use crate::plans::strategy::Strategy;
use crate::plans::swarm::Scale;
use crate::sweep::PlannedRun;
use crate::sweep::cause::{Cause, Tell, Telling};
use picklock_model::claims::{pack_setup, unpack_setup};
use picklock_model::cluster::Setup;
use picklock_model::system::System;
use picklock_model::workload::Workload;
use picklock_properties::Promise;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A row of the catalogue.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// What it breaks.
    pub breaks: Promise,
    /// The packed setup in which it is hunted.
    pub flawed: &'a [u8],
    /// The same, repaired; `None`: by another lock.
    pub repaired: Option<&'a [u8]>,
    /// The kinds of faults that bring it about.
    pub faults: FaultSet,
}

/// How to go about it.
pub struct GeneralHow<'a> {
    /// Which kinds of faults plans may have.
    pub faults: FaultSet,
    /// How plans are drawn.
    pub strategy: Strategy,
    /// From so many starts.
    pub starts: u64,
    /// From one start's first seed to the next one's.
    pub stride: u64,
    /// So many seeds from each.
    pub seeds_max: u64,
    /// Threads, at least 1.
    pub jobs: usize,
    /// Told how many more seeds were tried, from any thread.
    pub on_progress: &'a (dyn Fn(u64) + Sync),
    /// Set from outside to stop.
    pub stop: &'a AtomicBool,
}

/// What became of all rows of a lock.
#[derive(Debug)]
pub struct General {
    /// Of each row that was asked about, in that order.
    pub rows: Vec<Sighting>,
    /// Failures of the registered lock that were looked at, and that no row explains.
    pub unexplained: BTreeMap<Promise, Unexplained>,
    /// Whether nobody stopped it.
    pub complete: bool,
}

/// What became of a row.
#[derive(Debug)]
pub enum Sighting {
    /// Its repair cannot be put into the registered setup; why not.
    NotComparable(&'static str),
    /// It was looked for.
    LookedFor {
        /// Whether the registered lock has the flaw as it is; else the flaw was put in.
        as_registered: bool,
        /// Whether a run was told by the row's repair; else, where that is no other setting, by the kinds of faults that it needs.
        by_repair: bool,
        /// The packed setup.
        setup: Vec<u8>,
        /// Of each start: the first run that shows it.
        seen: Vec<Option<Seen>>,
    },
}

/// A run that shows a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// How many seeds were tried, this one included.
    pub seeds: u64,
    /// The run.
    pub run: PlannedRun,
    /// The kinds of faults that it needs.
    pub kinds: FaultSet,
}

/// Failures of which no row is told to be the cause.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Unexplained {
    /// That hang on so little that their cause cannot be told.
    pub delicate: u64,
    /// That no repair of a row prevents.
    pub others: u64,
    /// The first of those.
    pub first: Option<PlannedRun>,
}

/// The rows that are looked for in one setup.
struct Ground {
    /// The packed setup.
    setup: Vec<u8>,
    as_registered: bool,
    scale: Scale,
    workload: Workload,
    rows: Vec<Row>,
}

/// That setup, and its repairs.
struct Setups<Y: System> {
    flawed: Setup<Y>,
    repaired: Vec<Setup<Y>>,
}

/// What tells the causes of a ground's runs, by its number.
type Tellers<'a> = &'a (dyn Fn(usize) -> Box<dyn Telling + 'a> + Sync);

/// A row in its ground.
struct Row {
    /// Its place among those asked about.
    place: usize,
    breaks: Promise,
    told: Told,
}

/// What a run of a row is told by.
#[derive(Clone, Copy)]
enum Told {
    /// This repair of the ground prevents it.
    Repair(usize),
    /// No repair does that could be tried, and it needs no faults but of these kinds.
    Faults(FaultSet),
}

/// What one start came to.
#[derive(Default)]
struct Start {
    seen: BTreeMap<usize, Seen>,
    unexplained: BTreeMap<Promise, Unexplained>,
    stopped: bool,
}

/// Looks for rows in a lock whose registered setup this is. It watches what they break.
pub(super) fn general<Y: System>(
    registered: &Setup<Y>,
    wanted: &[Wanted],
    how: &GeneralHow,
) -> Result<General, RunError> {
    let (mut grounds, mut setups): (Vec<Ground>, Vec<Setups<Y>>) = Default::default();
    let mut rows = Vec::new();
    for (place, wanted) in wanted.iter().enumerate() {
        let (flawed, repaired) = match put_in(registered, wanted)? {
            Ok((flawed, repaired)) => (flawed, Some(repaired)),
            Err(why) if wanted.faults.is_empty() => {
                rows.push(Sighting::NotComparable(why));
                continue;
            }
            Err(_) => (registered.clone(), None),
        };
        let by_repair = repaired.is_some();
        let as_registered = is_alike(&flawed, registered);
        rows.push(Sighting::LookedFor { as_registered, by_repair, setup: Vec::new(), seen: Vec::new() });
        let of_row = setups.iter().position(|setups| is_alike(&setups.flawed, &flawed));
        let of_row = of_row.unwrap_or_else(|| {
            grounds.push(Ground {
                setup: pack_setup(&flawed),
                as_registered,
                scale: Scale::of(&flawed),
                workload: flawed.workload,
                rows: Vec::new(),
            });
            setups.push(Setups { flawed, repaired: Vec::new() });
            setups.len() - 1
        });
        let of_ground = &mut setups[of_row].repaired;
        let told = repaired.map_or(Told::Faults(wanted.faults), |repaired| {
            of_ground.push(repaired);
            Told::Repair(of_ground.len() - 1)
        });
        grounds[of_row].rows.push(Row { place, breaks: wanted.breaks, told });
    }
    let tellers: Tellers = &|ground| {
        let Setups { flawed, repaired } = &setups[ground];
        Box::new(Tell::new(flawed, repaired))
    };
    let starts = search(&grounds, tellers, how);
    Ok(gather(&grounds, rows, starts, how))
}

/// Every start of every ground, on so many threads.
fn search(grounds: &[Ground], tellers: Tellers, how: &GeneralHow) -> Vec<Vec<Start>> {
    let jobs: Vec<(usize, u64)> =
        (0..grounds.len()).flat_map(|ground| (0..how.starts).map(move |start| (ground, start))).collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    std::thread::scope(|scope| {
        for _ in 0..how.jobs.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while let Some(&(ground, start)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let of_start = from(&grounds[ground], &mut *tellers(ground), start * how.stride, how);
                    found.lock().unwrap_or_else(PoisonError::into_inner).insert((ground, start), of_start);
                }
            });
        }
    });
    let mut of_grounds: Vec<Vec<Start>> = grounds.iter().map(|_| Vec::new()).collect();
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.into_iter().for_each(|((ground, _), start)| of_grounds[ground].push(start));
    of_grounds
}

/// From one start, until all rows of the ground were seen.
fn from(ground: &Ground, tell: &mut dyn Telling, first: u64, how: &GeneralHow) -> Start {
    let mut start = Start::default();
    for seed in first..first + how.seeds_max {
        if start.seen.len() == ground.rows.len() {
            break;
        }
        if how.stop.load(Ordering::Relaxed) {
            start.stopped = true;
            break;
        }
        let plan = how.strategy.plan(how.faults, seed, &ground.scale.of_seed(&ground.workload, seed));
        let run = PlannedRun { plan, seed };
        let outcome = tell.run(&run);
        for violation in &outcome.violations {
            look_at(ground, tell, &run, violation.promise, seed - first + 1, &mut start);
        }
        (how.on_progress)(1);
    }
    start
}

/// A run that breaks a promise.
fn look_at(
    ground: &Ground,
    tell: &mut dyn Telling,
    run: &PlannedRun,
    promise: Promise,
    seeds: u64,
    start: &mut Start,
) {
    let of_promise = || ground.rows.iter().filter(|row| row.breaks == promise);
    let is_open = |row: &&Row, start: &Start| !start.seen.contains_key(&row.place);
    if of_promise().next().is_some() && !of_promise().any(|row| is_open(&row, start)) {
        return;
    }
    // A row that was seen before explains a run as well as one that was not.
    let repair = |row: &Row| match row.told {
        Told::Repair(repair) => Some(repair),
        Told::Faults(_) => None,
    };
    let asked: Vec<usize> = of_promise().filter_map(repair).collect();
    let repairs = match tell.cause(run, promise, &asked) {
        Cause::Delicate => {
            start.unexplained.entry(promise).or_default().delicate += 1;
            return;
        }
        Cause::Repairs(repairs) => repairs,
    };
    let may_explain = |row: &&Row| match row.told {
        Told::Repair(repair) => repairs.contains(&repair),
        Told::Faults(_) => repairs.is_empty(),
    };
    let kinds = match of_promise().any(|row| may_explain(&row)) {
        true => tell.needed(run, promise),
        false => FaultSet::EMPTY,
    };
    let explains = |row: &&Row| match row.told {
        Told::Repair(repair) => repairs.contains(&repair),
        Told::Faults(faults) => {
            repairs.is_empty() && !kinds.is_empty() && kinds.iter().all(|kind| faults.contains(kind))
        }
    };
    let mut is_explained = false;
    for row in of_promise().filter(explains) {
        is_explained = true;
        start.seen.entry(row.place).or_insert_with(|| Seen { seeds, run: run.clone(), kinds });
    }
    if !is_explained {
        let unexplained = start.unexplained.entry(promise).or_default();
        unexplained.others += 1;
        unexplained.first.get_or_insert_with(|| run.clone());
    }
}

fn gather(grounds: &[Ground], mut rows: Vec<Sighting>, starts: Vec<Vec<Start>>, how: &GeneralHow) -> General {
    let (mut unexplained, mut complete) = (BTreeMap::<Promise, Unexplained>::new(), true);
    for (ground, mut starts) in grounds.iter().zip(starts) {
        complete &= starts.len() as u64 == how.starts && starts.iter().all(|start| !start.stopped);
        for row in &ground.rows {
            if let Sighting::LookedFor { setup, seen, .. } = &mut rows[row.place] {
                setup.clone_from(&ground.setup);
                *seen = starts.iter_mut().map(|start| start.seen.remove(&row.place)).collect();
            }
        }
        for (promise, of_start) in starts.into_iter().flat_map(|start| start.unexplained) {
            if ground.as_registered {
                let all = unexplained.entry(promise).or_default();
                all.delicate += of_start.delicate;
                all.others += of_start.others;
                all.first = all.first.take().or(of_start.first);
            }
        }
    }
    General { rows, unexplained, complete }
}

/// Flawed and repaired, and as registered otherwise.
type PutIn<Y> = Result<(Setup<Y>, Setup<Y>), &'static str>;

fn put_in<Y: System>(registered: &Setup<Y>, wanted: &Wanted) -> Result<PutIn<Y>, RunError> {
    let Some(repaired) = wanted.repaired else {
        return Ok(Err("its repair is another lock"));
    };
    let (flawed, repaired): (Setup<Y>, Setup<Y>) = (unpack_setup(wanted.flawed)?, unpack_setup(repaired)?);
    if flawed.servers != repaired.servers {
        return Ok(Err("its repair is another number of servers"));
    }
    if (&flawed.lock, &flawed.store) == (&repaired.lock, &repaired.store) {
        return Ok(Err("its repair is another use, not another lock or store"));
    }
    let lock = both(&registered.lock, &flawed.lock, &repaired.lock);
    let store = both(&registered.store, &flawed.store, &repaired.store);
    let (Some((flawed_lock, repaired_lock)), Some((flawed_store, repaired_store))) = (lock, store) else {
        return Ok(Err("what its repair changes means nothing in the registered setup"));
    };
    let setup = |lock, store| Setup { lock, store, ..registered.clone() };
    Ok(Ok((setup(flawed_lock, flawed_store), setup(repaired_lock, repaired_store))))
}

/// `registered` with what `flawed` has where the two others differ, and with what `repaired` has there.
fn both<T: Serialize + DeserializeOwned>(registered: &T, flawed: &T, repaired: &T) -> Option<(T, T)> {
    let value = |settings: &T| serde_json::to_value(settings).ok();
    let (registered, flawed, repaired) = (value(registered)?, value(flawed)?, value(repaired)?);
    let with = |wanted: &Value, other: &Value| {
        let mut mixed = registered.clone();
        put(&mut mixed, wanted, other);
        serde_json::from_value(mixed).ok()
    };
    Some((with(&flawed, &repaired)?, with(&repaired, &flawed)?))
}

/// Takes over from `wanted` what differs from `other`: of settings that both have, only the parts that do.
fn put(into: &mut Value, wanted: &Value, other: &Value) {
    match (into, wanted, other) {
        (_, wanted, other) if wanted == other => {}
        (Value::Object(into), Value::Object(wanted), Value::Object(other))
            if wanted.keys().eq(other.keys()) && wanted.keys().eq(into.keys()) =>
        {
            for (name, part) in into {
                put(part, &wanted[name], &other[name]);
            }
        }
        (into, wanted, _) => *into = wanted.clone(),
    }
}

fn is_alike<Y: System>(one: &Setup<Y>, other: &Setup<Y>) -> bool {
    (&one.lock, &one.store, one.servers) == (&other.lock, &other.store, other.servers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_differs_is_taken_over_and_a_variant_that_is_another_one_whole() {
        let registered = json!({"ttl": 10, "release": "delete", "extend": {"Every": {"at": 3, "times": 1}}});
        let flawed = json!({"ttl": 99, "release": "delete", "extend": {"Every": {"at": 5, "times": 9}}});
        let repaired = json!({"ttl": 99, "release": "compare", "extend": {"Every": {"at": 5, "times": 8}}});
        let mixed = |wanted, other| {
            let mut mixed = registered.clone();
            put(&mut mixed, wanted, other);
            mixed
        };
        let of_flawed = json!({"ttl": 10, "release": "delete", "extend": {"Every": {"at": 3, "times": 9}}});
        assert_eq!(mixed(&flawed, &repaired), of_flawed);
        let never = json!({"ttl": 99, "release": "delete", "extend": "Never"});
        assert_eq!(mixed(&never, &flawed), json!({"ttl": 10, "release": "delete", "extend": "Never"}));
    }
}
