//! Every order of what reaches a store that compares and swaps.

use tenure_sim::search::register::{Bounds, search};

#[test]
fn one_leads_in_every_order_of_eleven_steps() {
    let report = search(&Bounds { steps: 11, faults: 1, weakness: None }, 2);
    assert_eq!(report.two_lead, None);
    assert!(report.states > 1_000_000 && report.led > 100_000, "{report:?}");
}
