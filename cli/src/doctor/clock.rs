//! The clocks of this host and of the store.

use std::fs;
use std::time::Duration;

use super::kind::Kind;
use super::report::Report;

/// Far more than clocks differ that NTP sets.
const APART_MOST: f64 = 2.0;
const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// `ahead` is how far the store's clock is ahead, in seconds, and how long the answer took that
/// told it.
pub(super) fn check(ahead: Option<(f64, Duration)>, report: &mut Report) {
    let source = fs::read_to_string(SOURCE);
    let source = source.map_or_else(|_| "not known".to_owned(), |source| source.trim().to_owned());
    let source = format!("this host's clock source is {source}");
    let Some((ahead, took)) = ahead else {
        report.add(Kind::Clocks, source);
        return;
    };
    let side = if ahead < 0.0 { "behind" } else { "ahead of" };
    let apart = ahead.abs();
    // The answer may have been on its way for all of that time.
    let kind =
        if apart > APART_MOST + took.as_secs_f64() { Kind::ClocksApart } else { Kind::Clocks };
    report.add(kind, format!("the store's clock is {apart:.3} s {side} this host's; {source}"));
}
