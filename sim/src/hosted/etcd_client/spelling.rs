//! What the machine's keys, values and leases are called on the members, and what theirs are to the machine.

use crate::hosted::redis_client::Names;
use crate::serve::etcd::pb;
use bytes::Bytes;
use picklock_model::stores::etcd::{Key, KeyValue, Keys, LeaseId, Name, Revision, Value};
use std::collections::BTreeMap;

/// As whose draws the keys, values and leases of everybody else go about in the machine: no thread has this number.
const FOREIGN: u8 = u8::MAX;

/// How the value begins that is a client's name.
const CLIENT: &str = "client-";

/// One client's names.
#[derive(Debug)]
pub(super) struct Spelling {
    me: u8,
    names: Names,
    /// The client's own leases, and the numbers that the members have drawn for them.
    leases: BTreeMap<LeaseId, i64>,
    /// The keys of others that were told of, in the order in which they were.
    foreign: Vec<Bytes>,
}

impl Spelling {
    pub fn new(me: u8, names: Names) -> Spelling {
        Spelling { me, names, leases: BTreeMap::new(), foreign: Vec::new() }
    }

    /// A member has granted the lease under this number.
    pub fn granted(&mut self, lease: LeaseId, number: i64) {
        self.leases.insert(lease, number);
    }

    /// The members' number of a lease. Where there is none the answer is -1, which no member draws: it is no lease to them.
    pub fn number(&self, lease: LeaseId) -> i64 {
        self.leases.get(&lease).copied().unwrap_or(-1)
    }

    /// Zero is none.
    pub fn lease(&self, number: i64) -> Option<LeaseId> {
        let own = self.leases.iter().find(|(_, own)| **own == number).map(|(lease, _)| *lease);
        let foreign = (number != 0).then_some(LeaseId { client: FOREIGN, serial: 0 });
        own.or(foreign)
    }

    /// `pfx/` and the lease in hexadecimal digits, as the client library has it (`concurrency/mutex.go`, `election.go`); the lock's
    /// name itself, where a lock is one key.
    pub fn key(&self, key: Key) -> Bytes {
        let lock = self.names.lock(key.prefix.into());
        let text = match key.name {
            Name::Word(0) => lock,
            Name::Word(word) => format!("{lock}#{word}"),
            Name::Lease(lease) => format!("{lock}/{:x}", self.number(lease)),
            Name::Drawn { client: FOREIGN, serial } => {
                return self.foreign.get(serial as usize).cloned().unwrap_or_default();
            }
            Name::Drawn { client, serial } => format!("{lock}/{}:{client}:{serial}", self.names.signature),
        };
        Bytes::from(text)
    }

    /// First and end of a range, as the API says it.
    pub fn keys(&self, keys: Keys) -> (Bytes, Bytes) {
        match keys {
            Keys::One(key) => (self.key(key), Bytes::new()),
            // All that begin with `pfx/`: `0` is the byte after `/`.
            Keys::Prefix(prefix) => {
                let lock = self.names.lock(prefix.into());
                (Bytes::from(format!("{lock}/")), Bytes::from(format!("{lock}0")))
            }
            Keys::Between(first, end) => (self.key(first), self.key(end)),
        }
    }

    pub fn value(&self, value: Value) -> Bytes {
        match value {
            Value::Empty => Bytes::new(),
            Value::Text(number) => Bytes::from(number.to_string()),
            Value::Drawn { client, serial } => {
                Bytes::from(format!("{}:{client}:{serial}", self.names.signature))
            }
            Value::Name(client) => Bytes::from(format!("{CLIENT}{client}")),
        }
    }

    /// What a member shows of a key. `None`: it has a revision that the machine cannot count to.
    pub fn read(&mut self, kv: &pb::KeyValue) -> Option<KeyValue> {
        Some(KeyValue {
            key: self.read_key(&kv.key),
            create_revision: revision(kv.create_revision)?,
            mod_revision: revision(kv.mod_revision)?,
            version: u32::try_from(kv.version).ok()?,
            value: self.read_value(&kv.value),
            lease: self.lease(kv.lease),
        })
    }

    pub fn read_key(&mut self, bytes: &Bytes) -> Key {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        for (prefix, lock) in (0..=u8::MAX).zip(&self.names.locks) {
            let name = match text.strip_prefix(lock.as_str()) {
                Some("") => Some(Some(Name::Word(0))),
                Some(rest) => rest.strip_prefix('/').map(|name| self.own_name(name)),
                None => None,
            };
            match name {
                Some(Some(name)) => return Key { prefix, name },
                Some(None) => return Key { prefix, name: self.foreign_name(bytes) },
                None => {}
            }
        }
        Key { prefix: 0, name: self.foreign_name(bytes) }
    }

    fn own_name(&self, name: &str) -> Option<Name> {
        let of_lease = || {
            let number = i64::from_str_radix(name, 16).ok()?;
            self.leases.iter().find(|(_, own)| **own == number).map(|(lease, _)| Name::Lease(*lease))
        };
        let drawn = || {
            let (client, serial) = self.drawn(name)?;
            Some(Name::Drawn { client, serial })
        };
        of_lease().or_else(drawn)
    }

    fn foreign_name(&mut self, bytes: &Bytes) -> Name {
        let place = self.foreign.iter().position(|known| known == bytes).unwrap_or_else(|| {
            self.foreign.push(bytes.clone());
            self.foreign.len() - 1
        });
        Name::Drawn { client: FOREIGN, serial: u32::try_from(place).unwrap_or(u32::MAX) }
    }

    fn read_value(&self, bytes: &Bytes) -> Value {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let number = || text.parse().ok().map(Value::Text);
        let drawn = || self.drawn(text).map(|(client, serial)| Value::Drawn { client, serial });
        let named = || text.strip_prefix(CLIENT)?.parse().ok().map(Value::Name);
        match bytes.is_empty() {
            true => Value::Empty,
            false => {
                drawn().or_else(number).or_else(named).unwrap_or(Value::Drawn { client: FOREIGN, serial: 0 })
            }
        }
    }

    /// What this client has signed.
    fn drawn(&self, text: &str) -> Option<(u8, u32)> {
        let own = text.strip_prefix(self.names.signature.as_str())?.strip_prefix(':')?;
        let (client, serial) = own.split_once(':')?;
        let (client, serial) = (client.parse().ok()?, serial.parse().ok()?);
        (client == self.me).then_some((client, serial))
    }
}

/// The machine counts revisions in 32 bits: one change a second for 136 years.
pub(super) fn revision(number: i64) -> Option<Revision> {
    u32::try_from(number).ok().map(Revision)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: LeaseId = LeaseId { client: 2, serial: 7 };

    fn spelling() -> Spelling {
        let mut spelling = Spelling::new(2, Names::new(["orders", "orders/old"], "signed"));
        spelling.granted(LEASE, 0x1234_abcd);
        spelling
    }

    #[test]
    fn own_names_come_back_as_they_were() {
        let mut spelling = spelling();
        for (name, text) in [
            (Name::Word(0), "orders"),
            (Name::Lease(LEASE), "orders/1234abcd"),
            (Name::Drawn { client: 2, serial: 9 }, "orders/signed:2:9"),
        ] {
            let key = Key { prefix: 0, name };
            assert_eq!(spelling.key(key), text);
            assert_eq!(spelling.read_key(&Bytes::from(text)), key);
        }
        for value in [Value::Empty, Value::Text(12), Value::Name(3), Value::Drawn { client: 2, serial: 3 }] {
            let bytes = spelling.value(value);
            assert_eq!(spelling.read_value(&bytes), value);
        }
        assert_eq!(spelling.lease(0x1234_abcd), Some(LEASE));
        assert_eq!(spelling.lease(0), None);
    }

    /// Nothing that somebody else has put is ever taken for the client's own, and each key goes by one name.
    #[test]
    fn what_others_have_put_is_known_again_and_is_never_the_clients_own() {
        let mut spelling = spelling();
        for text in ["orders/1234abce", "orders/signed:1:9", "orders/other:2:9", "orders/", "orders/\u{e9}"] {
            let bytes = Bytes::from(text);
            let key = spelling.read_key(&bytes);
            assert!(matches!(key.name, Name::Drawn { client: FOREIGN, .. }), "{text}: {key:?}");
            assert_eq!((spelling.read_key(&bytes), spelling.key(key)), (key, bytes));
        }
        let not_text = Bytes::from_static(b"orders/\xff");
        let key = spelling.read_key(&not_text);
        assert_eq!(spelling.key(key), not_text);
        assert_eq!(
            spelling.read_value(&Bytes::from("signed:1:3")),
            Value::Drawn { client: FOREIGN, serial: 0 }
        );
        assert_ne!(spelling.lease(5), Some(LEASE));
        assert_ne!(spelling.lease(5), None);
    }

    #[test]
    fn a_range_is_all_that_is_below_a_lock() {
        let spelling = spelling();
        let (first, end) = spelling.keys(Keys::Prefix(0));
        assert!((first.clone()..end.clone()).contains(&Bytes::from("orders/1")));
        assert!(!(first..end).contains(&Bytes::from("orders")));
    }
}
