//! Settings: which are refused and with which error, and what follows from those that are accepted.

use std::time::Duration;
use tenure_core::{Config, ConfigBuilder, ConfigError, RenewErrorPolicy};

const fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn fifteen() -> ConfigBuilder {
    Config::builder(secs(15))
}

fn refusal(settings: ConfigBuilder) -> String {
    settings.build().expect_err("out of bounds").to_string()
}

#[test]
fn presets_differ_in_ttl_and_normal_is_default() {
    let ttls = [Config::fast_failover(), Config::normal(), Config::unreliable_network()];
    assert_eq!(ttls.map(|config| config.ttl()), [secs(5), secs(15), secs(60)]);
    assert_eq!(Config::default(), Config::normal());
    assert_eq!(fifteen().build(), Ok(Config::normal()));
}

#[test]
fn defaults_follow_from_the_ttl() {
    let config = Config::normal();
    assert_eq!(config.renew_interval(), secs(5));
    assert_eq!(config.request_timeout(), ms(1_500));
    assert_eq!(config.stop_margin(), ms(1_500));
    assert_eq!(config.drift_ppm(), 10_000);
    assert_eq!(config.quarantine(), secs(15));
    assert_eq!(config.granularity(), ms(1));
}

#[test]
fn defaults_are_valid_for_every_ttl() {
    for ttl_ms in (100..2_000).chain((2_000..=86_400_000).step_by(9_973)) {
        let built = Config::builder(ms(ttl_ms)).build();
        assert!(built.is_ok(), "{ttl_ms} ms: {built:?}");
    }
}

#[test]
fn errors_name_setting_value_and_bounds() {
    let hour = secs(3_600);
    let ns = Duration::from_nanos(1);
    let refusals = [
        (Config::builder(ms(99)), "ttl is 99ms; it must be within 100ms and 86400s"),
        (Config::builder(25 * hour), "ttl is 90000s; it must be within 100ms and 86400s"),
        (fifteen().renew_interval(ns), "renew interval is 1ns; it must be within 1ms and 15s"),
        (
            fifteen().renew_interval(secs(16)),
            "renew interval is 16s; it must be within 1ms and 15s",
        ),
        (fifteen().request_timeout(ns), "request timeout is 1ns; it must be within 1ms and 15s"),
        (
            fifteen().request_timeout(hour),
            "request timeout is 3600s; it must be within 1ms and 15s",
        ),
        (fifteen().stop_margin(secs(16)), "stop margin is 16s; it must be within 0ns and 15s"),
        (
            fifteen().least_retry(ns).largest_retry(secs(1)),
            "least retry is 1ns; it must be within 1ms and 1s",
        ),
        (
            fifteen().least_retry(secs(2)).largest_retry(secs(1)),
            "least retry is 2s; it must be within 1ms and 1s",
        ),
        (
            fifteen().least_retry(ms(1)).largest_retry(hour),
            "largest retry is 3600s; it must be within 1ms and 15s",
        ),
        (fifteen().poll_bound(ns), "poll bound is 1ns; it must be within 1ms and 86400s"),
        (fifteen().poll_bound(25 * hour), "poll bound is 90000s; it must be within 1ms and 86400s"),
        (
            fifteen().drain_bound(25 * hour),
            "drain bound is 90000s; it must be within 0ns and 86400s",
        ),
        (fifteen().quarantine(secs(14)), "quarantine is 14s; it must be within 15s and 604800s"),
        (
            fifteen().quarantine(hour * 169),
            "quarantine is 608400s; it must be within 15s and 604800s",
        ),
        (
            fifteen().granularity(Duration::ZERO),
            "granularity is 0ns; it must be within 1ns and 15s",
        ),
        (fifteen().granularity(secs(16)), "granularity is 16s; it must be within 1ns and 15s"),
        (fifteen().drift_ppm(0), "drift bound is 0 ppm; it must be within 1 and 200000 ppm"),
        (
            fifteen().drift_ppm(200_001),
            "drift bound is 200001 ppm; it must be within 1 and 200000 ppm",
        ),
    ];
    for (settings, text) in refusals {
        let refusal = refusal(settings);
        let (reason, remedy) = refusal.split_once(": ").unwrap();
        assert!(reason == text && remedy.starts_with("set "), "{refusal}");
    }
}

#[test]
fn the_bounds_themselves_are_allowed() {
    let settings = fifteen()
        .drift_ppm(200_000)
        .stop_margin(Duration::ZERO)
        .drain_bound(Duration::ZERO)
        .granularity(Duration::from_nanos(1))
        .least_retry(ms(1))
        .largest_retry(ms(1))
        .request_timeout(ms(1))
        .renew_interval(ms(1))
        .poll_bound(ms(1))
        .quarantine(secs(604_800));
    assert!(settings.build().is_ok());
    assert!(settings.drift_ppm(1).build().is_ok());
}

#[test]
fn the_broken_inequality_is_named_with_both_values() {
    // 5 s + 3 x (3 s + 1 s) against 14.999 s x 0.99 / 1.01 - 1.5 s.
    let text = refusal(fifteen().request_timeout(secs(3)));
    assert_eq!(
        text,
        "max(renew interval, request timeout) + 3 x (request timeout + largest retry) = 17s \
         must be at most the validity, (ttl - granularity) x (1 - drift) / (1 + drift) - stop margin = 13.201990099s: \
         set request timeout to 1.733s, for example"
    );
}

#[test]
fn the_inequality_holds_to_the_nanosecond() {
    let renew = Config::normal().validity().saturating_sub(3 * (ms(1_500) + secs(1)));
    assert!(fifteen().renew_interval(renew).build().is_ok());
    let refused = fifteen().renew_interval(renew + Duration::from_nanos(1)).build();
    assert!(matches!(refused, Err(ConfigError::RenewalsDoNotFit { .. })));
}

#[test]
fn a_stores_granularity_is_checked_again() {
    assert_eq!(Config::normal().with_granularity(ms(1)), Ok(Config::normal()));
    let set = fifteen().renew_interval(secs(5)).request_timeout(ms(1_500)).stop_margin(ms(1_500));
    let coarse = set.build().and_then(|config| config.with_granularity(secs(3)));
    assert!(matches!(coarse, Err(ConfigError::RenewalsDoNotFit { .. })));
}

#[test]
fn unset_settings_are_derived_for_coarse_stores() {
    for config in [Config::fast_failover(), Config::normal(), Config::unreliable_network()] {
        let coarse = config.with_granularity(secs(3)).unwrap();
        let left = coarse.ttl().saturating_sub(secs(3));
        assert_eq!(coarse.ttl(), config.ttl());
        // Requests to a coarse store take several round trips.
        assert_eq!(coarse.renew_interval(), left / 4);
        assert_eq!([coarse.request_timeout(), coarse.stop_margin()], [left * 4 / 25, left / 10]);
        assert_eq!(coarse.retry(), ((left / 150).min(ms(100)), (left / 30).min(secs(1))));
        assert_eq!([coarse.poll_bound(), coarse.quarantine()], [config.ttl(); 2]);
        assert_eq!(coarse.with_granularity(ms(1)), Ok(config));
    }
    // Up to a hundredth of the TTL changes nothing; a setting that was set is kept.
    let hundredth = Config::normal().with_granularity(ms(150)).unwrap();
    assert_eq!(hundredth.renew_interval(), secs(5));
    let set = fifteen().renew_interval(secs(2)).build().unwrap();
    let coarse = set.with_granularity(secs(3)).unwrap();
    assert_eq!([coarse.renew_interval(), coarse.request_timeout()], [secs(2), ms(1_200)]);
    // The renewals fit for as long as that is possible.
    for left in (30..2_000).step_by(7) {
        let coarse = Config::normal().with_granularity(ms(15_000 - left));
        assert!(coarse.is_ok(), "{left} ms: {coarse:?}");
    }
    let nothing = Config::normal().with_granularity(secs(15));
    assert!(matches!(nothing, Err(ConfigError::RenewalsDoNotFit { .. })), "{nothing:?}");
}

#[test]
fn round_trips_share_the_request_timeout() {
    let normal = Config::normal();
    assert_eq!(normal.explain().longest_round_trip, ms(1_500));
    assert_eq!(normal.with_round_trips(3).explain().longest_round_trip, ms(500));
    assert_eq!(normal.with_round_trips(0), normal);
    let etcd = Config::fast_failover().with_granularity(secs(3)).unwrap().with_round_trips(2);
    assert_eq!(etcd.explain().longest_round_trip, ms(160));
}

#[test]
fn a_store_without_hints_is_asked_more_often() {
    for config in [Config::normal(), Config::builder(ms(100)).build().unwrap()] {
        let often = config.without_hints();
        assert_eq!(often.poll_bound(), config.ttl() / 50);
        assert_eq!(often.with_granularity(ms(1)).unwrap().poll_bound(), config.ttl() / 50);
        assert_eq!([often.quarantine(), often.drain_bound()], [config.ttl(); 2]);
    }
    // A poll bound that was set is kept, also if it was set twice.
    let set = fifteen().poll_bound(secs(8)).poll_bound(secs(9)).build().unwrap();
    assert_eq!(set.without_hints(), set);
}

#[test]
fn explains_the_presets() {
    // By hand: validity = (TTL - 1 ms) x 99 / 101 - TTL / 10;
    // failover = (TTL / 3 + 10 ms + TTL) / 0.99 + request timeout + largest retry + jitter of 5 ms;
    // pause = validity - renew interval - 2 x request timeout - largest retry;
    // cut = pause - request timeout; clock jump = stop margin;
    // drift = (TTL - 1 ms - validity) / (TTL - 1 ms + validity).
    let fast = Config::fast_failover().explain();
    assert_eq!(fast.validity, Duration::from_nanos(4_400_009_900));
    assert_eq!(fast.worst_case_failover, Duration::from_nanos(7_582_441_076));
    assert_eq!(fast.worst_case_failover_after_store_loss, Duration::from_nanos(14_326_548_819));
    assert_eq!(fast.renewal_attempts, 3);
    // For short leases, the jitter is a thousandth of the TTL.
    let short = Config::builder(secs(1)).build().unwrap().explain();
    assert_eq!(short.worst_case_failover, Duration::from_nanos(1_517_835_015));
    assert_eq!(fast.largest_pause, Duration::from_nanos(1_400_009_901));
    assert_eq!(fast.longest_cut, Duration::from_nanos(900_009_901));
    assert_eq!(fast.clock_jump_tolerated, ms(500));
    assert_eq!(fast.drift_tolerated_ppm, 63_729);
    assert_eq!((fast.leader_commands_per_minute, fast.standby_commands_per_minute), (37, 36));
    assert_eq!(fast.longest_stop, secs(6));

    let normal = Config::normal().explain();
    assert_eq!(normal.validity, Duration::from_nanos(13_201_990_099));
    assert_eq!(normal.worst_case_failover, Duration::from_nanos(22_717_121_212));
    assert_eq!(normal.worst_case_failover_after_store_loss, Duration::from_nanos(42_929_242_424));
    assert_eq!(normal.renewal_attempts, 3);
    assert_eq!(normal.largest_pause, Duration::from_nanos(4_201_990_099));
    assert_eq!(normal.longest_cut, Duration::from_nanos(2_701_990_099));
    assert_eq!(normal.clock_jump_tolerated, ms(1_500));
    assert_eq!(normal.drift_tolerated_ppm, 63_721);
    assert_eq!((normal.leader_commands_per_minute, normal.standby_commands_per_minute), (12, 12));
    assert_eq!(normal.longest_stop, secs(18));

    let unreliable = Config::unreliable_network().explain();
    assert_eq!(unreliable.validity, Duration::from_nanos(52_810_900_990));
    assert_eq!(unreliable.worst_case_failover, Duration::from_nanos(87_823_181_818));
    assert_eq!(unreliable.renewal_attempts, 4);
    assert_eq!(unreliable.largest_pause, Duration::from_nanos(19_810_900_990));
    assert_eq!(unreliable.longest_cut, Duration::from_nanos(13_810_900_990));
    assert_eq!(unreliable.clock_jump_tolerated, secs(6));
    assert_eq!(unreliable.drift_tolerated_ppm, 63_718);
    assert_eq!(unreliable.longest_stop, secs(72));
}

/// With replies slower than the renew interval, a renewal waits for the one before it.
#[test]
fn the_largest_pause_counts_the_slow_reply_before_it() {
    let quick = fifteen().renew_interval(secs(1)).request_timeout(secs(2)).build().expect("valid");
    // Sent 2 s after the last one that counts, lost to the pause; then 1 s and a reply after 2 s.
    let longest = quick.validity().saturating_sub(secs(2 + 2 + 1 + 2));
    assert_eq!(quick.explain().largest_pause, longest);
}

#[test]
fn explains_in_words() {
    let text = Config::normal().explain().to_string();
    for figure in ["13.201990099s", "22.717121212s", "63721 ppm", "18s", "2.701990099s", "1.5s"] {
        assert!(text.contains(figure), "{figure} is missing in\n{text}");
    }
}

#[test]
fn each_setting_is_what_was_set() {
    let config = Config::builder(secs(60))
        .renew_interval(secs(7))
        .request_timeout(secs(3))
        .stop_margin(secs(4))
        .drift_ppm(200)
        .least_retry(ms(20))
        .largest_retry(ms(300))
        .poll_bound(secs(9))
        .drain_bound(secs(11))
        .quarantine(secs(70))
        .granularity(ms(2))
        .on_renew_error(RenewErrorPolicy::StepDown)
        .build()
        .expect("within bounds");
    assert_eq!(config.ttl(), secs(60));
    assert_eq!(config.renew_interval(), secs(7));
    assert_eq!(config.request_timeout(), secs(3));
    assert_eq!(config.stop_margin(), secs(4));
    assert_eq!(config.drift_ppm(), 200);
    assert_eq!(config.retry(), (ms(20), ms(300)));
    assert_eq!(config.poll_bound(), secs(9));
    assert_eq!(config.drain_bound(), secs(11));
    assert_eq!(config.quarantine(), secs(70));
    assert_eq!(config.granularity(), ms(2));
    // Only that setting differs, and with it what follows from it.
    let coarse = config.with_granularity(ms(1_002)).expect("within bounds");
    assert_eq!(coarse.granularity(), ms(1_002));
    assert_eq!(coarse.with_granularity(ms(2)), Ok(config));
    let shorter = config.validity().saturating_sub(coarse.validity());
    assert!(ms(999) < shorter && shorter < secs(1), "{shorter:?}");
    assert!(config.with_granularity(secs(50)).is_err());
}

fn longest_stop(bound: Duration) -> Result<Config, ConfigError> {
    Config::normal().to_builder().longest_stop(bound).build()
}

#[test]
fn what_was_not_set_follows_a_changed_ttl() {
    let twice = |builder: ConfigBuilder| {
        let config = builder.build().unwrap();
        (config.to_builder().ttl(secs(30)).build(), config.to_builder().build().unwrap())
    };
    let (changed, same) = twice(fifteen());
    assert_eq!((changed, same), (Config::builder(secs(30)).build(), Config::normal()));
    let set = |builder: ConfigBuilder| {
        let builder = builder.renew_interval(secs(4)).drain_bound(secs(2)).quarantine(secs(60));
        builder.drift_ppm(20_000).on_renew_error(RenewErrorPolicy::StepDown)
    };
    assert_eq!(twice(set(fifteen())).0, set(Config::builder(secs(30))).build());
    let others = |builder: ConfigBuilder| {
        let builder = builder.poll_bound(secs(7)).longest_stop(secs(10)).defer(secs(3));
        builder.stop_margin(secs(1))
    };
    assert_eq!(twice(others(fifteen())).0, others(Config::builder(secs(30))).build());
    // Also what equals the former TTL, or its default, and in either order.
    let equal = |builder: ConfigBuilder| {
        let builder = builder.drain_bound(secs(15)).quarantine(secs(15)).poll_bound(secs(15));
        builder.least_retry(ms(100)).largest_retry(secs(1))
    };
    let lowered = twice(equal(fifteen())).1.to_builder().ttl(secs(14)).build();
    assert_eq!(lowered, equal(Config::builder(secs(14))).build());
    let lowered = lowered.unwrap();
    assert_eq!((lowered.quarantine(), lowered.drain_bound()), (secs(15), secs(15)));
    let short = set(fifteen()).build().unwrap().to_builder().ttl(secs(90)).build().unwrap_err();
    assert!(short.to_string().starts_with("quarantine is 60s"), "{short}");
}

#[test]
fn the_longest_stop_can_be_bounded() {
    let config = longest_stop(secs(10)).unwrap();
    assert_eq!(config.drain_bound(), secs(7));
    assert_eq!(config.explain().longest_stop, secs(10));
    // Two request timeouts to hand the lease back, and the stop margin for work whose lease
    // expired.
    let least = longest_stop(Duration::from_millis(4_500)).unwrap();
    assert_eq!(least.explain().longest_stop, Duration::from_millis(4_500));
    // A coarse store's longer request timeout is a part of that time, and so is the other order.
    let coarse = config.with_granularity(secs(3)).unwrap();
    assert_eq!((coarse.request_timeout(), coarse.drain_bound()), (ms(1_920), ms(6_160)));
    assert_eq!(coarse.explain().longest_stop, secs(10));
    assert_eq!(
        Config::normal()
            .with_granularity(secs(3))
            .unwrap()
            .to_builder()
            .longest_stop(secs(10))
            .build(),
        Ok(coarse)
    );
    let error = least.with_granularity(secs(3)).unwrap_err();
    assert!(
        error.to_string().starts_with("longest stop is 4.5s; it must be within 5.76s"),
        "{error}"
    );
    // The later of the two settings counts.
    let stop = fifteen().drain_bound(secs(1)).longest_stop(secs(10)).build().unwrap();
    assert_eq!(stop, config);
    let drain = fifteen().longest_stop(secs(10)).drain_bound(secs(1)).build().unwrap();
    assert_eq!(drain, fifteen().drain_bound(secs(1)).build().unwrap());
    let error = longest_stop(secs(4)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "longest stop is 4s; it must be within 4.5s and 86403s: set longest stop to 4.5s, for example"
    );
}
