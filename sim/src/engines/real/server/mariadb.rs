//! A MariaDB server, observed by triggers on the tables, with an asynchronous replica if one will
//! be promoted.
//!
//! Nothing promotes it but an order. Candidates know one address, which leads to the new primary
//! then, as a virtual address does. The entries of the triggers are replicated too: what the
//! replica lacks of them was lost.

mod acts;

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use tenure_servers::{MariadbServer, Proxy, ServerError};

use super::certificates::Certificates;
use super::orders::Done;
use crate::engines::real::clock::boot_clock;
use crate::engines::real::login;
use crate::engines::real::steps::mariadb::{Tables, last_entry};
use crate::engines::real::steps::{Answers, Steps};
use crate::plan::Act;
use acts::Acts;

/// A killed process loses nothing that it has written, be it on disk or not. What a replica has
/// received it passes on, once it is the primary.
const SETTINGS: [&str; 5] = [
    acts::NOTES_ERRORS,
    "--innodb-flush-log-at-trx-commit=2",
    "--log-bin",
    "--log-slave-updates",
    "--binlog-format=ROW",
];
/// The connections to replicas.
const FOLLOWERS: &str =
    "SELECT id FROM information_schema.PROCESSLIST WHERE command LIKE 'Binlog Dump%'";

pub(super) struct Observed {
    server: MariadbServer,
    /// True if the primary should have a replica, and the one that it has.
    fails_over: bool,
    replica: Option<MariadbServer>,
    /// The number of servers until now: each has one of its own.
    servers: u32,
    /// The primary that was taken away, whose tables are not read yet, and the last entry that its
    /// replica had.
    old: Option<(MariadbServer, u64)>,
    tables: Tables,
    acts: Acts,
}

impl Observed {
    pub(super) fn start(
        fails_over: bool,
        certificates: Option<Certificates>,
    ) -> Result<Self, ServerError> {
        let acts = Acts::with(certificates);
        let server = MariadbServer::start_with(&borrowed(&settings(&acts, 1)))?;
        Tables::install(&server)?;
        acts::lets_in(&server)?;
        let (replica, old, tables) = (None, None, Tables::default());
        let mut observed = Self { server, fails_over, replica, servers: 1, old, tables, acts };
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
        self.servers += 1;
        match self.server.replica(&borrowed(&settings(&self.acts, self.servers))) {
            Ok(replica) => self.replica = Some(replica),
            Err(ServerError::NotReady { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

fn settings(acts: &Acts, number: u32) -> Vec<String> {
    let own = [format!("--server-id={number}")];
    SETTINGS.into_iter().map(str::to_owned).chain(own).chain(acts.encrypts()).collect()
}

fn borrowed(settings: &[String]) -> Vec<&str> {
    settings.iter().map(String::as_str).collect()
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
        self.server.kill()?;
        self.acts.are_gone();
        Ok(())
    }

    fn starts_again(&mut self, keeps_data: bool) -> Result<bool, ServerError> {
        self.acts.renews()?;
        let Self { server, tables, .. } = self;
        // What the killed server has done is read before its data is gone.
        server.restart()?;
        tables.read(server)?;
        let mut lost_a_record = tables.is_replaced(keeps_data);
        if keeps_data {
            acts::has_password(server, login::PASSWORD)?;
        } else {
            self.replica = None;
            server.replace()?;
            Tables::install(server)?;
            lost_a_record &= !Tables::has_a_record(server)?;
            acts::lets_in(server)?;
        }
        self.is_followed()?;
        Ok(lost_a_record)
    }

    fn fails_over(&mut self, lag: Duration) -> Result<Option<u64>, ServerError> {
        if self.server.pid().is_none() {
            return Ok(None);
        }
        self.server.resume()?;
        let followers = self.server.sql(FOLLOWERS)?;
        if followers.is_empty() {
            return Ok(None);
        }
        let Some(mut replica) = self.replica.take() else { return Ok(None) };
        if !lag.is_zero() {
            // It gets nothing more. The primary alone has what follows.
            replica.pause()?;
            for follower in followers.lines() {
                self.server.sql(&format!("KILL {follower}"))?;
            }
            sleep(lag);
        }
        self.acts.shuts();
        self.server.kill()?;
        let at = boot_clock();
        replica.resume()?;
        replica.promote()?;
        let last = last_entry(&replica)?;
        self.old = Some((std::mem::replace(&mut self.server, replica), last));
        // It may not be the one that the old primary had at last.
        acts::has_password(&self.server, login::PASSWORD)?;
        self.acts.shows(&self.server, super::certificates::Shown::Valid)?;
        self.acts.are_gone();
        self.acts.leads_to(self.server.port());
        Ok(Some(at))
    }

    /// Reads the old primary's tables, which alone have what the replica lacks.
    fn settles(&mut self) -> Result<(), ServerError> {
        let Some((mut old, last)) = self.old.take() else { return Ok(()) };
        old.restart()?;
        self.tables.read(&old)?;
        self.tables.is_promoted(last);
        Ok(())
    }

    /// Copies anew: the old primary has what the new one lacks.
    fn rejoins(&mut self) -> Result<(), ServerError> {
        if self.server.pid().is_none() { Ok(()) } else { self.is_followed() }
    }

    fn begins(&mut self, act: Act) -> Result<Done, ServerError> {
        self.acts.begins(act, &self.server)
    }

    fn ends(&mut self, act: Act) -> Result<bool, ServerError> {
        self.acts.ends(act, &self.server)
    }

    fn steps(&mut self, answers: &Answers) -> Result<Steps, ServerError> {
        self.tables.read(&self.server)?;
        Ok(self.tables.take(answers))
    }
}
