//! One setting, declared: its names, its bounds, and a sentence about it.

use std::borrow::Cow;

use super::error::{SettingError, Value};
use super::mistake::{Mistake, shown};

/// A setting, and how its value is read.
pub(crate) struct Setting<T> {
    pub(crate) row: Row,
    pub(super) parse: fn(&str) -> Result<T, Fault>,
}

/// The description of a setting, whatever type its value has.
pub(crate) struct Row {
    /// In a URL: the name of a parameter, or what errors call a part.
    pub(crate) name: &'static str,
    pub(crate) place: Place,
    /// The environment variable, behind the prefix that all of a table have.
    pub(crate) variable: Option<&'static str>,
    /// "It must be ..".
    pub(crate) must: &'static str,
    /// A value that would do.
    pub(crate) example: &'static str,
    #[cfg_attr(not(test), allow(dead_code, reason = "for the pages"))]
    pub(crate) default: &'static str,
    /// A sentence about it.
    #[cfg_attr(not(test), allow(dead_code, reason = "for the pages"))]
    pub(crate) about: &'static str,
    /// Its demand on the URL's scheme.
    pub(crate) with: Option<&'static str>,
    pub(super) is_secret: bool,
    /// Records are found by it, so that with a mistake in it a candidate would be alone in another
    /// election.
    pub(super) names_records: bool,
}

/// A setting's place in a URL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In front of the `?`.
    Part,
    /// Behind the `?`.
    Parameter,
    /// Nowhere: there is only a variable.
    Variable,
}

/// The fault of a text for a setting. Nothing of the text is in it but numbers.
pub(crate) enum Fault {
    /// It is not what the setting must be.
    Must,
    /// Another reason: a clause about "it".
    Because(Cow<'static, str>),
    /// A reason with a remedy of its own.
    Mend { reason: Cow<'static, str>, remedy: Cow<'static, str> },
}

impl Fault {
    pub(crate) fn because(reason: impl Into<Cow<'static, str>>) -> Self {
        Self::Because(reason.into())
    }

    pub(crate) fn mend(
        reason: impl Into<Cow<'static, str>>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Mend { reason: reason.into(), remedy: remedy.into() }
    }
}

impl<T> Setting<T> {
    /// A part of the URL in front of the `?`.
    pub(crate) const fn part(name: &'static str, parse: fn(&str) -> Result<T, Fault>) -> Self {
        Self::at(Place::Part, name, parse)
    }

    /// A parameter behind the `?`.
    pub(crate) const fn parameter(name: &'static str, parse: fn(&str) -> Result<T, Fault>) -> Self {
        Self::at(Place::Parameter, name, parse)
    }

    /// A setting that only a variable has.
    pub(crate) const fn only_variable(
        variable: &'static str,
        parse: fn(&str) -> Result<T, Fault>,
    ) -> Self {
        Self::at(Place::Variable, variable, parse).variable(variable)
    }

    const fn at(place: Place, name: &'static str, parse: fn(&str) -> Result<T, Fault>) -> Self {
        let row = Row {
            name,
            place,
            variable: None,
            must: "",
            example: "",
            default: "none",
            about: "",
            with: None,
            is_secret: false,
            names_records: false,
        };
        Self { row, parse }
    }

    /// The same as a parameter of that name, without a variable.
    pub(crate) const fn renamed(mut self, name: &'static str) -> Self {
        (self.row.name, self.row.place, self.row.variable) = (name, Place::Parameter, None);
        self
    }

    pub(crate) const fn variable(mut self, variable: &'static str) -> Self {
        self.row.variable = Some(variable);
        self
    }

    /// Sets its rule, and a value that would do.
    pub(crate) const fn must(mut self, must: &'static str, example: &'static str) -> Self {
        (self.row.must, self.row.example) = (must, example);
        self
    }

    /// Sets the pages' sentence about it.
    pub(crate) const fn about(mut self, about: &'static str) -> Self {
        self.row.about = about;
        self
    }

    /// Sets its default on the pages.
    pub(crate) const fn default(mut self, default: &'static str) -> Self {
        self.row.default = default;
        self
    }

    /// Sets its demand on the URL's scheme.
    pub(crate) const fn with(mut self, with: &'static str) -> Self {
        self.row.with = Some(with);
        self
    }

    /// No error shows it.
    pub(crate) const fn secret(mut self) -> Self {
        self.row.is_secret = true;
        self
    }

    pub(crate) const fn names_records(mut self) -> Self {
        self.row.names_records = true;
        self
    }

    /// Checks a value that code gives.
    pub(crate) fn check(&self, text: &str) -> Result<T, SettingError> {
        (self.parse)(text).map_err(|fault| self.row.refuse(text, fault))
    }
}

impl Row {
    /// The error for a value that code has given.
    pub(crate) fn refuse(&self, value: &str, fault: Fault) -> SettingError {
        let value = if self.is_secret { Value::Hidden } else { Value::Shown(shown(value)) };
        let remedy = format!("set {} to {}, for example", self.name, self.example);
        self.refused(self.name.to_owned(), value, fault, remedy)
    }

    pub(super) fn mistake(&self, mistake: Mistake) -> Fault {
        let (reason, remedy) = mistake.words();
        if self.is_secret {
            Fault::mend(reason, remedy)
        } else {
            Fault::mend(reason, format!("{remedy}, as in {}", self.example))
        }
    }

    /// Its name, and the scheme that it needs.
    pub(super) fn with_scheme(&self) -> String {
        let Self { name, with, .. } = self;
        with.map_or_else(|| (*name).to_owned(), |with| format!("{name} (with {with})"))
    }

    /// The same for a value that is no text.
    pub(crate) fn refuse_unseen(&self, fault: Fault) -> SettingError {
        let remedy = format!("set {} to {}, for example", self.name, self.example);
        self.refused(self.name.to_owned(), Value::Hidden, fault, remedy)
    }

    pub(super) fn refused(
        &self,
        setting: String,
        value: Value,
        fault: Fault,
        usual: String,
    ) -> SettingError {
        let must = || format!("it must be {}", self.must).into();
        let (reason, remedy) = match fault {
            Fault::Must => (must(), usual.into()),
            Fault::Because(reason) => (reason, usual.into()),
            Fault::Mend { reason, remedy } => (reason, remedy),
        };
        let example = Some(Cow::from(self.example)).filter(|example| !example.is_empty());
        SettingError { setting, value, reason, remedy, example }
    }
}
