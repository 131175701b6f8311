//! The rows of a store that compares and swaps, and the statements that change them.

use std::time::Duration;

use tenure_core::contract::{Past, Record};

use super::Weakness;

/// One election's row and the row of the past that all elections share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Content {
    pub(super) election: Option<Row<Record>>,
    /// Without a value, nothing is known of the past.
    pub(super) past: Option<Row<Option<Past>>>,
    /// The last version, where versions are counted. It is lost with the rows.
    counted: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Row<T> {
    pub(super) version: u8,
    pub(super) value: T,
}

/// A statement on its way to the server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Statement {
    /// Inserts the row of the past, unless there is one. The number is the client's.
    Begin {
        number: u8,
        past: Option<Past>,
    },
    Swap(Swap),
}

/// The rows' new values, and the versions that it compares in the same step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Swap {
    /// The identity of the server that was read.
    pub(super) server: u8,
    pub(super) past: u8,
    pub(super) election: Option<u8>,
    /// A longer watch of the past. It is noted whatever comes of the rest, and leaves the version
    /// as it is.
    pub(super) watched: Option<Duration>,
    pub(super) new_past: Option<Past>,
    pub(super) new_record: Option<Record>,
}

/// The number that the server draws for the rows of the next statement.
pub(super) struct Draw<'a> {
    pub(super) weakness: Option<Weakness>,
    pub(super) drawn: &'a mut u8,
}

impl Draw<'_> {
    fn version(&mut self, counted: &mut u8) -> u8 {
        *counted += 1;
        *self.drawn += 1;
        if self.weakness == Some(Weakness::CountedVersions) { *counted } else { *self.drawn }
    }
}

impl Content {
    /// Carries out a statement at the server of that identity. True if it was done.
    pub(super) fn carry_out(
        &mut self,
        server: u8,
        statement: &Statement,
        mut draw: Draw<'_>,
    ) -> bool {
        match statement {
            Statement::Begin { .. } if self.past.is_some() => false,
            Statement::Begin { number, past } => {
                let drawn = draw.version(&mut self.counted);
                let is_clients = draw.weakness == Some(Weakness::ClientsNumber);
                let version = if is_clients { *number } else { drawn };
                self.past = Some(Row { version, value: *past });
                true
            }
            Statement::Swap(swap) => self.swap(server, swap, draw),
        }
    }

    fn swap(&mut self, server: u8, swap: &Swap, mut draw: Draw<'_>) -> bool {
        let is_same_server =
            swap.server == server || draw.weakness == Some(Weakness::UncomparedServer);
        let is_same_past = self.past.as_ref().map(|row| row.version) == Some(swap.past)
            || draw.weakness == Some(Weakness::UncomparedPast);
        if !(is_same_server && is_same_past) {
            return false;
        }
        if let (Some(watched), Some(past)) = (swap.watched, self.known_past()) {
            past.watched = past.watched.max(watched);
        }
        if self.election.as_ref().map(|row| row.version) != swap.election {
            return false;
        }
        if swap.new_past.is_none() && swap.new_record.is_none() {
            return true;
        }
        let version = draw.version(&mut self.counted);
        if let (Some(mut past), Some(row)) = (swap.new_past, &mut self.past) {
            if let Some(before) = row.value.filter(|before| before.stamp == past.stamp) {
                past.watched = past.watched.max(before.watched);
            }
            *row = Row { version, value: Some(past) };
        }
        if let Some(record) = swap.new_record {
            self.election = Some(Row { version, value: record });
        }
        true
    }

    fn known_past(&mut self) -> Option<&mut Past> {
        self.past.as_mut()?.value.as_mut()
    }
}
