//! A service that ships each order once, as it runs in production, on every node of a simulation:
//! its driver, its connection to Redis, its tasks and timers are real. Only its database is a fake.
//!
//! `cargo run --release -p tenure-sim --example shipping`

#![allow(clippy::print_stdout, reason = "an example tells what it found")]

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure::{Candidate, Tenure};
use tenure_sim::Simulation;
use tenure_sim::plan::FaultKind;
use tenure_sim::simulation::{Outside, Process, Service, SimulationError};

// The service. Nothing in it knows that it is simulated.

/// The service's access to its database.
trait Orders: Clone + Send + 'static {
    /// `UPDATE fence SET token = $token WHERE token <= $token`
    fn take_over(&self, token: u64) -> impl Future<Output = ()> + Send;

    /// `SELECT min(id) FROM orders WHERE NOT shipped`
    fn next(&self) -> impl Future<Output = u64> + Send;

    /// `UPDATE orders SET shipped = true WHERE id = $order`, and
    /// `AND $token = (SELECT token FROM fence)` if there is a token.
    fn ship(&self, order: u64, token: Option<u64>) -> impl Future<Output = ()> + Send;
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Guard {
    /// The work is a task that nobody ends.
    Nothing,
    /// The tenure is checked before each order.
    Checks,
    /// Also, the database is taken over with the tenure's token, and compares it with that of each
    /// write.
    Fence,
}

async fn ship_orders(candidate: Candidate, orders: impl Orders, guard: Guard) {
    let work = async |tenure: Tenure| {
        let token = (guard == Guard::Fence).then(|| tenure.token().get());
        if let Some(token) = token {
            orders.take_over(token).await;
        }
        let (orders, of_task) = (orders.clone(), tenure.clone());
        let ships = tokio::spawn(async move {
            while guard == Guard::Nothing || of_task.is_current() {
                let order = orders.next().await;
                if guard == Guard::Nothing || of_task.is_current() {
                    orders.ship(order, token).await;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        tenure.ended().await;
        drop(ships);
    };
    // It ends when the candidate has stopped.
    let _ = candidate.run_while_leader(work).await;
}

// The test.

/// The database, and what the world has seen.
#[derive(Default)]
struct Warehouse {
    fence: u64,
    shipped: BTreeMap<u64, u32>,
}

/// The database as one process reaches it.
#[derive(Clone)]
struct Client {
    warehouse: Arc<Mutex<Warehouse>>,
    outside: Outside,
}

impl Client {
    /// A request to the database, which carries it out when it arrives.
    async fn call<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Warehouse) -> T + Send + 'static,
    ) -> T {
        let warehouse = Arc::clone(&self.warehouse);
        let change = move || change(&mut warehouse.lock().unwrap_or_else(PoisonError::into_inner));
        self.outside.call(change).await
    }
}

impl Orders for Client {
    async fn take_over(&self, token: u64) {
        self.call(move |warehouse| warehouse.fence = warehouse.fence.max(token)).await;
    }

    async fn next(&self) -> u64 {
        self.call(|warehouse| warehouse.shipped.last_key_value().map_or(0, |(last, _)| last + 1))
            .await
    }

    async fn ship(&self, order: u64, token: Option<u64>) {
        self.call(move |warehouse| {
            if token.is_none_or(|token| token == warehouse.fence) {
                *warehouse.shipped.entry(order).or_default() += 1;
            }
        })
        .await;
    }
}

/// The service on all nodes of one run.
struct Shipping {
    guard: Guard,
    warehouse: Arc<Mutex<Warehouse>>,
}

impl Service for Shipping {
    fn name(&self) -> &'static str {
        "each-order-once"
    }

    async fn serve(self: Arc<Self>, process: Process) {
        let warehouse = Arc::clone(&self.warehouse);
        let client = Client { warehouse, outside: process.outside.clone() };
        ship_orders(process.candidate, client, self.guard).await;
    }

    fn verify(&self) -> Result<(), String> {
        let warehouse = self.warehouse.lock().unwrap_or_else(PoisonError::into_inner);
        match warehouse.shipped.iter().find(|(_, times)| **times > 1) {
            Some((order, times)) => Err(format!("order {order} was shipped {times} times")),
            None => Ok(()),
        }
    }
}

/// Those that a service notices, whatever its store does meanwhile.
const FAULTS: [FaultKind; 5] = [
    FaultKind::Crash,
    FaultKind::Leave,
    FaultKind::Pause,
    FaultKind::PauseAtGuard,
    FaultKind::StoreLoss,
];

fn main() {
    for guard in [Guard::Nothing, Guard::Checks, Guard::Fence] {
        let simulation = Simulation::new()
            .runs(200)
            .faults(FAULTS)
            .service(move || Shipping { guard, warehouse: Arc::default() });
        match simulation.run() {
            Ok(report) => println!("{guard:?}: held in {} runs", report.summary.runs),
            Err(SimulationError::Failed(failed)) => println!("{guard:?}: {failed}\n"),
            Err(error) => println!("{guard:?}: {error}"),
        }
    }
}
