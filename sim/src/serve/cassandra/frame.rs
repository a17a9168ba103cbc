//! Frames of the native protocol, version 4 (`doc/native_protocol_v4.spec` of Cassandra): nine bytes of header, and a body of
//! big-endian numbers, texts and bytes. Version 3 differs in what is in some bodies.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// What a frame is about.
pub mod opcode {
    pub const ERROR: u8 = 0x00;
    pub const STARTUP: u8 = 0x01;
    pub const READY: u8 = 0x02;
    pub const OPTIONS: u8 = 0x05;
    pub const SUPPORTED: u8 = 0x06;
    pub const QUERY: u8 = 0x07;
    pub const RESULT: u8 = 0x08;
    pub const PREPARE: u8 = 0x09;
    pub const EXECUTE: u8 = 0x0A;
    pub const REGISTER: u8 = 0x0B;
    pub const EVENT: u8 = 0x0C;
    pub const BATCH: u8 = 0x0D;

    /// As the real server calls it.
    pub fn name(opcode: u8) -> &'static str {
        match opcode {
            ERROR => "ERROR",
            STARTUP => "STARTUP",
            READY => "READY",
            0x03 => "AUTHENTICATE",
            OPTIONS => "OPTIONS",
            SUPPORTED => "SUPPORTED",
            QUERY => "QUERY",
            RESULT => "RESULT",
            PREPARE => "PREPARE",
            EXECUTE => "EXECUTE",
            REGISTER => "REGISTER",
            EVENT => "EVENT",
            BATCH => "BATCH",
            0x0E => "AUTH_CHALLENGE",
            0x0F => "AUTH_RESPONSE",
            0x10 => "AUTH_SUCCESS",
            _ => "UNKNOWN",
        }
    }
}

/// The versions that are spoken.
pub const VERSIONS: [u8; 2] = [3, 4];
/// What a client is told that speaks another one.
pub const NEWEST: u8 = 4;
/// The bit of the version by which answers are known.
const ANSWERS: u8 = 0x80;
const HEADER_BYTES: usize = 9;
/// The largest frame that is taken, with its header (`native_transport_max_frame_size`).
pub const BYTES_MAX: usize = 16 * 1024 * 1024;

/// Flags of a frame.
const COMPRESSED: u8 = 0x01;
const HAS_PAYLOAD: u8 = 0x04;
const HAS_WARNINGS: u8 = 0x08;

/// What comes is not what its type promises.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not the message that its type promises")]
pub struct Damaged;

/// A frame of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    pub version: u8,
    pub stream: i16,
    pub opcode: u8,
    pub body: Bytes,
}

/// What has come of a client's bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Read {
    Frame(Frame),
    /// A version that is not spoken, and what it was asked in: nothing after it can be read.
    Version {
        version: u8,
        stream: i16,
    },
    /// A frame that is larger than what is taken: so many bytes of a header and a body.
    TooLong {
        version: u8,
        stream: i16,
        length: u64,
    },
    /// No frame at all, or one that nobody here can read.
    Broken,
    /// Not enough yet.
    Nothing,
}

/// Takes the next frame off the bytes, if it is whole.
pub fn next(bytes: &mut BytesMut) -> Read {
    let Some(&version) = bytes.first() else { return Read::Nothing };
    if bytes.len() < HEADER_BYTES {
        return Read::Nothing;
    }
    let stream = i16::from_be_bytes([bytes[2], bytes[3]]);
    if !VERSIONS.contains(&version) {
        return match version & ANSWERS {
            0 => Read::Version { version, stream },
            _ => Read::Broken,
        };
    }
    let (flags, opcode) = (bytes[1], bytes[4]);
    let length = u32::from_be_bytes([bytes[5], bytes[6], bytes[7], bytes[8]]) as usize;
    if length > BYTES_MAX - HEADER_BYTES {
        return Read::TooLong { version, stream, length: HEADER_BYTES as u64 + length as u64 };
    }
    if flags & COMPRESSED != 0 {
        return Read::Broken;
    }
    if bytes.len() < HEADER_BYTES + length {
        return Read::Nothing;
    }
    bytes.advance(HEADER_BYTES);
    let body = bytes.split_to(length).freeze();
    let mut reader = Reader(body);
    if flags & HAS_PAYLOAD != 0 && reader.skip_payload().is_err() {
        return Read::Broken;
    }
    Read::Frame(Frame { version, stream, opcode, body: reader.0 })
}

/// Reads one thing after the other.
#[derive(Debug)]
pub struct Reader(pub Bytes);

/// A value that is bound to a marker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Bound {
    Bytes(Bytes),
    Null,
    /// What is there stays.
    Unset,
}

impl Reader {
    pub fn byte(&mut self) -> Result<u8, Damaged> {
        self.0.try_get_u8().map_err(|_| Damaged)
    }

    pub fn short(&mut self) -> Result<u16, Damaged> {
        self.0.try_get_u16().map_err(|_| Damaged)
    }

    pub fn int(&mut self) -> Result<i32, Damaged> {
        self.0.try_get_i32().map_err(|_| Damaged)
    }

    pub fn long(&mut self) -> Result<i64, Damaged> {
        self.0.try_get_i64().map_err(|_| Damaged)
    }

    fn take(&mut self, length: usize) -> Result<Bytes, Damaged> {
        if length > self.0.len() {
            return Err(Damaged);
        }
        Ok(self.0.split_to(length))
    }

    pub fn string(&mut self) -> Result<String, Damaged> {
        let length = self.short()?.into();
        text(&self.take(length)?)
    }

    pub fn long_string(&mut self) -> Result<String, Damaged> {
        let length = usize::try_from(self.int()?).map_err(|_| Damaged)?;
        text(&self.take(length)?)
    }

    pub fn short_bytes(&mut self) -> Result<Bytes, Damaged> {
        let length = self.short()?.into();
        self.take(length)
    }

    pub fn bytes(&mut self) -> Result<Option<Bytes>, Damaged> {
        match usize::try_from(self.int()?) {
            Ok(length) => self.take(length).map(Some),
            Err(_) => Ok(None),
        }
    }

    pub fn value(&mut self) -> Result<Bound, Damaged> {
        match self.int()? {
            -1 => Ok(Bound::Null),
            -2 => Ok(Bound::Unset),
            length => self.take(usize::try_from(length).map_err(|_| Damaged)?).map(Bound::Bytes),
        }
    }

    pub fn string_list(&mut self) -> Result<Vec<String>, Damaged> {
        (0..self.short()?).map(|_| self.string()).collect()
    }

    pub fn string_map(&mut self) -> Result<Vec<(String, String)>, Damaged> {
        (0..self.short()?).map(|_| Ok((self.string()?, self.string()?))).collect()
    }

    fn skip_payload(&mut self) -> Result<(), Damaged> {
        for _ in 0..self.short()? {
            self.string()?;
            self.bytes()?;
        }
        Ok(())
    }
}

fn text(bytes: &[u8]) -> Result<String, Damaged> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Damaged)
}

/// Writes one thing after the other into a body.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Writer(BytesMut);

impl Writer {
    pub fn byte(&mut self, value: u8) -> &mut Writer {
        self.0.put_u8(value);
        self
    }

    pub fn short(&mut self, value: u16) -> &mut Writer {
        self.0.put_u16(value);
        self
    }

    pub fn int(&mut self, value: i32) -> &mut Writer {
        self.0.put_i32(value);
        self
    }

    /// A count, or a length: none here reaches two thousand million.
    pub fn count(&mut self, value: usize) -> &mut Writer {
        self.int(i32::try_from(value).unwrap_or(i32::MAX))
    }

    /// What is too long for its length is cut off.
    pub fn string(&mut self, text: &str) -> &mut Writer {
        let mut cut = text.len().min(u16::MAX.into());
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        self.short_bytes(&text.as_bytes()[..cut])
    }

    pub fn short_bytes(&mut self, bytes: &[u8]) -> &mut Writer {
        let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        self.short(length);
        self.0.put_slice(&bytes[..length.into()]);
        self
    }

    pub fn bytes(&mut self, bytes: Option<&[u8]>) -> &mut Writer {
        match bytes {
            None => self.int(-1),
            Some(bytes) => {
                self.count(bytes.len());
                self.0.put_slice(bytes);
                self
            }
        }
    }

    pub fn append(&mut self, other: &Writer) -> &mut Writer {
        self.0.put_slice(&other.0);
        self
    }

    pub fn string_list(&mut self, list: &[String]) -> &mut Writer {
        self.short(u16::try_from(list.len()).unwrap_or(u16::MAX));
        for text in list.iter().take(u16::MAX.into()) {
            self.string(text);
        }
        self
    }

    /// The frame of an answer; version 3 knows no warnings.
    pub fn frame(&self, version: u8, stream: i16, opcode: u8, warnings: &[String]) -> Bytes {
        let warns = version >= 4 && !warnings.is_empty();
        let mut body = Writer::default();
        if warns {
            body.string_list(warnings);
        }
        body.append(self);
        let mut frame = BytesMut::with_capacity(HEADER_BYTES + body.0.len());
        frame.put_u8(version | ANSWERS);
        frame.put_u8(if warns { HAS_WARNINGS } else { 0 });
        frame.put_i16(stream);
        frame.put_u8(opcode);
        frame.put_u32(u32::try_from(body.0.len()).unwrap_or(u32::MAX));
        frame.put_slice(&body.0);
        frame.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_taken_when_it_is_whole_and_another_version_is_told() {
        let mut bytes = BytesMut::from(&[4, 0, 0, 7, opcode::OPTIONS, 0, 0, 0, 1, 9, 5][..]);
        let body = Bytes::from_static(&[9]);
        assert_eq!(
            next(&mut bytes),
            Read::Frame(Frame { version: 4, stream: 7, opcode: opcode::OPTIONS, body })
        );
        assert_eq!(next(&mut bytes), Read::Nothing, "a version alone");
        bytes.extend_from_slice(&[0, 0, 3, opcode::OPTIONS, 0, 0, 0, 0]);
        assert_eq!(next(&mut bytes), Read::Version { version: 5, stream: 3 });
        let mut answer = BytesMut::from(&[0x84; 9][..]);
        assert_eq!(next(&mut answer), Read::Broken, "an answer is no question");
    }

    #[test]
    fn a_wrong_length_is_damaged_and_reads_nothing_behind_the_body() {
        for length in [3, i32::MAX, -3] {
            let mut writer = Writer::default();
            writer.int(length).byte(1);
            let mut reader = Reader(writer.0.freeze());
            assert_eq!(reader.value(), Err(Damaged), "{length}");
        }
        let mut writer = Writer::default();
        writer.string("a").bytes(None).bytes(Some(b"xy")).int(-2);
        let mut reader = Reader(writer.0.freeze());
        assert_eq!(reader.string().as_deref(), Ok("a"));
        assert_eq!(reader.bytes(), Ok(None));
        assert_eq!(reader.value(), Ok(Bound::Bytes(Bytes::from_static(b"xy"))));
        assert_eq!(reader.value(), Ok(Bound::Unset));
        assert_eq!(reader.byte(), Err(Damaged));
    }
}
