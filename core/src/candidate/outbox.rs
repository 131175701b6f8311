//! The outputs of one input, in order.

use crate::alphabet::Output;

/// The most outputs that one input can cause; a push beyond it panics, which the property tests would find.
const CAPACITY: usize = 4;

/// A queue that is filled by one input and emptied before the next.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Outbox {
    slots: [Option<Output>; CAPACITY],
    read: usize,
    written: usize,
}

impl Outbox {
    pub(super) fn push(&mut self, output: Output) {
        self.slots[self.written] = Some(output);
        self.written += 1;
    }

    pub(super) fn pop(&mut self) -> Option<Output> {
        let output = self.slots.get_mut(self.read).and_then(Option::take);
        if output.is_some() {
            self.read += 1;
        } else {
            // Rewinding keeps equal states equal, however many outputs they have emitted before.
            self.read = 0;
            self.written = 0;
        }
        output
    }

    pub(super) fn is_empty(&self) -> bool {
        self.read == self.written
    }

    /// Starts over for the next input.
    pub(super) fn rewind(&mut self) {
        debug_assert!(self.is_empty());
        self.read = 0;
        self.written = 0;
    }
}
