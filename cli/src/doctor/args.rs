//! The command line of `tenure doctor`.

#![expect(
    clippy::doc_markdown,
    reason = "these comments are the texts of --help, which has no markup"
)]

use clap::Args;

use crate::args::At;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) at: At,
    /// Print one JSON object for each finding, in lines.
    #[arg(long)]
    pub(crate) json: bool,
}
