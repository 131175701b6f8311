//! A split brain: sentinels promote the replica of a primary that is up. Neither they nor the
//! replica reach that primary, and candidates do, until it is made the replica.
//!
//! What it carries out after the promotion is lost in the end. Candidates ask the sentinels about
//! each of its promises, and so learn of the promotion. One whose requests are refused there stays
//! until a request is granted.

use tenure_servers::ServerError;

use super::Observed;
use crate::engines::real::clock::boot_clock;
use crate::engines::real::server::orders::Done;
use crate::engines::real::server::redis::accepted;

/// The commands of sentinels and of replicas, which candidates don't need. Without `SLAVEOF`,
/// sentinels can't make it a replica, which they would do eight seconds after the promotion, and
/// end all connections.
const CUT_OFF: [&str; 7] = ["ACL", "SETUSER", "default", "-ping", "-psync", "-sync", "-slaveof"];
const JOINED: [&str; 4] = ["ACL", "SETUSER", "default", "+@all"];

/// The old primary, and since when there is a new one, by the wall clock.
pub(super) struct Split {
    old: usize,
    since: u64,
}

impl Observed {
    /// Has the replica promoted while the primary is up. Returns when, if that has an effect.
    pub(super) fn splits(&mut self) -> Result<Done, ServerError> {
        self.old_has_answered = false;
        if self.is_alone || self.split.is_some() {
            return Ok(Done::default());
        }
        let (old, new) = (self.shard.primary, 1 - self.shard.primary);
        accepted(self.server(old), &CUT_OFF)?;
        self.server(old).command(&["CLIENT", "KILL", "TYPE", "REPLICA"])?;
        let since = self.servers.replace(self.shard.both[old], self.shard.both[new])?;
        let at = boot_clock();
        self.split = Some(Split { old, since });
        self.leads(new)?;
        if let Some(gate) = self.gate(self.shard.both[new]) {
            gate.refuse(false);
        }
        Ok(Done { had_effect: true, at: Some(at), ..Done::default() })
    }

    /// The old primary, if there is one, becomes the replica. Its gate is shut first, so its stream
    /// shows all that it has answered.
    pub(super) fn joins(&mut self) -> Result<(), ServerError> {
        let Some(Split { old, since }) = self.split.take() else { return Ok(()) };
        if let Some(gate) = self.gate(self.shard.both[old]) {
            gate.refuse(true);
            gate.cut();
        }
        let server = self.servers.server(self.shard.both[old]);
        self.shard.monitors[old].shows_all(server)?;
        // As a sentinel does.
        server.command(&["CLIENT", "KILL", "TYPE", "NORMAL"])?;
        self.shard.monitors[old].ends();
        self.old_has_answered |= self.shard.monitors[old].has_shown_since(since);
        self.is_alone = true;
        self.follows(old)?;
        // One that has not followed was killed, and begins anew.
        if self.is_alone { Ok(()) } else { accepted(self.server(old), &JOINED) }
    }
}
