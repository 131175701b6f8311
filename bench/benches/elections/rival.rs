//! `redis-benchmark`, which sends the driver's own renewals as fast as the server answers them.
//!
//! It sends the same command again and again, and a renewal with the same number writes nothing. So
//! it calls the same script with one comparison changed: that one takes the same number again, and
//! does as much as for a higher one.

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

/// The text that `redis-benchmark` replaces by a number of twelve digits that it draws.
const DRAWN: &str = "__rand_int__";
/// The words of an EVALSHA before its keys: the command, the digest, and how many keys.
const BEFORE_KEYS: usize = 3;
/// The arguments of each lease that a call renews: holder, token, number, watched stamp, for how
/// long.
const ARGUMENTS: usize = 5;
/// The place of the number among them, and one above all that the driver has sent.
const NUMBER: (usize, &str) = (2, "9000000000000000");
/// The script's comparison, and its copy's.
const COMPARED: [&str; 2] = ["tonumber(id) > last", "tonumber(id) >= last"];

/// Renewals of one call, as the driver sent them or made of these.
pub(crate) struct Renewal {
    /// The words of the command.
    words: Vec<OsString>,
    /// The count of numbers that may be drawn.
    drawn: usize,
}

/// The rate of renewals by `redis-benchmark`.
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
        let [digest, takes_again] = digests(port)?;
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(within))?;
        stream.write_all(b"MONITOR\r\n")?;
        for line in BufReader::new(stream).lines() {
            let mut words = words(&line?);
            if words.get(1).is_some_and(|sha| *sha == *digest) {
                words[1] = takes_again.into();
                let mut renewal = Self { words, drawn: 0 };
                let first = BEFORE_KEYS + renewal.keys()? + NUMBER.0;
                for number in renewal.words.iter_mut().skip(first).step_by(ARGUMENTS) {
                    *number = NUMBER.1.into();
                }
                return Ok(renewal);
            }
            if began.elapsed() > within {
                break;
            }
        }
        Err(format!("the server received no renewal within {within:?}").into())
    }

    /// The same number of renewals a call, of the leases of all these elections. Each of them
    /// becomes a copy of one that the call renews, since `redis-benchmark` draws numbers for keys,
    /// but not the holders that belong to them.
    pub(crate) fn of_all(&self, port: u16, elections: usize) -> Outcome<Self> {
        // The last key is the past's.
        let (keys, leases) = (self.keys()?, self.keys()? - 1);
        // All keys of the group have the same length; the election that opened it has another.
        let place = (0..leases)
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
        words.extend(vec![OsString::from(record.replace(number, DRAWN)); leases]);
        words.push(self.words[BEFORE_KEYS + leases].clone());
        words.extend((0..leases).flat_map(|_| arguments.iter().cloned()));
        words.extend(self.words.last().cloned());
        Ok(Self { words, drawn: elections })
    }

    /// The number of keys in the call.
    fn keys(&self) -> Outcome<usize> {
        Ok(self.word(BEFORE_KEYS - 1)?.parse()?)
    }

    fn word(&self, place: usize) -> Outcome<&str> {
        let word = self.words.get(place).and_then(|word| word.to_str());
        Ok(word.ok_or_else(|| format!("the renewal has no text as its word {place}"))?)
    }

    /// The rate of this renewal over one connection, at the best depth of its pipeline; that many
    /// calls each.
    ///
    /// # Errors
    /// If the server did not carry them out: the lease is another tenure's.
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
        // Columns: the command, the calls a second, then latencies. The command has no comma
        // between quotes.
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

/// The digests of the script that renews, and of its copy that takes the same number again.
fn digests(port: u16) -> Outcome<[String; 2]> {
    let &(_, text) = SCRIPTS.iter().find(|(name, _)| *name == "renew").ok_or("no script")?;
    let takes_again = text.replace(COMPARED[0], COMPARED[1]);
    if takes_again == text {
        return Err(format!("the script does not compare {:?}", COMPARED[0]).into());
    }
    let mut connection = redis::Client::open(("127.0.0.1", port))?.get_connection()?;
    let mut load = |text: &str| redis::cmd("SCRIPT").arg("LOAD").arg(text).query(&mut connection);
    Ok([load(text)?, load(&takes_again)?])
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
