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

/// What `redis-benchmark` replaces by a number that it draws, of twelve digits.
const DRAWN: &str = "__rand_int__";
/// Of an EVALSHA, before its keys: the command, the digest, and how many keys.
const BEFORE_KEYS: usize = 3;
/// Of each lease that a call renews: holder, token, TTL.
const ARGUMENTS: usize = 3;

/// Renewals of one call, as the driver sent them or made of these.
pub(crate) struct Renewal {
    /// The words of the command.
    words: Vec<OsString>,
    /// How many numbers may be drawn.
    drawn: usize,
}

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
                return Ok(Self { words, drawn: 0 });
            }
            if began.elapsed() > within {
                break;
            }
        }
        Err(format!("the server received no renewal within {within:?}").into())
    }

    /// As many renewals a call, of the leases of all these elections. Each of them becomes a copy of one that the call
    /// renews, since `redis-benchmark` draws numbers for keys, but not the holders that belong to them.
    pub(crate) fn of_all(&self, port: u16, elections: usize) -> Outcome<Self> {
        let keys: usize = self.word(BEFORE_KEYS - 1)?.parse()?;
        // All keys of the group have the same length; the election that opened it has another.
        let place = (0..keys)
            .find(|place| self.word(BEFORE_KEYS + place).is_ok_and(|key| number_in(key).is_some()))
            .ok_or("the call renews none of the elections")?;
        let record = self.word(BEFORE_KEYS + place)?;
        let number = number_in(record).ok_or("an election without a number")?;
        let mut connection = redis::Client::open(("127.0.0.1", port))?.get_connection()?;
        let copy: Vec<u8> = redis::cmd("DUMP").arg(record).query(&mut connection)?;
        for part in (0..elections).collect::<Vec<_>>().chunks(1_000) {
            let mut pipeline = redis::pipe();
            for other in part {
                let of_other = record.replace(number, &format!("{other:012}"));
                pipeline.cmd("RESTORE").arg(of_other).arg(0).arg(&copy[..]).arg("REPLACE").ignore();
            }
            pipeline.exec(&mut connection)?;
        }
        let first_argument = BEFORE_KEYS + keys + ARGUMENTS * place;
        let arguments = self.words.get(first_argument..first_argument + ARGUMENTS);
        let arguments = arguments.ok_or("a lease without its arguments")?;
        let mut words = self.words[..BEFORE_KEYS].to_vec();
        words.extend(vec![OsString::from(record.replace(number, DRAWN)); keys]);
        words.extend((0..keys).flat_map(|_| arguments.iter().cloned()));
        Ok(Self { words, drawn: elections })
    }

    fn word(&self, place: usize) -> Outcome<&str> {
        let word = self.words.get(place).and_then(|word| word.to_str());
        Ok(word.ok_or_else(|| format!("the renewal has no text as its word {place}"))?)
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
        if self.drawn > 0 {
            command.args(["-r", &self.drawn.to_string()]);
        }
        let output = command.arg("--csv").args(&self.words).output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        // Columns: the command, the calls a second, then latencies. The command has no comma between quotes.
        let last = text.lines().last().unwrap_or_default();
        let second = last.split("\",\"").nth(1).and_then(|column| column.parse().ok());
        Ok(second.ok_or_else(|| format!("redis-benchmark printed {text:?}"))?)
    }
}

/// The number of an election in its record's key.
fn number_in(record: &str) -> Option<&str> {
    let mut parts = record.split(|letter: char| !letter.is_ascii_digit());
    parts.find(|digits| digits.len() == DRAWN.len())
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
