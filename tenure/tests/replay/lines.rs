//! Lines for `proof/replay`, in a file of the folder that `TENURE_TRANSITIONS` names.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

pub(crate) struct Lines(Option<BufWriter<File>>);

impl Lines {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::var_os("TENURE_TRANSITIONS").map(PathBuf::from);
        let file = folder.map(|folder| File::create(folder.join(format!("{name}.jsonl"))).unwrap());
        Self(file.map(BufWriter::new))
    }

    pub(crate) fn write(&mut self, line: &impl serde::Serialize) {
        if let Some(lines) = &mut self.0 {
            serde_json::to_writer(&mut *lines, line).unwrap();
            lines.write_all(b"\n").unwrap();
        }
    }
}
