//! Every row of the store contract, in real files.

use tenure::store::sqlite::Sqlite;
use tenure_sim::conformance::{Data, Harness, Unsupported};

use crate::support::Folder;

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
}

tenure_sim::conformance!(contract, Folder::new());
