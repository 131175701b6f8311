//! Writes logs of many lines, to measure `tenure-sim audit`: four machines that take turns in
//! leading a hundred elections, with renewals and writes.
//!
//! ```text
//! cargo run --release -p tenure-sim --example audit_logs -- 5000000 target/logs
//! ```

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

const MACHINES: u64 = 4;
const ELECTIONS: u64 = 100;
/// Between two lines of one machine, in nanoseconds.
const STEP: u64 = 20_000;
/// Renewals of one tenure, each with a write.
const RENEWALS: u64 = 50;
const WALL: u64 = 1_764_000_000_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [lines, folder] = arguments.as_slice() else {
        return Err("the arguments are a number of lines and a folder".into());
    };
    let lines: u64 = lines.parse()?;
    fs::create_dir_all(folder)?;
    for machine in 0..MACHINES {
        let path = Path::new(folder).join(format!("machine-{machine}.jsonl"));
        write(BufWriter::new(File::create(path)?), machine, lines / MACHINES)?;
    }
    Ok(())
}

/// One machine's log. In each round, each machine leads its share of the elections; then they move
/// to the next machine.
fn write(mut out: impl Write, machine: u64, lines: u64) -> Result<(), Box<dyn Error>> {
    let boot = 1_000_000_000_000 * (machine + 1);
    writeln!(
        out,
        r#"{{"header":{{"format":1,"boot":"boot-{machine}","host":"host-{machine}","pid":7,"drift_ppm":10000,"at":{boot},"within":50,"wall":{WALL}}}}}"#
    )?;
    let share = ELECTIONS / MACHINES;
    let lines_of_round = share * (2 + 2 * RENEWALS);
    let (mut at, mut clock_due, mut round) = (boot, boot, 0);
    while round * lines_of_round < lines {
        let first = (machine + round) % MACHINES * share;
        for step in 0..=RENEWALS + 1 {
            for id in first..first + share {
                let of = format!(r#""id":{id},"key":"service:election-{id}""#);
                let token = round + 1;
                let kind = if step == 0 { "elected" } else { "renewed" };
                if at >= clock_due {
                    let wall = WALL + at - boot;
                    writeln!(
                        out,
                        r#"{{"clock":{{"at":{at},"within":50,"wall":{wall},"drift_ppm":10000}}}}"#
                    )?;
                    clock_due = at + 10_000_000_000;
                }
                at += STEP;
                if step > RENEWALS {
                    writeln!(
                        out,
                        r#"{{"stepped-down":{{"at":{at},{of},"token":{token},"reason":"resigned"}}}}"#
                    )?;
                    continue;
                }
                writeln!(
                    out,
                    r#"{{"{kind}":{{"at":{at},{of},"name":"host-{machine}-7-3fa9c1d2","token":{token},"left":13200000000}}}}"#
                )?;
                if step == 0 {
                    continue;
                }
                let (began, ended) = (at + 1_000, at + 5_000);
                writeln!(
                    out,
                    r#"{{"write":{{"began":{began},"at":{ended},{of},"token":{token},"resource":"jobs","outcome":"accepted"}}}}"#
                )?;
            }
        }
        round += 1;
        // The handover takes a second.
        at += 1_000_000_000;
    }
    out.flush()?;
    Ok(())
}
