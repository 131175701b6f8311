//! Code of docs/testing-your-store.md.

use tenure_sim::Simulation;
use tenure_sim::simulation::{Contract, Lease, Moment, Reply, Request, StoreModel};

/// The contract itself, where a store of your own would be.
#[derive(Clone, Default)]
struct MyStore(Contract);

impl StoreModel for MyStore {
    fn apply(&mut self, at: Moment, request: Request) -> Reply {
        self.0.apply(at, request)
    }

    fn lease(&self) -> Option<Lease> {
        self.0.lease()
    }
}

#[test]
fn my_store_keeps_the_contract() {
    Simulation::new().runs(200).store::<MyStore>().check();
}
