//! One driver of several elections that is not polled for a while.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tenure::store::Memory;
use tenure::{Candidate, Config, Elections};

use super::support::{Remote, long, soon, steady};

#[tokio::test]
async fn replies_that_wait_come_before_timeouts() {
    let within = Duration::from_millis(200);
    // A claim lasts, however late the answers are read.
    let config = Config::builder(Duration::from_secs(60)).request_timeout(within).build().unwrap();
    let store = Remote::default();
    let elections = Elections::new(store.clone());
    let (one, driver) = elections.candidate("one").config(config).build().unwrap();
    let other = elections.candidate("other").config(config).start().unwrap();
    let mut driver = Box::pin(driver.run());
    store.cut();
    assert!(driver.as_mut().now_or_never().is_none(), "both ask");
    store.heal();
    // The answers have arrived, but by the driver's clock their timeouts are over.
    tokio::time::sleep(within + Duration::from_millis(50)).await;
    assert!(driver.as_mut().now_or_never().is_none());
    assert_eq!(store.dropped(), 0, "no request was given up");
    assert!(one.is_leader() && other.is_leader());
}

#[tokio::test]
async fn a_driver_may_move_to_another_task() {
    // No timer of it is due within the bound.
    let builder = Candidate::builder(Memory::new(), "job").config(long());
    let (candidate, driver) = builder.build().unwrap();
    let here = select(Box::pin(driver.run()), Box::pin(candidate.elected()));
    let Either::Right((elected, driver)) = soon(here).await else { panic!("the driver has ended") };
    elected.unwrap();
    tokio::spawn(driver);
    tokio::task::yield_now().await;
    soon(candidate.stop()).await.unwrap();
}

#[tokio::test]
async fn a_waiting_stop_comes_before_deadlines() {
    let store = Remote::default();
    let led = Elections::new(store.clone());
    let leaders = ["one", "other"].map(|key| led.candidate(key).config(steady()).start().unwrap());
    for leader in &leaders {
        soon(leader.elected()).await.unwrap();
    }
    let elections = Elections::new(store.clone());
    let (one, driver) = elections.candidate("one").config(steady()).build().unwrap();
    let other = elections.candidate("other").config(steady()).start().unwrap();
    let mut driver = Box::pin(driver.run());
    assert!(driver.as_mut().now_or_never().is_none(), "both wait");
    // The leaders have renewed their leases: both would look again by now.
    tokio::time::sleep(steady().renew_interval() * 4).await;
    drop((one, other));
    let asked = store.asked();
    assert!(driver.as_mut().now_or_never().is_none());
    assert_eq!(store.asked(), asked, "neither sends another request");
}
