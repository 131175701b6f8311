//! `tenure notify`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

use clap::Args;
use tenure::{Elections, NotifyError};

use crate::exit::{Failure, NOBODY, with_causes};
use crate::output;
use crate::place::{self, At};

#[derive(Debug, Args)]
pub(crate) struct Notify {
    /// The election.
    pub(crate) key: String,
    /// The channel, by which the leader tells messages apart: 1 to 64 bytes.
    pub(crate) channel: String,
    /// The message: up to 4096 bytes [default: none].
    pub(crate) payload: Option<OsString>,
    #[command(flatten)]
    pub(crate) at: At,
}

pub(crate) async fn notify(options: &Notify) -> Result<u8, Failure> {
    let elections = Elections::new(place::store(&options.at)?);
    let payload = options.payload.clone().unwrap_or_default().into_vec();
    match elections.notify_leader(&options.key, &options.channel, payload).await {
        Ok(()) => Ok(0),
        Err(NotifyError::NobodyLeads) => {
            output::say(&format!("no candidate leads {}: nothing was sent", options.key));
            Ok(NOBODY)
        }
        Err(NotifyError::Store(error)) => {
            let text = with_causes(&error);
            Err(Failure::store(format!("the message may not have been sent: {text}")))
        }
        Err(error) => Err(Failure::usage(error)),
    }
}
