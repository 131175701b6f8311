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

use crate::exit::Failure;
use crate::notify::Notices;
use crate::output;
use crate::place;
use crate::run::{Signals, asks_to_end, ended_by, reap_orphans};
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

pub(crate) async fn sidecar(options: &Sidecar) -> Result<u8, Failure> {
    let store = place::store(&options.at)?;
    let builder = Candidate::builder(store, &options.key).settings_from_env()?;
    let builder = match &options.name {
        Some(name) => builder.name(name),
        None => builder,
    };
    let config = *builder.chosen_config();
    let valid_for = valid_for(options.valid_for, &config)?;
    // Before it takes part: a second one of that port must not disturb the election.
    let listener = listen(options.listen).await?;
    let signals = Signals::new().map_err(Failure::system)?;
    let candidate = builder.start()?;
    let answers = Arc::new(Answers::new(candidate.clone(), config.ttl(), valid_for));
    tokio::select! {
        biased;
        status = take_part(&candidate, &answers, signals) => status,
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

/// Takes part until a signal asks this process to end. Another signal ends it at once.
async fn take_part(
    candidate: &Candidate,
    answers: &Answers,
    mut signals: Signals,
) -> Result<u8, Failure> {
    let notices = Notices::from_env();
    // It never ends by itself under a current tenure: only with the candidate.
    let mut work = pin!(candidate.run_while_leader(async |tenure| {
        answers.keep_promises(tenure).await;
    }));
    let asked = async {
        tokio::select! {
            biased;
            signal = end_signal(&mut signals) => Ok(signal),
            _ = &mut work => Err(Failure::system("the candidate has stopped")),
        }
    };
    let signal = notices.beside(candidate, asked).await?;
    let stopped = async {
        // The work is polled meanwhile: the lead is given back once it has ended.
        let (stopped, _) = tokio::join!(candidate.stop(), work);
        if let Err(error) = stopped {
            tracing::warn!("{error}");
        }
    };
    let leaving = async {
        tokio::select! {
            biased;
            _ = end_signal(&mut signals) => {}
            in_time = tokio::time::timeout(STOPS_WITHIN, stopped) => if in_time.is_err() {
                tracing::warn!("the lead was not given back within {STOPS_WITHIN:?}: it ends by itself");
            },
        }
    };
    notices.stopping(leaving).await;
    Ok(ended_by(signal))
}

async fn end_signal(signals: &mut Signals) -> SignalKind {
    loop {
        let signal = signals.next().await;
        if asks_to_end(signal) {
            return signal;
        }
    }
}

/// As the first process of a container, it has the orphans of those that are started in it later,
/// such as probes.
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
