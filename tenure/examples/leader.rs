//! One candidate as a program: it prints when it leads, works while it leads, and hands over when
//! it is stopped.
//!
//! ```text
//! cargo run --release -p tenure --features redis --example leader -- redis://127.0.0.1:6379 worker-7
//! ```
//!
//! Start it twice, and end one of them with Ctrl-C or with `kill -9`. Each line begins with a
//! reading of the machine's boot clock in seconds, so that the lines of several processes can be
//! compared. The first leader that a Redis server ever sees waits for one TTL before it leads.

#![allow(clippy::print_stdout, reason = "the program prints its events")]

use std::error::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clap::Parser;
use futures_util::StreamExt;
use tenure::runtime::{Runtime, TokioRuntime};
use tenure::store::redis::{Redis, RedisConfig};
use tenure::{Candidate, Config, Event, Tenure};

/// The usage error of `sysexits.h`.
const USAGE: u8 = 64;

/// Takes part in the election "example", and prints its events.
#[derive(Parser)]
struct Arguments {
    /// redis://[user[:password]@]host[:port][/database][?prefix=...]
    url: String,
    /// This candidate's name, for people.
    name: String,
    /// The lease's time to live, in milliseconds.
    #[arg(long, value_name = "N", default_value = "15000", value_parser = timing)]
    ttl_ms: Config,
    /// Write the library's log to the standard error stream.
    #[arg(long)]
    log: bool,
}

fn timing(millis: &str) -> Result<Config, String> {
    let millis = millis.parse().map_err(|error: std::num::ParseIntError| error.to_string())?;
    Config::builder(Duration::from_millis(millis)).build().map_err(|error| error.to_string())
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // If printing fails too, there is nothing left to do.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    if arguments.log {
        tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    }
    // Read here, because clap would show the whole URL in its error, and with it the password.
    let server = match RedisConfig::from_url(&arguments.url) {
        Ok(server) => server,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(USAGE);
        }
    };
    match run(Redis::new(server), &arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(store: Redis, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let shutdown = tenure::shutdown_signal()?;
    let builder = Candidate::builder(store, "example").name(&arguments.name);
    // The driver is run only after the subscription, so that not even the first event is missed.
    let (candidate, driver) = builder.config(arguments.ttl_ms).build()?;
    let mut events = candidate.events();
    tokio::spawn(driver.run());

    let steps = AtomicU64::new(0);
    // The work runs once in each tenure, and to its end when the program is stopped.
    let run = candidate.run_until(shutdown, |tenure| work(tenure, &steps));
    // Beside the work, which goes on while the store is asked for the incumbent's name. Events end
    // with the candidate.
    let prints = async {
        while let Some(event) = events.next().await {
            print_event(&candidate, &steps, event).await;
        }
    };
    let (stopped, ()) = tokio::join!(run, prints);
    line(format_args!("stopped after {} steps", steps.load(Ordering::Relaxed)));
    stopped?;
    Ok(())
}

/// The leader's work, one small step at a time.
async fn work(tenure: Tenure, steps: &AtomicU64) {
    let over = tenure.cancellation_token();
    while tenure.is_current() {
        // A real step would write somewhere, under `tenure.token()`.
        steps.fetch_add(1, Ordering::Relaxed);
        tokio::select! {
            () = over.cancelled() => {}
            () = tokio::time::sleep(Duration::from_millis(10)) => {}
        }
    }
}

async fn print_event(candidate: &Candidate, steps: &AtomicU64, event: Event) {
    match event {
        Event::Elected(tenure) => line(format_args!("elected token={}", tenure.token())),
        Event::SteppedDown { tenure, reason } => {
            let steps = steps.load(Ordering::Relaxed);
            line(format_args!("stepped-down token={} {reason:?} steps={steps}", tenure.token()));
        }
        Event::IncumbentChanged { token } => match candidate.incumbent().await {
            Ok(Some(leader)) => line(format_args!("incumbent token={token} name={}", leader.name)),
            Ok(None) | Err(_) => line(format_args!("incumbent token={token}")),
        },
        Event::Watching { remaining } => line(format_args!("watching for {remaining:?}")),
        Event::SettingsContradict { ttl, .. } => {
            line(format_args!("settings contradict: another candidate's TTL is {ttl:?}"));
        }
        Event::StoreUnavailable { error } => line(format_args!("store unavailable: {error}")),
        Event::StoreRecovered => line(format_args!("store recovered")),
        _ => {}
    }
}

fn line(what: std::fmt::Arguments<'_>) {
    let now = Duration::from_nanos(TokioRuntime.now().as_nanos());
    println!("{:.6} {what}", now.as_secs_f64());
}
