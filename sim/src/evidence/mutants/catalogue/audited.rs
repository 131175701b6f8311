//! The mutants that an audit of logs catches: those that make two leaders for long enough, repeat a
//! token, or end a tenure twice. What it can't see is in docs/audit.md.

const AUDITED: &[(&str, &[&str])] = &[
    ("deadline-counted-from-reply", &["single-leader", "token-monotonic"]),
    ("late-renewal-counts", &["single-leader", "no-resurrection"]),
    ("quarantine-ignored", &["single-leader"]),
    ("any-reply-answers", &["single-leader"]),
    ("late-grant-used", &["single-leader", "token-monotonic", "no-resurrection"]),
    ("step-down-told-twice", &["one-step-down-per-election"]),
    ("drift-not-allowed-for", &["single-leader"]),
    ("identity-ignored", &["single-leader"]),
    ("tokens-without-floor", &["token-monotonic"]),
    ("mark-not-compared", &["single-leader"]),
    ("renewed-lease-watched-on", &["single-leader"]),
    ("half-the-ttl", &["single-leader", "fenced-writes"]),
    ("live-lease-granted-again", &["single-leader", "token-monotonic", "fenced-writes"]),
    ("quarantine-halved", &["single-leader"]),
];

/// The properties of the audit that catch a mutant, if any does.
pub(in super::super) fn audited(mutant: &str) -> Option<&'static [&'static str]> {
    AUDITED.iter().find(|(name, _)| *name == mutant).map(|(_, caught_by)| *caught_by)
}

#[cfg(test)]
mod tests {
    use super::super::super::all;
    use super::*;
    use crate::audit::JUDGED;

    #[test]
    fn the_names_are_those_of_mutants_and_properties_of_the_audit() {
        for (name, caught_by) in AUDITED {
            assert!(all().any(|mutant| mutant.name == *name), "{name}");
            let known = |property: &&str| JUDGED.iter().any(|one| one.as_str() == *property);
            assert!(!caught_by.is_empty() && caught_by.iter().all(known), "{name}: {caught_by:?}");
        }
    }

    #[test]
    fn each_property_of_the_audit_is_seen_to_fail() {
        for property in JUDGED {
            assert!(AUDITED.iter().any(|one| one.1.contains(&property.as_str())), "{property}");
        }
    }
}
