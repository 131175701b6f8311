//! The options of `tenure sidecar`.

#![expect(
    clippy::doc_markdown,
    reason = "these comments are the texts of --help, which has no markup"
)]

use std::net::SocketAddr;
use std::time::Duration;

use crate::duration::duration;
use crate::place::At;

#[derive(Debug, clap::Args)]
pub(crate) struct Sidecar {
    /// The election.
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) at: At,
    /// The candidate's name for people [default: TENURE_NAME, else host-pid-boot].
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The IP address and port to answer at; port 0 is a free one.
    ///
    /// There is no login. An address that is not of this host alone causes a warning.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:8406")]
    pub(crate) listen: SocketAddr,
    /// For how long a reader may rely on an answer, at most [default: 2s, or the drain bound if
    /// that is shorter].
    ///
    /// A lead is given back only when that is over: a handover, and the end of tenure, take up to
    /// that time after the last answer that had the lead in it.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) valid_for: Option<Duration>,
    /// Give the lead back, and stay out of the election, while no reader has sent GET / for that
    /// time, such as 10s [default: take part always].
    ///
    /// For a program that may hang or die while tenure lives.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) reader_within: Option<Duration>,
    /// Say more: when this host leads, and why not.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}
