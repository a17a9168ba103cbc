//! ^C: the first asks long work to stop and print what it has, the second ends the process.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static STOP: AtomicBool = AtomicBool::new(false);
const KILLED_BY_INTERRUPT: i32 = 130;

/// The flag that long work watches. From now on ^C sets it; where ^C cannot be caught, it ends the process as ever.
pub fn flag() -> &'static AtomicBool {
    let _ = ctrlc::try_set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(KILLED_BY_INTERRUPT);
        }
        let mut stderr = std::io::stderr();
        if stderr.is_terminal() {
            let _ = writeln!(stderr, "\nstopping; once more ends at once");
        }
    });
    &STOP
}

/// Whether ^C was pressed.
pub fn happened() -> bool {
    STOP.load(Ordering::Relaxed)
}
