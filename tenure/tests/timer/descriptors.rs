//! The descriptors that sleeps, candidates and their work need; and what happens without any.

use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure::store::Memory;
use tenure::{Config, Elections};
use tokio::sync::Semaphore;
use tracing::span;

use super::support::{
    HOUR, MOMENT, alone, current_thread, multi_thread, open, sleep, soon, timer_threads, timerfds,
};

#[test]
fn all_sleeps_share_a_descriptor_and_a_thread() {
    let _alone = alone();
    for runtime in [current_thread(), multi_thread()] {
        let before = open();
        runtime.block_on(async {
            for _ in 0..2_000 {
                tokio::spawn(sleep(HOUR));
            }
            sleep(MOMENT).await;
            assert_eq!((timerfds(), timer_threads()), (1, 1));
            assert!(open() <= before + 1, "{} before, {} now", before, open());
        });
    }
}

#[test]
fn candidates_and_work_share_a_descriptor() {
    const MANY: usize = 500;
    let _alone = alone();
    let runtime = multi_thread();
    let before = open();
    runtime.block_on(async {
        let (elections, at_work) = (Elections::new(Memory::new()), Arc::new(Semaphore::new(0)));
        for index in 0..MANY {
            let candidate = elections.candidate(format!("job-{index}"));
            let candidate = candidate.config(Config::fast_failover()).start().unwrap();
            let at_work = Arc::clone(&at_work);
            tokio::spawn(async move {
                let work = |_| {
                    at_work.add_permits(1);
                    std::future::pending::<()>()
                };
                candidate.run_while_leader(work).await
            });
        }
        soon(at_work.acquire_many(u32::try_from(MANY).unwrap())).await.unwrap().forget();
        assert_eq!(timerfds(), 1);
        assert!(open() <= before + 1, "{} before, {} now", before, open());
    });
}

/// In a process of its own, which may open few files.
#[test]
fn sleeps_end_without_descriptors() {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 40; exec \"$0\" \"$@\""]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "timer::descriptors::out_of_descriptors", "--ignored", "--nocapture"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    let [out, err] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    let passed = output.status.success() && out.contains("1 passed");
    assert!(passed, "{command:?} ended with {}:\n{out}\n{err}", output.status);
}

#[test]
#[ignore = "carried out in a process that may open few files"]
fn out_of_descriptors() {
    let warnings = Warnings::default();
    let count = Arc::clone(&warnings.0);
    tracing::subscriber::set_global_default(warnings).unwrap();
    let runtime = current_thread();
    runtime.block_on(async {
        let all: Vec<_> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
        assert!(all.len() < 40);
        let before = tenure::runtime::Runtime::now(&tenure::runtime::TokioRuntime);
        let (several, long) = (std::array::from_fn::<_, 10, _>(|_| sleep(MOMENT)), sleep(HOUR));
        let long = tokio::spawn(long);
        soon(futures_util::future::join_all(several)).await;
        let now = tenure::runtime::Runtime::now(&tenure::runtime::TokioRuntime);
        assert!(now.since(before) >= MOMENT);
        assert_eq!(count.load(Ordering::SeqCst), 1, "one warning for all");

        drop(all);
        assert_eq!((timerfds(), timer_threads()), (0, 1));
        soon(sleep(MOMENT)).await;
        assert!(!long.is_finished());
    });
}

/// Counts them.
#[derive(Default)]
struct Warnings(Arc<AtomicUsize>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN && metadata.target().starts_with("tenure")
    }

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
