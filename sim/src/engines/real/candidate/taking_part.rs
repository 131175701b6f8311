//! A candidate that takes part in the election: its events, its work, and the engine's orders.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::StreamExt;
use tenure::runtime::Runtime;
use tenure::store::{CertificateExpired, StoreError, StoreErrorKind};
use tenure::{Candidate, CandidateBuilder, Config, Elections, StartError};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::process::Process;
use super::work::{Job, job};
use crate::engines::calls::of_driver::traced;
use crate::engines::node::key;
use crate::engines::real::protocol::{Brief, Order};
use crate::plan::{FaultKind, nanos};
use crate::trace::{Event, Reason};

/// Takes part until the process ends.
pub(super) async fn attend(
    process: Arc<Process>,
    runtime: Arc<dyn Runtime>,
    elections: Elections,
    brief: Brief,
    mut ordered: mpsc::UnboundedReceiver<Order>,
) -> Result<(), Box<dyn std::error::Error>> {
    let config = brief.config()?;
    let builder = || builder(&elections, &brief, config);
    let job = job(&process, runtime, &brief, config);
    let mut taking_part = Some(TakingPart::begin(&process, builder(), &job)?);
    while let Some(order) = ordered.recv().await {
        match order {
            Order::Resign => {
                if let Some(part) = &taking_part {
                    part.resigns(&process, config);
                }
            }
            Order::HandOver { to } => {
                if let Some(part) = &taking_part {
                    part.hands_over(to);
                }
            }
            Order::Leave => {
                if let Some(part) = taking_part.take() {
                    part.leaves(&process).await;
                }
            }
            Order::Rejoin => {
                if taking_part.is_none() {
                    process.record(Event::Started { who: process.who });
                    taking_part = Some(TakingPart::begin(&process, builder(), &job)?);
                }
            }
            Order::StepClock { by_ms } => {
                let now = process.now();
                let before = process.clock.read(now);
                process.clock.step(now, by_ms);
                if process.clock.read(now) != before {
                    let is_back = by_ms < 0;
                    process.took(if is_back { FaultKind::ClockBack } else { FaultKind::ClockStep });
                }
                process.clock_stepped.notify_waiters();
            }
            Order::Pass { ticket } => process.passes(ticket),
        }
    }
    Ok(())
}

fn builder(elections: &Elections, brief: &Brief, config: Config) -> CandidateBuilder {
    elections
        .candidate(key(0))
        .name(name(brief.who.node))
        .config(config)
        .hold_off(config.renew_interval())
}

/// The name of a node's candidates; beyond the last node, one that nobody has.
fn name(node: usize) -> String {
    format!("node-{node}")
}

struct TakingPart {
    candidate: Candidate,
    reports: JoinHandle<()>,
}

impl TakingPart {
    fn begin(
        process: &Arc<Process>,
        builder: CandidateBuilder,
        job: &Arc<Job>,
    ) -> Result<Self, StartError> {
        process.is_leaving.store(false, Ordering::Relaxed);
        process.record(Event::CampaignAsked { who: process.who });
        let candidate = builder.start()?;
        let reports = tokio::spawn(report(Arc::clone(process), candidate.events()));
        let refused = Arc::clone(process);
        candidate.on_store_error(move |error| match error.kind() {
            StoreErrorKind::Pooler => refused.took(FaultKind::Pooler),
            StoreErrorKind::Authentication => refused.took(FaultKind::RotatePassword),
            StoreErrorKind::Permission => refused.took(FaultKind::RevokeRights),
            StoreErrorKind::Tls if has_expired(error) => refused.took(FaultKind::ExpireCertificate),
            StoreErrorKind::Full => refused.took(FaultKind::FillDisk),
            _ => {}
        });
        process.has(Some(candidate.clone()));
        let (job, works) = (Arc::clone(job), candidate.clone());
        tokio::spawn(async move {
            // Ends with the candidate.
            let work = works.run_while_leader(|tenure| Arc::clone(&job).guarded(tenure));
            let _ = Box::pin(work).await;
        });
        Ok(Self { candidate, reports })
    }

    fn resigns(&self, process: &Arc<Process>, config: Config) {
        let (process, candidate) = (Arc::clone(process), self.candidate.clone());
        let hold_off = Some(nanos(config.renew_interval()));
        tokio::spawn(async move {
            let done = process.resigns(hold_off, candidate.resign()).await.is_ok();
            process.record(Event::Withdrawn { who: process.who, done });
        });
    }

    /// Tries a handover: the one that is meant may be down, or away.
    fn hands_over(&self, to: usize) {
        let candidate = self.candidate.clone();
        tokio::spawn(async move { candidate.hand_over(Some(&name(to))).await });
    }

    /// Leaves the election for good, and waits until the driver has removed the candidate.
    async fn leaves(self, process: &Process) {
        let Self { candidate, reports } = self;
        process.is_leaving.store(true, Ordering::Relaxed);
        process.took(FaultKind::Leave);
        let done = process.resigns(None, candidate.stop()).await.is_ok();
        process.record(Event::Withdrawn { who: process.who, done });
        process.has(None);
        drop(candidate);
        // A panic of the reporter has been printed.
        let _ = reports.await;
    }
}

/// True if the candidate has refused the server because its certificate has expired.
fn has_expired(error: &StoreError) -> bool {
    error.source().is_some_and(<dyn Error>::is::<CertificateExpired>)
}

/// Records the candidate's events.
async fn report(
    process: Arc<Process>,
    mut events: impl futures_util::Stream<Item = tenure::Event> + Unpin,
) {
    let who = process.who;
    while let Some(event) = events.next().await {
        if let tenure::Event::Lagged(lost) = event {
            // A trace with gaps can't be judged.
            eprintln!("candidate {who:?}: {lost} events were lost");
            std::process::exit(1);
        }
        let Some(event) = traced(who, &event, |shows| process.clock.when(shows)) else { continue };
        let resigns = matches!(event, Event::SteppedDown { reason: Reason::Resigned, .. });
        if resigns && !process.is_leaving.load(Ordering::Relaxed) {
            process.took(FaultKind::Resign);
        }
        if let Event::SteppedDown { reason: Reason::HandedOver, .. } = event {
            process.took(FaultKind::HandOver);
        }
        process.record(event);
    }
}
