//! What else could have happened in a step of a run of the exhaustive engine, and the run that comes of it.

use super::any::{AnyLock, RunError};
use super::checking::first_steps;
use super::registered::Registered;
use crate::report::{JsonEvent, OtherRun, TextOptions, happens};
use crate::token::Token;
use picklock_model::explore::{Another, Retold, Space};
use picklock_model::system::System;

/// Another run than that of a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Other {
    /// Replays it.
    pub token: Token,
    /// How many of the later steps of the first run are not possible in it.
    pub left_out: usize,
}

impl<Y: System> Registered<Y> {
    pub(super) fn others_of_path(
        &self,
        token: &Token,
        space: &Space<Y>,
        actions: &[u16],
        is_lasso: bool,
        step: usize,
    ) -> Result<Vec<Other>, RunError> {
        let retold = Retold::new(space, actions)?;
        let at = action_of(space, actions, step)?;
        // What never comes in a loop may still come in a run that has an end.
        let promise = token.promise.filter(|_| !is_lasso);
        let others = retold.others(at).into_iter().map(|Another { path, left_out }| {
            Ok(Other { token: self.path_token(space, path, None, promise)?, left_out })
        });
        others.collect()
    }
}

/// Which action begins with this step, as whoever is shown the path counts steps, from 1.
fn action_of<Y: System>(space: &Space<Y>, actions: &[u16], step: usize) -> Result<usize, RunError> {
    let firsts = first_steps(space, actions)?;
    let steps = firsts[actions.len()] - 1;
    if step == 0 || step > steps {
        return Err(RunError::NoSuchStep { step, steps });
    }
    firsts.binary_search(&step).map_err(|after| RunError::AtOnce { step, with: firsts[after - 1] })
}

/// The other runs of a step, each run and in words.
///
/// # Errors
/// If the token's run is one of a seed, or has no such step.
pub fn other_runs(lock: &dyn AnyLock, token: &Token, step: usize) -> Result<Vec<OtherRun>, RunError> {
    let shown = TextOptions { last: Some(0), ..TextOptions::default() };
    let of_progress = token.promise.is_some_and(|promise| promise.is_of_progress());
    let mut runs = Vec::new();
    for Other { token, left_out } in lock.others(token, step)? {
        let replay = lock.replay(&token, &shown)?;
        let broken = replay.in_words();
        let broken = broken.iter().map(|broken| format!("{}: {}", broken.property, broken.words));
        runs.push(OtherRun {
            step,
            words: happens(&replay.events[step - 1]),
            left_out,
            token: token.encode(),
            broken: broken.collect(),
            shown_for: replay.shown_for,
            of_progress,
            events: replay.events,
        });
    }
    tell_apart(&mut runs);
    Ok(runs)
}

/// Where several would be called the same, says what comes of each at once.
fn tell_apart(runs: &mut [OtherRun]) {
    let names: Vec<String> = runs.iter().map(|run| run.words.clone()).collect();
    let times = |names: &[String], name: &String| names.iter().filter(|other| *other == name).count();
    for run in runs.iter_mut().filter(|run| times(&names, &run.words) > 1) {
        let next = follows(&run.events[run.step - 1]);
        run.words = format!("{}, and then {next}", run.words);
    }
    let names: Vec<String> = runs.iter().map(|run| run.words.clone()).collect();
    for (nth, name) in names.iter().enumerate().filter(|(_, name)| times(&names, name) > 1) {
        let number = times(&names[..=nth], name);
        runs[nth].words = format!("{name}, in way {number}");
    }
}

/// What the node of a step does in it.
fn follows(event: &JsonEvent) -> String {
    let sent = event.sent.iter().map(|sent| format!("{} is sent {}", sent.to, sent.message));
    let did = event.reported.iter().cloned().chain(sent).collect::<Vec<_>>();
    match event.doing {
        _ if !did.is_empty() => did.join(", "),
        Some(doing) => doing.to_owned(),
        None => "nothing".to_owned(),
    }
}
