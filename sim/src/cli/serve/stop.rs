//! ^C, SIGTERM and the end of the terminal, heard by a thread of its own: servers that are busy with a client's script hear nothing.

use std::io;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};
use std::thread;
use tokio::sync::watch;

/// Killed by an interrupt.
const AT_ONCE: i32 = 130;

/// Tells whether somebody has asked, once that is listened for.
static ASKED: Mutex<Option<watch::Receiver<bool>>> = Mutex::new(None);
/// What is done before the process ends at once.
static LAST: Mutex<Option<fn()>> = Mutex::new(None);

/// Waits for the first of them. Whoever asks once more ends the process at once. Also where a shell has ^C ignored, as in scripts
/// that start this in the background; who is not to hear of the end of the terminal (`nohup`) does not.
///
/// # Errors
/// They cannot be caught here.
pub async fn asked_to_stop() -> io::Result<()> {
    let mut asked = asked()?;
    // Whoever tells lives as long as the process.
    let _told = asked.wait_for(|asked| *asked).await;
    Ok(())
}

/// Listens from now on.
///
/// # Errors
/// They cannot be caught here.
pub fn listen_for_it() -> io::Result<()> {
    asked().map(drop)
}

/// Has this done before somebody ends the process at once.
pub fn at_last(deed: fn()) {
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some(deed);
}

fn asked() -> io::Result<watch::Receiver<bool>> {
    let mut known = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(asked) = &*known {
        return Ok(asked.clone());
    }
    let (tell, asked) = watch::channel(false);
    let (ready, is_ready) = sync_channel(1);
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(ready.send(Err(error))),
        };
        runtime.block_on(async move {
            let mut signals = match Signals::new() {
                Ok(signals) => signals,
                Err(error) => return drop(ready.send(Err(error))),
            };
            if ready.send(Ok(())).is_err() {
                return;
            }
            signals.next().await;
            tell.send_replace(true);
            signals.next().await;
            if let Some(deed) = *LAST.lock().unwrap_or_else(PoisonError::into_inner) {
                deed();
            }
            std::process::exit(AT_ONCE);
        });
    })?;
    is_ready.recv().unwrap_or_else(|_| Err(io::Error::other("the thread that hears them has ended")))?;
    *known = Some(asked.clone());
    Ok(asked)
}

#[cfg(unix)]
struct Signals {
    all: Vec<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};

        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let is_heard = |kind: &SignalKind| *kind != SignalKind::hangup() || !is_hangup_ignored();
        let all = kinds.into_iter().filter(is_heard).map(signal).collect::<io::Result<_>>()?;
        Ok(Signals { all })
    }

    /// Waits for any of them.
    async fn next(&mut self) {
        std::future::poll_fn(|cx| {
            let any = self.all.iter_mut().any(|signal| signal.poll_recv(cx).is_ready());
            if any { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }
}

/// Whether this process was started so as to live on without its terminal; where the system does not say, it was not.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Signals> {
        Ok(Signals)
    }

    async fn next(&mut self) {
        let _asked = tokio::signal::ctrl_c().await;
    }
}
