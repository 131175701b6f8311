//! A kind's facts, from its row.

use super::{Class, FaultKind, LinkFault, Shown, Time, What};
use crate::plan::{Assumption, named};

/// The place at which a fault happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Between a node and the store.
    Link,
    /// At a node's process, or at its machine.
    Process,
    /// At a node's clock.
    Clock,
    /// At the store.
    Store,
    /// At the store's server, which stays up.
    Operator,
}

impl FaultKind {
    /// The kinds that pause a process.
    pub const PAUSES: [Self; count(Class::Pauses)] = of_class(Class::Pauses);
    /// The kinds that let no message pass, in one direction at least.
    pub(crate) const CUTS_OFF: [Self; count(Class::CutsOff)] = of_class(Class::CutsOff);

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// A short description.
    pub const fn about(self) -> &'static str {
        self.row().about
    }

    /// The place at which it happens.
    pub const fn place(self) -> Place {
        match self.example() {
            // It is the link of one node that leads to the old one; what breaks is the store.
            Some(What::Link { fault: LinkFault::OldPrimary, .. } | What::Store(_)) => Place::Store,
            Some(What::Link { .. } | What::Links(_)) => Place::Link,
            Some(What::Process { .. }) => Place::Process,
            Some(What::Clock { .. }) | None => Place::Clock,
            Some(What::Operator(_)) => Place::Operator,
        }
    }

    /// The assumptions that a fault of this kind breaks, whatever else the plan has.
    pub const fn breaks(self) -> &'static [Assumption] {
        self.row().breaks
    }

    /// The assumptions that it breaks in some plans, and in which.
    pub const fn may_break(self) -> Option<(&'static [Assumption], &'static str)> {
        self.row().may_break
    }

    /// True if a fault of this kind breaks, all by itself, an assumption that more than one
    /// property rests on.
    pub fn is_beyond_the_assumptions(self) -> bool {
        self.breaks().iter().any(|assumption| *assumption != Assumption::PromptEffects)
    }

    pub(crate) const fn time(self) -> Time {
        self.row().time
    }

    /// The condition that shows it.
    pub(crate) const fn shown_by(self) -> Option<Shown> {
        self.row().shown_by
    }

    /// True if it has a duration. Any other fault happens at one moment.
    pub const fn lasts(self) -> bool {
        !matches!(self.row().time, Time::Moment)
    }

    /// True if it does nothing while the process of its node is down. Other faults of a node are of
    /// its machine or its link.
    pub const fn needs_a_process(self) -> bool {
        self.row().needs_a_process
    }

    /// True if the fault stops the process that it strikes until the fault ends.
    pub(in crate::plan) const fn stops_a_process(self) -> bool {
        matches!(self.row().class, Class::Pauses) || matches!(self, Self::Crash)
    }
}

/// The kinds in the order of their numbers, which are those from zero on.
pub(super) const fn in_order<const N: usize>(kinds: [FaultKind; N]) -> [FaultKind; N] {
    let (mut ordered, mut index) = (kinds, 0);
    while index < N {
        ordered[kinds[index] as usize] = kinds[index];
        index += 1;
    }
    ordered
}

const fn count(class: Class) -> usize {
    let (mut count, mut index) = (0, 0);
    while index < FaultKind::ALL.len() {
        if FaultKind::ALL[index].row().class as u8 == class as u8 {
            count += 1;
        }
        index += 1;
    }
    count
}

const fn of_class<const N: usize>(class: Class) -> [FaultKind; N] {
    let (mut found, mut length, mut index) = ([FaultKind::ALL[0]; N], 0, 0);
    while index < FaultKind::ALL.len() {
        if FaultKind::ALL[index].row().class as u8 == class as u8 {
            found[length] = FaultKind::ALL[index];
            length += 1;
        }
        index += 1;
    }
    found
}

named!(FaultKind, "fault", FaultKind::ALL, |one| one.name());
