//! A subscriber that panics, as one does whose writer fails, costs lines and spans alone.

use std::sync::{Arc, Mutex};
use std::thread;

use futures_util::StreamExt;
use tenure::{Candidate, Event};
use tokio::runtime::Builder;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::set_default;
use tracing::{Metadata, Subscriber};

use crate::metrics::support::{Remote, soon, steady, until};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    New,
    Clone,
    Enter,
    Event,
    Exit,
    Close,
}

/// Panics in one kind of call, or in none. Clones are the same.
#[derive(Clone, Default)]
struct Panics {
    at: Option<Call>,
    met: Arc<Mutex<Met>>,
}

#[derive(Clone, Copy, Default)]
struct Met {
    panics: u32,
    was_unwinding: bool,
    entered: i32,
    open: i32,
}

impl Panics {
    fn met(&self) -> Met {
        *self.met.lock().unwrap()
    }

    fn called(&self, call: Call) {
        let panics = self.at == Some(call);
        let mut met = self.met.lock().unwrap();
        met.panics += u32::from(panics);
        met.was_unwinding |= thread::panicking();
        match call {
            Call::New | Call::Clone => met.open += 1,
            Call::Close => met.open -= 1,
            Call::Enter => met.entered += 1,
            Call::Exit => met.entered -= 1,
            Call::Event => {}
        }
        drop(met);
        assert!(!panics, "on purpose: {call:?}");
    }
}

impl Subscriber for Panics {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("tenure")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        self.called(Call::New);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &tracing::Event<'_>) {
        self.called(Call::Event);
    }

    fn enter(&self, _: &Id) {
        self.called(Call::Enter);
    }

    fn exit(&self, _: &Id) {
        self.called(Call::Exit);
    }

    fn clone_span(&self, id: &Id) -> Id {
        self.called(Call::Clone);
        id.clone()
    }

    fn try_close(&self, _: Id) -> bool {
        self.called(Call::Close);
        false
    }
}

#[tokio::test]
async fn a_subscriber_that_panics_costs_no_lead() {
    for call in [Call::New, Call::Clone, Call::Enter, Call::Event, Call::Exit, Call::Close] {
        let log = Panics { at: Some(call), ..Panics::default() };
        let _guard = set_default(log.clone());
        let builder = Candidate::builder(Remote::default(), "job").config(steady());
        let (candidate, driver) = builder.build().unwrap();
        let driver = tokio::spawn(driver.run());
        soon(candidate.elected()).await.unwrap();
        let mut events = candidate.events();
        let renewed = async { while !matches!(events.next().await.unwrap(), Event::Renewed(_)) {} };
        soon(renewed).await;
        assert_eq!(soon(candidate.run_if_leader(async |_| 7)).await, Some(7), "{call:?}");
        // Each election that is dropped under a current tenure is worth a warning.
        assert!(candidate.is_leader(), "{call:?}");
        driver.abort();
        assert!(driver.await.unwrap_err().is_cancelled(), "{call:?}");
        assert!(log.met().panics > 0, "{call:?}");
    }
}

#[test]
fn no_subscriber_is_called_while_a_thread_unwinds() {
    let log = Panics::default();
    let of_thread = log.clone();
    assert!(thread::spawn(move || unwinds(&of_thread)).join().is_err());
    assert!(!log.met().was_unwinding);
}

/// Drops a runtime, and the driver of a leader in it, by a panic.
fn unwinds(log: &Panics) {
    let _guard = set_default(log.clone());
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let candidate = runtime.block_on(async {
        let builder = Candidate::builder(Remote::default(), "job").config(steady());
        let candidate = builder.start().unwrap();
        soon(candidate.elected()).await.unwrap();
        let worker = candidate.clone();
        let work = async move { worker.run_if_leader(async |_| panic!("on purpose")).await };
        assert!(soon(tokio::spawn(work)).await.unwrap_err().is_panic());
        // The work has left its span, which is closed: the tenure's own is open.
        until(|| (log.met().entered, log.met().open) == (0, 1)).await;
        candidate
    });
    assert!(!candidate.is_leader(), "on purpose");
}
