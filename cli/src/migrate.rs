//! `tenure migrate`.

use clap::Args;
use tenure::store::{AnyStore, Store};

use crate::exit::Failure;
use crate::place::{self, At};

#[derive(Debug, Args)]
pub(crate) struct Migrate {
    #[command(flatten)]
    at: At,
    /// Let this role take part in elections. May be given several times.
    #[arg(long, value_name = "ROLE")]
    grant: Vec<String>,
    /// Carry the statements out, as the user of the URL, instead of printing them.
    #[arg(long)]
    apply: bool,
}

pub(crate) async fn migrate(options: &Migrate) -> Result<u8, Failure> {
    let store = place::store(&options.at)?;
    migrate_at(&store, options).await
}

#[cfg_attr(
    not(any(feature = "postgres", feature = "mysql")),
    allow(unused_variables, clippy::unused_async, reason = "these have tables")
)]
async fn migrate_at(store: &AnyStore, options: &Migrate) -> Result<u8, Failure> {
    #[cfg(feature = "postgres")]
    if let Some(postgres) = store.downcast_ref::<tenure::store::postgres::Postgres>() {
        let table = postgres.lease_table();
        let grants = options.grant.iter().map(|role| table.grants_sql(role));
        let statements: Vec<String> = std::iter::once(table.schema_sql()).chain(grants).collect();
        let statements = statements.join("\n");
        if options.apply {
            let applied = postgres.migrate(&statements).await;
            applied.map_err(|error| Failure::store(crate::exit::with_causes(&error)))?;
        } else {
            crate::output::print(format!("{statements}\n").as_bytes())?;
        }
        return Ok(0);
    }
    #[cfg(feature = "mysql")]
    if let Some(mysql) = store.downcast_ref::<tenure::store::mysql::Mysql>() {
        let statements = mysql.tables().statements(&options.grant);
        if options.apply {
            let applied = mysql.ask_server(&statements).await;
            applied.map_err(|error| Failure::store(crate::exit::with_causes(&error)))?;
        } else {
            crate::output::print(format!("{};\n", statements.join(";\n")).as_bytes())?;
        }
        return Ok(0);
    }
    Err(nothing_to_do(store))
}

fn nothing_to_do(store: &AnyStore) -> Failure {
    let name = store.traits().name;
    Failure::usage(format!(
        "{name} needs no statements: only PostgreSQL and MySQL have tables to create"
    ))
}
