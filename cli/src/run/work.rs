//! One tenure: the command runs from its beginning to its end, at most.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use nix::sys::signal::Signal::SIGTSTP;
use tenure::runtime::{Runtime, TokioRuntime};
use tenure::{Event, StepDownReason, Tenure};
use tokio::signal::unix::SignalKind;

use super::Supervisor;
use super::link::FromGuard;
use super::terminal::Terminal;
use crate::guard::{CONT, Ending, Order, Report, TERM};

/// The end of the command. Nothing of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// By itself, or since a signal asked it to.
    Itself(Ending),
    /// It was ended, or not even started, since the lead was lost or would have been.
    Lost,
    /// It was ended, since another candidate was to lead.
    HandedOver,
    /// It could not be started, for that error of the operating system.
    Failed(i32),
}

/// Between two looks at how long the lease of a tenure that has ended is kept for its work.
const WHILE_DRAINING: Duration = Duration::from_millis(50);

/// The command's progress so far.
#[derive(Default)]
struct Progress {
    started: bool,
    ending: Option<Ending>,
    /// True if it was asked to end because of the lead.
    lost: bool,
    /// True if that was a handover.
    handed_over: bool,
}

impl Supervisor {
    /// Runs the command under that tenure. Ends when nothing of the command is left. If the future
    /// is dropped before, or yields nothing, the guard and what it has started must be destroyed.
    ///
    /// The library polls it while no other candidate can lead, and gives the lease back only after
    /// it.
    pub(super) async fn run_under(&mut self, tenure: &Tenure) -> Option<End> {
        let mut events = self.candidate.events();
        let mut progress = Progress::default();
        let (mut told, mut over, mut heard_all) = (None, false, false);
        loop {
            let until = self.limits.until(tenure.drain_until());
            if told != Some(until) {
                told = Some(until);
                if progress.started {
                    self.guard.order(Order::Until(until));
                } else if !over {
                    progress.started = true;
                    // First: from the order on, the command may have begun.
                    self.held = self.hold.map(|time| tenure.hold(time).boxed());
                    let foreground = self.terminal.give();
                    let token = tenure.token().get();
                    self.guard.order(Order::Start { token, until, foreground });
                }
            }
            let late_at = self.limits.guard_is_late_at(until);
            tokio::select! {
                biased;
                message = self.guard.next() => match message {
                    FromGuard::Report(report) => {
                        if let Some(end) = self.note(report, &mut progress, over) {
                            return Some(end);
                        }
                    }
                    FromGuard::Died => {
                        tracing::warn!("the guard has died, so the command is ended");
                        return None;
                    }
                },
                () = self.terminal.next_stop() => if progress.started {
                    // Once the command is stopped by it, so is this process.
                    self.guard.order(Order::Signal(SIGTSTP as i32));
                } else {
                    Terminal::stop();
                },
                signal = self.signals.next() => {
                    // Any other signal than SIGTERM is the command's, if it runs: by its end, this
                    // process ends too. It may live on, as after SIGHUP.
                    let is_for_this =
                        signal == SignalKind::terminate() || self.guard.group().is_none();
                    if is_for_this && self.signals.asks_to_end(signal) {
                        self.asked_to_end = Some(signal);
                        if !progress.started {
                            return Some(End::Lost);
                        }
                    }
                    self.has_passed_on_int |= signal == SignalKind::interrupt();
                    if let (CONT, Some(group)) = (signal.as_raw_value(), self.guard.group()) {
                        self.terminal.continue_with_the_command(group);
                    }
                    self.guard.order(match signal.as_raw_value() {
                        TERM => Order::Stop { grace: self.stop_grace },
                        other => Order::Signal(other),
                    });
                }
                () = tenure.ended(), if !over => {
                    over = true;
                    if !progress.started {
                        return Some(End::Lost);
                    }
                    // A command that has ended by itself is done.
                    progress.lost |= progress.ending.is_none();
                    self.guard.order(Order::Stop { grace: self.stop_grace });
                }
                event = events.next(), if !heard_all => match event {
                    Some(Event::SteppedDown { tenure: ended, reason: StepDownReason::HandedOver })
                        if ended.token() == tenure.token() =>
                    {
                        progress.handed_over = true;
                    }
                    // A renewal, perhaps.
                    Some(_) => {}
                    None => heard_all = true,
                },
                () = tokio::time::sleep(WHILE_DRAINING), if over => {}
                () = TokioRuntime.sleep_until(late_at), if progress.started => {
                    tracing::warn!("the guard is late, so it is killed with the command");
                    return None;
                }
            }
        }
    }

    fn note(&mut self, report: Report, progress: &mut Progress, over: bool) -> Option<End> {
        match report {
            Report::Late if over || self.asked_to_end.is_some() => return Some(End::Lost),
            // The next renewal starts it.
            Report::Late => progress.started = false,
            Report::Failed(error) => return Some(End::Failed(error)),
            Report::Started(group) => self.terminal.has_started(group),
            Report::Ending => progress.lost = true,
            // Once this process is continued, the signal for that continues the command.
            Report::Stopped(signal) => {
                let group = self.guard.group();
                let is_lent = group.is_some_and(|group| self.terminal.lends(group, signal));
                if is_lent || !self.terminal.stop_with_the_command(signal) {
                    self.guard.order(Order::Signal(CONT));
                }
            }
            Report::Exited(ending) => progress.ending = Some(ending),
            Report::Gone => {
                return Some(match progress.ending {
                    Some(ending) if !progress.lost => End::Itself(ending),
                    Some(_) | None if progress.handed_over => End::HandedOver,
                    Some(_) | None => End::Lost,
                });
            }
        }
        None
    }
}
