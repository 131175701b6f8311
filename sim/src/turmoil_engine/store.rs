//! The machine that the store runs on: a simulated Redis behind simulated TCP, and what its records
//! say after each script.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use sha1_smol::Sha1;
use tenure::store::redis::SCRIPTS;
use turmoil::net::TcpListener;

use super::world::World;
use crate::clock::Clock;
use crate::plan::Plan;
use crate::redis::{Executed, Redis, Reply, Settings};
use crate::trace::{Answer, Asked, Event, Kept, StoreStep};

/// 2026-01-01 in nanoseconds since 1970: what the store's clock shows when a run begins.
const EPOCH: u64 = 1_767_225_600_000_000_000;
const RECORD: &[u8] = b"{tenure}:leader:job";

/// A server of leases, with its own clock.
pub(super) struct Store {
    pub(super) redis: Redis,
    /// The election's record after the last script.
    last: Rc<RefCell<Option<Kept>>>,
}

impl Store {
    pub(super) fn new(plan: &Plan, world: &Rc<World>) -> Self {
        let clock = Rc::new(Clock::new(EPOCH, plan.store_rate_ppm));
        let settings = Settings { seed: plan.seed, ..Settings::default() };
        let redis = Redis::new(settings, {
            let (clock, world) = (Rc::clone(&clock), Rc::clone(world));
            move || clock.read(world.true_now()).as_nanos() / 1_000
        });
        let last = Rc::new(RefCell::new(None));
        let digest = |text: &str| Bytes::from(Sha1::from(text).digest().to_string());
        let watch = Watch {
            redis: redis.clone(),
            world: Rc::clone(world),
            clock,
            scripts: SCRIPTS.iter().map(|(name, text)| (digest(text), *name)).collect(),
            last: Rc::clone(&last),
        };
        redis.observe(Box::new(move |executed| {
            if let Some(step) = watch.step(executed) {
                watch.world.record(Event::Store(step));
            }
        }));
        Self { redis, last }
    }

    /// The process is gone; what it answered before stays answered.
    pub(super) fn crash(&self, keeps_data: bool) {
        self.redis.restart(keeps_data);
        if !keeps_data {
            *self.last.borrow_mut() = None;
        }
    }
}

/// The server's program: one life of its process.
pub(super) async fn program(redis: Redis) -> turmoil::Result {
    let listener = TcpListener::bind(("0.0.0.0", 6379)).await?;
    loop {
        let (stream, peer) = listener.accept().await?;
        let redis = redis.clone();
        tokio::task::spawn_local(async move {
            // A broken connection is its client's business.
            let _ = redis.serve(stream, &peer.to_string()).await;
        });
    }
}

/// Looks into the record after each script, before anything else is executed.
struct Watch {
    redis: Redis,
    world: Rc<World>,
    clock: Rc<Clock>,
    scripts: BTreeMap<Bytes, &'static str>,
    last: Rc<RefCell<Option<Kept>>>,
}

impl Watch {
    /// `None` for whatever is no request of an election.
    fn step(&self, executed: &Executed<'_>) -> Option<StoreStep> {
        let [command, sha, keys, rest @ ..] = executed.args else { return None };
        if !command.eq_ignore_ascii_case(b"EVALSHA") || is_noscript(executed.reply) {
            return None;
        }
        let arguments = rest.get(number::<usize>(text(keys)?)?..)?;
        let (holder, request) = asked(self.scripts.get(sha)?, arguments)?;
        let after = self.record();
        let before = self.last.replace(after);
        Some(StoreStep { holder, request, answer: answer(executed.reply), before, after })
    }

    fn record(&self) -> Option<Kept> {
        let read = [b"HMGET", RECORD, b"token", b"holder", b"lease_end", b"released"];
        let Reply::Array(values) = self.redis.execute(&read) else { return None };
        let [
            Reply::Bulk(token),
            Reply::Bulk(holder),
            Reply::Bulk(lease_end),
            Reply::Bulk(released),
        ] = &values[..]
        else {
            return None;
        };
        let micros: u64 = number(text(lease_end)?)?;
        Some(Kept {
            token: number(text(token)?)?,
            holder: u128::from_str_radix(text(holder)?, 16).ok()?,
            lease_ends: self.clock.when(tenure::Instant::from_nanos(micros * 1_000)),
            released: text(released)? == "1",
        })
    }
}

fn is_noscript(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(text) if text.starts_with(b"NOSCRIPT"))
}

fn asked(script: &str, arguments: &[Bytes]) -> Option<(u128, Asked)> {
    let [holder, number_of, ..] = arguments else { return None };
    let holder = u128::from_str_radix(text(holder)?, 16).ok()?;
    let token = number(text(number_of)?)?;
    let request = match script {
        "acquire" => Asked::Acquire { seen: token },
        "renew" => Asked::Renew { token },
        "release" => Asked::Release { token },
        _ => return None,
    };
    Some((holder, request))
}

fn answer(reply: &Reply) -> Answer {
    let Reply::Array(fields) = reply else { return Answer::Other };
    let [Reply::Bulk(word), rest @ ..] = &fields[..] else { return Answer::Other };
    match (&word[..], rest) {
        (b"granted", [Reply::Integer(token), Reply::Integer(wait)]) => {
            Answer::Granted { token: token.unsigned_abs(), waits: *wait > 0 }
        }
        (b"held", _) => Answer::Held,
        (b"stale", _) => Answer::Stale,
        (b"renewed", _) => Answer::Renewed,
        (b"superseded", _) => Answer::Superseded,
        (b"released", _) => Answer::Released,
        (b"not_held", _) => Answer::NotHeld,
        _ => Answer::Other,
    }
}

fn text(bytes: &Bytes) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}
