//! The scripts.

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
/// an operator may want to read.
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

/// A script's text, and the digest by which the server knows it.
pub(super) struct Script {
    pub(super) text: &'static str,
    pub(super) sha: String,
}

static ALL: LazyLock<Vec<Script>> = LazyLock::new(|| {
    let sha = |text| sha1_smol::Sha1::from(text).digest().to_string();
    SCRIPTS.iter().map(|&(_, text)| Script { text, sha: sha(text) }).collect()
});

impl Which {
    pub(super) fn script(self) -> &'static Script {
        &ALL[self as usize]
    }
}
