//! Records of ZooKeeper's protocol as bytes (`BinaryInputArchive.java`, `BinaryOutputArchive.java`), and what they come in: a length of
//! four bytes, and so many more.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The largest frame that a server takes (`jute.maxbuffer`).
pub const FRAME_BYTES_MAX: usize = 0xf_ffff;

/// What comes is no record, or not the one that is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("not the record that its type promises")]
pub struct Damaged;

/// Reads one record after the other.
#[derive(Debug)]
pub struct Reader(Bytes);

impl Reader {
    /// From the first byte on.
    pub fn new(bytes: Bytes) -> Reader {
        Reader(bytes)
    }

    /// Whether nothing is left.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn bool(&mut self) -> Result<bool, Damaged> {
        Ok(self.0.try_get_u8().map_err(|_| Damaged)? != 0)
    }

    pub fn int(&mut self) -> Result<i32, Damaged> {
        self.0.try_get_i32().map_err(|_| Damaged)
    }

    pub fn long(&mut self) -> Result<i64, Damaged> {
        self.0.try_get_i64().map_err(|_| Damaged)
    }

    /// Bytes, or null.
    pub fn nullable(&mut self) -> Result<Option<Bytes>, Damaged> {
        match self.int()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| Damaged)?;
                if length > self.0.len() {
                    return Err(Damaged);
                }
                Ok(Some(self.0.split_to(length)))
            }
        }
    }

    /// Bytes; those that are null are none.
    pub fn buffer(&mut self) -> Result<Bytes, Damaged> {
        Ok(self.nullable()?.unwrap_or_default())
    }

    /// Text; the null one is empty.
    pub fn string(&mut self) -> Result<String, Damaged> {
        let bytes = self.buffer()?;
        std::str::from_utf8(&bytes).map(str::to_owned).map_err(|_| Damaged)
    }

    /// Any number of things.
    pub fn vector<T>(&mut self, read: impl Fn(&mut Reader) -> Result<T, Damaged>) -> Result<Vec<T>, Damaged> {
        let count = self.int()?;
        // The null one is empty. A wrong count ends with the bytes: nothing is reserved for it.
        (0..count.max(0)).map(|_| read(self)).collect()
    }
}

/// Writes one record after the other into a frame.
#[derive(Debug)]
pub struct Writer(BytesMut);

impl Default for Writer {
    fn default() -> Self {
        Writer::new()
    }
}

impl Writer {
    /// An empty frame.
    pub fn new() -> Writer {
        let mut bytes = BytesMut::with_capacity(64);
        bytes.put_i32(0);
        Writer(bytes)
    }

    pub fn bool(&mut self, value: bool) -> &mut Writer {
        self.0.put_u8(value.into());
        self
    }

    pub fn int(&mut self, value: i32) -> &mut Writer {
        self.0.put_i32(value);
        self
    }

    pub fn long(&mut self, value: i64) -> &mut Writer {
        self.0.put_i64(value);
        self
    }

    pub fn buffer(&mut self, bytes: &[u8]) -> &mut Writer {
        self.0.put_i32(length(bytes.len()));
        self.0.put_slice(bytes);
        self
    }

    pub fn nullable(&mut self, bytes: Option<&[u8]>) -> &mut Writer {
        match bytes {
            Some(bytes) => self.buffer(bytes),
            None => self.int(-1),
        }
    }

    pub fn string(&mut self, text: &str) -> &mut Writer {
        self.buffer(text.as_bytes())
    }

    pub fn vector<T>(&mut self, things: &[T], write: impl Fn(&mut Writer, &T)) -> &mut Writer {
        self.0.put_i32(length(things.len()));
        for thing in things {
            write(self, thing);
        }
        self
    }

    /// The frame, with its length.
    pub fn frame(mut self) -> Bytes {
        let inside = length(self.0.len() - 4);
        self.0[..4].copy_from_slice(&inside.to_be_bytes());
        self.0.freeze()
    }
}

/// Nothing here is as long as two thousand million bytes.
fn length(bytes: usize) -> i32 {
    i32::try_from(bytes).unwrap_or(i32::MAX)
}

/// What has come of a client's bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Read {
    /// A frame, without its length.
    Frame(Bytes),
    /// A word of four letters, in the place of the first frame.
    Word([u8; 4]),
    /// What comes is no frame: the real server closes the connection ("Len error").
    Broken,
    /// Not enough yet.
    Nothing,
}

/// Cuts what a client sends into frames.
#[derive(Debug, Default)]
pub struct Frames {
    /// What has come and is no frame yet.
    pub bytes: BytesMut,
    has_begun: bool,
}

/// The words that are looked for (`FourLetterCommands.java`).
const WORDS: [&[u8; 4]; 18] = [
    b"conf", b"cons", b"crst", b"dirs", b"dump", b"envi", b"gtmk", b"stmk", b"hash", b"ruok", b"srst",
    b"srvr", b"stat", b"wchc", b"wchp", b"wchs", b"mntr", b"isro",
];

impl Frames {
    /// The next one, if it is whole.
    pub fn next(&mut self) -> Read {
        let Some(first) = self.bytes.first_chunk::<4>().copied() else { return Read::Nothing };
        if !self.has_begun && WORDS.contains(&&first) {
            self.bytes.advance(4);
            return Read::Word(first);
        }
        let length = usize::try_from(i32::from_be_bytes(first)).unwrap_or(usize::MAX);
        if length > FRAME_BYTES_MAX {
            return Read::Broken;
        }
        if self.bytes.len() < 4 + length {
            return Read::Nothing;
        }
        self.has_begun = true;
        self.bytes.advance(4);
        Read::Frame(self.bytes.split_to(length).freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::cell::Cell;

    #[test]
    fn what_is_written_is_read_again() {
        let mut writer = Writer::new();
        writer.int(-7).long(i64::MIN).bool(true).string("a/ß").buffer(&[0, 255]);
        writer.vector(&["x", ""], |writer, text| {
            writer.string(text);
        });
        let mut frames = Frames { bytes: BytesMut::from(&writer.frame()[..]), has_begun: false };
        let Read::Frame(frame) = frames.next() else { panic!("no frame") };
        let mut reader = Reader::new(frame);
        assert_eq!(reader.int(), Ok(-7));
        assert_eq!(reader.long(), Ok(i64::MIN));
        assert_eq!(reader.bool(), Ok(true));
        assert_eq!(reader.string().as_deref(), Ok("a/ß"));
        assert_eq!(reader.buffer(), Ok(Bytes::from_static(&[0, 255])));
        assert_eq!(reader.vector(Reader::string), Ok(vec!["x".to_owned(), String::new()]));
        assert!(reader.is_empty());
        assert_eq!(frames.next(), Read::Nothing);
    }

    #[test]
    fn a_word_of_four_letters_is_one_only_at_the_beginning() {
        let mut frames = Frames { bytes: BytesMut::from(&b"ruok"[..]), has_begun: false };
        assert_eq!(frames.next(), Read::Word(*b"ruok"));
        let mut frames = Frames { bytes: BytesMut::from(&b"\0\0\0\0ruok"[..]), has_begun: false };
        assert_eq!(frames.next(), Read::Frame(Bytes::new()));
        assert_eq!(frames.next(), Read::Broken, "a length of two thousand million");
    }

    #[test]
    fn null_is_empty_and_a_wrong_length_is_damaged() {
        assert_eq!(Reader::new(Bytes::from_static(&[255; 4])).string().as_deref(), Ok(""));
        for length in [-2, 5, i32::MAX, i32::MIN] {
            let mut bytes = BytesMut::new();
            bytes.put_i32(length);
            bytes.put_slice(b"four");
            let bytes = bytes.freeze();
            assert_eq!(Reader::new(bytes.clone()).buffer(), Err(Damaged), "{length}");
            if length > 1 {
                assert_eq!(Reader::new(bytes).vector(Reader::long), Err(Damaged), "{length}");
            }
        }
    }

    /// Lengths, some of which are right, each with bytes after it.
    fn frames() -> impl Strategy<Value = Vec<u8>> {
        let bytes = || vec(any::<u8>(), 0..200);
        let right = bytes().prop_map(|bytes| (bytes.len() as u32, bytes));
        let any = (prop_oneof![0..220u32, any::<u32>()], bytes());
        let all = vec(prop_oneof![right, any], 0..5);
        all.prop_map(|all| {
            all.into_iter()
                .flat_map(|(length, bytes)| [length.to_be_bytes().to_vec(), bytes].concat())
                .collect()
        })
    }

    #[test]
    fn any_bytes_are_cut_into_frames_no_longer_than_they_are() {
        let (cases, seen) = (Cell::new(0), Cell::new(0));
        proptest!(|(bytes in prop_oneof![3 => frames(), 1 => vec(any::<u8>(), 0..200)])| {
            let mut frames = Frames { bytes: BytesMut::from(&bytes[..]), has_begun: false };
            let mut cut = 0;
            while let Read::Frame(frame) = frames.next() {
                cut += 4 + frame.len();
                seen.set(seen.get() + 1);
            }
            cases.set(cases.get() + 1);
            prop_assert!(cut <= bytes.len());
        });
        let (cases, seen) = (cases.get(), seen.get());
        assert!(seen >= cases / 4, "{seen} frames in {cases} cases");
    }
}
