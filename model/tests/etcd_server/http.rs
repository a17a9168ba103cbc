//! As much of HTTP as etcd's gateway takes: one request after the other on one connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A connection.
pub struct Http {
    stream: BufReader<TcpStream>,
    is_chunked: bool,
    /// The status line of the last answer.
    pub status: String,
}

impl Http {
    /// `patience` is how long nothing may come before that is an error.
    pub fn connect(port: u16, patience: Duration) -> std::io::Result<Http> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        Ok(Http { stream: BufReader::new(stream), is_chunked: false, status: String::new() })
    }

    /// Sends a request and reads the whole answer.
    pub fn post(&mut self, path: &str, body: &str) -> std::io::Result<String> {
        self.write(path, body)?;
        self.read()
    }

    /// Reads the whole answer to what was written.
    pub fn read(&mut self) -> std::io::Result<String> {
        let length = self.head()?;
        if self.is_chunked {
            let mut whole = String::new();
            while let Some(chunk) = self.chunk()? {
                whole.push_str(&chunk);
            }
            return Ok(whole);
        }
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Sends a request whose answer is a stream: [`Http::chunk`] reads on.
    pub fn begin(&mut self, path: &str, body: &str) -> std::io::Result<()> {
        self.write(path, body)?;
        self.head().map(|_| ())
    }

    /// The next chunk of a stream; nothing at its end.
    pub fn chunk(&mut self) -> std::io::Result<Option<String>> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim(), 16).map_err(std::io::Error::other)?;
        if length == 0 {
            // Trailers may follow, up to an empty line.
            while !line.trim().is_empty() {
                line.clear();
                self.stream.read_line(&mut line)?;
            }
            return Ok(None);
        }
        // The chunk, and the end of its line.
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes)?;
        bytes.truncate(length);
        Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Sends a request, and does not wait for what comes of it.
    pub fn write(&mut self, path: &str, body: &str) -> std::io::Result<()> {
        let head =
            format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
        self.stream.get_mut().write_all(format!("{head}{body}").as_bytes())
    }

    /// Reads the head of an answer. Returns how long the rest is, unless it comes in chunks.
    fn head(&mut self) -> std::io::Result<usize> {
        let mut length = 0;
        self.is_chunked = false;
        self.status.clear();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim().to_ascii_lowercase();
            if self.status.is_empty() {
                self.status.clone_from(&line);
            }
            match line.split_once(": ") {
                Some(("content-length", number)) => length = number.parse().map_err(std::io::Error::other)?,
                Some(("transfer-encoding", "chunked")) => self.is_chunked = true,
                _ if line.is_empty() => return Ok(length),
                _ => {}
            }
        }
    }
}
