//! A store of leases as somebody may write it, with one condition forgotten. The simulation finds it.
//!
//! `cargo run -p tenure-sim --example user_store --no-default-features`

#![allow(clippy::print_stdout, reason = "an example tells what it found")]

use std::time::Duration;

use tenure_sim::Simulation;
use tenure_sim::simulation::{
    HolderId, Instant, Lease, Moment, Reply, Request, SimulationError, StoreModel, Token,
};

/// A table with one row. `CAREFUL` is what the fixed version has.
#[derive(Clone, Debug, Default)]
struct Table<const CAREFUL: bool> {
    row: Option<Row>,
    /// Which server wrote the row, and since when it knows who leads.
    server: Option<(u128, Instant)>,
    /// The longest lease that it granted.
    longest: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    token: Token,
    holder: HolderId,
    ends: Instant,
    ttl: Duration,
    quarantine: Duration,
    released: bool,
}

impl Row {
    fn is_live(&self, now: Instant) -> bool {
        !self.released && now < self.ends
    }

    fn extend(&mut self, now: Instant, ttl: Duration) {
        (self.ends, self.ttl) = (self.ends.max(now + ttl), ttl);
    }
}

impl<const CAREFUL: bool> StoreModel for Table<CAREFUL> {
    fn apply(&mut self, at: Moment, request: Request) -> Reply {
        let now = at.now;
        match (request, &mut self.row) {
            (Request::Acquire { holder, ttl, .. }, Some(row))
                if row.is_live(now) && row.holder == holder =>
            {
                row.extend(now, ttl);
                self.grant(at, request)
            }
            (Request::Acquire { ttl, quarantine, .. }, Some(row))
                if row.is_live(now) && (ttl > row.quarantine || quarantine < row.ttl) =>
            {
                Reply::Refused { ttl: row.ttl, quarantine: Some(row.quarantine) }
            }
            (Request::Acquire { .. }, Some(row)) if row.is_live(now) => {
                let remaining = row.ends.since(now).min(row.ttl);
                Reply::Held { token: row.token, remaining, ttl: row.ttl }
            }
            (Request::Acquire { seen, .. }, Some(row)) if seen < Some(row.token) => {
                Reply::Stale { last: row.token }
            }
            (Request::Acquire { holder, seen, ttl, quarantine }, row) => {
                let above = seen.max(row.map(|row| row.token)).map_or(Token::FIRST, Token::next);
                let clock = Token::new(now.as_nanos() / 1_000);
                let token = clock.map_or(above, |clock| clock.max(above));
                let lost = seen > row.map(|row| row.token);
                let (ends, released) = (now + ttl, false);
                *row = Some(Row { token, holder, ends, ttl, quarantine, released });
                if lost {
                    self.server = None;
                }
                self.grant(at, request)
            }
            // UPDATE leases SET ends = now() + $ttl
            //   WHERE holder = $holder AND token = $token AND NOT released [AND now() < ends]
            (Request::Renew { holder, token, ttl }, Some(row))
                if (row.holder, row.token, row.released) == (holder, token, false)
                    && (!CAREFUL || row.is_live(now)) =>
            {
                row.extend(now, ttl);
                if self.server.is_none_or(|(server, _)| server != at.identity) {
                    // Else its restart would cost a wait at the next handover, however late.
                    self.longest = self.longest.max(ttl);
                    self.server = Some((at.identity, now + self.longest));
                }
                Reply::Renewed
            }
            (Request::Renew { .. }, row) => Reply::Superseded { last: row.map(|row| row.token) },
            (Request::Release { holder, token }, Some(row))
                if (row.holder, row.token) == (holder, token) && row.is_live(now) =>
            {
                row.released = true;
                Reply::Released
            }
            (Request::Release { .. }, _) => Reply::NotHeld,
        }
    }

    fn lease(&self) -> Option<Lease> {
        let Row { token, holder, ends, released, .. } = self.row?;
        Some(Lease { token, holder, ends, released })
    }
}

impl<const CAREFUL: bool> Table<CAREFUL> {
    /// The row is the candidate's. Leaders of a server that is gone may be left, so it may have to wait.
    fn grant(&mut self, at: Moment, request: Request) -> Reply {
        let (Some(row), Request::Acquire { quarantine, .. }) = (self.row, request) else {
            return Reply::NotHeld;
        };
        let known = self.server.filter(|(server, _)| *server == at.identity);
        let since = known.map_or(at.now, |(_, since)| since.min(at.now));
        self.server = Some((at.identity, since));
        self.longest = self.longest.max(row.ttl);
        let wait = (since + quarantine.max(self.longest)).since(at.now);
        Reply::Granted { token: row.token, wait }
    }
}

fn main() {
    println!("careless: {}", told(&Simulation::new().runs(2_000).store::<Table<false>>()));
    println!("careful: {}", told(&Simulation::new().runs(2_000).store::<Table<true>>()));
}

fn told(simulation: &Simulation) -> String {
    match simulation.run() {
        Ok(report) => format!("held in {} runs", report.summary.runs),
        Err(SimulationError::Failed(failed)) => format!("{failed}\n"),
        Err(error) => error.to_string(),
    }
}
