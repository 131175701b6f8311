//! Settings and URLs from anywhere: what is accepted holds together, and errors give no secret
//! away.

#![no_main]

use std::time::Duration;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use tenure::store::redis::RedisConfig;
use tenure_core::{Config, ConfigBuilder};

#[derive(Arbitrary, Debug)]
struct Given<'a> {
    ttl: Duration,
    settings: Vec<Setting>,
    url: &'a str,
    variables: Vec<(u8, &'a str)>,
    password: u64,
}

/// Names of environment variables, behind their prefixes.
const VARIABLES: [&str; 8] = [
    "HOST",
    "PORT",
    "PREFIX",
    "USERNAME",
    "TLS",
    "SENTINEL_HOST",
    "SENTINEL_PORT",
    "SENTINEL_NAME",
];

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Setting {
    RenewInterval(Duration),
    RequestTimeout(Duration),
    StopMargin(Duration),
    Retry(Duration, Duration),
    PollBound(Duration),
    DrainBound(Duration),
    Quarantine(Duration),
    Granularity(Duration),
    Drift(u32),
}

fuzz_target!(|given: Given<'_>| {
    let builder = given.settings.iter().fold(Config::builder(given.ttl), set);
    match builder.build() {
        Ok(config) => holds_together(&config),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    drop(RedisConfig::from_url(given.url));
    keeps_its_secret(&given);
    keeps_the_variables_secret(&given);
});

fn set(builder: ConfigBuilder, setting: &Setting) -> ConfigBuilder {
    match *setting {
        Setting::RenewInterval(of) => builder.renew_interval(of),
        Setting::RequestTimeout(of) => builder.request_timeout(of),
        Setting::StopMargin(of) => builder.stop_margin(of),
        Setting::Retry(least, most) => builder.least_retry(least).largest_retry(most),
        Setting::PollBound(of) => builder.poll_bound(of),
        Setting::DrainBound(of) => builder.drain_bound(of),
        Setting::Quarantine(of) => builder.quarantine(of),
        Setting::Granularity(of) => builder.granularity(of),
        Setting::Drift(ppm) => builder.drift_ppm(ppm),
    }
}

/// The formula of the validity, in integers, and what a configuration promises besides.
fn holds_together(config: &Config) {
    let (ttl, rho) = (config.ttl().as_nanos(), u128::from(config.drift_ppm()));
    let countable = (ttl - config.granularity().as_nanos()) * (1_000_000 - rho) / (1_000_000 + rho);
    let validity = config.validity().as_nanos();
    assert_eq!(validity, countable - config.stop_margin().as_nanos(), "{config:?}");
    let each = config.request_timeout().max(Duration::ZERO) + config.retry().1;
    assert!((config.renew_interval() + 3 * each).as_nanos() <= validity, "{config:?}");
    assert!(config.quarantine() >= config.ttl(), "{config:?}");
    assert!(!format!("{:?}", config.explain()).is_empty());
}

/// A password that a URL holds is in no error and in no configuration that is shown.
fn keeps_its_secret(given: &Given<'_>) {
    let secret = format!("hush{:016x}", given.password);
    let rest = given.url;
    for url in [
        format!("redis://me:{secret}@{rest}"),
        format!("redis+sentinel://me:{secret}@{rest}/name"),
        format!("{rest}://me:{secret}@host/{rest}"),
        format!("redis+sentinel://host/name?sentinel_password={secret}&{rest}"),
    ] {
        let shown = match RedisConfig::from_url(&url) {
            Ok(config) => format!("{config:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!shown.contains(&secret), "{url:?}: {shown}");
    }
}

/// Nor is one that an environment variable holds.
fn keeps_the_variables_secret(given: &Given<'_>) {
    let secret = format!("hush{:016x}", given.password);
    let set = |name: &str| {
        let with = |(rank, what)| format!("{}{what}", ["A_", "B_"][rank]) == name;
        let found = given.variables.iter().find(|(which, _)| {
            let which = usize::from(*which);
            with((which / VARIABLES.len() % 2, VARIABLES[which % VARIABLES.len()]))
        });
        match found {
            Some((_, value)) => Some(value.into()),
            None => (name == "B_PASSWORD").then(|| secret.clone().into()),
        }
    };
    let shown = match RedisConfig::from_variables(&["A_", "B_"], set) {
        Ok(config) => format!("{config:?}"),
        Err(error) => format!("{error} {error:?}"),
    };
    assert!(!shown.contains(&secret), "{:?}: {shown}", given.variables);
}
