//! Code of docs/simulating-your-code.md.

use tenure_sim::Simulation;
use tenure_sim::simulation::{Effect, Leader, Workload};

/// A number that only ever grows.
#[derive(Default)]
struct Sequence {
    fence: u64,
    next: u64,
    given: Vec<u64>,
}

impl Workload for Sequence {
    type Intent = u64;

    fn intend(&self, _leader: Leader) -> Option<u64> {
        Some(self.next)
    }

    fn effect(&mut self, effect: Effect<u64>) {
        // UPDATE sequence SET next = $n + 1, fence = $token WHERE fence <= $token AND next = $n
        //
        // To refuse lower tokens is enough here: `next = $n` compares what the leader has read.
        if effect.by.token >= self.fence && effect.intent == self.next {
            self.fence = effect.by.token;
            self.given.push(self.next);
            self.next += 1;
        }
    }

    fn verify(&self) -> Result<(), String> {
        let grows = self.given.is_sorted_by(|one, next| one < next);
        if grows { Ok(()) } else { Err(format!("{:?} do not grow", self.given)) }
    }
}

#[test]
fn no_number_is_given_twice() {
    Simulation::new().runs(200).workload(Sequence::default).check();
}
