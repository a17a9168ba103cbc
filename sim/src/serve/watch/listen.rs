//! The witness behind its port: a line comes, a line goes.

use super::witness::read;
use crate::serve::servers::{Served, Servers};
use picklock_model::machine::Node;
use picklock_properties::ClientId;
use std::convert::Infallible;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Longer lines are none.
const LINE_MAX: usize = 1024;
const ACCEPT_AGAIN: Duration = Duration::from_millis(10);

/// Hears whoever connects, for as long as this future is polled. Whoever comes through here is this client of a trial, if one
/// is named.
///
/// # Errors
/// None so far: it ends when it is dropped.
pub async fn listen<S: Served>(
    servers: Servers<S>,
    listener: TcpListener,
    client: Option<u8>,
) -> io::Result<Infallible> {
    let mut talks = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            Some(ended) = talks.join_next() => {
                if let Err(error) = ended && let Ok(panic) = tokio::task::JoinError::try_into_panic(error) {
                    std::panic::resume_unwind(panic);
                }
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    talks.spawn(talk(servers.clone(), stream, client));
                }
                Err(_) => sleep(ACCEPT_AGAIN).await,
            },
        }
    }
}

/// A client at the witness, until its connection ends.
struct Seat<S: Served> {
    servers: Servers<S>,
    client: ClientId,
}

impl<S: Served> Drop for Seat<S> {
    fn drop(&mut self) {
        let client = self.client;
        self.servers.watched(|watch, now| watch.stands(client, now));
    }
}

async fn talk<S: Served>(servers: Servers<S>, mut stream: TcpStream, client: Option<u8>) {
    // Without it a line waits for the next one; that it cannot be set is no reason not to hear.
    let _slow = stream.set_nodelay(true);
    let name = client.map(|client| Node::Client(client).to_string());
    let since = servers.now();
    let mut seat: Option<Seat<S>> = None;
    let mut bytes = Vec::new();
    let mut is_too_long = false;
    loop {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            if bytes.len() > LINE_MAX {
                // The rest is read, so that the answer is.
                is_too_long = true;
                bytes.clear();
            }
            match stream.read_buf(&mut bytes).await {
                Ok(1..) => continue,
                _ => return,
            }
        };
        let line: Vec<u8> = bytes.drain(..=end).collect();
        if std::mem::take(&mut is_too_long) || line.len() > LINE_MAX {
            let answer = format!("error: a line has {LINE_MAX} bytes at most\n");
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
            continue;
        }
        let Ok(line) = String::from_utf8(line) else {
            if stream.write_all(b"error: a line is in UTF-8\n").await.is_err() {
                return;
            }
            continue;
        };
        // What a process said that was killed meanwhile comes after its end.
        if client.is_some_and(|client| servers.watched(|watch, _| watch.was_killed_since(client, since))) {
            return;
        }
        let is_name = line.trim_start().to_ascii_lowercase().starts_with("client ");
        let misnamed = if is_name { read(&line).err() } else { None };
        let reply = match &mut seat {
            _ if misnamed.is_some() => Err(misnamed.unwrap_or_default()),
            None => {
                // Who says its name first is called so from the beginning.
                let first = if is_name && client.is_none() {
                    line.split_whitespace().nth(1).map(str::to_owned)
                } else {
                    name.clone()
                };
                let sits = servers.watched(|watch, _| watch.sits(first.as_deref()));
                match sits {
                    Ok(client) => {
                        let seat = seat.insert(Seat { servers: servers.clone(), client });
                        if is_name { Ok("ok") } else { hear(seat, &line) }
                    }
                    Err(why) => Err(why),
                }
            }
            // Who comes through a door of its own is who it is.
            Some(_) if is_name && client.is_some() => Ok("ok"),
            Some(seat) => hear(seat, &line),
        };
        let reply = match reply {
            Ok(word) => format!("{word}\n"),
            Err(why) => format!("error: {why}\n"),
        };
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn hear<S: Served>(seat: &mut Seat<S>, line: &str) -> Result<&'static str, String> {
    let was = seat.client;
    let (client, word) = seat.servers.watched(|watch, now| watch.hears(was, line, now))?;
    seat.client = client;
    Ok(word)
}
