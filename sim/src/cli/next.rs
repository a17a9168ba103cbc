//! What to do with a failure, said wherever one is shown.

use super::names;

/// A name that is longer is written once: three lines of a token hide what they say, and a call with more behind it fits into no 80 columns.
const SHORT_MAX: usize = 35;

/// How to see it, draw it, and make it small; `name` is its token, or a short name for it.
pub fn steps(name: &str) -> String {
    see(name) + &draw(&again(name, "the same")) + &shrink(name)
}

/// The same for whoever sees it already.
pub fn after_seeing(name: &str) -> String {
    draw(&again(name, "this call")) + &shrink(name)
}

/// The same of a run that keeps what it was asked for.
pub fn after_seeing_it_keep(name: &str) -> String {
    draw(&again(name, "this call"))
}

/// The same of a run of the exhaustive search: there is no shorter one, but each of its steps could have been another.
pub fn of_path(name: &str) -> String {
    see(name) + &drawing_a_path(&again(name, "the same"))
}

/// The same for whoever sees it already.
pub fn after_seeing_path(name: &str) -> String {
    drawing_a_path(&again(name, "this call"))
}

fn drawing_a_path(call: &str) -> String {
    draw(call) + &format!("  what if     {call} --instead STEP\n")
}

/// The call that replays it, or how to say that it is the one before.
fn again(name: &str, in_short: &str) -> String {
    match name.len() {
        ..=SHORT_MAX => format!("{} replay {name}", names::program()),
        _ => format!("{in_short}, and"),
    }
}

/// The same of a run that is small.
pub fn of_small(name: &str) -> String {
    see(name) + &draw(&again(name, "the same"))
}

/// How to see it.
pub fn see(name: &str) -> String {
    format!("  see it      {} replay {name}\n", names::program())
}

fn draw(call: &str) -> String {
    format!("  draw it     {call} --out run.html\n")
}

fn shrink(name: &str) -> String {
    format!("  shrink it   {} shrink {name}\n", names::program())
}
