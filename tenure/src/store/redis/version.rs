//! The servers that run the scripts.

use crate::store::{StoreError, StoreErrorKind};

/// The oldest Redis. Before, a script could not renew a lease: a leader would be elected, lose the
/// lead and be elected again, without an error that says why. Valkey says the Redis version that it
/// began with, and a version of its own.
const OLDEST: u32 = 7;

/// Checks the version that `INFO server` reports. Whether a server that reports none is suitable is
/// decided where it would grant something.
pub(super) fn is_known(info: &str) -> Result<(), StoreError> {
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
    let Some(version) = version.map(str::trim) else { return Ok(()) };
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_none_or(|major| major >= OLDEST) {
        return Ok(());
    }
    let detail = format!(
        "the server says that it is Redis {version}: use Redis {OLDEST} or later, or Valkey"
    );
    Err(StoreError::new(StoreErrorKind::UnsupportedVersion, detail))
}

/// The refusal of a server, or of a proxy before it, that does not answer `HELLO 3`. Its text may
/// repeat the user and the password, which the greeting has.
pub(super) fn without_resp3() -> StoreError {
    let detail = format!(
        "the server, or a proxy before it, does not speak RESP3, by which wake-ups and replies share a connection: \
         connect to Redis {OLDEST} or later, or Valkey, without that proxy"
    );
    StoreError::new(StoreErrorKind::UnsupportedVersion, detail)
}

/// True if a refusal is about the greeting itself, and not about credentials.
pub(super) fn is_about_hello(code: &str, text: &str) -> bool {
    let says = |word| text.to_ascii_uppercase().contains(word);
    code == "NOPROTO" || (code == "ERR" && says("UNKNOWN COMMAND") && says("HELLO"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_refused() {
        for known in ["redis_version:7.0.15", "redis_version:8.2.0\r", "redis_version:unstable", ""]
        {
            is_known(&format!("# Server\r\n{known}\r\n")).unwrap();
        }
        for old in ["6.2.14", "6.0.16", "5.0.7"] {
            let error =
                is_known(&format!("# Server\r\nredis_version:{old}\r\nos:x\r\n")).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::UnsupportedVersion);
            assert!(error.to_string().contains(&format!("is Redis {old}: use Redis 7")), "{error}");
        }
    }

    #[test]
    fn refusals_of_the_greeting_are_known() {
        assert!(is_about_hello("NOPROTO", "unsupported protocol version"));
        assert!(is_about_hello("ERR", "unknown command `HELLO`, with args beginning with: `3`, "));
        assert!(is_about_hello("ERR", "unknown command 'hello'"));
        assert!(!is_about_hello(
            "WRONGPASS",
            "invalid username-password pair or user is disabled."
        ));
        assert!(!is_about_hello(
            "NOAUTH",
            "HELLO must be called with the client already authenticated"
        ));
    }
}
