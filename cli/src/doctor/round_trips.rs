//! The store's answer times, beside the candidates' settings.

use std::time::Duration;

use tenure::Config;

use super::kind::Kind;
use super::report::Report;

/// The times of answers, once there was a connection.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// Looks write nothing.
    pub(super) looks: Vec<Duration>,
    /// Renewals are written, and wait for disks and replicas.
    pub(super) renewals: Vec<Duration>,
}

pub(super) fn check(samples: &Samples, config: &Config, report: &mut Report) {
    let named = [("looks", &samples.looks), ("renewals", &samples.renewals)];
    for (what, samples) in named {
        let Some((median, worst)) = median_and_worst(samples) else { continue };
        let (timeout, trip) = (config.request_timeout(), config.explain().longest_round_trip);
        let text = format!(
            "{} {what}: median {median:.1?}, worst {worst:.1?}; the request timeout is {timeout:?}, and a round trip may \
             take {trip:.1?}",
            samples.len()
        );
        // Half of it is left for a network and a server that are busier than now.
        let kind = if worst * 2 > timeout { Kind::RoundTripsSlow } else { Kind::RoundTrips };
        report.add(kind, text);
    }
}

fn median_and_worst(samples: &[Duration]) -> Option<(Duration, Duration)> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    Some((*sorted.get(sorted.len() / 2)?, *sorted.last()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_needs_room_for_two_round_trips() {
        let found = |worst: u64| {
            let looks = [1, 2, worst].map(Duration::from_millis).to_vec();
            let samples = Samples { looks, ..Samples::default() };
            let mut report = Report::default();
            check(&samples, &Config::normal(), &mut report);
            report.has(Kind::RoundTripsSlow)
        };
        let timeout = Config::normal().request_timeout().as_millis();
        let timeout = u64::try_from(timeout).unwrap();
        assert_eq!((found(timeout / 2), found(timeout / 2 + 1)), (false, true));
    }

    #[test]
    fn medians_are_of_the_sorted_samples() {
        let samples = [9, 1, 5].map(Duration::from_millis);
        let [five, nine] = [5, 9].map(Duration::from_millis);
        assert_eq!(median_and_worst(&samples), Some((five, nine)));
        assert_eq!(median_and_worst(&[]), None);
    }
}
