//! The catalogue of faults: each kind of fault has one row here, with all that is known of it.
//!
//! A row is an [explanation](FaultKind::explanation), a number, a name, the magnitudes with an
//! example of each, and what [`Row`] says. The number keys the random draws of the kind and orders
//! the kinds: it never changes. How magnitudes are drawn, and their bounds, is said in
//! `magnitudes.rs`. A kind that is added here is drawn, listed, counted, shrunk and judged; what is
//! left to do is to carry it out in the engines that have it.

#[macro_use]
mod make;
mod kind;
mod magnitudes;
mod row;
#[cfg(test)]
mod tests;
mod what;

use serde::{Deserialize, Serialize};

use super::Assumption::{CandidateClocks, LossIsFinal, OneMemory, PromptEffects, Waits, WallClock};
pub use kind::Place;
pub(super) use magnitudes::Magnitudes;
pub use magnitudes::{LAG_MOST_MS, RAFT_PAUSE_MOST_MS};
pub(crate) use row::{Class, Need, Real, Row, Shown, Time};

use kind::in_order;
use magnitudes::{LOCK, OUTAGE, RAFT_PAUSE_LEAST_MS};

const NO_NETWORK: &str = "has no network: candidates open the file themselves";
const TCP: &str = "runs over TCP, which hides the fate of single messages";
const NO_BYTES: &str = "has messages, and no bytes and no ends of connections";
const SIMPLE_NETWORK: &str =
    "simulates a network without firewalls, lost machines and limits of its rate";
/// Also of any other fault that begins there.
pub(crate) const NO_REPLIES: &str =
    "can't see when a reply arrives: a process reads bytes, not replies";
const ONE_CLOCK: &str = "can't stop one clock alone: its nodes have one clock for everything";
const OWN_MACHINE: &str = "can't suspend, stop or restore the machine on which it runs itself";
const NO_REPLICA: &str = "has one store, without a replica";
const NO_OLDER_DATA: &str = "keeps no older data of the store";
const MACHINE_CLOCK: &str =
    "can't set the clock by which the store tells the time: it is that of the machine";
const NO_MEMBERS: &str = "has no members that elect one of them";

const PAUSE: Option<What> = Some(ProcessFault::Pause.at(None));

/// A partition of the network, or something like it, between a node and the store.
const fn on_the_way(row: Row) -> Row {
    row.real_needs(Need::Network, NO_NETWORK)
}

/// An act that only a real server knows; the reason why others do not have it.
const fn at_a_server(row: Row, why: &'static str) -> Row {
    row.not_in_model("has a store without a server that an operator could reach")
        .not_in_turmoil("simulates a server without operators")
        .real_needs(Need::Act, why)
}

catalogue! {
    of_a_node {
        /// A fault of the link between a node and the store.
        Link LinkFault {
            /// No message passes between a node and the store: all are lost.
            0 Partition => on_the_way(
                Row::lasting("partition", "no message passes between a node and the store").cuts_off(),
            );
            /// No message passes in one direction: from a node to the store, or from the store to
            /// the node.
            1 OneWay { to_store: bool = true } => on_the_way(
                Row::lasting("one-way", "messages pass in one direction only")
                    .cuts_off()
                    .plainer(FaultKind::Partition),
            );
            /// Messages between a node and the store wait, and arrive in order when it ends.
            2 Hold => on_the_way(
                Row::lasting("hold", "messages wait, and arrive in order when it ends")
                    .cuts_off()
                    .plainer(FaultKind::Partition),
            );
            /// Messages between a node and the store take up to `most_ms`: half a TTL in drawn
            /// plans.
            3 Latency { most_ms: u64 = 400 } => on_the_way(
                Row::lasting("latency", "messages take long").plainer(FaultKind::Partition),
            );
            /// `permille` of a thousand messages are lost: 50, 300 or 900 in drawn plans.
            4 Loss { permille: u32 = 900 } => Row::lasting("loss", "some messages are lost")
                .not_in_turmoil(TCP)
                .not_in_real(TCP)
                .plainer(FaultKind::Partition);
            /// `permille` of a thousand messages arrive twice, the second time up to `most_ms`
            /// later: two TTLs in drawn plans.
            5 Duplicate { permille: u32 = 900, most_ms: u64 = 400 } =>
                Row::lasting("duplicate", "some messages arrive twice")
                    .not_in_turmoil(TCP)
                    .not_in_real(TCP)
                    .plainer(FaultKind::Partition);
            /// `permille` of a thousand messages take up to `most_ms` longer, a TTL in drawn plans,
            /// and others overtake them.
            6 Reorder { permille: u32 = 900, most_ms: u64 = 400 } =>
                Row::lasting("reorder", "some messages are overtaken")
                    .not_in_turmoil(TCP)
                    .not_in_real(TCP)
                    .plainer(FaultKind::Partition);
            /// The node's connection breaks. Messages that have left it may still arrive at the
            /// store, in `turmoil` long after the node has a new connection.
            7 Cut => on_the_way(Row::moment("cut", "a connection breaks").needs_a_process());
            /// The node's connections are reset, as by a firewall. What was on its way is lost.
            32 Reset => on_the_way(
                Row::moment("reset", "connections are reset")
                    .needs_a_process()
                    .not_in_model(NO_BYTES)
                    .not_in_turmoil(SIMPLE_NETWORK)
                    .plainer(FaultKind::Cut),
            );
            /// The server's ends of the node's connections are gone, and the node's ends are open:
            /// nothing answers on them.
            33 HalfOpen => on_the_way(
                Row::moment("half-open", "connections are open at the node's end alone")
                    .needs_a_process()
                    .not_in_model(NO_BYTES)
                    .not_in_turmoil(SIMPLE_NETWORK)
                    .plainer(FaultKind::Cut)
                    .shown_under_a_leader("half-open-under-a-leader"),
            );
            /// `bytes_per_second` pass in each direction between a node and the store: 500, 2,000
            /// or 10,000 in drawn plans.
            34 Throttle { bytes_per_second: u32 = 500 } => on_the_way(
                Row::lasting("throttle", "few bytes a second pass")
                    .not_in_model(NO_BYTES)
                    .not_in_turmoil(SIMPLE_NETWORK)
                    .plainer(FaultKind::Partition),
            );
            /// A replica replaces the store at once for all nodes but one. For that node the old
            /// primary continues to acknowledge requests.
            26 OldPrimary =>
                Row::lasting("old-primary", "a cut-off primary still acknowledges after a promotion")
                    .loses_data()
                    .breaks(&[LossIsFinal, WallClock])
                    .not_in_turmoil(NO_REPLICA)
                    .not_in_real("can't keep a primary that is replaced for one candidate alone");
        }
        /// A fault of a node's process, or of the machine on which it runs.
        Process ProcessFault {
            /// The process is paused, and its clocks keep running: a garbage collection, a
            /// throttled container.
            9 Pause => Row::lasting("pause", "a process is paused").pauses().needs_a_process();
            /// The task that drives the node's candidates gets no turn, while all others of its
            /// process run.
            31 Starve => Row::lasting("starve", "the task that drives the candidates is not run")
                .needs_a_process()
                .not_in_model("has no driver's task: the process drives its candidate")
                .not_in_real("can't stop one task of a process");
            /// The machine sleeps: the process is paused and the monotonic clock stopped, but
            /// neither the boot clock nor the wall clock. Often the boot clock is up to a TTL ahead
            /// afterwards, since a hardware clock says how long it slept. In `turmoil` a node has
            /// one clock, and learns that it slept.
            14 Suspend =>
                Row::lasting("suspend", "a machine sleeps: its monotonic clock stops, its boot clock does not")
                    .pauses()
                    .not_in_real(OWN_MACHINE)
                    .plainer(FaultKind::Pause)
                    .shown_under_a_leader("leader-suspended");
            /// The process is paused and all its clocks are stopped: a virtual machine that is
            /// stopped or moved.
            15 VmStop => Row::lasting("vm-stop", "a machine is stopped, with all its clocks")
                .pauses()
                .breaks(&[CandidateClocks, PromptEffects])
                .not_in_turmoil(ONE_CLOCK)
                .not_in_real(OWN_MACHINE)
                .plainer(FaultKind::Pause)
                .shown_under_a_leader("leader-stopped-with-its-clocks");
            /// At the fault's end the node's memory and clocks are reset to their states at its
            /// beginning: a restored snapshot of a virtual machine.
            16 VmRestore => Row::lasting("vm-restore", "a machine is restored from a snapshot")
                .at_its_end()
                .breaks(&[CandidateClocks, OneMemory, PromptEffects])
                .not_in_turmoil("can't take a snapshot of a process")
                .not_in_real(OWN_MACHINE)
                .plainer(FaultKind::Pause)
                .shown_under_a_leader("leader-restored-from-a-snapshot");
            /// The process crashes, and starts again as another candidate. With `power` its
            /// connections are not closed.
            19 Crash { power: bool = true } =>
                Row::lasting("crash", "a process crashes, and starts again");
            /// The leader hands over on request, and campaigns again later.
            20 Resign => Row::moment("resign", "the leader hands over on request").needs_a_process();
            /// The leader is asked to hand over to the node `to`; beyond the last node, to a name
            /// that nobody has. It leads on until that node asks for the lead.
            53 HandOver { to: usize = 1 } =>
                Row::moment("hand-over", "the leader is asked to hand over to a certain node")
                    .needs_a_process()
                    .plainer(FaultKind::Resign)
                    .shown_by_its_effect("handed-over-to-the-one-that-was-meant");
            /// The candidate leaves the election, and campaigns again when it ends. In `turmoil` it
            /// leaves by `stop()`, by dropping all handles, or by the shutdown that `run_until`
            /// waits for, and a new candidate takes its place.
            21 Leave => Row::lasting("leave", "a candidate leaves the election, and campaigns again")
                .needs_a_process();
            /// The process can open no more files and connections (`RLIMIT_NOFILE`), and those to
            /// the store end.
            48 NoDescriptors => on_the_way(
                Row::lasting("no-descriptors", "a process can open no more connections or files")
                    .needs_a_process()
                    .not_in_model("has processes without file descriptors")
                    .not_in_turmoil("simulates processes without file descriptors")
                    .plainer(FaultKind::Partition),
            );
        }
        /// A fault of a node's clock.
        Clock ClockFault {
            /// The node's clock is put forward. With a negative `by_ms` it is put back, which is
            /// another kind.
            17 ClockStep { by_ms: i64 = 300 } =>
                Row::moment("clock-step", "a node's clock is put forward")
                    .breaks(&[Waits, PromptEffects])
                    .shown_under_a_leader("clock-stepped-under-a-leader");
        }
    }
    of_no_node {
        /// A fault of the links of all nodes, one after the other.
        Links LinksFault {
            /// All nodes are partitioned one by one, `step_ms` after each other, and healed one by
            /// one in an order that begins `shift` nodes further on. It counts as one fault for
            /// each node.
            8 Swizzle { step_ms: u64 = 50, shift: usize = 1 } => on_the_way(
                Row::lasting("swizzle", "all nodes are partitioned one by one, and heal in another order")
                    .cuts_off()
                    .plainer(FaultKind::Partition),
            );
        }
        /// A fault of the store.
        Store StoreFault {
            /// The store's process crashes, and starts again with its data.
            22 StoreCrash => Row::lasting("store-crash", "the store restarts with its data")
                .drawn_for(OUTAGE)
                .replaces_the_store();
            /// The store's process crashes, and starts again without its data.
            23 StoreLoss => Row::lasting("store-loss", "the store restarts without its data")
                .drawn_for(OUTAGE)
                .loses_data();
            /// The store's process crashes, and starts again with the data of `back_ms` before.
            24 StoreRollback { back_ms: u64 = 1_000 } =>
                Row::lasting("store-rollback", "the store restarts with older data")
                    .drawn_for(OUTAGE)
                    .loses_data()
                    .not_in_turmoil(NO_OLDER_DATA)
                    .not_in_real(NO_OLDER_DATA)
                    .plainer(FaultKind::StoreLoss)
                    .shown_under_a_leader("store-rolled-back-under-a-leader");
            /// The store's machine fails, and a replica replaces it at the end of the fault: with
            /// the data of `lag_ms` before, and a clock that is ahead by that much, or behind. In
            /// `real` they have one clock.
            25 Failover { lag_ms: u64 = 0, clock_ahead_ms: i64 = 0 } =>
                Row::lasting("failover", "a lagging replica takes the store's place")
                    .drawn_for(OUTAGE)
                    .loses_data()
                    .may_break(&[WallClock], "that clock is behind")
                    .not_in_turmoil(NO_REPLICA)
                    .real_needs(Need::Replica, "has one server, without a replica")
                    .plainer(FaultKind::StoreLoss)
                    .shown_under_a_leader("failover-under-a-leader");
            /// The store answers nothing until the fault ends; then it answers all requests that
            /// have arrived.
            27 StoreStall => Row::lasting("store-stall", "the store answers nothing for a while")
                .drawn_for(OUTAGE)
                .plainer(FaultKind::StoreCrash);
            /// The store's clock is put forward. With a negative `by_ms` it is put back, which is
            /// another kind.
            28 StoreClockStep { by_ms: i64 = 300 } =>
                Row::moment("store-clock-step", "the store's clock is put forward")
                    .real_needs(Need::Clock, MACHINE_CLOCK)
                    .shown_under_a_leader("store-clock-stepped-under-a-leader");
        }
    }
    acts {
        /// The server ends all connections of candidates: `CLIENT KILL`, `pg_terminate_backend`.
        35 Disconnect => at_a_server(
            Row::moment("disconnect", "the server ends all connections")
                .shown_under_a_leader("disconnected-under-a-leader"),
            "has no server that ends a client's connections on order",
        );
        /// The server forgets the scripts that it was given: `SCRIPT FLUSH`.
        36 FlushScripts => at_a_server(
            Row::moment("flush-scripts", "the server forgets its scripts")
                .shown_under_a_leader("scripts-flushed-under-a-leader"),
            "has no scripts that its server could forget",
        );
        /// All data is deleted, and the server runs on: `FLUSHALL`, or all Leases are deleted, or
        /// an etcd is restored under its API server. A loss of data, as `store-loss` is.
        37 FlushData => at_a_server(
            Row::moment("flush-data", "all data is deleted, and the server runs on")
                .loses_data()
                .shown_under_a_leader("data-flushed-under-a-leader"),
            "has no command that deletes all data of a server that runs on",
        );
        /// The server's memory is full (`maxmemory`): it refuses what would take more, until the
        /// act ends.
        38 FillMemory => at_a_server(
            Row::lasting("fill-memory", "the server's memory is full")
                // It is felt only when a lease is granted, and so while no candidate leads.
                .drawn_for(|ttl_ms| ttl_ms..=3 * ttl_ms)
                .shown_by_its_effect("grant-refused-for-memory"),
            "has no limit of its memory",
        );
        /// Another session keeps the election's row locked until the act ends:
        /// `SELECT .. FOR UPDATE`.
        39 LockRow => at_a_server(
            Row::lasting("lock-row", "another session locks the election's row")
                .drawn_for(LOCK)
                .plainer(FaultKind::StoreStall)
                .shown_under_a_leader("row-locked-under-a-leader"),
            "has no rows that another session could lock",
        );
        /// Another session keeps the whole table locked until the act ends, for readers too:
        /// `ACCESS EXCLUSIVE`.
        40 LockTable => at_a_server(
            Row::lasting("lock-table", "another session locks the whole table")
                .drawn_for(LOCK)
                .plainer(FaultKind::StoreStall)
                .shown_under_a_leader("table-locked-under-a-leader"),
            "has no table that another session could lock",
        );
        /// A pooler is put between candidates and the server until the act ends: a pgbouncer that
        /// hands out sessions for each transaction.
        41 Pooler => at_a_server(
            Row::lasting("pooler", "a pooler is put in front of the server")
                .plainer(FaultKind::StoreStall)
                .shown_under_a_leader("pooler-under-a-leader"),
            "has no pooler for its server",
        );
        /// The password of candidates is another one until the act ends, and their connections end.
        42 RotatePassword => at_a_server(
            Row::lasting("rotate-password", "the password of candidates is another one for a while")
                .plainer(FaultKind::StoreStall)
                .shown_under_a_leader("login-refused-under-a-leader"),
            "has servers without passwords",
        );
        /// The files that are kept beside the store's file are deleted, though nothing is lost with
        /// them.
        43 DeleteLog => at_a_server(
            Row::moment("delete-log", "the files beside the store's file are deleted")
                .plainer(FaultKind::StoreCrash)
                .shown_under_a_leader("log-deleted-under-a-leader"),
            "has no files beside a file of the store",
        );
        /// One member of a cluster is killed, the one with the most connections of candidates, and
        /// starts again with its data when the act ends.
        44 KillMember => at_a_server(
            Row::lasting("kill-member", "a member is killed, and starts again")
                .plainer(FaultKind::StoreCrash)
                .shown_under_a_leader("member-killed-under-a-leader"),
            "has no member that the others do without",
        );
        /// The member that leads the others is paused until the act ends, for up to 900 ms, beyond
        /// its election timeout.
        45 PauseRaftLeader => at_a_server(
            Row::lasting("pause-raft-leader", "the member that leads the others is paused")
                .drawn_for(|_| RAFT_PAUSE_LEAST_MS..=RAFT_PAUSE_MOST_MS)
                .plainer(FaultKind::StoreStall)
                .shown_under_a_leader("raft-leader-paused-under-a-leader"),
            NO_MEMBERS,
        );
        /// The member that leads the others hands its leadership to another one: `MoveLeader`.
        46 MoveRaftLeader => at_a_server(
            Row::moment("move-raft-leader", "the members are led by another one of them")
                .shown_under_a_leader("raft-leader-moved-under-a-leader"),
            NO_MEMBERS,
        );
        /// The server ends the one connection over which the present lease was renewed last:
        /// `pg_terminate_backend`.
        47 DisconnectLeader => at_a_server(
            Row::moment("disconnect-leader", "the server ends the leader's connection alone")
                .plainer(FaultKind::Cut)
                .shown_under_a_leader("leader-disconnected"),
            "has no server that ends one session on order",
        );
        /// Sentinels promote the replica while its primary is up, which only candidates can reach,
        /// and which answers them until the act ends. In the end it becomes the replica. A loss of
        /// data, as `failover` is.
        49 SplitBrain => at_a_server(
            Row::lasting("split-brain", "a replica is promoted while its primary answers candidates")
                // The promotion and the quarantine after it are a part of it.
                .drawn_for(|ttl_ms| 2 * ttl_ms..=4 * ttl_ms)
                .loses_data()
                .plainer(FaultKind::Failover),
            "has no sentinels that replace a primary which is up",
        );
        /// The slot of the election is moved to another primary of a cluster, with all that it
        /// holds (`MIGRATE`). Candidates are redirected for each request until the act ends
        /// (`ASK`), and find the other primary from then on (`MOVED`).
        50 MoveSlot => at_a_server(
            Row::lasting("move-slot", "the election's slot moves to another primary")
                .replaces_the_store()
                .plainer(FaultKind::StoreCrash)
                .shown_under_a_leader("slot-moved-under-a-leader"),
            "has no slots that move from one primary to another",
        );
        /// The file system of the store's file is full until the act ends: another program writes
        /// until no space is left, and takes what becomes free.
        51 FillDisk => at_a_server(
            Row::lasting("fill-disk", "the file system of the store's file is full")
                // Long enough for a request that writes, and some take a leader's lease.
                .drawn_for(|ttl_ms| ttl_ms / 2..=2 * ttl_ms)
                .plainer(FaultKind::StoreStall)
                .shown_under_a_leader("disk-full-under-a-leader"),
            "has no file of the store on a disk that could be full",
        );
        /// The server's certificate has expired, and the connections of candidates end. It is
        /// renewed when the act ends.
        52 ExpireCertificate => at_a_server(
            Row::lasting("expire-certificate", "the server's certificate has expired, and is renewed")
                .plainer(FaultKind::StoreStall)
                .shown_under_a_leader("certificate-expired-under-a-leader"),
            "has no encrypted connections between candidates and a server",
        );
        /// The rights of candidates are taken away until the act ends, though they may log in:
        /// those to read and write Leases.
        54 RevokeRights => at_a_server(
            Row::lasting("revoke-rights", "the rights of candidates are taken away for a while")
                .plainer(FaultKind::StoreStall)
                .shown_under_a_leader("rights-revoked-under-a-leader"),
            "has no rights that are taken away",
        );
    }
    further {
        /// A pause between a check of leadership and the write that follows.
        10 PauseAtGuard = PAUSE => Row::lasting(
            "pause-at-guard",
            "a process is paused between a check and its effect",
        )
        .pauses()
        .needs_a_process();
        /// A pause between the decision to send a request and its sending.
        11 PauseAtSend = PAUSE => Row::lasting(
            "pause-at-send",
            "a process is paused right before it sends",
        )
        .pauses()
        .needs_a_process();
        /// A pause directly after sending, so that the reply waits.
        12 PauseAfterSend = PAUSE => Row::lasting(
            "pause-after-send",
            "a process is paused right after it sends",
        )
        .pauses()
        .needs_a_process();
        /// A pause directly before a reply is read that has arrived.
        13 PauseAtReply = PAUSE => Row::lasting(
            "pause-at-reply",
            "a process is paused right before it reads a reply",
        )
        .pauses()
        .needs_a_process()
        .not_in_turmoil(NO_REPLIES);
        /// The node's clock is put back.
        18 ClockBack = Some(ClockFault::ClockStep { by_ms: -300 }.at(None)) =>
            Row::moment("clock-back", "a node's clock is put back")
                .breaks(&[CandidateClocks])
                .shown_under_a_leader("clock-stepped-under-a-leader");
        /// The store's clock is put back.
        29 StoreClockBack = Some(What::Store(StoreFault::StoreClockStep { by_ms: -300 })) =>
            Row::moment("store-clock-back", "the store's clock is put back")
                .may_break(&[WallClock], "the store also loses data")
                .real_needs(Need::Clock, MACHINE_CLOCK)
                .shown_under_a_leader("store-clock-stepped-under-a-leader");
        /// Every clock's rate is off for the whole run, often by the whole drift bound.
        30 Drift = None => Row::lasting("drift", "clocks differ in rate, up to the drift bound")
            .for_the_whole_run();
    }
}
