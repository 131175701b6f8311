//! A Redis server, observed by its MONITOR stream.

mod acts;

use tenure_servers::{RedisServer, ServerError};

use super::orders::Done;
use crate::engines::real::clock::wall_clock;
use crate::engines::real::steps::redis::Monitor;
use crate::engines::real::steps::{Answers, Steps};
use crate::plan::Act;
pub(super) use acts::{Acts, UNLIMITED, accepted, number, text, unexpected};

/// A killed process loses nothing that it has written, be it on disk or not.
pub(super) const KEEPS: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "no"];

pub(super) struct Observed {
    server: RedisServer,
    monitor: Monitor,
    killed_at: u64,
    acts: Acts,
}

impl Observed {
    pub(super) fn start() -> Result<Self, ServerError> {
        let (server, mut monitor) = (RedisServer::start_with(&KEEPS)?, Monitor::new());
        acts::lets_in(&server)?;
        monitor.attach(&server)?;
        Ok(Self { server, monitor, killed_at: 0, acts: Acts::default() })
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
        self.monitor.detach();
        self.killed_at = wall_clock();
        Ok(())
    }

    fn starts_again(&mut self, keeps_data: bool) -> Result<bool, ServerError> {
        let Self { server, monitor, killed_at, .. } = self;
        server.restart()?;
        let lost_a_record = monitor.is_replaced(server, *killed_at, keeps_data)?;
        if !keeps_data {
            server.restart_empty()?;
        }
        acts::lets_in(server)?;
        monitor.attach(server)?;
        Ok(lost_a_record)
    }

    fn begins(&mut self, act: Act) -> Result<Done, ServerError> {
        self.acts.begins(act, &self.server, &self.monitor)
    }

    fn ends(&mut self, act: Act) -> Result<bool, ServerError> {
        self.acts.ends(act, &self.server)
    }

    fn steps(&mut self, _: &Answers) -> Result<Steps, ServerError> {
        self.monitor.shows_all(&self.server)?;
        Ok(self.monitor.steps())
    }
}
