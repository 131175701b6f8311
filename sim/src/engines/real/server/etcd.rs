//! An etcd cluster of one member, observed by a watch.

use tenure_servers::{EtcdServer, ServerError};

use crate::engines::real::steps::etcd::Watch;
use crate::engines::real::steps::{Answers, Steps};
use crate::engines::real::target::ETCD_ELECTION_MS;

pub(super) struct Observed {
    server: EtcdServer,
    watch: Watch,
}

impl Observed {
    pub(super) fn start() -> Result<Self, ServerError> {
        let election = ETCD_ELECTION_MS.to_string();
        let args = ["--heartbeat-interval", "20", "--election-timeout", &election];
        let (server, mut watch) = (EtcdServer::start_with(&args)?, Watch::default());
        watch.attach(&server)?;
        Ok(Self { server, watch })
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
        self.server.kill()?;
        self.watch.detach();
        Ok(())
    }

    fn starts_again(&mut self, keeps_data: bool) -> Result<bool, ServerError> {
        let Self { server, watch } = self;
        // What the killed server has done is read before its data is gone.
        server.restart()?;
        watch.attach(server)?;
        if keeps_data {
            return Ok(false);
        }
        watch.shows_all(server)?;
        server.restart_empty()?;
        watch.detach();
        let lost_a_record = watch.is_replaced();
        watch.attach(server)?;
        Ok(lost_a_record)
    }

    fn steps(&mut self, answers: &Answers) -> Result<Steps, ServerError> {
        self.watch.shows_all(&self.server)?;
        Ok(Steps { all: self.watch.steps(answers), has_gaps: true })
    }
}
