//! The requests of `tenure doctor` and `tenure migrate`: not a part of the interface for programs.

use mysql_async::Value;

use super::register::bytes;
use super::sql::MysqlTables;
use super::store::Mysql;
use crate::store::StoreError;

impl Mysql {
    /// Carries out statements over a connection of its own, and returns their rows as text; a null
    /// is empty.
    #[doc(hidden)]
    pub async fn ask_server(&self, statements: &[String]) -> Result<Vec<Vec<String>>, StoreError> {
        let text =
            |value: &Value| String::from_utf8_lossy(&bytes(value).unwrap_or_default()).into_owned();
        let rows = self.0.backend().link.apart(statements).await?;
        Ok(rows.into_iter().map(|row| row.unwrap().iter().map(text).collect()).collect())
    }

    /// The tables.
    #[doc(hidden)]
    pub fn tables(&self) -> &MysqlTables {
        &self.0.backend().link.config.tables
    }

    /// True if a password goes unencrypted to another machine.
    #[doc(hidden)]
    pub fn is_exposed(&self) -> bool {
        self.0.backend().link.config.is_exposed()
    }
}
