//! The causes of a violation as text: the errors of the clocks, and the faults before it.

use super::clocks::Error;
use super::item::{Item, Kind, seconds};
use crate::plan::SimTime;

/// The most faults that are named though they had ended before the violation.
const OVER_MOST: usize = 3;

/// The rate of each clock that was off.
pub(super) fn drift(clocks: &[Error]) -> String {
    let store = clocks.len().saturating_sub(1);
    let name = |index| if index == store { "the store".to_owned() } else { format!("n{index}") };
    let off: Vec<String> = clocks
        .iter()
        .enumerate()
        .filter(|(_, clock)| clock.rate_ppm != 0)
        .map(|(index, clock)| format!("{} {}", name(index), rate(clock.rate_ppm)))
        .collect();
    if off.is_empty() { "every clock is right".to_owned() } else { off.join(", ") }
}

/// `rate_ppm` as text.
pub(super) fn rate(rate_ppm: i64) -> String {
    let word = if rate_ppm < 0 { "slow" } else { "fast" };
    // Parts in a million are ten thousandths of a percent.
    let (whole, rest) = (rate_ppm.unsigned_abs() / 10_000, rate_ppm.unsigned_abs() % 10_000);
    let number = format!("{whole}.{rest:04}");
    let number = number.trim_end_matches('0').trim_end_matches('.');
    if rate_ppm == 0 { "right".to_owned() } else { format!("{number} % {word}") }
}

/// The faults that last at that moment, and the last ones before it.
pub(super) fn faults_before(items: &[Item], at: SimTime) -> String {
    let place = |item: &Item| item.node.map_or_else(String::new, |node| format!(" of n{node}"));
    let mut faults: Vec<&Item> =
        items.iter().filter(|item| item.kind == Kind::Fault && item.at <= at).collect();
    faults.sort_by_key(|item| item.at);
    let (lasting, over): (Vec<&Item>, Vec<&Item>) =
        faults.into_iter().partition(|item| item.until.is_some_and(|until| until > at));
    let described = |items: &[&Item], since: &str| -> Vec<String> {
        let one =
            |item: &&Item| format!("{}{} {since} {}", item.label, place(item), seconds(item.at));
        items.iter().map(one).collect()
    };
    let mut words = described(&lasting, "since");
    words.extend(described(&over[over.len().saturating_sub(OVER_MOST)..], "at"));
    if words.is_empty() { "no fault".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ms, ns};

    #[test]
    fn rates_are_in_percent() {
        let rates = [0, 100_000, -1, 12_500].map(rate);
        assert_eq!(rates, ["right", "10 % fast", "0.0001 % slow", "1.25 % fast"]);
        let clock = |rate_ppm| Error { rate_ppm, showed_ms: 0, points: Vec::new() };
        assert_eq!(
            drift(&[clock(0), clock(-20_000), clock(500)]),
            "n1 2 % slow, the store 0.05 % fast"
        );
        assert_eq!(drift(&[clock(0)]), "every clock is right");
    }

    #[test]
    fn lasting_faults_come_first() {
        let fault = |node, at, until, name: &str| Item {
            until: Some(until),
            ..Item::new(Kind::Fault, node, at, name)
        };
        let [first, second, third, ninth] = [1, 2, 3, 9].map(|s| ms(1_000 * s));
        let items =
            [fault(None, first, second, "store-loss"), fault(Some(2), first, ninth, "pause")];
        let faults = faults_before(&items, third);
        assert_eq!(faults, "pause of n2 since 1.000 s, store-loss at 1.000 s");
        assert_eq!(faults_before(&items, ns(1)), "no fault");
    }
}
