//! Keyspace notifications (`src/notify.c`): what happens to keys, published to who listens to it.

use super::house::House;
use super::store::Place;
use bytes::Bytes;

/// What an event is about: its letter in `notify-keyspace-events`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Whatever a key holds.
    Generic = b'g' as isize,
    String = b'$' as isize,
    List = b'l' as isize,
    Set = b's' as isize,
    Hash = b'h' as isize,
    Sorted = b'z' as isize,
    /// A key's time was over.
    Expired = b'x' as isize,
    /// A key had to go for want of memory.
    Evicted = b'e' as isize,
    /// A key is there that was not.
    New = b'n' as isize,
}

/// The letters there are, in the order in which they are shown. Streams, modules and misses have no events here.
const LETTERS: &[u8] = b"g$lshzxetdnKEm";
/// `A` stands for the first so many of them.
const ALL: usize = 10;

/// Which events are published: a bit for each letter.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Wanted(u16);

impl Wanted {
    /// `None`: there is no such letter.
    pub fn read(letters: &[u8]) -> Option<Wanted> {
        letters.iter().try_fold(Wanted::default(), |wanted, letter| match letter {
            b'A' => Some(Wanted(wanted.0 | ((1 << ALL) - 1))),
            letter => LETTERS.contains(letter).then(|| Wanted(wanted.0 | Wanted::bit(*letter))),
        })
    }

    /// As `CONFIG GET` shows it.
    pub fn show(self) -> String {
        let has_all = LETTERS[..ALL].iter().all(|letter| self.has(*letter));
        // Where `A` stands, `n` is not shown, as on the real server.
        let hidden: &[u8] = if has_all { b"g$lshzxetdn" } else { b"" };
        let shown = LETTERS.iter().copied().filter(|letter| self.has(*letter) && !hidden.contains(letter));
        has_all.then_some(b'A').into_iter().chain(shown).map(char::from).collect()
    }

    /// Whether such events are published on any channel.
    pub fn wants(self, class: Class) -> bool {
        self.has(class as u8)
    }

    fn has(self, letter: u8) -> bool {
        self.0 & Wanted::bit(letter) != 0
    }

    fn bit(letter: u8) -> u16 {
        LETTERS.iter().position(|known| *known == letter).map_or(0, |place| 1 << place)
    }
}

impl House {
    /// Something has happened to a key.
    pub fn event(&mut self, class: Class, event: &'static str, (database, key): &Place) {
        if !self.events.wants(class) {
            return;
        }
        if self.events.has(b'K') {
            let channel = [format!("__keyspace@{database}__:").as_bytes(), key].concat();
            self.publish(&channel.into(), &Bytes::from_static(event.as_bytes()));
        }
        if self.events.has(b'E') {
            self.publish(&format!("__keyevent@{database}__:{event}").into(), key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::redis::Servers;
    use crate::serve::redis::direct::Direct;

    #[test]
    fn letters_are_shown_as_the_real_server_shows_them() {
        for (read, shown) in [
            ("", ""),
            ("KEA", "AKE"),
            ("Ag$lshzxeKE", "AKE"),
            ("KEg$lshzxe", "g$lshzxeKE"),
            ("Kn", "nK"),
            ("mE", "Em"),
        ] {
            assert_eq!(Wanted::read(read.as_bytes()).map(Wanted::show).as_deref(), Some(shown), "{read}");
        }
        assert_eq!(Wanted::read(b"KEq"), None);
    }

    #[test]
    fn what_nobody_has_asked_for_is_not_published() {
        let servers = Servers::new(1, Default::default());
        servers.restart(0);
        let (listener, writer) = (Direct::new(&servers), Direct::new(&servers));
        listener.line("PSUBSCRIBE __key*");
        writer.line("SET a 1");
        assert_eq!(listener.pushed(), "");
        writer.line("CONFIG SET notify-keyspace-events EKg$n");
        writer.line("SET a 1 PX 60000");
        writer.line("LPUSH l 1");
        let event = |channel: &str, message: &str| {
            let bulk = |text: &str| format!("${} {text} ", text.len());
            format!("*4 {}{}{}{}", bulk("pmessage"), bulk("__key*"), bulk(channel), bulk(message))
        };
        let heard = [
            ("__keyspace@0__:a", "set"),
            ("__keyevent@0__:set", "a"),
            ("__keyspace@0__:a", "expire"),
            ("__keyevent@0__:expire", "a"),
            ("__keyspace@0__:l", "new"),
            ("__keyevent@0__:new", "l"),
        ];
        assert_eq!(
            listener.pushed(),
            heard.map(|(channel, message)| event(channel, message)).concat().trim_end()
        );
    }

    #[test]
    fn a_list_that_is_moved_onto_itself_stays_the_key_that_it_is() {
        let servers = Servers::new(1, Default::default());
        servers.restart(0);
        let (listener, writer) = (Direct::new(&servers), Direct::new(&servers));
        writer.line("RPUSH l 1");
        writer.line("PEXPIRE l 60000");
        writer.line("CONFIG SET notify-keyspace-events Kn");
        listener.line("PSUBSCRIBE __key*");
        assert_eq!(writer.line("LMOVE l l LEFT RIGHT"), "$1 1");
        assert_eq!(listener.pushed(), "");
        assert_ne!(writer.line("PTTL l"), ":-1");
    }
}
