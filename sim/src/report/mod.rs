//! The result of runs as one HTML file.
//!
//! [`run_page`] draws a run: leads, claims and work, the leases at the store, messages, faults,
//! clocks, and violations. [`campaign_page`] shows the sums of many runs, and the run that failed.
//! A page loads nothing from the network, and its policy forbids it to: it can be stored as a build
//! artifact, or sent by mail. [`run_picture`] draws who leads, the leases and the faults of a run
//! as one SVG file, for documents.
//!
//! ```
//! use tenure_sim::engines::Engine;
//! use tenure_sim::judge::Judging;
//! use tenure_sim::plan::{FaultKind, Scope, swarm};
//! use tenure_sim::report::{RunPage, run_page};
//!
//! let plan = swarm(7, &FaultKind::ALL, Scope::Model);
//! let outcome = Engine::Model.run(&plan, Judging::default())?;
//! let html = run_page(&RunPage::of("model", &plan, &outcome));
//! assert!(html.starts_with("<!doctype html>"));
//! # Ok::<(), tenure_sim::engines::EngineError>(())
//! ```
//!
//! Not guaranteed: that a page shows everything. It holds [`ITEMS_MOST`] items; of a longer run it
//! omits the most common ones, and states how many. The sender of a request is inferred if the
//! trace does not contain it, and may be wrong if two nodes sent the same request at the same time.

mod again;
mod causes;
mod clocks;
mod collect;
mod item;
mod leases;
mod messages;
mod page;
mod picture;
mod run;
mod senders;
mod table;
#[cfg(test)]
mod tests;
pub mod text;
mod thinned;
mod tokens;

use serde::Serialize;

use crate::judge::Outcome;
use crate::judge::properties::{PropertyName, Violation};
use crate::plan::{Plan, SimTime};
use crate::search::campaign::{Failure, Summary, Verdict};
use crate::trace::{Digest, Entry};
pub use again::{Again, PlanFrom, quoted};
pub use picture::run_picture;
pub use table::Table;

/// The most spans, marks and messages that a page shows of one run. It shows more only if the run
/// has more items that are never omitted: faults, leases, claims, leads, crashes, violations and
/// items near them.
pub const ITEMS_MOST: usize = 10_000;

/// The contents of the page of one run.
#[derive(Clone, Debug)]
pub struct RunPage<'a> {
    /// The name of the engine.
    pub engine: &'a str,
    /// The plan.
    pub plan: &'a Plan,
    /// The seed that it was found by: a plan that was made smaller may have another one.
    pub seed: u64,
    /// The events.
    pub entries: &'a [Entry],
    /// The end of the run.
    pub end: SimTime,
    /// The violations; the page opens at the first one.
    pub violations: &'a [Violation],
    /// The properties that judged it.
    pub judged: Vec<PropertyName>,
    /// The hash of the trace, if there is one.
    pub hash: Option<Digest>,
    /// The failure of a run without a trace: it could not be carried out, or had two traces.
    pub failure: Option<String>,
    /// The command that repeats the run. It reads `plan.json`, which the page offers to save,
    /// unless the plan is drawn from a seed alone.
    pub again: String,
    /// The verdict.
    pub verdict: Verdict,
    /// True if the violations are those that the run should have, as in a control. The page then
    /// says so instead of the verdict.
    pub as_expected: bool,
}

impl<'a> RunPage<'a> {
    /// The page of a run that completed.
    pub fn of(engine: &'a str, plan: &'a Plan, outcome: &'a Outcome) -> Self {
        let violations = outcome.judge.violations();
        let judged = outcome.judge.judged().map(|(name, _)| name).collect();
        Self {
            entries: outcome.trace.entries(),
            end: SimTime::START + outcome.simulated,
            violations,
            hash: Some(outcome.trace.hash()),
            verdict: if violations.is_empty() { Verdict::Held } else { Verdict::Violated },
            ..Self::empty(engine, plan, judged)
        }
    }

    /// The page of a run without a trace: it could not be carried out, or had two traces.
    pub fn failed(engine: &'a str, plan: &'a Plan, failure: &Failure) -> Self {
        let reason = match failure {
            Failure::Violated { property, what, .. } => format!("{property}: {what}"),
            Failure::Refused { what } => format!("the plan can't be carried out: {what}"),
            Failure::Broke { what } => format!("the run broke down: {what}"),
            Failure::Nondeterministic { first, again } => {
                format!("the plan gave two traces: {first}, then {again}")
            }
        };
        let verdict = Verdict::of(failure);
        Self { failure: Some(reason), verdict, ..Self::empty(engine, plan, Vec::new()) }
    }

    const fn verdict_name(&self) -> &'static str {
        if self.as_expected { "violated as expected" } else { verdict_name(self.verdict) }
    }

    fn empty(engine: &'a str, plan: &'a Plan, judged: Vec<PropertyName>) -> Self {
        Self {
            again: again::of_page(engine, plan, &judged),
            engine,
            plan,
            seed: plan.seed,
            entries: &[],
            end: SimTime::START,
            violations: &[],
            judged,
            hash: None,
            failure: None,
            verdict: Verdict::Held,
            as_expected: false,
        }
    }
}

/// The contents of the page of campaigns.
#[derive(Clone, Debug, Default)]
pub struct CampaignPage<'a> {
    /// Their sums, one for each engine.
    pub summaries: &'a [Summary],
    /// Further tables, such as a comparison.
    pub tables: Vec<Table>,
    /// The run that failed.
    pub failed: Option<RunPage<'a>>,
}

/// The page of one run, as HTML in UTF-8.
pub fn run_page(run: &RunPage<'_>) -> String {
    let title = format!("{}, seed {}: {}", run.engine, run.seed, run.verdict_name());
    page::page(&title, &Data { run: Some(run::data(run)), campaign: None })
}

/// The data of one run's page, as JSON, for pages that draw runs with the same scripts.
pub fn run_json(run: &RunPage<'_>) -> String {
    page::json(&run::data(run))
}

/// The page of campaigns, as HTML in UTF-8, with the failed run at the bottom.
pub fn campaign_page(page: &CampaignPage<'_>) -> String {
    let campaign = table::campaign(page);
    let title = format!("campaign: {}", campaign.verdict);
    let run = page.failed.as_ref().map(run::data);
    page::page(&title, &Data { run, campaign: Some(campaign) })
}

/// The data of a page.
#[derive(Serialize)]
struct Data<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    campaign: Option<table::CampaignData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<run::RunData<'a>>,
}

const fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Held => "held",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Nondeterministic => "nondeterministic",
        Verdict::Violated => "violated",
    }
}
