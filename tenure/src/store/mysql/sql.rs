//! The tables' names, and all statements.
//!
//! Values are hexadecimal literals and numbers, so neither `sql_mode` nor a character set changes a
//! statement's meaning, and columns that are compared hold bytes. Each statement is a transaction
//! of its own, so no lock is held between two. One that changes rows reads, of every table in it,
//! the newest committed rows and locks them until it is committed, whatever the isolation level:
//! what it compares is still so when it writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use bytes::Bytes;

use crate::SettingError;
use crate::settings::Setting;
use crate::store::Key;
use crate::store::common::name_without;
use crate::store::key::fnv;

/// Characters that could end a name or a string.
pub(crate) const EXCLUDED: &[char] = &['`', '\'', '\\', '/', '.', '\0'];
// Other names are made from it.
pub(super) const TABLE_NAME: Setting<String> =
    Setting::parameter("table", |text| name_without::<48>(text, EXCLUDED))
        .must("1 to 48 bytes without ` ' \\ / . and zero", "app_leases")
        .names_records()
        .default("`tenure_leases`")
        .about("the records' table, and the beginning of the names of two more");

/// The version of a row: eight bytes of the message that has written it, by which its sender knows
/// it again, and eight that the server draws, so that a repeated message writes another one.
pub(super) type Version = [u8; 16];

/// The first bytes of the versions that a message writes. No two messages have the same. The last
/// two are a sum of the others, which versions that something else writes do not have.
pub(super) type Mark = [u8; 8];

pub(super) fn mark_of(drawn: [u8; 6]) -> Mark {
    let mut mark = [0; 8];
    let (own, sum) = mark.split_at_mut(drawn.len());
    own.copy_from_slice(&drawn);
    sum.copy_from_slice(&fnv(&drawn).to_be_bytes()[..2]);
    mark
}

/// True if any candidate's message has written the version.
pub(super) fn is_of_a_message(version: &Version) -> bool {
    version.starts_with(&mark_of(std::array::from_fn(|at| version[at])))
}

/// True if that message has written the version in its last step: its first one only makes room for
/// the row.
pub(super) fn is_of(mark: Mark, version: &Version) -> bool {
    version.starts_with(&mark) && *version != room(mark)
}

/// The version of a row without anything in it.
pub(super) fn room(mark: Mark) -> Version {
    let mut version = [0; 16];
    version[..mark.len()].copy_from_slice(&mark);
    version
}

fn drawn(mark: Mark) -> String {
    format!("CONCAT({}, UNHEX(LEFT(SHA2(UUID(), 256), 16)))", hex(&mark))
}

/// Three tables, by default `tenure_leases`, `tenure_leases_past` and `tenure_leases_boot`.
/// Elections of the same tables share a past.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct MysqlTables {
    name: String,
}

impl Default for MysqlTables {
    fn default() -> Self {
        Self { name: "tenure_leases".into() }
    }
}

/// The condition under which a swap is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guard {
    /// The number that the server has drawn after its start.
    pub(super) nonce: Vec<u8>,
    /// The version of the past.
    pub(super) past: Version,
}

/// The rows that were read, by their versions, and what replaces them.
#[derive(Clone, Debug)]
pub(super) struct Swap {
    pub(super) guard: Guard,
    /// The version of the election's row, if there is one.
    pub(super) row: Option<Version>,
    /// The election's row, and whether a waiting candidate may want to look, unless it stays.
    pub(super) new_row: Option<(bool, Bytes)>,
    /// The past, unless it stays.
    pub(super) new_past: Option<NewPast>,
    /// True if a new tenure begins.
    pub(super) is_grant: bool,
}

impl Swap {
    fn watched(&self) -> Option<u64> {
        match self.new_past {
            Some(NewPast::Watched(nanos)) => Some(nanos),
            Some(NewPast::Another(_)) | None => None,
        }
    }

    /// True if it writes another past, which no other swap of a message can compare then.
    pub(super) fn is_apart(&self) -> bool {
        matches!(self.new_past, Some(NewPast::Another(_)))
    }

    /// The number of rows that it replaces: none if it only notes a watch.
    pub(super) fn replaced(&self) -> usize {
        usize::from(self.new_row.is_some()) + usize::from(self.is_apart())
    }
}

/// The content of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    All,
    /// The rows that swaps have written which begin no tenure: not when the tables were made.
    Written,
    /// Those elections alone at which a candidate may want to look.
    Hints,
}

/// The next past of a swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NewPast {
    /// It was watched for so many nanoseconds. What others have decided by a shorter watch is still
    /// so, so its version stays: candidates that watch at the same time do not wait for each other.
    Watched(u64),
    Another(AnotherPast),
}

/// One with another version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AnotherPast {
    pub(super) value: Bytes,
    /// It was watched for so many nanoseconds: at least, if it has the same stamp.
    pub(super) watched: u64,
    pub(super) is_new_stamp: bool,
}

impl AnotherPast {
    fn assignments(&self, drawn: &str) -> String {
        let Self { value, watched, is_new_stamp } = self;
        let (value, longest) = (hex(value), format!("GREATEST(p.watched, {watched})"));
        let watched = if *is_new_stamp { watched.to_string() } else { longest };
        format!("p.version = {drawn}, p.watched = {watched}, p.value = {value}")
    }
}

impl MysqlTables {
    /// Checks the name of the first table, which the others' begin with.
    ///
    /// # Errors
    /// If it is empty, has more than 48 bytes, or one of the characters `` ` ' \ / . `` or zero.
    pub fn new(name: impl AsRef<str>) -> Result<Self, SettingError> {
        Ok(Self { name: TABLE_NAME.check(name.as_ref())? })
    }

    pub(super) fn named(name: String) -> Self {
        Self { name }
    }

    /// The statements that create the tables, if they do not exist: for a migration tool, or the
    /// command `mariadb`. The last one is of the engine MEMORY on purpose: it is empty after each
    /// start of the server.
    pub fn schema_sql(&self) -> String {
        self.creations().join(";\n") + ";\n"
    }

    /// The statements that grant an account the rights to take part in elections, and no more. For
    /// an administrator, in the tables' database, after [`schema_sql`](Self::schema_sql). The
    /// account is a name, or a name, `@` and the hosts that it comes from, such as `app@10.0.%`.
    pub fn grants_sql(&self, account: &str) -> String {
        self.grants(account).join(";\n") + ";\n"
    }

    /// The statements of `tenure migrate`, which let these accounts take part.
    #[doc(hidden)]
    pub fn statements(&self, accounts: &[String]) -> Vec<String> {
        let grants = accounts.iter().flat_map(|account| self.grants(account));
        self.creations().into_iter().chain(grants).collect()
    }

    fn grants(&self, account: &str) -> [String; 3] {
        self.all().map(|name| grant(&format!("`{name}`"), account))
    }

    pub(super) fn creations(&self) -> [String; 3] {
        let [leases, past, boot] = self.all();
        [
            format!(
                "CREATE TABLE IF NOT EXISTS `{leases}` (k VARBINARY(512) NOT NULL PRIMARY KEY, version BINARY(16) NOT NULL, hint \
                 TINYINT NOT NULL, value MEDIUMBLOB NOT NULL) ENGINE=InnoDB"
            ),
            format!(
                "CREATE TABLE IF NOT EXISTS `{past}` (one TINYINT NOT NULL PRIMARY KEY, version BINARY(16) NOT NULL, \
                 watched BIGINT UNSIGNED NOT NULL, value BLOB NOT NULL) ENGINE=InnoDB"
            ),
            format!(
                "CREATE TABLE IF NOT EXISTS `{boot}` (server VARBINARY(512) NOT NULL PRIMARY KEY, nonce VARBINARY(64) NOT \
                 NULL) ENGINE=MEMORY"
            ),
        ]
    }

    /// The records, the past, and the servers' numbers.
    pub(super) fn all(&self) -> [String; 3] {
        let name = &self.name;
        [name.clone(), format!("{name}_past"), format!("{name}_boot")]
    }

    /// The tables that there are, with their engines.
    pub(super) fn found(&self) -> String {
        let names = self.all().join("', '");
        format!(
            "SELECT TABLE_NAME, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN \
             ('{names}')"
        )
    }

    /// Shows the server's number and the past's version: nulls where a server lacks them.
    pub(super) fn begun(&self, server: &str) -> String {
        let [_, past, boot] = self.all();
        format!(
            "SELECT (SELECT nonce FROM `{boot}` WHERE server = {server}), (SELECT version FROM `{past}` WHERE one = 1)"
        )
    }

    /// Begins what a server lacks, and changes nothing that exists: its number, and a past in which
    /// nothing is known; then shows both. A row of the first kind is never changed or deleted: a
    /// replica that was restarted has none, and would stop at such a change.
    pub(super) fn begin(&self, server: &str, mark: Mark) -> String {
        let [_, past, boot] = self.all();
        let (own, drawn) = (hex(&mark), drawn(mark));
        format!(
            "INSERT IGNORE INTO `{boot}` (server, nonce) VALUES ({server}, CONCAT({own}, UUID())); \
             INSERT IGNORE INTO `{past}` (one, version, watched, value) VALUES (1, {drawn}, 0, ''); {}",
            self.begun(server)
        )
    }

    /// Shows what is known of these elections: one snapshot. The first columns are the connection's
    /// and the server's.
    pub(super) fn read(&self, server: &str, keys: &[&Key], shows: Shows) -> String {
        let [leases, past, boot] = self.all();
        let mut listed = String::new();
        for key in keys {
            let comma = if listed.is_empty() { "" } else { ", " };
            let _ = write!(listed, "{comma}{}", hex(key.as_str().as_bytes()));
        }
        let (join, only) = match shows {
            Shows::Hints => ("JOIN", " AND e.hint = 1"),
            Shows::All | Shows::Written => ("LEFT JOIN", ""),
        };
        let [made, past_made] = [&leases, &past].map(|name| match shows {
            // It takes as long as all the rest.
            Shows::Written => "0".to_owned(),
            Shows::All | Shows::Hints => format!(
                "(SELECT UNIX_TIMESTAMP(CREATE_TIME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND \
                 TABLE_NAME = '{name}')"
            ),
        });
        format!(
            "SELECT CONNECTION_ID(), @@autocommit, CONCAT(@@read_only), {server}, b.nonce, {made}, {past_made}, \
             p.version, p.watched, p.value, e.k, e.version, e.value FROM (SELECT 1 AS one) o LEFT JOIN `{boot}` b ON \
             b.server = {server} LEFT JOIN `{past}` p ON p.one = 1 {join} `{leases}` e ON e.k IN ({listed}){only}"
        )
    }

    fn condition(server: &str, id: u64, guard: &Guard) -> String {
        format!(
            "p.one = 1 AND p.version = {} AND b.server = {server} AND b.nonce = {} AND @@autocommit = 1 AND \
             CONCAT(@@read_only) IN ('0', 'OFF') AND CONNECTION_ID() = {id}",
            hex(&guard.past),
            hex(&guard.nonce)
        )
    }

    /// The statements that carry out swaps of several elections. Each compares the past and the
    /// server with those that were read:
    ///
    /// 1. A watch is noted. It is the first step of the contract, whatever else comes of a request.
    /// 2. Rows that do not exist get room, which is the same as none.
    /// 3. All rows are replaced that have the versions that were read. They are locked in order, so
    ///    that two such statements do not wait for each other.
    pub(super) fn swap(
        &self,
        (server, id): (&str, u64),
        guard: &Guard,
        mark: Mark,
        swaps: &BTreeMap<Key, &Swap>,
    ) -> Vec<String> {
        let [leases, past, boot] = self.all();
        let condition = Self::condition(server, id, guard);
        let mut statements = Vec::new();
        if let Some(nanos) = swaps.values().filter_map(|swap| swap.watched()).max() {
            statements.push(format!(
                "UPDATE `{past}` p JOIN `{boot}` b SET p.watched = {nanos} WHERE p.watched < {nanos} AND {condition}"
            ));
        }
        let begins = |swap: &Swap| swap.row.is_none() && swap.new_row.is_some();
        let begun = swaps.iter().filter(|(_, swap)| begins(swap));
        let begun: Vec<_> =
            begun.map(|(key, _)| format!("SELECT {} AS k", hex(key.as_str().as_bytes()))).collect();
        if !begun.is_empty() {
            // Without the lock, such a statement reads an old snapshot at some isolation levels.
            statements.push(format!(
                "INSERT IGNORE INTO `{leases}` (k, version, hint, value) SELECT v.k, {}, 0, '' FROM ({}) v JOIN `{past}` p \
                 JOIN `{boot}` b WHERE {condition} LOCK IN SHARE MODE",
                hex(&room(mark)),
                begun.join(" UNION ALL ")
            ));
        }
        let (mut rows, mut assigned) = (Vec::new(), BTreeSet::new());
        let drawn = drawn(mark);
        for (key, swap) in swaps.iter().filter(|(_, swap)| swap.replaced() > 0) {
            let room = begins(swap).then(|| room(mark));
            let version = swap.row.or(room).map_or_else(|| "NULL".into(), |it| hex(&it));
            let (hint, value) =
                swap.new_row.as_ref().map_or((false, &[][..]), |(hint, value)| (*hint, value));
            rows.push(format!(
                "SELECT {} AS k, {version} AS version, {} AS hint, {} AS value",
                hex(key.as_str().as_bytes()),
                u8::from(hint),
                hex(value)
            ));
            if swap.new_row.is_some() {
                assigned.insert(format!("e.version = {drawn}, e.hint = v.hint, e.value = v.value"));
            }
            if let Some(NewPast::Another(past)) = &swap.new_past {
                assigned.insert(past.assignments(&drawn));
            }
        }
        if !rows.is_empty() {
            // Without the index, a small table is read and locked as a whole.
            statements.push(format!(
                "UPDATE ({}) v STRAIGHT_JOIN `{past}` p STRAIGHT_JOIN `{boot}` b LEFT JOIN `{leases}` e FORCE INDEX (PRIMARY) \
                 ON e.k = v.k SET {} WHERE e.version <=> v.version AND {condition}",
                rows.join(" UNION ALL "),
                Vec::from_iter(assigned).join(", ")
            ));
        }
        statements
    }

    /// The statements that replace the past that was read, and show its version and value.
    pub(super) fn replace_past(
        &self,
        (server, id): (&str, u64),
        guard: &Guard,
        mark: Mark,
        past: &AnotherPast,
    ) -> String {
        let [_, past_table, boot] = self.all();
        let assignments = past.assignments(&drawn(mark));
        let condition = Self::condition(server, id, guard);
        format!(
            "UPDATE `{past_table}` p JOIN `{boot}` b SET {assignments} WHERE {condition}; SELECT version, value FROM \
             `{past_table}` WHERE one = 1"
        )
    }

    /// The statements that delete rows which still have these versions, if the past is still the
    /// one that was read, and show their number. A lease that was acquired or renewed meanwhile has
    /// another version.
    pub(super) fn delete(
        &self,
        (server, id): (&str, u64),
        guard: &Guard,
        rows: &BTreeMap<Key, Version>,
    ) -> String {
        let [leases, past, boot] = self.all();
        let condition = Self::condition(server, id, guard);
        let of = |(key, version): (&Key, &Version)| {
            let (key, version) = (hex(key.as_str().as_bytes()), hex(version));
            format!("SELECT {key} AS k, {version} AS version")
        };
        let rows: Vec<_> = rows.iter().map(of).collect();
        // In the order of a swap, so that neither waits for the other's second lock.
        format!(
            "DELETE e FROM ({}) v STRAIGHT_JOIN `{past}` p STRAIGHT_JOIN `{boot}` b STRAIGHT_JOIN `{leases}` e FORCE INDEX \
             (PRIMARY) ON e.k = v.k WHERE e.version = v.version AND {condition}; SELECT ROW_COUNT()",
            rows.join(" UNION ALL ")
        )
    }

    /// The elections after that one, in order.
    pub(super) fn list(&self, after: &[u8], most: usize) -> String {
        let [leases, ..] = self.all();
        format!(
            "SELECT k, value <> '' FROM `{leases}` WHERE k > {} ORDER BY k LIMIT {most}",
            hex(after)
        )
    }
}

/// The statement by which an account may write to a table, and remove nothing there. The account is
/// a name, or a name, `@` and hosts.
pub(crate) fn grant(table: &str, account: &str) -> String {
    let (user, host) = account.rsplit_once('@').unwrap_or((account, "%"));
    let [user, host] = [user, host].map(|name| name.replace('`', "``"));
    format!("GRANT SELECT, INSERT, UPDATE ON {table} TO `{user}`@`{host}`")
}

/// The bytes as a literal, which can't end a string.
pub(crate) fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "''".into();
    }
    let digit = |of: u8| char::from_digit(of.into(), 16).unwrap_or('0');
    let digits = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]);
    let mut text = String::with_capacity(2 + 2 * bytes.len());
    text.push_str("0x");
    text.extend(digits);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_end_a_literal_are_refused() {
        for name in ["", "a`b", "a'b", "a\\b", "a.b", "a/b", "a\0", &"a".repeat(49)] {
            MysqlTables::new(name).unwrap_err();
        }
        let tables = MysqlTables::new("größer").unwrap();
        assert!(tables.schema_sql().contains("`größer_boot`"));
    }

    #[test]
    fn accounts_are_quoted() {
        let grants = MysqlTables::default().grants_sql("a`b@10.0.%");
        assert!(grants.contains("ON `tenure_leases` TO `a``b`@`10.0.%`;"), "{grants}");
        assert!(MysqlTables::default().grants_sql("app").ends_with("TO `app`@`%`;\n"));
    }

    #[test]
    fn literals_show_nothing_of_a_value() {
        assert_eq!(hex(b"a'\\"), "0x61275c");
        assert_eq!(hex(b""), "''");
    }
}
