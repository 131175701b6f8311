//! The options of `tenure doctor`.

use clap::Args;

use crate::place::At;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) at: At,
    /// Print one JSON object for each finding, in lines.
    #[arg(long)]
    pub(crate) json: bool,
}
