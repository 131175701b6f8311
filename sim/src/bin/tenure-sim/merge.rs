//! The summaries of several machines, put together.

use std::fs;
use std::path::Path;

use tenure_sim::campaign::{Summary, merged, read};

use crate::args::MergeArguments;
use crate::run::tell;
use crate::trouble::Trouble;

pub(crate) fn merge(arguments: &MergeArguments) -> Result<u8, Trouble> {
    let sources: Result<Vec<_>, Trouble> =
        arguments.files.iter().map(|path| source(path)).collect();
    let merged = merged(sources?).map_err(|why| Trouble::Input(why.into()))?;
    tell(&merged, arguments.output)
}

fn source(path: &Path) -> Result<(String, Vec<Summary>), Trouble> {
    let text = fs::read_to_string(path).map_err(|why| Trouble::of_file(path, why))?;
    let summaries = read(&text).map_err(|why| Trouble::of_file(path, why))?;
    Ok((path.display().to_string(), summaries))
}
