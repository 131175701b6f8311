//! A PostgreSQL server, observed by triggers on the lease table.

mod acts;

use std::sync::Arc;

use tenure_servers::{PostgresServer, Proxy, ServerError};

use super::orders::Done;
use crate::engines::real::login;
use crate::engines::real::steps::postgres::Table;
use crate::engines::real::steps::{Answers, Steps};
use crate::plan::Act;
use acts::Acts;

pub(super) struct Observed {
    server: PostgresServer,
    table: Table,
    acts: Acts,
}

impl Observed {
    pub(super) fn start() -> Result<Self, ServerError> {
        let server = PostgresServer::start_with(&[acts::NAMES_SESSIONS])?;
        Table::install(&server)?;
        acts::lets_in(&server)?;
        Ok(Self { server, table: Table::default(), acts: Acts::default() })
    }

    pub(super) fn port(&self) -> u16 {
        self.server.port()
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
        let lost_a_record = table.is_replaced(keeps_data);
        if keeps_data {
            acts::has_password(server, login::PASSWORD)?;
        } else {
            server.replace()?;
            Table::install(server)?;
            acts::lets_in(server)?;
        }
        Ok(lost_a_record)
    }

    fn begins(&mut self, act: Act) -> Result<Done, ServerError> {
        self.acts.begins(act, &self.server)
    }

    fn ends(&mut self, act: Act) -> Result<bool, ServerError> {
        self.acts.ends(act, &self.server)
    }

    fn steps(&mut self, _: &Answers) -> Result<Steps, ServerError> {
        self.table.read(&self.server)?;
        Ok(Steps { all: self.table.take(), has_gaps: true })
    }
}
