//! The elections of a run and their keys.

/// The first election's key; the keys of the others end in a number.
const KEY: &str = "job";

/// The key of an election.
pub(crate) fn key(election: usize) -> String {
    if election == 0 { KEY.to_owned() } else { format!("{KEY}-{election}") }
}

/// The election of a key.
pub(crate) fn election_of(key: &str) -> usize {
    key.rsplit_once('-').and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}
