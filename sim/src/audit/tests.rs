//! Logs that the library has written, as the audit reads them, beside what a test has observed of
//! the same tenures and writes. An audit is as good as the lines: an end that is not written, or a
//! refused write that is written as accepted, can't be seen in a log alone.

// These helpers are not tests in the sense of clippy.toml.
#![allow(clippy::unwrap_used)]

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use rusqlite::Connection;
use tenure::fence::FenceError;
use tenure::fence::sqlite::{Fence, TakenOver};
use tenure::store::Key;
use tenure::testing::{Process, World};
use tenure::trace::Log;
use tenure::{Candidate, Config, Event, RenewErrorPolicy, StepDownReason, Tenure, Token};
use tokio::time::{Instant, sleep, timeout};

use super::log::{Header, Line, Outcome};
use super::{Audit, Report, Settings, Verdict};

const TTL: Duration = Duration::from_secs(5);
const SECOND: Duration = Duration::from_secs(1);
/// Long enough for some renewals.
const LEADS: Duration = Duration::from_secs(8);

/// Far longer than a test takes, by its own clock.
const LONG: Duration = Duration::from_secs(3_600);

/// A line, or what a test has observed: in nanoseconds since the test began.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fact {
    Elected { at: u128, key: String, name: String, token: u64, left: u128 },
    Renewed { at: u128, key: String, name: String, token: u64, left: u128 },
    SteppedDown { at: u128, key: String, token: u64, reason: String },
    Wrote { began: u128, at: u128, token: u64, resource: String, outcome: Outcome },
}

/// The observed facts.
#[derive(Clone)]
struct Seen {
    began: Instant,
    facts: Arc<Mutex<Vec<Fact>>>,
}

impl Seen {
    fn now(&self) -> u128 {
        self.began.elapsed().as_nanos()
    }

    fn add(&self, fact: Fact) {
        self.facts.lock().unwrap().push(fact);
    }

    fn ends(&self, tenure: &Tenure, reason: &str) {
        assert!(!tenure.is_current(), "{reason}: it still leads");
        let (at, token) = (self.now(), tenure.token().get());
        let (key, reason) = ("job".to_owned(), reason.to_owned());
        self.add(Fact::SteppedDown { at, key, token, reason });
    }

    /// Observes a candidate's events, at the moments at which they happen: only waiting moves the
    /// clock.
    fn observe(&self, candidate: &Candidate, name: &'static str) {
        let (seen, mut events) = (self.clone(), candidate.events());
        let claim = move |seen: &Self, tenure: &Tenure| {
            let left = tenure.remaining().as_nanos();
            (seen.now(), "job".to_owned(), name.to_owned(), tenure.token().get(), left)
        };
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                match event {
                    Event::Elected(tenure) => {
                        let (at, key, name, token, left) = claim(&seen, &tenure);
                        seen.add(Fact::Elected { at, key, name, token, left });
                    }
                    Event::Renewed(tenure) => {
                        let (at, key, name, token, left) = claim(&seen, &tenure);
                        seen.add(Fact::Renewed { at, key, name, token, left });
                    }
                    Event::SteppedDown { tenure, reason } => seen.ends(&tenure, in_words(reason)),
                    _ => {}
                }
            }
        });
    }
}

fn in_words(reason: StepDownReason) -> &'static str {
    match reason {
        StepDownReason::Expired => "expired",
        StepDownReason::Superseded => "superseded",
        StepDownReason::Resigned => "resigned",
        StepDownReason::RenewFailed => "renew-failed",
        StepDownReason::WorkLost => "work-lost",
        StepDownReason::Unresponsive => "unresponsive",
        other => panic!("{other:?} has no word here"),
    }
}

/// The lines of a log about leads and writes, in their order.
fn lines(log: &str) -> Vec<Fact> {
    let mut lines = (1..).zip(log.lines()).map(|(number, line)| {
        Line::parse(number, line.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
    });
    let Some(Line::Header(Header { at: began, .. })) = lines.next() else { panic!("{log}") };
    let since = |at: u64| u128::from(at - began);
    let fact = |line| {
        Some(match line {
            Line::Elected(claim) => Fact::Elected {
                at: since(claim.at),
                key: claim.key.into_owned(),
                name: claim.name.into_owned(),
                token: claim.token,
                left: claim.left.into(),
            },
            Line::Renewed(claim) => Fact::Renewed {
                at: since(claim.at),
                key: claim.key.into_owned(),
                name: claim.name.into_owned(),
                token: claim.token,
                left: claim.left.into(),
            },
            Line::SteppedDown(end) => Fact::SteppedDown {
                at: since(end.at),
                key: end.key.into_owned(),
                token: end.token,
                reason: end.reason.into_owned(),
            },
            Line::Write(write) => Fact::Wrote {
                began: since(write.began),
                at: since(write.at),
                token: write.token,
                resource: write.resource.into_owned(),
                outcome: write.outcome,
            },
            Line::Clock(_) => return None,
            Line::Header(_) | Line::Gap(_) => panic!("{line:?}"),
        })
    };
    lines.filter_map(fact).collect()
}

/// A database that leaders write to, and whose rows say what was written.
struct Database {
    connection: Connection,
    fence: Fence,
    written: i64,
}

impl Database {
    fn new() -> Self {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(Fence::SCHEMA).unwrap();
        connection.execute_batch("CREATE TABLE jobs (job INTEGER)").unwrap();
        Self { connection, fence: Fence::new(&Key::new("job").unwrap()), written: 0 }
    }

    fn take_over(&mut self, token: Token) -> TakenOver {
        self.fence.take_over(&mut self.connection, token).unwrap()
    }

    /// A fenced write. Whether it was carried out is read from the rows; if the database has
    /// failed, it is unknown.
    async fn write(&mut self, seen: &Seen, tenure: &Tenure, taken_over: &TakenOver) {
        let (write, began) = (tenure.trace_write("jobs"), seen.now());
        sleep(SECOND).await;
        let result = self.insert(taken_over);
        let has_failed = matches!(result, Err(FenceError::Unknown { .. }));
        write.ended(&result);
        let rows = "SELECT count(*) FROM jobs";
        let rows: i64 = self.connection.query_row(rows, [], |row| row.get(0)).unwrap();
        let outcome = if std::mem::replace(&mut self.written, rows) < rows {
            Outcome::Accepted
        } else if has_failed {
            Outcome::Unknown
        } else {
            Outcome::Refused
        };
        let (at, token, resource) = (seen.now(), tenure.token().get(), "jobs".to_owned());
        seen.add(Fact::Wrote { began, at, token, resource, outcome });
    }

    fn insert(&mut self, taken_over: &TakenOver) -> Result<(), FenceError<rusqlite::Error>> {
        let transaction = self.connection.transaction().unwrap();
        taken_over.check(&transaction)?;
        transaction.execute("INSERT INTO jobs VALUES (1)", []).unwrap();
        transaction.commit().unwrap();
        Ok(())
    }
}

/// The end of a test's first tenure.
#[derive(Clone, Copy, Debug)]
enum End {
    Resigned,
    Stopped,
    Expired,
    Superseded,
    RenewFailed,
    WorkDropped,
    Unresponsive,
    DriverGone,
}

impl End {
    async fn comes(self, world: &World, process: &Process, candidate: &Candidate) {
        let tenure = candidate.elected().await.unwrap();
        match self {
            Self::Resigned => candidate.resign().await.unwrap(),
            Self::Stopped => candidate.stop().await.unwrap(),
            Self::Expired => process.cut(),
            Self::Superseded => drop(world.supersede("job").unwrap()),
            Self::RenewFailed => process.lose_next_reply(),
            Self::WorkDropped => {
                let work = candidate.run_while_leader(async |_| pending::<()>().await);
                drop(timeout(SECOND, work).await);
            }
            Self::Unresponsive => {
                let _silent = tenure.watchdog(SECOND);
                return tenure.ended().await;
            }
            // Its task is aborted by the caller.
            Self::DriverGone => return,
        }
        tenure.ended().await;
    }

    const fn in_words(self) -> &'static str {
        match self {
            Self::Resigned | Self::Stopped => "resigned",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
            Self::RenewFailed => "renew-failed",
            Self::WorkDropped => "work-lost",
            Self::Unresponsive => "unresponsive",
            Self::DriverGone => "driver-gone",
        }
    }
}

/// Two candidates lead, one after the other. The first tenure ends in that way, and each of the
/// fence's answers is given. Returns the log, and what was observed.
async fn leads_twice(end: End) -> (String, Vec<Fact>) {
    let folder = tempfile::tempdir().unwrap();
    let (world, log) = (World::new().unwrap(), Log::create_in(folder.path()).unwrap());
    let seen = Seen { began: Instant::now(), facts: Arc::default() };
    let mut config = Config::builder(TTL);
    if let End::RenewFailed = end {
        config = config.on_renew_error(RenewErrorPolicy::StepDown);
    }
    let config = config.build().unwrap();
    let [first, second] = [world.process(), world.process()];
    let builder = first.candidate("job").name("first").config(config).trace(log.clone());
    let (older, driver) = builder.build().unwrap();
    let driver = tokio::spawn(driver.run());
    seen.observe(&older, "first");
    let mut database = Database::new();
    let of_older = older.elected().await.unwrap();
    let newer = second.candidate("job").name("second").config(config).trace(log.clone());
    let newer = newer.start().unwrap();
    seen.observe(&newer, "second");
    let old_fence = database.take_over(of_older.token());
    database.write(&seen, &of_older, &old_fence).await;
    sleep(LEADS).await;
    end.comes(&world, &first, &older).await;
    if let End::DriverGone = end {
        driver.abort();
        assert!(driver.await.unwrap_err().is_cancelled());
        seen.ends(&of_older, end.in_words());
    }
    // It does not lead again before the other one. Without a driver there is nothing to stop.
    older.stop().map(drop).await;
    let of_newer = newer.elected().await.unwrap();
    let new_fence = database.take_over(of_newer.token());
    database.write(&seen, &of_newer, &new_fence).await;
    // Refused: a newer tenure has the resource.
    database.write(&seen, &of_older, &old_fence).await;
    // Refused: the take-over is lost.
    database.connection.execute("DELETE FROM tenure_fences", []).unwrap();
    database.write(&seen, &of_newer, &new_fence).await;
    // Unknown: an error of the database, and a write whose end is not told.
    database.connection.execute("DROP TABLE tenure_fences", []).unwrap();
    database.write(&seen, &of_newer, &new_fence).await;
    newer.stop().await.unwrap();
    log.flush();
    let facts = seen.facts.lock().unwrap().clone();
    (std::fs::read_to_string(log.path()).unwrap(), facts)
}

fn audited(log: &str) -> Report {
    let mut audit = Audit::new(Settings::default());
    audit.read("log", log.as_bytes()).unwrap();
    audit.judge().unwrap()
}

fn check(end: End) {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let twice = async { timeout(LONG, leads_twice(end)).await };
    let (log, seen) = tokio.block_on(twice).unwrap_or_else(|_| panic!("{end:?} did not come"));
    assert_eq!(lines(&log), seen, "{end:?}");
    let count = |is: fn(&Fact) -> bool| seen.iter().filter(|fact| is(fact)).count() as u64;
    let outcomes = [Outcome::Accepted, Outcome::Refused, Outcome::Unknown].map(|outcome| {
        let is = |fact: &&Fact| matches!(fact, Fact::Wrote { outcome: one, .. } if *one == outcome);
        seen.iter().filter(is).count() as u64
    });
    assert_eq!(outcomes, [2, 2, 1], "{end:?}: {seen:#?}");
    assert!(count(|fact| matches!(fact, Fact::Renewed { .. })) > 3, "{end:?}: {seen:#?}");
    let ended = seen.iter().find_map(|fact| match fact {
        Fact::SteppedDown { reason, .. } => Some(reason.as_str()),
        _ => None,
    });
    assert_eq!(ended, Some(end.in_words()), "{seen:#?}");
    let report = audited(&log);
    assert_eq!(report.verdict(), Verdict::Held, "{end:?}: {report:#?}");
    assert_eq!(report.tenures, count(|fact| matches!(fact, Fact::Elected { .. })), "{end:?}");
    assert_eq!(report.without_end, 0, "{end:?}");
    assert_eq!([report.writes, report.refused_writes, report.unknown_writes], outcomes, "{end:?}");
}

#[test]
fn ends_that_are_asked_for_are_in_the_log() {
    [End::Resigned, End::Stopped].into_iter().for_each(check);
}

#[test]
fn ends_by_the_store_are_in_the_log() {
    [End::Expired, End::Superseded, End::RenewFailed].into_iter().for_each(check);
}

#[test]
fn ends_by_the_process_are_in_the_log() {
    [End::WorkDropped, End::Unresponsive, End::DriverGone].into_iter().for_each(check);
}
