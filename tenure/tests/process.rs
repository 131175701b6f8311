//! Tests that own their process: they count its threads and descriptors, or install what is global.

mod timer;
