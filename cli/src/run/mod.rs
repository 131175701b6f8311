//! `tenure run`: the supervisor.
//!
//! It takes part in the election, tells its guard the deadlines with each renewal, and gives the
//! lease back only when nothing of the command is left. Killing in time does not rest on it: see
//! [`guard`](crate::guard).

mod limits;
mod link;
mod options;
mod signals;
mod terminal;
mod work;

use std::time::Duration;

use futures_util::future::BoxFuture;
use nix::sys::prctl::set_child_subreaper;
use tenure::store::{Incumbent, Store};
use tenure::{Candidate, FirstAttempt, Role, StoreHealth, Tenure};
use tokio::signal::unix::SignalKind;

use crate::exit::{Ended, Failure, LOST, NOT_LEADING, SIGNALLED, with_causes};
use crate::guard::{Ending, INT};
use crate::interrupt::Whom;
use crate::notify::Notices;
use crate::output;
use crate::place;
use limits::Limits;
pub(crate) use link::reap_orphans;
use link::{FromGuard, Guard, Guarded};
pub(crate) use options::Run;
pub(crate) use signals::Signals;
use terminal::Terminal;
use work::End;

pub(crate) async fn run(options: &Run) -> Result<Ended, Failure> {
    let store = place::store(&options.at)?;
    let traits = store.traits();
    let builder = Candidate::builder(store, &options.key).settings_from_env()?;
    let builder = match &options.name {
        Some(name) => builder.name(name),
        None => builder,
    };
    let chosen = *builder.chosen_config();
    // What the store makes of it. Settings that it refuses are reported at the start of the
    // candidate.
    let config = traits.config(chosen).unwrap_or(chosen);
    let set_by = bound_set_by();
    let stop_grace = limits::stop_grace(&config, options.stop_grace, set_by)?;
    let limits = Limits::new(&config, stop_grace)?;
    let builder = match set_by {
        Some(_) => builder,
        None => builder.config(limits.with_time_for(stop_grace, &chosen)?),
    };
    let terminal = Terminal::new().map_err(Failure::system)?;
    // What guard and reaper leave if they die becomes a child of this process, so that it can be
    // found.
    set_child_subreaper(true).map_err(Failure::system)?;
    let signals = Signals::new().map_err(Failure::system)?;
    let candidate = builder.start()?;
    let guarded = Guarded {
        key: options.key.clone(),
        name: candidate.name().to_owned(),
        store: place::for_commands(&options.at)?,
        command: options.command.clone(),
    };
    let guard = Guard::spawn(&guarded).map_err(|error| no_guard(&error))?;
    let supervisor = Supervisor {
        candidate,
        guarded,
        guard,
        signals,
        terminal,
        limits,
        stop_grace,
        hold: options.hold,
        held: None,
        once: options.once,
        not_leading: options.conflict_exit_code,
        had_terminal: false,
        has_passed_on_int: false,
        asked_to_end: None,
    };
    supervisor.run(Patience::of(options)).await
}

/// Checks that commands can be run under these settings.
pub(crate) fn suits(config: &tenure::Config) -> Result<(), Failure> {
    Limits::new(config, Duration::ZERO).map(drop)
}

/// The variable that sets how long a handover waits for the command.
fn bound_set_by() -> Option<&'static str> {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    ["TENURE_DRAIN_BOUND", "TENURE_LONGEST_STOP"].into_iter().find(is_set)
}

/// The end after a signal that asked this process to end.
pub(crate) fn ended_by(signal: SignalKind) -> Ended {
    if signal == SignalKind::interrupt() {
        return Ended::Interrupted(Whom::This);
    }
    Ended::With(SIGNALLED + u8::try_from(signal.as_raw_value()).unwrap_or_default())
}

fn no_guard(error: &std::io::Error) -> Failure {
    Failure::system(format!("the guard of the command can't be started: {error}"))
}

const GUARD_ENDS_WITHIN: Duration = Duration::from_secs(1);
/// Between two looks at who leads.
const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
/// The most guards that may die while there is nothing to guard.
const DEATHS_MOST: u32 = 100;

/// The longest wait for the first lead.
#[derive(Clone, Copy)]
enum Patience {
    Endless,
    Until(Duration),
    OneAttempt,
}

impl Patience {
    fn of(options: &Run) -> Self {
        match options.wait {
            _ if options.only_try => Self::OneAttempt,
            Some(Duration::ZERO) => Self::OneAttempt,
            Some(time) => Self::Until(time),
            None => Self::Endless,
        }
    }
}

struct Supervisor {
    candidate: Candidate,
    guarded: Guarded,
    guard: Guard,
    signals: Signals,
    terminal: Terminal,
    limits: Limits,
    stop_grace: Duration,
    /// The time after its start for which a command keeps the lead.
    hold: Option<Duration>,
    /// The hold of the last command that was started. Ends with its tenure, too.
    held: Option<BoxFuture<'static, ()>>,
    once: bool,
    /// The status if another candidate leads.
    not_leading: u8,
    /// True if the last command had the terminal at its end.
    had_terminal: bool,
    /// True if the last command was sent SIGINT by this process.
    has_passed_on_int: bool,
    /// The last signal that has asked this process to end.
    asked_to_end: Option<SignalKind>,
}

/// The outcome of waiting for the lead.
enum Waited {
    Leading(Tenure),
    Signal(SignalKind),
    NotLeading(Failure),
}

impl Supervisor {
    async fn run(mut self, patience: Patience) -> Result<Ended, Failure> {
        let (notices, candidate) = (Notices::from_env(), self.candidate.clone());
        let status = notices.beside(&candidate, self.serve(patience)).await;
        notices.stopping(self.leave()).await;
        status
    }

    /// Runs the command under one tenure after the other, until there is a reason to end.
    async fn serve(&mut self, mut patience: Patience) -> Result<Ended, Failure> {
        loop {
            let tenure = match self.wait_for_lead(patience).await? {
                Waited::Leading(tenure) => tenure,
                Waited::Signal(signal) => return Ok(ended_by(signal)),
                Waited::NotLeading(mut failure) => {
                    // Where nobody may lead yet, the command has run nowhere.
                    let another_leads =
                        matches!(self.candidate.health().role, Role::Following { .. });
                    if failure.status == NOT_LEADING && another_leads {
                        failure.status = self.not_leading;
                    }
                    return Err(failure);
                }
            };
            patience = Patience::Endless;
            let end = self.lead(tenure).await?;
            match end {
                End::Itself(Ending::Signal(INT)) => {
                    // Ctrl-C at a command that has the terminal does not reach this process.
                    let by_terminal = self.had_terminal && !self.has_passed_on_int;
                    let whom = if by_terminal { Whom::Group } else { Whom::This };
                    return Ok(Ended::Interrupted(whom));
                }
                End::Itself(ending) => return Ok(self.keep_lead(ending.exit_code()).await),
                End::Lost | End::HandedOver if self.once => return Ok(Ended::With(LOST)),
                End::Lost | End::HandedOver => {
                    if let Some(signal) = self.asked_to_end {
                        return Ok(ended_by(signal));
                    }
                    if end == End::HandedOver {
                        tracing::info!(
                            "the command was ended, since the lead was handed over; it starts again with the next lead"
                        );
                    } else {
                        tracing::warn!(
                            "the command was ended, since the lead was lost; it starts again with the next lead"
                        );
                    }
                    // A lead that was only about to be lost is given back. If it can't be, it ends
                    // by itself.
                    if self.candidate.is_leader() {
                        let _ = self.candidate.resign().await;
                    }
                }
                End::Failed(error) => {
                    let error = std::io::Error::from_raw_os_error(error);
                    return Err(Failure::system(format!("no process for the command: {error}")));
                }
            }
        }
    }

    /// Keeps the lead for the rest of the hold, unless a signal has ended the command or asks this
    /// process to end. The lease is not given back then.
    async fn keep_lead(&mut self, status: u8) -> Ended {
        let held = self.held.take().filter(|_| self.asked_to_end.is_none());
        let Some(mut held) = held.filter(|_| !signals::have_ended(status)) else {
            return Ended::With(status);
        };
        tracing::info!("the command has ended; the lead is kept until the hold is over");
        loop {
            tokio::select! {
                biased;
                signal = self.signals.next() => {
                    if signal == SignalKind::interrupt() {
                        return ended_by(signal);
                    }
                    if self.signals.asks_to_end(signal) {
                        return Ended::With(status);
                    }
                }
                () = &mut held => return Ended::With(status),
            }
        }
    }

    async fn wait_for_lead(&mut self, patience: Patience) -> Result<Waited, Failure> {
        let candidate = self.candidate.clone();
        let mut leading = std::pin::pin!(first_lead(&candidate, patience));
        let mut deaths = 0;
        loop {
            tokio::select! {
                biased;
                signal = self.signals.next() => if self.signals.asks_to_end(signal) {
                    return Ok(Waited::Signal(signal));
                },
                () = self.terminal.next_stop() => Terminal::stop(),
                // Only its end is expected: it has nothing to guard.
                message = self.guard.next() => if message == FromGuard::Died {
                    deaths += 1;
                    if deaths > DEATHS_MOST {
                        return Err(Failure::system("guards end as soon as they have begun"));
                    }
                    self.replace_guard().await?;
                },
                waited = &mut leading => return Ok(waited),
            }
        }
    }

    /// Runs the command under the tenure; nothing of it is left afterwards.
    async fn lead(&mut self, tenure: Tenure) -> Result<End, Failure> {
        let (candidate, mut end) = (self.candidate.clone(), Ok(None));
        // Its own answer is only whether the tenure was current at the end. A command that has
        // ended by itself is done. The work has no result, since the log would tell of one that
        // comes after the tenure, as at each handover.
        candidate
            .run_if_leader(async |tenure| {
                end = match self.run_under(&tenure).await {
                    Some(end) => Ok(Some(end)),
                    // Within the tenure's work, so that the lease is not given back before.
                    None => self.replace_guard().await.map(|()| Some(End::Lost)),
                };
            })
            .await;
        drop(tenure);
        let end = match end {
            // The library has dropped the work: another candidate may lead.
            Ok(None) => self.replace_guard().await.map(|()| End::Lost),
            other => other.map(|end| end.unwrap_or(End::Lost)),
        };
        self.had_terminal = self.terminal.take_back();
        end
    }

    /// Kills the guard and what it has started, and starts another guard.
    async fn replace_guard(&mut self) -> Result<(), Failure> {
        self.guard.destroy().await;
        self.guard = Guard::spawn(&self.guarded).map_err(|error| no_guard(&error))?;
        Ok(())
    }

    /// Gives back what is held. A person's second signal ends that: then the lease ends by itself.
    async fn leave(&mut self) {
        // Nothing of a command is left here; if something were, it would end before the lease does.
        // The guard is reaped, since in a container no other process may do it.
        let _ = tokio::time::timeout(GUARD_ENDS_WITHIN, self.guard.destroy()).await;
        tokio::select! {
            biased;
            () = self.signals.insist() => {}
            stopped = self.candidate.stop() => if let Err(error) = stopped {
                tracing::warn!("{error}");
            },
        }
    }
}

/// The lead, or why it is not waited for any longer.
async fn first_lead(candidate: &Candidate, patience: Patience) -> Waited {
    let gone = || Waited::NotLeading(Failure::system("the candidate has stopped"));
    let leading = async {
        match candidate.elected().await {
            Ok(tenure) => Waited::Leading(tenure),
            Err(_) => gone(),
        }
    };
    match patience {
        Patience::Endless => leading.await,
        Patience::Until(time) => match tokio::time::timeout(time, leading).await {
            Ok(waited) => waited,
            Err(_) => Waited::NotLeading(why_not(candidate, time)),
        },
        Patience::OneAttempt => match candidate.first_attempt().await {
            Ok(FirstAttempt::Leading(tenure)) => Waited::Leading(tenure),
            // Nobody renews this lease, and it was not given back.
            Ok(FirstAttempt::Following(last)) if last.renewed_ago > last.ttl => tokio::select! {
                biased;
                waited = leading => waited,
                another = another_leads(candidate, &last) => another,
            },
            Ok(FirstAttempt::Following(leader)) => Waited::NotLeading(leads(&leader)),
            Ok(FirstAttempt::Watching { remaining }) => {
                Waited::NotLeading(Failure::not_leading(format!(
                    "the store is new or was restarted, and grants nothing for {remaining:.1?}: use --wait"
                )))
            }
            Ok(FirstAttempt::Unreachable(error)) => {
                Waited::NotLeading(Failure::store(with_causes(&error)))
            }
            Ok(other) => Waited::NotLeading(Failure::not_leading(format!("{other:?}"))),
            Err(_) => gone(),
        },
    }
}

/// Ends once another candidate leads than the last one, or that one seems to lead on.
async fn another_leads(candidate: &Candidate, last: &Incumbent) -> Waited {
    let until = tokio::time::Instant::now() + last.ttl * 3;
    loop {
        let role = candidate.health().role;
        let leader = match &role {
            Role::Following { incumbent, .. } if incumbent.token != last.token => incumbent,
            _ if tokio::time::Instant::now() > until => last,
            _ => {
                tokio::time::sleep(BETWEEN_LOOKS).await;
                continue;
            }
        };
        return Waited::NotLeading(leads(leader));
    }
}

fn leads(leader: &Incumbent) -> Failure {
    Failure::not_leading(format!("{} leads", output::on_one_line(&leader.name)))
}

fn why_not(candidate: &Candidate, waited: Duration) -> Failure {
    match candidate.health().store {
        StoreHealth::Unavailable { cause, .. } => {
            Failure::store(format!("the store can't be used: {cause}"))
        }
        StoreHealth::NotAnswered => {
            Failure::store(format!("the store has not answered within {waited:?}"))
        }
        _ => Failure::not_leading(format!("this host was not granted the lead within {waited:?}")),
    }
}
