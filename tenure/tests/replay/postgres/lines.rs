//! Transitions, written for `proof/replay`.

use tenure_core::contract::{Moment, Past, Record};
use tenure_core::{Reply, Request};

/// Carries out a request on what is kept, and writes the transition down.
#[cfg(feature = "serde")]
pub(crate) fn step(
    record: &mut Option<Record>,
    past: &mut Option<Past>,
    at: Moment,
    request: Request,
) -> Reply {
    use std::cell::RefCell;
    use std::fs::File;
    use std::io::{BufWriter, Write};
    use std::path::PathBuf;
    use std::sync::{LazyLock, Mutex};

    static LINES: LazyLock<Mutex<RefCell<Option<BufWriter<File>>>>> = LazyLock::new(|| {
        let folder = std::env::var_os("TENURE_TRANSITIONS").map(PathBuf::from);
        let name = format!("postgres-{}.jsonl", std::process::id());
        let file = folder.map(|folder| File::create(folder.join(name)).expect("a folder"));
        Mutex::new(RefCell::new(file.map(BufWriter::new)))
    });
    let step = tenure_core::Transition::apply(record, past, at, request);
    if let Some(lines) = LINES.lock().expect("whole").get_mut() {
        serde_json::to_writer(&mut *lines, &step).expect("written");
        lines.write_all(b"\n").expect("written");
        lines.flush().expect("written");
    }
    step.reply
}

#[cfg(not(feature = "serde"))]
pub(crate) fn step(
    record: &mut Option<Record>,
    past: &mut Option<Past>,
    at: Moment,
    request: Request,
) -> Reply {
    tenure_core::contract::apply(record, past, at, request)
}
