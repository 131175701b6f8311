//! Settings in variables: names that nothing reads, values that are refused, variables without
//! effect.

use std::env;

use tenure::store::{AnyStore, Store};
use tenure::{Candidate, Config};

use super::kind::Kind;
use super::report::Report;
use crate::place::{self, At};

/// Variables that `tenure` alone reads, or sets for its command.
const OF_THE_COMMAND: [&str; 2] = ["TENURE_TOKEN", place::STORE_FILE];
/// Variables of other programs that say where a server is.
const SERVERS: [&str; 9] = [
    "REDIS_URL",
    "REDIS_HOST",
    "VALKEY_URL",
    "DATABASE_URL",
    "POSTGRES_URL",
    "PGHOST",
    "MYSQL_HOST",
    "ETCDCTL_ENDPOINTS",
    "KUBERNETES_SERVICE_HOST",
];
/// The least similarity of a misspelt name to the right one.
const ALIKE: f64 = 0.85;

/// Checks the variables, and returns the settings of candidates: the default ones if theirs are
/// refused.
pub(super) fn check(at: &At, store: &AnyStore, report: &mut Report) -> Config {
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<_> = names.filter(|name| name.starts_with("TENURE_")).collect();
    names.sort_unstable();
    let known = tenure::known_variables();
    for name in names.iter().filter(|name| !is_known(name, &known)) {
        report.add(Kind::UnknownVariable, unknown(name, &known));
    }
    without_effect(at, &names, report);
    if store.traits().name == "memory" {
        report.add(Kind::InMemory, "the store is in the memory of this process");
    }
    let builder = Candidate::builder(store.clone(), "tenure-doctor");
    let default = *builder.chosen_config();
    match builder.settings_from_env() {
        Ok(builder) => {
            let config = *builder.chosen_config();
            if let Err(failure) = crate::run::suits(&config) {
                report.add(Kind::SettingRefused, failure.to_string());
            }
            config
        }
        Err(error) => {
            report.add(Kind::SettingRefused, error.to_string());
            default
        }
    }
}

fn is_known(name: &str, known: &[String]) -> bool {
    OF_THE_COMMAND.contains(&name) || known.iter().any(|other| other == name)
}

fn unknown(name: &str, known: &[String]) -> String {
    let alike = known.iter().map(|other| (strsim::jaro_winkler(name, other), other));
    let nearest = alike.max_by(|one, other| one.0.total_cmp(&other.0));
    match nearest {
        Some((alike, meant)) if alike > ALIKE => {
            format!("{name} is set, and nothing reads it; {meant} may be meant")
        }
        _ => format!("{name} is set, and nothing reads it"),
    }
}

/// Variables that would name a store, or say how to use it, and do not.
fn without_effect(at: &At, names: &[String], report: &mut Report) {
    let value = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let by_option = at.store.is_some() || at.store_file.is_some();
    let url = value("TENURE_STORE");
    if by_option {
        let names_store = |name: &&str| value(name).is_some();
        if let Some(name) = place::VARIABLES.iter().copied().find(names_store) {
            let text = format!("the store is named by an option, and {name} is set too");
            report.add(Kind::StoreByOption, text);
        }
        return;
    }
    let Some(url) = url else {
        if !place::VARIABLES.iter().any(|name| value(name).is_some()) {
            match SERVERS.into_iter().find(|name| value(name).is_some()) {
                Some(server) => {
                    let text = format!("no store is named, and {server} is set");
                    report.add(Kind::StoreNotNamed, text);
                }
                None => report.add(Kind::OwnFile, "no store is named"),
            }
        }
        return;
    };
    let of_redis = |name: &&String| name.starts_with("TENURE_REDIS_") && value(name).is_some();
    if url != "redis" {
        for name in names.iter().filter(of_redis) {
            report.add(Kind::VariableUnused, format!("{name} is set beside TENURE_STORE"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_corrected() {
        let known = tenure::known_variables();
        for (name, meant) in [
            ("TENURE_TTL_MS", "TENURE_TTL"),
            ("TENURE_STOR", "TENURE_STORE"),
            ("TENURE_REQUEST_TIME_OUT", "TENURE_REQUEST_TIMEOUT"),
            ("TENURE_QUARANTAINE", "TENURE_QUARANTINE"),
        ] {
            assert!(!is_known(name, &known) && is_known(meant, &known), "{known:?}");
            let text = unknown(name, &known);
            assert!(text.ends_with(&format!("{meant} may be meant")), "{text}");
        }
    }
}
