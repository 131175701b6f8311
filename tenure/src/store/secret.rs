//! Values that logs must not show.

use std::fmt;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::hidden;

/// A value that is never shown, and overwritten in memory when it is dropped, with its last clone.
/// Copies that client libraries make are not overwritten.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<Zeroizing<String>>);

impl Secret {
    /// Wraps a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(Arc::new(Zeroizing::new(secret.into())))
    }

    /// The secret itself.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// No error of a store shows it until it is dropped.
    pub(super) fn hide(&self) {
        let secret = Arc::downgrade(&self.0);
        hidden::hide(secret);
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
