//! The servers' versions that this store knows.

use crate::store::{StoreError, StoreErrorKind};

/// The first version with transactions, leases and the errors that this store knows, still in use.
const LEAST_VERSION: (u32, u32) = (3, 4);

/// Checks a version such as `3.5.16`.
pub(super) fn supported(version: &str) -> Result<(), StoreError> {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    if let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next())
        && (major, minor) >= LEAST_VERSION
    {
        return Ok(());
    }
    let (major, minor) = LEAST_VERSION;
    let detail = format!("it is {version:.40}; it must be {major}.{minor} or later");
    Err(StoreError::new(StoreErrorKind::UnsupportedVersion, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_to_the_minor() {
        for good in ["3.4.23", "3.5.0-rc.1", "3.10.1", "4.0.0"] {
            supported(good).unwrap();
        }
        for bad in ["3.3.27", "2.4", "", "3", "x.y"] {
            assert_eq!(supported(bad).unwrap_err().kind(), StoreErrorKind::UnsupportedVersion);
        }
        let error = supported("3.3.27").unwrap_err();
        assert!(error.to_string().ends_with("it is 3.3.27; it must be 3.4 or later"), "{error}");
    }
}
