//! Several processes on one file.

use std::io::Write;
use std::time::Duration;

use rustix::process::Signal;
use tenure::runtime::{Runtime, TokioRuntime};
use tenure::store::sqlite::{Sqlite, SqliteConfig, SqliteError};
use tenure::store::{Key, Reply, Request, Store};
use tenure::{Candidate, Config, Tenure};
use tenure_servers::ServerClock;

use super::child::{self, Teller};
use super::support::{
    Folder, RENEWED, SOON, acquire, call, config, granted, granted_after_a_watch, past_tenure,
    refuses, release, renew, soon, sql, vacant, why,
};
use crate::stores::stories::clock::STEPS;

/// On a line of its own, whatever the test harness has begun to write.
fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n{line}").unwrap();
    out.flush().unwrap();
}

/// The boot clock, which all processes of a host share.
fn nanos() -> u64 {
    TokioRuntime.now().as_nanos()
}

/// Leads as often as it can, each time for a moment, and reports it: the token, and a span of the
/// boot clock in which it led.
#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn contender() {
    let Some(file) = child::file() else { return };
    let store = Sqlite::new(config(&file).trust_empty_store(true));
    let settings = Config::builder(Duration::from_secs(5))
        .poll_bound(Duration::from_millis(20))
        .build()
        .unwrap();
    let candidate = Candidate::builder(store, "job")
        .config(settings)
        .hold_off(Duration::from_millis(30))
        .start()
        .unwrap();
    loop {
        let tenure = soon(candidate.elected()).await.unwrap();
        let (mut from, mut until) = (None, 0);
        for _ in 0..20 {
            let before = nanos();
            if tenure.is_current() && candidate.is_leader() {
                until = before;
                from = from.or(Some(nanos()));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if let Some(from) = from {
            tell(&format!("led {} {from} {until}", tenure.token()));
        }
        candidate.resign().await.unwrap();
    }
}

/// The next tenure that a contender reports: its token, the span, and the contender's number.
fn led(contender: &mut Teller, number: usize) -> Option<(u64, u64, u64, usize)> {
    let word = contender.reported("led")?;
    let mut numbers = word.split(' ').map(|number| number.parse::<u64>().unwrap());
    let [token, from, until] = std::array::from_fn(|_| numbers.next().unwrap());
    Some((token, from, until, number))
}

#[test]
fn processes_lead_in_turn_and_replace_killed_ones() {
    let folder = Folder::new();
    let spawn = || Teller::spawn(child::command("processes::contender", &folder.file));
    let mut contenders = [spawn(), spawn(), spawn()];
    let mut tenures = Vec::new();
    for (number, contender) in contenders.iter_mut().enumerate() {
        tenures.push(led(contender, number).expect("each leads"));
    }
    contenders[0].kill();
    let killed_at = nanos();
    for (number, contender) in contenders.iter_mut().enumerate().skip(1) {
        while tenures.last().is_none_or(|last| last.3 != number || last.1 < killed_at) {
            tenures.push(led(contender, number).expect("the others go on"));
        }
    }
    contenders[1..].iter_mut().for_each(Teller::kill);
    for (number, contender) in contenders.iter_mut().enumerate() {
        tenures.extend(std::iter::from_fn(|| led(contender, number)));
    }
    tenures.sort_unstable();
    for pair in tenures.windows(2) {
        let ((token, _, until, _), (next, from, ..)) = (pair[0], pair[1]);
        assert!(token < next, "{token} was led under twice");
        assert!(until < from, "{token} and {next} overlap: {pair:?}");
    }
}

const TTL: Duration = Duration::from_secs(6);
const RENEW_INTERVAL: Duration = Duration::from_secs(1);

/// Leads whenever it may, and reports it again and again: the token, and the boot clock.
#[tokio::test]
#[ignore = "carried out in a process of its own"]
async fn lasting_leader() {
    let Some(file) = child::file() else { return };
    let store = Sqlite::new(config(&file).trust_empty_store(true));
    let settings = Config::builder(TTL).renew_interval(RENEW_INTERVAL).build().unwrap();
    let candidate = Candidate::builder(store, "job").config(settings).start().unwrap();
    loop {
        if let Some(tenure) = candidate.tenure().filter(Tenure::is_current) {
            let now = nanos();
            if tenure.is_current() {
                tell(&format!("leads {} {now}", tenure.token()));
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The next tenure above that token which a process reports, of that time or a later one: its
/// token, and when it led.
fn leads(process: &mut Teller, above: u64, since: u64) -> (u64, u64) {
    loop {
        let word = process.reported("leads").expect("it leads in the end");
        let (token, at) = word.split_once(' ').unwrap();
        let (token, at) = (token.parse().unwrap(), at.parse().unwrap());
        if token > above && at >= since {
            return (token, at);
        }
    }
}

/// The clock of all processes is set while the leader stands still: others lead when its lease has
/// ended, and not before.
#[test]
fn a_stepped_clock_changes_nothing() {
    let folder = Folder::new();
    let mut clock = ServerClock::start(0).unwrap();
    let spawn = |clock: &ServerClock| {
        let mut command = child::command("processes::lasting_leader", &folder.file);
        clock.sets(&mut command);
        Teller::spawn(command)
    };
    let mut leader = spawn(&clock);
    let (mut token, _) = leads(&mut leader, 0, 0);
    let mut other = spawn(&clock);
    for by_ms in STEPS {
        // Not within a commit: its lock would keep all others out.
        let own = folder.sql();
        let stopped = loop {
            let began = nanos();
            // The other one has seen the lease, and its leader has renewed it.
            std::thread::sleep(RENEW_INTERVAL * 3);
            own.execute_batch("BEGIN IMMEDIATE").unwrap();
            let now = nanos();
            // After a pause of the machine, the last renewal is old.
            if Duration::from_nanos(now - began) < RENEW_INTERVAL * 7 / 2 {
                leader.pause();
                own.execute_batch("ROLLBACK").unwrap();
                break now;
            }
            own.execute_batch("ROLLBACK").unwrap();
        };
        clock.step(by_ms).unwrap();
        let (next, at) = leads(&mut other, token, stopped);
        leader.signal(Signal::CONT);
        let took = Duration::from_nanos(at - stopped);
        // The last renewal may have been late.
        assert!(took > TTL.saturating_sub(TTL / 3), "{took:?} after a step of {by_ms} ms");
        assert!(took < TTL * 10, "{took:?} after a step of {by_ms} ms");
        (leader, other, token) = (other, leader, next);
    }
}

/// Writes much of what a grant writes, and stays in the middle of it.
#[test]
#[ignore = "carried out in a process of its own"]
fn stuck() {
    let Some(file) = child::file() else { return };
    let connection = sql(&file);
    // So small a cache that uncommitted pages go to the file's log.
    connection
        .execute_batch(
            "PRAGMA cache_size = 2; BEGIN IMMEDIATE;
             UPDATE elections SET token = token + 1, holder = zeroblob(16), released = 0;
             UPDATE past SET watched = 0;
             WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 500)
             INSERT INTO elections
                 (key, token, holder, number, released, ttl, quarantine, written, name, metadata)
                 SELECT 'other-' || i, 1, zeroblob(16), 1, 0, 0, 0, 0, '', zeroblob(4000)
                 FROM number;",
        )
        .unwrap();
    tell("stuck");
    std::thread::sleep(SOON * 10);
}

#[tokio::test]
async fn a_killed_transaction_leaves_nothing_behind() {
    let folder = Folder::new();
    let store = folder.store();
    let last = past_tenure(&store).await;
    let size = || std::fs::metadata(folder.folder.path().join("elections.db-wal")).unwrap().len();
    let before = size();
    let mut stuck = Teller::spawn(child::command("processes::stuck", &folder.file));
    stuck.reported("stuck").expect("it got that far");
    assert!(size() > before + 1_000_000, "half a transaction is on the disk");

    // As long as it lives, no request is granted; readers see the state before.
    let waits = Duration::from_millis(200);
    let impatient = Sqlite::new(SqliteConfig::new(&folder.file).busy_timeout(waits));
    let locked = |error: &SqliteError| match error {
        SqliteError::Locked { waited, .. } => *waited >= waits,
        _ => false,
    };
    refuses(&impatient, &[acquire(2, Some(last))], locked).await;
    vacant(&impatient).await;

    stuck.kill();
    let token = granted(&impatient, acquire(2, Some(last))).await;
    assert!(token > last);
    let count = "SELECT count(*) FROM elections";
    let count: i64 = folder.sql().query_row(count, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1);
    let whole = "PRAGMA integrity_check";
    let whole: String = folder.sql().query_row(whole, [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
}

/// Has used the file, and keeps it open.
#[test]
#[ignore = "carried out in a process of its own"]
fn idle() {
    let Some(file) = child::file() else { return };
    let connection = sql(&file);
    connection.execute_batch("UPDATE elections SET ttl = ttl + 1").unwrap();
    tell("idle");
    std::thread::sleep(SOON * 10);
}

#[tokio::test]
async fn a_new_file_shares_nothing_with_the_old() {
    let folder = Folder::new();
    let (old, new) = (folder.store(), folder.distrustful());
    let last = past_tenure(&old).await;
    let mut idle = Teller::spawn(child::command("processes::idle", &folder.file));
    idle.reported("idle").expect("it got that far");
    // The files that SQLite keeps beside it stay: the log, and the memory that all users share.
    std::fs::remove_file(&folder.file).unwrap();
    let mut token = granted_after_a_watch(&new, acquire(1, None)).await;
    assert!(token > last);
    for number in 2..50 {
        let released = call(&new, release(number - 1, token)).await.unwrap();
        assert_eq!(released, Reply::Released);
        token = granted(&new, acquire(number, Some(token))).await;
    }
    let replaced = |error: &SqliteError| matches!(error, SqliteError::Replaced { .. });
    refuses(&old, &[Request::Observe], replaced).await;
    assert_eq!(call(&old, renew(49, token)).await.unwrap(), RENEWED);
    let whole = "PRAGMA integrity_check";
    let whole: String = folder.sql().query_row(whole, [], |row| row.get(0)).unwrap();
    assert_eq!(whole, "ok");
}

#[tokio::test]
async fn an_abandoned_request_is_not_carried_out() {
    let folder = Folder::new();
    let store = folder.store();
    let last = past_tenure(&store).await;
    let lock = folder.sql();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let key = Key::new("job").unwrap();
    // One waits for the lock and one for its turn, when their callers give up.
    let (one, two) = (acquire(1, Some(last)), acquire(2, Some(last)));
    let both = futures_util::future::join(store.call(&key, one), store.call(&key, two));
    let given_up = tokio::time::timeout(Duration::from_millis(100), both).await;
    assert!(given_up.is_err(), "{given_up:?}");
    // The third is answered once the lock is free, and the two before it have left nothing.
    let unlock = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        lock.execute_batch("ROLLBACK").unwrap();
    };
    let (answer, ()) = futures_util::future::join(call(&store, Request::Observe), unlock).await;
    assert!(matches!(answer, Ok(Reply::At(shown)) if shown.incumbent().is_none()));
    granted(&store, acquire(3, Some(last))).await;
}

/// SQLite itself waits for ten milliseconds.
#[tokio::test]
async fn the_tables_are_made_when_readers_have_ended() {
    let folder = Folder::new();
    let reader = sql(&folder.file);
    reader.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema").unwrap();
    let ends = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        reader.execute_batch("COMMIT").unwrap();
    });
    granted(&folder.store(), acquire(1, None)).await;
    ends.join().unwrap();
}

#[tokio::test]
async fn many_processes_may_create_the_file_concurrently() {
    for _ in 0..10 {
        let folder = Folder::new();
        let stores: Vec<_> = (0..8).map(|_| folder.store()).collect();
        let calls = stores.iter().map(|store| call(store, acquire(1, None)));
        let answers = futures_util::future::join_all(calls).await;
        let tokens: Vec<_> = answers
            .into_iter()
            .map(|answer| match answer {
                Ok(Reply::Granted { token }) => token,
                Ok(other) => panic!("{other:?}"),
                Err(error) => panic!("{error}: {:?}", why(&error)),
            })
            .collect();
        assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
    }
}
