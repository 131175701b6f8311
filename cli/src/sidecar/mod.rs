//! `tenure sidecar`: takes part in an election, and says over HTTP whether it leads.
//!
//! For programs in any language beside it, such as another container of a pod. An answer is older
//! when it is read than when it was computed, so it says for how long a reader may rely on it:
//! [`answers`] has the guarantee.

mod answers;
mod http;
mod options;

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use nix::unistd::getpid;
use tenure::{Candidate, Config};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::{Ended, Failure};
use crate::notify::Notices;
use crate::output;
use crate::place;
use crate::run::{Signals, ended_by, reap_orphans};
use answers::Answers;
pub(crate) use options::Sidecar;

/// A container is killed 10 s after SIGTERM. A lead that is not given back by then ends by itself.
const STOPS_WITHIN: Duration = Duration::from_secs(9);
/// Answers are asked for each second or so, and a handover waits for that time.
const VALID_FOR: Duration = Duration::from_secs(2);
/// A request on the same host takes some of it.
const VALID_FOR_LEAST: Duration = Duration::from_millis(10);
/// It leaves half of [`STOPS_WITHIN`] to give the lead back.
const VALID_FOR_MOST: Duration = Duration::from_millis(4_500);

pub(crate) async fn sidecar(options: &Sidecar) -> Result<Ended, Failure> {
    let store = place::store(&options.at)?;
    let builder = Candidate::builder(store, &options.key).settings_from_env()?;
    let builder = match &options.name {
        Some(name) => builder.name(name),
        None => builder,
    };
    let config = *builder.chosen_config();
    let valid_for = valid_for(options.valid_for, &config)?;
    let reader_within = reader_within(options.reader_within, valid_for)?;
    // Before it takes part: a second one of that port must not disturb the election.
    let listener = listen(options.listen).await?;
    let signals = Signals::new().map_err(Failure::system)?;
    let candidate = builder.start()?;
    let answers = Arc::new(Answers::new(candidate.clone(), config.ttl(), valid_for));
    tokio::select! {
        biased;
        status = take_part(&candidate, &answers, signals, reader_within) => status,
        never = http::serve(listener, Arc::clone(&answers)) => match never {},
        failure = reap() => Err(failure),
    }
}

/// For how long an answer may be relied on. Beyond the time that the library gives to work after a
/// tenure, a handover would break the promise.
fn valid_for(chosen: Option<Duration>, config: &Config) -> Result<Duration, Failure> {
    let most = config.drain_bound().min(VALID_FOR_MOST);
    let time = chosen.unwrap_or(VALID_FOR.min(most));
    if time > most {
        let bound = if most == VALID_FOR_MOST { "the most" } else { "the drain bound" };
        return Err(Failure::usage(format!(
            "--valid-for is {time:?}, and {bound} is {most:?}: set --valid-for to {}ms",
            most.as_millis()
        )));
    }
    if time < VALID_FOR_LEAST {
        return Err(Failure::usage(format!(
            "an answer would be valid for {time:?}, and the least is {VALID_FOR_LEAST:?}: set --valid-for, and \
             TENURE_DRAIN_BOUND if that is set, to 2s"
        )));
    }
    Ok(time)
}

/// A lead is given back at once when no reader has asked for that time, so answers are not valid for
/// longer.
fn reader_within(
    chosen: Option<Duration>,
    valid_for: Duration,
) -> Result<Option<Duration>, Failure> {
    if let Some(time) = chosen.filter(|time| *time <= valid_for) {
        return Err(Failure::usage(format!(
            "--reader-within is {time:?}, and an answer is valid for {valid_for:?}, which must be shorter: set \
             --reader-within to 10s"
        )));
    }
    Ok(chosen)
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    let failed = |error: io::Error| {
        Failure::system(format!(
            "--listen {address} can't be used: {error}: name another address, such as 127.0.0.1:8407"
        ))
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    output::say(&format!("listens on http://{address}/"));
    if !address.ip().is_loopback() {
        tracing::warn!(
            "other hosts may reach {address}, where anybody can read who leads: limit that by the network's rules, or \
             name an address of this host alone, such as 127.0.0.1:8406"
        );
    }
    Ok(listener)
}

/// Takes part until a signal asks this process to end. A person's second signal ends it at once.
async fn take_part(
    candidate: &Candidate,
    answers: &Answers,
    mut signals: Signals,
    reader_within: Option<Duration>,
) -> Result<Ended, Failure> {
    let notices = Notices::from_env();
    let mut work = pin!(while_asked(candidate, answers, reader_within));
    let asked = async {
        tokio::select! {
            biased;
            signal = end_signal(&mut signals) => Ok(signal),
            () = &mut work => Err(Failure::system("the candidate has stopped")),
        }
    };
    let signal = notices.beside(candidate, asked).await?;
    let stopped = async {
        // The work is polled meanwhile: the lead is given back once it has ended.
        let idle = async {
            work.await;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            stopped = candidate.stop() => if let Err(error) = stopped {
                tracing::warn!("{error}");
            },
            () = idle => {}
        }
    };
    let leaving = async {
        tokio::select! {
            biased;
            () = signals.insist() => {}
            in_time = tokio::time::timeout(STOPS_WITHIN, stopped) => if in_time.is_err() {
                tracing::warn!("the lead was not given back within {STOPS_WITHIN:?}: it ends by itself");
            },
        }
    };
    notices.stopping(leaving).await;
    Ok(ended_by(signal))
}

/// Keeps what was answered under each tenure. Without readers, the lead is given back, and the
/// candidate stays out of the election, since it has no work. Ends only with the candidate.
async fn while_asked(candidate: &Candidate, answers: &Answers, within: Option<Duration>) {
    loop {
        let silence = async {
            match within {
                Some(time) => answers.silence(time).await,
                None => std::future::pending().await,
            }
        };
        let work = candidate.run_while_leader(async |tenure| {
            answers.keep_promises(tenure).await;
        });
        tokio::select! {
            biased;
            // It does not end by itself under a current tenure.
            _ = work => return,
            () = silence => {}
        }
        output::say("no reader has asked within --reader-within: takes part again once one asks");
        answers.give_up().await;
    }
}

async fn end_signal(signals: &mut Signals) -> SignalKind {
    loop {
        let signal = signals.next().await;
        if signals.asks_to_end(signal) {
            return signal;
        }
    }
}

/// Reaps orphans: the first process of a container has those of processes that are started in it
/// later, such as probes.
async fn reap() -> Failure {
    if getpid().as_raw() != 1 {
        return std::future::pending().await;
    }
    let mut children = match signal(SignalKind::child()) {
        Ok(children) => children,
        Err(error) => return Failure::system(error),
    };
    loop {
        reap_orphans(None);
        children.recv().await;
    }
}
