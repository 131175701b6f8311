//! The command line.

#![expect(
    clippy::doc_markdown,
    reason = "these comments are the texts of --help, which has no markup"
)]

use clap::{Parser, Subcommand};

use crate::doctor::Doctor;
use crate::handover::Handover;
use crate::install::{Completions, Manual};
use crate::message::Notify;
use crate::migrate::Migrate;
use crate::purge::Purge;
use crate::run::Run;
use crate::sidecar::Sidecar;
use crate::status::Status;

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
    /// The command's environment has TENURE_KEY, TENURE_TOKEN and TENURE_NAME, and what names the
    /// store: TENURE_STORE and TENURE_REDIS_.., or TENURE_STORE_FILE with the path of --store-file;
    /// nothing of --store. All other variables that begin with TENURE_ are removed from it.
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
    /// The leader gives the lead back once the named candidate (without a name: any other) asks for
    /// it. Nothing changes if there is none.
    ///
    /// Statuses: 0 another candidate leads, 1 no candidate leads, 64 wrong usage, 69 the store
    /// can't be used, 75 the named candidate has not taken over in time.
    Handover(Handover),
    /// Send a message to the leader.
    ///
    /// To the inbox of a leader that uses the library (Tenure::inbox), at most once, at Redis and
    /// PostgreSQL. A command of tenure run receives none.
    ///
    /// Statuses: 0 sent, 1 no candidate leads, 64 wrong usage or a store without messages, 69 the
    /// store can't be used.
    Notify(Notify),
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
    /// Print the statements that create the tables of PostgreSQL or MySQL, or carry them out.
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
    Doctor(Doctor),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
