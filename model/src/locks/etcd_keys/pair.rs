//! One client and one member, by hand.

use crate::machine::{Answer, Call, Context, Effects, Lock, Message, Node, Store};
use crate::stores::etcd::{
    Etcd, Key, Keys, LeaseId, Name, Operation, Put, Reply, Request, Settings as StoreSettings, Value,
};
use crate::time::{Due, Micros, Monotonic, Wall};
use picklock_properties::{Access, LockId, Mode};

/// Another client's lease.
const OTHER: LeaseId = LeaseId { client: 1, serial: 1 };

/// One client's machine and one member, with what is under way between them.
pub(crate) struct Pair<L: Lock<Store = Etcd>> {
    pub client: L,
    pub member: Etcd,
    pub settings: L::Settings,
    pub now: Monotonic,
    pub requests: Vec<Request>,
    pub replies: Vec<Reply>,
}

impl<L: Lock<Store = Etcd>> Pair<L> {
    pub fn new(settings: L::Settings) -> Pair<L> {
        Pair {
            client: L::new(0, &settings),
            member: Etcd::new(0, 1, &StoreSettings::default()),
            settings,
            now: Monotonic(0),
            requests: Vec::new(),
            replies: Vec::new(),
        }
    }

    pub fn enter(
        &mut self,
        entry: impl FnOnce(&mut L, &Context<L::Settings>, &mut Effects<Etcd>),
    ) -> Option<Answer> {
        let mut out = Effects::<Etcd>::default();
        let settings = self.settings.clone();
        let cx =
            Context { me: 0, servers: 1, wall: Wall(0), monotonic: self.now, choice: 0, settings: &settings };
        entry(&mut self.client, &cx, &mut out);
        self.requests.extend(out.sends.drain(..).filter_map(|(_, message)| match message {
            Message::Request(request) => Some(request),
            _ => None,
        }));
        out.answer
    }

    pub fn acquire(&mut self, mode: Mode) -> Option<Answer> {
        let lock = LockId::default();
        self.enter(|client, cx, out| {
            client.on_call(Call::Acquire { lock, mode, access: Access::FIRST }, cx, out)
        })
    }

    pub fn release(&mut self) -> Option<Answer> {
        self.enter(|client, cx, out| client.on_call(Call::Release, cx, out))
    }

    /// The member handles a request of this client, or of another one; answers to this one are kept.
    pub fn serve(&mut self, from: u8, request: Request) {
        let settings = StoreSettings::default();
        let cx =
            Context { me: 0, servers: 1, wall: Wall(0), monotonic: self.now, choice: 0, settings: &settings };
        let mut out = Effects::<Etcd>::default();
        self.member.on_request(from, request, &cx, &mut out);
        self.replies.extend(out.sends.drain(..).filter_map(|(to, message)| match (to, message) {
            (Node::Client(0), Message::Reply(reply)) => Some(reply),
            _ => None,
        }));
    }

    /// Everything arrives, until nothing is under way; what the machine said last.
    pub fn settle(&mut self) -> Option<Answer> {
        let mut said = None;
        while !self.requests.is_empty() || !self.replies.is_empty() {
            for request in std::mem::take(&mut self.requests) {
                self.serve(0, request);
            }
            for reply in std::mem::take(&mut self.replies) {
                said = self.enter(|client, cx, out| client.on_reply(0, reply, cx, out)).or(said);
            }
        }
        said
    }

    /// The machine is woken when it wants to be, up to this length.
    pub fn wait(&mut self, length: Micros) -> Option<Answer> {
        let end = self.now + length;
        while let Some(Due::Monotonic(at)) = self.client.deadline(&self.settings)
            && at <= end
        {
            self.now = self.now.max(at);
            if let Some(answer) = self.enter(|client, cx, out| client.on_deadline(cx, out)) {
                return Some(answer);
            }
        }
        self.now = end;
        None
    }

    /// Another client's key in the queue.
    pub fn other_enqueues(&mut self) -> Key {
        self.other_puts(Name::Lease(OTHER))
    }

    /// A key of this name, bound to another client's lease.
    pub fn other_puts(&mut self, name: Name) -> Key {
        let lease = OTHER;
        let key = Key { prefix: 0, name };
        let put = Put { key, value: Value::Empty, lease: Some(lease) };
        for (serial, operation) in [(1, Operation::Grant { ttl: None }), (2, Operation::Put(put))] {
            self.serve(1, Request::new(serial, operation));
        }
        key
    }

    pub fn other_deletes(&mut self, key: Key) {
        self.serve(1, Request::new(3, Operation::Delete(Keys::One(key))));
    }
}
