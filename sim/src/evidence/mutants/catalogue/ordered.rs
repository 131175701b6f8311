//! The mutants of the driver that fail in some order of its events.

const ORDERED: &[&str] = &[
    "call-too-large",
    "drained-twice",
    "end-not-drained",
    "ended-election-left-in-the-queue",
    "first-result-for-all",
    "hints-wanted-for-ever",
    "hold-is-over-at-once",
    "left-twice",
    "old-timer-kept",
    "rival-ends-the-hints",
    "stop-is-undone-by-work",
    "stop-not-reported",
];

/// True if a mutant fails there.
pub(in super::super) fn is_ordered(mutant: &str) -> bool {
    ORDERED.contains(&mutant)
}

#[cfg(test)]
mod tests {
    use super::super::super::all;
    use super::*;

    #[test]
    fn the_names_are_those_of_mutants() {
        for name in ORDERED {
            assert!(all().any(|mutant| mutant.name == *name), "{name}");
        }
    }
}
