//! What else could have happened in a step of a run of the exhaustive engine.

use super::any::RunError;
use super::checking::first_steps;
use super::registered::Registered;
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
