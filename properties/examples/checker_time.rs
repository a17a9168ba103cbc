//! How long the checker takes for long histories: `cargo run --release -p picklock-properties --example checker_time`.

#[path = "../tests/long_history/mod.rs"]
mod long_history;

use picklock_properties::check_objects;

#[expect(clippy::disallowed_methods, reason = "the time that the checker takes is what is asked for")]
fn main() {
    for operations in [100, 1_000, 10_000, 30_000] {
        let history = long_history::long_history(operations);
        let began = std::time::Instant::now();
        let verdict = check_objects(&history);
        println!("{operations:>7} operations: {:>9.1?}, {verdict:?}", began.elapsed());
    }
}
