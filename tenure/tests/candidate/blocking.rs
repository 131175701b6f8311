//! Code of the application that blocks a thread costs other elections nothing, as long as the
//! runtime has another thread.
//!
//! Each case does something that wakes the driver, and blocks its thread in the same poll.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tenure::store::Memory;
use tenure::{Candidate, Elections, Event};
use tokio::runtime::Builder;

use super::support::{soon, steady};

/// Far above the time of any case.
const AT_MOST: Duration = Duration::from_secs(40);

/// Blocks its thread until the test lets it go on.
#[derive(Clone)]
struct Block(Arc<Inner>);

struct Inner {
    begins: Sender<()>,
    release: Mutex<Receiver<()>>,
}

impl Block {
    fn until_released(&self) {
        let _ = self.0.begins.send(());
        let _ = self.0.release.lock().unwrap().recv_timeout(AT_MOST);
    }
}

/// Another election goes on while a task of the application does that and blocks one of two
/// threads.
fn another_election_goes_on<F: Future<Output = ()> + Send + 'static>(
    task: impl FnOnce(Candidate, Block) -> F,
) {
    let ((begins, begun), (go_on, release)) = (channel(), channel());
    let block = Block(Arc::new(Inner { begins, release: Mutex::new(release) }));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let elections = Elections::new(Memory::new());
        let start = |key| elections.candidate(key).config(steady()).start().unwrap();
        let (other, own) = (start("other"), start("own"));
        let mut events = other.events();
        soon(async { tokio::join!(other.elected(), own.elected()) }).await.0.unwrap();
        let task = runtime.spawn(task(own, block));
        // This thread is none of the two.
        begun.recv_timeout(AT_MOST).unwrap();
        let mut renewals = 0;
        // Some may have been on their way before.
        while renewals < 3 {
            let event = soon(events.next()).await.unwrap();
            renewals += u32::from(matches!(event, Event::Renewed(_)));
        }
        go_on.send(()).unwrap();
        soon(task).await.unwrap();
        soon(other.stop()).await.unwrap();
    });
}

#[test]
fn new_metadata() {
    another_election_goes_on(|own, block| async move {
        own.set_metadata("new").unwrap();
        block.until_released();
    });
}

#[test]
fn a_watchdog() {
    another_election_goes_on(|own, block| async move {
        let tenure = own.elected().await.unwrap();
        let _watchdog = tenure.watchdog(AT_MOST);
        block.until_released();
    });
}

#[test]
fn an_observer() {
    another_election_goes_on(|own, block| async move {
        let mut observer = own.observe();
        // The other thread may answer meanwhile.
        let _ = observer.next().now_or_never();
        block.until_released();
    });
}

#[test]
fn a_question() {
    another_election_goes_on(|own, block| async move {
        // The other thread may answer meanwhile.
        let _ = own.incumbent().now_or_never();
        block.until_released();
    });
}

#[test]
fn the_start_of_work() {
    another_election_goes_on(|own, block| async move {
        let work = async |_| block.until_released();
        own.run_while_leader(work).await.unwrap();
    });
}

#[test]
fn the_end_of_work_after_its_tenure() {
    another_election_goes_on(|own, block| async move {
        own.run_if_leader(async |_| {
            assert!(own.resign().now_or_never().is_none());
        })
        .await;
        block.until_released();
    });
}

#[test]
fn a_callback() {
    another_election_goes_on(|own, block| async move {
        own.on_stepped_down(move |_, _| {
            let block = block.clone();
            async move { block.until_released() }
        });
        soon(own.resign()).await.unwrap();
    });
}

#[test]
fn a_dropped_candidate() {
    another_election_goes_on(|own, block| async move {
        drop(own);
        block.until_released();
    });
}

/// A thread that polls for I/O and timers runs the task of the first one itself.
#[test]
fn a_timer_of_the_application() {
    another_election_goes_on(|_, block| async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        block.until_released();
    });
}
