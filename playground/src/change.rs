//! Changes of a plan that the page asks for.

use std::time::Duration;

use serde::Deserialize;
use tenure_sim::plan::draw::Draw;
use tenure_sim::plan::{Fault, NodePlan, Plan, Settings, When};

use crate::request::Refusal;
use crate::tool::{Effect, Tool};

/// The longest time before the recovery phase that a change makes, in milliseconds.
const LONGEST_MS: u64 = 600_000;

/// A change of a plan.
#[derive(Debug, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Change {
    /// A fault of a node, or of the store; a rate of a clock that is there already is taken back.
    Add { tool: Tool, node: Option<usize>, at_ms: u64 },
    /// Another time of a fault.
    Move { index: usize, at_ms: u64, for_ms: u64 },
    /// One fault less.
    Remove { index: usize },
    /// The default settings of another TTL.
    Ttl { ms: u64 },
    /// Another interval of renewals.
    Renew { ms: u64 },
    /// More or fewer members.
    Members { count: usize },
    /// Another key of all that is random. As text: it has 64 bits.
    Seed { seed: String },
    /// Another beginning of the recovery phase.
    Length { ms: u64 },
}

impl Change {
    pub(crate) fn apply(self, plan: &mut Plan) -> Result<(), Refusal> {
        match self {
            Self::Add { tool, node, at_ms } => add(plan, tool, node, at_ms)?,
            Self::Move { index, at_ms, for_ms } => {
                let fault = plan.faults.get_mut(index).ok_or(Refusal::NoFault { index })?;
                let for_ms = if fault.what.lasts() { for_ms.max(1) } else { 0 };
                *fault = Fault { when: When::AtMs(at_ms), for_ms, ..*fault };
                lengthen(plan, at_ms, for_ms);
            }
            Self::Remove { index } => {
                if index >= plan.faults.len() {
                    return Err(Refusal::NoFault { index });
                }
                plan.faults.remove(index);
            }
            Self::Ttl { ms } => {
                let settings = Settings::of_ttl(Duration::from_millis(ms)).map_err(Refusal::of)?;
                let drain_bound_ms = settings.drain_bound_ms.min(plan.settings.drain_bound_ms);
                plan.settings = Settings { drain_bound_ms, ..settings };
                plan.nodes.iter_mut().for_each(|node| node.settings = None);
            }
            Self::Renew { ms } => {
                plan.settings.renew_interval_ms = ms;
                plan.nodes.iter_mut().for_each(|node| node.settings = None);
            }
            Self::Members { count } => members(plan, count),
            Self::Seed { seed } => {
                plan.seed = seed.trim().parse().map_err(|_| Refusal::Seed { seed })?;
            }
            Self::Length { ms } => plan.calm_from_ms = ms,
        }
        plan.check().map_err(Refusal::of)
    }
}

fn add(plan: &mut Plan, tool: Tool, node: Option<usize>, at_ms: u64) -> Result<(), Refusal> {
    if node.is_none() != tool.is_of_the_store() {
        return Err(Refusal::Elsewhere { tool: tool.label(), of_store: tool.is_of_the_store() });
    }
    match tool.effect(node, plan) {
        Effect::Fault(what, ttls) => {
            let for_ms = if what.lasts() { (ttls * plan.settings.ttl_ms).max(1) } else { 0 };
            plan.at(at_ms, for_ms, what);
            lengthen(plan, at_ms, for_ms);
        }
        Effect::Rate(ppm) => {
            let members = plan.nodes.len();
            let node = node.and_then(|node| plan.nodes.get_mut(node));
            let node = node.ok_or(Refusal::NoNode { members })?;
            node.clock_rate_ppm = if node.clock_rate_ppm == ppm { 0 } else { ppm };
        }
    }
    Ok(())
}

/// Lets the recovery phase begin two TTLs after that fault's end, or later.
fn lengthen(plan: &mut Plan, at_ms: u64, for_ms: u64) {
    let ends = at_ms.saturating_add(for_ms).saturating_add(2 * plan.settings.ttl_ms);
    plan.calm_from_ms = plan.calm_from_ms.max(ends.min(LONGEST_MS));
}

/// Others keep what is drawn for them, as draws are keyed by a member's number.
fn members(plan: &mut Plan, count: usize) {
    for node in plan.nodes.len()..count {
        let offset = Draw::new(plan.seed, "playground offset", node as u64);
        plan.nodes.push(NodePlan::of_offset(offset.clone().within(1_000..=10_000_000)));
    }
    plan.nodes.truncate(count);
    let is_there = |node: Option<usize>| node.is_none_or(|node| node < count);
    plan.faults.retain(|fault| {
        let at = match fault.when {
            When::AtMs(_) => None,
            When::On(trigger) => trigger.node,
        };
        is_there(fault.node()) && is_there(at)
    });
}
