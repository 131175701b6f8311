//! Old programs that elect by an advisory lock, beside tenure: the program of
//! docs/migrating/advisory-lock.md.

use std::error::Error;
use std::pin::pin;
use std::time::Duration;

use tenure::{Candidate, Config, StepDownReason, Tenure};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio_postgres::Client;

use super::support::*;

const LOCK: i64 = 4711;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Does the work in a session that has the old lock. Stops the work and fails as soon as that
/// session ends.
async fn with_lock<T>(
    (session, connection): (Client, impl Future<Output = Result<(), tokio_postgres::Error>>),
    lock: i64,
    work: impl AsyncFnOnce(&Client) -> Outcome<T>,
) -> Outcome<T> {
    let locked_work = async {
        let try_lock = "SELECT pg_try_advisory_lock($1)";
        while !session.query_one(try_lock, &[&lock]).await?.get::<_, bool>(0) {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        work(&session).await
    };
    tokio::select! {
        biased;
        _ = connection => Err("the session with the old lock has ended".into()),
        done = locked_work => done,
    }
}

/// A report of the leader's work.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Begins,
    Ends,
}

struct Begun(UnboundedSender<Told>);

impl Begun {
    fn now(tells: &UnboundedSender<Told>) -> Self {
        tells.send(Told::Begins).unwrap();
        Self(tells.clone())
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        // The story may be over.
        let _ = self.0.send(Told::Ends);
    }
}

async fn tell(tenure: Tenure, session: &Client, tells: &UnboundedSender<Told>) -> Outcome<()> {
    let _begun = Begun::now(tells);
    session.batch_execute("SELECT 1").await?;
    tenure.ended().await;
    Ok(())
}

async fn lead(candidate: &Candidate, port: u16, tells: &UnboundedSender<Told>) -> Outcome<()> {
    let connect = async || session(port).await;
    let work = async |tenure, session: &Client| tell(tenure, session, tells).await;
    let shutdown = std::future::pending();
    candidate
        .try_run_until(shutdown, async |tenure| {
            with_lock(connect().await, 4711, async |session| work(tenure, session).await).await
        })
        .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_waits_for_an_old_program() {
    let server = server();
    let old = client(server.port()).await;
    old.execute("SELECT pg_advisory_lock($1)", &[&LOCK]).await.unwrap();

    let config = Config::builder(Duration::from_secs(20));
    let config = config.renew_interval(Duration::from_secs(1)).build().unwrap();
    let (candidate, mut events) = start(at(server.port()), "new", config);
    let (tells, mut told) = unbounded_channel();
    let mut leads = pin!(lead(&candidate, server.port(), &tells));
    let story = async {
        let first = soon(candidate.elected()).await.unwrap();
        // It tries once a second.
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(first.is_current() && told.try_recv().is_err(), "it leads, and does not work");

        drop(old);
        assert_eq!(soon(told.recv()).await, Some(Told::Begins));
        assert!(first.is_current());

        let holder = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'";
        assert_eq!(server.sql(holder).unwrap(), "t", "one session has the lock");
        assert_eq!(soon(told.recv()).await, Some(Told::Ends));
        assert_eq!(steps_down(&mut events).await, StepDownReason::WorkFailed);
        assert!(!first.is_current());

        assert_eq!(soon(told.recv()).await, Some(Told::Begins));
        assert!(candidate.tenure().unwrap().token() > first.token(), "in another tenure");
    };
    tokio::select! {
        ended = &mut leads => panic!("{ended:?}"),
        () = story => {}
    }
    let (stopped, ended) = soon(async { tokio::join!(candidate.stop(), leads) }).await;
    stopped.unwrap();
    ended.unwrap();
}
