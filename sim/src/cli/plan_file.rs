//! `--plan FILE`: the same faults at the same moments for every seed.

use super::BadCall;
use crate::files;
use crate::plans::plan::{Fault, Plan, Planned, Target, When};
use crate::registry::{AnyLock, RunError, SweepHow};
use crate::seeded::outcome::Outcome;
use crate::sweep::SweepReport;
use crate::token::differences::passed_over;
use picklock_model::time::Micros;
use rayon::prelude::*;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::Ordering;

/// A plan that was read and can be run.
pub struct PlanFile(Plan);

/// Most seeds that one thread runs without looking up.
const BLOCK_MAX: u64 = 64;
/// Blocks that are handed out at once, for each thread.
const BLOCKS: u64 = 8;

impl PlanFile {
    /// Reads a plan.
    pub fn read(path: &Path) -> Result<PlanFile, BadCall> {
        let shown = path.display();
        let text = files::read_text(path)
            .map_err(|error| BadCall(format!("the plan {shown} cannot be read: {error}")))?;
        PlanFile::parse(&text).map_err(|why| BadCall(format!("the plan {shown} {why}")))
    }

    /// The plan that a text is, or why it is none.
    pub fn parse(text: &str) -> Result<PlanFile, String> {
        let no_plan = |error: serde_json::Error| {
            format!(
                "is not a fault plan: {}; `picklock faults --fields` shows what one says",
                plainly(&error)
            )
        };
        // Some editors mark with it that the text is UTF-8, which JSON always is.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let given: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))?;
        if !given.is_object() {
            let what =
                "is not a fault plan: expected an object, as in {\"faults\": [], \"heal_at\": 60000000}";
            return Err(format!("{what}; `picklock faults --fields` shows what one says"));
        }
        let plan: Plan = serde_json::from_str(text).map_err(no_plan)?;
        let known = serde_json::to_value(&plan).map_err(no_plan)?;
        if let Some(name) = passed_over(&given, &known) {
            return Err(format!("cannot be run: no plan has a {name:?}"));
        }
        let useless = || plan.faults.iter().find_map(does_less_than_it_says);
        match plan.implausible().or_else(|| strikes_whom_nobody_knows(&plan)).or_else(useless) {
            Some(why) => Err(format!("cannot be run: {why}")),
            None => Ok(PlanFile(plan)),
        }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.0
    }

    /// Runs the seeds. The report is that of one thread, however many there are. A plan of which nothing can come is refused: whoever wrote
    /// it meant something by its faults.
    pub fn sweep(
        &self,
        lock: &dyn AnyLock,
        setup: &[u8],
        seeds: Range<u64>,
        how: &SweepHow,
        pool: &rayon::ThreadPool,
    ) -> Result<SweepReport, BadCall> {
        let (clients, servers) = lock.nodes_in(setup)?;
        let nobody = self.0.names_nobody(clients, servers);
        if let Some(why) = nobody.or_else(|| self.0.strikes_nothing(clients, servers)) {
            return Err(RunError::PlanFile(why).into());
        }
        let mut report = SweepReport::default();
        let (mut next, mut block) = (seeds.start, 1);
        while next < seeds.end {
            if how.stop.load(Ordering::Relaxed) {
                report.stopped = true;
                break;
            }
            let end = next.saturating_add(how.jobs as u64 * BLOCKS * block).min(seeds.end);
            let blocks: Vec<u64> = (next..end).step_by(block as usize).collect();
            let seeds_of = |first: u64| first..first.saturating_add(block).min(end);
            let run = |first: u64| -> Result<Vec<Outcome>, RunError> {
                let outcomes = lock.run_planned(setup, &self.0, seeds_of(first))?;
                (how.on_progress)(outcomes.len() as u64);
                Ok(outcomes)
            };
            let ran: Vec<(u64, Result<Vec<Outcome>, RunError>)> =
                pool.install(|| blocks.into_par_iter().map(|first| (first, run(first))).collect());
            let mut seeds = next..;
            for (first, outcomes) in ran {
                // The first seed that cannot be judged is told, and what those before it broke comes first, on any number of threads.
                let one_by_one =
                    || seeds_of(first).map(|seed| lock.run_planned(setup, &self.0, seed..seed + 1));
                let outcomes = outcomes.map_or_else(|_| one_by_one().collect(), |all| vec![Ok(all)]);
                for some in outcomes {
                    for (outcome, seed) in some?.into_iter().zip(&mut seeds) {
                        report.add(seed, &outcome);
                        if !how.keep_going && !report.is_clean() {
                            return Ok(report);
                        }
                    }
                }
            }
            next = end;
            // The first seeds one by one: often one of them is the last.
            block = (2 * block).min(BLOCK_MAX);
        }
        Ok(report)
    }
}

/// What the parser says of what is JSON and no plan, in the words of JSON instead of Rust's.
fn plainly(error: &serde_json::Error) -> String {
    let said = error.to_string();
    let (what, place) = said.split_once(" at line ").unwrap_or((&said, ""));
    let (what, wanted) = what.split_once("expected ").unwrap_or((what, ""));
    const ONE_OF_SEVERAL: &str = "a name, or an object with one field";
    let wanted = match wanted.split(' ').next().unwrap_or_default() {
        // That is all it says of names and of objects with one field.
        "value" | "enum" => ONE_OF_SEVERAL,
        "struct" | "map" | "an" if !wanted.starts_with("an array") => "an object",
        "a" if wanted.starts_with("a sequence") => "a list",
        "a" if wanted.starts_with("a map") => "an object",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "i32" | "i64" | "u32" | "u64" => "a whole number",
        _ => wanted,
    };
    let what = what.replace("unit variant", "a name alone").replace("variant", "name");
    let wanted = if wanted.is_empty() { String::new() } else { format!("expected {wanted}") };
    let place = if place.is_empty() { String::new() } else { format!(" at line {place}") };
    format!("{what}{wanted}{place}")
}

/// Why a fault of a plan strikes somebody whom it does not say: the client that pulled a trigger where there is none.
fn strikes_whom_nobody_knows(plan: &Plan) -> Option<String> {
    let mut at_a_time = plan.faults.iter().filter(|planned| matches!(planned.when, When::At(_)));
    let planned = at_a_time.find(|planned| {
        let mut names_struck = false;
        planned.fault.clone().for_each_target(|target| names_struck |= *target == Target::Struck);
        names_struck
    })?;
    Some(format!(
        "\"struck\" is the client that pulled a trigger, and {} nobody does; name the node",
        planned.when
    ))
}

/// Why a fault does not do what whoever wrote it means by it.
fn does_less_than_it_says(planned: &Planned) -> Option<String> {
    let why = match planned.fault {
        Fault::Replace { node: Target::Client(_) | Target::Struck | Target::Resource, .. } => {
            "only a server can be replaced; what befalls others is \"power-loss\""
        }
        Fault::Strobe { period: Micros::ZERO, .. } => {
            "a clock that strobes with period 0 is right again before anybody looks"
        }
        _ => return None,
    };
    Some(format!("{why}: {planned}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::fault::FaultSet;
    use crate::plans::strategy::Strategy as HowPlansAreDrawn;
    use crate::plans::swarm::Scale;
    use proptest::collection::vec;
    use proptest::prelude::{Strategy, any, prop_oneof};
    use proptest::sample::{Index, select};
    use proptest::test_runner::{Config, TestRunner};
    use std::cell::Cell;

    /// What is done to a text: a number in it becomes another one, or a byte goes, comes or changes.
    #[derive(Clone, Debug)]
    enum Change {
        Number(Index, i128),
        Removed(Index),
        Added(Index, u8),
        Other(Index, u8),
    }

    fn changes() -> impl Strategy<Value = Change> {
        let edges = [
            0,
            1,
            -1,
            15,
            16,
            255,
            256,
            65_536,
            1 << 31,
            1 << 40,
            i64::MAX.into(),
            i64::MIN.into(),
            u64::MAX.into(),
        ];
        let number =
            prop_oneof![select(edges.to_vec()), any::<i64>().prop_map(i128::from), (0..20_000_000_i128)];
        let letter = prop_oneof![select(b"{}[],:\"0-9.e \\null".to_vec()), any::<u8>()];
        prop_oneof![
            6 => (any::<Index>(), number).prop_map(|(at, to)| Change::Number(at, to)),
            1 => any::<Index>().prop_map(Change::Removed),
            1 => (any::<Index>(), letter.clone()).prop_map(|(at, letter)| Change::Added(at, letter)),
            1 => (any::<Index>(), letter).prop_map(|(at, letter)| Change::Other(at, letter)),
        ]
    }

    /// Where numbers are in a text.
    fn numbers(text: &[u8]) -> Vec<Range<usize>> {
        let is_digit =
            |at: usize| text.get(at).is_some_and(|letter| letter.is_ascii_digit() || *letter == b'-');
        let begins = (0..text.len()).filter(|at| is_digit(*at) && (*at == 0 || !is_digit(at - 1)));
        begins.map(|from| from..(from..=text.len()).find(|at| !is_digit(*at)).unwrap_or(text.len())).collect()
    }

    fn changed(mut text: Vec<u8>, changes: Vec<Change>) -> Vec<u8> {
        for change in changes {
            match change {
                Change::Number(at, to) => {
                    let numbers = numbers(&text);
                    if !numbers.is_empty() {
                        text.splice(at.get(&numbers).clone(), to.to_string().into_bytes());
                    }
                }
                Change::Removed(at) => {
                    text.remove(at.index(text.len()));
                }
                Change::Added(at, letter) => text.insert(at.index(text.len()), letter),
                Change::Other(at, letter) => {
                    let at = at.index(text.len());
                    text[at] = letter;
                }
            }
        }
        text
    }

    #[test]
    fn what_is_no_plan_is_refused_in_the_words_of_json() {
        let refused = |text: &str| PlanFile::parse(text).err().unwrap_or_default();
        let fault = |fault: &str| {
            refused(&format!(r#"{{"faults": [{{"when": {{"at": 1}}, "fault": {fault}}}], "heal_at": 2}}"#))
        };
        let cases = [
            (refused("[]"), "expected an object"),
            (refused("5"), "expected an object"),
            (refused("null"), "expected an object"),
            (refused(r#"{"faults": 5, "heal_at": 1}"#), "expected a list"),
            (refused(r#"{"faults": [], "heal_at": 1, "network": 7}"#), "expected an object"),
            (refused(r#"{"faults": [], "heal_at": "1s"}"#), "expected a whole number"),
            (refused(r#"{"faults": []}"#), "missing field `heal_at`"),
            (fault("5"), "expected a name, or an object with one field"),
            (fault("null"), "expected a name, or an object with one field"),
            (fault(r#""pause""#), "a name alone, expected an object"),
            (fault(r#"{"pause": 5}"#), "expected an object"),
            (fault(r#"{"pause": {"node": 5, "length": 1}}"#), "expected a name, or an object with one field"),
            (fault(r#"{"pause": {"node": {"client": 300}, "length": 1}}"#), "a whole number from 0 to 255"),
            (
                fault(r#"{"pause": {"node": {"clint": 0}, "length": 1}}"#),
                "unknown name `clint`, expected one of",
            ),
            (fault(r#"{"pauze": {}}"#), "unknown name `pauze`, expected one of"),
            (
                fault(r#"{"pause": {"node": {"client": 0}, "length": 1}, "crash": {"node": {"client": 0}}}"#),
                "expected a name, or an object with one field",
            ),
        ];
        for (case, what) in &cases {
            assert!(case.contains("is not a fault plan") && case.contains("--fields"), "{case}");
            assert!(case.contains(what), "{case}");
            for word in ["struct ", "enum", "variant", "sequence", " map"] {
                assert!(!case.contains(word), "{case}");
            }
        }
        let broken = refused("{\"faults\": [],}");
        assert!(broken.starts_with("is no JSON: "), "{broken}");
        assert!(PlanFile::parse("\u{feff}{\"faults\": [], \"heal_at\": 5}").is_ok());
    }

    #[test]
    fn at_a_time_nobody_has_pulled_a_trigger() {
        let plan = |when: &str| {
            let fault = r#"{"pause": {"node": "struck", "length": 1000000}}"#;
            PlanFile::parse(&format!(
                r#"{{"faults": [{{"when": {when}, "fault": {fault}}}], "heal_at": 2000000}}"#
            ))
        };
        let refused = plan(r#"{"at": 1000000}"#).err().unwrap_or_default();
        assert!(
            refused.contains("\"struck\" is the client that pulled a trigger, and at 1s nobody does"),
            "{refused}"
        );
        assert!(plan(r#"{"trigger": {"client": null, "event": "granted", "nth": 1}}"#).is_ok());
    }

    #[test]
    fn what_does_less_than_it_says_is_refused() {
        let refused = |fault: &str| {
            let planned = format!(r#"{{"when": {{"at": 1}}, "fault": {fault}}}"#);
            PlanFile::parse(&format!(r#"{{"faults": [{planned}], "heal_at": 60}}"#)).err().unwrap_or_default()
        };
        for node in [r#"{"client": 0}"#, r#""resource""#] {
            let client = refused(&format!(r#"{{"replace": {{"node": {node}, "restart_after": 5}}}}"#));
            assert!(client.contains("only a server can be replaced"), "{client}");
        }
        assert_eq!(refused(r#"{"replace": {"node": {"server": 0}, "restart_after": 5}}"#), "");
        let strobe = |period: u8| {
            let node = r#"{"server": 0}"#;
            refused(&format!(r#"{{"strobe": {{"node": {node}, "by": 5, "period": {period}, "times": 3}}}}"#))
        };
        assert!(strobe(0).contains("strobes with period 0"), "{}", strobe(0));
        assert_eq!(strobe(1), "");
    }

    /// Whatever a file holds, it is refused in a sentence, or it runs.
    #[test]
    fn a_damaged_plan_is_refused_or_runs() {
        let locks = crate::registry::Locks::builtin();
        let locks: Vec<&dyn AnyLock> =
            ["redis-single", "zookeeper-lock"].map(|name| locks.named(name)).into_iter().flatten().collect();
        let (cases, runs) = (Cell::new(0), Cell::new(0));
        let plans = (select(HowPlansAreDrawn::ALL.to_vec()), any::<u64>(), vec(changes(), 1..4));
        let mut config = Config::default();
        // More than usual, if nobody says how many.
        if std::env::var_os("PROPTEST_CASES").is_none() {
            config.cases = 1024;
        }
        let passed = TestRunner::new(config).run(&plans, |(how, seed, changes)| {
            let scale = Scale {
                clients: 2,
                servers: 1,
                lease: Some(Micros::seconds(10)),
                horizon: Micros::seconds(20),
                messages: 200,
                lines: Vec::new(),
            };
            let drawn = how.plan(FaultSet::ALL, seed, &scale);
            let text = serde_json::to_vec_pretty(&drawn).expect("a plan is plain data");
            cases.set(cases.get() + 1);
            let Ok(PlanFile(plan)) = PlanFile::parse(&String::from_utf8_lossy(&changed(text, changes)))
            else {
                return Ok(());
            };
            for lock in &locks {
                match lock.run_planned(&lock.setup(None), &plan, 0..1) {
                    Ok(outcomes) => runs.set(runs.get() + outcomes.len()),
                    Err(why) => assert!(!why.to_string().is_empty()),
                }
            }
            Ok(())
        });
        passed.unwrap_or_else(|failed| panic!("{failed}"));
        let (cases, runs) = (cases.get(), runs.get());
        // A quarter on average, with a spread of a sixtieth.
        assert!(locks.len() == 2 && runs > cases / 6, "{runs} runs of {cases} plans");
    }
}
