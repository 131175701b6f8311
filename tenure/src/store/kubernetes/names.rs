//! The name of an election's object.

use crate::store::Key;

/// The most characters of an object's name.
const MOST: usize = 253;
/// The readable bytes of a key in a name that can't be the key.
const READABLE: usize = 100;

/// The object's name: the prefix and the key, if that is a name (a DNS subdomain, RFC 1123);
/// otherwise what is readable of it, and its hash. Two keys with one name are told apart by the
/// annotation that has the key.
pub(super) fn name(prefix: &str, key: &Key) -> String {
    let whole = if prefix.is_empty() { key.as_str().to_owned() } else { format!("{prefix}-{key}") };
    if is_name(&whole) {
        return whole;
    }
    let readable: String = whole
        .chars()
        .map(|letter| letter.to_ascii_lowercase())
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .take(READABLE)
        .collect();
    let hash = crate::store::key::fnv(whole.as_bytes());
    format!("{}-{hash:032x}", readable.trim_matches('-')).trim_matches('-').to_owned()
}

/// True if this may name an object.
pub(super) fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let may_be = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(may_be)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= MOST && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_names() {
        let named = |prefix, key: &str| name(prefix, &Key::new(key).unwrap());
        assert_eq!(named("", "nightly-report"), "nightly-report");
        assert_eq!(named("billing", "nightly.report"), "billing-nightly.report");
        let odd = [
            &*"k".repeat(Key::MOST),
            "A",
            "a ",
            "a\0",
            "a:b",
            "größe",
            "🔒",
            "../a",
            "-",
            ".",
            "a-",
            "a..b",
        ];
        let mut all: Vec<_> = odd.map(|key| named("", key)).into();
        all.push(named("Prefix/", "a"));
        for one in &all {
            assert!(is_name(one), "{one}");
        }
        assert_eq!(
            named("", "report:7"),
            format!("report-7-{:032x}", crate::store::key::fnv(b"report:7"))
        );
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), odd.len() + 1, "{all:?}");
    }
}
