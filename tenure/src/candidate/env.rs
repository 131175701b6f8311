//! A candidate from environment variables.

use std::ffi::OsString;
use std::time::Duration;

use super::{Candidate, CandidateBuilder};
use crate::store::{AnyStore, StoreEnvError, TextError, shown};
use crate::{Config, ConfigBuilder, ConfigError, Remedy};

impl Candidate {
    /// Starts from environment variables: `TENURE_STORE` names the store, as [`AnyStore::from_variables`] says;
    /// `TENURE_KEY`, the election; the others are those of
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
    /// If a variable that is needed is not set, or one has a value that it can't have. The error names the variable and
    /// a value that would do, and never shows a URL or a password.
    pub fn from_env() -> Result<CandidateBuilder, EnvError> {
        Self::from_variables(|name| std::env::var_os(name))
    }

    /// The same, through `lookup`.
    ///
    /// # Errors
    /// As for [`from_env`](Self::from_env).
    pub fn from_variables(
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<CandidateBuilder, EnvError> {
        let store = AnyStore::from_variables(&lookup)?;
        let key = name(&lookup, "TENURE_KEY")?.ok_or(EnvError::NoKey)?;
        Self::builder(store, key).settings_from_variables(lookup)
    }
}

impl CandidateBuilder {
    /// Reads settings from the environment; see [`settings_from_variables`](Self::settings_from_variables).
    ///
    /// # Errors
    /// As for [`settings_from_variables`](Self::settings_from_variables).
    pub fn settings_from_env(self) -> Result<Self, EnvError> {
        self.settings_from_variables(|name| std::env::var_os(name))
    }

    /// Reads variables through `lookup`. One that is set and empty counts as not set.
    ///
    /// - `TENURE_NAME`, `TENURE_METADATA`, `TENURE_HOLD_OFF`: see [`name`](Self::name), [`metadata`](Self::metadata)
    ///   and [`hold_off`](Self::hold_off). Each replaces what was set before;
    /// - `TENURE_TTL`, `TENURE_RENEW_INTERVAL`, `TENURE_REQUEST_TIMEOUT`, `TENURE_STOP_MARGIN`,
    ///   `TENURE_POLL_BOUND`, `TENURE_LONGEST_STOP` or `TENURE_DRAIN_BOUND`, `TENURE_QUARANTINE`, `TENURE_DEFER`,
    ///   `TENURE_DRIFT_PPM`: see [`ConfigBuilder`]. If one of them is set, the [`config`](Self::config) that was set
    ///   before is replaced as a whole: a TTL that is not set is 15 s, and the others follow from the TTL.
    ///
    /// Durations are whole numbers with a unit: `500ms`, `15s`, `2m`, `1h`.
    ///
    /// # Errors
    /// If a variable has a value that it can't have, or a name surely is [a mistake](TextError), or the settings contradict
    /// each other.
    pub fn settings_from_variables(
        mut self,
        lookup: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, EnvError> {
        if let Some(name) = name(&lookup, "TENURE_NAME")? {
            self = self.name(name);
        }
        if let Some(metadata) = text(&lookup, "TENURE_METADATA")? {
            self = self.metadata(metadata);
        }
        if let Some(hold_off) = duration(&lookup, "TENURE_HOLD_OFF")? {
            self = self.hold_off(hold_off);
        }
        Ok(match config(&lookup)? {
            Some(config) => self.config(config),
            None => self,
        })
    }
}

/// Why environment variables were refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnvError {
    /// The variables name no store that can be used.
    #[error(transparent)]
    Store(#[from] StoreEnvError),
    /// No election is named.
    #[error("TENURE_KEY is not set; it must name the election, such as nightly-report")]
    NoKey,
    /// A value is not text.
    #[error("{variable} is not UTF-8; it must be text, such as {}", example(variable))]
    NotUnicode {
        /// The variable.
        variable: &'static str,
    },
    /// A name surely is a mistake.
    #[error("{variable} is {value:?}: {why}, as in {}", example(variable))]
    Text {
        /// The variable.
        variable: &'static str,
        /// Its value, cut after 100 bytes; hidden if it looks like a URL.
        value: String,
        /// What in it.
        #[source]
        why: TextError,
    },
    /// A value is no duration.
    #[error(
        "{variable} is {value:?}; it must be a whole number with one of the units ms, s, m and h, such as {}",
        example(variable)
    )]
    Duration {
        /// The variable.
        variable: &'static str,
        /// Its value, cut after 100 bytes; hidden if it looks like a URL.
        value: String,
    },
    /// A value is no number.
    #[error(
        "{variable} is {value:?}; it must be a whole number of parts per million, such as 10000"
    )]
    Number {
        /// The variable.
        variable: &'static str,
        /// Its value, cut after 100 bytes; hidden if it looks like a URL.
        value: String,
    },
    /// Both bounds of how long stopping may take are set.
    #[error("{DRAIN} and {STOP} are both set; leave one of them out")]
    BothStops,
    /// The settings contradict each other.
    #[error(
        "TENURE_TTL and the variables of the other settings can't hold together{}",
        for_example(.0)
    )]
    Config(#[from] ConfigError),
}

impl EnvError {
    /// A variable to set, and a value that would do; `None` if no single variable suffices, or for a store, whose
    /// address only the user knows. For settings that contradict each other, all are accepted with it.
    pub fn remedy(&self) -> Option<(&'static str, String)> {
        let as_usual = |variable| Some((variable, example(variable).to_owned()));
        match self {
            Self::Store(_) | Self::BothStops => None,
            Self::NoKey => as_usual("TENURE_KEY"),
            Self::NotUnicode { variable }
            | Self::Text { variable, .. }
            | Self::Duration { variable, .. }
            | Self::Number { variable, .. } => as_usual(*variable),
            Self::Config(error) => remedy_of(error),
        }
    }
}

fn remedy_of(error: &ConfigError) -> Option<(&'static str, String)> {
    match error.remedy()? {
        Remedy::Time { setting, value } => {
            Some((variable_of(setting)?, format!("{}ms", value.as_millis())))
        }
        Remedy::DriftPpm(ppm) => Some((DRIFT, ppm.to_string())),
        _ => None,
    }
}

/// The end of a sentence about settings that contradict each other.
fn for_example(error: &ConfigError) -> String {
    remedy_of(error).map_or_else(String::new, |(variable, value)| {
        format!(": set {variable} to {value}, for example")
    })
}

const DRIFT: &str = "TENURE_DRIFT_PPM";
const DRAIN: &str = "TENURE_DRAIN_BOUND";
const STOP: &str = "TENURE_LONGEST_STOP";

/// The variable of a setting, by the name that errors have for it.
fn variable_of(setting: &str) -> Option<&'static str> {
    let name = format!("TENURE_{}", setting.to_uppercase().replace(' ', "_"));
    let all = DURATIONS.iter().map(|(variable, _)| *variable).chain(["TENURE_TTL"]);
    all.into_iter().find(|variable| *variable == name)
}

/// A value that would do at the default TTL.
fn example(variable: &str) -> &'static str {
    match variable {
        "TENURE_KEY" => "nightly-report",
        "TENURE_NAME" => "worker-7",
        "TENURE_METADATA" => "10.0.0.7:8080",
        "TENURE_RENEW_INTERVAL" => "5s",
        "TENURE_REQUEST_TIMEOUT" | "TENURE_STOP_MARGIN" => "1500ms",
        DRIFT => "10000",
        _ => "15s",
    }
}

/// The setting of a variable.
type Setting = fn(ConfigBuilder, Duration) -> ConfigBuilder;

const DURATIONS: [(&str, Setting); 8] = [
    ("TENURE_RENEW_INTERVAL", ConfigBuilder::renew_interval),
    ("TENURE_REQUEST_TIMEOUT", ConfigBuilder::request_timeout),
    ("TENURE_STOP_MARGIN", ConfigBuilder::stop_margin),
    ("TENURE_POLL_BOUND", ConfigBuilder::poll_bound),
    (DRAIN, ConfigBuilder::drain_bound),
    (STOP, ConfigBuilder::longest_stop),
    ("TENURE_QUARANTINE", ConfigBuilder::quarantine),
    ("TENURE_DEFER", ConfigBuilder::defer),
];

/// The settings, if a variable of one is set.
fn config(lookup: &impl Fn(&str) -> Option<OsString>) -> Result<Option<Config>, EnvError> {
    let ttl = duration(lookup, "TENURE_TTL")?;
    if duration(lookup, DRAIN)?.is_some() && duration(lookup, STOP)?.is_some() {
        return Err(EnvError::BothStops);
    }
    let mut is_set = ttl.is_some();
    let mut builder = Config::builder(ttl.unwrap_or(Config::normal().ttl()));
    for (variable, set) in DURATIONS {
        if let Some(value) = duration(lookup, variable)? {
            (builder, is_set) = (set(builder, value), true);
        }
    }
    let variable = DRIFT;
    if let Some(ppm) = text(lookup, variable)? {
        let number = ppm.parse();
        let number = number.map_err(|_| EnvError::Number { variable, value: shown(&ppm) })?;
        (builder, is_set) = (builder.drift_ppm(number), true);
    }
    if is_set { Ok(Some(builder.build()?)) } else { Ok(None) }
}

fn text(
    lookup: &impl Fn(&str) -> Option<OsString>,
    variable: &'static str,
) -> Result<Option<String>, EnvError> {
    let value = lookup(variable).filter(|value| !value.is_empty());
    value.map(OsString::into_string).transpose().map_err(|_| EnvError::NotUnicode { variable })
}

/// The name of an election or a candidate, unless it surely is a mistake: with it, this candidate would be alone in
/// another election.
fn name(
    lookup: &impl Fn(&str) -> Option<OsString>,
    variable: &'static str,
) -> Result<Option<String>, EnvError> {
    let Some(name) = text(lookup, variable)? else { return Ok(None) };
    match TextError::check(&name) {
        Ok(()) => Ok(Some(name)),
        Err(why) => Err(EnvError::Text { variable, value: shown(&name), why }),
    }
}

fn duration(
    lookup: &impl Fn(&str) -> Option<OsString>,
    variable: &'static str,
) -> Result<Option<Duration>, EnvError> {
    let Some(value) = text(lookup, variable)? else { return Ok(None) };
    let read = read(&value).ok_or_else(|| EnvError::Duration { variable, value: shown(&value) });
    read.map(Some)
}

fn read(value: &str) -> Option<Duration> {
    let unit = value.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, unit) = value.split_at(unit);
    let millis: u64 = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(millis).map(Duration::from_millis)
}

#[cfg(test)]
mod tests;
