//! The requests of `tenure doctor` and `tenure migrate`: not a part of the interface for programs.

use tokio_util::sync::CancellationToken;

use super::error::failed;
use super::session::rows;
use super::store::Postgres;
use super::table::LeaseTable;
use crate::store::StoreError;
use crate::store::slot::Patience;

impl Postgres {
    /// Carries out statements, and returns their rows as text; a null is empty. They must do no
    /// harm if they are carried out again, since an error means that they may have been. It uses
    /// the connection of the requests, which wait for it; if there is none, because the server or
    /// the table is not usable, a session of its own.
    #[doc(hidden)]
    pub async fn ask_server(&self, query: &str) -> Result<Vec<Vec<String>>, StoreError> {
        let answers = match self.0.live(Patience::Fails).await {
            Ok(live) => {
                let pending = live.session.progress.expects();
                let answers = live.session.client.simple_query(query).await;
                pending.answered();
                answers
            }
            Err(error) => {
                let opened = self.0.open(CancellationToken::new(), |_| {}).await;
                opened.map_err(|_| error)?.client.simple_query(query).await
            }
        };
        let answers = answers.map_err(|error| failed(&self.0.config, &error))?;
        let texts = rows(answers).into_iter().map(|row| {
            (0..row.len()).map(|column| row.get(column).unwrap_or_default().to_owned()).collect()
        });
        Ok(texts.collect())
    }

    /// Carries out statements that create the lease table and grant rights on it, as the store does
    /// that itself: under a lock, and unless a stranger or another version has made the table.
    #[doc(hidden)]
    pub async fn migrate(&self, statements: &str) -> Result<(), StoreError> {
        self.0.migrate(statements).await
    }

    /// True if a password goes unencrypted to another machine.
    #[doc(hidden)]
    pub fn is_exposed(&self) -> bool {
        self.0.config.is_exposed()
    }

    /// The lease table.
    #[doc(hidden)]
    pub fn lease_table(&self) -> &LeaseTable {
        &self.0.config.table
    }

    /// The lease table, as statements name it.
    #[doc(hidden)]
    pub fn table(&self) -> String {
        self.0.config.table.object("")
    }
}
