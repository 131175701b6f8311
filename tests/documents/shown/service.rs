//! Code of docs/simulating-your-service.md.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure::{Candidate, Tenure};
use tenure_sim::Simulation;
use tenure_sim::simulation::{Outside, Process, Service};

/// The service, as in production.
async fn sell(candidate: Candidate, shop: Shop) {
    let work = async |tenure: Tenure| {
        let token = tenure.token().get();
        shop.call(move |table| table.fence = table.fence.max(token)).await;
        while tenure.is_current() {
            let ticket = shop.call(|table| table.sold.len()).await;
            shop.call(move |table| {
                if table.fence == token {
                    table.sold.push(ticket);
                }
            })
            .await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let _ = candidate.run_while_leader(work).await;
}

#[derive(Default)]
struct Table {
    fence: u64,
    sold: Vec<usize>,
}

/// The client's fake: a request is on its way for a while.
struct Shop {
    table: Arc<Mutex<Table>>,
    outside: Outside,
}

impl Shop {
    async fn call<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut Table) -> T + Send + 'static,
    ) -> T {
        let table = Arc::clone(&self.table);
        self.outside.call(move || query(&mut table.lock().unwrap())).await
    }
}

/// The state that all nodes of one run share.
#[derive(Default)]
struct Tickets(Arc<Mutex<Table>>);

impl Service for Tickets {
    async fn serve(self: Arc<Self>, process: Process) {
        let shop = Shop { table: Arc::clone(&self.0), outside: process.outside };
        sell(process.candidate, shop).await;
    }

    fn verify(&self) -> Result<(), String> {
        let sold = &self.0.lock().unwrap().sold;
        let is_sold_once = sold.iter().enumerate().all(|(place, ticket)| place == *ticket);
        if is_sold_once { Ok(()) } else { Err(format!("a ticket was sold twice: {sold:?}")) }
    }
}

#[test]
fn no_ticket_is_sold_twice() {
    Simulation::new().runs(20).service(Tickets::default).check();
}
