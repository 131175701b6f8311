//! The end of a connection: by itself, or because it was condemned.

use tokio_util::sync::CancellationToken;

/// Carries a connection until it ends or is condemned.
pub(super) async fn carry(dead: CancellationToken, connection: impl Future) {
    tokio::select! {
        biased;
        () = dead.cancelled() => {}
        _ = connection => dead.cancel(),
    }
}
