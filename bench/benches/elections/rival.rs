//! `redis-benchmark`, which sends the driver's own renewals as fast as the server answers them.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::ffi::OsStringExt;
use std::process::Command;
use std::time::{Duration, Instant};

use tenure::store::redis::SCRIPTS;
use tenure_bench::Outcome;

use crate::counter::renewals;
use crate::meter::float;

/// The pipelines that are tried; the best rate counts.
const DEPTHS: [u32; 3] = [16, 64, 256];

/// A renewal as the driver sent it: the words of the command.
pub(crate) struct Renewal(Vec<OsString>);

/// How fast `redis-benchmark` had renewals carried out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// Renewals a second.
    pub(crate) renewals: f64,
    /// Renewals in one call.
    pub(crate) a_call: f64,
}

impl Renewal {
    /// The next renewal that the server receives: MONITOR shows each command word for word.
    pub(crate) fn capture(port: u16, within: Duration) -> Outcome<Self> {
        let began = Instant::now();
        let digests = digests(port)?;
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(within))?;
        stream.write_all(b"MONITOR\r\n")?;
        for line in BufReader::new(stream).lines() {
            let words = words(&line?);
            let is_renewal = words.first().is_some_and(|word| word.eq_ignore_ascii_case("EVALSHA"))
                && words
                    .get(1)
                    .is_some_and(|sha| digests.iter().any(|known| sha == known.as_str()));
            if is_renewal {
                return Ok(Self(words));
            }
            if began.elapsed() > within {
                break;
            }
        }
        Err(format!("the server received no renewal within {within:?}").into())
    }

    /// The rate of this renewal over one connection, at the best depth of its pipeline; that many calls each.
    ///
    /// # Errors
    /// If the server did not carry them out: the lease has ended.
    pub(crate) fn rate(&self, port: u16, calls: u32) -> Outcome<Rate> {
        let client = redis::Client::open(("127.0.0.1", port))?;
        let mut connection = client.get_connection()?;
        let mut best: Option<Rate> = None;
        for depth in DEPTHS {
            let before = renewals(&mut connection)?;
            let a_second = self.calls_a_second(port, calls, depth)?;
            let a_call = float(renewals(&mut connection)? - before) / f64::from(calls);
            if a_call < 0.99 {
                return Err(format!(
                    "{calls} calls of redis-benchmark renewed {a_call} leases each"
                )
                .into());
            }
            let rate = Rate { renewals: a_second * a_call, a_call };
            if best.is_none_or(|best| rate.renewals > best.renewals) {
                best = Some(rate);
            }
        }
        Ok(best.ok_or("no depth was tried")?)
    }

    fn calls_a_second(&self, port: u16, calls: u32, depth: u32) -> Outcome<f64> {
        let (port, calls, depth) = (port.to_string(), calls.to_string(), depth.to_string());
        let mut command = Command::new("redis-benchmark");
        command.args(["-h", "127.0.0.1", "-p", &port, "-c", "1", "-n", &calls, "-P", &depth]);
        let output = command.arg("--csv").args(&self.0).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        // Columns: the command, the calls a second, then latencies. The command has no comma between quotes.
        let last = text.lines().last().unwrap_or_default();
        let second = last.split("\",\"").nth(1).and_then(|column| column.parse().ok());
        Ok(second.ok_or_else(|| format!("redis-benchmark printed {text:?}"))?)
    }
}

/// The digests of the scripts that renew, and do nothing else.
fn digests(port: u16) -> Outcome<Vec<String>> {
    let mut connection = redis::Client::open(("127.0.0.1", port))?.get_connection()?;
    let mut digests = Vec::new();
    for (name, text) in SCRIPTS {
        if name.starts_with("renew") && name != "renew_and_compare" {
            digests.push(redis::cmd("SCRIPT").arg("LOAD").arg(text).query(&mut connection)?);
        }
    }
    Ok(digests)
}

/// The words of a command in a line of MONITOR: each in quotes, with escapes.
fn words(line: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut bytes = line.bytes();
    while let Some(byte) = bytes.next() {
        match (&mut word, byte) {
            (None, b'"') => word = Some(Vec::new()),
            (None, _) => {}
            (Some(_), b'"') => words.extend(word.take().map(OsString::from_vec)),
            (Some(text), b'\\') => text.extend(unescaped(&mut bytes)),
            (Some(text), byte) => text.push(byte),
        }
    }
    words
}

/// The byte that an escape stands for, after its backslash.
fn unescaped(bytes: &mut impl Iterator<Item = u8>) -> Option<u8> {
    Some(match bytes.next()? {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'a' => 7,
        b'b' => 8,
        b'x' => {
            let digits = [bytes.next()?, bytes.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
        }
        other => other,
    })
}
