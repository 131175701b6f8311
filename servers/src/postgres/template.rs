//! A cluster that is made once on a machine, and unpacked after that: making one takes much longer.
//!
//! Tests run in processes of their own, so it is kept in the system's temporary folder; as one
//! file, which is there or not. What is unpacked has one system identifier; servers differ in when
//! they were started.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::{PostgresServer, output, run};
use crate::ServerError;
use crate::error::doing;

impl PostgresServer {
    /// Makes the server's cluster, as all tests of this user and this version of PostgreSQL have
    /// it.
    pub(super) fn unpack_cluster(&self) -> Result<(), ServerError> {
        let template = self.template()?;
        let user = self.account.as_ref().map_or_else(|| geteuid().as_raw(), |account| account.user);
        // Another process may have put something there.
        if fs::symlink_metadata(&template).is_ok_and(|file| file.is_file() && file.uid() == user) {
            return self.tar("-x", &template);
        }
        self.make_cluster()?;
        // It appears with all that is in it.
        let packed = self.process.folder().join("template");
        self.tar("-c", &packed)?;
        fs::rename(packed, template).map_err(doing("keeping a PostgreSQL cluster"))
    }

    fn template(&self) -> Result<PathBuf, ServerError> {
        let version = output("asking for a version", self.program("initdb").arg("--version"))?;
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        // "initdb (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)"
        let version = version.split_whitespace().nth(2).unwrap_or("unknown");
        Ok(std::env::temp_dir().join(format!("tenure-postgres-{version}.tar")))
    }

    /// Packs or unpacks the cluster, as the user that it belongs to.
    fn tar(&self, what: &str, file: &Path) -> Result<(), ServerError> {
        let mut tar = crate::child::command(Path::new("tar"), self.account.as_ref());
        tar.arg(what).arg("-f").arg(file).arg("-C").arg(self.process.folder());
        run("copying a PostgreSQL cluster", if what == "-c" { tar.arg("data") } else { &mut tar })
    }
}
