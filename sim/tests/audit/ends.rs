//! Each election has one step-down, and a claim that has ended stays over.

use tenure_sim::audit::Settings;

use super::support::{Log, fails, holds};

const ONE: &str = "one-step-down-per-election";
const OVER: &str = "no-resurrection";

fn passes(log: Log, property: &str, counts: (u64, u64)) {
    holds(Settings::default(), &[log], property, counts);
}

fn accused(log: Log, property: &str) -> String {
    fails(Settings::default(), &[log], property)
}

#[test]
fn each_election_with_one_step_down() {
    let log = Log::new("a").leads(0, 1_000, 7).leads(2_000, 3_000, 8);
    passes(log.clone(), ONE, (3, 0));
    passes(log, OVER, (2, 0));
}

#[test]
fn two_step_downs() {
    let log = Log::new("a").leads(0, 1_000, 7).down(1_001, 7);
    let what = accused(log, ONE);
    assert!(what.contains("c-a (a) steps down from token 7 twice; lines: a:3, a:4"), "{what}");
}

#[test]
fn a_step_down_without_an_election() {
    accused(Log::new("a").down(1_001, 7), ONE);
    passes(Log::new("a").gap(900, 1).down(1_001, 7), ONE, (1, 1));
}

#[test]
fn an_election_without_the_last_step_down() {
    let log = |log: Log| log.elected(2_000, 8, 900).down(2_100, 8);
    accused(log(Log::new("a").elected(0, 7, 900)), ONE);
    passes(log(Log::new("a").elected(0, 7, 900).gap(1_000, 1)), ONE, (2, 1));
    // The place of the gap is where it was noticed.
    passes(log(Log::new("a").elected(0, 7, 900)).gap(5_000, 1), ONE, (2, 1));
}

#[test]
fn a_renewal_after_the_step_down() {
    let log = Log::new("a").leads(0, 500, 7).renewed(600, 7, 900);
    accused(log, OVER);
    let older = Log::new("a").leads(0, 500, 7).elected(600, 8, 900).renewed(700, 7, 900);
    accused(older, OVER);
}

#[test]
fn a_renewal_after_the_end_of_its_claim() {
    let log = |at| Log::new("a").elected(0, 7, 900).renewed(500, 7, 900).renewed(at, 7, 900);
    passes(log(1_399), OVER, (3, 0));
    let what = accused(log(1_400), OVER);
    assert!(what.contains("although its claim has ended 0ns before; lines: a:3, a:4"), "{what}");
    // A renewal in between may be lost.
    passes(log(1_400).gap(9_000, 3), OVER, (3, 1));
}

#[test]
fn an_election_after_the_end_of_its_claim() {
    accused(Log::new("a").elected(0, 7, 0).down(1, 7), OVER);
}

#[test]
fn a_renewal_whose_election_is_lost() {
    let log = Log::new("a").gap(100, 1).renewed(200, 7, 900).down(300, 7);
    passes(log, ONE, (1, 1));
}
