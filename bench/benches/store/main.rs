//! What a store's call costs beside the same script, called bare by the same client.
//!
//! Both sides send the same bytes over connections that were made the same way, in turns, to a
//! `redis-server` of this benchmark's own; before anything is timed, the server's slow log is asked
//! whether the commands really are the same. `raw` twice shows what two equal things differ by here.
//!
//! Not measured: a network (loopback hides little, so ratios are worse than anywhere else), and a
//! runtime with several threads, whose wake-ups would drown what is compared.

mod client;
mod clients;
mod operation;
mod same;
mod subject;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use criterion::Criterion;
use tenure::store::Store;
use tenure::store::redis::{Fred, Redis, RedisConfig};
use tenure_bench::{Comparison, Report, Side};
use tenure_servers::RedisServer;
use tokio::runtime::{Builder, Runtime};

use client::Client;
use clients::{fred::RawFred, redis_rs::RawRedis};
use operation::Operation;
use subject::{Subject, Via};

/// Long enough to hide the reading of the clock, short enough to meet the same machine.
const TURN: u32 = 32;
const AT_MOST: f64 = 1.05;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    let server = RedisServer::start()?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let config = RedisConfig::new("127.0.0.1", server.port()).trust_empty_store(true);
    let mut report = Report::new();

    let raw = || runtime.block_on(RawRedis::connect(server.port()));
    let store = Redis::new(config.clone().prefix("redis-rs")?);
    let subject = Subject::new("redis-rs", store, [raw()?, raw()?], &server)?;
    compare(&mut criterion, &mut report, &runtime, &server, subject)?;

    let raw = || runtime.block_on(RawFred::connect(server.port()));
    let store = Fred::new(config.prefix("fred")?);
    let subject = Subject::new("fred", store, [raw()?, raw()?], &server)?;
    compare(&mut criterion, &mut report, &runtime, &server, subject)?;

    criterion.final_summary();
    report.print()?;
    Ok(())
}

fn compare<S: Store, C: Client>(
    criterion: &mut Criterion,
    report: &mut Report,
    runtime: &Runtime,
    server: &RedisServer,
    mut subject: Subject<S, C>,
) -> Result<(), Box<dyn Error>> {
    let group = subject.name();
    for operation in Operation::ALL {
        runtime.block_on(same::check(server, &mut subject, operation))?;
        let comparison = Comparison::new(group, operation.name(), ["store", "raw"], TURN);
        let mut comparison = comparison.at_most(AT_MOST);
        comparison.run(criterion, |side, repetitions| {
            let via = match side {
                Side::Ours => Via::Store,
                Side::Bare => Via::Raw(0),
            };
            runtime.block_on(subject.measure(via, operation, repetitions))
        });
        report.add(comparison);
    }

    let mut control = Comparison::new(group, "control (renew)", ["raw", "raw, again"], TURN);
    control.run(criterion, |side, repetitions| {
        let via = Via::Raw(usize::from(side == Side::Bare));
        runtime.block_on(subject.measure(via, Operation::Renew, repetitions))
    });
    report.add(control);

    criterion.benchmark_group(group).bench_function("ping", |bencher| {
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
