//! Objects in Amazon S3, Google Cloud Storage, Azure Blob Storage, and wherever else the crate
//! [`object_store`] can update an object if it still has the version that was read.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, ObjectMeta, ObjectStore, PutMode, PutOptions, PutPayload, UpdateVersion,
};
use percent_encoding::percent_decode_str;

use super::cas::{Cas, Swapped, Versioned};
use super::{HistoryKind, Key, StoreError, StoreErrorKind, StoreTraits};

/// One object for each election, below a prefix of a bucket, for a
/// [`CasStore`](super::cas::CasStore).
///
/// There are no wake-ups: a waiting candidate finds a released lease when it looks. The program
/// chooses the client by a feature of `object_store`, such as `aws`, and makes it. Its retries do
/// no harm, because a version occurs once; but they should end before a request times out. A store
/// without conditional updates, such as a local folder, is refused at the first change
/// (`Unsupported`).
///
/// `docs/stores/objects.md` has an example.
#[derive(Clone, Debug)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
}

impl Objects {
    /// Objects whose names begin with that prefix and a `/`, or have none if it is empty.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &str) -> Self {
        Self { store, prefix: Path::from(prefix) }
    }

    fn name(&self, key: &Key) -> Path {
        self.prefix.clone().join(key.as_str())
    }
}

impl Cas for Objects {
    type Version = UpdateVersion;

    fn traits(&self) -> StoreTraits {
        let history = HistoryKind::Durable;
        StoreTraits { push: false, history, ..StoreTraits::new("objects") }
    }

    async fn get(&self, key: &Key) -> Result<Option<Versioned<UpdateVersion>>, StoreError> {
        let found = match self.store.get_opts(&self.name(key), GetOptions::default()).await {
            Ok(found) => found,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let meta = &found.meta;
        let version = UpdateVersion { e_tag: meta.e_tag.clone(), version: meta.version.clone() };
        let value = found.bytes().await.map_err(|error| failed(&error))?;
        Ok(Some(Versioned { value, version }))
    }

    async fn swap(
        &self,
        key: &Key,
        version: Option<&UpdateVersion>,
        value: Bytes,
    ) -> Result<Swapped<UpdateVersion>, StoreError> {
        let mode = version.map_or(PutMode::Create, |version| PutMode::Update(version.clone()));
        let put = PutOptions { mode, ..PutOptions::default() };
        match self.store.put_opts(&self.name(key), PutPayload::from(value), put).await {
            Ok(done) => Ok(Swapped::Done(done.into())),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(Swapped::Conflict),
            // It was deleted.
            Err(Error::NotFound { .. }) if version.is_some() => Ok(Swapped::Conflict),
            Err(error) => Err(failed(&error)),
        }
    }

    /// The user needs the right to list objects.
    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        let found: Vec<_> = self
            .store
            .list(Some(&self.prefix))
            .try_collect()
            .await
            .map_err(|error| failed(&error))?;
        // Another name is not an election's.
        let key = |object: ObjectMeta| {
            let parts: Vec<_> = object.location.prefix_match(&self.prefix)?.collect();
            let [name] = &parts[..] else { return None };
            Key::new(percent_decode_str(name.as_ref()).decode_utf8().ok()?).ok()
        };
        Ok(found.into_iter().filter_map(key).collect())
    }
}

fn failed(error: &Error) -> StoreError {
    let kind = match error {
        Error::NotFound { .. } => StoreErrorKind::Missing,
        Error::NotImplemented { .. } | Error::NotSupported { .. } => StoreErrorKind::Unsupported,
        Error::PermissionDenied { .. } => StoreErrorKind::Permission,
        Error::Unauthenticated { .. } => StoreErrorKind::Authentication,
        _ => StoreErrorKind::Disconnected,
    };
    StoreError::showing(kind, error)
}
