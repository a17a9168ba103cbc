//! RESP2 over a stream of bytes.

use bytes::BytesMut;
use redis_protocol::codec::Resp2;
use redis_protocol::resp2::types::BytesFrame;
use std::io::{Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::codec::{Decoder, Encoder};

/// Arrays in arrays: commands have none, and replies to locks neither. The codec calls itself for each.
const DEPTH_MAX: usize = 8;

/// One end of a stream, or a half of it.
#[derive(Debug)]
pub struct Resp<S> {
    stream: S,
    read: BytesMut,
    written: BytesMut,
}

impl<S> Resp<S> {
    /// Nothing has been read or written yet.
    pub fn new(stream: S) -> Resp<S> {
        Resp { stream, read: BytesMut::new(), written: BytesMut::new() }
    }

    /// The stream.
    pub fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> Resp<S> {
    /// The next frame; `None` at the end of the stream. Cancel safe.
    ///
    /// # Errors
    /// If the stream fails, or what comes is no RESP.
    pub async fn next(&mut self) -> std::io::Result<Option<BytesFrame>> {
        loop {
            if is_too_deep(&self.read) {
                return Err(Error::new(ErrorKind::InvalidData, "arrays too deep in each other"));
            }
            let invalid = |error| Error::new(ErrorKind::InvalidData, format!("{error}"));
            if let Some(frame) = Resp2::default().decode(&mut self.read).map_err(invalid)? {
                return Ok(Some(frame));
            }
            if !self.fill().await? {
                return Ok(None);
            }
        }
    }

    /// Waits for more bytes; false at the end of the stream. Cancel safe.
    pub async fn fill(&mut self) -> std::io::Result<bool> {
        Ok(self.stream.read_buf(&mut self.read).await? > 0)
    }
}

impl<S: AsyncWrite + Unpin> Resp<S> {
    /// Writes a frame.
    ///
    /// # Errors
    /// If the stream fails.
    pub async fn send(&mut self, frame: BytesFrame) -> std::io::Result<()> {
        let invalid = |error| Error::new(ErrorKind::InvalidData, format!("{error}"));
        Resp2::default().encode(frame, &mut self.written).map_err(invalid)?;
        self.stream.write_all_buf(&mut self.written).await?;
        self.stream.flush().await
    }
}

/// Whether the frame that these bytes begin with has too many arrays in each other, as far as it has come.
fn is_too_deep(bytes: &[u8]) -> bool {
    // How many elements each open array still lacks.
    let mut open: Vec<u64> = Vec::new();
    let mut rest = bytes;
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let number = || std::str::from_utf8(&rest[1..end]).ok()?.parse::<u64>().ok();
        let after = match rest.first() {
            Some(b'*') => match number() {
                Some(elements) if elements > 0 => {
                    open.push(elements);
                    if open.len() > DEPTH_MAX {
                        return true;
                    }
                    rest = &rest[end + 2..];
                    continue;
                }
                Some(_) | None => end + 2,
            },
            Some(b'$') => match number().and_then(|length| usize::try_from(length).ok()) {
                Some(length) => (end + 4).saturating_add(length),
                None => end + 2,
            },
            Some(_) | None => end + 2,
        };
        let Some(behind) = rest.get(after..) else { return false };
        rest = behind;
        while let Some(missing) = open.last_mut() {
            *missing -= 1;
            if *missing > 0 {
                break;
            }
            open.pop();
        }
        if open.is_empty() {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_arrays_in_arrays_in_arrays_are_too_deep() {
        let nested = |depth: usize| b"*1\r\n".repeat(depth);
        assert!(!is_too_deep(&nested(DEPTH_MAX)));
        assert!(is_too_deep(&nested(DEPTH_MAX + 1)));
        assert!(is_too_deep(&nested(1_000_000)));
        let after_a_string = [b"*2\r\n$3\r\n*1\r\r\n".to_vec(), nested(DEPTH_MAX)].concat();
        assert!(is_too_deep(&after_a_string));
        assert!(!is_too_deep(&[b"*1\r\n$40\r\n".to_vec(), nested(DEPTH_MAX + 1)].concat()));
        assert!(!is_too_deep(&b"*1\r\n$4\r\nPING\r\n".repeat(100)));
        assert!(!is_too_deep(b"*3\r\n:1\r\n*0\r\n+OK"));
    }

    #[test]
    fn no_bytes_whatever_make_the_reader_panic() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        proptest::proptest!(|(bytes in proptest::collection::vec(
            proptest::sample::select(b"*$:+-\r\n019aPING".to_vec()), 0..200
        ))| {
            runtime.block_on(async {
                let mut resp = Resp::new(&bytes[..]);
                while let Ok(Some(_)) = resp.next().await {}
            });
        });
    }
}
