//! Every refusal of settings names a setting to change and a value, and that value is accepted.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::{FailurePersistence, FileFailurePersistence};
use tenure_core::{Config, ConfigError, Remedy};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Settings as an application gives them: `None` is not set.
#[derive(Clone, Debug, Default)]
struct Given {
    ttl: Duration,
    renew_interval: Option<Duration>,
    request_timeout: Option<Duration>,
    stop_margin: Option<Duration>,
    drift_ppm: Option<u32>,
    least_retry: Option<Duration>,
    largest_retry: Option<Duration>,
    poll_bound: Option<Duration>,
    drain_bound: Option<Duration>,
    longest_stop: Option<Duration>,
    quarantine: Option<Duration>,
    granularity: Option<Duration>,
}

impl Given {
    fn fifteen() -> Self {
        Self { ttl: ms(15_000), ..Self::default() }
    }

    fn build(&self) -> Result<Config, ConfigError> {
        let mut builder = Config::builder(self.ttl);
        macro_rules! set {
            ($($setting:ident)*) => {
                $(if let Some(value) = self.$setting { builder = builder.$setting(value); })*
            };
        }
        set!(renew_interval request_timeout stop_margin drift_ppm poll_bound drain_bound longest_stop quarantine);
        set!(granularity least_retry largest_retry);
        builder.build()
    }

    /// The same settings with the one changed that the remedy names.
    fn changed(&self, remedy: Remedy) -> Self {
        let mut given = self.clone();
        match remedy {
            Remedy::DriftPpm(ppm) => given.drift_ppm = Some(ppm),
            Remedy::Time { setting, value } => match setting {
                "ttl" => given.ttl = value,
                "granularity" => given.granularity = Some(value),
                "renew interval" => given.renew_interval = Some(value),
                "request timeout" => given.request_timeout = Some(value),
                "stop margin" => given.stop_margin = Some(value),
                "least retry" => given.least_retry = Some(value),
                "largest retry" => given.largest_retry = Some(value),
                "poll bound" => given.poll_bound = Some(value),
                "drain bound" => given.drain_bound = Some(value),
                "longest stop" => given.longest_stop = Some(value),
                "quarantine" => given.quarantine = Some(value),
                other => panic!("{other} is no setting"),
            },
            other => panic!("{other} is new"),
        }
        given
    }
}

/// Tries the remedy: the setting that it names.
fn accepted(given: &Given) -> String {
    let error = given.build().unwrap_err();
    let remedy = error.remedy().unwrap_or_else(|| panic!("no remedy: {error}: {given:?}"));
    let text = error.to_string();
    assert!(text.ends_with(&format!(": {remedy}, for example")), "{text}");
    if let ConfigError::OutOfRange { setting, value, least, most, .. } = error {
        for part in
            [setting.to_owned(), format!("{value:?}"), format!("{least:?}"), format!("{most:?}")]
        {
            assert!(text.contains(&part), "{text} does not name {part}");
        }
    }
    let changed = given.changed(remedy);
    assert!(changed.build().is_ok(), "{text}: {:?}", changed.build());
    remedy.to_string()
}

#[test]
fn each_refusal_names_a_value_that_is_accepted() {
    let (fifteen, ns, hour) = (Given::fifteen, Duration::from_nanos(1), ms(3_600_000));
    let cases = [
        (Given { ttl: ms(99), ..fifteen() }, "set ttl to 15s"),
        (Given { ttl: 25 * hour, ..fifteen() }, "set ttl to 15s"),
        (Given { granularity: Some(Duration::ZERO), ..fifteen() }, "set granularity to 1ms"),
        (Given { granularity: Some(ms(16_000)), ..fifteen() }, "set ttl to 30s"),
        (Given { granularity: Some(25 * hour), ..fifteen() }, "set granularity to 1ms"),
        (Given { renew_interval: Some(ns), ..fifteen() }, "set renew interval to 5s"),
        (Given { renew_interval: Some(hour), ..fifteen() }, "set renew interval to 5s"),
        (Given { request_timeout: Some(ns), ..fifteen() }, "set request timeout to 1.5s"),
        (Given { request_timeout: Some(hour), ..fifteen() }, "set request timeout to 1.5s"),
        (Given { stop_margin: Some(hour), ..fifteen() }, "set stop margin to 1.5s"),
        (Given { least_retry: Some(ns), ..fifteen() }, "set least retry to 100ms"),
        (Given { least_retry: Some(Duration::MAX), ..fifteen() }, "set least retry to 100ms"),
        (
            Given { least_retry: Some(ms(50)), largest_retry: Some(ms(20)), ..fifteen() },
            "set least retry to 20ms",
        ),
        (Given { largest_retry: Some(hour), ..fifteen() }, "set largest retry to 1s"),
        (Given { largest_retry: Some(Duration::ZERO), ..fifteen() }, "set largest retry to 1s"),
        (Given { poll_bound: Some(ns), ..fifteen() }, "set poll bound to 15s"),
        (Given { poll_bound: Some(25 * hour), ..fifteen() }, "set poll bound to 15s"),
        (Given { drain_bound: Some(25 * hour), ..fifteen() }, "set drain bound to 15s"),
        (Given { longest_stop: Some(ms(4_499)), ..fifteen() }, "set longest stop to 4.5s"),
        (Given { longest_stop: Some(26 * hour), ..fifteen() }, "set longest stop to 4.5s"),
        (Given { quarantine: Some(ms(14_999)), ..fifteen() }, "set quarantine to 15s"),
        (Given { quarantine: Some(169 * hour), ..fifteen() }, "set quarantine to 15s"),
        (Given { drift_ppm: Some(0), ..fifteen() }, "set drift bound to 10000 ppm"),
        (Given { drift_ppm: Some(200_001), ..fifteen() }, "set drift bound to 10000 ppm"),
        // Three attempts do not fit: what was set changes first, then what was derived, then the
        // TTL.
        (Given { request_timeout: Some(ms(3_000)), ..fifteen() }, "set request timeout to 1.733s"),
        (Given { renew_interval: Some(ms(9_000)), ..fifteen() }, "set renew interval to 5.701s"),
        (Given { largest_retry: Some(ms(9_000)), ..fifteen() }, "set largest retry to 1.233s"),
        (Given { stop_margin: Some(ms(9_000)), ..fifteen() }, "set stop margin to 2.201s"),
        (Given { drift_ppm: Some(200_000), ..fifteen() }, "set request timeout to 166ms"),
        (
            Given {
                request_timeout: Some(ms(9_000)),
                renew_interval: Some(ms(14_000)),
                ..fifteen()
            },
            "set ttl to 60s",
        ),
    ];
    for (given, remedy) in cases {
        assert_eq!(accepted(&given), remedy, "{given:?}");
    }
}

#[test]
fn a_refusal_without_a_single_remedy_says_so() {
    let given = Given {
        request_timeout: Some(ms(9_000)),
        renew_interval: Some(ms(14_000)),
        quarantine: Some(ms(20_000)),
        ..Given::fifteen()
    };
    let error = given.build().unwrap_err();
    assert_eq!(error.remedy(), None);
    assert!(
        error
            .to_string()
            .ends_with("no change of one setting suffices; leave settings at their defaults")
    );
}

fn longest_stop(bound: Duration) -> Result<Config, ConfigError> {
    Config::normal().to_builder().longest_stop(bound).build()
}

#[test]
fn a_bound_on_the_stop_that_is_too_short_has_a_remedy() {
    let error = longest_stop(ms(10)).unwrap_err();
    let Some(Remedy::Time { setting: "longest stop", value }) = error.remedy() else {
        panic!("{error}")
    };
    assert!(longest_stop(value).is_ok(), "{error}");
    assert!(longest_stop(value.saturating_sub(Duration::from_nanos(1))).is_err());
}

/// Times as people set them, and any other: the longest ones do not fit into 64 bits as
/// nanoseconds.
fn time() -> impl Strategy<Value = Duration> {
    let millis = prop_oneof![0..100_u64, 0..2_000_u64, 0..20_000_u64, 0..100_000_000_u64];
    prop_oneof![7 => millis.prop_map(ms), 1 => any::<Duration>()]
}

fn setting() -> impl Strategy<Value = Option<Duration>> {
    prop::option::weighted(0.25, time())
}

prop_compose! {
    fn given()(
        ttl in 50..100_000_u64,
        renewals in prop::array::uniform6(setting()),
        drift_ppm in prop::option::weighted(0.3, 0..250_000_u32),
        rest in prop::array::uniform4(setting()),
    ) -> Given {
        let [renew_interval, request_timeout, stop_margin, least_retry, largest_retry, granularity] = renewals;
        let [poll_bound, drain_bound, longest_stop, quarantine] = rest;
        Given {
            ttl: ms(ttl), renew_interval, request_timeout, stop_margin, drift_ppm, least_retry, largest_retry, poll_bound, drain_bound,
            longest_stop, quarantine, granularity,
        }
    }
}

fn config() -> ProptestConfig {
    let regressions = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/remedies.regressions");
    let failure_persistence: Option<Box<dyn FailurePersistence>> =
        Some(Box::new(FileFailurePersistence::Direct(regressions)));
    ProptestConfig { cases: 4_000, failure_persistence, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    /// Each refusal mends one setting, so following them ends.
    #[test]
    fn remedies_lead_to_accepted_settings(given in given()) {
        let mut given = given;
        for _ in 0..12 {
            let Err(error) = given.build() else { return Ok(()) };
            let Some(remedy) = error.remedy() else { return Ok(()) };
            let changed = given.changed(remedy);
            if let Remedy::Time { setting, value } = remedy
                && value >= ms(1)
                && changed.build().is_ok()
            {
                let value = ms(u64::try_from(value.as_millis()).unwrap());
                let written = given.changed(Remedy::Time { setting, value });
                prop_assert!(written.build().is_ok(), "in whole milliseconds: {:?}", written.build());
            }
            let has_own_quarantine = given.quarantine == Some(given.ttl);
            if matches!(error, ConfigError::RenewalsDoNotFit { .. }) && !has_own_quarantine {
                prop_assert!(changed.build().is_ok(), "{error}: {:?}", changed.build());
            }
            given = changed;
        }
        prop_assert!(false, "still refused: {given:?}");
    }
}
