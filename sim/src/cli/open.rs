//! `--open`: a file, shown by whatever the system shows such files with.

use super::BadCall;
use std::path::Path;
use std::process::{Command, Stdio};

/// Opens the file, and does not wait.
pub fn open(file: &Path) -> Result<(), BadCall> {
    let (opener, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let opened =
        Command::new(opener).args(arguments).arg(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    opened.map(|_| ()).map_err(|error| {
        BadCall(format!("--open: {opener} cannot be run ({error}); open {} yourself", file.display()))
    })
}
