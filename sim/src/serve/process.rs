//! The process of one server: it accepts connections for as long as it is polled, and its end is a crash.

use super::listener::Listener;
use super::servers::{Served, Servers};
use std::convert::Infallible;
use std::time::Duration;
use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;

/// After an accept that failed (out of file descriptors, say): it may pass.
pub(super) const ACCEPT_AGAIN: Duration = Duration::from_millis(10);

/// Ends with the future that serves: with it, the process of the server.
pub(super) struct Process<S: Served> {
    servers: Servers<S>,
    server: u8,
}

impl<S: Served> Process<S> {
    /// The server starts, again if it ran before.
    ///
    /// # Panics
    /// If there is no such server.
    pub(super) fn start(servers: &Servers<S>, server: u8) -> Process<S> {
        assert!(server < servers.count(), "there are {} servers, and no number {server}", servers.count());
        servers.restart(server);
        Process { servers: servers.clone(), server }
    }

    /// Lets somebody talk on each connection, and the server do what is due.
    pub(super) async fn accept<L: Listener, T: Future<Output = ()> + Send + 'static>(
        self,
        mut listener: L,
        talk: impl Fn(L::Stream) -> T,
    ) -> Infallible {
        let mut talks = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                Some(ended) = talks.join_next() => pass_on(ended),
                () = self.servers.tick(self.server) => {}
                accepted = listener.accept() => match accepted {
                    Ok(stream) => {
                        talks.spawn(talk(stream));
                    }
                    Err(_) => sleep(ACCEPT_AGAIN).await,
                },
            }
        }
    }
}

impl<S: Served> Drop for Process<S> {
    fn drop(&mut self) {
        self.servers.crash(self.server, false);
    }
}

/// A task that panicked makes its owner panic; a cancelled one has been cancelled with its owner.
pub(super) fn pass_on(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && let Ok(panic) = error.try_into_panic()
    {
        std::panic::resume_unwind(panic);
    }
}
