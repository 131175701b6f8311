//! The command line.

#![expect(
    clippy::doc_markdown,
    reason = "these comments are the texts of --help, which has no markup"
)]

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::install::{Completions, Manual};
use crate::migrate::Migrate;
use crate::purge::Purge;
use crate::sidecar::Sidecar;

/// Runs a program only while this host leads, shows who leads, and hands over.
///
/// Of all hosts that name the same key at the same store, one leads at a time.
#[derive(Debug, Parser)]
#[command(version, name = "tenure", max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) what: What,
}

#[derive(Debug, Subcommand)]
pub(crate) enum What {
    /// Run a command only while this host leads.
    ///
    /// Waits until this host leads, and runs the command. When the command ends by itself, the lead
    /// is given back, and tenure ends with the command's status. When the lead is lost, the command
    /// is ended in time, and tenure waits for the lead again.
    ///
    /// The command's environment has TENURE_KEY, TENURE_TOKEN and TENURE_NAME. All other variables
    /// that begin with TENURE_ are removed from it.
    ///
    /// Statuses: the command's; 128 and its number for a signal; 64 wrong usage; 69 the store can't
    /// be used; 71 no process could be made; 75 another host leads (--try, --wait); 76 the lead was
    /// lost (--once); 126 and 127 the command can't be run, or was not found.
    Run(Run),
    /// Show who leads.
    ///
    /// Statuses: 0 each election has a leader, 1 one has none, 2 it is not known of one, 64 wrong
    /// usage.
    Status(Status),
    /// Have the leader hand over to another candidate.
    ///
    /// The leader gives the lead back once a candidate that is meant asks for it. Nothing changes
    /// if there is none.
    ///
    /// Statuses: 0 another candidate leads, 1 no candidate leads, 64 wrong usage, 69 the store
    /// can't be used, 75 no candidate that is meant has taken over in time.
    Handover(Handover),
    /// Take part in an election, and say over HTTP whether this host leads.
    ///
    /// For programs in any language beside it. GET / answers with JSON: key, name (this candidate),
    /// leads, token (while it leads), valid_ms, and leader (its name and token, as far as known). A
    /// reader may act as the leader for valid_ms from the moment when it sent its request, and must
    /// stop by itself then. GET /healthz answers 200. GET /readyz answers 200 if this candidate
    /// takes part and the store has answered within a TTL, else 503 with the reason.
    ///
    /// Statuses: 128 and its number for a signal; 64 wrong usage; 71 the address can't be used.
    Sidecar(Sidecar),
    /// Delete the records of elections that ended long ago.
    ///
    /// A store keeps a record of each election for ever. A lease that is held is never touched, and
    /// later tokens are above those that were deleted.
    ///
    /// Statuses: 0 done, 64 wrong usage or a store that can't, 69 the store can't be used.
    Purge(Purge),
    /// Print the statements that create the tables of PostgreSQL, or carry them out.
    ///
    /// Candidates create them by themselves, if their user may. Statuses: 0 done, 64 wrong usage or
    /// a store that has no tables, 69 the store can't be used.
    Migrate(Migrate),
    /// Print completions of this command line for a shell to load.
    Completions(Completions),
    /// Print the manual page, or write all of them to a folder.
    Man(Manual),
    /// Say what is wrong with the store, the way to it, and the settings.
    ///
    /// Carries out every kind of request that candidates make, on an election of its own
    /// (tenure-doctor-..), and looks at what the store says of itself. Run it as the candidates
    /// run: same user, same host, same variables.
    ///
    /// Statuses: 0 nothing wrong was found, 1 something was, 64 wrong usage, 69 no candidate can
    /// lead at the store.
    Doctor(crate::doctor::args::Doctor),
}

/// Where elections are kept.
#[derive(Debug, Args)]
pub(crate) struct At {
    /// The store's URL, such as redis://10.0.0.7:6379.
    ///
    /// Without it: the file of --store-file, else TENURE_STORE and the variables beside it, else a
    /// file of this user on this host. Other users can read command lines: give a URL with a
    /// password by --store-file or TENURE_STORE.
    #[arg(long, value_name = "URL", conflicts_with = "store_file")]
    pub(crate) store: Option<String>,
    /// A file with the store's URL in it.
    #[arg(long, value_name = "FILE")]
    pub(crate) store_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The election: hosts with the same key exclude each other.
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) at: At,
    /// What people call this candidate [default: TENURE_NAME, else host-pid-boot].
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// End when the lead is lost, instead of waiting for it again.
    #[arg(long)]
    pub(crate) once: bool,
    /// How long to wait for the lead at first, such as 30s [default: for ever].
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) wait: Option<Duration>,
    /// Do not wait for the lead: end if another host has it.
    #[arg(long = "try", conflicts_with = "wait")]
    pub(crate) only_try: bool,
    /// How long the command may take to end after SIGTERM, before it is killed.
    ///
    /// After a loss of the lead, it has no more time than the lease leaves: 3.2s at default
    /// settings.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "10s")]
    pub(crate) stop_grace: Duration,
    /// Say more: when this host leads, and why not.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// The command and its arguments, after --.
    #[arg(last = true, required = true, num_args = 1.., value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The elections.
    #[arg(required_unless_present = "all", num_args = 1.., value_name = "KEY")]
    pub(crate) keys: Vec<String>,
    /// All elections that had a leader and were not purged.
    #[arg(long, conflicts_with_all = ["keys", "wait_for"])]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) at: At,
    /// Print one JSON object for each election, in lines.
    #[arg(long)]
    pub(crate) json: bool,
    /// Wait until that holds of each election: leader, none, or the name of the candidate that
    /// leads.
    #[arg(long, value_name = "WHAT")]
    pub(crate) wait_for: Option<String>,
    /// Print a line for each change, until the end by a signal.
    #[arg(long, conflicts_with_all = ["wait_for", "timeout"])]
    pub(crate) watch: bool,
    /// How long to wait for the store, and for --wait-for.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct Handover {
    /// The election.
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) at: At,
    /// The name of the candidate that is to lead [default: any other one].
    #[arg(long, value_name = "NAME")]
    pub(crate) to: Option<String>,
    /// How long to wait until another candidate leads.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "30s")]
    pub(crate) timeout: Duration,
}

/// The units of a duration, as in the library's variables.
#[derive(Clone, Copy, ValueEnum)]
enum Unit {
    Ms,
    S,
    M,
    H,
}

/// A whole number with a unit; zero needs none.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let must = || {
        format!("{text:?} must be a whole number with one of the units ms, s, m and h, such as 30s")
    };
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(must)?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| must())?;
    let millis = match Unit::from_str(unit, false).map_err(|_| must())? {
        Unit::Ms => Some(number),
        Unit::S => number.checked_mul(1_000),
        Unit::M => number.checked_mul(60_000),
        Unit::H => number.checked_mul(3_600_000),
    };
    let within = |millis: &u64| *millis <= 1_000 * 3_600_000;
    millis
        .filter(within)
        .map(Duration::from_millis)
        .ok_or_else(|| format!("{text:?} must be at most 1000h"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn durations_have_units() {
        let read = |text| duration(text).ok().map(|time| time.as_millis());
        let texts = ["0", "0s", "250ms", "3s", "2m", "1000h"];
        let times = [0, 0, 250, 3_000, 120_000, 3_600_000_000].map(Some);
        assert_eq!(texts.map(read), times);
        for refused in ["", "5", "s", "-1s", "1.5s", "3 s", "3S", "1001h", "99999999999999999999s"]
        {
            assert_eq!(read(refused), None, "{refused}");
        }
    }
}
