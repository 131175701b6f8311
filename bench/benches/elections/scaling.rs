//! The cost of an election beside their number, as a picture: a chart for each cost, a line for
//! each store.

use tenure_bench::{Chart, Line};

use crate::figures::Figures;

/// A cost, of the runs with enough elections to tell it.
type Cost = fn(&Figures) -> Option<f64>;

const COSTS: [(&str, Cost); 4] = [
    ("time until all lead, seconds", |figures| figures.steady.lead.all_after),
    ("CPU time of a renewal, at the client, microseconds", Figures::client_micros),
    ("CPU time of a renewal, at the server, microseconds", Figures::server_micros),
    ("memory of each election, at the client, KiB", Figures::kib_each),
];

pub(crate) fn svg(all: &[Figures]) -> String {
    Chart::svg(&COSTS.map(|(title, cost)| {
        let across = "elections in one process".to_owned();
        Chart { title: title.to_owned(), across, marks: Vec::new(), lines: lines(all, cost) }
    }))
}

/// Stores in the order in which they were measured, so that each has the same colour in all charts.
fn lines(all: &[Figures], cost: Cost) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for figures in all {
        let place = lines.iter().position(|line| line.name == figures.store);
        let place = place.unwrap_or_else(|| {
            let name = figures.store.clone();
            lines.push(Line { name, points: Vec::new(), dots: true });
            lines.len() - 1
        });
        if let Some(value) = cost(figures) {
            lines[place].points.push((crate::meter::float(figures.elections as u64), value));
        }
    }
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
}
