//! The hunt among all orders of a driver's events, by their number of steps. All that a driver owes
//! there is one property: a driver that fails it panics.

use std::io::{self, Write};
use std::time::Instant;

use super::{Seen, Sighting};
use crate::judge::properties::PropertyName;
use crate::search::orders::{Bounds, search};

/// Tries all orders of one step, then of two, and so on, until one fails, and writes that. The seed
/// of the sighting is the number of steps.
///
/// # Errors
/// If the sighting can't be written.
pub fn hunt(mut out: impl Write, most: u8) -> io::Result<()> {
    let began = Instant::now();
    for steps in 1..=most {
        for (in_call, rivals) in [(1, false), (2, false), (1, true), (2, true)] {
            let bounds = Bounds { steps, in_call, rivals, ..Bounds::default() };
            let Some((what, path)) = search(&bounds).failed else { continue };
            let seen = Seen::Property(PropertyName::DRIVER_RUNS_ON.to_string());
            let what = format!("{what}, after {}", path.join(", "));
            let wall = began.elapsed().as_secs_f64();
            let sighting = Sighting { seen, seed: steps.into(), what, wall };
            serde_json::to_writer(&mut out, &sighting)?;
            writeln!(out)?;
            return out.flush();
        }
    }
    Ok(())
}
