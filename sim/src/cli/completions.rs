//! `picklock completions SHELL`.

use super::screen::Screen;
use super::{BadCall, CommandLine, Ending};
use clap::{Args, CommandFactory};

/// Prints a completion script for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Example: picklock completions bash > ~/.local/share/bash-completion/completions/picklock"
)]
pub struct Completions {
    /// Which shell
    shell: clap_complete::Shell,
}

impl Completions {
    /// Prints it.
    pub fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut CommandLine::command(), "picklock", &mut script);
        screen.write(&script);
        Ok(Ending::Fine)
    }
}
