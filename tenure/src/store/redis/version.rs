//! The servers that run the scripts.

use crate::store::{StoreError, StoreErrorKind};

/// The oldest Redis: the first with RESP3. Valkey says the Redis version that it began with, and a
/// version of its own.
const OLDEST: u32 = 6;

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

/// True if a refusal of a script's text is that of a server that knows no flags, as those before
/// Redis 7.
pub(super) fn is_about_flags(code: &str, text: &str) -> bool {
    code == "ERR" && text.contains("compiling script")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_refused() {
        for known in ["redis_version:6.0.0", "redis_version:8.2.0\r", "redis_version:unstable", ""]
        {
            is_known(&format!("# Server\r\n{known}\r\n")).unwrap();
        }
        for old in ["5.0.14", "4.0.9"] {
            let error =
                is_known(&format!("# Server\r\nredis_version:{old}\r\nos:x\r\n")).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::UnsupportedVersion);
            assert!(error.to_string().contains(&format!("is Redis {old}: use Redis 6")), "{error}");
        }
    }

    #[test]
    fn refusals_of_flags_are_known() {
        let of_6_2 =
            "Error compiling script (new function): user_script:1: unexpected symbol near '#'";
        assert!(is_about_flags("ERR", of_6_2));
        assert!(!is_about_flags(
            "NOPERM",
            "this user has no permissions to run the 'script|load' command"
        ));
        assert!(!is_about_flags("LOADING", "Redis is loading the dataset in memory"));
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
