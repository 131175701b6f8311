//! The errors for the server's error replies and the refusals of the scripts.

use std::fmt::Display;

use super::field::Field;
use super::shown::FIELDS;
use crate::store::error::sanitized;
use crate::store::{StoreError, StoreErrorKind};

/// The store's error for an error reply of the server.
pub(super) fn server_error(code: &str, text: &str) -> StoreError {
    let (code, text) = raised(code, text).unwrap_or((code, text));
    let kind = match code {
        "NOAUTH" | "WRONGPASS" => StoreErrorKind::Authentication,
        "NOPERM" => StoreErrorKind::Permission,
        // UNBLOCKED is from a primary that was demoted while it waited for its replicas.
        "READONLY" | "MASTERDOWN" | "UNBLOCKED" => StoreErrorKind::NotPrimary,
        "CLUSTERDOWN" => StoreErrorKind::NoLeader,
        // A server that can't write its data to disk accepts no more writes.
        "NOREPLICAS" | "MISCONF" => StoreErrorKind::NotDurable,
        "OOM" => {
            let text = sanitized(text, TEXT_MOST);
            let detail = format!(
                "{code} {text}; no lease is granted until there is memory (raise maxmemory, or remove \
                 keys); leaders can still renew"
            );
            return StoreError::new(StoreErrorKind::Full, detail);
        }
        "MOVED" | "ASK" => {
            let text = sanitized(text, TEXT_MOST);
            let detail = format!("{code} {text}; a node of a cluster needs redis+cluster://");
            return StoreError::new(StoreErrorKind::Refused, detail);
        }
        // An error that `redis.call` raises inside a script has its code in the text.
        _ if code == "WRONGTYPE" || text.contains("WRONGTYPE") => {
            return damaged(sanitized(format_args!("{code} {text}"), TEXT_MOST));
        }
        // Up to Redis 7.0, of a command in a script: without a code, and without the command.
        _ if text.contains("The user executing the script can't") => {
            let text = sanitized(text, TEXT_MOST);
            let detail = format!(
                "{code} {text}; the scripts need +hmget +hstrlen +hset +time +info +publish, before Redis 7 +persist \
                 too (-@dangerous takes +info away)"
            );
            return StoreError::new(StoreErrorKind::Permission, detail);
        }
        // The second one is of the choice of a database, whose code redis-rs leaves out.
        _ if text.contains("NOPERM") || text.contains("has no permissions") => {
            StoreErrorKind::Permission
        }
        _ if text.contains("READONLY") || text.contains("read only replica") => {
            StoreErrorKind::NotPrimary
        }
        _ => StoreErrorKind::Refused,
    };
    match text {
        "" => StoreError::new(kind, code),
        _ => StoreError::showing(kind, format_args!("{code} {text}")),
    }
}

/// The code and the text of a refusal inside a script before Redis 7. Such a text begins with the
/// line of the script: `@user_script: 5: -OOM command not allowed ..`. It is the end of a longer
/// one if the script ended by it.
fn raised<'a>(code: &'a str, text: &'a str) -> Option<(&'a str, &'a str)> {
    if code != "@user_script:" && !text.starts_with("Error running script") {
        return None;
    }
    let (_, inner) = text.split_once(": -")?;
    inner.trim_end().split_once(' ')
}

/// The most bytes that are kept of a server's text in front of our own.
pub(super) const TEXT_MOST: usize = 200;

pub(super) fn refused(why: &[u8], detail: &[Field<'_>]) -> StoreError {
    let (kind, setting) = match why {
        b"role" => (StoreErrorKind::NotPrimary, "its role is "),
        b"eviction" => (StoreErrorKind::Evicting, "its maxmemory-policy is "),
        b"error" => {
            let [Field::Text(text), ..] = detail else { return unexpected(detail) };
            let text = String::from_utf8_lossy(text);
            let (code, text) = text.split_once(' ').unwrap_or((&text, ""));
            return server_error(code, text);
        }
        b"older" => {
            let key = match detail {
                [Field::Text(key)] => String::from_utf8_lossy(key),
                _ => "".into(),
            };
            let detail = format_args!(
                "it is of an earlier version of tenure: stop all candidates of that version, and remove it by DEL {key}"
            );
            return StoreError::showing(StoreErrorKind::BadRecord, detail);
        }
        b"record" => {
            let [Field::Text(record), Field::Number(place)] = detail else {
                return unexpected(detail);
            };
            let place = usize::try_from(*place).ok().and_then(|place| place.checked_sub(1));
            let Some(field) = place.and_then(|place| FIELDS.get(place)) else {
                return unexpected(detail);
            };
            let record = String::from_utf8_lossy(record);
            let detail = format_args!(
                "its field {field} does not hold what it should: stop all candidates, and DEL {record}"
            );
            return StoreError::showing(StoreErrorKind::BadRecord, detail);
        }
        b"token" => return damaged("a candidate knows a token of 2^53 or more"),
        b"withheld" => return withheld(detail),
        _ => (StoreErrorKind::Refused, ""),
    };
    let value = match detail {
        [Field::Text(value), ..] => String::from_utf8_lossy(value),
        _ => "".into(),
    };
    StoreError::showing(kind, format_args!("{setting}{value}"))
}

pub(super) fn unexpected(fields: &[Field<'_>]) -> StoreError {
    StoreError::showing(
        StoreErrorKind::UnexpectedReply,
        sanitized(format_args!("{fields:?}"), TEXT_MOST),
    )
}

/// A server that does not report what a grant depends on, as some that only resemble Redis.
fn withheld(detail: &[Field<'_>]) -> StoreError {
    let [Field::Text(field), Field::Text(value), Field::Text(version)] = detail else {
        return unexpected(detail);
    };
    let [field, value, version] = [field, value, version].map(|text| String::from_utf8_lossy(text));
    let detail = format_args!(
        "INFO has {field}:{value:?} ({version}); use Redis or Valkey itself, and no proxy that hides it"
    );
    StoreError::showing(StoreErrorKind::Withheld, detail)
}

/// The error of an answer of the right form with a value that no candidate has written.
pub(super) fn damaged(detail: impl Display) -> StoreError {
    let detail = format_args!(
        "{detail}: stop all candidates, and DEL {{prefix}}:leader:<key> (or {{prefix}}:past, if the past is meant)"
    );
    StoreError::showing(StoreErrorKind::BadRecord, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &'static str) -> Field<'static> {
        Field::Text(text.as_bytes())
    }

    #[test]
    fn refusals_say_what_to_do() {
        let error = refused(b"eviction", &[text("allkeys-lru")]);
        assert_eq!(error.kind(), StoreErrorKind::Evicting);
        assert!(error.to_string().contains("its maxmemory-policy is allkeys-lru"), "{error}");
        let error = refused(b"older", &[text("{app}:leader:a")]);
        assert_eq!(error.kind(), StoreErrorKind::BadRecord);
        assert!(error.to_string().ends_with("remove it by DEL {app}:leader:a"), "{error}");
        let error = refused(b"record", &[text("{app}:leader:a"), Field::Number(3)]);
        assert_eq!(error.kind(), StoreErrorKind::BadRecord);
        assert!(error.to_string().contains("its field number"), "{error}");
        assert!(error.to_string().ends_with("DEL {app}:leader:a"), "{error}");
        let error = server_error("WRONGTYPE", "Operation against a key");
        assert_eq!(error.kind(), StoreErrorKind::BadRecord);
        assert!(error.to_string().contains("DEL {prefix}:leader:<key>"), "{error}");
        let fields = ["run_id", "", "other_version:1.2"].map(text);
        let error = refused(b"withheld", &fields);
        assert_eq!(error.kind(), StoreErrorKind::Withheld);
        assert!(error.to_string().contains("INFO has run_id:\"\" (other_version:1.2)"), "{error}");
        let error = server_error("NOAUTH", "Authentication required.");
        assert_eq!(error.kind(), StoreErrorKind::Authentication);
        let error = server_error("ERR", "this user has no permissions to run the 'select' command");
        assert_eq!(error.kind(), StoreErrorKind::Permission);
        let error = server_error("MOVED", "3999 127.0.0.1:6381");
        assert!(
            error
                .to_string()
                .ends_with("127.0.0.1:6381; a node of a cluster needs redis+cluster://")
        );
    }

    #[test]
    fn refusals_inside_scripts_of_redis_6_are_known() {
        let ends = "Error running script (call to f_e6a8): @user_script:1: @user_script: 1: ";
        for (said, kind) in [
            ("-OOM command not allowed when used memory > 'maxmemory'.", StoreErrorKind::Full),
            ("-READONLY You can't write against a read only replica.", StoreErrorKind::NotPrimary),
            ("-MISCONF Errors writing to the AOF file: No space left", StoreErrorKind::NotDurable),
            (
                "The user executing the script can't run this command or subcommand",
                StoreErrorKind::Permission,
            ),
        ] {
            let ended = server_error("ERR", &format!("{ends}{said}  "));
            assert_eq!(ended.kind(), kind, "{ended}");
            let caught = format!("@user_script: 45: {said}\r\n");
            let caught = refused(b"error", &[Field::Text(caught.as_bytes())]);
            assert_eq!(caught.kind(), kind, "{caught}");
        }
        let other = server_error("ERR", "Error running script (call to f_e6a8): @user_script:1: x");
        assert_eq!(other.kind(), StoreErrorKind::Refused);
    }
}
