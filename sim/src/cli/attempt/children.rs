//! The clients of a trial: processes, each in a group of its own, which are stopped, killed and started again.

use crate::cli::BadCall;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use picklock_model::machine::Node;
use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How many of its last lines a client is remembered by.
const LAST_WORDS: usize = 3;
/// How long a client may take to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long it is waited for what a client that has ended said last.
const READ_MAX: Duration = Duration::from_millis(200);
const LOOK_PERIOD: Duration = Duration::from_millis(10);

/// The groups of all clients that run: they do not outlive this process, however it ends.
static RUNNING: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Kills them all, without waiting for their ends.
pub fn kill_all() {
    for id in RUNNING.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // Who has ended meanwhile hears no signal.
        let _ended = killpg(Pid::from_raw(*id), Signal::SIGKILL);
    }
}

/// A client's process.
struct Process {
    child: Child,
    last_words: Arc<Mutex<VecDeque<String>>>,
    /// Who reads its standard error.
    reader: Option<JoinHandle<()>>,
    ended: Option<ExitStatus>,
}

/// How a client ended by itself.
pub struct Ended {
    pub client: u8,
    pub status: ExitStatus,
    /// What it said last on its standard error, in one line.
    pub last_words: String,
}

impl Process {
    /// What it said last. That may still be in the pipe, which is read to its end, unless a process of its own holds that open.
    fn last_words(&self) -> String {
        let began = Instant::now();
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished()) && began.elapsed() < READ_MAX {
            std::thread::sleep(Duration::from_millis(1));
        }
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        words.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" | ")
    }
}

/// The clients of a trial.
pub struct Children {
    command: Vec<OsString>,
    /// What each client is told by its environment.
    environments: Vec<Vec<(&'static str, String)>>,
    processes: Vec<Option<Process>>,
    /// What they say is shown.
    is_loud: bool,
}

impl Children {
    /// Starts a client for each environment.
    pub fn start(
        command: Vec<OsString>,
        environments: Vec<Vec<(&'static str, String)>>,
        is_loud: bool,
    ) -> Result<Children, BadCall> {
        let processes = environments.iter().map(|_| None).collect();
        let mut children = Children { command, environments, processes, is_loud };
        (0..children.environments.len() as u8).try_for_each(|client| children.start_one(client))?;
        Ok(children)
    }

    /// Starts a client, again if it has ended.
    pub fn start_one(&mut self, client: u8) -> Result<(), BadCall> {
        let place = usize::from(client);
        let Some((program, arguments)) = self.command.split_first() else {
            return Err(BadCall("a command comes after --, as in -- python3 worker.py".to_owned()));
        };
        let mut child = Command::new(program)
            .args(arguments)
            .envs(self.environments[place].iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| BadCall(format!("{} cannot be started: {error}", program.display())))?;
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).extend(i32::try_from(child.id()));
        let last_words = Arc::new(Mutex::new(VecDeque::new()));
        let name = Node::Client(client).to_string();
        if let Some(output) = child.stdout.take() {
            listen(output, name.clone(), self.is_loud, None);
        }
        let errors = child.stderr.take();
        let reader = errors.map(|errors| listen(errors, name, self.is_loud, Some(last_words.clone())));
        self.processes[place] = Some(Process { child, last_words, reader, ended: None });
        Ok(())
    }

    /// Whether its process runs, paused or not.
    pub fn lives(&self, client: u8) -> bool {
        self.processes[usize::from(client)].as_ref().is_some_and(|process| process.ended.is_none())
    }

    /// Whether anybody's does.
    pub fn anybody_lives(&self) -> bool {
        (0..self.processes.len() as u8).any(|client| self.lives(client))
    }

    /// Stops a client where it is.
    pub fn pause(&self, client: u8) {
        self.signal(client, Signal::SIGSTOP);
    }

    /// Lets a client go on.
    pub fn resume(&self, client: u8) {
        self.signal(client, Signal::SIGCONT);
    }

    /// Kills a client.
    pub fn kill(&mut self, client: u8) {
        self.signal(client, Signal::SIGKILL);
        if let Some(process) = &mut self.processes[usize::from(client)] {
            // It was killed, and ends: if the system does not say how, it is gone all the same.
            process.ended = process.child.wait().ok().or(process.ended);
            if let Ok(id) = i32::try_from(process.child.id()) {
                RUNNING.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            }
        }
        self.processes[usize::from(client)] = None;
    }

    fn signal(&self, client: u8, signal: Signal) {
        if !self.lives(client) {
            return;
        }
        let id = self.processes[usize::from(client)]
            .as_ref()
            .and_then(|process| i32::try_from(process.child.id()).ok());
        if let Some(id) = id {
            // Who has ended meanwhile hears no signal.
            let _ended = killpg(Pid::from_raw(id), signal);
        }
    }

    /// Who has ended by itself since this was asked last.
    pub fn ended(&mut self) -> Vec<Ended> {
        let mut all = Vec::new();
        for (client, process) in (0..).zip(&mut self.processes) {
            let Some(process) = process.as_mut().filter(|process| process.ended.is_none()) else { continue };
            if let Ok(Some(status)) = process.child.try_wait() {
                process.ended = Some(status);
                if let Ok(id) = i32::try_from(process.child.id()) {
                    // What it has left behind in its group ends with it; mostly there is nothing.
                    let _none = killpg(Pid::from_raw(id), Signal::SIGKILL);
                    RUNNING.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
                }
                all.push(Ended { client, status, last_words: process.last_words() });
            }
        }
        all
    }

    /// Ends all of them: first asks, then does not.
    pub async fn stop(&mut self) {
        for client in 0..self.processes.len() as u8 {
            self.signal(client, Signal::SIGTERM);
            self.signal(client, Signal::SIGCONT);
        }
        let began = Instant::now();
        while self.anybody_lives() && began.elapsed() < PATIENCE {
            self.ended();
            sleep(LOOK_PERIOD).await;
        }
        (0..self.processes.len() as u8).for_each(|client| self.kill(client));
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        (0..self.processes.len() as u8).for_each(|client| self.kill(client));
    }
}

/// Reads what a client says for as long as it says anything, in a thread of its own: a full pipe would stop it.
fn listen(
    output: impl Read + Send + 'static,
    name: String,
    is_loud: bool,
    last_words: Option<Arc<Mutex<VecDeque<String>>>>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            if is_loud {
                eprintln!("{name}| {line}");
            }
            if let Some(words) = &last_words
                && !line.trim().is_empty()
            {
                let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
                words.push_back(line);
                if words.len() > LAST_WORDS {
                    words.pop_front();
                }
            }
        }
    })
}
