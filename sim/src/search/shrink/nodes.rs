//! Fewer nodes.

use serde_json::Value;

use super::Progress;
use super::search::Search;
use crate::plan::{Fault, Plan};

/// Leaves out one node after the other, the last ones first: random draws are keyed by a node's
/// number, and earlier nodes keep theirs.
pub(super) fn fewer<F, P>(search: &mut Search<F, P>)
where
    F: FnMut(&Plan) -> bool,
    P: FnMut(Progress),
{
    for node in (0..search.best().nodes.len()).rev() {
        if let Some(smaller) = without(search.best(), node) {
            search.take(smaller);
        }
    }
}

/// The plan without a node and the faults that name it. Later nodes move up.
fn without(plan: &Plan, node: usize) -> Option<Plan> {
    let mut smaller = plan.clone();
    smaller.nodes.remove(node);
    let renumbered = |fault: &Fault| {
        let mut value = serde_json::to_value(fault).ok()?;
        move_up(&mut value, node as u64).then(|| serde_json::from_value(value).ok())?
    };
    smaller.faults = plan.faults.iter().filter_map(renumbered).collect();
    (!smaller.nodes.is_empty()).then_some(smaller)
}

/// Renumbers every field `node`, at any depth. False if a field names the removed node.
fn move_up(value: &mut Value, gone: u64) -> bool {
    let Value::Object(fields) = value else { return true };
    fields.iter_mut().all(|(name, field)| match field.as_u64() {
        Some(node) if name == "node" && node > gone => {
            *field = (node - 1).into();
            true
        }
        Some(node) if name == "node" => node != gone,
        _ => move_up(field, gone),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{
        FaultKind, Point, ProcessFault, Scope, StoreFault, Trigger, What, When, swarm,
    };

    fn fault(node: Option<usize>, of: Option<usize>) -> Fault {
        let trigger = Trigger { point: Point::Leads, node, of: None, nth: 2, after_ms: 3 };
        Fault { when: When::On(trigger), for_ms: 5, what: ProcessFault::Pause.at(of) }
    }

    #[test]
    fn later_nodes_move_up_and_removed_ones_disappear() {
        let mut plan = swarm(1, &FaultKind::ALL, Scope::Model);
        plan.nodes = vec![plan.nodes[0]; 3];
        plan.nodes[1].clock_offset_ms = 77;
        plan.faults = vec![
            fault(Some(2), Some(0)),
            fault(Some(1), Some(0)),
            fault(None, Some(1)),
            fault(None, Some(2)),
            Fault { when: When::AtMs(1), for_ms: 5, what: What::Store(StoreFault::StoreLoss) },
        ];
        let smaller = without(&plan, 1).expect("two are left");
        assert_eq!(smaller.nodes.len(), 2);
        assert!(smaller.nodes.iter().all(|node| node.clock_offset_ms != 77));
        let left = vec![fault(Some(1), Some(0)), fault(None, Some(1)), plan.faults[4]];
        assert_eq!(smaller.faults, left);
    }

    #[test]
    fn the_last_node_is_kept() {
        let mut plan = swarm(1, &FaultKind::ALL, Scope::Model);
        plan.nodes.truncate(1);
        assert_eq!(without(&plan, 0), None);
    }
}
