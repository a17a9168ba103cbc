//! What a server answers without an operation: pings, watches that are set again, and what it does not have.

use super::{Conversation, State};
use crate::serve::zookeeper::answer::{self, Answer, code, plain, with, xid, zxid_of};
use crate::serve::zookeeper::desk::Watched;
use crate::serve::zookeeper::request::{Asked, Request};
use crate::serve::zookeeper::reserved::{count_below, reserved};
use picklock_model::stores::zookeeper::{Operation, Path, WatchEvent, Zxid};
use picklock_model::time::Micros;

impl Conversation {
    /// Answers what needs no operation of the server. True: nothing more is taken from the client.
    pub(super) fn at_once(&mut self, request: Request, state: &mut State, now: Micros) -> bool {
        let Request { xid, asked } = request;
        let machine = &state.nodes[usize::from(self.line.server)].machine;
        let zxid = machine.last_applied();
        let mut is_last = false;
        let answer = match &asked {
            Asked::Ping => Answer { text: String::new(), ..plain(xid::PING, zxid, code::OK) },
            Asked::Auth { scheme } => match scheme.as_str() {
                // Who may do what does not depend on who it is.
                "digest" | "ip" => plain(xid, Zxid::NONE, code::OK),
                _ => {
                    is_last = true;
                    plain(xid, Zxid::NONE, code::AUTH_FAILED)
                }
            },
            Asked::SetWatches { has_persistent: true, .. } => {
                self.line.missing(state, now, "is asked for persistent watches in vain");
                plain(xid, zxid, code::UNIMPLEMENTED)
            }
            Asked::SetWatches { zxid: last, data, absent, children, .. } => {
                let last = zxid_of(*last);
                self.watch_again(data, absent, children, last, state, now);
                plain(xid, zxid, code::OK)
            }
            Asked::CheckWatches { path, kind } | Asked::RemoveWatches { path, kind } => {
                let path = state.desk.names.find(path);
                let seat = self.seat();
                // `WatcherType`: of children, of data, any.
                let is_meant = |watch: &Watched| {
                    watch.path == path
                        && matches!((kind, watch.is_of_children), (1, true) | (2, false) | (3, _))
                };
                let watches = state.desk.watches(seat);
                let is_set = watches.as_ref().is_some_and(|watches| watches.values().any(is_meant));
                if let (Asked::RemoveWatches { .. }, Some(watches)) = (&asked, watches) {
                    watches.retain(|_, watch| !is_meant(watch));
                }
                plain(xid, zxid, if is_set { code::OK } else { code::NO_WATCHER })
            }
            Asked::Ephemerals { prefix } => {
                let all = machine.ephemerals(self.session).map(|path| state.desk.names.text(path));
                let wanted = if prefix.trim() == "/" { "" } else { prefix.trim() };
                let all: Vec<String> = all.filter(|path| path.starts_with(wanted)).collect();
                with(xid, zxid, format!("{} of them", all.len()), |writer| {
                    writer.vector(&all, |writer, path| {
                        writer.string(path);
                    });
                })
            }
            Asked::CountBelow { path } => {
                let at = state.desk.names.find(path);
                let below = format!("{}/", path.trim_end_matches('/'));
                let is_below = |(znode, _): &(Path, _)| {
                    *znode != at && state.desk.names.text(*znode).starts_with(&below)
                };
                match machine.znode(at) {
                    None if reserved(path).is_none() => plain(xid, zxid, code::NO_NODE),
                    _ => {
                        let count = machine.znodes().filter(is_below).count() + count_below(path);
                        let count = i32::try_from(count).unwrap_or(i32::MAX);
                        with(xid, zxid, count.to_string(), |writer| {
                            writer.int(count);
                        })
                    }
                }
            }
            Asked::WhoAmI => {
                let address = self.line.address.map_or_else(String::new, |address| address.ip().to_string());
                with(xid, zxid, address.clone(), |writer| {
                    writer.vector(&[address], |writer, address| {
                        writer.string("ip").string(address);
                    });
                })
            }
            Asked::Missing { name } => {
                self.line.missing(state, now, &format!("is asked in vain for {name}"));
                plain(xid, zxid, code::UNIMPLEMENTED)
            }
            Asked::Reconfigure => plain(xid, zxid, code::RECONFIG_DISABLED),
            Asked::Damaged { .. } => plain(xid, zxid, code::MARSHALLING_ERROR),
            // `UnimplementedRequestProcessor` closes the connection behind its answer.
            Asked::Unknown(kind) => {
                is_last = true;
                self.line.missing(state, now, &format!("is asked in vain for a request of type {kind}"));
                plain(xid, zxid, code::UNIMPLEMENTED)
            }
            Asked::Change(_)
            | Asked::Multi(_)
            | Asked::Look { .. }
            | Asked::Looks(_)
            | Asked::Sync { .. }
            | Asked::Close => {
                unreachable!("operations are asked for")
            }
        };
        self.ran(&asked, &answer, state, now);
        self.send(state, now, answer, true, is_last);
        is_last
    }

    /// Sets the watches of an earlier connection again, or tells at once what they have missed (`DataTree.setWatches`).
    fn watch_again(
        &mut self,
        data: &[String],
        absent: &[String],
        children: &[String],
        last: Zxid,
        state: &mut State,
        now: Micros,
    ) {
        let server = usize::from(self.line.server);
        let mut told: Vec<(WatchEvent, String)> = Vec::new();
        let written = |texts: &&String| reserved(texts).is_none();
        for text in data.iter().filter(written) {
            let path = state.desk.names.path(text);
            match state.nodes[server].machine.znode(path) {
                None => told.push((WatchEvent::Deleted, text.clone())),
                Some(znode) if znode.mzxid > last => told.push((WatchEvent::DataChanged, text.clone())),
                Some(_) => drop(self.operate(Operation::GetData { path, watch: true }, state, now)),
            }
        }
        for text in absent {
            let path = state.desk.names.path(text);
            match state.nodes[server].machine.znode(path) {
                _ if reserved(text).is_some() => told.push((WatchEvent::Created, text.clone())),
                Some(_) => told.push((WatchEvent::Created, text.clone())),
                None => drop(self.operate(Operation::Exists { path, watch: true }, state, now)),
            }
        }
        for text in children.iter().filter(written) {
            let path = state.desk.names.path(text);
            match state.nodes[server].machine.znode(path) {
                None => told.push((WatchEvent::Deleted, text.clone())),
                Some(znode) if znode.pzxid > last => told.push((WatchEvent::ChildrenChanged, text.clone())),
                Some(_) => drop(self.operate(Operation::GetChildren { path, watch: true }, state, now)),
            }
        }
        for (event, text) in told {
            self.send(state, now, answer::event(event, &text), false, false);
        }
    }
}
