//! RESP2 over a stream of bytes.

use bytes::BytesMut;
use redis_protocol::codec::Resp2;
use redis_protocol::resp2::types::BytesFrame;
use std::io::{Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::codec::{Decoder, Encoder};

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
