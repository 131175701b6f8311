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

/// The tasks of a connection need a runtime. The next caller inside of one is not disturbed.
async fn calls_outside_of_a_runtime_fail(server: TestServer) {
    let store = Arc::new(server.store());
    let outside = Arc::clone(&store);
    let ask = move || block_on(outside.call(&Key::new("job").unwrap(), Request::Observe));
    let thread = thread::spawn(ask);
    let answer = tokio::task::spawn_blocking(move || thread.join()).await.unwrap().unwrap();
    let error = answer.unwrap_err();
    assert!(error.to_string().contains("no tokio runtime here"), "{error}");
    let answer = store.call(&Key::new("job").unwrap(), Request::Observe).await;
    assert!(matches!(answer, Ok(Reply::At(_))), "{answer:?}");
}
story!(calls_outside_of_a_runtime_fail);
