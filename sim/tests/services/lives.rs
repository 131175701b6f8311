//! The lives of a service's processes: what pauses them, and what ends them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_sim::plan::{Fault, Point, ProcessFault, Trigger, When};
use tenure_sim::simulation::Process;
use tenure_sim::trace::Who;
use tokio::time::{Instant, sleep};

use super::{Log, at, plan, scripted};

const NODE: Option<usize> = Some(1);

/// The notes of that node in one of the two runs of a replay.
fn notes(log: &Log, node: usize) -> Vec<(u32, u128)> {
    let mut of_runs = log.lock().unwrap().clone();
    let of_one = of_runs.len() / 2;
    assert_eq!(of_runs[..of_one], of_runs[of_one..], "a replay runs twice");
    of_runs.truncate(of_one);
    let of_node = of_runs.into_iter().filter(|(other, ..)| *other == node);
    of_node.map(|(_, life, number)| (life, number)).collect()
}

fn note(log: &Log, process: &Process, number: u128) {
    log.lock().unwrap().push((process.who.node, process.who.life, number));
}

/// Notes the time since the process began, at each whole 100 ms: in a task of tokio's.
async fn ticks(process: Process, log: Log) {
    let began = Instant::now();
    let ticking = tokio::spawn(async move {
        loop {
            note(&log, &process, began.elapsed().as_millis());
            sleep(Duration::from_millis(100)).await;
        }
    });
    let _ = ticking.await;
}

#[test]
fn a_paused_process_runs_no_task() {
    let (simulation, log) = scripted(|process, log| Box::pin(ticks(process, log)));
    simulation.replay(&plan(vec![at(1_050, 2_000, ProcessFault::Pause.at(NODE))])).unwrap();
    let times: Vec<u128> = notes(&log, 1).into_iter().map(|(_, time)| time).collect();
    let before = times.iter().position(|time| *time > 1_000).unwrap();
    // A process begins in the first millisecond, and the pause lasts from 1,050 to 3,050.
    assert_eq!((times[before - 1], times[before]), (1_000, 3_049), "{times:?}");
    assert_eq!(times[before + 1], 3_149, "a timer that was due in the pause fires at its end");
    let others: Vec<u128> = notes(&log, 0).into_iter().map(|(_, time)| time).collect();
    assert!(others.iter().zip(0..).all(|(time, tick)| *time == 100 * tick), "{others:?}");
}

#[test]
fn a_crash_drops_all_tasks() {
    let (simulation, log) = scripted(|process, log| Box::pin(ticks(process, log)));
    let crash = ProcessFault::Crash { power: false }.at(NODE);
    simulation.replay(&plan(vec![at(1_050, 500, crash)])).unwrap();
    let notes = notes(&log, 1);
    let times = |of: u32| notes.iter().filter(move |(life, _)| *life == of).map(|(_, time)| *time);
    assert_eq!(times(0).next_back(), Some(1_000), "{notes:?}");
    assert!(times(1).zip(0..).all(|(time, tick)| time == 100 * tick), "its clock begins again");
    assert!(times(1).count() > 30 && times(2).count() == 0, "{notes:?}");
}

#[test]
fn a_service_that_returns_is_restarted() {
    let (simulation, log) = scripted(|process, log| {
        Box::pin(async move {
            note(&log, &process, 0);
            // No life before watches the past for a quarantine, so that no candidate leads until
            // one stays.
            if process.who.life == 4 {
                std::future::pending::<()>().await;
            }
            sleep(Duration::from_millis(500)).await;
            note(&log, &process, 1);
        })
    });
    simulation.replay(&plan(vec![])).unwrap();
    let lives: Vec<u32> = notes(&log, 1).into_iter().map(|(life, _)| life).collect();
    assert_eq!(lives.len(), 9, "{lives:?}");
    assert!(lives.iter().enumerate().all(|(place, life)| *life as usize == place / 2), "{lives:?}");
}

/// Ends when it is asked to, if it is the first life of its node.
async fn ends_when_asked(process: Process, log: Log, takes: Duration) {
    let shutdown = process.shutdown.clone();
    note(&log, &process, 0);
    shutdown.cancelled().await;
    note(&log, &process, 1);
    sleep(takes).await;
    note(&log, &process, 2);
}

#[test]
fn a_process_that_is_asked_to_end_ends_or_is_killed() {
    let leaves = || plan(vec![at(1_000, 2_000, ProcessFault::Leave.at(NODE))]);
    let (simulation, log) = scripted(|process, log| {
        Box::pin(ends_when_asked(process, log, Duration::from_millis(500)))
    });
    simulation.replay(&leaves()).unwrap();
    assert_eq!(notes(&log, 1), [(0, 0), (0, 1), (0, 2), (1, 0)], "it ends, and is restarted");
    assert_eq!(notes(&log, 0), [(0, 0)], "the other one is not asked");
    let (simulation, log) =
        scripted(|process, log| Box::pin(ends_when_asked(process, log, Duration::from_secs(60))));
    simulation.replay(&leaves()).unwrap();
    assert_eq!(notes(&log, 1), [(0, 0), (0, 1), (1, 0)], "it is killed, and restarted");
}

#[test]
fn a_call_lands_after_its_process_has_crashed() {
    let (simulation, log) = scripted(|process, log| {
        Box::pin(async move {
            let who = process.who;
            let lands = Arc::clone(&log);
            let call = move || lands.lock().unwrap().push((who.node, who.life, 0));
            process.outside.call(call).await;
            note(&log, &process, 1);
            std::future::pending::<()>().await;
        })
    });
    let crash = ProcessFault::Crash { power: false }.at(NODE);
    let mut plan = plan(vec![at(200, 1_000, crash)]);
    plan.work.takes_us = 500_900;
    simulation.replay(&plan).unwrap();
    assert_eq!(notes(&log, 1), [(0, 0), (1, 0), (1, 1)], "it lands, and the reply is not read");
    assert_eq!(notes(&log, 0), [(0, 0), (0, 1)]);
}

/// Each leader notes the time, then what a call notes when it lands, and the end of its work.
async fn writes(process: Process, log: Log) {
    let began = Instant::now();
    let who = process.who;
    let work = async |tenure: tenure::Tenure| {
        let _ends = Ends(who, Arc::clone(&log), began);
        while tenure.is_current() {
            let (lands, checked) = (Arc::clone(&log), began.elapsed().as_millis());
            let call = move || lands.lock().unwrap().push((who.node, who.life, LANDS + checked));
            process.outside.call(call).await;
            note(&log, &process, began.elapsed().as_millis());
            sleep(Duration::from_millis(20)).await;
        }
    };
    let _ = process.candidate.run_while_leader(work).await;
}

/// Added to the time of the check, in the note of a call that lands.
const LANDS: u128 = 1_000_000;
/// Added to the time at which the work ends.
const ENDS: u128 = 2_000_000;

struct Ends(Who, Log, Instant);

impl Drop for Ends {
    fn drop(&mut self) {
        let Self(who, log, began) = self;
        log.lock().unwrap().push((who.node, who.life, ENDS + began.elapsed().as_millis()));
    }
}

/// The request is sent at the end of the pause, before the library can drop the work; and nothing
/// runs in between.
#[test]
fn a_pause_at_the_guard_stops_inside_the_poll() {
    let (simulation, log) = scripted(|process, log| Box::pin(writes(process, log)));
    let trigger = Trigger { point: Point::Guard, node: None, of: None, nth: 3, after_ms: 0 };
    let pause = ProcessFault::Pause.at(None);
    simulation
        .replay(&plan(vec![Fault { when: When::On(trigger), for_ms: 3_000, what: pause }]))
        .unwrap();
    let paused = [0, 1].map(|node| notes(&log, node)).into_iter().find_map(|notes| {
        let times: Vec<u128> = notes.into_iter().map(|(_, time)| time).collect();
        let ends = times.iter().position(|time| *time >= ENDS)?;
        Some((times[ends - 1], times[ends]))
    });
    let (landed, ended) = paused.expect("a leader's work ends");
    let checked = landed.checked_sub(LANDS).expect("the call lands right before the work ends");
    assert!((3_000..3_010).contains(&(ended - ENDS - checked)), "{checked}, then {ended}");
}

/// A crash in the place of the end of the pause.
#[test]
fn a_process_that_dies_at_the_guard_sends_nothing() {
    let (simulation, log) = scripted(|process, log| Box::pin(writes(process, log)));
    let trigger = Trigger { point: Point::Guard, node: None, of: None, nth: 3, after_ms: 0 };
    let crash = ProcessFault::Crash { power: false }.at(None);
    simulation
        .replay(&plan(vec![Fault { when: When::On(trigger), for_ms: 500, what: crash }]))
        .unwrap();
    let crashed = [0, 1].map(|node| notes(&log, node)).into_iter().find_map(|notes| {
        let ends = notes.iter().position(|(_, time)| *time >= ENDS)?;
        Some(notes[..ends].iter().map(|(_, time)| *time).collect::<Vec<_>>())
    });
    let times = crashed.expect("a leader's work ends");
    let last = times.last().expect("a call has landed");
    assert!(*last < LANDS, "each call that has landed was answered: {times:?}");
}

/// True if a destructor has run in the runtime of its process.
static DROPPED_INSIDE: AtomicBool = AtomicBool::new(false);

struct Cleanup;

impl Drop for Cleanup {
    fn drop(&mut self) {
        DROPPED_INSIDE.store(tokio::runtime::Handle::try_current().is_ok(), Ordering::SeqCst);
    }
}

#[test]
fn destructors_run_inside_the_process() {
    let (simulation, _) = scripted(|process, _| {
        Box::pin(async move {
            let _cleanup = Cleanup;
            let _ = process
                .candidate
                .run_while_leader(async |_| std::future::pending::<()>().await)
                .await;
            unreachable!("{:?} ends", Arc::new(process.who));
        })
    });
    let crash = ProcessFault::Crash { power: false }.at(NODE);
    simulation.replay(&plan(vec![at(3_000, 500, crash)])).unwrap();
    assert!(DROPPED_INSIDE.load(Ordering::SeqCst));
}
