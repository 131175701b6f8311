//! Where in a database elections are kept, and the statements that make that place.

use super::config_error::PostgresConfigError;

/// The statements with the default names, as migration tools find them.
const TEMPLATE: &str = include_str!("sql/lease_table.sql");
/// The same of what advisory locks need besides.
const ADVISORY_TEMPLATE: &str = include_str!("sql/advisory.sql");

/// The functions of the lease table, by what follows the table's name.
pub(super) const FUNCTIONS: [&str; 15] = [
    "_version",
    "_micros",
    "_identity",
    "_place",
    "_backend",
    "_late",
    "_hidden",
    "_here",
    "_contradicts",
    "_acquire",
    "_renew",
    "_release",
    "_observe",
    "_notify",
    "_purge",
];
/// The functions that advisory locks need besides.
pub(super) const LOCK_FUNCTIONS: [&str; 14] = [
    "_locked_version",
    "_lock_check",
    "_lock_pid",
    "_lock_name",
    "_lock_take",
    "_lock_give",
    "_lock_free",
    "_lock_sweep",
    "_lock_retake",
    "_lock_held",
    "_locked_acquire",
    "_locked_renew",
    "_locked_release",
    "_locked_observe",
];

/// A schema and a table in it, by default `tenure.leases`. Functions, the history and a view for people
/// are called as the table is, with more behind it. Elections of one table share a history.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct LeaseTable {
    schema: String,
    table: String,
}

impl LeaseTable {
    /// The version of the table and its functions that this store knows.
    pub const VERSION: i32 = 1;
    /// The version of the functions for advisory locks that this store knows.
    pub const ADVISORY_VERSION: i32 = 1;
    /// The longest name of a schema, in bytes.
    pub const SCHEMA_MOST: usize = 63;
    /// The longest name of a table, in bytes: others are made of it.
    pub const TABLE_MOST: usize = 48;

    /// Checks names, which may be any that PostgreSQL takes in quotes.
    ///
    /// # Errors
    /// If one is empty, too long, or has a `'`, a `\`, a `$` or a zero byte in it.
    pub fn new(
        schema: impl Into<String>,
        table: impl Into<String>,
    ) -> Result<Self, PostgresConfigError> {
        let (schema, table) = (schema.into(), table.into());
        check("schema", &schema, Self::SCHEMA_MOST)?;
        check("table", &table, Self::TABLE_MOST)?;
        Ok(Self { schema, table })
    }

    /// Names in the place of some of these.
    pub(super) fn with(
        self,
        schema: Option<String>,
        table: Option<String>,
    ) -> Result<Self, PostgresConfigError> {
        Self::new(schema.unwrap_or(self.schema), table.unwrap_or(self.table))
    }

    /// What makes the schema, the table and its functions, if they are not there: for a migration tool, or
    /// for psql. With the default names it is the file `sql/lease_table.sql` beside this source.
    pub fn schema_sql(&self) -> String {
        self.named(TEMPLATE)
    }

    /// What makes the functions that [`PostgresAdvisory`](super::PostgresAdvisory) needs besides, after
    /// [`schema_sql`](Self::schema_sql). With the default names it is the file `sql/advisory.sql` there.
    pub fn advisory_sql(&self) -> String {
        self.named(ADVISORY_TEMPLATE)
    }

    /// The statements with these names in the place of the default ones.
    pub(super) fn named(&self, template: &str) -> String {
        let schema = quoted(&self.schema);
        let sql = template
            .replace("'tenure'", &format!("'{schema}'"))
            .replace("SCHEMA tenure;", &format!("SCHEMA {schema};"))
            .replace("'tenure_leases'", &format!("'{}'", self.channel()))
            .replace("'tenure_leases_inbox'", &format!("'{}'", self.inbox()));
        let mut parts = sql.split("tenure.leases");
        let mut named = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (suffix, rest) = part
                .split_at(part.find(|c| c != '_' && !char::is_lowercase(c)).unwrap_or(part.len()));
            named += &self.object(suffix);
            named += rest;
        }
        named
    }

    /// What gives a user the rights to take part in elections, and no more. It may read and write the
    /// leases, and can't delete or change the table. By whoever owns the table, which
    /// [`schema_sql`](Self::schema_sql) makes before.
    pub fn grants_sql(&self, user: &str) -> String {
        format!("{} {}", self.grants_on_tables(user), self.executes(&FUNCTIONS, &quoted(user)))
    }

    pub(super) fn grants_on_tables(&self, user: &str) -> String {
        let (schema, to) = (quoted(&self.schema), quoted(user));
        let (leases, history) = (self.object(""), self.object("_history"));
        let messages = self.object("_messages");
        format!(
            "GRANT USAGE ON SCHEMA {schema} TO {to}; \
             GRANT SELECT, INSERT, UPDATE ON {leases}, {history} TO {to}; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON {messages} TO {to};"
        )
    }

    /// What the user needs besides, for [`PostgresAdvisory`](super::PostgresAdvisory), where functions are
    /// not everybody's to call. After [`advisory_sql`](Self::advisory_sql).
    pub fn advisory_grants_sql(&self, user: &str) -> String {
        self.executes(&LOCK_FUNCTIONS, &quoted(user))
    }

    fn executes(&self, functions: &[&str], to: &str) -> String {
        let functions: Vec<_> = functions.iter().map(|suffix| self.object(suffix)).collect();
        format!("GRANT EXECUTE ON FUNCTION {} TO {to};", functions.join(", "))
    }

    /// A table, view or function by its full name, in quotes.
    pub(super) fn object(&self, suffix: &str) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.name_of(suffix)))
    }

    /// The schema's name, without quotes.
    pub(super) fn schema_name(&self) -> &str {
        &self.schema
    }

    /// The name of a table, view or function in the schema, without quotes.
    pub(super) fn name_of(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.table)
    }

    /// Names this table, and no other of its database, when the lock of an election is made up.
    pub(super) fn plain_name(&self) -> String {
        format!("{}.{}", self.schema, self.table)
    }

    /// Where the hints of all elections in the table are sent. Tables of one name share it, and may wake
    /// each other for nothing.
    pub(super) fn channel(&self) -> String {
        format!("tenure_{}", self.table)
    }

    /// Where the messages to all leaders in the table are sent.
    pub(super) fn inbox(&self) -> String {
        format!("{}_inbox", self.channel())
    }
}

impl Default for LeaseTable {
    fn default() -> Self {
        Self { schema: "tenure".into(), table: "leases".into() }
    }
}

/// An identifier as SQL takes it, whatever is in it.
pub(super) fn quoted(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

/// What ends a string or the body of a function is not taken, although quotes would hold it elsewhere.
fn check(what: &'static str, name: &str, most: usize) -> Result<(), PostgresConfigError> {
    if name.is_empty() || name.len() > most || name.contains(['\'', '\\', '$', '\0']) {
        return Err(PostgresConfigError::Name { what, bytes: name.len(), most });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_names_give_the_file() {
        let table = LeaseTable::default();
        assert_eq!(table.schema_sql().replace('"', ""), TEMPLATE);
        assert_eq!(table.advisory_sql().replace('"', ""), ADVISORY_TEMPLATE);
    }

    #[test]
    fn other_names_leave_none_of_the_old_ones() {
        let sql = LeaseTable::new("We\"ird", "täble x").unwrap().schema_sql();
        let statements: Vec<_> = sql.lines().filter(|line| !line.starts_with("--")).collect();
        let statements = statements.join("\n");
        for name in ["tenure.", "tenure;", "'tenure'", "leases"] {
            assert!(!statements.contains(name), "{name}");
        }
        assert!(statements.contains("\"We\"\"ird\".\"täble x_acquire\"("));
        assert!(statements.contains("pg_notify('tenure_täble x'"));
        assert!(statements.contains("pg_notify('tenure_täble x_inbox'"));
        assert!(statements.contains("CREATE SCHEMA \"We\"\"ird\";"));
        let sql = LeaseTable::new("We\"ird", "täble x").unwrap().advisory_sql();
        assert!(!sql.contains("leases_") && !sql.contains("tenure.leases"));
        assert!(sql.contains("\"We\"\"ird\".\"täble x_locked_acquire\"("));
    }

    #[test]
    fn names_that_could_end_a_string_are_refused() {
        for name in ["", "a'b", "a\\b", "$body$", "a\0b", &"x".repeat(64)] {
            LeaseTable::new(name, "leases").unwrap_err();
            LeaseTable::new("tenure", name).unwrap_err();
        }
        let error = LeaseTable::new("tenure", "x".repeat(49)).unwrap_err().to_string();
        assert!(error.contains("has 49 bytes; it must have 1 to 48"), "{error}");
    }

    #[test]
    fn grants_quote_the_user() {
        let grants = LeaseTable::default().grants_sql("a\"b");
        assert!(grants.ends_with("TO \"a\"\"b\";"), "{grants}");
    }
}
