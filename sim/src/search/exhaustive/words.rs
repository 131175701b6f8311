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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Word {
    Plain(u64),
    Request(u64),
    Token(u64),
    Instant(u64),
    /// By its fingerprint, which is shorter.
    Holder(u64),
}

/// A machine in words, without those that decide nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Words(pub(super) Vec<Word>);

/// Which words of a machine decide something.
#[derive(Clone, Debug, Default)]
pub(super) struct Anatomy {
    /// What was drawn so far, and the time when it was last asked. Before them are the settings, which are the same
    /// in all machines.
    idle: Vec<usize>,
}

impl Anatomy {
    /// Compares candidates that differ in their seeds, and in when they were last asked. The words in which
    /// they do come before all that changes its length.
    pub(super) fn of<S: Subject>(config: Config) -> Self {
        let (fresh, other) = (S::new(config, Seed::new(0)), S::new(config, Seed::new(u128::MAX)));
        let mut woken = fresh.clone();
        woken.handle(Instant::from_nanos(CLOCKS_BEGIN), Input::Wake);
        let [fresh, other, woken] =
            [fresh, other, woken].map(|machine| Self::default().words(&machine).0);
        let differ = |&place: &usize| fresh[place] != other[place] || fresh[place] != woken[place];
        Self { idle: (0..fresh.len()).filter(differ).collect() }
    }

    /// What decides something.
    pub(super) fn words(&self, machine: &impl Hash) -> Words {
        let mut read = Read { anatomy: self, place: 0, words: Vec::with_capacity(64) };
        machine.hash(&mut read);
        Words(read.words)
    }

    fn decides(&self, place: usize) -> bool {
        let (Some(first), Some(last)) = (self.idle.first(), self.idle.last()) else { return true };
        place > *last || (place > *first && !self.idle.contains(&place))
    }
}

pub(super) fn short(holder: u128) -> u64 {
    xxh3_64(&holder.to_le_bytes())
}

/// Collects what is hashed, and decides something.
struct Read<'a> {
    anatomy: &'a Anatomy,
    place: usize,
    words: Vec<Word>,
}

impl Read<'_> {
    fn push(&mut self, word: Word) {
        if self.anatomy.decides(self.place) {
            self.words.push(word);
        }
        self.place += 1;
    }
}

impl Hasher for Read<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.push(Word::Plain(xxh3_64(bytes)));
    }

    fn write_u8(&mut self, value: u8) {
        self.push(Word::Plain(value.into()));
    }

    fn write_u32(&mut self, value: u32) {
        let is_count = value < COUNTS_END;
        self.push(Word::Plain(if is_count { 0 } else { value.into() }));
    }

    fn write_u64(&mut self, value: u64) {
        self.push(match value {
            0 | u64::MAX => Word::Plain(value),
            CLOCKS_BEGIN.. => Word::Instant(value),
            TOKENS_BEGIN.. => Word::Token(value),
            _ => Word::Request(value),
        });
    }

    fn write_u128(&mut self, value: u128) {
        self.push(Word::Holder(short(value)));
    }

    fn write_usize(&mut self, value: usize) {
        self.push(Word::Plain(value as u64));
    }

    fn write_isize(&mut self, value: isize) {
        self.push(Word::Plain(value.cast_unsigned() as u64));
    }

    fn finish(&self) -> u64 {
        unreachable!("what was read is read as words")
    }
}

/// Numbers in a row.
pub(super) struct Encoded {
    bytes: [u8; ROOM],
    len: usize,
}

/// Most rows are shorter; of a longer one, the beginning is kept as its fingerprint.
const ROOM: usize = 1024;

impl Default for Encoded {
    fn default() -> Self {
        Self { bytes: [0; ROOM], len: 0 }
    }
}

impl Encoded {
    pub(super) fn add(&mut self, number: u64) {
        self.write(&number.to_le_bytes());
    }

    pub(super) fn add_hash(&mut self, value: &impl Hash) {
        value.hash(self);
    }

    pub(super) fn fingerprint(&self) -> u64 {
        xxh3_64(&self.bytes[..self.len])
    }
}

impl Hasher for Encoded {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        if self.len + bytes.len() > ROOM {
            let so_far = self.fingerprint();
            self.len = 0;
            self.add(so_far);
        }
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn finish(&self) -> u64 {
        self.fingerprint()
    }
}
