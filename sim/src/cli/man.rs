//! `picklock man`: the manual pages, made from the help texts.

use super::screen::Screen;
use super::{BadCall, CommandLine, Ending, names, written};
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use std::path::{Path, PathBuf};

/// Prints the manual page of this command, or of one of its commands
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Manual {
    /// Which command's page; that of the whole unless given
    command: Option<String>,
    /// Writes the pages of all commands into this folder
    #[arg(long, value_parser = written::named(), value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  picklock man sweep
  picklock man --out man1

picklock man sweep | man -l - shows a page; a folder man1 belongs into one of those that manpath lists.";

impl Manual {
    /// Prints or writes them.
    pub fn run(self, screen: &mut Screen) -> Result<Ending, BadCall> {
        if screen.wants_json() && self.out.is_none() {
            return Err(BadCall("man prints a manual page: --json has nothing to say about it, but with --out which files were written".to_owned()));
        }
        let program = names::name();
        let mut whole = CommandLine::command().name(program.clone()).disable_help_subcommand(true);
        // Each command gets its full name, and the options of the whole.
        whole.build();
        let pages = pages(whole);
        match (self.out, self.command) {
            (Some(folder), _) => {
                let written = write(&folder, &pages).map_err(|error| {
                    BadCall(format!("--out {}: nothing can be written there: {error}", folder.display()))
                })?;
                screen.text(&format!("wrote {} pages into {}\n", written.len(), folder.display()));
                screen.document(&written);
            }
            (None, None) => screen.write(page(&pages[0]).as_bytes()),
            (None, Some(asked)) => {
                let below = |command: &Command| {
                    let name = full_name(command);
                    name.strip_prefix(&format!("{program}-")).unwrap_or(&name).to_owned()
                };
                let found = names::find("command", &asked, pages, below)?;
                screen.write(page(&found).as_bytes());
            }
        }
        Ok(Ending::Fine)
    }
}

/// A command, and those below it.
fn pages(command: Command) -> Vec<Command> {
    let below: Vec<Command> =
        command.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    std::iter::once(command).chain(below.into_iter().flat_map(pages)).collect()
}

/// `picklock-sweep`.
fn full_name(command: &Command) -> String {
    command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned()
}

/// Which files were written.
fn write(folder: &Path, pages: &[Command]) -> std::io::Result<Vec<String>> {
    std::fs::create_dir_all(folder)?;
    let write = |command: &Command| {
        let file = format!("{}.1", full_name(command));
        std::fs::write(folder.join(&file), page(command)).map(|()| file)
    };
    pages.iter().map(write).collect()
}

/// In troff.
fn page(command: &Command) -> String {
    let mut page = Vec::new();
    let page = match Man::new(command.clone()).render(&mut page) {
        Ok(()) => String::from_utf8_lossy(&page).into_owned(),
        Err(error) => unreachable!("a vector takes all that is written: {error}"),
    };
    let titled = |line: &str| match line.starts_with(".TH ") {
        true => title(command),
        false => line.to_owned(),
    };
    page.lines().map(|line| titled(line) + "\n").collect()
}

/// Its name, section, date (none: the same picklock writes the same page on any day) and what it is from. That of clap_mangen leaves
/// out the date without a sign of it, so that the source stands in its place, with a blank where a command has no version of its own.
fn title(command: &Command) -> String {
    format!(".TH {} 1 \"\" \"picklock {}\"", full_name(command), env!("CARGO_PKG_VERSION"))
}
