//! What goes over a connection: frames of postcard bytes, each after its length.

use bytes::{Bytes, BytesMut};
use picklock_model::machine::{Message, Node, Store};
use serde::{Deserialize, Serialize};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::codec::{Decoder, Encoder, LengthDelimitedCodec};

/// Another number for another format; who dials says it first.
pub(super) const VERSION: u8 = 1;

/// One frame.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub(super) enum Frame<S: Store> {
    /// The first frame of who dialled: everything else on this connection is from this node.
    Hello { version: u8, node: Node },
    /// What a machine says.
    Message(Message<S>),
    /// Are you there?
    Ping,
    /// Yes.
    Pong,
}

/// Larger frames are not read: they are not of this protocol.
const FRAME_BYTES_MAX: usize = 4 << 20;

fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(FRAME_BYTES_MAX).new_codec()
}

/// Reads frames.
pub(super) struct FrameReader<R> {
    stream: R,
    codec: LengthDelimitedCodec,
    buffer: BytesMut,
}

impl<R: AsyncRead + Unpin> FrameReader<R> {
    pub fn new(stream: R) -> Self {
        FrameReader { stream, codec: codec(), buffer: BytesMut::with_capacity(1 << 10) }
    }

    /// The next frame; `None` at the end of the stream. Cancel safe.
    pub async fn next<S: Store>(&mut self) -> io::Result<Option<Frame<S>>> {
        loop {
            if let Some(frame) = self.codec.decode(&mut self.buffer)? {
                let damaged = |error| io::Error::new(io::ErrorKind::InvalidData, error);
                return postcard::from_bytes(&frame).map(Some).map_err(damaged);
            }
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Ok(None);
            }
        }
    }
}

/// Writes frames.
pub(super) struct FrameWriter<W> {
    stream: W,
    codec: LengthDelimitedCodec,
    buffer: BytesMut,
}

impl<W: AsyncWrite + Unpin> FrameWriter<W> {
    pub fn new(stream: W) -> Self {
        FrameWriter { stream, codec: codec(), buffer: BytesMut::with_capacity(1 << 10) }
    }

    /// Writes one frame, in one piece.
    pub async fn write<S: Store>(&mut self, frame: &Frame<S>) -> io::Result<()> {
        let bytes = postcard::to_stdvec(frame).map_err(io::Error::other)?;
        self.codec.encode(Bytes::from(bytes), &mut self.buffer)?;
        self.stream.write_all_buf(&mut self.buffer).await?;
        self.stream.flush().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use picklock_model::stores::redis::Redis;

    type Said = Frame<Redis>;

    async fn read(bytes: &[u8]) -> io::Result<Option<Said>> {
        FrameReader::new(bytes).next().await
    }

    fn now<F: Future>(future: F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.expect("a runtime without drivers needs nothing").block_on(future)
    }

    #[test]
    fn frames_are_read_as_they_were_written_however_they_are_cut() {
        let frames: [Said; 4] = [
            Frame::Hello { version: VERSION, node: Node::Client(3) },
            Frame::Message(Message::Written { serial: 7, accepted: true }),
            Frame::Ping,
            Frame::Pong,
        ];
        now(async {
            let (near, far) = tokio::io::duplex(5);
            let (mut writer, mut reader) = (FrameWriter::new(near), FrameReader::new(far));
            let written = async {
                for frame in &frames {
                    writer.write(frame).await.expect("the other end reads");
                }
                drop(writer);
            };
            let read = async {
                let mut read = Vec::new();
                while let Some(frame) = reader.next().await.expect("whole frames") {
                    read.push(frame);
                }
                read
            };
            let ((), read) = tokio::join!(written, read);
            assert_eq!(read, frames);
        });
    }

    #[test]
    fn what_is_not_a_frame_is_an_error_and_no_panic() {
        now(async {
            assert!(read(&[0xff; 8]).await.is_err(), "a length beyond all measure");
            assert!(read(&[0, 0, 0, 1, 99]).await.is_err(), "a frame of no kind");
            assert!(read(&[0, 0, 0, 9, 1]).await.is_ok_and(|frame| frame.is_none()), "a stream cut short");
            assert!(read(&[]).await.is_ok_and(|frame| frame.is_none()));
        });
    }
}
