//! Stores that are called on threads outside of any tokio runtime.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use tenure::store::{Key, Reply, Request, Store};

use super::TestServer;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits on this thread, which has no runtime.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let (mut future, waker) = (pin!(future), Waker::from(Arc::new(Unpark(thread::current()))));
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return done;
        }
        thread::park_timeout(Duration::from_secs(20));
    }
}

async fn threads_outside_of_a_runtime_ask_the_store(server: TestServer) {
    let store = server.store();
    let asks = move || {
        let key = Key::new("job").unwrap();
        let mut answers = (0..2).map(|_| block_on(store.call(&key, Request::Observe)));
        answers.all(|answer| matches!(answer, Ok(Reply::Vacant)))
    };
    let thread = thread::spawn(asks);
    let answered = tokio::task::spawn_blocking(move || thread.join()).await.unwrap();
    assert!(answered.unwrap());
}
story!(threads_outside_of_a_runtime_ask_the_store);
