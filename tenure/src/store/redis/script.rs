//! The scripts, and how a request becomes a call of one.

use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;

use super::RedisConfig;
use crate::store::{Key, Request};

pub(super) const ACQUIRE: &str = include_str!("scripts/acquire.lua");
pub(super) const RENEW: &str = include_str!("scripts/renew.lua");
pub(super) const RELEASE: &str = include_str!("scripts/release.lua");
pub(super) const OBSERVE: &str = include_str!("scripts/observe.lua");

/// A script's text, and the digest by which the server knows it.
pub(super) struct Script {
    pub(super) text: &'static str,
    pub(super) sha: String,
}

impl Script {
    fn new(text: &'static str) -> Self {
        Self { text, sha: sha1_smol::Sha1::from(text).digest().to_string() }
    }
}

struct Scripts {
    acquire: Script,
    renew: Script,
    release: Script,
    observe: Script,
}

static ALL: LazyLock<Scripts> = LazyLock::new(|| Scripts {
    acquire: Script::new(ACQUIRE),
    renew: Script::new(RENEW),
    release: Script::new(RELEASE),
    observe: Script::new(OBSERVE),
});

/// One call of a script.
pub(super) struct Invocation {
    pub(super) script: &'static Script,
    pub(super) keys: Vec<String>,
    pub(super) arguments: Vec<Bytes>,
}

impl Invocation {
    pub(super) fn new(config: &RedisConfig, key: &Key, request: &Request) -> Self {
        let record = config.record(key);
        match request {
            Request::Acquire { holder, seen, ttl, quarantine, profile } => Self {
                script: &ALL.acquire,
                keys: vec![record, config.history()],
                arguments: vec![
                    holder.to_string().into(),
                    seen.map_or(0, crate::Token::get).to_string().into(),
                    micros(*ttl),
                    micros(*quarantine),
                    Bytes::copy_from_slice(profile.name().as_bytes()),
                    profile.metadata().clone(),
                    Bytes::from_static(if config.trust_empty_store { b"1" } else { b"0" }),
                ],
            },
            Request::Renew { holder, token, ttl } => Self {
                script: &ALL.renew,
                keys: vec![record],
                arguments: vec![holder.to_string().into(), token.to_string().into(), micros(*ttl)],
            },
            Request::Release { holder, token } => Self {
                script: &ALL.release,
                keys: vec![record],
                arguments: vec![holder.to_string().into(), token.to_string().into()],
            },
            Request::Observe => {
                Self { script: &ALL.observe, keys: vec![record], arguments: Vec::new() }
            }
        }
    }
}

/// Whole microseconds, rounded down: the store's granularity covers what is lost.
fn micros(duration: Duration) -> Bytes {
    duration.as_micros().to_string().into()
}
