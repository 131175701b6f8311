//! The kind of finding of each error of the store.

#[cfg(feature = "sqlite")]
use std::error::Error;

use tenure::store::{StoreError, StoreErrorKind};

use super::kind::Kind;
use super::report::Report;
use crate::exit::with_causes;

impl Report {
    /// A request or a question has failed.
    pub(super) fn failed(&mut self, what: &str, error: &StoreError) {
        self.add(kind(error), format!("{what}: {}", with_causes(error)));
    }
}

pub(super) fn kind(error: &StoreError) -> Kind {
    #[cfg(feature = "sqlite")]
    if let Some(kind) = error.source().and_then(of_file) {
        return kind;
    }
    let text = error.to_string();
    let says = |word: &str| text.contains(word);
    match error.kind() {
        StoreErrorKind::Timeout => Kind::NoAnswer,
        StoreErrorKind::Unreachable => Kind::Unreachable,
        StoreErrorKind::Disconnected => Kind::ConnectionBroken,
        StoreErrorKind::Tls => Kind::TlsRefused,
        StoreErrorKind::Authentication => Kind::CredentialsRefused,
        StoreErrorKind::NoCredentials => Kind::CredentialsMissing,
        StoreErrorKind::NotPrimary => Kind::NotPrimary,
        StoreErrorKind::Evicting => Kind::Evicting,
        StoreErrorKind::NotDurable if says("MISCONF") => Kind::DiskWritesFail,
        StoreErrorKind::NotDurable if says("replica") || says("REPLICA") || says("standby") => {
            Kind::ReplicasMissing
        }
        StoreErrorKind::NotDurable => Kind::NotDurable,
        StoreErrorKind::Withheld => Kind::IdentityWithheld,
        StoreErrorKind::Permission => Kind::RightMissing,
        StoreErrorKind::Missing => Kind::ElectionsMissing,
        StoreErrorKind::UnsupportedVersion => Kind::VersionUnsupported,
        StoreErrorKind::BadRecord => Kind::RecordDamaged,
        StoreErrorKind::UnexpectedReply => Kind::ReplyUnexpected,
        StoreErrorKind::NoLeader => Kind::ClusterWithoutLeader,
        StoreErrorKind::Full => Kind::StorageFull,
        StoreErrorKind::Unsupported => Kind::Unsupported,
        StoreErrorKind::Pooler => Kind::PoolerBetween,
        StoreErrorKind::Locked => Kind::Locked,
        StoreErrorKind::Refused if says("redis+cluster://") => Kind::ClusterByOneNode,
        StoreErrorKind::Refused if says("default_transaction_read_only") => Kind::ReadOnlyDefault,
        StoreErrorKind::Refused if says("(53300)") || says("max number of clients") => {
            Kind::ConnectionsUsedUp
        }
        // Also kinds that are not known yet.
        _ => Kind::RequestRefused,
    }
}

/// The errors of a file are of a type of their own.
#[cfg(feature = "sqlite")]
fn of_file(cause: &(dyn Error + 'static)) -> Option<Kind> {
    use tenure::store::sqlite::SqliteError;

    Some(match cause.downcast_ref::<SqliteError>()? {
        SqliteError::NoFolder { .. } => Kind::FolderMissing,
        SqliteError::NotAFile { .. } => Kind::NotAFile,
        SqliteError::Denied { .. } => Kind::RightMissing,
        SqliteError::NetworkFileSystem { .. } => Kind::NetworkFileSystem,
        SqliteError::MountedAlone { .. } => Kind::MountedAlone,
        SqliteError::HardLinks { .. } => Kind::HardLinks,
        SqliteError::NotADatabase { .. } | SqliteError::NotElections { .. } => Kind::NotElections,
        SqliteError::Replaced { .. } => Kind::FileReplaced,
        SqliteError::Version { .. } => Kind::VersionUnsupported,
        SqliteError::Locked { .. } | SqliteError::OldLog { .. } => Kind::Locked,
        SqliteError::Full { .. } => Kind::StorageFull,
        SqliteError::Io { .. } | SqliteError::Sqlite { .. } => Kind::FileFails,
        _ => return None,
    })
}
