//! The server's pushes over a connection.

use std::sync::Weak;

use fred::types::Message as Pushed;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::store::redis::channels::Channels;

/// Hands on what arrives on a connection until it ends.
pub(super) async fn forward(
    mut pushed: broadcast::Receiver<Pushed>,
    channels: Weak<Channels>,
    dead: CancellationToken,
) {
    loop {
        let pushed = tokio::select! {
            biased;
            () = dead.cancelled() => return,
            pushed = pushed.recv() => pushed,
        };
        let Some(channels) = channels.upgrade() else { return };
        match pushed {
            Ok(pushed) => {
                if let Some(said) = pushed.value.as_bytes() {
                    channels.said(&pushed.channel, said);
                }
            }
            Err(broadcast::error::RecvError::Lagged(_)) => channels.table.wake_all(),
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}
