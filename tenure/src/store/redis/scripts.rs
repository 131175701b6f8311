//! The scripts.

use std::borrow::Cow;
use std::sync::LazyLock;

/// A script of these parts. One that has a first line of its own runs at maxmemory too, where a
/// refusal would cost leaders their lead: its writes replace short values. A replica refuses it,
/// also where it would only read.
macro_rules! script {
    (allow_oom $($part:literal)*) => {
        concat!("#!lua flags=allow-oom\n", script!($($part)*))
    };
    ($($part:literal)*) => {
        concat!($(include_str!(concat!("scripts/", $part, ".lua"))),*)
    };
}

/// The scripts as they are sent to the server, by name: what a simulated server executes, and what
/// an operator may want to read. To a server that knows no flags, which came with Redis 7, they are
/// sent with another first line.
pub const SCRIPTS: &[(&str, &str)] = &[
    ("acquire", script!("begin" "past" "server" "show" "acquire")),
    ("look", script!(allow_oom "begin" "past" "server" "first" "show" "look")),
    ("renew", script!(allow_oom "begin" "past" "renew")),
    // The first over a connection, so that later ones cost less.
    ("renew_first", script!(allow_oom "begin" "past" "server" "first" "renew")),
    ("release", script!(allow_oom "begin" "past" "server" "first" "release")),
    ("want", script!(allow_oom "begin" "past" "server" "first" "want")),
    ("describe", script!("describe")),
    // A replica may carry it out.
    ("observe", script!("begin" "past" "show" "look")),
    ("notify", script!("begin" "notify")),
    ("purge", script!(allow_oom "begin" "past" "server" "first" "purge")),
];

/// One of the scripts, in their order.
#[derive(Clone, Copy)]
pub(super) enum Which {
    Acquire,
    Look,
    Renew,
    RenewFirst,
    Release,
    Want,
    Describe,
    Observe,
    Notify,
    Purge,
}

/// A server's knowledge of flags in a script's first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flags {
    Known,
    /// None, before Redis 7: there, such a line is an error of syntax.
    Unknown,
}

/// Takes the place of a first line with flags, and has the same effect: once a script has begun to
/// write by a command that takes no memory, it may write all else at maxmemory too, and a replica
/// refuses it. Records never expire, so this write changes nothing.
const FIRST_WRITE: &str = "redis.call('PERSIST', KEYS[1])";

/// A script's text, and the digest by which the server knows it.
pub(super) struct Script {
    pub(super) text: Cow<'static, str>,
    pub(super) sha: String,
}

impl Script {
    fn new(text: Cow<'static, str>) -> Self {
        let sha = sha1_smol::Sha1::from(&*text).digest().to_string();
        Self { text, sha }
    }

    fn without_flags(text: &'static str) -> Self {
        Self::new(match text.split_once('\n') {
            Some((first, rest)) if first.starts_with("#!") => {
                format!("{FIRST_WRITE}\n{rest}").into()
            }
            _ => text.into(),
        })
    }
}

static WITH_FLAGS: LazyLock<Vec<Script>> =
    LazyLock::new(|| SCRIPTS.iter().map(|&(_, text)| Script::new(text.into())).collect());
static WITHOUT_FLAGS: LazyLock<Vec<Script>> =
    LazyLock::new(|| SCRIPTS.iter().map(|&(_, text)| Script::without_flags(text)).collect());

fn scripts(flags: Flags) -> &'static [Script] {
    match flags {
        Flags::Known => &WITH_FLAGS,
        Flags::Unknown => &WITHOUT_FLAGS,
    }
}

/// The texts of all scripts for such a server.
pub(super) fn texts(flags: Flags) -> impl ExactSizeIterator<Item = &'static str> {
    scripts(flags).iter().map(|script| &*script.text)
}

impl Which {
    pub(super) fn script(self, flags: Flags) -> &'static Script {
        &scripts(flags)[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_line_depends_on_flags() {
        let mut flagged = 0;
        for (with, without) in texts(Flags::Known).zip(texts(Flags::Unknown)) {
            if with == without {
                assert!(!with.starts_with("#!"));
                continue;
            }
            flagged += 1;
            let rest = with.strip_prefix("#!lua flags=allow-oom\n");
            assert!(rest.is_some() && rest == without.strip_prefix(&format!("{FIRST_WRITE}\n")));
        }
        assert_eq!(flagged, 6);
    }
}
