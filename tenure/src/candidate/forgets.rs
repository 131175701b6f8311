//! The elections that a driver knows.

use std::time::Duration;

use crate::runtime::{Runtime, TokioRuntime};
use crate::store::Memory;
use crate::{Candidate, Config, Elections};

const ELECTIONS: usize = 2_000;
const MOMENT: Duration = Duration::from_secs(1);

/// A process may lead, one after the other, in more elections than it could remember.
#[tokio::test]
async fn nothing_is_kept_of_elections_that_have_ended() {
    let elections = Elections::new(Memory::new());
    let mut driver = elections.driver().unwrap();
    let config = Config::builder(Duration::from_secs(60));
    let config = config.renew_interval(MOMENT / 2).build().unwrap();
    let start = |number| elections.candidate(format!("job-{number}")).config(config).start();
    let candidates: Vec<Candidate> = (0..ELECTIONS).map(|number| start(number).unwrap()).collect();
    let pauses = || TokioRuntime.sleep_until(TokioRuntime.now() + MOMENT);
    let leads = async {
        for candidate in &candidates {
            candidate.elected().await.unwrap();
        }
        // Renewals are under way.
        pauses().await;
    };
    tokio::select! {
        biased;
        () = driver.drive() => panic!("it has ended"),
        () = leads => {}
    }
    assert_eq!(driver.remembers()[0], ELECTIONS);
    let leaves = async {
        for candidate in &candidates {
            candidate.stop().await.unwrap();
        }
        // The last changes are told to the store.
        pauses().await;
    };
    tokio::select! {
        biased;
        () = driver.drive() => panic!("it has ended"),
        () = leaves => {}
    }
    // A pause of the machine may have left it no turn in that moment.
    for _ in 0..10 {
        if driver.remembers() == [0; 8] {
            break;
        }
        tokio::select! {
            biased;
            () = driver.drive() => panic!("it has ended"),
            () = pauses() => {}
        }
    }
    assert_eq!(driver.remembers(), [0; 8]);
}
