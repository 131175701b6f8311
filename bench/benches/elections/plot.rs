//! The renewals of each second, as a picture: a chart for each run, one below the other.

use std::fmt::Write;

use tenure_bench::{Scale, page};

use crate::figures::{Figures, Second};

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 240.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 10.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 40.0;

pub(crate) fn svg(all: &[Figures]) -> String {
    page(WIDTH, HEIGHT, &all.iter().map(chart).collect::<Vec<_>>())
}

/// A bar for each second, a line at the mean of the steady state and one at twice that, and the
/// name of each phase.
fn chart(figures: &Figures) -> String {
    let mut svg = String::new();
    let seconds = &figures.series;
    let usual = figures.steady.renewals_a_second;
    let most = seconds.iter().map(|second| number(second.renewals)).fold(2.2 * usual, f64::max);
    let up = Scale::linear((0.0, most.max(1.0)), (HEIGHT - BOTTOM, TOP));
    let count = number(seconds.len().max(1));
    let across = Scale::linear((0.0, count), (LEFT, WIDTH - RIGHT));
    let bar = (WIDTH - LEFT - RIGHT) / count;
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"16\" font-weight=\"bold\">{}, {} elections: renewals in each \
         second</text>",
        figures.store, figures.elections
    );
    for (place, Second { renewals, .. }) in seconds.iter().enumerate() {
        let top = up.at(number(*renewals));
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#4a7ab5\"/>",
            across.at(number(place)),
            bar * 0.9,
            HEIGHT - BOTTOM - top
        );
    }
    for (times, what) in [(0.0, "0"), (1.0, "the mean"), (2.0, "twice")] {
        let (y, end) = (up.at(times * usual), WIDTH - RIGHT);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{end}\" y2=\"{y:.1}\" stroke=\"#999\" \
             stroke-dasharray=\"4 3\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{what}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    let mut before = None;
    for (place, second) in seconds.iter().enumerate() {
        if before == Some(&second.phase) {
            continue;
        }
        before = Some(&second.phase);
        let (x, bottom) = (across.at(number(place)), HEIGHT - BOTTOM);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#222\"/>\
             <text x=\"{:.1}\" y=\"{}\">{}</text>",
            x + 3.0,
            bottom + 18.0,
            second.phase
        );
    }
    svg
}

#[allow(clippy::cast_precision_loss, reason = "for a picture")]
fn number(number: impl TryInto<u64>) -> f64 {
    number.try_into().unwrap_or(0) as f64
}
