//! Many seeds, in each engine.

use std::io::{self, Write};

use indicatif::{ProgressBar, ProgressStyle};
use tenure_sim::campaign::{self, Campaign, Summary, Verdict};
use tenure_sim::trace::file;

use crate::args::{Format, OutputArguments, RunArguments};
use crate::trouble::{Trouble, create, written};
use crate::{controls, show};

pub(crate) fn run(arguments: &RunArguments) -> Result<u8, Trouble> {
    if let Some(controls) = arguments.controls() {
        return controls::run(&controls, arguments.control_runs(), arguments.output);
    }
    let campaigns = arguments.campaigns()?;
    let trace = arguments.trace.as_deref().map(create).transpose()?;
    let plan = arguments.plan_out.as_deref().map(create).transpose()?;
    let summaries = carry_out(&campaigns);
    if let Some(out) = trace {
        written(write_trace(out, &campaigns, &summaries))?;
    }
    if let (Some(mut out), Some((campaign, seed))) = (plan, of_interest(&campaigns, &summaries)) {
        written(writeln!(out, "{}", campaign.plan(seed).to_text()).and_then(|()| out.flush()))?;
    }
    tell(&summaries, arguments.output)
}

/// Prints summaries. Ends with the worst verdict.
pub(crate) fn tell(summaries: &[Summary], output: OutputArguments) -> Result<u8, Trouble> {
    let mut out = io::stdout().lock();
    written(match output.format {
        Format::Human => show::campaigns(&mut out, summaries),
        Format::Json => campaign::write(&mut out, summaries),
    })?;
    let worst = summaries.iter().map(Summary::verdict).max();
    Ok(worst.unwrap_or(Verdict::Inconclusive).exit_code())
}

/// One after another, until one has failed: that is worth a look before anything else.
fn carry_out(campaigns: &[Campaign]) -> Vec<Summary> {
    let mut summaries = Vec::new();
    for campaign in campaigns {
        let bar = progress(campaign);
        let summary = campaign.run(|| bar.inc(1));
        bar.finish_and_clear();
        let failed = summary.failed.is_some();
        summaries.push(summary);
        if failed {
            break;
        }
    }
    summaries
}

/// The run that failed, or else the first one.
fn of_interest<'a>(
    campaigns: &'a [Campaign],
    summaries: &[Summary],
) -> Option<(&'a Campaign, u64)> {
    let failed = campaigns.iter().zip(summaries).find_map(|(campaign, summary)| {
        summary.failed.as_ref().map(|failed| (campaign, failed.seed))
    });
    failed.or_else(|| campaigns.first().and_then(|first| Some((first, first.seeds.nth(0)?))))
}

/// A run that broke down has no trace: the file stays empty.
fn write_trace(
    mut out: impl Write,
    campaigns: &[Campaign],
    summaries: &[Summary],
) -> io::Result<()> {
    let Some((campaign, seed)) = of_interest(campaigns, summaries) else { return Ok(()) };
    let plan = campaign.plan(seed);
    if let Ok(outcome) = campaign::attempt(campaign.engine, &plan, campaign.judging()) {
        file::write(&mut out, campaign.engine, &plan, &outcome.trace, outcome.simulated)?;
    }
    out.flush()
}

/// On standard error, and only if somebody watches.
fn progress(campaign: &Campaign) -> ProgressBar {
    let look = "{msg} {bar:40} {pos}/{len} runs, {per_sec}, {eta} to go";
    let look = ProgressStyle::with_template(look).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(campaign.seeds.len()).with_style(look);
    bar.with_message(campaign.engine.name())
}
