//! One connection: bytes in, commands executed in turn, bytes out.

use std::io;
use std::pin::pin;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::reply::Reply;
use super::session::SessionKey;
use super::{Executed, Redis};

/// Input that has not been executed yet.
#[derive(Default)]
struct Input {
    bytes: BytesMut,
    /// The peer has closed its side. The input before that is still executed, as it would be from
    /// the kernel's buffers: tests look for late requests of candidates that have left.
    ended: bool,
}

/// A session that ends with the connection's future, whether that completes or is dropped.
struct Open<'a> {
    redis: &'a Redis,
    key: SessionKey,
    peer: &'a str,
}

/// The state of a connection after a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    /// Closes when all output is written.
    Finish,
    /// The connection's server process has ended.
    Vanish,
}

pub(super) async fn serve<S: AsyncRead + AsyncWrite>(
    redis: &Redis,
    stream: S,
    peer: &str,
) -> io::Result<()> {
    let session = Open { redis, key: redis.server.borrow_mut().open(), peer };
    let Some(wake) = redis.server.borrow().session(session.key).map(|session| session.wake.clone())
    else {
        return Ok(());
    };
    let mut stream = pin!(stream);
    let (mut reader, mut writer) = tokio::io::split(&mut stream);
    let mut input = Input::default();
    let mut output = BytesMut::new();
    loop {
        let next = session.execute_all(&mut input);
        let stalled = redis.server.borrow().stalled;
        output.unsplit(session.take_output());
        match next {
            Next::GoOn => {}
            Next::Finish if output.is_empty() => return writer.shutdown().await,
            Next::Finish => {}
            Next::Vanish => return Ok(()),
        }
        tokio::select! {
            biased;
            () = wake.notified() => {}
            written = writer.write(&output), if !output.is_empty() && !stalled => output.advance(written?),
            length = reader.read_buf(&mut input.bytes), if !input.ended && next == Next::GoOn => {
                input.ended = length? == 0;
            }
        }
    }
}

impl Open<'_> {
    /// Executes the complete commands of the input, unless the server is stalled.
    fn execute_all(&self, input: &mut Input) -> Next {
        loop {
            match self.redis.server.borrow().session(self.key) {
                None => return Next::Vanish,
                Some(session) if session.closing => return Next::Finish,
                Some(_) => {}
            }
            if self.redis.server.borrow().stalled {
                self.redis.server.borrow_mut().has_waiting_input |= !input.bytes.is_empty();
                return Next::GoOn;
            }
            match take_command(&mut input.bytes) {
                Ok(Some(args)) if args.is_empty() => {}
                Ok(Some(args)) => self.execute(&args),
                Ok(None) if input.ended => return Next::Finish,
                Ok(None) => return Next::GoOn,
                Err(refusal) => self.hang_up(&refusal),
            }
        }
    }

    fn execute(&self, args: &[Bytes]) {
        let reply = self.redis.run(self.key, args);
        if let Some(session) = self.redis.server.borrow_mut().session_mut(self.key) {
            session.send(&reply);
        }
        self.redis.notify_observers(&Executed {
            redis: self.redis,
            peer: self.peer,
            args,
            reply: &reply,
        });
    }

    fn hang_up(&self, refusal: &Reply) {
        if let Some(session) = self.redis.server.borrow_mut().session_mut(self.key) {
            session.send(refusal);
            session.closing = true;
        }
    }

    fn take_output(&self) -> BytesMut {
        let mut server = self.redis.server.borrow_mut();
        server.session_mut(self.key).map(|session| session.out.split()).unwrap_or_default()
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.redis.server.borrow_mut().close(self.key);
    }
}

/// The next command, if it is complete. Commands are arrays of bulk strings; Redis's inline form,
/// for use with telnet, is refused.
fn take_command(input: &mut BytesMut) -> Result<Option<Vec<Bytes>>, Reply> {
    let mut rest = &input[..];
    let Some(count) = take_number(&mut rest, b'*')? else { return Ok(None) };
    let mut args = Vec::new();
    for _ in 0..count {
        let Some(length) = take_number(&mut rest, b'$')? else { return Ok(None) };
        let begin = input.len() - rest.len();
        let Some((arg, after)) = rest.split_at_checked(length) else { return Ok(None) };
        let Some((end, after)) = after.split_at_checked(2) else { return Ok(None) };
        if end != b"\r\n" {
            return Err(refusal());
        }
        args.push(begin..begin + arg.len());
        rest = after;
    }
    let command = input.split_to(input.len() - rest.len()).freeze();
    Ok(Some(args.into_iter().map(|arg| command.slice(arg)).collect()))
}

/// The number of a line that begins with that sign, if the line is complete.
fn take_number(rest: &mut &[u8], sign: u8) -> Result<Option<usize>, Reply> {
    let Some((&first, line)) = rest.split_first() else { return Ok(None) };
    if first != sign {
        return Err(refusal());
    }
    let Some(end) = line.iter().position(|&byte| byte == b'\n') else { return Ok(None) };
    let digits = line[..end].strip_suffix(b"\r").and_then(|digits| str::from_utf8(digits).ok());
    let number = digits.and_then(|digits| digits.parse().ok()).ok_or_else(refusal)?;
    *rest = &line[end + 1..];
    Ok(Some(number))
}

fn refusal() -> Reply {
    Reply::Error(Bytes::from_static(b"ERR Protocol error: expected an array of bulk strings"))
}
