//! Settings from environment variables.

use std::ffi::{OsStr, OsString};

use zeroize::Zeroizing;

use super::given::{Entry, Given, Origin, Text};
use super::setting::Row;

/// Variables under one of these prefixes.
pub(crate) struct Variables<'a, L> {
    pub(crate) prefixes: &'a [&'a str],
    pub(crate) lookup: L,
}

impl<L: Fn(&str) -> Option<OsString>> Variables<'_, L> {
    /// Each setting, by the first prefix under which it is set. One that is set and empty has no
    /// value. A port that Kubernetes has set for a Service counts as not set.
    pub(crate) fn given(&self, rows: &[&'static Row]) -> Given {
        let mut given = Given::new(Origin::Variables);
        for row in rows {
            if let Some(entry) = self.entry(row, self.prefixes, 0) {
                given.put(entry);
            }
        }
        given
    }

    /// Reads a setting anew, under that prefix alone. Returns which variable under another prefix
    /// it would be otherwise.
    pub(crate) fn only_under(
        &self,
        given: &mut Given,
        rank: usize,
        row: &'static Row,
    ) -> Option<String> {
        let own = self.entry(row, &self.prefixes[rank..=rank], rank)?;
        let other = given.rank(row).filter(|found| *found != rank);
        let unused = other.map(|_| given.called(row).to_owned());
        let is_set = matches!(own.text, Text::None { empty: None });
        given.put(own);
        unused.filter(|_| is_set)
    }

    fn entry(&self, row: &'static Row, prefixes: &[&str], first: usize) -> Option<Entry> {
        let variable = row.variable?;
        let names = prefixes.iter().map(|prefix| format!("{prefix}{variable}"));
        let set = (first..).zip(names.clone()).find_map(|(rank, name)| {
            let value = (self.lookup)(&name).filter(|value| !is_of_service(&name, value))?;
            Some((rank, name, value.into_string()))
        });
        let any = || names.collect::<Vec<_>>().join(" or ");
        let (called, text, rank) = match set {
            None => (any(), Text::None { empty: None }, 0),
            Some((rank, name, Ok(value))) if value.is_empty() => {
                (any(), Text::None { empty: Some(name) }, rank)
            }
            Some((rank, name, Ok(value))) => (name, Text::Some(Zeroizing::new(value)), rank),
            Some((rank, name, Err(_))) => (name, Text::NotUnicode, rank),
        };
        Some(Entry { row, called, text, rank, is_taken: false })
    }
}

/// True if Kubernetes has set it: in each pod, a Service `redis` is
/// `REDIS_PORT=tcp://10.0.0.1:6379`.
fn is_of_service(name: &str, value: &OsStr) -> bool {
    let begins = |text: &str| ["tcp://", "udp://", "sctp://"].iter().any(|it| text.starts_with(it));
    name.ends_with("_PORT") && value.to_str().is_some_and(begins)
}
