//! What is said of the use of the servers when it is over: the verdict, the plan, the picture.

use super::Watched;
use crate::cli::{BadCall, Ending, names, shell};
use crate::files;
use crate::plans::plan::{Plan, Planned, When};
use crate::report::{Window, page};
use crate::serve::watch::witness::InVain;
use crate::serve::watch::{BrokenLine, Picture, Verdict, Watch};
use crate::serve::{Served, Servers};
use picklock_model::time::Micros;
use serde::Serialize;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// How many broken promises are in a document; the rest is counted.
const BROKEN_MAX: usize = 100;
/// How many finds of earlier calls are counted until another folder has to be named.
const FILES_MAX: u32 = 100_000;
/// How many things that happened a picture shows up to where it broke.
const PICTURE_STEPS: usize = 120;

/// The verdict, for machines.
#[derive(Serialize)]
pub struct Told {
    pub verdict: Verdict,
    /// Who said what the verdict is about: the clients, or the servers.
    pub judged_by: &'static str,
    /// How many times clients said that they hold.
    pub entered: u64,
    /// How many times the servers handed a lock out.
    pub handed_out: u64,
    /// How many times the servers handed a lock out that was somebody else's still.
    pub handed_out_twice: usize,
    /// How many writes were turned down, as they came too late.
    pub turned_down: u64,
    /// How many lines clients told the witness that say nothing.
    pub unread_lines: u64,
    /// What clients asked for at the end, in vain for longer than leases last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted_in_vain: Option<InVain>,
    pub violations: Vec<BrokenLine>,
    /// What struck until then, as `--plan` takes it.
    pub plan: Option<Plan>,
    pub plan_file: Option<PathBuf>,
    pub picture: Option<PathBuf>,
}

/// How it ended.
pub struct Outcome {
    pub ending: Ending,
    pub text: String,
    pub told: Told,
}

/// Where clients say what they do.
pub fn witness_address(at: &str) -> Result<SocketAddr, BadCall> {
    let wrong = |_| BadCall(format!("--witness {at}: it takes an address and a port, as in 127.0.0.1:7000"));
    at.parse().map_err(wrong)
}

/// The file of a record.
pub fn created(path: &Path) -> Result<File, BadCall> {
    files::refuse_other_than_files(path)
        .and_then(|()| File::create(path))
        .map_err(|error| BadCall(format!("--record {}: cannot be written: {error}", path.display())))
}

/// The folder that the plan and the picture go to, which must be there before clients have done their work.
pub fn folder(path: &Path) -> Result<(), BadCall> {
    std::fs::create_dir_all(path)
        .map_err(|error| BadCall(format!("--out {}: it cannot be written: {error}", path.display())))
}

/// A new folder for what broke, where no other was asked for: what an earlier call has found stays.
pub fn new_folder(command: &str) -> Result<PathBuf, BadCall> {
    let within = std::env::temp_dir();
    for number in 1..=FILES_MAX {
        let folder = within.join(format!("picklock-{command}-{number}"));
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let folder = folder.display();
                return Err(BadCall(format!(
                    "{folder} cannot be made: {error}; --out DIR names another folder for the plan and the picture"
                )));
            }
        }
    }
    let within = within.display();
    Err(BadCall(format!("{within} has {FILES_MAX} folders of earlier calls: --out DIR names another one")))
}

/// No lease can be what somebody waits for that long.
pub fn too_long(lease: Micros) -> Micros {
    (lease + lease).max(Micros::seconds(1))
}

impl Told {
    /// What is known now, and what that is in a few lines. Where servers do not judge, clients do, or nobody does.
    pub fn of(watch: &Watch, servers: u8, servers_judge: bool) -> (Told, String) {
        let judged_by = if watch.has_witness() || !servers_judge { "clients" } else { "servers" };
        let text = match servers_judge || watch.has_witness() {
            true => watch.summary(servers),
            false => {
                format!("no verdict: no client told a witness what it holds\n{}", watch.seen(servers))
            }
        };
        let told = Told {
            verdict: watch.verdict(),
            judged_by,
            entered: watch.witness.entered,
            handed_out: watch.claims.handed_out,
            handed_out_twice: watch.overlapped(),
            turned_down: watch.witness.turned_down,
            unread_lines: watch.witness.unread.as_ref().map_or(0, |unread| unread.count),
            wanted_in_vain: None,
            violations: watch.broken().take(BROKEN_MAX).map(BrokenLine::from).collect(),
            plan: None,
            plan_file: None,
            picture: None,
        };
        (told, text)
    }

    /// Says what clients ask for in vain now, if they have for so long that no lease can be what they wait for.
    pub fn look_for_stuck(&mut self, watch: &Watch, now: Micros, lease: Micros) -> String {
        let long = |in_vain: &InVain| in_vain.length >= too_long(lease);
        self.wanted_in_vain = watch.witness.wanted_in_vain(now).filter(long);
        self.wanted_in_vain.as_ref().map_or_else(String::new, InVain::in_words)
    }

    /// Whether nobody ever held anything, as far as anybody knows.
    pub fn nobody_held(&self) -> bool {
        self.entered == 0 && self.handed_out == 0
    }

    /// How it ends the command.
    pub fn ending(&self) -> Ending {
        match self.verdict {
            Verdict::Violated => Ending::Broken,
            Verdict::Kept => Ending::Fine,
            Verdict::Vacuous => Ending::Vacuous,
        }
    }
}

/// A new picture in a folder and where its plan goes: numbered from the second on, as what earlier calls have found there, and what
/// others find meanwhile, stays.
fn new_files(out: &Path) -> Result<(File, PathBuf, PathBuf), BadCall> {
    for number in 1..=FILES_MAX {
        let behind = if number == 1 { String::new() } else { format!("-{number}") };
        let (plan, picture) = (out.join(format!("plan{behind}.json")), out.join(format!("run{behind}.html")));
        if plan.exists() {
            continue;
        }
        match File::create_new(&picture) {
            Ok(file) => return Ok((file, plan, picture)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(cannot(out, &picture, &error)),
        }
    }
    let out = out.display();
    Err(BadCall(format!("--out {out}: it has {FILES_MAX} pictures of earlier calls; name another folder")))
}

fn cannot(out: &Path, path: &Path, error: &std::io::Error) -> BadCall {
    BadCall(format!("--out {}: {} cannot be written: {error}", out.display(), path.display()))
}

/// The plan, and the picture of what broke, written into a folder. The lines that name them. `again` is the call that does it again, with the
/// plan in such a file.
pub fn write(
    watch: &Watch,
    servers: u8,
    title: &str,
    plan: Option<&Plan>,
    out: &Path,
    again: &dyn Fn(&Path) -> String,
    told: &mut Told,
) -> Result<String, BadCall> {
    std::fs::create_dir_all(out).map_err(|error| cannot(out, out, &error))?;
    let mut text = String::new();
    let (mut drawn, plan_file, picture_file) = new_files(out)?;
    let mut lines = Vec::new();
    let mut call = String::new();
    if let Some(plan) = plan {
        lines = plan.to_string().lines().map(str::to_owned).collect();
        std::fs::write(&plan_file, crate::cli::screen::json(plan))
            .map_err(|error| cannot(out, &plan_file, &error))?;
        call = again(&plan_file);
        told.plan_file = Some(plan_file);
    }
    let picture = Picture::new(watch, servers, title, lines, call.clone());
    let page = picture.tell(|story| page(story, Window::Last(PICTURE_STEPS)));
    drawn.write_all(page.as_bytes()).map_err(|error| cannot(out, &picture_file, &error))?;
    text += &format!("  see it    {}\n", picture_file.display());
    if !call.is_empty() {
        text += &format!("  again     {call}\n");
    }
    told.picture = Some(picture_file);
    told.plan = plan.cloned();
    Ok(text)
}

/// What broke is told, though nothing can be written of it.
pub fn unwritten(error: &BadCall) -> String {
    format!("  neither the plan nor the picture is written: {error}\n")
}

/// A record that is not whole is an error, unless there is a worse one.
pub fn lost_record(verdict: Verdict, error: &std::io::Error) -> Result<String, BadCall> {
    let what = format!("--record: it cannot be written to any more: {error}");
    match verdict {
        Verdict::Violated => Ok(format!("  {what}\n")),
        Verdict::Kept | Verdict::Vacuous => Err(BadCall(what)),
    }
}

impl Outcome {
    /// How it came out; what broke is drawn.
    pub(super) fn of<S: Served>(
        servers: &Servers<S>,
        watched: &Watched,
        plan: Option<Plan>,
    ) -> Result<Outcome, BadCall> {
        let count = servers.count();
        let began = servers.plan_began();
        servers.watched(|watch, now| {
            let (mut told, mut text) = Told::of(watch, count, watched.servers_judge);
            let until = watch.broken().next().map_or(now, |broken| broken.at);
            let plan = plan.map(|plan| applied(plan, until - began));
            if told.verdict == Verdict::Violated {
                let again = |plan: &Path| {
                    let (program, options) = (names::program(), watched.options());
                    format!("{program} {}{options} --plan {}", watched.again, shell::path(plan))
                };
                let out = watched.out.clone().map_or_else(|| new_folder("serve"), Ok);
                let written = out.and_then(|out| {
                    write(watch, count, &watched.title, plan.as_ref(), &out, &again, &mut told)
                });
                text += &written.unwrap_or_else(|error| unwritten(&error));
            }
            if let Some(error) = watch.record.finish() {
                text += &lost_record(told.verdict, &error)?;
            }
            // Who only wants a server was not asking for a verdict.
            let asks = watched.until_broken || watched.witness.is_some();
            let ending = match told.ending() {
                Ending::Vacuous if !asks => Ending::Fine,
                ending => ending,
            };
            Ok(Outcome { ending, text, told })
        })
    }
}

/// What of a plan has struck until then: what came later did nothing to it.
fn applied(mut plan: Plan, until: picklock_model::time::Micros) -> Plan {
    let has_struck = |planned: &Planned| match planned.when {
        When::At(at) => at <= until,
        When::Trigger { .. } => false,
    };
    plan.faults.retain(has_struck);
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_before_stays_and_what_is_found_now_is_numbered() {
        let out = std::env::temp_dir().join(format!("picklock-told-{}", std::process::id()));
        let _left = std::fs::remove_dir_all(&out);
        std::fs::create_dir_all(&out).expect("a folder for the test");
        let new = || {
            let (_, plan, picture) = new_files(&out).expect("there is room");
            let name = |path: PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
            (name(plan), name(picture))
        };
        let files = |plan: &str, picture: &str| (Some(plan.to_owned()), Some(picture.to_owned()));
        assert_eq!(new(), files("plan.json", "run.html"));
        assert_eq!(new(), files("plan-2.json", "run-2.html"), "a picture without a plan counts, too");
        std::fs::write(out.join("plan-3.json"), "{}").expect("a plan of somebody's");
        assert_eq!(new(), files("plan-4.json", "run-4.html"), "nor is a plan without a picture written over");
        std::fs::remove_dir_all(&out).expect("it was made here");
    }
}
