//! The settings that one URL, or one environment, gives for a table.

use std::collections::BTreeMap;

use zeroize::Zeroizing;

use super::error::{SettingError, Value};
use super::mistake::Mistake;
use super::scheme::Scheme;
use super::setting::{Fault, Place, Row, Setting};

/// The settings that are given, each at most once. A configuration takes what it knows; what is
/// left then has no effect, and is refused by [`finish`](Self::finish).
pub(crate) struct Given {
    entries: BTreeMap<&'static str, Entry>,
    origin: Origin,
}

#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// A URL of that form.
    Url(&'static Scheme),
    Variables,
}

/// A setting that may be given.
pub(super) struct Entry {
    pub(super) row: &'static Row,
    /// Its name in errors.
    pub(super) called: String,
    pub(super) text: Text,
    /// The number of the prefix that the variable has.
    pub(super) rank: usize,
    pub(super) is_taken: bool,
}

pub(super) enum Text {
    /// Perhaps since that variable is set, and empty.
    None {
        empty: Option<String>,
    },
    /// Overwritten when it is dropped, since it may be a password.
    Some(Zeroizing<String>),
    NotUnicode,
}

impl Given {
    pub(super) fn new(origin: Origin) -> Self {
        Self { entries: BTreeMap::new(), origin }
    }

    pub(super) fn put(&mut self, entry: Entry) {
        self.entries.insert(entry.row.name, entry);
    }

    pub(super) fn entry(&mut self, name: &str) -> Option<&mut Entry> {
        self.entries.get_mut(name)
    }

    /// All that are declared.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'static Row> {
        self.entries.values().map(|entry| entry.row)
    }

    /// The value of a setting, if it is given.
    pub(crate) fn take<T>(&mut self, setting: &Setting<T>) -> Result<Option<T>, SettingError> {
        let of_variable = matches!(self.origin, Origin::Variables);
        self.read(setting, setting.row.names_records || of_variable)
    }

    /// The same for a text in which everything may be meant as it is.
    pub(crate) fn take_verbatim<T>(
        &mut self,
        setting: &Setting<T>,
    ) -> Result<Option<T>, SettingError> {
        self.read(setting, false)
    }

    fn read<T>(
        &mut self,
        setting: &Setting<T>,
        is_checked: bool,
    ) -> Result<Option<T>, SettingError> {
        let Some(entry) = self.entries.get_mut(setting.row.name) else { return Ok(None) };
        entry.is_taken = true;
        let read = match &entry.text {
            Text::None { .. } => return Ok(None),
            Text::NotUnicode => Err(Fault::because("it is not UTF-8")),
            Text::Some(text) => {
                let mistake = if is_checked { Mistake::check(text) } else { Ok(()) };
                let mistake = mistake.map_err(|mistake| setting.row.mistake(mistake));
                mistake.and_then(|()| (setting.parse)(text))
            }
        };
        read.map(Some).map_err(|fault| self.refuse(&setting.row, fault))
    }

    /// The value of a setting that has to be given.
    pub(crate) fn need<T>(&mut self, setting: &Setting<T>) -> Result<T, SettingError> {
        let taken = self.take(setting)?;
        taken.ok_or_else(|| self.refuse(&setting.row, Fault::Must))
    }

    /// Two settings of which each needs the other.
    pub(crate) fn both<T, U>(
        &mut self,
        one: &Setting<T>,
        other: &Setting<U>,
    ) -> Result<Option<(T, U)>, SettingError> {
        match (self.has(&one.row), self.has(&other.row)) {
            (true, false) => Err(self.lacks(&other.row, &one.row)),
            (false, true) => Err(self.lacks(&one.row, &other.row)),
            (true, true) | (false, false) => Ok(self.take(one)?.zip(self.take(other)?)),
        }
    }

    /// True if a setting is given.
    pub(crate) fn has(&self, row: &Row) -> bool {
        self.rank(row).is_some()
    }

    /// The number of the prefix of a variable that is set.
    pub(crate) fn rank(&self, row: &Row) -> Option<usize> {
        let entry = self.entries.get(row.name)?;
        (!matches!(entry.text, Text::None { .. })).then_some(entry.rank)
    }

    /// Leaves a setting out.
    pub(crate) fn forget(&mut self, row: &Row) {
        if let Some(entry) = self.entries.get_mut(row.name) {
            entry.text = Text::None { empty: None };
        }
    }

    /// Refuses what has no effect.
    pub(crate) fn finish(&self) -> Result<(), SettingError> {
        let is_left = |entry: &&Entry| !entry.is_taken && !matches!(entry.text, Text::None { .. });
        let Some(Entry { row, .. }) = self.entries.values().find(is_left) else { return Ok(()) };
        let name = row.name;
        Err(self.refuse(
            row,
            match row.with {
                Some(with) => Fault::mend(
                    format!("it needs {with} in the URL's scheme"),
                    format!("begin the URL with {with}, or leave {name} out"),
                ),
                None => Fault::mend("it has no effect here", format!("leave {name} out")),
            },
        ))
    }

    /// The error about a setting, as it is given.
    pub(crate) fn refuse(&self, row: &Row, fault: Fault) -> SettingError {
        let (called, value) = match self.entries.get(row.name) {
            Some(entry) => (entry.called.clone(), self.shown(entry)),
            None => (row.name.to_owned(), Value::Missing),
        };
        let usual = match self.origin {
            Origin::Variables => format!("set {called} to {}, for example", row.example),
            Origin::Url(_) if row.place == Place::Parameter => {
                format!("write {}={}, for example", row.name, row.example)
            }
            Origin::Url(scheme) => scheme.form(),
        };
        let fault = match self.entries.get(row.name).map(|entry| &entry.text) {
            Some(Text::None { empty: Some(empty) }) if matches!(fault, Fault::Must) => {
                Fault::because(format!("{empty} is set, and empty; it must be {}", row.must))
            }
            _ => fault,
        };
        row.refused(called, value, fault, usual)
    }

    fn shown(&self, entry: &Entry) -> Value {
        let is_alone = match self.origin {
            Origin::Variables => true,
            Origin::Url(_) => entry.row.place == Place::Parameter,
        };
        match &entry.text {
            Text::None { .. } => Value::Missing,
            Text::Some(text) if is_alone && !entry.row.is_secret && is_number(text) => {
                Value::Shown(text.to_string())
            }
            Text::Some(_) | Text::NotUnicode => Value::Hidden,
        }
    }

    /// The error for a setting that another one needs.
    pub(crate) fn lacks(&self, missing: &Row, needed_by: &Row) -> SettingError {
        let reason = format!("{} needs it", self.called(needed_by));
        self.refuse(missing, Fault::mend(reason, "set both, or neither"))
    }

    /// The error for a setting beside another one that says the same or the opposite.
    pub(crate) fn excludes(&self, one: &Row, other: &Row) -> SettingError {
        let reason = format!("{} is set too", self.called(other));
        self.refuse(one, Fault::mend(reason, "leave one of them out"))
    }

    /// The error for a setting that contradicts others, with a value at which all hold together.
    pub(crate) fn contradicts(&self, row: &Row, reason: String, value: String) -> SettingError {
        let remedy = format!("set {} to {value}, for example", self.called(row));
        let refused = self.refuse(row, Fault::mend(reason, remedy));
        let found = if self.has(row) { refused.value } else { Value::NotGiven };
        SettingError { value: found, example: Some(value.into()), ..refused }
    }

    /// A setting's name in errors.
    pub(crate) fn called<'a>(&'a self, row: &'a Row) -> &'a str {
        self.entries.get(row.name).map_or(row.name, |entry| &entry.called)
    }
}

/// True if a text looks like a short number, perhaps with a unit. Whatever was expected, another
/// text may be a password in the wrong place.
fn is_number(text: &str) -> bool {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let number = text.trim_start_matches(['+', '-']);
    let unit = number.trim_start_matches(|letter: char| is_digit(letter) || ". ".contains(letter));
    text.len() <= 24 && number.starts_with(is_digit) && unit.len() <= 3
}
