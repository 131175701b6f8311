//! Steps at the store of a test. With the feature `serde`, they are written for `proof/replay` into
//! the folder that `TENURE_TRANSITIONS` names.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_core::Stamp;

pub(crate) use self::steps::step;

/// A stamp that no other step of any test has.
pub(crate) fn fresh() -> Stamp {
    static STAMPS: AtomicU64 = AtomicU64::new(0);
    // Asking the system each time took a fourteenth of the property tests.
    static PROCESS: LazyLock<u32> = LazyLock::new(std::process::id);
    let number = STAMPS.fetch_add(1, Ordering::Relaxed);
    Stamp::from_bits(u128::from(*PROCESS) << 64 | (u128::from(number) + 1))
}

#[cfg(feature = "serde")]
mod steps {
    use std::cell::RefCell;
    use std::fs::File;
    use std::io::{BufWriter, Write};
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU64, Ordering};

    use tenure_core::contract::{Moment, Past, Record};
    use tenure_core::{Reply, Request, Transition};

    thread_local! {
        static LINES: RefCell<Option<BufWriter<File>>> = RefCell::new(file());
    }

    fn file() -> Option<BufWriter<File>> {
        static THREADS: AtomicU64 = AtomicU64::new(0);
        let folder = PathBuf::from(std::env::var_os("TENURE_TRANSITIONS")?);
        let (process, thread) = (std::process::id(), THREADS.fetch_add(1, Ordering::Relaxed));
        let file = File::create(folder.join(format!("core-{process}-{thread}.jsonl")));
        Some(BufWriter::new(file.expect("a folder to write to")))
    }

    /// Carries out a request, and writes every `each`th down.
    pub(crate) fn step(
        record: &mut Option<Record>,
        past: &mut Option<Past>,
        at: Moment,
        request: Request,
        each: u64,
    ) -> Reply {
        static STEPS: AtomicU64 = AtomicU64::new(0);
        let step = Transition::apply(record, past, at, request);
        LINES.with_borrow_mut(|lines| {
            let Some(lines) = lines else { return };
            if STEPS.fetch_add(1, Ordering::Relaxed).is_multiple_of(each) {
                serde_json::to_writer(&mut *lines, &step).expect("written");
                lines.write_all(b"\n").expect("written");
            }
        });
        step.reply
    }
}

#[cfg(not(feature = "serde"))]
mod steps {
    use tenure_core::contract::{Moment, Past, Record, apply};
    use tenure_core::{Reply, Request};

    pub(crate) fn step(
        record: &mut Option<Record>,
        past: &mut Option<Past>,
        at: Moment,
        request: Request,
        _each: u64,
    ) -> Reply {
        apply(record, past, at, request)
    }
}
