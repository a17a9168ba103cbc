//! What a client says: arrays of strings, or lines typed by hand (`src/networking.c` `processMultibulkBuffer`,
//! `processInlineBuffer`).

use super::numbers::integer;
use bytes::{Buf, Bytes, BytesMut};

/// The longest line, and the longest count of anything (`PROTO_INLINE_MAX_SIZE`).
const LINE_MAX: usize = 64 * 1024;
/// The longest string (`proto-max-bulk-len`).
const STRING_MAX: i64 = 512 * 1024 * 1024;

/// Reads a stream's commands.
#[derive(Debug, Default)]
pub struct Requests {
    /// What has come and was not read yet.
    pub bytes: BytesMut,
    /// How many strings the command lacks, and those that are there.
    missing: i64,
    words: Vec<Bytes>,
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
                        Ok(Some(count)) => self.missing = count.max(0),
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
                Ok(Some(word)) => {
                    self.words.push(word);
                    self.missing -= 1;
                    if self.missing == 0 {
                        return Read::Command(std::mem::take(&mut self.words));
                    }
                }
                Ok(None) => return Read::Nothing,
                Err(broken) => return Read::Broken(broken),
            }
        }
    }

    /// Takes a line out, and reads it without its end; `None`: it has not ended.
    fn line<T>(&mut self, end: &[u8], read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let from = self.searched.min(self.bytes.len());
        match self.bytes[from..].windows(end.len()).position(|bytes| bytes == end) {
            Some(at) => {
                self.searched = 0;
                let line = read(&self.bytes[..from + at]);
                self.bytes.advance(from + at + end.len());
                Some(line)
            }
            None => {
                self.searched = (self.bytes.len() + 1).saturating_sub(end.len());
                None
            }
        }
    }

    fn count(&mut self) -> Result<Option<i64>, &'static str> {
        match self.line(b"\r\n", |line| integer(&line[1..])) {
            None if self.bytes.len() > LINE_MAX => Err("too big mbulk count string"),
            None => Ok(None),
            Some(count) => match count.filter(|count| *count <= i64::from(i32::MAX)) {
                Some(count) => Ok(Some(count)),
                None => Err("invalid multibulk length"),
            },
        }
    }

    fn string(&mut self) -> Result<Option<Bytes>, String> {
        let length = match self.length {
            Some(length) => length,
            None => {
                let read = |line: &[u8]| match line.first() {
                    Some(b'$') => Ok(integer(&line[1..])),
                    other => Err(other.map_or('\r', |first| char::from(*first))),
                };
                let Some(line) = self.line(b"\r\n", read) else {
                    return match self.bytes.len() > LINE_MAX {
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
        if self.bytes.len() < length + 2 {
            return Ok(None);
        }
        self.length = None;
        // Its own copy: what arrived is a slice of a larger buffer, which would live as long as the shortest value in it.
        let word = Bytes::copy_from_slice(&self.bytes[..length]);
        self.bytes.advance(length + 2);
        Ok(Some(word))
    }

    fn typed(&mut self) -> Result<Option<Vec<Bytes>>, &'static str> {
        match self.line(b"\n", |line| split(line.strip_suffix(b"\r").unwrap_or(line))) {
            None if self.bytes.len() > LINE_MAX => Err("too big inline request"),
            None => Ok(None),
            Some(words) => words.map(Some).ok_or("unbalanced quotes in request"),
        }
    }
}

/// Splits a line as a shell does (`src/sds.c` `sdssplitargs`); `None`: a quote is not closed.
fn split(line: &[u8]) -> Option<Vec<Bytes>> {
    let mut words = Vec::new();
    let mut rest = line.iter().copied().peekable();
    loop {
        while rest.next_if(|byte| is_blank(*byte)).is_some() {}
        let Some(first) = rest.peek() else { return Some(words) };
        let mut word = Vec::new();
        if *first == 0 {
            return Some(words);
        }
        loop {
            match rest.next() {
                None => break,
                Some(byte) if is_blank(byte) || byte == 0 => break,
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
        proptest::proptest!(|(bytes in proptest::collection::vec(
            proptest::sample::select(b"*$:+-\r\n019aPING\"'\\x".to_vec()), 0..200
        ))| {
            let mut requests = Requests::default();
            requests.bytes.extend_from_slice(&bytes);
            while let Read::Command(_) = requests.next() {}
        });
    }
}
