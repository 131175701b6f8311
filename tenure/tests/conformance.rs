//! Every row of the store contract that the memory store declares to keep.

use tenure::store::Memory;
use tenure_sim::conformance::Harness;

struct InMemory(Memory);

impl Harness for InMemory {
    type Store = Memory;

    async fn connect(&self) -> Memory {
        self.0.clone()
    }
}

tenure_sim::conformance!(contract, InMemory(Memory::new()));
