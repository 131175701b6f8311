//! A PostgreSQL server, observed by triggers on the lease table.

use tenure_servers::{PostgresServer, ServerError};

use crate::engines::real::steps::postgres::Table;
use crate::engines::real::steps::{Answers, Steps};

pub(super) struct Observed {
    server: PostgresServer,
    table: Table,
}

impl Observed {
    pub(super) fn start() -> Result<Self, ServerError> {
        let server = PostgresServer::start()?;
        Table::install(&server)?;
        Ok(Self { server, table: Table::default() })
    }

    pub(super) fn port(&self) -> u16 {
        self.server.port()
    }
}

impl super::Observed for Observed {
    fn pause(&mut self) -> Result<(), ServerError> {
        self.server.pause()
    }

    fn resume(&mut self) -> Result<(), ServerError> {
        self.server.resume()
    }

    fn crash(&mut self) -> Result<(), ServerError> {
        self.server.stop()
    }

    fn starts_again(&mut self, keeps_data: bool) -> Result<bool, ServerError> {
        let Self { server, table } = self;
        // What the killed server has done is read before its data is gone.
        server.restart()?;
        table.read(server)?;
        let lost_a_record = table.is_replaced(keeps_data);
        if !keeps_data {
            server.replace()?;
            Table::install(server)?;
        }
        Ok(lost_a_record)
    }

    fn steps(&mut self, _: &Answers) -> Result<Steps, ServerError> {
        self.table.read(&self.server)?;
        Ok(Steps { all: self.table.take(), has_gaps: true })
    }
}
