//! The content of a candidate's machine, as the words that its `Hash` implementation writes.
//!
//! The machine's fields are private, so its hash is the only complete view of them. The value of a
//! word shows its kind: clocks and tokens start far from each other and far above zero, where
//! request ids start.

use std::hash::{Hash, Hasher};

use tenure_core::{Config, Input, Instant, Seed};
use xxhash_rust::xxh3::xxh3_64;

use super::bounds::TICK;
use super::subject::{Subject, name, node_of};

/// The start of the candidates' clocks: above every token.
pub(super) const CLOCKS_BEGIN: u64 = GRID << 37;
/// The start of the store's clock: its microseconds, and so all tokens, are above every request id.
pub(super) const STORE_BEGINS: u64 = 1_000 << 40;
/// A `u32` below this is a count of failures; from here on, it is the nanoseconds of a duration.
const COUNTS_END: u32 = 1_000_000;
const TOKENS_BEGIN: u64 = STORE_BEGINS / 1_000;
/// All clocks show multiples of this.
pub(super) const GRID: u64 = TICK / 10;

/// One value in a machine, as its `Hash` writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Word {
    Plain(u64),
    Request(u64),
    Token(u64),
    Instant(u64),
    /// A holder id, as its 64-bit fingerprint.
    Holder(u64),
    /// The mark of a lease that is watched: its holder id, and the number of a request, often
    /// another candidate's.
    Mark(u64, u64),
    /// A stamp: the numbers of stamps are small, and holder ids are random.
    Stamp(u64),
    /// The name of another candidate, as the number of its node.
    Name(usize),
}

/// A machine as words, without those that do not influence its behaviour.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Words(pub(super) Vec<Word>);

/// The positions of words that do not influence a machine's behaviour.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// The random draws so far, and the time of the last input. The words before them are the
    /// settings, which are the same in all machines, and the name, which is that of the node.
    ignored: Vec<usize>,
}

impl Layout {
    /// Compares candidates that differ in their seeds and in the time of their last input. The
    /// words in which these differ come before all fields of variable length, so their positions
    /// are fixed.
    pub(super) fn of<S: Subject>(config: Config) -> Self {
        let [fresh, other] = [0, u128::MAX].map(|seed| S::new(config, name(0), Seed::new(seed)));
        let mut woken = fresh.clone();
        woken.handle(Instant::from_nanos(CLOCKS_BEGIN), Input::Wake);
        let [fresh, other, woken] =
            [fresh, other, woken].map(|machine| Self::default().words(&machine).0);
        let differ = |&place: &usize| fresh[place] != other[place] || fresh[place] != woken[place];
        Self { ignored: (0..fresh.len()).filter(differ).collect() }
    }

    /// The words of a machine that influence its behaviour.
    pub(super) fn words(&self, machine: &impl Hash) -> Words {
        let mut read = WordHasher { layout: self, place: 0, words: Vec::with_capacity(64) };
        machine.hash(&mut read);
        Words(read.words)
    }

    fn is_relevant(&self, place: usize) -> bool {
        let (Some(first), Some(last)) = (self.ignored.first(), self.ignored.last()) else {
            return true;
        };
        place > *last || (place > *first && !self.ignored.contains(&place))
    }
}

/// The fingerprint of a holder id.
pub(super) fn short_holder(holder: u128) -> u64 {
    xxh3_64(&holder.to_le_bytes())
}

/// Collects the hashed words that influence a machine's behaviour.
struct WordHasher<'a> {
    layout: &'a Layout,
    place: usize,
    words: Vec<Word>,
}

impl WordHasher<'_> {
    fn push(&mut self, word: Word) {
        if self.layout.is_relevant(self.place) {
            self.words.push(word);
        }
        self.place += 1;
    }

    /// A `bool` follows on a mark. A holder id and the number of its own request are followed by a
    /// time.
    fn join_mark(&mut self) {
        if let [.., Word::Holder(holder), Word::Request(number)] = self.words[..] {
            self.words.truncate(self.words.len() - 2);
            self.words.push(Word::Mark(holder, number));
        }
    }
}

impl Hasher for WordHasher<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.push(Word::Plain(xxh3_64(bytes)));
    }

    fn write_u8(&mut self, value: u8) {
        self.join_mark();
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
        let node = node_of(value).map(Word::Name);
        let stamp = || u64::try_from(value).map(Word::Stamp).ok();
        self.push(node.or_else(stamp).unwrap_or_else(|| Word::Holder(short_holder(value))));
    }

    fn write_usize(&mut self, value: usize) {
        self.push(Word::Plain(value as u64));
    }

    fn write_isize(&mut self, value: isize) {
        self.push(Word::Plain(value.cast_unsigned() as u64));
    }

    fn finish(&self) -> u64 {
        unreachable!("the words are read, not their hash")
    }
}

/// A sequence of numbers, to be fingerprinted.
pub(super) struct Encoded {
    words: [[u8; WORD]; ROOM / WORD],
    /// In bytes.
    len: usize,
}

/// The size of the buffer. Most sequences are shorter; in a longer one, a fingerprint replaces each
/// full buffer.
const ROOM: usize = 1024;
const WORD: usize = size_of::<u64>();

impl Default for Encoded {
    fn default() -> Self {
        Self { words: [[0; WORD]; ROOM / WORD], len: 0 }
    }
}

impl Encoded {
    /// A search does little else, and `write` takes a slice of any length.
    pub(super) fn add(&mut self, number: u64) {
        let bytes = number.to_le_bytes();
        if self.len < ROOM && self.len.is_multiple_of(WORD) {
            self.words[self.len / WORD] = bytes;
            self.len += WORD;
        } else {
            self.write(&bytes);
        }
    }

    pub(super) fn add_hash(&mut self, value: &impl Hash) {
        value.hash(self);
    }

    pub(super) fn fingerprint(&self) -> u64 {
        xxh3_64(&self.words.as_flattened()[..self.len])
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
        self.words.as_flattened_mut()[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn finish(&self) -> u64 {
        self.fingerprint()
    }
}
