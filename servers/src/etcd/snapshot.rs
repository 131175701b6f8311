//! Copies of a member's data, and its return to one.

use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::{EtcdServer, MEMBERS};
use crate::ServerError;
use crate::child;
use crate::error::doing;

/// A copy of all data of a member, as `etcdctl snapshot save` makes it. Removed on drop.
#[derive(Debug)]
pub struct EtcdSnapshot {
    folder: TempDir,
}

impl EtcdServer {
    /// Copies the data of a member that runs.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if etcdctl is not installed, [`ServerError::Protocol`] with its
    /// text if it fails.
    pub fn snapshot(&self) -> Result<EtcdSnapshot, ServerError> {
        const SAVING: &str = "saving a snapshot of etcd";
        let folder = tempfile::tempdir().map_err(doing(SAVING))?;
        let snapshot = EtcdSnapshot { folder };
        let mut save = etcdctl()?;
        save.args(["--endpoints", &format!("127.0.0.1:{}", self.port()), "snapshot", "save"]);
        let output = save.arg(snapshot.file()).output().map_err(doing(SAVING))?;
        if output.status.success() {
            return Ok(snapshot);
        }
        let detail = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(ServerError::Protocol { port: self.port(), detail })
    }

    /// Kills the only member of a cluster, and starts it again with the data of the snapshot: with
    /// the revisions of that time, which writes after it use a second time.
    ///
    /// # Errors
    /// As for [`snapshot`](Self::snapshot), and if the member does not serve within 60 s.
    pub fn restore(&mut self, snapshot: &EtcdSnapshot) -> Result<(), ServerError> {
        let url = self.peer_url();
        let mut restore = etcdctl()?;
        restore.args(["snapshot", "restore"]).arg(snapshot.file()).args(["--name", "one"]);
        restore.args(["--initial-advertise-peer-urls", &url, MEMBERS, &format!("one={url}")]);
        self.restart_from(restore.arg("--data-dir"))
    }
}

impl EtcdSnapshot {
    fn file(&self) -> PathBuf {
        self.folder.path().join("snapshot")
    }
}

/// The program with its third interface, which older ones do not take by default.
fn etcdctl() -> Result<Command, ServerError> {
    const PROGRAM: &str = "etcdctl";
    let install = "apt-get install etcd-client";
    let missing = ServerError::Missing { program: PROGRAM, install };
    let mut command = Command::new(child::find(PROGRAM, Vec::new()).ok_or(missing)?);
    command.env("ETCDCTL_API", "3");
    Ok(command)
}
