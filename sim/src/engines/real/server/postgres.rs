//! A PostgreSQL server, observed by triggers on the lease table, with an asynchronous replica if
//! one will be promoted.
//!
//! Nothing promotes it but an order. Candidates know one address, which leads to the new primary
//! then, as a virtual address does. The entries of the triggers are replicated too: what the
//! replica lacks of them was lost.

mod acts;

use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tenure_servers::{PostgresServer, Proxy, ServerError};

use super::certificates::Certificates;
use super::clock::Clock;
use super::orders::Done;
use crate::engines::real::clock::boot_clock;
use crate::engines::real::login;
use crate::engines::real::steps::postgres::{Promoted, Table};
use crate::engines::real::steps::{Answers, Steps};
use crate::plan::Act;
use acts::Acts;

/// A replica tries this often to follow a primary that has started again.
const SETTINGS: [&str; 2] = [acts::NAMES_SESSIONS, "wal_retrieve_retry_interval=100ms"];
const FOLLOWERS: &str = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
/// The connections to replicas end.
const CUT_OFF: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_replication";

/// No request changes a row until this session ends. Another lock may be in the way, which outlasts
/// this wait.
const KEEP_OUT: &str =
    "BEGIN; SET LOCAL lock_timeout = '500ms'; LOCK TABLE tenure.leases IN EXCLUSIVE MODE";
/// Requests that have read the clock and not ended.
const UNDER_WAY: &str = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' \
    AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
const TIME: &str = "SELECT tenure.leases_micros(clock_timestamp())";
const ENDS_WITHIN: Duration = Duration::from_millis(500);

pub(super) struct Observed {
    server: PostgresServer,
    clock: Clock,
    /// True if the primary should have a replica, and the one that it has.
    fails_over: bool,
    replica: Option<PostgresServer>,
    /// The primary that was taken away, whose table is not read yet, and what its replica had of
    /// it.
    old: Option<(PostgresServer, Promoted)>,
    table: Table,
    acts: Acts,
}

impl Observed {
    pub(super) fn start(
        fails_over: bool,
        clock: Clock,
        certificates: Option<Certificates>,
    ) -> Result<Self, ServerError> {
        let server = match clock.own() {
            Some(own) => PostgresServer::start_with_clock(&SETTINGS, own)?,
            None => PostgresServer::start_with(&SETTINGS)?,
        };
        Table::install(&server)?;
        acts::lets_in(&server)?;
        let (mut table, acts) = (Table::default(), Acts::with(certificates));
        table.has_clock(clock.time());
        acts.renews(&server)?;
        let (replica, old) = (None, None);
        let mut observed = Self { server, clock, fails_over, replica, old, table, acts };
        observed.is_followed()?;
        Ok(observed)
    }

    pub(super) fn port(&self) -> u16 {
        self.server.port()
    }

    /// The primary has a replica, if it should. One that can't be started in time is left out:
    /// failovers that come later have no effect, which is counted.
    fn is_followed(&mut self) -> Result<(), ServerError> {
        if !self.fails_over || self.replica.is_some() {
            return Ok(());
        }
        match self.server.replica(&SETTINGS) {
            Ok(replica) => self.replica = Some(replica),
            Err(ServerError::NotReady { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl super::Observed for Observed {
    fn has_gates(&mut self, gates: &Arc<[Proxy]>) {
        self.acts.has_gates(gates);
    }

    fn pause(&mut self) -> Result<(), ServerError> {
        self.server.pause()
    }

    fn resume(&mut self) -> Result<(), ServerError> {
        self.server.resume()
    }

    /// The replica, if there is one, waits for the primary.
    fn crash(&mut self) -> Result<(), ServerError> {
        self.server.stop()?;
        self.acts.are_gone(&self.server);
        Ok(())
    }

    fn starts_again(&mut self, keeps_data: bool) -> Result<bool, ServerError> {
        let Self { server, table, .. } = self;
        // What the killed server has done is read before its data is gone.
        server.restart()?;
        table.read(server)?;
        let mut lost_a_record = table.is_replaced(keeps_data);
        if keeps_data {
            acts::has_password(server, login::PASSWORD)?;
        } else {
            self.replica = None;
            server.replace()?;
            Table::install(server)?;
            lost_a_record &= !Table::has_a_record(server)?;
            acts::lets_in(server)?;
        }
        self.acts.renews(&self.server)?;
        self.is_followed()?;
        Ok(lost_a_record)
    }

    fn fails_over(&mut self, lag: Duration) -> Result<Option<u64>, ServerError> {
        if self.server.pid().is_none() {
            return Ok(None);
        }
        self.server.resume()?;
        if self.server.sql(FOLLOWERS)? == "0" {
            return Ok(None);
        }
        let Some(replica) = self.replica.take() else { return Ok(None) };
        if !lag.is_zero() {
            // It gets nothing more. The primary alone has what follows.
            replica.pause()?;
            self.server.sql(CUT_OFF)?;
            sleep(lag);
        }
        self.acts.shuts();
        self.server.stop()?;
        let at = boot_clock();
        replica.resume()?;
        replica.promote()?;
        let promoted = Promoted::read(&replica)?;
        self.old = Some((std::mem::replace(&mut self.server, replica), promoted));
        // It may not be the one that the old primary had at last.
        acts::has_password(&self.server, login::PASSWORD)?;
        // It was copied with the certificate of that moment.
        self.acts.renews(&self.server)?;
        self.acts.are_gone(&self.server);
        self.acts.leads_to(self.server.port());
        Ok(Some(at))
    }

    /// Reads the old primary's table, which alone has what the replica lacks.
    fn settles(&mut self) -> Result<(), ServerError> {
        let Some((mut old, promoted)) = self.old.take() else { return Ok(()) };
        old.restart()?;
        self.table.read(&old)?;
        old.stop()?;
        self.table.is_promoted(promoted);
        Ok(())
    }

    /// Copies anew: the old primary has what the new one lacks.
    fn rejoins(&mut self) -> Result<(), ServerError> {
        if self.server.pid().is_none() { Ok(()) } else { self.is_followed() }
    }

    /// Without the lock, or while a request waits for another one, the clock stays as it is: that
    /// is no effect, and counted.
    fn steps_clock(&mut self, by_ms: i64) -> Result<bool, ServerError> {
        let Self { server, clock, table, .. } = self;
        let mut session = server.session()?;
        if session.sql(KEEP_OUT).is_err() {
            return Ok(false);
        }
        let began = Instant::now();
        while session.sql(UNDER_WAY)? != "0" {
            if began.elapsed() > ENDS_WITHIN {
                return Ok(false);
            }
            sleep(Duration::from_millis(5));
        }
        table.read(server)?;
        let is_set = clock.step(by_ms, |_| {
            let told = session.sql(TIME)?;
            let detail = || format!("{told:?} is no time");
            told.parse()
                .map_err(|_| ServerError::Protocol { port: server.port(), detail: detail() })
        })?;
        table.has_clock(clock.time());
        Ok(is_set)
    }

    fn begins(&mut self, act: Act) -> Result<Done, ServerError> {
        self.acts.begins(act, &self.server)
    }

    fn ends(&mut self, act: Act) -> Result<bool, ServerError> {
        self.acts.ends(act, &self.server)
    }

    fn steps(&mut self, answers: &Answers) -> Result<Steps, ServerError> {
        self.table.read(&self.server)?;
        Ok(self.table.take(answers))
    }
}
