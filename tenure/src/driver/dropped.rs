//! The end of a driver that is dropped: its elections are abandoned.

use futures_util::{FutureExt, StreamExt};

use super::{Driver, Election};
use crate::shared::Command;

impl Drop for Driver {
    fn drop(&mut self) {
        self.commands.close();
        while let Ok(command) = self.commands.try_recv() {
            if let Command::Join(new) = command {
                // Abandoned, like the others.
                drop(Election::new(*new));
            }
        }
        let calls = self.calls.take();
        if !calls.is_empty() && self.runtime.available().is_ok() {
            // Other drivers may share the connection, which a dropped call would condemn.
            let late = self.runtime.sleep_until(self.runtime.now() + self.calls.patience());
            let rest = async move {
                tokio::select! {
                    biased;
                    () = calls.map(drop).collect::<()>() => {}
                    () = late => {}
                }
            };
            self.runtime.spawn(rest.boxed());
        }
        for (id, election) in self.elections.drain() {
            let now = self.runtime.now();
            let claim = self.machine.candidate(id).and_then(|one| one.claim(now));
            if claim.is_some() {
                election.driver_gone(now);
            }
        }
    }
}
