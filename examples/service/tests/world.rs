//! The service when it loses the lead: its code as it is, with a store and a clock in the
//! test's hands.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::time::Duration;

use tenure::testing::World;
use tenure::{Config, Token};
use tenure_example_service::{ELECTION, Orders, lead};
use tokio::time::sleep;

/// Orders without an end. To ship one takes a second.
#[derive(Clone, Default)]
struct Shipped(Arc<AtomicI64>);

impl Orders for Shipped {
    async fn take_over(&self, _: Token) -> anyhow::Result<()> {
        Ok(())
    }

    async fn next(&self) -> anyhow::Result<Option<i64>> {
        Ok(Some(self.0.load(SeqCst)))
    }

    async fn ship(&self, order: i64, _: Token) -> anyhow::Result<()> {
        self.0.store(order + 1, SeqCst);
        sleep(Duration::from_secs(1)).await;
        Ok(())
    }
}

#[tokio::test]
async fn nothing_is_shipped_without_the_lead() -> anyhow::Result<()> {
    let world = World::new()?;
    let process = world.process();
    let (candidate, orders) = (process.candidate(ELECTION).start()?, Shipped::default());
    let of_task = orders.clone();
    tokio::spawn(async move { lead(&candidate, &of_task, std::future::pending()).await });

    world.advance(Duration::from_secs(10)).await; // it leads
    process.cut(); // the store can't be reached any more
    world.advance(Config::default().ttl()).await; // its lease ends
    let shipped = orders.0.load(SeqCst);
    world.advance(Duration::from_secs(60)).await;
    assert!(shipped > 0 && orders.0.load(SeqCst) == shipped, "nothing more");

    process.heal();
    world.advance(Duration::from_secs(60)).await;
    assert!(orders.0.load(SeqCst) > shipped, "it leads again");
    Ok(())
}
