//! The times and numbers in what clients and servers say to each other.

use super::protocol::*;
use crate::machine::{Owner, Visit, Visitor, put_in_order};

impl Visit for Request {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Request::Connect(connect) => connect.visit(Owner::Sender, visitor),
            Request::Do { connection, serial, waiting, operation } => {
                visitor.serial(Owner::Sender, connection);
                visitor.serial(Owner::Sender, serial);
                waiting.iter_mut().for_each(|serial| visitor.serial(Owner::Sender, serial));
                operation.visit(visitor);
            }
            Request::Ping { connection, serial, waiting } => {
                visitor.serial(Owner::Sender, connection);
                visitor.serial(Owner::Sender, serial);
                waiting.iter_mut().for_each(|serial| visitor.serial(Owner::Sender, serial));
            }
        }
    }
}

impl Connect {
    pub(super) fn visit<V: Visitor>(&mut self, client: Owner, visitor: &mut V) {
        visitor.serial(client, &mut self.serial);
        if let Some(session) = &mut self.session {
            session.visit(visitor);
        }
        self.last.visit(visitor);
        self.watches.iter_mut().for_each(|watch| watch.visit(client, visitor));
    }
}

impl Watch {
    pub(super) fn visit<V: Visitor>(&mut self, client: Owner, visitor: &mut V) {
        visitor.serial(client, &mut self.serial);
        self.path.visit(visitor);
    }
}

impl Write {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Write::Create { path, .. }
            | Write::Delete { path, .. }
            | Write::SetData { path, .. }
            | Write::Check { path, .. } => path.visit(visitor),
        }
    }
}

impl Operation {
    pub(super) fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Operation::Write(write) => write.visit(visitor),
            Operation::Multi(writes) => writes.iter_mut().for_each(|write| write.visit(visitor)),
            Operation::Exists { path, .. }
            | Operation::GetData { path, .. }
            | Operation::GetChildren { path, .. } => path.visit(visitor),
            Operation::Sync | Operation::CloseSession => {}
        }
    }
}

impl Visit for Reply {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        visitor.serial(Owner::Receiver, &mut self.connection);
        self.zxid.visit(visitor);
        self.fired.iter_mut().for_each(|fired| visitor.serial(Owner::Receiver, &mut fired.serial));
        match &mut self.body {
            Body::Connected(session) => session.visit(visitor),
            Body::Expired | Body::Closed | Body::Notified | Body::Pong => {}
            Body::Outcome { serial, outcome } => {
                visitor.serial(Owner::Receiver, serial);
                outcome.visit(visitor);
            }
        }
    }
}

impl Applied {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Applied::Created { path, stat } => {
                path.visit(visitor);
                stat.visit(visitor);
            }
            Applied::Set { stat } => stat.visit(visitor),
            Applied::Done => {}
        }
    }
}

impl Outcome {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        match self {
            Outcome::Applied(applied) => applied.visit(visitor),
            Outcome::Multi(all) => all.iter_mut().for_each(|applied| applied.visit(visitor)),
            Outcome::Exists(stat) | Outcome::Data { stat, .. } => stat.visit(visitor),
            Outcome::Children(paths) => {
                paths.iter_mut().for_each(|path| path.visit(visitor));
                put_in_order::<V, _, _>(paths, |path| *path);
            }
            Outcome::MultiFailed { .. } | Outcome::Synced | Outcome::SessionClosed | Outcome::Failed(_) => {}
        }
    }
}

impl Stat {
    fn visit<V: Visitor>(&mut self, visitor: &mut V) {
        self.czxid.visit(visitor);
        self.mzxid.visit(visitor);
        self.pzxid.visit(visitor);
        if let Some(owner) = &mut self.owner {
            owner.visit(visitor);
        }
    }
}
