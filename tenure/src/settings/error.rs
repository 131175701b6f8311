//! A refused setting.

use std::borrow::Cow;
use std::fmt;

/// The refusal of a setting, of whatever store, and wherever it came from: a URL, an environment
/// variable, or code.
///
/// Its text names the setting, the value, what it must be, and a change that would do. It shows no
/// password, and of a URL and of variables nothing but short numbers: any other text may be a
/// password in the wrong place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    pub(super) setting: String,
    pub(super) value: Value,
    pub(super) reason: Cow<'static, str>,
    pub(super) remedy: Cow<'static, str>,
    pub(super) example: Option<Cow<'static, str>>,
}

/// The setting's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Missing,
    /// It is derived from others, or the program has set it.
    NotGiven,
    /// Something that may be a secret, or a part of one.
    Hidden,
    Shown(String),
}

impl SettingError {
    /// An error about a whole, such as a URL, which is not shown.
    pub(crate) fn about(
        setting: impl Into<String>,
        reason: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        let (setting, value) = (setting.into(), Value::Hidden);
        Self { setting, value, reason: reason.into(), remedy: remedy.into(), example: None }
    }

    /// The same error of a setting that is a part of `whole`.
    pub(crate) fn within(self, whole: &str) -> Self {
        Self { setting: format!("{whole}: {}", self.setting), ..self }
    }

    /// The setting: the name of a variable, a part of a URL, or a setting of code.
    pub fn setting(&self) -> &str {
        &self.setting
    }

    /// Its value, cut after 100 bytes. `None` if there was none, or it may be a secret.
    pub fn value(&self) -> Option<&str> {
        match &self.value {
            Value::Missing | Value::NotGiven | Value::Hidden => None,
            Value::Shown(value) => Some(value),
        }
    }

    /// The fault, and the bounds.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The remedy.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }

    /// A value that would do; `None` if no change of this setting alone suffices, or for an
    /// address, which only the user knows. For settings that contradict each other, all are
    /// accepted with it.
    pub fn example(&self) -> Option<&str> {
        self.example.as_deref()
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setting, value, reason, remedy, .. } = self;
        match value {
            Value::Missing => write!(f, "{setting} is missing")?,
            Value::NotGiven => write!(f, "{setting} is not set")?,
            Value::Hidden => write!(f, "{setting} can't be used")?,
            Value::Shown(value) => write!(f, "{setting} is {value:?}")?,
        }
        write!(f, ": {reason}; {remedy}")
    }
}

impl std::error::Error for SettingError {}
