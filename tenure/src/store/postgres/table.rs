//! The lease table's names, and the statements that create it.

use crate::SettingError;
use crate::settings::Setting;
use crate::store::common::name_without;

/// Characters that could end a string or the body of a function, although quoted identifiers may
/// have them.
pub(crate) const EXCLUDED: &[char] = &['\'', '\\', '$', '\0'];
pub(super) const SCHEMA: Setting<String> =
    Setting::parameter("schema", |text| name_without::<63>(text, EXCLUDED))
        .must("1 to 63 bytes without ' \\ $ and zero", "elections")
        .names_records()
        .default("`tenure`")
        .about("the schema of the records' table");
// Other names are made from it.
pub(super) const TABLE_NAME: Setting<String> =
    Setting::parameter("table", |text| name_without::<48>(text, EXCLUDED))
        .must("1 to 48 bytes without ' \\ $ and zero", "app_leases")
        .names_records()
        .default("`leases`")
        .about("the records' table");

/// The statements with the default names, for migration tools.
const TEMPLATE: &str = include_str!("sql/lease_table.sql");

/// The functions of the lease table, by what follows the table's name.
pub(super) const FUNCTIONS: [&str; 13] = [
    "_version",
    "_micros",
    "_identity",
    "_place",
    "_backend",
    "_altered",
    "_hidden",
    "_here",
    "_stamp",
    "_lock_past",
    "_examine",
    "_acquire",
    "_notify",
];
/// The function by which SQL clients send messages. The store itself never calls it.
pub(super) const FOR_CLIENTS: &str = "_notify_json";

/// A schema and a table in it, by default `tenure.leases`. The names of functions, of the past and
/// of a view for people begin with the table's name. Elections of one table share a past.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct LeaseTable {
    schema: String,
    table: String,
}

impl LeaseTable {
    /// The version of the table and its functions that this store knows.
    #[doc(hidden)]
    pub const VERSION: i32 = 2;

    /// Checks names, which may be any that PostgreSQL takes in quotes.
    ///
    /// # Errors
    /// If one is empty or longer than 63 (schema) or 48 bytes (table), or has a `'`, a `\`, a `$` or
    /// a zero byte in it.
    pub fn new(schema: impl Into<String>, table: impl Into<String>) -> Result<Self, SettingError> {
        let (schema, table) = (SCHEMA.check(&schema.into())?, TABLE_NAME.check(&table.into())?);
        Ok(Self { schema, table })
    }

    /// Replaces the names that are given.
    pub(super) fn with(self, schema: Option<String>, table: Option<String>) -> Self {
        Self { schema: schema.unwrap_or(self.schema), table: table.unwrap_or(self.table) }
    }

    /// The statements that create the schema, the table and its functions, if they do not exist:
    /// for a migration tool, or for psql. With the default names it is the file
    /// `sql/lease_table.sql` beside this source.
    pub fn schema_sql(&self) -> String {
        self.named(TEMPLATE)
    }

    /// The statements with these names in the place of the default ones. In one pass, since a name
    /// may contain a default one.
    pub(super) fn named(&self, template: &str) -> String {
        let mut parts = template.split("tenure");
        let mut named = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = if let Some(rest) = part.strip_prefix(".leases") {
                let end = rest.find(|c| c != '_' && !char::is_lowercase(c)).unwrap_or(rest.len());
                let (suffix, rest) = rest.split_at(end);
                (self.object(suffix), rest)
            } else if let Some(rest) = part.strip_prefix("_leases_inbox") {
                (self.inbox(), rest)
            } else if let Some(rest) = part.strip_prefix("_leases") {
                (self.channel(), rest)
            } else if named.ends_with('\'') || named.ends_with("SCHEMA ") {
                (quoted(&self.schema), part)
            } else {
                ("tenure".to_owned(), part)
            };
            named += &name;
            named += rest;
        }
        named
    }

    /// The statements that grant a user the rights to take part in elections, and no more: it may
    /// read and write leases, and can't delete or alter the table. For the owner of the table,
    /// after [`schema_sql`](Self::schema_sql).
    pub fn grants_sql(&self, user: &str) -> String {
        format!("{} {}", self.grants_on_tables(user), self.executes(&FUNCTIONS, &quoted(user)))
    }

    /// The statements that grant a user the right to send messages to leaders by SQL, with the
    /// function `leases_notify_json`, and no right on the tables. For the owner of the table, after
    /// [`schema_sql`](Self::schema_sql). [`grants_sql`](Self::grants_sql) does not include it.
    pub fn message_grants_sql(&self, user: &str) -> String {
        let (schema, to) = (quoted(&self.schema), quoted(user));
        format!("GRANT USAGE ON SCHEMA {schema} TO {to}; {}", self.executes(&[FOR_CLIENTS], &to))
    }

    pub(super) fn grants_on_tables(&self, user: &str) -> String {
        let (schema, to) = (quoted(&self.schema), quoted(user));
        let (leases, past) = (self.object(""), self.object("_past"));
        let messages = self.object("_messages");
        format!(
            "GRANT USAGE ON SCHEMA {schema} TO {to}; \
             GRANT SELECT, INSERT, UPDATE ON {leases}, {past} TO {to}; \
             GRANT SELECT, INSERT, UPDATE, DELETE ON {messages} TO {to};"
        )
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

    /// The channel of the hints of all elections in the table. Tables of one name in several
    /// schemas share it, and may wake each other needlessly.
    pub(super) fn channel(&self) -> String {
        format!("tenure_{}", self.table)
    }

    /// The channel of the messages to all leaders in the table.
    pub(super) fn inbox(&self) -> String {
        format!("{}_inbox", self.channel())
    }
}

impl Default for LeaseTable {
    fn default() -> Self {
        Self { schema: "tenure".into(), table: "leases".into() }
    }
}

/// The call that waits for others that create something in that schema, or the schema itself, until
/// their transactions end: as in the file.
pub(crate) fn creation_lock(schema: &str) -> String {
    format!("pg_advisory_xact_lock(hashtext('{}'))", quoted(schema))
}

/// An identifier in quotes, with any characters in it.
pub(crate) fn quoted(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_names_give_the_file() {
        let table = LeaseTable::default();
        assert_eq!(table.schema_sql().replace('"', ""), TEMPLATE);
    }

    /// Servers that refuse other changes (safeupdate, a proxy's rule) carry these out.
    #[test]
    fn each_change_has_a_condition() {
        let changes: Vec<&str> = TEMPLATE
            .split(';')
            .filter_map(|text| {
                let at =
                    ["UPDATE tenure.", "DELETE FROM tenure."].iter().find_map(|of| text.find(of));
                at.map(|at| &text[at..])
            })
            .collect();
        assert!(changes.len() > 5, "{changes:#?}");
        for change in changes {
            assert!(change.contains("WHERE"), "{change}");
        }
    }

    #[test]
    fn other_names_replace_all_default_ones() {
        let table = LeaseTable::new("We\"ird", "täble x").unwrap();
        let sql = table.schema_sql();
        let statements: Vec<_> = sql.lines().filter(|line| !line.starts_with("--")).collect();
        let statements = statements.join("\n");
        for name in ["tenure.", "tenure;", "'tenure'", "leases"] {
            assert!(!statements.contains(name), "{name}");
        }
        assert!(statements.contains("\"We\"\"ird\".\"täble x_acquire\"("));
        assert!(statements.contains("pg_notify('tenure_täble x_inbox'"));
        assert!(statements.contains("CREATE SCHEMA \"We\"\"ird\";"));
        let release = table.named(include_str!("sql/release.sql"));
        assert!(release.contains("pg_notify('tenure_täble x'"));
    }

    #[test]
    fn names_that_contain_default_ones_stay_whole() {
        let release = include_str!("sql/release.sql");
        for schema in ["tenure.leases", "a SCHEMA tenure; b", "tenure_leases_inbox", "ü \"; DROP"]
        {
            let table = LeaseTable::new(schema, "tenure.leases").unwrap();
            let (sql, schema) = (table.schema_sql(), quoted(schema));
            assert!(sql.contains(&creation_lock(table.schema_name())), "{schema}");
            assert!(sql.contains(&format!("to_regnamespace('{schema}')")), "{schema}");
            assert!(sql.contains(&format!("CREATE SCHEMA {schema};")), "{schema}");
            assert!(sql.contains(&format!("{schema}.\"tenure.leases_acquire\"(")), "{schema}");
            assert!(sql.contains("pg_notify('tenure_tenure.leases_inbox',"), "{schema}");
            assert!(table.named(release).contains("pg_notify('tenure_tenure.leases',"), "{schema}");
        }
        let table = LeaseTable::new("tenure", "leases_inbox").unwrap();
        assert!(table.named(release).contains("pg_notify('tenure_leases_inbox',"));
    }

    #[test]
    fn names_that_could_end_a_string_are_refused() {
        for name in ["", "a'b", "a\\b", "$body$", "a\0b", &"x".repeat(64)] {
            LeaseTable::new(name, "leases").unwrap_err();
            LeaseTable::new("tenure", name).unwrap_err();
        }
        let error = LeaseTable::new("tenure", "x".repeat(49)).unwrap_err().to_string();
        assert!(error.contains("it has 49 bytes, and must have 1 to 48"), "{error}");
    }

    #[test]
    fn grants_quote_the_user() {
        let grants = LeaseTable::default().grants_sql("a\"b");
        assert!(grants.ends_with("TO \"a\"\"b\";"), "{grants}");
        let grants = LeaseTable::default().message_grants_sql("a\"b");
        assert_eq!(
            grants,
            "GRANT USAGE ON SCHEMA \"tenure\" TO \"a\"\"b\"; \
             GRANT EXECUTE ON FUNCTION \"tenure\".\"leases_notify_json\" TO \"a\"\"b\";"
        );
    }
}
