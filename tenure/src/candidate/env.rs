//! A candidate from environment variables.

use std::ffi::OsString;
use std::num::NonZeroU8;
use std::time::Duration;

use super::{Candidate, CandidateBuilder};
use crate::settings::values::{duration, parsed};
use crate::settings::{Fault, Given, Row, Setting, Variables};
use crate::store::AnyStore;
use crate::{Config, ConfigBuilder, ConfigError, Remedy, RenewErrorPolicy, SettingError};

const PREFIXES: &[&str] = &["TENURE_"];

const KEY: Setting<String> = Setting::only_variable("KEY", parsed)
    .must("the name of the election", "nightly-report")
    .default("required")
    .about("the election");
const NAME: Setting<String> = Setting::only_variable("NAME", parsed)
    .must("the name of the candidate", "worker-7")
    .default("`host-pid-boot`")
    .about("what people call this candidate");
const METADATA: Setting<String> = Setting::only_variable("METADATA", parsed)
    .must("text", "10.0.0.7:8080")
    .about("what others know of it, such as its address");
const HOLD_OFF: Setting<Duration> = of_time("HOLD_OFF", "15s")
    .default("the renew interval")
    .about("how long it stays out after it resigned, or its work was lost");
const TTL: Setting<Duration> = of_time("TTL", "15s").default("15s").about("how long a lease lasts");
const DRAIN: Setting<Duration> = of_time("DRAIN_BOUND", "15s")
    .default("the TTL")
    .about("how long work may take to end after a resignation");
const STOP: Setting<Duration> = of_time("LONGEST_STOP", "15s")
    .default("from the drain bound")
    .about("how long stopping may take altogether, in place of the drain bound");
const DRIFT: Setting<u32> = Setting::only_variable("DRIFT_PPM", parsed)
    .must("a whole number of parts per million", "10000")
    .default("10000")
    .about("the drift bound of clocks");
const LOOK_EVERY: Setting<NonZeroU8> = Setting::only_variable("LOOK_EVERY", parsed)
    .must("a number from 1 to 255", "3")
    .default("1")
    .about("at which of a leader's renewals a waiting candidate looks");
const ON_RENEW_ERROR: Setting<RenewErrorPolicy> =
    Setting::only_variable("ON_RENEW_ERROR", |text| match text {
        "keep-until-expiry" => Ok(RenewErrorPolicy::KeepUntilExpiry),
        "step-down" => Ok(RenewErrorPolicy::StepDown),
        _ => Err(Fault::Must),
    })
    .must("keep-until-expiry or step-down", "step-down")
    .default("`keep-until-expiry`")
    .about("what a leader does when it does not know whether it renewed");

/// A setter of a time.
type Set = fn(ConfigBuilder, Duration) -> ConfigBuilder;

/// The settings of [`Config`] that are times. The others follow the first one.
static TIMES: [(Setting<Duration>, Set); 11] = [
    (TTL, ConfigBuilder::ttl),
    (
        of_time("RENEW_INTERVAL", "5s")
            .default("a third of the TTL")
            .about("the time from one renewal to the next"),
        ConfigBuilder::renew_interval,
    ),
    (
        of_time("REQUEST_TIMEOUT", "1500ms")
            .default("a tenth of the TTL")
            .about("how long to wait for a reply of the store"),
        ConfigBuilder::request_timeout,
    ),
    (
        of_time("STOP_MARGIN", "1500ms")
            .default("a tenth of the TTL")
            .about("how long before the end of its lease a leader stops"),
        ConfigBuilder::stop_margin,
    ),
    (
        of_time("POLL_BOUND", "15s")
            .default("the TTL, or a fiftieth of it where nothing wakes candidates")
            .about("the longest time between two attempts of a waiting candidate"),
        ConfigBuilder::poll_bound,
    ),
    (DRAIN, ConfigBuilder::drain_bound),
    (STOP, ConfigBuilder::longest_stop),
    (
        of_time("QUARANTINE", "15s")
            .default("the TTL")
            .about("how long to watch a store that may have lost data: the longest TTL in use"),
        ConfigBuilder::quarantine,
    ),
    (
        of_time("DEFER", "15s")
            .default("not at all")
            .about("how long this candidate lets others go first"),
        ConfigBuilder::defer,
    ),
    (
        of_time("LEAST_RETRY", "100ms")
            .default("100ms, less for short leases")
            .about("the longest random delay before another attempt after one failure"),
        ConfigBuilder::least_retry,
    ),
    (
        of_time("LARGEST_RETRY", "1s")
            .default("1s, less for short leases")
            .about("the same after many failures in a row"),
        ConfigBuilder::largest_retry,
    ),
];

const fn of_time(variable: &'static str, example: &'static str) -> Setting<Duration> {
    Setting::only_variable(variable, duration)
        .must("a whole number with one of the units ms, s, m and h", example)
}

/// All settings, but for the store's.
pub(crate) fn rows() -> Vec<&'static Row> {
    let others = [&KEY.row, &NAME.row, &METADATA.row, &HOLD_OFF.row];
    let times = TIMES.iter().map(|(setting, _)| &setting.row);
    let rest = [&DRIFT.row, &LOOK_EVERY.row, &ON_RENEW_ERROR.row];
    others.into_iter().chain(times).chain(rest).collect()
}

/// The names of all variables of tenure's own that are read: for the command `tenure doctor`, which
/// finds those that are misspelt.
#[doc(hidden)]
pub fn known_variables() -> Vec<String> {
    let own = rows().into_iter().chain(crate::store::VARIABLES).filter_map(|row| row.variable);
    let own = own.map(|name| format!("TENURE_{name}"));
    own.chain(crate::store::redis_variables()).collect()
}

impl Candidate {
    /// Starts from environment variables: `TENURE_STORE` names the store, as
    /// [`AnyStore::from_variables`] says; `TENURE_KEY`, the election; the others are those of
    /// [`settings_from_variables`](CandidateBuilder::settings_from_variables).
    ///
    /// ```no_run
    /// # fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// // TENURE_STORE=redis://10.0.0.7:6379 TENURE_KEY=nightly-report TENURE_TTL=5s
    /// let candidate = tenure::Candidate::from_env()?.start()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If a variable that is needed is not set, or one has a value that it can't have. The error
    /// names the variable and a value that would do, and never shows a URL or a password.
    pub fn from_env() -> Result<CandidateBuilder, SettingError> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// The same, through `lookup`.
    ///
    /// # Errors
    /// As for [`from_env`](Self::from_env).
    pub fn from_variables(
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<CandidateBuilder, SettingError> {
        let store = AnyStore::from_variables(&lookup)?;
        let key =
            Variables { prefixes: PREFIXES, lookup: &lookup }.given(&[&KEY.row]).need(&KEY)?;
        Self::builder(store, key).settings_from_variables(lookup)
    }
}

impl CandidateBuilder {
    /// Reads settings from the environment; see
    /// [`settings_from_variables`](Self::settings_from_variables).
    ///
    /// # Errors
    /// As for [`settings_from_variables`](Self::settings_from_variables).
    pub fn settings_from_env(self) -> Result<Self, SettingError> {
        self.settings_from_variables(|name| std::env::var_os(name))
    }

    /// Reads variables through `lookup`. One that is set and empty counts as not set.
    ///
    /// Each replaces one setting that was set before, also one of the [`config`](Self::config); of
    /// that, what was set in neither way follows from the TTL. The table of
    /// `docs/stores/choosing.md` has all variables.
    ///
    /// Durations are whole numbers with a unit: `500ms`, `15s`, `2m`, `1h`.
    ///
    /// # Errors
    /// If a variable has a value that it can't have, or a name surely is a mistake, or the settings
    /// contradict each other.
    pub fn settings_from_variables(
        mut self,
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, SettingError> {
        let mut given = Variables { prefixes: PREFIXES, lookup }.given(&rows());
        if let Some(name) = given.take(&NAME)? {
            self = self.name(name);
        }
        if let Some(metadata) = given.take_verbatim(&METADATA)? {
            self = self.metadata(metadata);
        }
        if let Some(hold_off) = given.take(&HOLD_OFF)? {
            self = self.hold_off(hold_off);
        }
        self.config = changed(self.config, &mut given)?;
        Ok(self)
    }
}

/// With the settings that are given.
fn changed(config: Config, given: &mut Given) -> Result<Config, SettingError> {
    if given.has(&DRAIN.row) && given.has(&STOP.row) {
        return Err(given.excludes(&DRAIN.row, &STOP.row));
    }
    let mut builder = config.to_builder();
    for (setting, set) in &TIMES {
        if let Some(value) = given.take(setting)? {
            builder = set(builder, value);
        }
    }
    if let Some(ppm) = given.take(&DRIFT)? {
        builder = builder.drift_ppm(ppm);
    }
    if let Some(renewals) = given.take(&LOOK_EVERY)? {
        builder = builder.look_every(renewals);
    }
    if let Some(policy) = given.take(&ON_RENEW_ERROR)? {
        builder = builder.on_renew_error(policy);
    }
    builder.build().map_err(|error| refused(given, &error))
}

/// The error for settings that contradict their bounds or each other: it names the one to change.
fn refused(given: &Given, error: &ConfigError) -> SettingError {
    let text = error.to_string();
    // The rest is the remedy, in the words of code.
    let reason = text.rsplit_once(": ").map_or(&*text, |(reason, _)| reason).to_owned();
    let (name, value) = match error.remedy() {
        Some(Remedy::Time { setting, value }) => {
            (setting.to_uppercase().replace(' ', "_"), format!("{}ms", value.as_millis()))
        }
        Some(Remedy::DriftPpm(ppm)) => (DRIFT.row.name.to_owned(), ppm.to_string()),
        _ => Default::default(),
    };
    match rows().into_iter().find(|row| row.name == name) {
        Some(row) => given.contradicts(row, reason, value),
        None => SettingError::about(
            "TENURE_TTL beside other settings",
            reason,
            "set fewer of the others, here or in the program",
        ),
    }
}

#[cfg(test)]
mod tests;
