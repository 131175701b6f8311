//! The options of `tenure run`.

#![expect(
    clippy::doc_markdown,
    reason = "these comments are the texts of --help, which has no markup"
)]

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use crate::duration::{duration, hold};
use crate::exit::NOT_LEADING;
use crate::place::At;

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The election: hosts with the same key exclude each other.
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) at: At,
    /// The candidate's name for people [default: TENURE_NAME, else host-pid-boot].
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// End when the lead is lost, instead of waiting for it again.
    #[arg(long)]
    pub(crate) once: bool,
    /// The longest wait for the first lead, such as 30s [default: for ever].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) wait: Option<Duration>,
    /// Do not wait for the lead: end if another host has it.
    ///
    /// A lease that was not given back, and that nobody renews any more, is watched for its TTL.
    #[arg(long = "try", conflicts_with = "wait")]
    pub(crate) only_try: bool,
    /// The status if another host leads, with --try and --wait.
    #[arg(short = 'E', long, value_name = "STATUS", default_value_t = NOT_LEADING)]
    pub(crate) conflict_exit_code: u8,
    /// Keep the lead until so long after the command's begin, such as 5m; at most 24h [default:
    /// until its end].
    ///
    /// For a short command that several hosts start at a set time, each by its own clock: a host
    /// that comes later finds another one leading. SIGTERM ends it sooner. The lease is not given
    /// back then, and ends by itself.
    #[arg(long, value_name = "DURATION", value_parser = hold)]
    pub(crate) hold: Option<Duration>,
    /// The command's time to end after SIGTERM, before it is killed [default: 10s, or what
    /// TENURE_DRAIN_BOUND or TENURE_LONGEST_STOP leaves].
    ///
    /// After a loss of the lead, it has no more time than the lease leaves: 3.2s at default
    /// settings.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) stop_grace: Option<Duration>,
    /// Say more: when this host leads, and why not.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// The command and its arguments, after --.
    #[arg(last = true, required = true, num_args = 1.., value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
