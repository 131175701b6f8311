//! The trial of a server's conditions of writes.
//!
//! One that ignores them answers every write with success, and one that checks them in one step and
//! writes in another lets several writes through that arrive together: either grants a lease to
//! several candidates. Each process tries both before its first change, or when its first candidate
//! looks: a takeover must not wait for the trial. That a server passes proves less of the second
//! fault, which shows by chance: it is also looked for where elections are kept.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use object_store::path::Path;
use object_store::{PutMode, PutPayload, UpdateVersion};
use tokio::sync::OnceCell;

use super::{Objects, version_of};
use crate::store::cas::{Swapped, fresh};
use crate::store::{StoreError, StoreErrorKind};

/// The object at which conditions are tried. It is no election's: the names of those have one part
/// below the prefix.
const TRIED: [&str; 2] = ["tenure-conditions", "tried"];
/// So many writes are sent at once, of which one may succeed.
const AT_ONCE: usize = 8;
/// So often; twice as often after each refusal.
const ROUNDS: usize = 3;
/// The pause before a server that was refused is tried again, which doubles each time.
const PAUSE_LEAST: Duration = Duration::from_secs(1);
const PAUSE_MOST: Duration = Duration::from_secs(60);

/// A server's trial.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// Set once the server has passed the trial.
    heeded: OnceCell<()>,
    /// The steps that it has passed: a trial that is given up, as its request takes too long, is
    /// continued by the next request.
    passed: AtomicUsize,
    /// The number of refusals: what passes by chance would pass in the end, if asked often enough.
    refused: AtomicUsize,
    refusal: Mutex<Option<Refusal>>,
}

#[derive(Debug)]
struct Refusal {
    error: StoreError,
    until: Instant,
    pause: Duration,
}

impl Conditions {
    fn lock(&self) -> MutexGuard<'_, Option<Refusal>> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The refusal of the server, until it is to be tried again.
    pub(super) fn refusal(&self) -> Result<(), StoreError> {
        match &*self.lock() {
            Some(refusal) if Instant::now() < refusal.until => Err(refusal.error.clone()),
            Some(_) | None => Ok(()),
        }
    }

    fn refuse(&self, error: &StoreError) {
        self.passed.store(0, Ordering::Relaxed);
        self.refused.fetch_add(1, Ordering::Relaxed);
        let mut refusal = self.lock();
        let pause = refusal.as_ref().map_or(PAUSE_LEAST, |last| PAUSE_MOST.min(last.pause * 2));
        *refusal = Some(Refusal { error: error.clone(), until: Instant::now() + pause, pause });
    }
}

impl Objects {
    /// Tries it, unless the server has passed before.
    pub(super) async fn heeds_conditions(&self) -> Result<(), StoreError> {
        self.conditions.heeded.get_or_try_init(|| self.try_conditions()).await?;
        Ok(())
    }

    async fn try_conditions(&self) -> Result<(), StoreError> {
        // Another request may have tried it while this one waited.
        self.conditions.refusal()?;
        let tried = self.try_steps().await;
        if let Err(error) = &tried
            && error.kind() == StoreErrorKind::Unsupported
        {
            self.conditions.refuse(error);
        }
        tried
    }

    async fn try_steps(&self) -> Result<(), StoreError> {
        let [folder, name] = TRIED;
        let name = self.prefix.clone().join(folder).join(name);
        let mut version = self.tried(&name).await?;
        let rounds = ROUNDS << self.conditions.refused.load(Ordering::Relaxed).min(5);
        for step in self.conditions.passed.load(Ordering::Relaxed)..=rounds {
            if step == 0 {
                self.try_wrong_conditions(&name, &version).await?;
            } else {
                let update = PutMode::Update(version);
                version = match self.try_at_once(&name, &update).await? {
                    Some(version) => version,
                    None => self.tried(&name).await?,
                };
            }
            self.conditions.passed.store(step + 1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The version of the object, which is created if there is none. It stays, so that candidates
    /// need no right to delete it.
    async fn tried(&self, name: &Path) -> Result<UpdateVersion, StoreError> {
        if let Some(found) = self.find(name).await? {
            return Ok(version_of(&found.meta));
        }
        if let Some(created) = self.try_at_once(name, &PutMode::Create).await? {
            return Ok(created);
        }
        let found = self.find(name).await?.ok_or_else(|| {
            let detail = format_args!("{name} exists, and can't be found");
            StoreError::showing(StoreErrorKind::UnexpectedReply, detail)
        })?;
        Ok(version_of(&found.meta))
    }

    /// Tries to create the object again, and to replace a version that it does not have.
    async fn try_wrong_conditions(
        &self,
        name: &Path,
        version: &UpdateVersion,
    ) -> Result<(), StoreError> {
        let another = another_than(version).ok_or_else(|| {
            let detail = "the server gives objects no versions, by which an update can be refused";
            StoreError::new(StoreErrorKind::Unsupported, detail)
        })?;
        let wrong = [
            (PutMode::Create, "created an object that exists"),
            (PutMode::Update(another), "replaced a version that the object did not have"),
        ];
        for (mode, did) in wrong {
            if let Swapped::Done(_) = self.put(name, mode, value()?).await? {
                return Err(ignores_conditions(&did));
            }
        }
        Ok(())
    }

    /// Sends several writes at once, no two alike, of which one may be carried out: the version of
    /// that one. `None` if none was, as far as is known, because another process came first.
    async fn try_at_once(
        &self,
        name: &Path,
        mode: &PutMode,
    ) -> Result<Option<UpdateVersion>, StoreError> {
        let values = (0..AT_ONCE).map(|_| value()).collect::<Result<Vec<_>, _>>()?;
        let puts = values.into_iter().map(|value| self.put(name, mode.clone(), value));
        let (mut done, mut conflicts, mut failed) = (Vec::new(), 0, None);
        for answer in join_all(puts).await {
            match answer {
                Ok(Swapped::Done(version)) => done.push(version),
                Ok(Swapped::Conflict) => conflicts += 1,
                Err(error) => failed = Some(error),
            }
        }
        match (done.len(), failed) {
            // Some servers limit how often an object is written.
            (0, Some(error)) if conflicts == 0 => Err(error),
            (0 | 1, _) => Ok(done.pop()),
            (several, _) => Err(ignores_conditions(&format_args!(
                "carried out {several} of {AT_ONCE} writes that were sent at once with the same condition"
            ))),
        }
    }
}

/// No two are equal, as the version of an object may be a digest of it.
fn value() -> Result<PutPayload, StoreError> {
    let number = fresh()?.to_bits();
    let text = "tenure tries here whether the server heeds the conditions of writes";
    Ok(PutPayload::from(format!("{text} {number:032x}")))
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

fn ignores_conditions(did: &dyn fmt::Display) -> StoreError {
    let detail = format_args!(
        "the server ignores the conditions of writes, or writes in another step than it checks them: it {did}. Use one \
         that supports If-Match and If-None-Match"
    );
    StoreError::showing(StoreErrorKind::Unsupported, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

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
