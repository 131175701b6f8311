//! The tables of settings on the pages for users are those that are declared. A test that fails
//! prints what its page has to say.

use super::rows;
use crate::settings::{Configured, Place, Row, Table};
use crate::store::{PURGE, STORE, is_purged};

const CHOOSING: &str = include_str!("../../../docs/stores/choosing.md");

fn has_to_say(page: &str, table: &str) {
    assert!(page.contains(&format!("\n\n{table}\n")), "the page has to say:\n\n{table}");
}

/// The settings of a store, and the one that all stores have that can be purged.
fn of_store<C: Configured>() -> String {
    let Table { store, settings, prefixes, .. } = C::TABLE;
    settings.iter().for_each(|row| is_read::<C>(row));
    let rows = || settings.iter().copied().chain(is_purged(store).then_some(&PURGE.row));
    let in_url = |row: &Row| match (row.place, row.with) {
        (Place::Parameter, None) => format!("`{}`", row.name),
        (Place::Parameter, Some(with)) => format!("`{}` (with `{with}`)", row.name),
        (Place::Part, None) => row.name.to_owned(),
        (Place::Part, Some(scheme)) => format!("the scheme `{scheme}`"),
        (Place::Variable, _) => String::new(),
    };
    if prefixes.is_empty() {
        let cells =
            rows().map(|row| [in_url(row), row.must.into(), row.default.into(), row.about.into()]);
        return table(["in the URL", "it must be", "default", "meaning"], cells);
    }
    let prefixes: Vec<_> = prefixes.iter().map(|prefix| format!("`{prefix}`")).collect();
    let variable = |row: &Row| {
        let is_own = row.name != PURGE.row.name;
        row.variable.filter(|_| is_own).map_or_else(String::new, |name| format!("`{name}`"))
    };
    let head = format!("variable, behind {}", prefixes.join(" or "));
    let cells = rows().map(|row| {
        [in_url(row), variable(row), row.must.into(), row.default.into(), row.about.into()]
    });
    table(["in the URL", &head, "it must be", "default", "meaning"], cells)
}

/// A parameter that no configuration takes would be refused.
fn is_read<C: Configured>(row: &Row) {
    let schemes = C::TABLE.schemes.iter().flat_map(|scheme| {
        scheme.names.iter().chain(&scheme.encrypted).map(move |name| (*name, scheme.example))
    });
    let fits = |(name, _): &(&str, &str)| row.with.is_none_or(|with| with == *name);
    let (scheme, example) = schemes.clone().find(fits).expect("a scheme that it needs");
    if row.place == Place::Parameter {
        let url = format!("{scheme}{example}?{}={}", row.name, row.example);
        let refused = C::of_url(&url).err().map(|error| error.to_string());
        assert!(refused.is_none_or(|error| !error.contains("it has no effect")), "{url}");
    }
}

/// A table without the lines between columns that nobody would see.
fn table<const N: usize>(head: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |");
    let head = line(&head.map(str::to_owned)) + "|" + &"---|".repeat(N) + "\n";
    rows.fold(head, |table, row| table + &line(&row))
}

#[test]
fn variables_of_candidates_are_on_the_page() {
    let rows = [&STORE.row, &PURGE.row].into_iter().chain(rows());
    let cells = rows.map(|row| {
        let variable = format!("`TENURE_{}`", row.variable.unwrap_or_default());
        [variable, row.must.into(), row.default.into(), row.about.into()]
    });
    has_to_say(CHOOSING, &table(["variable", "it must be", "default", "meaning"], cells));
}

#[cfg(any(feature = "redis-without-tls", feature = "fred"))]
#[test]
fn settings_of_redis_are_on_the_page() {
    let page = include_str!("../../../docs/stores/redis.md");
    has_to_say(page, &of_store::<crate::store::redis::RedisConfig>());
}

#[cfg(feature = "mysql")]
#[test]
fn settings_of_mysql_are_on_the_page() {
    let page = include_str!("../../../docs/stores/mysql.md");
    has_to_say(page, &of_store::<crate::store::mysql::MysqlConfig>());
}

#[cfg(feature = "postgres")]
#[test]
fn settings_of_postgresql_are_on_the_page() {
    let page = include_str!("../../../docs/stores/postgres.md");
    has_to_say(page, &of_store::<crate::store::postgres::PostgresConfig>());
}

#[cfg(feature = "etcd")]
#[test]
fn settings_of_etcd_are_on_the_page() {
    has_to_say(
        include_str!("../../../docs/stores/etcd.md"),
        &of_store::<crate::store::etcd::EtcdConfig>(),
    );
}

#[cfg(feature = "kubernetes")]
#[test]
fn settings_of_kubernetes_are_on_the_page() {
    let page = include_str!("../../../docs/stores/kubernetes.md");
    has_to_say(page, &of_store::<crate::store::kubernetes::KubernetesConfig>());
}

#[cfg(all(feature = "sqlite", target_os = "linux"))]
#[test]
fn settings_of_sqlite_are_on_the_page() {
    let page = include_str!("../../../docs/stores/sqlite.md");
    has_to_say(page, &of_store::<crate::store::sqlite::SqliteConfig>());
}
