use super::*;

fn built(variables: &[(&str, &str)]) -> Result<CandidateBuilder, SettingError> {
    Candidate::from_variables(|name| {
        let set = variables.iter().find(|(variable, _)| *variable == name);
        set.map(|(_, value)| (*value).into())
    })
}

const MEMORY: (&str, &str) = ("TENURE_STORE", "memory:");
const KEY: (&str, &str) = ("TENURE_KEY", "job");
const LEAST: (&str, &str) = ("TENURE_LEAST_RETRY", "100ms");

#[test]
fn every_variable_is_read() {
    let builder = built(&[
        MEMORY,
        KEY,
        ("TENURE_NAME", "worker-7"),
        ("TENURE_METADATA", "10.0.0.7:8080"),
        ("TENURE_HOLD_OFF", "1500ms"),
        ("TENURE_TTL", "1m"),
        ("TENURE_RENEW_INTERVAL", "11s"),
        ("TENURE_REQUEST_TIMEOUT", "4s"),
        ("TENURE_STOP_MARGIN", "3s"),
        ("TENURE_POLL_BOUND", "20s"),
        ("TENURE_DRAIN_BOUND", "8s"),
        ("TENURE_QUARANTINE", "1h"),
        ("TENURE_DRIFT_PPM", "500"),
        ("TENURE_LEAST_RETRY", "50ms"),
        ("TENURE_LARGEST_RETRY", "500ms"),
        ("TENURE_LOOK_EVERY", "3"),
        ("TENURE_ON_RENEW_ERROR", "step-down"),
    ])
    .unwrap();
    let secs = Duration::from_secs;
    let expected = Config::builder(secs(60))
        .renew_interval(secs(11))
        .request_timeout(secs(4))
        .stop_margin(secs(3))
        .poll_bound(secs(20))
        .drain_bound(secs(8))
        .quarantine(secs(3_600))
        .drift_ppm(500)
        .least_retry(Duration::from_millis(50))
        .largest_retry(Duration::from_millis(500))
        .look_every(NonZeroU8::new(3).unwrap())
        .on_renew_error(RenewErrorPolicy::StepDown);
    assert_eq!(builder.config, expected.build().unwrap());
    assert_eq!((&*builder.key, builder.name.as_deref()), ("job", Some("worker-7")));
    assert_eq!(&builder.metadata[..], b"10.0.0.7:8080");
    assert_eq!(builder.hold_off, Some(Duration::from_millis(1_500)));
}

#[test]
fn one_of_the_bounds_of_stopping_is_set() {
    let (stop, drain) = (("TENURE_LONGEST_STOP", "8s"), ("TENURE_DRAIN_BOUND", "8s"));
    let builder = built(&[MEMORY, KEY, stop]).unwrap();
    assert_eq!(builder.config.explain().longest_stop, Duration::from_secs(8));
    assert_eq!(
        built(&[MEMORY, KEY, stop, drain]).unwrap_err().to_string(),
        "TENURE_DRAIN_BOUND is \"8s\": TENURE_LONGEST_STOP is set too; leave one of them out"
    );
}

#[test]
fn what_is_not_set_stays() {
    let before = built(&[MEMORY, KEY]).unwrap().config(Config::fast_failover()).name("own");
    let after = before.settings_from_variables(|_| Some("".into())).unwrap();
    assert_eq!((after.config, after.name.as_deref()), (Config::fast_failover(), Some("own")));
    let only = |name: &str| (name == "TENURE_DRAIN_BOUND").then(|| "2s".into());
    let after = after.settings_from_variables(only).unwrap();
    let expected = Config::fast_failover().to_builder().drain_bound(Duration::from_secs(2));
    assert_eq!(after.config, expected.build().unwrap());
}

#[test]
fn what_the_program_has_set_outlives_a_ttl() {
    let secs = Duration::from_secs;
    let changed = |config: ConfigBuilder| {
        let builder = built(&[MEMORY, KEY]).unwrap().config(config.build().unwrap());
        let only = |name: &str| (name == "TENURE_TTL").then(|| "30s".into());
        builder.settings_from_variables(only).map(|builder| builder.config)
    };
    let strict = |ttl| Config::builder(secs(ttl)).drift_ppm(20_000).quarantine(secs(60));
    for ttl in [5, 60] {
        assert_eq!(changed(strict(ttl)).unwrap(), strict(30).build().unwrap(), "{ttl} s");
    }
    let error = changed(Config::builder(secs(5)).quarantine(secs(20))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "TENURE_QUARANTINE is not set: quarantine is 20s; it must be within 30s and 604800s; set TENURE_QUARANTINE to \
         30000ms, for example"
    );
    assert_eq!((error.setting(), error.value()), ("TENURE_QUARANTINE", None));
}

#[test]
fn errors_name_the_variable_and_a_value() {
    let error = |variables: &[(&str, &str)]| built(variables).unwrap_err().to_string();
    assert!(error(&[KEY]).starts_with("TENURE_STORE is missing: no store is named"));
    assert_eq!(
        error(&[MEMORY]),
        "TENURE_KEY is missing: it must be the name of the election; set TENURE_KEY to nightly-report, for example"
    );
    let must = "it must be a whole number with one of the units ms, s, m and h";
    for value in ["15", "1.5s", "-1s", "15 s", "15S", "18446744073709551615h", "15sec"] {
        let refused = error(&[MEMORY, KEY, ("TENURE_TTL", value)]);
        let remedy = "set TENURE_TTL to 15s, for example";
        assert_eq!(refused, format!("TENURE_TTL is {value:?}: {must}; {remedy}"));
    }
    for value in ["s", "hunter2", "4hunter2", "redis://:hunter2@h1"] {
        let refused = error(&[MEMORY, KEY, ("TENURE_HOLD_OFF", value)]);
        let remedy = "set TENURE_HOLD_OFF to 15s, for example";
        assert_eq!(refused, format!("TENURE_HOLD_OFF can't be used: {must}; {remedy}"));
    }
    assert_eq!(
        error(&[MEMORY, KEY, ("TENURE_DRIFT_PPM", "1%")]),
        "TENURE_DRIFT_PPM is \"1%\": it must be a whole number of parts per million; set TENURE_DRIFT_PPM to 10000, for \
         example"
    );
    assert_eq!(
        error(&[MEMORY, KEY, ("TENURE_TTL", "5ms")]),
        "TENURE_TTL is \"5ms\": ttl is 5ms; it must be within 100ms and 86400s; set TENURE_TTL to 15000ms, for \
         example"
    );
}

/// Sets what the error says, in place of what was refused, and tries again.
fn mended(variables: &[(&str, &str)]) -> String {
    let refused = built(variables).unwrap_err();
    let (variable, value) = (refused.setting(), refused.example());
    let value = value.unwrap_or_else(|| panic!("no example: {refused}"));
    let text = refused.to_string();
    assert!(text.contains(variable) && text.contains(value), "{text}");
    let kept = variables.iter().copied().filter(|(other, _)| *other != variable);
    let changed: Vec<_> = kept.chain([(variable, value)]).collect();
    if let Err(error) = built(&changed) {
        panic!("{variable}={value} is refused too: {error}");
    }
    format!("{variable}={value}")
}

#[test]
fn each_refusal_names_a_value_that_is_accepted() {
    let cases: &[(&[(&str, &str)], &str)] = &[
        (&[MEMORY], "TENURE_KEY=nightly-report"),
        (&[MEMORY, ("TENURE_KEY", "\"job\"")], "TENURE_KEY=nightly-report"),
        (&[MEMORY, ("TENURE_KEY", "'job'")], "TENURE_KEY=nightly-report"),
        (&[MEMORY, ("TENURE_KEY", "job ")], "TENURE_KEY=nightly-report"),
        (&[MEMORY, ("TENURE_KEY", "job\r\n")], "TENURE_KEY=nightly-report"),
        (&[MEMORY, ("TENURE_KEY", "\u{feff}job")], "TENURE_KEY=nightly-report"),
        (&[MEMORY, KEY, ("TENURE_NAME", " me")], "TENURE_NAME=worker-7"),
        (&[MEMORY, KEY, ("TENURE_HOLD_OFF", "soon")], "TENURE_HOLD_OFF=15s"),
        (&[MEMORY, KEY, ("TENURE_TTL", "15")], "TENURE_TTL=15s"),
        (&[MEMORY, KEY, ("TENURE_RENEW_INTERVAL", "5")], "TENURE_RENEW_INTERVAL=5s"),
        (&[MEMORY, KEY, ("TENURE_REQUEST_TIMEOUT", "2")], "TENURE_REQUEST_TIMEOUT=1500ms"),
        (&[MEMORY, KEY, ("TENURE_STOP_MARGIN", "2")], "TENURE_STOP_MARGIN=1500ms"),
        (&[MEMORY, KEY, ("TENURE_POLL_BOUND", "2")], "TENURE_POLL_BOUND=15s"),
        (&[MEMORY, KEY, ("TENURE_DRAIN_BOUND", "2")], "TENURE_DRAIN_BOUND=15s"),
        (&[MEMORY, KEY, ("TENURE_QUARANTINE", "2")], "TENURE_QUARANTINE=15s"),
        (&[MEMORY, KEY, ("TENURE_DRIFT_PPM", "1%")], "TENURE_DRIFT_PPM=10000"),
        (&[MEMORY, KEY, ("TENURE_LOOK_EVERY", "0")], "TENURE_LOOK_EVERY=3"),
        (&[MEMORY, KEY, ("TENURE_ON_RENEW_ERROR", "stop")], "TENURE_ON_RENEW_ERROR=step-down"),
        (&[MEMORY, KEY, ("TENURE_LARGEST_RETRY", "1")], "TENURE_LARGEST_RETRY=1s"),
        // Each is a value by itself, and contradicts its bounds or the others.
        (&[MEMORY, KEY, ("TENURE_TTL", "5ms")], "TENURE_TTL=15000ms"),
        (&[MEMORY, KEY, ("TENURE_TTL", "48h")], "TENURE_TTL=15000ms"),
        (&[MEMORY, KEY, ("TENURE_RENEW_INTERVAL", "9s")], "TENURE_RENEW_INTERVAL=5701ms"),
        (&[MEMORY, KEY, ("TENURE_REQUEST_TIMEOUT", "3s")], "TENURE_REQUEST_TIMEOUT=1733ms"),
        (&[MEMORY, KEY, ("TENURE_STOP_MARGIN", "9s")], "TENURE_STOP_MARGIN=2201ms"),
        (&[MEMORY, KEY, ("TENURE_POLL_BOUND", "0ms")], "TENURE_POLL_BOUND=15000ms"),
        (&[MEMORY, KEY, ("TENURE_DRAIN_BOUND", "48h")], "TENURE_DRAIN_BOUND=15000ms"),
        (&[MEMORY, KEY, ("TENURE_QUARANTINE", "1s")], "TENURE_QUARANTINE=15000ms"),
        (&[MEMORY, KEY, ("TENURE_DRIFT_PPM", "0")], "TENURE_DRIFT_PPM=10000"),
        (&[MEMORY, KEY, ("TENURE_DRIFT_PPM", "150000")], "TENURE_RENEW_INTERVAL=2086ms"),
        (&[MEMORY, KEY, LEAST, ("TENURE_LARGEST_RETRY", "10ms")], "TENURE_LEAST_RETRY=10ms"),
        (&[MEMORY, KEY, ("TENURE_LARGEST_RETRY", "9s")], "TENURE_LARGEST_RETRY=1233ms"),
    ];
    for (variables, remedy) in cases {
        assert_eq!(mended(variables), *remedy, "{variables:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_value_that_is_no_text_is_refused_with_an_example() {
    use std::os::unix::ffi::OsStringExt;

    for variable in ["TENURE_KEY", "TENURE_NAME", "TENURE_METADATA", "TENURE_TTL"] {
        let refused = Candidate::from_variables(|name| match name {
            name if name == variable => Some(OsString::from_vec(vec![0xff])),
            "TENURE_STORE" => Some("memory:".into()),
            "TENURE_KEY" => Some("job".into()),
            _ => None,
        });
        let refused = refused.unwrap_err();
        let (named, value) = (refused.setting(), refused.example().unwrap());
        let remedy = format!("set {variable} to {value}, for example");
        let text = format!("{variable} can't be used: it is not UTF-8; {remedy}");
        assert_eq!((named, refused.to_string()), (variable, text));
        assert!(built(&[MEMORY, KEY, (named, value)]).is_ok());
    }
}
