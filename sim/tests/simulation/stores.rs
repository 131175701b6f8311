//! Users' own stores.

use tenure_sim::Simulation;
use tenure_sim::plan::FaultKind;
use tenure_sim::simulation::{Contract, Lease, Moment, Reply, Request, StoreModel};

use super::{failed, property};

/// The contract, by a server that does not notice that it was put back to older data.
#[derive(Clone, Debug, Default)]
struct Forgetful(Contract);

impl StoreModel for Forgetful {
    fn apply(&mut self, at: Moment, request: Request) -> Reply {
        self.0.apply(Moment { identity: 0, ..at }, request)
    }

    fn lease(&self) -> Option<Lease> {
        self.0.lease()
    }
}

#[test]
fn a_store_of_the_users_is_judged_by_all_properties() {
    Simulation::new().runs(200).store::<Contract>().run().unwrap();
    let rollback = [FaultKind::StoreRollback];
    let simulation = Simulation::new().runs(2_000).faults(rollback).store::<Forgetful>();
    let failed = failed(&simulation);
    assert!(failed.plan.has(FaultKind::StoreRollback), "{:?}", failed.plan);
    let known = ["store-loss-quarantine", "single-leader", "margin-kept", "fail-closed"];
    assert!(known.contains(&property(&failed)), "{failed}");
}

/// The contract, by a server to which nobody tells what was watched.
#[derive(Clone, Debug, Default)]
struct Untold(Contract);

impl StoreModel for Untold {
    fn apply(&mut self, at: Moment, request: Request) -> Reply {
        let request = match request {
            Request::Renew { holder, token, number, .. } => {
                Request::Renew { holder, token, number, stamp: None }
            }
            other => other,
        };
        self.0.apply(at, request)
    }

    fn lease(&self) -> Option<Lease> {
        self.0.lease()
    }
}

#[test]
fn a_restart_that_costs_a_late_handover_is_found() {
    let restarts = [FaultKind::StoreCrash, FaultKind::Resign];
    let simulation = Simulation::new().runs(2_000).faults(restarts).store::<Untold>();
    assert_eq!(property(&failed(&simulation)), "no-late-quarantine");
}
