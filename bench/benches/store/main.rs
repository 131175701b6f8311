//! The cost of a store's call, beside the same script called bare by the same client.
//!
//! Both sides send the same bytes over connections that were made the same way, in turns, to a
//! `redis-server` of this benchmark's own; before anything is timed, the server's slow log is asked
//! whether the commands really are the same. `raw` twice shows how much two equal sides differ
//! here.
//!
//! Not measured: a network (loopback hides little, so ratios are worse than anywhere else), and a
//! runtime with several threads, whose wake-ups would drown what is compared.

mod client;
mod clients;
mod same;
mod script;
mod subject;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tenure::store::Store;
use tenure::store::redis::{Fred, Redis, RedisConfig};
use tenure_bench::{Comparison, Operation, Outcome, Session, Side, one_thread};
use tenure_servers::RedisServer;
use tokio::runtime::Runtime;

use client::Client;
use clients::{fred::RawFred, redis_rs::RawRedis};
use subject::{Subject, Via};

/// Long enough to hide the reading of the clock, short enough to meet the same machine.
const TURN: u32 = 32;
const AT_MOST: f64 = 1.05;
const OPERATIONS: [Operation; 4] =
    [Operation::Acquire, Operation::AcquireAgain, Operation::Renew, Operation::Release];

fn main() -> ExitCode {
    Session::run(Duration::from_millis(300), Duration::from_secs(2), run)
}

fn run(session: &mut Session) -> Outcome<()> {
    let (server, runtime) = (RedisServer::start()?, one_thread()?);
    let config = RedisConfig::new("127.0.0.1", server.port()).trust_empty_store(true);

    let raw = || runtime.block_on(RawRedis::connect(server.port()));
    let store = Redis::new(config.clone().prefix("redis-rs")?);
    let subject = Subject::new("redis-rs", store, [raw()?, raw()?], &server)?;
    compare(session, &runtime, &server, subject)?;

    let raw = || runtime.block_on(RawFred::connect(server.port()));
    let store = Fred::new(config.prefix("fred")?);
    let subject = Subject::new("fred", store, [raw()?, raw()?], &server)?;
    compare(session, &runtime, &server, subject)
}

fn compare<S: Store, C: Client>(
    session: &mut Session,
    runtime: &Runtime,
    server: &RedisServer,
    mut subject: Subject<S, C>,
) -> Outcome<()> {
    let group = subject.name();
    for operation in OPERATIONS {
        runtime.block_on(same::check(server, &mut subject, operation))?;
        let comparison = Comparison::new(group, operation.name(), ["store", "raw"], TURN);
        session.compare(comparison.at_most(AT_MOST), |side, repetitions| {
            let via = match side {
                Side::Ours => Via::Store,
                Side::Bare => Via::Raw(0),
            };
            runtime.block_on(subject.measure(via, operation, repetitions))
        });
    }

    let control = Comparison::new(group, "control (renew)", ["raw", "raw, again"], TURN);
    session.compare(control, |side, repetitions| {
        let via = Via::Raw(usize::from(side == Side::Bare));
        runtime.block_on(subject.measure(via, Operation::Renew, repetitions))
    });

    session.criterion().benchmark_group(group).bench_function("ping", |bencher| {
        bencher.iter_custom(|repetitions| {
            runtime.block_on(async {
                let started = Instant::now();
                for _ in 0..repetitions {
                    subject.ping().await;
                }
                started.elapsed()
            })
        });
    });
    Ok(())
}
