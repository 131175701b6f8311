//! The service on every node of simulations, with faults of all kinds: its driver, its tasks and
//! timers are real, and only its database is a fake.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::bail;
use tenure::Token;
use tenure_example_service::{Orders, lead};
use tenure_sim::Simulation;
use tenure_sim::simulation::{Outside, Process, Service, SimulationError};

/// The database. Orders have no end.
#[derive(Default)]
struct Tables {
    fence: Option<Token>,
    shipped: BTreeSet<i64>,
    shipped_twice: Option<i64>,
}

/// It changes as by the statements in `src/database.rs`.
#[derive(Clone)]
struct Fake {
    tables: Arc<Mutex<Tables>>,
    outside: Outside,
    is_fenced: bool,
}

impl Fake {
    /// A request, which is carried out when it arrives.
    async fn call<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Tables) -> T + Send + 'static,
    ) -> T {
        let tables = Arc::clone(&self.tables);
        self.outside.call(move || change(&mut tables.lock().unwrap())).await
    }
}

impl Orders for Fake {
    async fn take_over(&self, token: Token) -> anyhow::Result<()> {
        let accepted = self.call(move |tables| {
            let accepted = tables.fence <= Some(token);
            if accepted {
                tables.fence = Some(token);
            }
            accepted
        });
        if accepted.await { Ok(()) } else { bail!("a tenure after {token} has the orders") }
    }

    async fn next(&self) -> anyhow::Result<Option<i64>> {
        let next = self.call(|tables| tables.shipped.last().map_or(1, |last| last + 1)).await;
        tokio::time::sleep(Duration::from_millis(50)).await; // to pack it
        Ok(Some(next))
    }

    async fn ship(&self, order: i64, token: Token) -> anyhow::Result<()> {
        let is_fenced = self.is_fenced;
        let accepted = self.call(move |tables| {
            let accepted = !is_fenced || tables.fence == Some(token);
            if accepted && !tables.shipped.insert(order) {
                tables.shipped_twice = Some(order);
            }
            accepted
        });
        if accepted.await { Ok(()) } else { bail!("the tenure {token} does not have the orders") }
    }
}

/// The service of one run, on all its nodes.
struct Shipping {
    is_fenced: bool,
    tables: Arc<Mutex<Tables>>,
}

impl Service for Shipping {
    fn name(&self) -> &'static str {
        "each-order-once"
    }

    async fn serve(self: Arc<Self>, process: Process) {
        let (tables, is_fenced) = (Arc::clone(&self.tables), self.is_fenced);
        let orders = Fake { tables, outside: process.outside, is_fenced };
        let _ = lead(&process.candidate, &orders, process.shutdown.cancelled_owned()).await;
    }

    fn verify(&self) -> Result<(), String> {
        match self.tables.lock().unwrap().shipped_twice {
            Some(order) => Err(format!("order {order} was shipped twice")),
            None => Ok(()),
        }
    }
}

fn simulation(is_fenced: bool) -> Simulation {
    Simulation::new().service(move || Shipping { is_fenced, tables: Arc::default() })
}

#[test]
fn each_order_is_shipped_once() {
    simulation(true).check();
}

/// The bug: a `ship` that does not compare the token.
#[test]
fn a_write_without_a_fence_is_found() {
    match simulation(false).run() {
        Err(SimulationError::Failed(failed)) => {
            let text = failed.to_string();
            assert!(text.contains("each-order-once does not hold"), "{text}");
        }
        other => panic!("{other:?}"),
    }
}
