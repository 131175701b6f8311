//! A Redis server, observed by its MONITOR stream.

mod acts;

use tenure_servers::{RedisServer, Reply, ServerError};

use super::certificates::Certificates;
use super::clock::Clock;
use super::orders::Done;
use crate::engines::real::steps::redis::{Monitor, has_a_record};
use crate::engines::real::steps::{Answers, Steps};
use crate::plan::Act;
pub(super) use acts::{Acts, UNLIMITED, accepted, number, text, unexpected};

/// A killed process loses nothing that it has written, be it on disk or not.
pub(super) const KEEPS: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "no"];

pub(super) struct Observed {
    server: RedisServer,
    clock: Clock,
    monitor: Monitor,
    /// The reading of its clock then, in microseconds.
    killed_at: u64,
    acts: Acts,
}

impl Observed {
    pub(super) fn start(
        clock: Clock,
        certificates: Option<Certificates>,
    ) -> Result<Self, ServerError> {
        let encrypts = acts::encrypts(certificates.as_ref());
        let args: Vec<_> = KEEPS.into_iter().chain(encrypts.iter().map(String::as_str)).collect();
        let server = match clock.own() {
            Some(own) => RedisServer::start_with_clock(&args, own)?,
            None => RedisServer::start_with(&args)?,
        };
        let mut monitor = Monitor::new();
        monitor.has_clock(clock.time());
        acts::lets_in(&server)?;
        monitor.attach(&server)?;
        Ok(Self { server, clock, monitor, killed_at: 0, acts: Acts::with(certificates) })
    }

    /// The port for candidates.
    pub(super) fn port(&self) -> u16 {
        self.server.tls_port().unwrap_or(self.server.port())
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
        self.killed_at = self.clock.reading();
        Ok(())
    }

    fn starts_again(&mut self, keeps_data: bool) -> Result<bool, ServerError> {
        let Self { server, monitor, killed_at, acts, .. } = self;
        acts.renews()?;
        server.restart()?;
        let had_a_record = monitor.is_replaced(server, *killed_at, keeps_data)?;
        if !keeps_data {
            server.restart_empty()?;
        }
        acts::lets_in(server)?;
        monitor.attach(server)?;
        Ok(had_a_record && !has_a_record(server)?)
    }

    fn steps_clock(&mut self, by_ms: i64) -> Result<bool, ServerError> {
        let Self { server, clock, monitor, .. } = self;
        // The server may have answered one request before others that had arrived earlier; the
        // second time there are none.
        monitor.shows_all(server)?;
        monitor.shows_all(server)?;
        let is_set = clock.step(by_ms, |_| time(server))?;
        monitor.has_clock(clock.time());
        Ok(is_set)
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

/// The server's time, in microseconds since 1970.
fn time(server: &RedisServer) -> Result<u64, ServerError> {
    const TIME: [&str; 1] = ["TIME"];
    let reply = server.command(&TIME)?;
    let number = |part: &Reply| match part {
        Reply::BulkString(text) => std::str::from_utf8(text).ok()?.parse::<u64>().ok(),
        _ => None,
    };
    let parts = match &reply {
        Reply::Array(parts) => parts.iter().map(number).collect::<Option<Vec<_>>>(),
        _ => None,
    };
    match parts.as_deref() {
        Some([seconds, micros]) => Ok(seconds * 1_000_000 + micros),
        _ => Err(unexpected(server, &TIME, &reply)),
    }
}
