//! A server that restarts under a leader: handovers long after it wait for nothing.

use futures_util::StreamExt;
use tenure::Event;

use super::TestServer;
use crate::stores::support::{falls, learns_of_leader, renewed, soon, start};

async fn a_handover_long_after_restarts_is_immediate(mut server: TestServer) {
    let config = server.outlasting;
    let one = server.candidate("one", config);
    let first = soon(one.elected()).await.unwrap();
    let fallen = falls(&one);
    server.process().restart();
    let mut events = one.events();
    // The first of them may have been answered before the restart.
    for _ in 0..2 {
        renewed(&mut events).await;
    }
    // The leader watches the new past for one quarantine, which is one TTL, and reports it with a
    // renewal.
    tokio::time::sleep(config.ttl() + 3 * config.renew_interval()).await;
    // After a pause of the machine, only the next renewals are sent after that time.
    let mut events = one.events();
    for _ in 0..2 {
        renewed(&mut events).await;
    }
    let (two, mut events) = start(server.store(), "two", config);
    learns_of_leader(&mut events).await;
    assert_eq!(*fallen.lock().unwrap(), [], "the restart was not under a leader");
    soon(one.stop()).await.unwrap();
    let second = soon(two.elected()).await.unwrap();
    assert!(second.token() > first.token());
    loop {
        match soon(events.next()).await.unwrap() {
            Event::Elected(_) => break,
            Event::Watching { remaining } => panic!("{remaining:?} were left to watch"),
            _ => {}
        }
    }
    soon(two.stop()).await.unwrap();
}
story!(a_handover_long_after_restarts_is_immediate);
