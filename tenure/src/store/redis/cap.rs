//! A bound on one reply's size. redis-rs has none: it keeps all that a server sends.
//!
//! So the stream under it counts bytes. It knows just enough of the protocol to find the end of a
//! reply, and fails as soon as a reply is too large or announces that it will be.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::runtime::Connection;

/// A reply has more bytes than any should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a reply of more than {most} bytes")]
pub(super) struct TooLong {
    most: u64,
}

/// The reason why a stream was given up. redis-rs reports it to only one of the requests that wait.
#[derive(Clone, Default)]
pub(super) struct Reason(Arc<OnceLock<TooLong>>);

impl Reason {
    pub(super) fn get(&self) -> Option<TooLong> {
        self.0.get().copied()
    }
}

/// A stream that fails at a reply above a number of bytes.
pub(super) struct Capped {
    stream: Connection,
    replies: Replies,
    reason: Reason,
}

impl Capped {
    pub(super) fn new(stream: Connection, most: u64, reason: Reason) -> Self {
        Self { stream, replies: Replies::new(most), reason }
    }
}

impl AsyncRead for Capped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let counted = self.replies.count(&buffer.filled()[before..]);
        Poll::Ready(counted.map_err(|error| {
            // An earlier reason is the same.
            let _ = self.reason.0.set(error);
            io::Error::new(io::ErrorKind::InvalidData, error)
        }))
    }
}

impl AsyncWrite for Capped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The longest kind and number that a line can begin with.
const HEAD: usize = 24;

/// The position in the stream of replies.
struct Replies {
    most: u64,
    /// The bytes of the present reply so far.
    size: u64,
    /// The number of elements still to come, on all levels.
    elements: u64,
    /// The bytes that are left of a text and of the line's end behind it.
    text_left: u64,
    /// The beginning of the present line: the kind of the element and its length.
    head: [u8; HEAD],
    head_length: usize,
    /// True if the first of the two bytes that end a line has come.
    half_an_end: bool,
}

impl Replies {
    fn new(most: u64) -> Self {
        Self {
            most,
            size: 0,
            elements: 1,
            text_left: 0,
            head: [0; HEAD],
            head_length: 0,
            half_an_end: false,
        }
    }

    fn count(&mut self, mut bytes: &[u8]) -> Result<(), TooLong> {
        while !bytes.is_empty() {
            let is_line = self.text_left == 0;
            let here = if is_line {
                self.line_end(bytes).unwrap_or(bytes.len())
            } else {
                usize::try_from(self.text_left).map_or(bytes.len(), |left| left.min(bytes.len()))
            };
            let (here, rest) = bytes.split_at(here);
            bytes = rest;
            self.grows(here.len())?;
            if is_line {
                self.line_continues(here)?;
            } else {
                self.text_left -= u64::try_from(here.len()).unwrap_or(u64::MAX);
                if self.text_left == 0 {
                    self.element_ends();
                }
            }
        }
        Ok(())
    }

    /// The length of the rest of the line, if its end is here. A `\n` without `\r` is no end.
    fn line_end(&self, bytes: &[u8]) -> Option<usize> {
        if self.half_an_end && bytes.first() == Some(&b'\n') {
            return Some(1);
        }
        bytes.windows(2).position(|end| end == b"\r\n").map(|end| end + 2)
    }

    fn grows(&mut self, by: usize) -> Result<(), TooLong> {
        self.size = self.size.saturating_add(u64::try_from(by).unwrap_or(u64::MAX));
        self.fits(self.size)
    }

    /// Checks a number of bytes.
    fn fits(&self, size: u64) -> Result<(), TooLong> {
        if size <= self.most { Ok(()) } else { Err(TooLong { most: self.most }) }
    }

    fn line_continues(&mut self, part: &[u8]) -> Result<(), TooLong> {
        let free = &mut self.head[self.head_length..];
        let kept = free.len().min(part.len());
        free[..kept].copy_from_slice(&part[..kept]);
        self.head_length += kept;
        let is_end = part.ends_with(b"\r\n") || (self.half_an_end && part == b"\n");
        self.half_an_end = part.ends_with(b"\r");
        if is_end { self.line_ends() } else { Ok(()) }
    }

    fn line_ends(&mut self) -> Result<(), TooLong> {
        let head = &self.head[..std::mem::take(&mut self.head_length)];
        let number = head.get(1..).and_then(|text| std::str::from_utf8(text).ok());
        // Read as the client library does.
        let number = number.and_then(|text| text.trim().parse::<i64>().ok());
        match (head.first(), number.map(u64::try_from)) {
            // Texts, and errors like them.
            (Some(b'$' | b'=' | b'!'), Some(Ok(length))) => {
                self.fits(self.size.saturating_add(length))?;
                self.text_left = length + 2;
            }
            (Some(b'*' | b'~' | b'>'), Some(Ok(count))) => self.holds(count)?,
            (Some(b'%'), Some(Ok(count))) => self.holds(count.saturating_mul(2))?,
            // Attributes stand in front of an element.
            (Some(b'|'), Some(Ok(count))) => {
                self.holds(count.saturating_mul(2).saturating_add(1))?;
            }
            // "Nothing".
            (Some(b'$' | b'*'), Some(Err(_))) => self.element_ends(),
            // No server sends that. Whatever the client library makes of it, the reply does not end
            // here.
            (Some(b'$' | b'=' | b'!' | b'*' | b'~' | b'>' | b'%' | b'|'), _) => {
                self.elements = u64::MAX;
            }
            _ => self.element_ends(),
        }
        Ok(())
    }

    /// An element consists of `count` others, of at least three bytes each.
    fn holds(&mut self, count: u64) -> Result<(), TooLong> {
        self.elements = self.elements.saturating_add(count);
        self.fits(self.size.saturating_add(self.elements.saturating_mul(3)))?;
        self.element_ends();
        Ok(())
    }

    fn element_ends(&mut self) {
        self.elements -= 1;
        if self.elements == 0 {
            (self.elements, self.size) = (1, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [u8; 99] = {
        let mut lines = [b'+'; 99];
        let mut at = 1;
        while at < 99 {
            (lines[at], lines[at + 1]) = (b'\r', b'\n');
            at += 3;
        }
        lines
    };

    /// One reply of every kind, and how long it is.
    const REPLIES: [&[u8]; 13] = [
        b"+OK\r\n",
        b"+a\nb\rc\r\n",
        b"-ERR no\r\n",
        b":-12345678901234567890123\r\n",
        b"$-1\r\n",
        b"$0\r\n\r\n",
        b"$5\r\na\r\nbc\r\n",
        b"*-1\r\n",
        b"*0\r\n",
        b"*2\r\n*2\r\n:1\r\n$1\r\na\r\n_\r\n",
        b"%1\r\n+a\r\n=5\r\ntxt:b\r\n",
        b"|1\r\n+a\r\n+b\r\n:3\r\n",
        b">2\r\n+message\r\n~1\r\n#t\r\n",
    ];

    #[test]
    fn each_reply_is_counted_separately() {
        let longest = REPLIES.iter().map(|reply| reply.len()).max().unwrap();
        let mut replies = Replies::new(u64::try_from(longest).unwrap());
        for reply in REPLIES.iter().chain(&REPLIES) {
            replies.count(reply).unwrap();
            assert_eq!((replies.size, replies.elements), (0, 1), "{reply:?}");
        }
        // In chunks of every size.
        let all = REPLIES.concat();
        for size in 1..all.len() {
            all.chunks(size).for_each(|chunk| replies.count(chunk).unwrap());
            assert_eq!((replies.size, replies.elements), (0, 1), "{size}");
        }
    }

    #[test]
    fn replies_that_announce_too_much_are_refused() {
        for (announced, more) in [
            (&b"$101\r\n"[..], &b""[..]),
            (b"*1\r\n$9223372036854775807\r\n", b""),
            (b"$ 101\r\n", b""),
            (b"*34\r\n", b""),
            (b"%9223372036854775807\r\n", b""),
            (b"*1\r\n*1\r\n|9223372036854775807\r\n", b""),
            (b"*3\r\n$40\r\n", &[b'a'; 100]),
            (b"+", &[b'a'; 100]),
            (b"$", &[b'1'; 100]),
            // Whatever the client library makes of them, they do not end.
            (b"+", &[b'\n'; 100]),
            (b"!-1\r\n", &LINES),
            (b"%-1\r\n", &LINES),
            (b"*99999999999999999999\r\n", &LINES),
            (b"$                                       101\r\n", &LINES),
        ] {
            let mut replies = Replies::new(100);
            let counted = replies.count(announced).and_then(|()| replies.count(more));
            assert_eq!(counted, Err(TooLong { most: 100 }), "{announced:?}");
        }
    }
}
