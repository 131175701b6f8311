//! A server in the test's own process, which answers as the test says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// The answer to a client's greeting.
pub(crate) const HELLO: &str = "%1\r\n$5\r\nproto\r\n:3\r\n";

/// A server in this process. It ends with the test's runtime.
pub(crate) struct Fake {
    pub(crate) port: u16,
    /// The number of connections taken.
    pub(crate) connections: Arc<AtomicUsize>,
    /// The number of bytes of its answers that the network has taken.
    pub(crate) sent: Arc<AtomicU64>,
}

impl Fake {
    /// Answers each command, given as its words, after so long.
    pub(crate) async fn start<A>(after: Duration, answer: A) -> Self
    where
        A: Fn(&[String]) -> String + Clone + Send + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let fake = Self { port, connections: Arc::default(), sent: Arc::default() };
        let (connections, sent) = (Arc::clone(&fake.connections), Arc::clone(&fake.sent));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(client, after, answer.clone(), Arc::clone(&sent)));
            }
        });
        fake
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

async fn serve(
    mut client: TcpStream,
    after: Duration,
    answer: impl Fn(&[String]) -> String,
    sent: Arc<AtomicU64>,
) {
    let mut heard = Vec::new();
    while matches!(client.read_buf(&mut heard).await, Ok(1..)) {
        while let Some((words, length)) = command(&heard) {
            heard.drain(..length);
            tokio::time::sleep(after).await;
            let says = answer(&words);
            let mut left = says.as_bytes();
            while !left.is_empty() {
                let Ok(written @ 1..) = client.write(left).await else { return };
                sent.fetch_add(u64::try_from(written).unwrap(), Ordering::SeqCst);
                left = &left[written..];
            }
        }
    }
}

/// The first command's words, and how many bytes it has; none if it has not arrived as a whole.
fn command(bytes: &[u8]) -> Option<(Vec<String>, usize)> {
    let mut at = 0;
    if bytes.first().is_some_and(|&first| first != b'*') {
        // As fred greets: a line of words.
        let end = bytes.windows(2).position(|end| end == b"\r\n")?;
        let line = String::from_utf8_lossy(&bytes[..end]);
        return Some((line.split_whitespace().map(str::to_owned).collect(), end + 2));
    }
    let count = number(bytes, &mut at)?;
    let mut words = Vec::new();
    for _ in 0..count {
        let length = number(bytes, &mut at)?;
        let word = bytes.get(at..at + length + 2)?;
        at += length + 2;
        words.push(String::from_utf8_lossy(&word[..length]).into_owned());
    }
    Some((words, at))
}

/// A network to a real server that replaces words by others of the same length, on both ways.
pub(crate) struct Relay;

impl Relay {
    /// The port at which it listens. It ends with the test's runtime.
    pub(crate) async fn start(server: u16, (old, new): (&'static str, &'static str)) -> u16 {
        assert_eq!(old.len(), new.len());
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
                let ((asks, hears), (answers, to_server)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(relay(asks, to_server, old, new));
                tokio::spawn(relay(answers, hears, old, new));
            }
        });
        port
    }
}

async fn relay(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, old: &str, new: &str) {
    let mut said = Vec::new();
    while matches!(from.read_buf(&mut said).await, Ok(1..)) {
        for at in 0..said.len() {
            if said[at..].starts_with(old.as_bytes()) {
                said[at..at + new.len()].copy_from_slice(new.as_bytes());
            }
        }
        // What may be the beginning of the words waits for the rest.
        let starts = |at: &usize| old.as_bytes().starts_with(&said[*at..]);
        let kept = (said.len().saturating_sub(old.len())..said.len()).find(starts);
        let whole: Vec<u8> = said.drain(..kept.unwrap_or(said.len())).collect();
        if to.write_all(&whole).await.is_err() {
            return;
        }
    }
}

/// A line's number, behind the byte of its type.
fn number(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let line = bytes.get(*at..)?;
    let end = line.windows(2).position(|end| end == b"\r\n")?;
    *at += end + 2;
    std::str::from_utf8(line.get(1..end)?).ok()?.parse().ok()
}
