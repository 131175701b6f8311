//! Traces from anywhere: what is read is judged, and what is not read is said clearly.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use tenure_sim::judge::{Judging, Which};
use tenure_sim::trace::file;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    match file::read(bytes) {
        Ok(recorded) => {
            // A trace that was made up may violate what it likes.
            for judging in [Judging::default(), Judging::KeepJudging(Which::All)] {
                let again = file::read(bytes).expect("read before");
                drop(again.judge(judging));
            }
            drop(recorded);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Corpus::Keep
});
