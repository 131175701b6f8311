//! The existing parts of the lease table, and their owners: read from the server's catalogue before
//! any of its functions is called.
//!
//! Functions run with the rights of the user who calls them. In a database where others may create
//! schemas, another role may have created this one first, with functions of its own.

use tokio_postgres::SimpleQueryRow;

use super::table::{FOR_CLIENTS, FUNCTIONS, LeaseTable};
use crate::store::{StoreError, StoreErrorKind};

const RELATIONS: [&str; 3] = ["", "_past", "_messages"];
/// A column that tables of earlier versions do not have.
const COLUMN: &str = "number";

/// Looks for the parts in the schema of that name, and for an owner that is not trusted. Trusted
/// are the user itself, roles that it is a member of, and superusers. All users but superusers also
/// trust the owner of the database.
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
            WHERE f.proname = ANY (ARRAY[{functions}])
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
        SELECT bool_or(NOT EXISTS (SELECT FROM pg_attribute AS a
                WHERE a.attrelid = c.oid AND a.attname = '{column}' AND NOT a.attisdropped))
            FROM pg_class AS c JOIN place AS p ON c.relnamespace = p.oid WHERE c.relname = '{leases}'
    ), EXISTS (SELECT FROM found AS f WHERE f.name = '{version}' AND f.kind = 'function')";

/// The answer of the catalogue.
pub(super) struct Presence {
    /// The names of missing tables and functions.
    pub(super) missing: Option<String>,
    /// A part whose owner is not trusted.
    stranger: Option<String>,
    /// True if the table is of an earlier version.
    is_old: bool,
    /// True if there is a function for the version.
    pub(super) tells_version: bool,
}

/// The query for it.
pub(super) fn query(table: &LeaseTable) -> String {
    let names = |suffixes: &[&str]| {
        let names: Vec<_> = suffixes.iter().map(|of| format!("'{}'", table.name_of(of))).collect();
        names.join(", ")
    };
    let functions = [&FUNCTIONS[..], &[FOR_CLIENTS]].concat();
    QUERY
        .replace("{relations}", &names(&RELATIONS))
        .replace("{functions}", &names(&functions))
        .replace("{column}", COLUMN)
        .replace("{leases}", &table.name_of(""))
        .replace("{version}", &table.name_of("_version"))
        .replace("{schema}", table.schema_name())
}

impl Presence {
    pub(super) fn read(rows: &[SimpleQueryRow]) -> Result<Self, StoreError> {
        let [row] = rows else {
            let detail = "to the question for the table";
            return Err(StoreError::new(StoreErrorKind::UnexpectedReply, detail));
        };
        let text = |index| row.get(index).map(str::to_owned);
        let (is_old, tells_version) = (row.get(2) == Some("t"), row.get(3) == Some("t"));
        Ok(Self { missing: text(0), stranger: text(1), is_old, tells_version })
    }

    /// Checks that all parts have trusted owners.
    pub(super) fn is_ours(&self) -> Result<(), StoreError> {
        let Some(stranger) = &self.stranger else { return Ok(()) };
        let detail = format!(
            "{stranger}, whose functions would run with this user's rights; make this user or a superuser \
             its owner, or say create_table(false) (create_table=false in the URL) if that role may be relied on"
        );
        Err(StoreError::new(StoreErrorKind::Permission, detail))
    }

    /// Checks that the table is not of an earlier version. Its records are left alone.
    pub(super) fn is_current(&self, table: &LeaseTable) -> Result<(), StoreError> {
        if !self.is_old {
            return Ok(());
        }
        let (object, schema, named) = (table.object(""), table.schema_name(), table.name_of(""));
        let detail = format!(
            "{object} was made by an earlier version of this store; stop all candidates and drop it, with the view, the \
             functions and the other tables whose names begin with {named}_ (DROP SCHEMA {schema:?} CASCADE, if nothing \
             else is in the schema): what makes them anew is in LeaseTable::schema_sql, and the first leader then waits \
             for a quarantine"
        );
        Err(StoreError::new(StoreErrorKind::UnsupportedVersion, detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_looks_for_every_function() {
        let table = LeaseTable::default();
        let (sql, asked) = (table.schema_sql(), query(&table));
        let mut count = 0;
        for part in sql.split("CREATE OR REPLACE FUNCTION \"tenure\".\"").skip(1) {
            let name = part.split('"').next().unwrap();
            assert!(asked.contains(&format!("'{name}'")), "{name}");
            count += 1;
        }
        assert_eq!(count, FUNCTIONS.len() + 1);
    }
}
