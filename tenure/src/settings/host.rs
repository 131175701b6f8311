//! Hosts, as URLs and variables name them.

use std::net::Ipv6Addr;

/// A name, an address, or an address of IPv6 in brackets, which are left out. `None` for anything
/// else: it may be a part of a password, and errors show hosts.
pub(super) fn host(text: &str) -> Option<&str> {
    let is_ipv6 = |text: &str| text.parse::<Ipv6Addr>().is_ok();
    if let Some(inner) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return Some(inner).filter(|inner| is_ipv6(inner));
    }
    let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "-._".contains(c));
    (!text.is_empty() && is_name(text)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_told_from_other_texts() {
        for (text, expected) in [
            ("db-1.example_org.", "db-1.example_org."),
            ("10.0.0.7", "10.0.0.7"),
            ("bücher", "bücher"),
            ("[::1]", "::1"),
            ("[::ffff:10.0.0.7]", "::ffff:10.0.0.7"),
        ] {
            assert_eq!(host(text), Some(expected));
        }
        for text in
            ["", "a:b", "::1", "[::1", "::1]", "[h]", "[::1]x", "a b", "a%20b", "a#b", "a,b"]
        {
            assert_eq!(host(text), None, "{text}");
        }
    }
}
