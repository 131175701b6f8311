//! A contradiction in words.

use std::time::Duration;

use super::candidate::shown;
use super::facts::{Facts, Index, Writes, WritesOf};
use crate::judge::finding::Part::{Detail, Span, Token};
use crate::judge::finding::{Finding, Part, of_logs};

/// A required order, by the tokens.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// The claim of one tenure ends before that of the next one begins.
    Lead { older: Index, newer: Index },
    /// A tenure's writes begin before the moment at which they give way to a newer tenure's.
    Began(WritesOf, Writes),
    /// A tenure's writes end after the moment at which the writes of an older tenure gave way.
    Ended(WritesOf, Writes),
    /// These moments are in the order of the tokens.
    GaveWay,
}

/// The orders of a contradiction, which exceeds the bounds of the clocks by so much, and the lines
/// that show it.
pub(super) fn explain(facts: &Facts, orders: &[Order], excess: i128) -> (Finding, Vec<String>) {
    let mut steps: Vec<Vec<Part>> = Vec::new();
    let mut lines = Vec::new();
    // The cycle has no beginning: writes are told from the newer one on.
    let first = orders.iter().position(|order| matches!(order, Order::Ended(..))).unwrap_or(0);
    let (after, before) = orders.split_at(first);
    let mut newer: Option<(WritesOf, Writes)> = None;
    for order in before.iter().chain(after) {
        match order {
            Order::Lead { older, newer } => {
                let (older, newer) = (&facts.tenures[*older], &facts.tenures[*newer]);
                let places = [older.ends(), newer.begins].map(|at| facts.shown(at.place));
                let told = of_logs![
                    "the claim of ",
                    Detail(shown(facts, older.candidate)),
                    " under token ",
                    Token(older.token),
                    Detail(format!(
                        " of {:?}, which stood at {}, ",
                        key(facts, older.key),
                        places[0]
                    )),
                    "ended before that of ",
                    Detail(shown(facts, newer.candidate)),
                    " under token ",
                    Token(newer.token),
                    Detail(format!(" began at {}", places[1])),
                ];
                steps.push(told.parts());
                lines.extend(places);
            }
            Order::Ended(of, writes) => newer = Some((*of, *writes)),
            Order::GaveWay => {}
            Order::Began(of, writes) => {
                let places = newer.map(|(_, newer)| facts.shown(newer.first_ended.place));
                let told = of_logs![
                    "the write of ",
                    Detail(shown(facts, writes.candidate)),
                    " under token ",
                    Token(of.token),
                    Detail(format!(
                        " to {:?}, begun at {}, was accepted before ",
                        crate::plan::json::plain(facts.resources.text(of.resource)),
                        facts.shown(writes.last_began.place),
                    )),
                    "the write under token ",
                    Token(newer.map_or(0, |(of, _)| of.token)),
                    Detail(format!(" that ended at {}", places.as_deref().unwrap_or("?"))),
                ];
                steps.push(told.parts());
                lines.push(facts.shown(writes.last_began.place));
                lines.extend(places);
            }
        }
    }
    let mut parts = of_logs!["no placement of the clocks has all of these: "].parts();
    for (place, step) in steps.into_iter().enumerate() {
        if place > 0 {
            parts.push("; and ".into());
        }
        parts.extend(step);
    }
    let excess = Duration::from_nanos(u64::try_from(excess).unwrap_or(u64::MAX));
    parts.extend(of_logs![": the clocks would have to be off by ", Span(excess), " more"].parts());
    lines.dedup();
    (Finding::OfLogs(parts), lines)
}

fn key(facts: &Facts, key: usize) -> String {
    crate::plan::json::plain(facts.keys.text(key))
}
