//! Modes of access: who may hold a lock together with whom.
//!
//! A lock that excludes everybody has one mode. A readers-writer lock has two, the distributed lock manager of VMS has six, a
//! semaphore has one that several may hold. What tells them apart is a table:
//!
//! ```text
//!              beside a holder in …       EXCLUSIVE        SHARED_EXCLUSIVE       permits(3)
//!                                          exclusive        write   read           permit
//!   … so many others may hold in:
//!   exclusive                                  0
//!   write                                                     0       0
//!   read                                                      0      any
//!   permit                                                                            2
//! ```
//!
//! An entry counts: none means that the two modes are incompatible, and a semaphore of three permits is a mode that bears two
//! more of its own kind. So one question judges them all: beside every holder, are there as many others as its mode bears?
//!
//! Each table begins with the mode that bears least. It is the one that a client asks for unless it says otherwise, and it
//! takes no byte where events are written down: locks with one mode know nothing of modes.

use crate::history::{ClientId, ClientSet};
use serde::{Deserialize, Serialize};

/// A mode of access: its place in the lock's [`AccessModes`].
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Access(pub u8);

impl Access {
    /// What a client asks for unless it says otherwise: the first mode of every table.
    pub const FIRST: Access = Access(0);

    fn bit(self) -> u8 {
        1 << self.0
    }
}

/// The modes of access that a lock has, with what each bears beside it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "Told", into = "Told")]
pub struct AccessModes {
    count: u8,
    names: [ModeName; AccessModes::MODES_MAX],
    /// Row: a holder's mode. Column: how many others may hold in that mode.
    beside: [[u8; AccessModes::MODES_MAX]; AccessModes::MODES_MAX],
    /// A bit for each mode whose holder may change what the lock protects.
    writing: u8,
}

/// As many as like: what [`AccessModes::beside`] says of modes that are compatible without a limit.
const ANY: u8 = u8::MAX;

impl AccessModes {
    /// The most modes that a table can have.
    pub const MODES_MAX: usize = 8;

    /// One mode, and one holder: a lock as most people know it.
    pub const EXCLUSIVE: AccessModes = AccessModes::new(["exclusive"], [[0]], [true]);

    /// A writer alone, or any number of readers.
    pub const SHARED_EXCLUSIVE: AccessModes =
        AccessModes::new(["write", "read"], [[0, 0], [0, ANY]], [true, false]);

    /// The six modes of the lock managers of VMS and Linux: exclusive, protected write, protected read, concurrent write,
    /// concurrent read and null (the lock-manager article, *Distributed lock manager*; `__dlm_compat_matrix` in Linux, `fs/dlm/lock.c`).
    pub const DLM: AccessModes = AccessModes::new(
        ["EX", "PW", "PR", "CW", "CR", "NL"],
        [
            [0, 0, 0, 0, 0, ANY],
            [0, 0, 0, 0, ANY, ANY],
            [0, 0, ANY, 0, ANY, ANY],
            [0, 0, 0, ANY, ANY, ANY],
            [0, ANY, ANY, ANY, ANY, ANY],
            [ANY, ANY, ANY, ANY, ANY, ANY],
        ],
        [true, true, false, true, false, false],
    );

    /// A semaphore: one mode, so many holders at once.
    ///
    /// # Panics
    /// Without a permit.
    pub const fn permits(permits: u8) -> AccessModes {
        assert!(permits > 0, "a semaphore has a permit to give");
        AccessModes::new(["permit"], [[permits - 1]], [true])
    }

    /// A table of one's own. `beside[a][b]` is how many clients may hold in mode *b* beside one that holds in mode *a*, and
    /// `u8::MAX` is no limit; `writing[a]` is whether a holder in mode *a* may change what the lock protects. Begin with the mode
    /// that bears least.
    ///
    /// # Panics
    /// If there are more than [`AccessModes::MODES_MAX`] modes, or none; if a name is empty or takes more than 12 bytes; if one mode
    /// bears another that does not bear it.
    pub const fn new<const N: usize>(
        names: [&str; N],
        beside: [[u8; N]; N],
        writing: [bool; N],
    ) -> AccessModes {
        assert!(0 < N && N <= AccessModes::MODES_MAX, "a table has 1 to 8 modes");
        let mut modes = AccessModes {
            count: N as u8,
            names: [ModeName([0; ModeName::BYTES_MAX]); AccessModes::MODES_MAX],
            beside: [[0; AccessModes::MODES_MAX]; AccessModes::MODES_MAX],
            writing: 0,
        };
        // No iterators: tables are constants.
        let mut a = 0;
        while a < N {
            modes.names[a] = ModeName::new(names[a]);
            modes.writing |= (writing[a] as u8) << a;
            let mut b = 0;
            while b < N {
                assert!((beside[a][b] == 0) == (beside[b][a] == 0), "modes bear each other or do not");
                modes.beside[a][b] = beside[a][b];
                b += 1;
            }
            a += 1;
        }
        modes
    }

    /// The modes, the one that bears least first.
    pub fn iter(&self) -> impl Iterator<Item = Access> + use<> {
        (0..self.count).map(Access)
    }

    /// Whether it is one of these modes.
    pub fn has(&self, access: Access) -> bool {
        access.0 < self.count
    }

    /// What the mode is called.
    pub fn name(&self, access: Access) -> ModeName {
        self.names[usize::from(access.0)]
    }

    /// The mode of this name.
    pub fn named(&self, name: &str) -> Option<Access> {
        self.iter().find(|access| self.name(*access).as_str() == name)
    }

    /// Whether one client may hold in the one mode while another holds in the other.
    pub fn compatible(&self, one: Access, other: Access) -> bool {
        self.beside(one, other) > 0
    }

    /// How many clients may hold in mode `other` beside one that holds in mode `one`; 255: any number.
    pub fn beside(&self, one: Access, other: Access) -> u8 {
        self.beside[usize::from(one.0)][usize::from(other.0)]
    }

    /// Whether a holder in this mode may change what the lock protects.
    pub fn may_write(&self, access: Access) -> bool {
        self.writing & access.bit() != 0
    }

    /// Whether nobody bears anybody: a lock with one mode and one holder, by whatever name.
    pub fn is_exclusive(&self) -> bool {
        self.count == 1 && self.beside[0][0] == 0
    }

    /// The modes, one bit each, in which holders stand in the way of somebody who wants `access`, where so many others hold in
    /// each mode.
    fn in_the_way(&self, access: Access, holders: &[u8; AccessModes::MODES_MAX]) -> u8 {
        let stands = |other: &Access| {
            let there = holders[usize::from(other.0)];
            // Of the newcomer's mode, beside one of those: the newcomer and all who hold in it already, but that one itself.
            let newcomers = holders[usize::from(access.0)].saturating_add(u8::from(*other != access));
            let exceeds = |number: u8, bears: u8| bears != ANY && number > bears;
            there > 0
                && (exceeds(there, self.beside(access, *other))
                    || exceeds(newcomers, self.beside(*other, access)))
        };
        self.iter().filter(stands).fold(0, |modes, access| modes | access.bit())
    }
}

impl Default for AccessModes {
    fn default() -> AccessModes {
        AccessModes::EXCLUSIVE
    }
}

/// What a mode of access is called: up to 12 bytes, in place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModeName([u8; ModeName::BYTES_MAX]);

impl ModeName {
    const BYTES_MAX: usize = 12;

    const fn new(name: &str) -> ModeName {
        let bytes = name.as_bytes();
        assert!(!bytes.is_empty() && bytes.len() <= ModeName::BYTES_MAX, "a name takes 1 to 12 bytes");
        let mut name = [0; ModeName::BYTES_MAX];
        let mut place = 0;
        while place < bytes.len() {
            name[place] = bytes[place];
            place += 1;
        }
        ModeName(name)
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(ModeName::BYTES_MAX);
        std::str::from_utf8(&self.0[..end]).unwrap_or_else(|_| unreachable!("a name is made of a whole text"))
    }
}

impl std::fmt::Display for ModeName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::fmt::Debug for ModeName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<ModeName> for String {
    fn from(name: ModeName) -> String {
        name.as_str().to_owned()
    }
}

impl TryFrom<String> for ModeName {
    type Error = BadModes;

    fn try_from(name: String) -> Result<ModeName, BadModes> {
        let is_name = (1..=ModeName::BYTES_MAX).contains(&name.len()) && !name.contains('\0');
        if is_name { Ok(ModeName::new(&name)) } else { Err(BadModes) }
    }
}

/// How a table is written down: those that everybody knows by name, in one byte, as they are part of every state.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Told {
    Exclusive,
    SharedExclusive,
    Dlm,
    Permits(u8),
    Own { names: Vec<ModeName>, beside: Vec<u8>, writing: u8 },
}

impl From<AccessModes> for Told {
    fn from(modes: AccessModes) -> Told {
        match modes {
            AccessModes::EXCLUSIVE => Told::Exclusive,
            AccessModes::SHARED_EXCLUSIVE => Told::SharedExclusive,
            AccessModes::DLM => Told::Dlm,
            modes => {
                let permits = modes.beside[0][0].saturating_add(1);
                if modes == AccessModes::permits(permits) {
                    return Told::Permits(permits);
                }
                let row = |one: Access| modes.iter().map(move |other| modes.beside(one, other));
                Told::Own {
                    names: modes.iter().map(|access| modes.name(access)).collect(),
                    beside: modes.iter().flat_map(row).collect(),
                    writing: modes.writing,
                }
            }
        }
    }
}

impl TryFrom<Told> for AccessModes {
    type Error = BadModes;

    fn try_from(told: Told) -> Result<AccessModes, BadModes> {
        let (names, beside, writing) = match told {
            Told::Exclusive => return Ok(AccessModes::EXCLUSIVE),
            Told::SharedExclusive => return Ok(AccessModes::SHARED_EXCLUSIVE),
            Told::Dlm => return Ok(AccessModes::DLM),
            Told::Permits(0) => return Err(BadModes),
            Told::Permits(permits) => return Ok(AccessModes::permits(permits)),
            Told::Own { names, beside, writing } => (names, beside, writing),
        };
        let count = names.len();
        let is_table = (1..=AccessModes::MODES_MAX).contains(&count)
            && beside.len() == count * count
            && u32::from(writing) < 1 << count;
        if !is_table {
            return Err(BadModes);
        }
        let mut modes = AccessModes { count: count as u8, writing, ..AccessModes::EXCLUSIVE };
        modes.names[..count].copy_from_slice(&names);
        for (row, entries) in modes.beside.iter_mut().zip(beside.chunks(count)) {
            row[..count].copy_from_slice(entries);
        }
        let is_mutual = |one, other| modes.compatible(one, other) == modes.compatible(other, one);
        match modes.iter().all(|one| modes.iter().all(|other| is_mutual(one, other))) {
            true => Ok(modes),
            false => Err(BadModes),
        }
    }
}

/// What was read is no table of modes, or no name of one: damaged, or written by a later version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BadModes;

impl std::fmt::Display for BadModes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("this is no table of modes of access")
    }
}

impl std::error::Error for BadModes {}

/// In which mode each client of one lock asks or holds.
///
/// Three bits a client, and nothing of clients that ask for the first mode: of a lock with one mode it is always the same.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Accesses {
    modes: AccessModes,
    /// The bits of the modes' numbers, the lowest first.
    bits: [ClientSet; 3],
}

impl Accesses {
    /// Everybody in the first of these modes.
    pub fn new(modes: AccessModes) -> Accesses {
        Accesses { modes, bits: [ClientSet::EMPTY; 3] }
    }

    /// The lock's modes.
    pub fn modes(&self) -> &AccessModes {
        &self.modes
    }

    /// In which mode the client asks or holds; the first one if it does neither.
    pub fn of(&self, client: ClientId) -> Access {
        let bit = |place: usize| u8::from(self.bits[place].contains(client)) << place;
        Access(bit(0) | bit(1) | bit(2))
    }

    /// From here on the client asks or holds in this mode.
    ///
    /// # Panics
    /// If the lock has no such mode.
    pub fn set(&mut self, client: ClientId, access: Access) {
        assert!(self.modes.has(access), "{client} asks for mode {} of {:?}", access.0, self.modes);
        for (place, bit) in self.bits.iter_mut().enumerate() {
            match access.0 & 1 << place {
                0 => bit.remove(client),
                _ => bit.insert(client),
            }
        }
    }

    /// The clients have other numbers from now on ([`Monitor::renumber_clients`](crate::Monitor::renumber_clients)).
    pub(crate) fn renumber_clients(&mut self, numbers: &[u8]) {
        self.bits.iter_mut().for_each(|clients| *clients = clients.renumbered(numbers));
    }

    /// The modes of clients that ask for this lock and of those that ask for another one.
    pub(crate) fn add(&mut self, other: &Accesses) {
        if other.modes != AccessModes::EXCLUSIVE {
            self.modes = other.modes;
        }
        for (bit, others) in self.bits.iter_mut().zip(other.bits) {
            *bit = bit.union(others);
        }
    }

    /// Those of `clients` that ask or hold in this mode.
    pub fn within(&self, clients: ClientSet, access: Access) -> ClientSet {
        let matching = |clients: ClientSet, (place, bit): (usize, &ClientSet)| match access.0 & 1 << place {
            0 => clients.without(*bit),
            _ => clients.without(clients.without(*bit)),
        };
        self.bits.iter().enumerate().fold(clients, matching)
    }

    /// Those of `holders` because of whom `client` may not hold beside them in this mode: each of them whose mode does not bear
    /// one more, or of whose mode this one does not bear so many. `client` itself is in nobody's way.
    pub fn in_the_way(&self, client: ClientId, access: Access, holders: ClientSet) -> ClientSet {
        let others = holders.without(ClientSet::from_iter([client]));
        if self.modes.is_exclusive() {
            return others;
        }
        let mut counts = [0; AccessModes::MODES_MAX];
        for mode in self.modes.iter() {
            counts[usize::from(mode.0)] = self.within(others, mode).len() as u8;
        }
        let modes = self.modes.in_the_way(access, &counts);
        let standing = self.modes.iter().filter(|mode| modes & mode.bit() != 0);
        standing.fold(ClientSet::EMPTY, |clients, mode| clients.union(self.within(others, mode)))
    }

    /// Those of `waiting` that may hold beside `holders`, each by itself.
    pub fn admitted(&self, waiting: ClientSet, holders: ClientSet) -> ClientSet {
        if self.modes.is_exclusive() {
            return if holders.is_empty() { waiting } else { ClientSet::EMPTY };
        }
        let is_admitted = |client: &ClientId| self.in_the_way(*client, self.of(*client), holders).is_empty();
        waiting.iter().filter(is_admitted).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notation::{A, B, C};

    /// `__dlm_compat_matrix` of Linux without its first and last row, which are no modes; rows and columns as there.
    const PUBLISHED: [(&str, [u8; 6]); 6] = [
        ("NL", [1, 1, 1, 1, 1, 1]),
        ("CR", [1, 1, 1, 1, 1, 0]),
        ("CW", [1, 1, 1, 0, 0, 0]),
        ("PR", [1, 1, 0, 1, 0, 0]),
        ("PW", [1, 1, 0, 0, 0, 0]),
        ("EX", [1, 0, 0, 0, 0, 0]),
    ];

    #[test]
    fn the_lock_managers_modes_are_compatible_as_published() {
        let dlm = AccessModes::DLM;
        assert_eq!(dlm.iter().count(), PUBLISHED.len());
        for (one, row) in PUBLISHED {
            for ((other, _), compatible) in PUBLISHED.iter().zip(row) {
                let (a, b) = (dlm.named(one).unwrap(), dlm.named(other).unwrap());
                assert_eq!(dlm.compatible(a, b), compatible == 1, "{one} and {other}");
            }
        }
        let writing = dlm.iter().filter(|mode| dlm.may_write(*mode)).map(|mode| dlm.name(mode).to_string());
        assert_eq!(writing.collect::<Vec<_>>(), ["EX", "PW", "CW"]);
    }

    #[test]
    fn every_table_begins_with_a_mode_that_no_other_mode_bears_less_than() {
        for modes in [AccessModes::EXCLUSIVE, AccessModes::SHARED_EXCLUSIVE, AccessModes::DLM] {
            assert!(!modes.compatible(Access::FIRST, Access::FIRST) && modes.may_write(Access::FIRST));
            let bears = |one: Access| modes.iter().filter(|other| modes.compatible(one, *other)).count();
            assert!(modes.iter().all(|mode| bears(Access::FIRST) <= bears(mode)));
        }
        assert!(AccessModes::EXCLUSIVE.is_exclusive() && AccessModes::permits(1).is_exclusive());
        for modes in [AccessModes::SHARED_EXCLUSIVE, AccessModes::DLM, AccessModes::permits(2)] {
            assert!(!modes.is_exclusive());
        }
    }

    fn of(modes: AccessModes, holders: &[(ClientId, &str)]) -> (Accesses, ClientSet) {
        let mut accesses = Accesses::new(modes);
        for (client, name) in holders {
            accesses.set(*client, modes.named(name).unwrap());
        }
        (accesses, holders.iter().map(|(client, _)| *client).collect())
    }

    fn in_the_way(modes: AccessModes, holders: &[(ClientId, &str)], access: &str) -> Vec<ClientId> {
        let (accesses, holders) = of(modes, holders);
        accesses.in_the_way(ClientId(7), modes.named(access).unwrap(), holders).iter().collect()
    }

    #[test]
    fn a_writer_stands_in_everybodys_way_and_readers_in_a_writers() {
        let modes = AccessModes::SHARED_EXCLUSIVE;
        assert_eq!(in_the_way(modes, &[(A, "write")], "write"), [A]);
        assert_eq!(in_the_way(modes, &[(A, "write")], "read"), [A]);
        assert_eq!(in_the_way(modes, &[(A, "read"), (B, "read")], "write"), [A, B]);
        assert_eq!(in_the_way(modes, &[(A, "read"), (B, "read")], "read"), []);
        // Two who should not be together: the reader minds the writer only.
        assert_eq!(in_the_way(modes, &[(A, "read"), (B, "write")], "read"), [B]);
    }

    #[test]
    fn whoever_holds_a_permit_stands_in_the_way_once_all_are_taken() {
        let modes = AccessModes::permits(2);
        assert_eq!(in_the_way(modes, &[(A, "permit")], "permit"), []);
        assert_eq!(in_the_way(modes, &[(A, "permit"), (B, "permit")], "permit"), [A, B]);
    }

    #[test]
    fn a_limit_of_one_mode_beside_another_counts_from_both_sides() {
        // A writer bears two readers, and a reader any number of readers and one writer.
        let modes = AccessModes::new(["write", "read"], [[0, 2], [1, ANY]], [true, false]);
        let readers = [(A, "read"), (B, "read"), (C, "read")];
        assert_eq!(in_the_way(modes, &readers, "write"), [A, B, C]);
        assert_eq!(in_the_way(modes, &readers[..2], "write"), []);
        assert_eq!(in_the_way(modes, &[(A, "write"), (B, "read"), (C, "read")], "read"), [A]);
        assert_eq!(in_the_way(modes, &[(A, "write"), (B, "read")], "read"), []);
    }

    #[test]
    fn nobody_is_in_its_own_way() {
        let (accesses, holders) = of(AccessModes::SHARED_EXCLUSIVE, &[(A, "write")]);
        assert!(accesses.in_the_way(A, Access::FIRST, holders).is_empty());
    }

    #[test]
    fn whoever_fits_beside_all_holders_is_admitted() {
        let (mut accesses, holders) = of(AccessModes::SHARED_EXCLUSIVE, &[(A, "read")]);
        accesses.set(C, Access(1));
        let waiting = ClientSet::from_iter([B, C]);
        assert_eq!(accesses.admitted(waiting, holders), ClientSet::from_iter([C]));
        assert_eq!(accesses.admitted(waiting, ClientSet::EMPTY), waiting);
    }

    #[test]
    fn a_client_has_the_mode_that_was_set_last() {
        let mut accesses = Accesses::new(AccessModes::DLM);
        for mode in AccessModes::DLM.iter() {
            accesses.set(B, mode);
            assert_eq!((accesses.of(A), accesses.of(B)), (Access::FIRST, mode));
            let all = ClientSet::from_iter([A, B]);
            assert!(AccessModes::DLM.iter().all(|of| accesses.within(all, of).contains(B) == (of == mode)));
        }
        accesses.set(B, Access::FIRST);
        assert_eq!(accesses, Accesses::new(AccessModes::DLM));
    }

    #[test]
    fn tables_come_back_from_their_bytes_and_those_that_everybody_knows_take_one_or_two() {
        let own = AccessModes::new(["a", "b"], [[0, 2], [1, ANY]], [true, false]);
        for (modes, length) in [
            (AccessModes::EXCLUSIVE, 1),
            (AccessModes::SHARED_EXCLUSIVE, 1),
            (AccessModes::DLM, 1),
            (AccessModes::permits(4), 2),
            (own, 12),
        ] {
            let bytes = postcard::to_stdvec(&modes).unwrap();
            assert_eq!(bytes.len(), length);
            assert_eq!(postcard::from_bytes(&bytes), Ok(modes));
            let json = serde_json::to_string(&modes).unwrap();
            assert_eq!(serde_json::from_str::<AccessModes>(&json).unwrap(), modes);
        }
        assert_eq!(serde_json::to_string(&AccessModes::SHARED_EXCLUSIVE).unwrap(), r#""shared-exclusive""#);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        for told in [
            r#"{"permits":0}"#,
            r#"{"own":{"names":[],"beside":[],"writing":0}}"#,
            r#"{"own":{"names":["a"],"beside":[0,0],"writing":0}}"#,
            r#"{"own":{"names":["a","b"],"beside":[0,1,0,0],"writing":0}}"#,
            r#"{"own":{"names":["a"],"beside":[0],"writing":2}}"#,
            r#"{"own":{"names":["thirteen byte"],"beside":[0],"writing":1}}"#,
            r#"{"own":{"names":[""],"beside":[0],"writing":1}}"#,
        ] {
            assert!(serde_json::from_str::<AccessModes>(told).is_err(), "{told}");
        }
    }
}
