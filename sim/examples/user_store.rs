//! A store of leases as a user may write it, with one comparison forgotten. The simulation finds
//! it.
//!
//! `cargo run -p tenure-sim --example user_store --no-default-features`

#![allow(clippy::print_stdout, reason = "an example prints what it found")]

use tenure_core::contract::{self, Past, Record};
use tenure_sim::Simulation;
use tenure_sim::simulation::{Lease, Moment, Reply, Request, SimulationError, StoreModel};

/// A table with one row, and what the server knows about its own past. The contract's own code
/// decides, in a transaction that reads and writes both. `CAREFUL` is the fixed version.
#[derive(Clone, Debug, Default)]
struct Table<const CAREFUL: bool> {
    row: Option<Record>,
    past: Option<Past>,
}

impl<const CAREFUL: bool> StoreModel for Table<CAREFUL> {
    fn apply(&mut self, at: Moment, mut request: Request) -> Reply {
        // UPDATE leases SET .. WHERE holder = $watched_holder [AND number = $watched_number]
        if !CAREFUL
            && let (Some(row), Request::Acquire(acquire)) = (&self.row, &mut request)
            && let Some(watched) = &mut acquire.mark
            && watched.holder == row.holder
        {
            // Any number of that holder will do: also that of a renewal which the candidate has not
            // watched.
            watched.number = row.number;
        }
        contract::apply(&mut self.row, &mut self.past, at, request)
    }

    fn lease(&self) -> Option<Lease> {
        self.row.map(Lease::from)
    }
}

fn main() {
    println!("careless: {}", result(&Simulation::new().runs(2_000).store::<Table<false>>()));
    println!("careful: {}", result(&Simulation::new().runs(2_000).store::<Table<true>>()));
}

fn result(simulation: &Simulation) -> String {
    match simulation.run() {
        Ok(report) => format!("held in {} runs", report.summary.runs),
        Err(SimulationError::Failed(failed)) => format!("{failed}\n"),
        Err(error) => error.to_string(),
    }
}
