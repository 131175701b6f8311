//! Which parts of the lease table exist, and who owns them: read from the server's catalogue before any of its
//! functions is called.
//!
//! Functions run with the rights of the user who calls them. In a database where others may create schemas,
//! another role may have created this one first, with functions of its own.

use tokio_postgres::SimpleQueryRow;

use super::table::{FOR_CLIENTS, FUNCTIONS, KNOWS_PURGED, LOCK_FUNCTIONS, LeaseTable};
use crate::store::{StoreError, StoreErrorKind};

const RELATIONS: [&str; 3] = ["", "_history", "_messages"];
/// Columns that tables of earlier versions did not have.
const COLUMNS: [(&str, &str); 2] = [("", "quarantine"), ("_history", "longest_ttl")];

/// Looks for the parts in the schema of that name, and for an owner that is not trusted. Trusted are the user
/// itself, roles that it is a member of, and superusers. All users but superusers also trust the owner of the
/// database.
const QUERY: &str = "
    WITH me AS (SELECT r.oid, r.rolsuper FROM pg_roles AS r WHERE r.rolname = current_user),
    base AS (SELECT d.datdba FROM pg_database AS d WHERE d.datname = current_database()),
    place AS (SELECT n.oid, n.nspowner FROM pg_namespace AS n WHERE n.nspname = '{schema}'),
    found AS (
        SELECT 'schema' AS kind, '{schema}'::text AS name, p.nspowner AS owner FROM place AS p
        UNION ALL SELECT 'table', c.relname::text, c.relowner
            FROM pg_class AS c JOIN place AS p ON c.relnamespace = p.oid
            WHERE c.relname = ANY (ARRAY[{relations}])
        UNION ALL SELECT 'function', f.proname::text, f.proowner
            FROM pg_proc AS f JOIN place AS p ON f.pronamespace = p.oid
            WHERE f.proname = ANY (ARRAY[{functions}, '{for_clients}'])
    )
    SELECT (
        SELECT string_agg(w.name, ', ') FROM unnest(ARRAY[{relations}, {functions}]) AS w (name)
            WHERE w.name NOT IN (SELECT f.name FROM found AS f WHERE f.kind <> 'schema')
    ), (
        SELECT concat('the ', f.kind, ' ', f.name, ' belongs to the role ', r.rolname)
            FROM found AS f CROSS JOIN me CROSS JOIN base JOIN pg_roles AS r ON r.oid = f.owner
            WHERE r.oid <> me.oid AND NOT r.rolsuper AND (
                me.rolsuper AND (r.rolname <> 'pg_database_owner' OR base.datdba <> me.oid AND NOT (
                    SELECT b.rolsuper FROM pg_roles AS b WHERE b.oid = base.datdba))
                OR NOT me.rolsuper AND r.oid <> base.datdba AND r.rolname <> 'pg_database_owner'
                    AND NOT EXISTS (SELECT FROM pg_auth_members AS m
                        WHERE m.roleid = r.oid AND m.member = me.oid)
            ) LIMIT 1
    ), (
        SELECT string_agg(concat(w.relation, '.', w.name), ', ')
            FROM (VALUES {columns}) AS w (relation, name)
            JOIN pg_class AS c ON c.relname = w.relation
            JOIN place AS p ON c.relnamespace = p.oid
            WHERE NOT EXISTS (SELECT FROM pg_attribute AS a
                WHERE a.attrelid = c.oid AND a.attname = w.name AND NOT a.attisdropped)
    ), EXISTS (SELECT FROM found AS f WHERE f.name = '{version}' AND f.kind = 'function')
    , EXISTS (SELECT FROM found AS f WHERE f.name = '{locked_version}' AND f.kind = 'function')
    , (NOT EXISTS (SELECT FROM found AS f WHERE f.name = '{for_clients}' AND f.kind = 'function')
            OR EXISTS (SELECT FROM pg_proc AS f JOIN place AS p ON f.pronamespace = p.oid
                WHERE f.proname = '{acquire}' AND position('{knows_purged}' IN f.prosrc) = 0))
        AND EXISTS (SELECT FROM place AS p WHERE has_schema_privilege(p.oid, 'CREATE'))
        AND EXISTS (SELECT FROM found AS f
            WHERE f.name = '{version}' AND f.kind = 'function' AND pg_has_role(f.owner, 'USAGE'))";

/// The answer of the catalogue.
pub(super) struct Presence {
    /// The names of missing tables and functions.
    pub(super) missing: Option<String>,
    /// A part whose owner is not trusted.
    stranger: Option<String>,
    /// The columns that its tables lack.
    lacks: Option<String>,
    /// Whether there is a function for the version, and one for the version of the locks.
    pub(super) tells_version: [bool; 2],
    /// Whether its functions are of an earlier edition, and this user may replace them: they are its own.
    pub(super) may_be_renewed: bool,
}

/// The query for it.
pub(super) fn query(table: &LeaseTable, with_locks: bool) -> String {
    let names = |suffixes: &[&str]| {
        let names: Vec<_> = suffixes.iter().map(|of| format!("'{}'", table.name_of(of))).collect();
        names.join(", ")
    };
    let columns = COLUMNS.map(|(of, column)| format!("('{}', '{column}')", table.name_of(of)));
    let mut functions = FUNCTIONS.to_vec();
    if with_locks {
        functions.extend(LOCK_FUNCTIONS);
    }
    QUERY
        .replace("{relations}", &names(&RELATIONS))
        .replace("{functions}", &names(&functions))
        .replace("{columns}", &columns.join(", "))
        .replace("{for_clients}", &table.name_of(FOR_CLIENTS))
        .replace("{acquire}", &table.name_of("_acquire"))
        .replace("{knows_purged}", KNOWS_PURGED)
        .replace("{version}", &table.name_of("_version"))
        .replace("{locked_version}", &table.name_of("_locked_version"))
        .replace("{schema}", table.schema_name())
}

impl Presence {
    pub(super) fn read(rows: &[SimpleQueryRow]) -> Result<Self, StoreError> {
        let [row] = rows else {
            let detail = "to the question for the table";
            return Err(StoreError::new(StoreErrorKind::UnexpectedReply, detail));
        };
        let text = |index| row.get(index).map(str::to_owned);
        let tells_version = [row.get(3) == Some("t"), row.get(4) == Some("t")];
        let (missing, stranger, lacks) = (text(0), text(1), text(2));
        let may_be_renewed = row.get(5) == Some("t");
        Ok(Self { missing, stranger, lacks, tells_version, may_be_renewed })
    }

    /// Checks that all parts have trusted owners.
    pub(super) fn is_ours(&self) -> Result<(), StoreError> {
        let Some(stranger) = &self.stranger else { return Ok(()) };
        let detail = format!(
            "{stranger}, whose functions would run with this user's rights; make this user or a superuser \
             its owner, or say create_table(false) if that role may be relied on"
        );
        Err(StoreError::new(StoreErrorKind::Permission, detail))
    }

    /// Checks that the tables have all columns. The statements that create missing parts do not alter tables.
    pub(super) fn is_whole(&self, table: &LeaseTable) -> Result<(), StoreError> {
        let Some(lacks) = &self.lacks else { return Ok(()) };
        let (table, named) = (table.object(""), table.name_of(""));
        let detail = format!(
            "{table} was made by another version of this store, without {lacks}; stop all candidates and \
             drop the tables and functions named {named}*: what makes them anew is in \
             LeaseTable::schema_sql, and the first leader then waits out a quarantine"
        );
        Err(StoreError::new(StoreErrorKind::UnsupportedVersion, detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_functions_are_of_this_edition() {
        assert_eq!(LeaseTable::default().schema_sql().matches(KNOWS_PURGED).count(), 1);
    }

    #[test]
    fn the_query_looks_for_every_function() {
        let table = LeaseTable::default();
        let (sql, asked) = (table.schema_sql() + &table.advisory_sql(), query(&table, true));
        let mut count = 0;
        for part in sql.split("CREATE OR REPLACE FUNCTION \"tenure\".\"").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(asked.contains(&format!("'{name}'")), "{name}");
            count += 1;
        }
        assert_eq!(count, FUNCTIONS.len() + 1 + LOCK_FUNCTIONS.len());
    }
}
