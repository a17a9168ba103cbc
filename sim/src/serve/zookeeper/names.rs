//! What the bytes of clients are in the simulated servers: numbers.
//!
//! Servers do not look into paths, but for one thing: a sequential create appends ten digits to a name. So a path is the number
//! of its text without its last ten digits, and these ([`Place`]). What a znode holds is the number of its bytes.

use bytes::Bytes;
use picklock_model::stores::zookeeper::{Numbered, Path, Place, SessionId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Every path that clients have named for good, and all that they have stored. One table for all servers, for they must mean
/// the same by a number. It only grows.
#[derive(Debug, Default)]
pub struct Names {
    stems: BTreeMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
    numbers: BTreeMap<Bytes, u32>,
    contents: Vec<Bytes>,
}

/// How many digits a sequential create appends.
const DIGITS: usize = 10;

/// The number of what holds nothing, not even no bytes.
const NULL: u32 = u32::MAX;

/// Where nothing is, and nothing will be created.
const NOWHERE: Place = Place::new(u32::MAX);

/// A path in two: all but the digits of a sequence number at its end, and these.
fn split(text: &str) -> (&str, Option<i32>) {
    let digits = text.len().checked_sub(DIGITS).and_then(|at| text.split_at_checked(at));
    match digits {
        Some((stem, digits)) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            // What is larger than all sequence numbers is a part of the name.
            digits.parse().map_or((text, None), |number| (stem, Some(number)))
        }
        _ => (text, None),
    }
}

/// The path of the znode above: of a sequence of names in a path all but the last.
fn above(text: &str) -> Option<&str> {
    text.rsplit_once('/').map(|(above, _)| above)
}

impl Names {
    /// The path of this text, which may be new.
    pub fn path(&mut self, text: &str) -> Path {
        self.numbered(text, |names, text| {
            let (stem, digits) = split(text);
            let place = Place::new(names.stem(stem));
            Some(digits.map_or(place, |digits| place.with_digits(digits).unwrap_or(place)))
        })
    }

    /// The path of this text for a sequential create, which will append digits.
    pub fn sequential(&mut self, text: &str) -> Path {
        let own = Place::new(self.stem(text));
        let above = match above(text) {
            None | Some("") => None,
            Some(above) => match self.path(above) {
                Path::Numbered(Numbered { own, .. }) => Some(own),
                _ => None,
            },
        };
        Path::Numbered(Numbered { own, above })
    }

    /// The path of this text, if anybody has named it for good; else one where nothing is.
    pub fn find(&mut self, text: &str) -> Path {
        self.numbered(text, |names, text| {
            let (stem, digits) = split(text);
            let place = Place::new(*names.stems.get(stem)?);
            Some(digits.map_or(place, |digits| place.with_digits(digits).unwrap_or(place)))
        })
    }

    fn numbered(&mut self, text: &str, place: impl Fn(&mut Names, &str) -> Option<Place>) -> Path {
        if matches!(text, "" | "/") {
            return Path::Root;
        }
        let own = place(self, text).unwrap_or(NOWHERE);
        let above = match above(text) {
            Some("") => None,
            Some(above) => Some(place(self, above).unwrap_or(NOWHERE)),
            None => Some(NOWHERE),
        };
        Path::Numbered(Numbered { own, above })
    }

    /// The text of a path.
    pub fn text(&self, path: Path) -> String {
        let Path::Numbered(Numbered { own, .. }) = path else { return "/".to_owned() };
        let stem = usize::try_from(own.stem).ok().and_then(|stem| self.texts.get(stem));
        let stem = stem.map_or("", |stem| stem);
        own.digits().map_or_else(|| stem.to_owned(), |digits| format!("{stem}{digits:010}"))
    }

    /// The number of what a znode holds, which may be null.
    pub fn data(&mut self, bytes: Option<&Bytes>) -> u32 {
        let Some(bytes) = bytes else { return NULL };
        if bytes.is_empty() {
            return 0;
        }
        if let Some(number) = self.numbers.get(bytes) {
            return *number;
        }
        // What arrived may be a slice of a larger buffer.
        let bytes = Bytes::copy_from_slice(bytes);
        self.contents.push(bytes.clone());
        let number = u32::try_from(self.contents.len()).unwrap_or(NULL);
        self.numbers.insert(bytes, number);
        number
    }

    /// What a znode holds, if it is not null.
    pub fn bytes(&self, data: u32) -> Option<Bytes> {
        if data == NULL {
            return None;
        }
        let place = usize::try_from(data).ok().and_then(|number| number.checked_sub(1));
        Some(place.and_then(|place| self.contents.get(place)).cloned().unwrap_or_default())
    }

    fn stem(&mut self, text: &str) -> u32 {
        if let Some(number) = self.stems.get(text) {
            return *number;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(NOWHERE.stem);
        let text: Arc<str> = text.into();
        self.texts.push(text.clone());
        self.stems.insert(text, number);
        number
    }
}

/// The highest byte of a session's number: the real one has the server's there that has drawn it.
const SESSIONS: i64 = 1 << 56;

/// The number of a session, as clients see it.
pub fn session_id(session: SessionId) -> i64 {
    SESSIONS | i64::from(session.serial) << 8 | i64::from(session.client)
}

/// The session of this number, if any can have it.
pub fn session_of(id: i64) -> Option<SessionId> {
    let client = (id & 0xff) as u8;
    let session = SessionId { client, serial: u32::try_from((id ^ SESSIONS) >> 8).ok()? };
    (session_id(session) == id).then_some(session)
}

/// What a client shows when it comes back to its session (`generatePasswd`: drawn from the session's number).
pub fn password(session: SessionId) -> [u8; 16] {
    let mut seed = session_id(session) as u64;
    let mut draw = || {
        // SplitMix64.
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut password = [0; 16];
    password[..8].copy_from_slice(&draw().to_be_bytes());
    password[8..].copy_from_slice(&draw().to_be_bytes());
    password
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_its_text_and_its_parent() {
        let mut names = Names::default();
        for text in [
            "/a",
            "/a/b",
            "/a/b/c/d",
            "/0000000007",
            "/a/x-0000000007/y",
            "/a/x-9999999999",
            "/a/00000000012",
        ] {
            let path = names.path(text);
            assert_eq!(names.text(path), text);
            assert_eq!(names.find(text), path);
            let parent = match text.rsplit_once('/') {
                Some((above, _)) => names.path(above),
                None => Path::Root,
            };
            assert_eq!(path.parent(), Some(parent), "{text}");
        }
        assert_eq!(names.path("/"), Path::Root);
        assert_eq!(names.find("/unknown"), names.find("/unknown/too"));
        assert_ne!(names.find("/a"), names.find("/unknown"));
    }

    #[test]
    fn a_name_that_a_server_completes_is_the_one_that_a_client_spells_out() {
        let mut names = Names::default();
        for (stem, number) in [("/q/item-", 7), ("/q/", 0), ("/item", i32::MAX), ("/q/0000000001", 3)] {
            let Path::Numbered(Numbered { own, above }) = names.sequential(stem) else {
                panic!("not the root")
            };
            let own = own.with_digits(number).expect("it is not negative");
            let created = Path::Numbered(Numbered { own, above });
            let spelt = format!("{stem}{number:010}");
            assert_eq!(names.text(created), spelt);
            assert_eq!(names.path(&spelt), created);
            assert_eq!(names.path(&spelt).parent(), created.parent());
        }
    }

    #[test]
    fn data_comes_back_as_it_was() {
        let mut names = Names::default();
        for bytes in [&b""[..], b"7", b"\0\xff", b"7"] {
            let number = names.data(Some(&Bytes::copy_from_slice(bytes)));
            assert_eq!(names.bytes(number).as_deref(), Some(bytes));
        }
        let null = names.data(None);
        assert_eq!(names.bytes(null), None);
        assert_eq!(names.bytes(99), Some(Bytes::new()));
    }

    #[test]
    fn sessions_have_numbers_that_nobody_else_has() {
        for session in [(0, 1), (255, 1), (0, u32::MAX), (7, 1 << 30)] {
            let session = SessionId { client: session.0, serial: session.1 };
            assert!(session_id(session) > 0);
            assert_eq!(session_of(session_id(session)), Some(session));
        }
        for id in [0, 1, -1, i64::MAX, i64::MIN, SESSIONS << 1] {
            assert_eq!(session_of(id), None, "{id:x}");
        }
        let [one, other] = [1, 2].map(|serial| password(SessionId { client: 0, serial }));
        assert_ne!(one, other);
    }
}
