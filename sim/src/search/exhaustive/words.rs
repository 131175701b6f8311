//! A machine in words: what its `Hash` shows of it.
//!
//! No more than that is known of a machine here. Its words are told apart by their values: clocks and tokens
//! begin far from each other and from zero.

use std::hash::{Hash, Hasher};

use tenure_core::{Config, Input, Instant, Seed};
use xxhash_rust::xxh3::xxh3_64;

use super::bounds::TICK;
use super::subject::Subject;

/// Candidates' clocks begin here: above every token.
pub(super) const CLOCKS_BEGIN: u64 = GRID << 37;
/// The store's clock begins here, so that its microseconds, and so all tokens, are above every request id.
pub(super) const STORE_BEGINS: u64 = 1_000 << 40;
/// What is below is no nanoseconds of a duration, but a count of failures.
const COUNTS_END: u32 = 1_000_000;
const TOKENS_BEGIN: u64 = STORE_BEGINS / 1_000;
/// All clocks show multiples of it.
pub(super) const GRID: u64 = TICK / 10;

/// One value in a machine, as its `Hash` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Plain(u64),
    Request(u64),
    Token(u64),
    Instant(u64),
    /// By its fingerprint, which is shorter.
    Holder(u64),
}

/// A machine in words, without those that decide nothing.
#[derive(Clone, Debug)]
pub(super) struct Words(pub(super) Box<[Word]>);

/// Which words of a machine decide something.
#[derive(Clone, Debug)]
pub(super) struct Anatomy {
    /// Before it are the settings, which are the same in all machines.
    first: usize,
    /// What was drawn so far, and the time when it was last asked.
    idle: Vec<usize>,
}

impl Anatomy {
    /// Compares candidates that differ in their seeds, and in when they were last asked. The words in which
    /// they do come before all that changes its length.
    pub(super) fn of<S: Subject>(config: Config) -> Self {
        let (fresh, other) = (S::new(config, Seed::new(0)), S::new(config, Seed::new(u128::MAX)));
        let mut woken = fresh.clone();
        woken.handle(Instant::from_nanos(CLOCKS_BEGIN), Input::Wake);
        let [fresh, other, woken] = [fresh, other, woken].map(|machine| all_words(&machine));
        let differ = |&place: &usize| fresh[place] != other[place] || fresh[place] != woken[place];
        let idle: Vec<usize> = (0..fresh.len()).filter(differ).collect();
        Self { first: idle.first().copied().unwrap_or_default(), idle }
    }

    /// What decides something, and a fingerprint of everything.
    pub(super) fn words(&self, machine: &impl Hash) -> (Words, u64) {
        let all = all_words(machine);
        let fingerprint = all.iter().fold(Encoded::default(), Encoded::with).fingerprint();
        let words = all.into_iter().enumerate().skip(self.first);
        let words = words.filter(|(place, _)| !self.idle.contains(place)).map(|(_, word)| word);
        (Words(words.collect()), fingerprint)
    }
}

pub(super) fn short(holder: u128) -> u64 {
    xxh3_64(&holder.to_le_bytes())
}

fn all_words(machine: &impl Hash) -> Vec<Word> {
    let mut read = Read(Vec::with_capacity(96));
    machine.hash(&mut read);
    read.0
}

/// Collects what is hashed.
struct Read(Vec<Word>);

impl Hasher for Read {
    fn write(&mut self, bytes: &[u8]) {
        self.0.push(Word::Plain(xxh3_64(bytes)));
    }

    fn write_u8(&mut self, value: u8) {
        self.0.push(Word::Plain(value.into()));
    }

    fn write_u32(&mut self, value: u32) {
        let is_count = value < COUNTS_END;
        self.0.push(Word::Plain(if is_count { 0 } else { value.into() }));
    }

    fn write_u64(&mut self, value: u64) {
        self.0.push(match value {
            0 | u64::MAX => Word::Plain(value),
            CLOCKS_BEGIN.. => Word::Instant(value),
            TOKENS_BEGIN.. => Word::Token(value),
            _ => Word::Request(value),
        });
    }

    fn write_u128(&mut self, value: u128) {
        self.0.push(Word::Holder(short(value)));
    }

    fn write_usize(&mut self, value: usize) {
        self.0.push(Word::Plain(value as u64));
    }

    fn write_isize(&mut self, value: isize) {
        self.0.push(Word::Plain(value.cast_unsigned() as u64));
    }

    fn finish(&self) -> u64 {
        unreachable!("what was read is read as words")
    }
}

/// Numbers in a row.
#[derive(Default)]
pub(super) struct Encoded(Vec<u8>);

impl Encoded {
    pub(super) fn add(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn with(mut self, word: &Word) -> Self {
        let (kind, value) = match *word {
            Word::Plain(value) => (0, value),
            Word::Request(value) => (1, value),
            Word::Token(value) => (2, value),
            Word::Instant(value) => (3, value),
            Word::Holder(value) => (4, value),
        };
        self.0.push(kind);
        self.add(value);
        self
    }

    pub(super) fn add_hash(&mut self, value: &impl Hash) {
        value.hash(self);
    }

    pub(super) fn fingerprint(&self) -> u64 {
        xxh3_64(&self.0)
    }
}

impl Hasher for Encoded {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        self.fingerprint()
    }
}
