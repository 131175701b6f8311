//! The renewals of each second, as a picture: a chart for each run, one below the other.

use std::fmt::Write;

use crate::figures::{Figures, Second};

const WIDTH: usize = 800;
const HEIGHT: usize = 240;
const LEFT: usize = 70;
const RIGHT: usize = 10;
const TOP: usize = 40;
const BOTTOM: usize = 40;

pub(crate) fn svg(all: &[Figures]) -> String {
    let height = HEIGHT * all.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (place, figures) in all.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate(0 {})\">", place * HEIGHT);
        chart(&mut svg, figures);
        svg.push_str("</g>\n");
    }
    svg + "</svg>\n"
}

/// A bar for each second, a line at the mean of the steady state and one at twice that, and the name of each phase.
fn chart(svg: &mut String, figures: &Figures) {
    let seconds = &figures.series;
    let usual = figures.steady.renewals_a_second;
    let most = seconds.iter().map(|second| number(second.renewals)).fold(2.2 * usual, f64::max);
    let (wide, high) = (number(WIDTH - LEFT - RIGHT), number(HEIGHT - TOP - BOTTOM));
    let bar = wide / number(seconds.len().max(1));
    let down = |renewals: f64| number(HEIGHT - BOTTOM) - high * renewals / most.max(1.0);
    let across = |second: usize| number(LEFT) + bar * number(second);
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"16\" font-weight=\"bold\">{}, {} elections: renewals in each \
         second</text>",
        figures.store, figures.elections
    );
    for (place, Second { renewals, .. }) in seconds.iter().enumerate() {
        let top = down(number(*renewals));
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#4a7ab5\"/>",
            across(place),
            bar * 0.9,
            number(HEIGHT - BOTTOM) - top
        );
    }
    for (times, what) in [(0.0, "0"), (1.0, "the mean"), (2.0, "twice")] {
        let (y, end) = (down(times * usual), WIDTH - RIGHT);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{end}\" y2=\"{y:.1}\" stroke=\"#999\" \
             stroke-dasharray=\"4 3\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{what}</text>",
            LEFT - 6,
            y + 4.0
        );
    }
    let mut before = None;
    for (place, second) in seconds.iter().enumerate() {
        if before == Some(&second.phase) {
            continue;
        }
        before = Some(&second.phase);
        let (x, bottom) = (across(place), HEIGHT - BOTTOM);
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom}\" stroke=\"#222\"/>\
             <text x=\"{:.1}\" y=\"{}\">{}</text>",
            x + 3.0,
            bottom + 18,
            second.phase
        );
    }
}

#[allow(clippy::cast_precision_loss, reason = "for a picture")]
fn number(number: impl TryInto<u64>) -> f64 {
    number.try_into().unwrap_or(0) as f64
}
