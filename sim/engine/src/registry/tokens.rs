//! Between a lock's runs and their tokens: setups and bounds as what differs from the default, by name; and how a run came
//! out when its token was made.

use super::{Registered, RunError};
use crate::plans::pins::PinFinder;
use crate::report::{Both, TraceHash};
use crate::seeded::outcome::Limits;
use crate::seeded::run;
use crate::sweep::PlannedRun;
use crate::token::differences::{NoSuchPart, applied, differences, passed_over};
use crate::token::{Body, Mark, SetupBase, SetupChanges, Token};
use picklock_model::cluster::Setup;
use picklock_model::explore::{NoSuchPath, Space};
use picklock_model::panics;
use picklock_model::system::System;
use picklock_model::world::Bounds;
use picklock_properties::{Promise, PromiseSet};
use serde::Serialize;
use serde_json::Value;

impl<Y: System> Registered<Y> {
    /// The token of a run of the seeded engine, which runs once more for it.
    pub(super) fn planned_token(
        &self,
        setup: &Setup<Y>,
        run: &PlannedRun,
        promise: Option<Promise>,
    ) -> Result<Token, RunError> {
        let changes = differences(&named(&(self.setup)())?, &named(setup)?);
        let setup_changes = SetupChanges { base: SetupBase::Registered, changes };
        Ok(token_of(self.name, setup, setup_changes, run, promise))
    }

    /// The token of a path of the exhaustive engine, which is walked once more for it.
    pub(super) fn path_token(
        &self,
        space: &Space<Y>,
        actions: Vec<u16>,
        loop_start: Option<usize>,
        promise: Option<Promise>,
    ) -> Result<Token, RunError> {
        let changes = differences(&named(&(self.setup)())?, &named(&space.setup)?);
        // Where it ends in a panic, there is nothing to compare it by.
        let hash = panics::caught(|| path_hash(space, &actions)).ok().transpose()?;
        let mark = hash.map(|hash| Mark::of(hash.value()));
        let bounds = differences(&value_of(&Bounds::default())?, &value_of(&space.bounds)?);
        Ok(Token {
            lock: self.name.to_owned(),
            promise,
            setup: SetupChanges { base: SetupBase::Registered, changes },
            body: Body::Path { bounds, actions, loop_start: loop_start.map(|start| start as u16) },
            mark,
        })
    }

    /// The setup of a token.
    pub(super) fn setup_of(&self, token: &Token) -> Result<Setup<Y>, RunError> {
        let base = match token.setup.base {
            SetupBase::Registered => (self.setup)(),
            SetupBase::OfType => Setup::default(),
        };
        let Some(changes) = &token.setup.changes else { return Ok(base) };
        let whole =
            applied(&named(&base)?, changes).map_err(|NoSuchPart(name)| RunError::NoSuchPart(name))?;
        setup_from(whole)
    }
}

/// The setup that has these named parts.
pub(super) fn setup_from<Y: System>(mut whole: Value) -> Result<Setup<Y>, RunError> {
    if !whole.is_object() {
        return Err(RunError::SetupParts("it has no parts".to_owned()));
    }
    let given = whole.clone();
    number_promises(&mut whole)?;
    let setup: Setup<Y> =
        serde_json::from_value(whole).map_err(|error| RunError::SetupParts(error.to_string()))?;
    if let Some(name) = passed_over(&given, &named(&setup)?) {
        return Err(RunError::NoSuchPart(name));
    }
    setup.check()?;
    Ok(setup)
}

/// The bounds of a token.
pub(super) fn bounds_of(changes: Option<&Value>) -> Result<Bounds, RunError> {
    let Some(changes) = changes else { return Ok(Bounds::default()) };
    let whole = applied(&value_of(&Bounds::default())?, changes)
        .map_err(|NoSuchPart(name)| RunError::NoSuchPart(name))?;
    let bounds: Bounds = serde_json::from_value(whole.clone()).map_err(|_| RunError::Bounds)?;
    match passed_over(&whole, &value_of(&bounds)?) {
        None => Ok(bounds),
        Some(name) => Err(RunError::NoSuchPart(name)),
    }
}

/// The token of a run of a lock that is in no registry at hand.
pub fn unregistered_token<Y: System>(
    lock: &str,
    setup: &Setup<Y>,
    run: &PlannedRun,
) -> Result<Token, RunError> {
    let changes = differences(&named(&Setup::<Y>::default())?, &named(setup)?);
    Ok(token_of(lock, setup, SetupChanges { base: SetupBase::OfType, changes }, run, None))
}

fn token_of<Y: System>(
    lock: &str,
    setup: &Setup<Y>,
    changes: SetupChanges,
    PlannedRun { plan, seed }: &PlannedRun,
    promise: Option<Promise>,
) -> Token {
    let mut watched = Both(TraceHash::default(), PinFinder::new(setup, plan));
    let ran = panics::of(|| run::run(setup, plan, *seed, &Limits::of(setup), &mut watched));
    let Both(hash, pins) = watched;
    Token {
        lock: lock.to_owned(),
        promise,
        setup: changes,
        body: Body::Planned { plan: plan.clone(), pins: pins.finish(), seed: *seed },
        // Where it ends in a panic, there is nothing to compare it by.
        mark: ran.ok().map(|_| Mark::of(hash.value())),
    }
}

fn path_hash<Y: System>(space: &Space<Y>, actions: &[u16]) -> Result<TraceHash, NoSuchPath> {
    let (mut walker, mut hash) = (space.walker(), TraceHash::default());
    for action in actions {
        walker.step(*action, &mut hash)?;
    }
    Ok(hash)
}

/// A setup as named parts, its promises by name.
pub(super) fn named<Y: System>(setup: &Setup<Y>) -> Result<Value, RunError> {
    let mut parts = value_of(setup)?;
    parts["promises"] = setup.promises.iter().map(Promise::name).collect();
    Ok(parts)
}

/// The promises of a setup that has them by name, as serde reads them.
fn number_promises(setup: &mut Value) -> Result<(), RunError> {
    let names: Vec<String> = serde_json::from_value(setup["promises"].take())
        .map_err(|error| RunError::SetupParts(error.to_string()))?;
    let promises: Result<PromiseSet, _> = names.iter().map(|name| name.parse::<Promise>()).collect();
    setup["promises"] = value_of(&promises.map_err(|error| RunError::SetupParts(error.to_string()))?)?;
    Ok(())
}

fn value_of<T: Serialize>(plain: &T) -> Result<Value, RunError> {
    serde_json::to_value(plain).map_err(|error| RunError::Unnamed(error.to_string()))
}

#[cfg(test)]
mod tests;
