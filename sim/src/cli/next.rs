//! What to do with a failure, said wherever one is shown.

use super::names;

/// How to see it, draw it, and make it small; `name` is its token, or a short name for it.
pub fn steps(name: &str) -> String {
    format!("  see it      {} replay {name}\n{}", names::program(), after_seeing(name))
}

/// The same for whoever sees it already.
pub fn after_seeing(name: &str) -> String {
    let program = names::program();
    format!(
        "  draw it     {program} replay {name} --format html --out run.html\n  shrink it   {program} shrink {name}\n"
    )
}

/// The same of a run that is small.
pub fn of_small(name: &str) -> String {
    let program = names::program();
    format!(
        "  see it      {program} replay {name}\n  draw it     {program} replay {name} --format html --out run.html\n"
    )
}
