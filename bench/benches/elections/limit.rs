//! The most renewals of a Redis server: by `redis-benchmark`, and by elections that need more.

use std::thread;
use std::time::{Duration, Instant};

use tenure::Config;
use tenure_bench::Outcome;
use tenure_servers::RedisServer;

use crate::counter;
use crate::figures::{Limit, RivalRates};
use crate::group::Group;
use crate::meter::{Meter, float};
use crate::place::Place;
use crate::rival::Renewal;
use crate::settings::Settings;

/// Long enough that nothing is lost while the server has twice as much to do as it can.
const TTL: Duration = Duration::from_secs(15);
const CAPTURED_WITHIN: Duration = Duration::from_secs(10);
/// The rate that the elections need, in multiples of that: a server gives about twice as much if
/// many leases share a call.
const NEED: f64 = 4.0;

/// The renewals a second of `redis-benchmark`, by the command with which the driver renews one
/// election.
pub(crate) fn rate_of_one(server: &RedisServer, calls: u32) -> Outcome<f64> {
    let config = Config::builder(TTL).renew_interval(Duration::from_millis(20)).build()?;
    let probe = Group::open(Place::redis_store(server.port()), config, "probe")?;
    let renewal = Renewal::capture(server.port(), CAPTURED_WITHIN)?;
    probe.crash();
    Ok(renewal.rate(server.port(), calls)?.renewals)
}

/// Measures so many elections at a new server, with a renew interval at which they need about twice
/// the renewals that the server gives; `rate` is that of single leases.
pub(crate) fn measure(elections: usize, rate: f64, settings: Settings) -> Outcome<Limit> {
    let server = RedisServer::start()?;
    let port = server.port();
    let interval = Duration::from_secs_f64(float(elections as u64) / (NEED * rate));
    let config = Config::builder(TTL).renew_interval(interval).build()?;
    let mut group = Group::open(Place::redis_store(port), config, "opener")?;
    let meter = Meter::start(counter::at_redis(port)?);
    let lead = group.join(elections, settings.bound)?;
    eprintln!("  at the limit, of {elections}: {lead}");

    let before = group.tokens();
    let began = Instant::now();
    thread::sleep(settings.steady);
    let renewals_a_second = meter.between(began, Instant::now()).rate();
    let lost = group.lost_since(&before);
    let renewal = Renewal::capture(port, CAPTURED_WITHIN)?;
    drop(meter);
    group.crash();
    let of_one_call = renewal.rate(port, settings.rival_calls)?;
    let of_all = renewal.of_all(port, elections)?.rate(port, settings.rival_calls)?;
    Ok(Limit {
        interval_millis: interval.as_secs_f64() * 1e3,
        lead,
        needed: NEED * rate,
        renewals_a_second,
        rival: RivalRates { of_one_call: of_one_call.renewals, of_all: of_all.renewals },
        a_call: of_one_call.a_call,
        lost,
    })
}
