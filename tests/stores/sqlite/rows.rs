//! Files for every row of the store contract.

use tenure::store::sqlite::Sqlite;
use tenure_sim::conformance::{Data, Harness, Mishap, Unsupported};

use super::support::Folder;

impl Harness for Folder {
    type Store = Sqlite;

    async fn connect(&self) -> Sqlite {
        self.distrustful()
    }

    /// Under a connection that has the old file open: nothing takes its place, or a copy that has all.
    async fn restart(&self, data: Data) -> Result<(), Unsupported> {
        match data {
            Data::Lost => self.delete(),
            Data::Kept => {
                let copy = self.copy_to("copy.db");
                self.delete();
                std::fs::rename(copy, &self.file).unwrap();
            }
        }
        Ok(())
    }

    async fn suffer(&self, mishap: Mishap) -> Result<(), Unsupported> {
        if !self.file.exists() {
            // Before the first request, nothing is there that could suffer.
            return Ok(());
        }
        self.execute(match mishap {
            Mishap::LeasesEnd => "UPDATE elections SET lease_end = 1",
            Mishap::LongTime => "UPDATE history SET known_since = 1",
            Mishap::OtherServer => "UPDATE history SET identity = 'another'",
            Mishap::HistoryLost => "DELETE FROM history",
            Mishap::AllLost => "DELETE FROM elections; DELETE FROM history",
        });
        Ok(())
    }
}

/// The same, which takes a file without grants for whole.
pub(crate) struct Trusting(pub(crate) Folder);

impl Harness for Trusting {
    type Store = Sqlite;

    async fn connect(&self) -> Sqlite {
        self.0.store()
    }

    async fn suffer(&self, mishap: Mishap) -> Result<(), Unsupported> {
        self.0.suffer(mishap).await
    }

    fn trusts_an_empty_store(&self) -> bool {
        true
    }
}
