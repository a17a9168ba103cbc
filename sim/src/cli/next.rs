//! What to do with a failure, said wherever one is shown.

use super::names;

/// How to see it, draw it, and make it small; `name` is its token, or a short name for it.
pub fn steps(name: &str) -> String {
    see(name) + &after_seeing(name)
}

/// The same for whoever sees it already.
pub fn after_seeing(name: &str) -> String {
    draw(name) + &shrink(name)
}

/// The same of a run of the exhaustive search: there is no shorter one, but each of its steps could have been another.
pub fn of_path(name: &str) -> String {
    see(name) + &after_seeing_path(name)
}

/// The same for whoever sees it already.
pub fn after_seeing_path(name: &str) -> String {
    draw(name) + &format!("  what if     {} replay {name} --instead STEP\n", names::program())
}

/// The same of a run that is small.
pub fn of_small(name: &str) -> String {
    see(name) + &draw(name)
}

/// How to see it.
pub fn see(name: &str) -> String {
    format!("  see it      {} replay {name}\n", names::program())
}

fn draw(name: &str) -> String {
    format!("  draw it     {} replay {name} --out run.html\n", names::program())
}

fn shrink(name: &str) -> String {
    format!("  shrink it   {} shrink {name}\n", names::program())
}
