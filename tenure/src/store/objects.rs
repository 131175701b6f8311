//! Objects in Amazon S3, Google Cloud Storage, Azure Blob Storage, and wherever else the crate
//! [`object_store`] can update an object if it still has the version that was read.

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
use tokio::sync::OnceCell;

use super::cas::{Cas, Swapped, Versioned};
use super::{HistoryKind, Key, StoreError, StoreErrorKind, StoreTraits};

/// The largest object that is loaded: twice the size of any election.
const SIZE_MOST: u64 = 64 * 1_024;
/// The object at which conditions are tried. It is no election's: the names of those have one part
/// below the prefix.
const TRIED: [&str; 2] = ["tenure-conditions", "tried"];
const TRIED_VALUE: &[u8] = b"tenure tries here whether the server heeds the conditions of writes";

/// One object for each election, below a prefix of a bucket, for a
/// [`CasStore`](super::cas::CasStore).
///
/// There are no wake-ups: a waiting candidate finds a released lease when it looks. The program
/// chooses the client by a feature of `object_store`, such as `aws`, and makes it. Its retries do
/// no harm, because a version occurs once; but they should end before a request times out. A store
/// without conditional updates, such as a local folder, is refused at the first change
/// (`Unsupported`), and so is a server that ignores conditions: before its first change, each
/// process tries them at an object of its own below the prefix.
///
/// `docs/stores/objects.md` has an example.
#[derive(Clone, Debug)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    /// Set once the server has refused what conditions exclude. One that ignores them answers every
    /// write with success, so that all candidates would be granted a lease.
    heeds_conditions: Arc<OnceCell<()>>,
}

impl Objects {
    /// Objects whose names begin with that prefix and a `/`, or have none if it is empty.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &str) -> Self {
        Self { store, prefix: Path::from(prefix), heeds_conditions: Arc::default() }
    }

    fn name(&self, key: &Key) -> Path {
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

    /// Tries to create an object that exists, and to replace a version that it does not have. The
    /// object stays: at Amazon S3, what is deleted and created again has the same version.
    async fn try_conditions(&self) -> Result<(), StoreError> {
        let [folder, name] = TRIED;
        let name = self.prefix.clone().join(folder).join(name);
        let put = |mode| self.put(&name, mode, PutPayload::from_static(TRIED_VALUE));
        let version = match put(PutMode::Create).await? {
            Swapped::Done(version) => {
                if let Swapped::Done(_) = put(PutMode::Create).await? {
                    return Err(ignores_conditions("created an object that exists"));
                }
                version
            }
            Swapped::Conflict => {
                let found = self.find(&name).await?.ok_or_else(|| {
                    let detail = format_args!("{name} exists, and can't be found");
                    StoreError::showing(StoreErrorKind::UnexpectedReply, detail)
                })?;
                version_of(&found.meta)
            }
        };
        let Some(another) = another_than(&version) else {
            let detail = "the server gives objects no versions, by which an update can be refused";
            return Err(StoreError::new(StoreErrorKind::Unsupported, detail));
        };
        match put(PutMode::Update(another)).await? {
            Swapped::Conflict => Ok(()),
            Swapped::Done(_) => {
                Err(ignores_conditions("replaced a version that the object did not have"))
            }
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
        let Some(found) = self.find(&self.name(key)).await? else { return Ok(None) };
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
        self.heeds_conditions.get_or_try_init(|| self.try_conditions()).await?;
        let mode = version.map_or(PutMode::Create, |version| PutMode::Update(version.clone()));
        self.put(&self.name(key), mode, PutPayload::from(value)).await
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

/// Another version, of the same form: servers read a part of it as a number, and refuse what has no
/// quotes. `None` if there is nothing to change.
fn another_than(version: &UpdateVersion) -> Option<UpdateVersion> {
    let change = |text: &String| {
        let (at, last) = text.char_indices().rfind(|(_, last)| last.is_ascii_alphanumeric())?;
        let another = if last == '1' { "2" } else { "1" };
        Some(format!("{}{another}{}", &text[..at], &text[at + 1..]))
    };
    let UpdateVersion { e_tag, version } = version;
    let (e_tag, version) = (e_tag.as_ref().and_then(change), version.as_ref().and_then(change));
    (e_tag.is_some() || version.is_some()).then_some(UpdateVersion { e_tag, version })
}

fn ignores_conditions(did: &str) -> StoreError {
    let detail = format_args!(
        "the server ignores the conditions of writes: it {did}. Use one that supports If-Match and If-None-Match"
    );
    StoreError::showing(StoreErrorKind::Unsupported, detail)
}

/// Whether there is no such object, in a bucket that exists. The text has the server's answer, and
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

    #[test]
    fn another_version_has_the_same_form() {
        let both = |e_tag: Option<&str>, version: Option<&str>| UpdateVersion {
            e_tag: e_tag.map(ToOwned::to_owned),
            version: version.map(ToOwned::to_owned),
        };
        let versions = [
            (both(Some("\"9a0f\""), None), both(Some("\"9a01\""), None)),
            (both(Some("\"1\""), None), both(Some("\"2\""), None)),
            (both(Some("\"0x8D\""), Some("1700")), both(Some("\"0x81\""), Some("1701"))),
        ];
        for (version, another) in versions {
            assert_eq!(another_than(&version), Some(another));
        }
        assert_eq!(another_than(&both(None, None)), None);
        assert_eq!(another_than(&both(Some("\"\""), None)), None);
    }
}
