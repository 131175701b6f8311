//! Code of docs/work.md, docs/recipes.md, docs/reaching-the-leader.md, docs/operations.md and
//! docs/stores/etcd.md.

use std::error::Error;
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::Memory;
use tenure::store::etcd::{Etcd, EtcdConfig};
use tenure::{Candidate, Config, Elections, Tenure, Token};
use tokio::sync::Notify;

use super::Outcome;

async fn write_report(_token: Token) {
    tokio::task::yield_now().await;
}

#[expect(dead_code, reason = "it runs until the process gets a signal")]
async fn work_until_a_signal(candidate: &Candidate) -> Outcome {
    candidate
        .run_until(tenure::shutdown_signal()?, async |tenure| {
            while tenure.is_current() {
                write_report(tenure.token()).await;
            }
        })
        .await?;
    Ok(())
}

async fn send_invoices(_token: Token) -> io::Result<()> {
    tokio::task::yield_now().await;
    Ok(())
}

#[expect(dead_code, reason = "it runs until the process gets a signal")]
async fn work_that_can_fail(candidate: &Candidate) -> Outcome {
    candidate
        .try_run_until(tenure::shutdown_signal()?, async |tenure| {
            while tenure.is_current() {
                send_invoices(tenure.token()).await?;
            }
            Ok::<_, io::Error>(())
        })
        .await?;
    Ok(())
}

async fn send_next_letter() {
    tokio::task::yield_now().await;
}

#[expect(dead_code, reason = "it runs until the process gets a signal")]
async fn watched_work(candidate: &Candidate) -> Outcome {
    candidate
        .run_until(tenure::shutdown_signal()?, async |tenure| {
            let watchdog = tenure.watchdog(Duration::from_secs(60));
            let over = tenure.cancellation_token();
            while over.run_until_cancelled(send_next_letter()).await.is_some() {
                watchdog.alive();
            }
        })
        .await?;
    Ok(())
}

#[test]
fn a_bound_on_the_stop_is_accepted() -> Outcome {
    let config = Config::normal().to_builder().longest_stop(Duration::from_secs(8)).build()?;
    assert!(config.explain().longest_stop <= Duration::from_secs(8));
    Ok(())
}

static REPORTS: AtomicUsize = AtomicUsize::new(0);

async fn report(_token: Token) {
    REPORTS.fetch_add(1, Ordering::SeqCst);
    tokio::task::yield_now().await;
}

async fn once_in_a_slot(
    candidate: &Candidate,
    [wait, hold]: [Duration; 2],
    shutdown: impl Future<Output = ()>,
) -> Outcome {
    let job = async {
        let _ = tokio::time::timeout(wait, candidate.elected()).await;
        let work = async |tenure: Tenure| {
            let slot = tenure.hold(hold); // from here on
            report(tenure.token()).await;
            slot.await;
        };
        candidate.run_if_leader(work).await // does nothing if another process leads
    };
    tokio::select! {
        _ = job => {}
        () = shutdown => {}
    }
    candidate.stop().await?; // before the end of the hold, the lease is not given back
    Ok(())
}

/// By processes that start one after the other, also once the first one has ended.
#[tokio::test]
async fn a_report_is_made_once_in_a_slot() -> Outcome {
    let (store, config) = (Memory::new(), Config::builder(Duration::from_secs(60)).build()?);
    let start = || Candidate::builder(store.clone(), "nightly").config(config).start();
    let (leader, ends) = (start()?, Notify::new());
    let [early, late] = [60_000, 300].map(|wait| [wait, 3_600_000].map(Duration::from_millis));
    let others = async {
        leader.elected().await?;
        while REPORTS.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        once_in_a_slot(&start()?, late, pending()).await?;
        ends.notify_one();
        Outcome::Ok(())
    };
    tokio::try_join!(once_in_a_slot(&leader, early, ends.notified()), others)?;
    once_in_a_slot(&start()?, late, pending()).await?;
    assert_eq!(REPORTS.load(Ordering::SeqCst), 1);
    Ok(())
}

fn first_path_segment(key: &str) -> String {
    key.split('/').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn metrics_are_grouped_by_class() -> Outcome {
    let store = Memory::new();
    let metrics = tenure::metrics::Metrics::new().key_class(|key| first_path_segment(key.as_str()));
    let elections = Elections::new(store).metrics(metrics); // or CandidateBuilder::metrics
    elections.candidate("report/7").start()?.stop().await?;
    Ok(())
}

/// The target of requests: what was done with each, in order.
#[derive(Default)]
struct Router(Vec<String>);

impl Router {
    fn send_to(&mut self, address: &[u8]) {
        self.0.push(String::from_utf8_lossy(address).into_owned());
    }

    fn wait(&mut self) {
        self.0.push("waits".to_owned());
    }

    fn log(&mut self, error: impl Error) {
        self.0.push(error.to_string());
    }
}

/// The code of the page. It runs for as long as the stream does.
async fn route(store: Memory, router: &mut Router) -> Outcome {
    let mut leaders = tenure::Elections::new(store).observe("api")?;
    while let Some(seen) = leaders.next().await {
        match seen {
            Ok(Some(leader)) => router.send_to(&leader.metadata),
            Ok(None) => router.wait(), // no candidate holds the lease
            Err(error) => router.log(error), // it is not known who leads; the last leader may still lead
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_router_learns_the_leaders_address() -> Outcome {
    let (store, mut router) = (Memory::new(), Router::default());
    let candidate = Candidate::builder(store.clone(), "api").metadata("10.0.0.7:8080").start()?;
    candidate.elected().await?;
    let while_routing = tokio::time::timeout(Duration::from_millis(200), route(store, &mut router));
    assert!(while_routing.await.is_err(), "the stream does not end");
    assert_eq!(router.0, ["10.0.0.7:8080"]);
    Ok(())
}

#[expect(dead_code, reason = "it needs a cluster and a certificate")]
fn start_with_etcd() -> Outcome {
    let url = "etcds://worker:password@h1,h2:2379,h3/billing?ca=/etc/etcd/ca.pem";
    let config = EtcdConfig::from_url(url)?;
    let candidate = Candidate::builder(Etcd::new(config), "nightly-report")
        .config(Config::builder(Duration::from_secs(30)).build()?)
        .start()?;
    drop(candidate);
    Ok(())
}
