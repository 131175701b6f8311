//! The same steps in two worlds: a real server over TCP, the simulated one over a pipe in memory.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tenure_sim::engines::redis::{Redis, Settings};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;
use tokio::time::timeout;

/// The most that steps may name.
pub(crate) const CONNECTIONS: usize = 3;

/// One command on one connection.
#[derive(Clone)]
pub(crate) struct Step {
    pub(crate) connection: usize,
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) compare: Compare,
}

/// The comparison of two transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compare {
    Bytes,
    /// Runs of digits are one digit, and servers' identities and stamps one word: for ids and
    /// times.
    Shape,
    /// The same, lines in any order.
    ShapeOfLines,
    /// Lines in any order: for what comes out of the real server's hash tables.
    Lines,
    /// Every line of the simulated server's, up to its colon, in the real one's, in the same order.
    Fields,
}

impl Step {
    /// A command on a connection, compared in the way that its kind needs.
    pub(crate) fn new<A: AsRef<[u8]>>(connection: usize, args: &[A]) -> Self {
        let args: Vec<Vec<u8>> = args.iter().map(|arg| arg.as_ref().to_vec()).collect();
        let is = |index: usize, word: &str| {
            args.get(index).is_some_and(|arg| arg.eq_ignore_ascii_case(word.as_bytes()))
        };
        let compare = match args.len() {
            1 if is(0, "unsubscribe") => Compare::Lines,
            _ if is(0, "info") => Compare::Fields,
            _ if is(0, "hello")
                || is(0, "time")
                || is(0, "role")
                || (is(0, "client") && is(1, "id")) =>
            {
                Compare::Shape
            }
            _ => Compare::Bytes,
        };
        Self { connection, args, compare }
    }

    /// A command whose words have no spaces in them.
    pub(crate) fn words(connection: usize, line: &str) -> Self {
        Self::new(connection, &line.split(' ').collect::<Vec<_>>())
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> =
            self.args.iter().map(|arg| String::from_utf8_lossy(arg).into_owned()).collect();
        write!(f, "[{}] {words:?}", self.connection)
    }
}

/// Runs the steps in both worlds, each from an empty state, and describes the first difference.
pub(crate) fn first_difference(port: u16, settings: &Settings, steps: &[Step]) -> Option<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let mut real = real_world(port, settings).await;
        let mut simulated = simulated_world(settings);
        for (index, step) in steps.iter().enumerate() {
            for connection in 0..CONNECTIONS {
                let own = (connection == step.connection).then_some(step.args.as_slice());
                let marker = format!("marker-{index}-{connection}");
                let (real, simulated) =
                    (real[connection].exchange(own, &marker).await, simulated[connection].exchange(own, &marker).await);
                if !alike(step.compare, &real, &simulated) {
                    return Some(format!(
                        "after step {index} {step:?} connection {connection} reads\n  real:      {real:?}\n  simulated: {simulated:?}"
                    ));
                }
            }
        }
        None
    })
}

async fn real_world(port: u16, settings: &Settings) -> Vec<Peer> {
    let mut peers = Vec::new();
    for _ in 0..=CONNECTIONS {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        stream.set_nodelay(true).unwrap();
        peers.push(Peer::new(stream));
    }
    let mut sweeper = peers.pop().unwrap();
    if let Some(password) = &settings.password {
        sweeper
            .exchange(Some(&[b"AUTH".to_vec(), password.clone().into_bytes()]), "logged-in")
            .await;
    }
    sweeper.exchange(Some(&[b"FLUSHALL".to_vec()]), "flushed").await;
    sweeper.exchange(Some(&[b"SCRIPT".to_vec(), b"FLUSH".to_vec()]), "forgotten").await;
    peers
}

fn simulated_world(settings: &Settings) -> Vec<Peer> {
    let redis = Redis::new(settings.clone(), || {
        u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros()).unwrap()
    });
    let serve = |_| {
        let (near, far) = tokio::io::duplex(1 << 16);
        let redis = redis.clone();
        tokio::task::spawn_local(async move { redis.serve(far, "test").await });
        Peer::new(near)
    };
    (0..CONNECTIONS).map(serve).collect()
}

trait Stream: AsyncRead + AsyncWrite + Unpin {}
impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

struct Peer(Box<dyn Stream>);

impl Peer {
    fn new(stream: impl Stream + 'static) -> Self {
        Self(Box::new(stream))
    }

    /// Sends a command, if there is one, and then one that no server knows: its refusal, which
    /// echoes the marker in every state of a connection, ends the transcript.
    async fn exchange(&mut self, command: Option<&[Vec<u8>]>, marker: &str) -> String {
        let mut request = command.map(encode).unwrap_or_default();
        request.extend(encode(&[marker.as_bytes().to_vec()]));
        let end =
            format!("-ERR unknown command '{marker}', with args beginning with: \r\n").into_bytes();
        let mut transcript = Vec::new();
        // A write fails after a QUIT; the read then says so.
        let _ = self.0.write_all(&request).await;
        while !transcript.ends_with(&end) {
            let read = timeout(Duration::from_secs(10), self.0.read_buf(&mut transcript)).await;
            match read.unwrap_or_else(|_| panic!("no answer to {marker}; so far: {transcript:?}")) {
                Ok(0) | Err(_) => {
                    transcript.extend_from_slice(b"<closed>");
                    return String::from_utf8_lossy(&transcript).into_owned();
                }
                Ok(_) => {}
            }
        }
        transcript.truncate(transcript.len() - end.len());
        String::from_utf8_lossy(&transcript).into_owned()
    }
}

fn encode(args: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", args.len()).into_bytes();
    for arg in args {
        bytes.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
        bytes.extend_from_slice(arg);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

fn alike(compare: Compare, real: &str, simulated: &str) -> bool {
    match compare {
        Compare::Bytes => real == simulated,
        Compare::Shape => shape(real) == shape(simulated),
        Compare::ShapeOfLines => lines(&shape(real)) == lines(&shape(simulated)),
        Compare::Lines => lines(real) == lines(simulated),
        Compare::Fields => has_fields(real, simulated),
    }
}

fn shape(text: &str) -> String {
    let mut shape = String::new();
    for piece in text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric()) {
        let word = piece.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        if [32, 40].contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            shape.push_str("identity");
        } else {
            word.split_inclusive(|letter: char| letter.is_ascii_digit()).for_each(|part| {
                let letters = part.trim_end_matches(|letter: char| letter.is_ascii_digit());
                shape.push_str(letters);
                if letters.len() < part.len() && (!letters.is_empty() || !shape.ends_with('#')) {
                    shape.push('#');
                }
            });
        }
        shape.push_str(&piece[word.len()..]);
    }
    shape
}

fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// The first line tells the length and differs in any case.
fn has_fields(real: &str, simulated: &str) -> bool {
    fn fields(text: &str) -> impl Iterator<Item = &str> {
        text.lines().skip(1).map(|line| line.split_once(':').map_or(line, |(name, _)| name))
    }
    let mut real_fields = fields(real);
    real.starts_with(&simulated[..simulated.len().min(1)])
        && fields(simulated).all(|field| real_fields.any(|other| other == field))
}
