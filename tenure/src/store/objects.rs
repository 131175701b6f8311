//! Objects in Amazon S3, Google Cloud Storage, Azure Blob Storage, and wherever else the crate
//! [`object_store`] can update an object if it still has the version that was read.

mod conditions;

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{
    Error, GetOptions, GetResult, ObjectMeta, ObjectStore, PutMode, PutOptions, PutPayload,
    UpdateVersion,
};
use percent_encoding::percent_decode_str;

use super::cas::{Cas, Swapped, Versioned};
use super::{HistoryKind, Key, StoreError, StoreErrorKind, StoreTraits};
use conditions::Conditions;

/// The largest object that is loaded: twice the size of any election.
const SIZE_MOST: u64 = 64 * 1_024;

/// One object for each election, below a prefix of a bucket, for a
/// [`CasStore`](super::cas::CasStore).
///
/// There are no wake-ups: a waiting candidate finds a released lease when it looks. The program
/// chooses the client by a feature of `object_store`, such as `aws`, and makes it. Its retries do
/// no harm, but should end before a request times out. A store without conditional updates, such as
/// a local folder, is refused as `Unsupported`, and so is a server that ignores conditions, or
/// checks them in one step and writes in another: before its first change, or while its first
/// candidate waits, each process tries that at an object of its own below the prefix, and asks a
/// server that it has refused again after a second, later after a minute. What the trial has missed
/// is found at the elections' objects, as [`Cas::name`] says.
///
/// **Not guaranteed**: promise G6 after an object was deleted, if the server makes its `ETag` of the
/// content, as Amazon S3 does, and a write takes effect a quarantine or more after it was sent.
///
/// `docs/stores/objects.md` has an example.
#[derive(Clone, Debug)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    conditions: Arc<Conditions>,
}

impl Objects {
    /// Objects whose names begin with that prefix and a `/`, or have none if it is empty.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &str) -> Self {
        Self { store, prefix: Path::from(prefix), conditions: Arc::default() }
    }

    fn path(&self, key: &Key) -> Path {
        self.prefix.clone().join(key.as_str())
    }

    /// The election of an object, unless it has another name than those of elections.
    fn key(&self, object: &ObjectMeta) -> Option<Key> {
        let parts: Vec<_> = object.location.prefix_match(&self.prefix)?.collect();
        let [name] = &parts[..] else { return None };
        Key::new(percent_decode_str(name.as_ref()).decode_utf8().ok()?).ok()
    }

    async fn find(&self, name: &Path) -> Result<Option<GetResult>, StoreError> {
        match self.store.get_opts(name, GetOptions::default()).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if is_absence(&error) => Ok(None),
            Err(error) => Err(failed(&error)),
        }
    }

    async fn put(
        &self,
        name: &Path,
        mode: PutMode,
        value: PutPayload,
    ) -> Result<Swapped<UpdateVersion>, StoreError> {
        let is_update = matches!(mode, PutMode::Update(_));
        let put = PutOptions { mode, ..PutOptions::default() };
        match self.store.put_opts(name, value, put).await {
            Ok(done) => Ok(Swapped::Done(done.into())),
            Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(Swapped::Conflict),
            // It was deleted.
            Err(Error::NotFound { .. }) if is_update => Ok(Swapped::Conflict),
            Err(error) => Err(failed(&error)),
        }
    }
}

impl Cas for Objects {
    type Version = UpdateVersion;

    fn traits(&self) -> StoreTraits {
        let history = HistoryKind::Durable;
        StoreTraits { push: false, history, ..StoreTraits::new("objects") }
    }

    async fn get(&self, key: &Key) -> Result<Option<Versioned<UpdateVersion>>, StoreError> {
        self.conditions.refusal()?;
        let Some(found) = self.find(&self.path(key)).await? else { return Ok(None) };
        let size = found.meta.size;
        if size > SIZE_MOST {
            let detail = format_args!(
                "the object of {key:?} has {size} bytes, and that of an election has at most {SIZE_MOST}: set another \
                 prefix, or remove it"
            );
            return Err(StoreError::showing(StoreErrorKind::BadRecord, detail));
        }
        let version = version_of(&found.meta);
        let value = found.bytes().await.map_err(|error| failed(&error))?;
        Ok(Some(Versioned { value, version }))
    }

    async fn swap(
        &self,
        key: &Key,
        version: Option<&UpdateVersion>,
        value: Bytes,
    ) -> Result<Swapped<UpdateVersion>, StoreError> {
        self.heeds_conditions().await?;
        let mode = version.map_or(PutMode::Create, |version| PutMode::Update(version.clone()));
        self.put(&self.path(key), mode, PutPayload::from(value)).await
    }

    async fn prepare(&self) -> Result<(), StoreError> {
        self.heeds_conditions().await
    }

    fn name(version: &UpdateVersion) -> Option<String> {
        let UpdateVersion { e_tag, version } = version;
        Some([e_tag, version].map(|part| part.as_deref().unwrap_or_default()).join(" "))
    }

    /// The user needs the right to list objects.
    async fn keys(&self) -> Result<BTreeSet<Key>, StoreError> {
        let objects = self.store.list(Some(&self.prefix));
        let keys = objects.try_filter_map(|object| ready(Ok(self.key(&object))));
        keys.try_collect().await.map_err(|error| failed(&error))
    }
}

fn version_of(meta: &ObjectMeta) -> UpdateVersion {
    UpdateVersion { e_tag: meta.e_tag.clone(), version: meta.version.clone() }
}

/// True if there is no such object, in a bucket that exists. The text has the server's answer, and
/// the object's URL, which has no `>`.
fn is_absence(error: &Error) -> bool {
    let Error::NotFound { source, .. } = error else { return false };
    let text = source.to_string();
    !["NoSuchBucket", "ContainerNotFound"].iter().any(|code| text.contains(&format!(">{code}<")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_bucket_is_no_missing_object() {
        let said = |said: &str| Error::NotFound { path: "job".to_owned(), source: said.into() };
        let missing = said("GET https://s3.test/job: 404: <Error><Code>NoSuchKey</Code></Error>");
        assert!(is_absence(&missing) && is_absence(&said("404: ")));
        // An election of that name.
        assert!(is_absence(&said("GET https://s3.test/NoSuchBucket: 404: <Code>NoSuchKey</Code>")));
        for code in ["NoSuchBucket", "ContainerNotFound"] {
            let error = said(&format!("404 Not Found: <Error><Code>{code}</Code></Error>"));
            assert!(!is_absence(&error), "{error}");
            let error = failed(&error);
            assert_eq!(error.kind(), StoreErrorKind::Missing);
            assert!(error.to_string().contains(code), "{error}");
        }
    }
}
