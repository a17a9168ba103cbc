//! What a server says, in RESP2 or RESP3.

use super::numbers::{shortest, write_integer};
use bytes::Bytes;

/// A reply, before it is known which protocol its reader speaks.
#[derive(Clone, PartialEq, Debug)]
pub enum Reply {
    /// `+…`
    Status(Bytes),
    /// `-…`: one line.
    Error(Bytes),
    /// `:…`
    Integer(i64),
    /// `$…`
    Bulk(Bytes),
    /// No string: `$-1`, or `_`.
    Nil,
    /// No array: `*-1`, or `_`.
    NoArray,
    /// `*…`
    Array(Vec<Reply>),
    /// Pairs: `%…`, or an array twice as long.
    Map(Vec<(Reply, Reply)>),
    /// `~…`, or an array.
    Set(Vec<Reply>),
    /// `,…`, or a string.
    Double(f64),
    /// `(…`, or a string.
    BigNumber(Bytes),
    /// `#t`, `#f`, or 1 or 0.
    Boolean(bool),
    /// `=…`: a text in a format, or a string.
    Verbatim([u8; 3], Bytes),
    /// `>…`: unasked, or an array.
    Push(Vec<Reply>),
    /// One after the other.
    Several(Vec<Reply>),
}

impl Reply {
    /// `+OK`.
    pub fn ok() -> Reply {
        Reply::status("OK")
    }

    pub fn status(text: &'static str) -> Reply {
        Reply::Status(Bytes::from_static(text.as_bytes()))
    }

    pub fn bulk(text: impl Into<Bytes>) -> Reply {
        Reply::Bulk(text.into())
    }

    /// An error: what would end its line becomes a blank (`src/networking.c` `afterErrorReply`).
    pub fn error(text: impl Into<Vec<u8>>) -> Reply {
        let mut text: Vec<u8> = text.into();
        for byte in &mut text {
            if matches!(byte, b'\r' | b'\n') {
                *byte = b' ';
            }
        }
        Reply::Error(text.into())
    }

    /// Plain text.
    pub fn text(text: String) -> Reply {
        Reply::Verbatim(*b"txt", text.into())
    }

    /// As a yes or no.
    pub fn truth(is_true: bool) -> Reply {
        Reply::Integer(is_true.into())
    }

    pub fn strings(texts: impl IntoIterator<Item = Bytes>) -> Reply {
        Reply::Array(texts.into_iter().map(Reply::Bulk).collect())
    }

    /// Writes it in this version of the protocol.
    pub fn write(&self, version: u8, to: &mut Vec<u8>) {
        let is_new = version >= 3;
        match self {
            Reply::Status(text) => line(b'+', text, to),
            Reply::Error(text) => line(b'-', text, to),
            Reply::Integer(number) => counted(b':', *number, to),
            Reply::Bulk(text) => {
                counted(b'$', text.len() as i64, to);
                to.extend_from_slice(text);
                to.extend_from_slice(b"\r\n");
            }
            Reply::Nil | Reply::NoArray if is_new => to.extend_from_slice(b"_\r\n"),
            Reply::Nil => to.extend_from_slice(b"$-1\r\n"),
            Reply::NoArray => to.extend_from_slice(b"*-1\r\n"),
            Reply::Array(replies) => many(b'*', replies, version, to),
            Reply::Set(replies) => many(if is_new { b'~' } else { b'*' }, replies, version, to),
            Reply::Push(replies) => many(if is_new { b'>' } else { b'*' }, replies, version, to),
            Reply::Map(pairs) => {
                let (sign, count) = if is_new { (b'%', pairs.len()) } else { (b'*', 2 * pairs.len()) };
                counted(sign, count as i64, to);
                for (name, value) in pairs {
                    name.write(version, to);
                    value.write(version, to);
                }
            }
            Reply::Double(number) if is_new => line(b',', shortest(*number).as_bytes(), to),
            Reply::Double(number) => Reply::bulk(shortest(*number)).write(version, to),
            Reply::BigNumber(number) if is_new => line(b'(', number, to),
            Reply::Boolean(is_true) if is_new => line(b'#', if *is_true { b"t" } else { b"f" }, to),
            Reply::Boolean(is_true) => Reply::truth(*is_true).write(version, to),
            Reply::Verbatim(format, text) if is_new => {
                counted(b'=', text.len() as i64 + 4, to);
                to.extend_from_slice(format);
                to.push(b':');
                to.extend_from_slice(text);
                to.extend_from_slice(b"\r\n");
            }
            Reply::BigNumber(text) | Reply::Verbatim(_, text) => {
                Reply::Bulk(text.clone()).write(version, to);
            }
            Reply::Several(replies) => replies.iter().for_each(|reply| reply.write(version, to)),
        }
    }
}

fn line(sign: u8, text: &[u8], to: &mut Vec<u8>) {
    to.push(sign);
    to.extend_from_slice(text);
    to.extend_from_slice(b"\r\n");
}

fn counted(sign: u8, count: i64, to: &mut Vec<u8>) {
    to.push(sign);
    write_integer(count, to);
    to.extend_from_slice(b"\r\n");
}

fn many(sign: u8, replies: &[Reply], version: u8, to: &mut Vec<u8>) {
    counted(sign, replies.len() as i64, to);
    replies.iter().for_each(|reply| reply.write(version, to));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(reply: &Reply, version: u8) -> String {
        let mut bytes = Vec::new();
        reply.write(version, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn each_version_has_its_own_signs() {
        let map = Reply::Map(vec![(Reply::bulk("a"), Reply::Double(1.5))]);
        assert_eq!(written(&map, 2), "*2\r\n$1\r\na\r\n$3\r\n1.5\r\n");
        assert_eq!(written(&map, 3), "%1\r\n$1\r\na\r\n,1.5\r\n");
        assert_eq!((written(&Reply::Nil, 2), written(&Reply::Nil, 3)), ("$-1\r\n".into(), "_\r\n".into()));
        assert_eq!(written(&Reply::NoArray, 2), "*-1\r\n");
    }

    #[test]
    fn an_error_is_one_line() {
        assert_eq!(written(&Reply::error("ERR a\r\n+OK"), 2), "-ERR a  +OK\r\n");
    }
}
