//! Time that a test moves.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use tenure::runtime::NoRuntime;
use tenure::testing::World;
use tenure::{Config, Event};
use tokio::runtime::Builder;
use tokio::time::Instant;

use super::support::{Leading, SECOND, soon, ttl};

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test]
async fn a_running_clock_is_paused() {
    let wall = std::time::Instant::now();
    let leading = Leading::new().await;
    leading.world.advance(DAY).await;
    assert!(leading.tenure.is_current(), "renewed all day");
    assert!(wall.elapsed() < DAY / 2);
}

#[tokio::test(start_paused = true)]
async fn time_advances_exactly() {
    let world = World::new().unwrap();
    let began = Instant::now();
    for millis in [1_234, 0, 1] {
        let (before, by) = (began.elapsed(), Duration::from_millis(millis));
        world.advance(by).await;
        assert_eq!(began.elapsed(), before + by);
    }
}

#[tokio::test]
async fn what_is_due_has_happened_after_advance() {
    let leading = Leading::new().await;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    // Each wakes the next one.
    for step in 0..20 {
        let (sender, tenure) = (sender.clone(), leading.tenure.clone());
        tokio::spawn(async move {
            tenure.ended().await;
            for _ in 0..step {
                tokio::task::yield_now().await;
            }
            sender.send(step)
        });
    }
    leading.process.cut();
    leading.world.advance(leading.tenure.remaining()).await;
    assert_eq!(receiver.len(), 20);
    assert_eq!(receiver.recv().await, Some(0));
}

#[test]
fn runtimes_that_can_not_be_paused_are_refused() {
    let refuses = |error: NoRuntime, text| assert!(error.to_string().contains(text), "{error}");
    refuses(World::new().unwrap_err(), "no tokio runtime here");
    let threads = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    refuses(threads.block_on(async { World::new().unwrap_err() }), "has several threads");
    let timeless = Builder::new_current_thread().build().unwrap();
    refuses(timeless.block_on(async { World::new().unwrap_err() }), "has no timers");
}

#[tokio::test]
async fn worlds_share_the_clock_of_their_runtime() {
    let (one, other) = (World::new().unwrap(), World::new().unwrap());
    let began = Instant::now();
    tokio::join!(one.advance(SECOND), other.advance(2 * SECOND));
    assert_eq!(began.elapsed().as_secs(), 2);
    // Their stores are not shared.
    let first = one.process().candidate("job").start().unwrap();
    let second = other.process().candidate("job").start().unwrap();
    let both = async { tokio::join!(first.elected(), second.elected()) };
    assert!(matches!(soon(both).await, (Ok(_), Ok(_))));
}

#[tokio::test]
async fn other_threads_see_the_same_time() {
    let leading = Leading::new().await;
    leading.world.advance(3 * DAY).await;
    let candidate = leading.candidate.clone();
    let seen = std::thread::spawn(move || candidate.health().role).join().unwrap();
    assert_eq!(seen, leading.candidate.health().role);
}

#[tokio::test]
async fn a_jump_is_a_pause_of_the_process() {
    let leading = Leading::new().await;
    tokio::time::advance(leading.tenure.remaining() / 2).await;
    assert!(leading.tenure.is_current(), "a short pause costs no lead");
    leading.world.advance(Duration::ZERO).await;
    tokio::time::advance(ttl()).await;
    assert!(!leading.tenure.is_current() && !leading.candidate.is_leader());
}

#[tokio::test]
async fn one_advance_ends_leases_in_their_order() {
    let world = World::new().unwrap();
    let process = world.process();
    let began = Instant::now();
    let ended = Arc::new(Mutex::new(Vec::new()));
    let configs = [Config::unreliable_network(), Config::normal(), Config::fast_failover()];
    let mut candidates = Vec::new();
    for config in configs {
        let candidate =
            process.candidate(format!("{:?}", config.ttl())).config(config).start().unwrap();
        let ended = Arc::clone(&ended);
        candidate.on_stepped_down(move |_, _| {
            ended.lock().unwrap().push((config, began.elapsed()));
            async {}
        });
        soon(candidate.elected()).await.unwrap();
        candidates.push(candidate);
    }
    process.cut();
    world.advance(600 * SECOND).await;
    let ended = ended.lock().unwrap();
    let order: Vec<_> = ended.iter().map(|(config, _)| *config).collect();
    assert!(order.iter().eq(configs.iter().rev()), "{ended:?}");
    for (config, after) in &*ended {
        assert!((config.validity()..config.ttl()).contains(after), "{after:?} of {config:?}");
    }
}

/// The times of an outage's events.
fn outage() -> Vec<(Duration, &'static str)> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let world = World::new().unwrap();
        let process = world.process();
        let began = Instant::now();
        let (candidate, driver) = process.candidate("job").build().unwrap();
        let mut events = candidate.events();
        let record = tokio::spawn(async move {
            let mut seen = Vec::new();
            while let Some(event) = events.next().await {
                let name = match event {
                    Event::Elected(_) => "elected",
                    Event::Renewed(_) => "renewed",
                    Event::SteppedDown { .. } => "stepped down",
                    Event::StoreUnavailable { .. } => "unavailable",
                    Event::StoreRecovered => "recovered",
                    _ => "another",
                };
                seen.push((began.elapsed(), name));
            }
            seen
        });
        tokio::spawn(driver.run());
        world.advance(20 * SECOND).await;
        process.cut();
        world.advance(10 * SECOND).await;
        process.heal();
        world.advance(20 * SECOND).await;
        candidate.stop().await.unwrap();
        soon(record).await.unwrap()
    })
}

#[test]
fn jitter_is_the_same_in_each_world() {
    let first = outage();
    let names: Vec<_> = first.iter().map(|(_, name)| *name).collect();
    assert!(names.contains(&"unavailable") && names.contains(&"recovered"), "{names:?}");
    assert_eq!(first, outage());
}
