//! What a client says: arrays of strings, or lines typed by hand (`src/networking.c` `processMultibulkBuffer`,
//! `processInlineBuffer`).

use super::numbers::integer;
use bytes::{Buf, Bytes, BytesMut};
use std::ops::Range;

/// The longest line, and the longest count of anything (`PROTO_INLINE_MAX_SIZE`).
const LINE_MAX: usize = 64 * 1024;
/// The longest string (`proto-max-bulk-len`).
const STRING_MAX: i64 = 512 * 1024 * 1024;

/// Up to this size the words of a command share one copy of it: of a value that lives on so much may lie about.
const SHARED_MAX: usize = 256;

/// Reads a stream's commands.
#[derive(Debug, Default)]
pub struct Requests {
    /// What has come and was not taken yet.
    pub bytes: BytesMut,
    /// How many bytes of it were read.
    read: usize,
    /// How many strings the command lacks, and where those are that are there.
    missing: i64,
    strings: Vec<Range<usize>>,
    /// How long the next string is, if that has come.
    length: Option<usize>,
    /// Up to where no line has ended.
    searched: usize,
}

/// What was read.
#[derive(Clone, PartialEq, Debug)]
pub enum Read {
    /// A command with its arguments.
    Command(Vec<Bytes>),
    /// Not all of it has come.
    Nothing,
    /// What follows "Protocol error: ": the connection is closed after that.
    Broken(String),
}

impl Requests {
    /// The next command. Empty ones are passed over.
    pub fn next(&mut self) -> Read {
        loop {
            if self.missing == 0 {
                match self.bytes.first() {
                    None => return Read::Nothing,
                    Some(b'*') => match self.count() {
                        Ok(Some(1..)) => {}
                        Ok(Some(_)) => self.advance(),
                        Ok(None) => return Read::Nothing,
                        Err(broken) => return Read::Broken(broken.to_owned()),
                    },
                    Some(_) => match self.typed() {
                        Ok(Some(words)) if words.is_empty() => {}
                        Ok(Some(words)) => return Read::Command(words),
                        Ok(None) => return Read::Nothing,
                        Err(broken) => return Read::Broken(broken.to_owned()),
                    },
                }
                continue;
            }
            match self.string() {
                Ok(Some(string)) => {
                    self.strings.push(string);
                    self.missing -= 1;
                    if self.missing == 0 {
                        return Read::Command(self.take());
                    }
                }
                Ok(None) => return Read::Nothing,
                Err(broken) => return Read::Broken(broken),
            }
        }
    }

    /// Takes out the command that was read. Its words are copies: what arrives lies in a larger buffer, which would live as
    /// long as the shortest value in it.
    fn take(&mut self) -> Vec<Bytes> {
        let strings = self.strings.drain(..);
        let words = if self.read <= SHARED_MAX {
            let whole = Bytes::copy_from_slice(&self.bytes[..self.read]);
            strings.map(|string| whole.slice(string)).collect()
        } else {
            strings.map(|string| Bytes::copy_from_slice(&self.bytes[string])).collect()
        };
        self.advance();
        words
    }

    /// What was read is done with.
    fn advance(&mut self) {
        self.bytes.advance(self.read);
        (self.read, self.searched) = (0, 0);
    }

    /// Reads a line without its end; `None`: it has not ended.
    fn line<T>(&mut self, end: &[u8], read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let from = self.searched.max(self.read).min(self.bytes.len());
        match self.bytes[from..].windows(end.len()).position(|bytes| bytes == end) {
            Some(at) => {
                let line = read(&self.bytes[self.read..from + at]);
                self.read = from + at + end.len();
                Some(line)
            }
            None => {
                self.searched = (self.bytes.len() + 1).saturating_sub(end.len());
                None
            }
        }
    }

    /// How much has come and was not read.
    fn unread(&self) -> usize {
        self.bytes.len() - self.read
    }

    /// The number in the line after this sign, as almost all are: it has ended, and has few digits.
    fn header(&mut self, sign: u8) -> Option<i64> {
        let (first, rest) = self.bytes[self.read..].split_first()?;
        let digits = rest.iter().take(8).take_while(|byte| byte.is_ascii_digit()).count();
        let has_zeros = digits > 1 && rest[0] == b'0';
        if *first != sign || digits == 0 || has_zeros || rest.get(digits..digits + 2) != Some(b"\r\n") {
            return None;
        }
        let number = rest[..digits].iter().fold(0, |number, digit| 10 * number + i64::from(digit - b'0'));
        self.read += digits + 3;
        Some(number)
    }

    fn count(&mut self) -> Result<Option<i64>, &'static str> {
        if let Some(count) = self.header(b'*') {
            self.missing = count;
            return Ok(Some(count));
        }
        match self.line(b"\r\n", |line| integer(&line[1..])) {
            None if self.unread() > LINE_MAX => Err("too big mbulk count string"),
            None => Ok(None),
            Some(count) => match count.filter(|count| *count <= i64::from(i32::MAX)) {
                Some(count) => {
                    self.missing = count.max(0);
                    Ok(Some(count))
                }
                None => Err("invalid multibulk length"),
            },
        }
    }

    fn string(&mut self) -> Result<Option<Range<usize>>, String> {
        let length = match self.length {
            Some(length) => length,
            None => {
                if let Some(length) = self.header(b'$') {
                    self.length = usize::try_from(length).ok();
                    return self.string();
                }
                let read = |line: &[u8]| match line.first() {
                    Some(b'$') => Ok(integer(&line[1..])),
                    other => Err(other.map_or('\r', |first| char::from(*first))),
                };
                let Some(line) = self.line(b"\r\n", read) else {
                    return match self.unread() > LINE_MAX {
                        true => Err("too big bulk count string".to_owned()),
                        false => Ok(None),
                    };
                };
                let length = line.map_err(|got| format!("expected '$', got '{got}'"))?;
                let length = length.filter(|length| (0..=STRING_MAX).contains(length));
                let Some(length) = length.and_then(|length| usize::try_from(length).ok()) else {
                    return Err("invalid bulk length".to_owned());
                };
                self.length = Some(length);
                length
            }
        };
        if self.unread() < length + 2 {
            return Ok(None);
        }
        self.length = None;
        let string = self.read..self.read + length;
        self.read += length + 2;
        Ok(Some(string))
    }

    fn typed(&mut self) -> Result<Option<Vec<Bytes>>, &'static str> {
        // The real server looks for the line's end as C does: up to the first NUL, and in vain if that comes before it.
        let from = self.searched.min(self.bytes.len());
        let stop = self.bytes[from..].iter().position(|byte| matches!(byte, 0 | b'\n'));
        if let Some(at) = stop.map(|at| from + at).filter(|at| self.bytes[*at] == 0) {
            self.searched = at;
            return if self.unread() > LINE_MAX { Err("too big inline request") } else { Ok(None) };
        }
        match self.line(b"\n", |line| split(line.strip_suffix(b"\r").unwrap_or(line))) {
            None if self.unread() > LINE_MAX => Err("too big inline request"),
            None => Ok(None),
            Some(words) => {
                self.advance();
                words.map(Some).ok_or("unbalanced quotes in request")
            }
        }
    }
}

/// Splits a line as a shell does (`src/sds.c` `sdssplitargs`); `None`: a quote is not closed.
fn split(line: &[u8]) -> Option<Vec<Bytes>> {
    let mut words = Vec::new();
    let mut rest = line.iter().copied().peekable();
    loop {
        while rest.next_if(|byte| is_blank(*byte)).is_some() {}
        if rest.peek().is_none() {
            return Some(words);
        }
        let mut word = Vec::new();
        loop {
            match rest.next() {
                None => break,
                Some(byte) if is_blank(byte) => break,
                Some(quote @ (b'"' | b'\'')) => {
                    quoted(quote, &mut rest, &mut word)?;
                    // A closing quote ends the word.
                    match rest.peek() {
                        None => break,
                        Some(byte) if is_blank(*byte) => break,
                        Some(_) => return None,
                    }
                }
                Some(byte) => word.push(byte),
            }
        }
        words.push(Bytes::from(word));
    }
}

fn quoted(
    quote: u8,
    rest: &mut std::iter::Peekable<impl Iterator<Item = u8> + Clone>,
    word: &mut Vec<u8>,
) -> Option<()> {
    loop {
        match rest.next()? {
            byte if byte == quote => return Some(()),
            b'\\' if quote == b'\'' => match rest.next_if_eq(&b'\'') {
                Some(byte) => word.push(byte),
                None => word.push(b'\\'),
            },
            b'\\' => match rest.next()? {
                b'n' => word.push(b'\n'),
                b'r' => word.push(b'\r'),
                b't' => word.push(b'\t'),
                b'b' => word.push(8),
                b'a' => word.push(7),
                b'x' => {
                    let mut ahead = rest.clone();
                    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                    match (digit(ahead.next()), digit(ahead.next())) {
                        (Some(high), Some(low)) => {
                            word.push((high * 16 + low) as u8);
                            *rest = ahead;
                        }
                        _ => word.push(b'x'),
                    }
                }
                other => word.push(other),
            },
            byte => word.push(byte),
        }
    }
}

fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<Read> {
        let mut requests = Requests::default();
        let mut read = Vec::new();
        // Byte by byte, as a slow client sends it.
        for byte in bytes {
            requests.bytes.extend_from_slice(&[*byte]);
            loop {
                match requests.next() {
                    Read::Nothing => break,
                    broken @ Read::Broken(_) => {
                        read.push(broken);
                        return read;
                    }
                    command => read.push(command),
                }
            }
        }
        read
    }

    fn command(words: &[&str]) -> Read {
        Read::Command(words.iter().map(|word| Bytes::from((*word).to_owned())).collect())
    }

    #[test]
    fn commands_are_arrays_or_lines() {
        let bytes = b"*1\r\n$4\r\nPING\r\nPING\r\n\r\n*-1\r\n*0\r\nSET a \"b \\x41\\n\" 'c''\n";
        assert_eq!(
            all(&bytes[..bytes.len() - 2]),
            [command(&["PING"]), command(&["PING"])],
            "the last line has not ended"
        );
        assert_eq!(all(b"SET a \"b \\x41\\n\" 'c'\n"), [command(&["SET", "a", "b A\n", "c"])]);
    }

    #[test]
    fn a_line_with_a_nul_never_ends() {
        assert_eq!(all(b"PING\nPI\0NG\nPING\n"), [command(&["PING"])]);
        let long = [b"PI\0NG\n".to_vec(), vec![b'\n'; LINE_MAX]].concat();
        assert_eq!(all(&long), [Read::Broken("too big inline request".to_owned())]);
    }

    #[test]
    fn a_long_command_is_read_as_a_short_one_is() {
        let value = "v".repeat(SHARED_MAX);
        let bytes = format!("*2\r\n$4\r\nECHO\r\n${}\r\n{value}\r\n*1\r\n$4\r\nPING\r\n", value.len());
        assert_eq!(all(bytes.as_bytes()), [command(&["ECHO", &value]), command(&["PING"])]);
    }

    #[test]
    fn what_is_none_is_named_as_the_real_server_names_it() {
        for (bytes, said) in [
            ("*x\r\n", "invalid multibulk length"),
            ("*+1\r\n", "invalid multibulk length"),
            ("*2147483648\r\n", "invalid multibulk length"),
            ("*1\r\n:1\r\n", "expected '$', got ':'"),
            ("*1\r\n$-1\r\n", "invalid bulk length"),
            ("*1\r\n$04\r\n", "invalid bulk length"),
            ("*1\r\n$536870913\r\n", "invalid bulk length"),
            ("SET \"a\r\n", "unbalanced quotes in request"),
            ("SET \"a\"b\r\n", "unbalanced quotes in request"),
        ] {
            assert_eq!(all(bytes.as_bytes()), [Read::Broken(said.to_owned())], "{bytes}");
        }
    }

    #[test]
    fn no_bytes_whatever_make_the_reader_panic() {
        use proptest::collection::vec;
        use proptest::prelude::{Strategy, any, prop_oneof};
        use proptest::sample::{Index, select};
        let letter = || prop_oneof![select(b"*$:+-\r\n019aPING\"'\\x".to_vec()), any::<u8>()];
        let word =
            |word: Vec<u8>| [format!("${}\r\n", word.len()).into_bytes(), word, b"\r\n".to_vec()].concat();
        let words = vec(vec(letter(), 0..20).prop_map(word), 1..5);
        let whole =
            words.prop_map(|words| [format!("*{}\r\n", words.len()).into_bytes(), words.concat()].concat());
        let commands = vec(whole, 1..5);
        let (cases, seen) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        proptest::proptest!(|(commands in commands, changes in vec((any::<Index>(), letter()), 0..4))| {
            let mut bytes = commands.concat();
            for (at, letter) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *letter;
            }
            let mut requests = Requests::default();
            requests.bytes.extend_from_slice(&bytes);
            let mut read = 0;
            while let Read::Command(_) = requests.next() {
                read += 1;
            }
            proptest::prop_assert!(!changes.is_empty() || read == commands.len());
            cases.set(cases.get() + 1);
            seen.set(seen.get() + read);
        });
        let (cases, seen) = (cases.get(), seen.get());
        assert!(seen >= cases / 4, "{seen} commands in {cases} cases");
    }
}
