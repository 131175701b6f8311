use std::collections::{BTreeSet, HashMap};

use tenure_core::{Candidate, Config, Instant, Token};

use super::*;

mod planted;

use planted::{
    AnyCandidateKnowsTheLastTenure, Bug, CountedFromTheReply, DrainsForLonger, EndsTwice,
    GivesAStampTwice, LateRenewalCounts, LeadsUnasked, Planted, ReleasesAtOnce, TakesWhatIsKept,
    TokensStartOver, WatchesHalfOfTheQuarantine, WatchesHalfOfTheTtl,
};

/// Bounds that are small enough for every run of the tests.
fn small() -> Bounds {
    Bounds {
        candidates: 2,
        horizon: Some(3),
        ttl: Ttl::FourTicks,
        margin: StopMargin::Tick,
        rates: Rates::Ends,
        in_flight: 1,
        most_faults: 1,
        faults: Faults::default(),
    }
}

/// Bounds that are large enough to show a planted bug.
fn with(faults: Faults) -> Bounds {
    Bounds { horizon: Some(8), faults, ..small() }
}

fn searched<S: Subject>(bounds: &Bounds, config: Config) -> Report {
    run_as::<S>(bounds, config, 2_000_000, 2).unwrap()
}

/// The violation that the search finds in a subject.
fn violation<S: Subject>(bounds: &Bounds, config: Config) -> Violation {
    let Outcome::Violated(violation) = searched::<S>(bounds, config).outcome else {
        panic!("the bug is not found")
    };
    assert!(!violation.steps.is_empty());
    violation
}

fn broken<B: Bug>(bounds: &Bounds) -> PropertyName {
    violation::<Planted<B>>(bounds, bounds.config().unwrap()).property
}

#[test]
fn a_small_search_holds_in_all_known_states() {
    let report = run(&small(), 2_000_000, 2).unwrap();
    assert_eq!(report.outcome, Outcome::Complete);
    // Other figures mean that the search covers other states: the commit has to say why.
    assert_eq!((report.states, report.transitions, report.depth), (35_205, 85_641, 28));
}

#[test]
fn figures_do_not_depend_on_the_number_of_threads() {
    let bounds = Bounds { horizon: Some(2), ..small() };
    let reports = [1, 2, 3].map(|jobs| run(&bounds, 2_000_000, jobs).unwrap());
    assert!(reports.windows(2).all(|two| two[0] == two[1]));
}

/// Bounds that together allow every action and every rate, and each fault once.
fn every_kind_of_bounds() -> [Bounds; 5] {
    let each = Faults {
        duplicates: 1,
        breaks: 1,
        pauses: 1,
        crashes: 1,
        store_losses: 1,
        resigns: 1,
        rate_changes: 1,
        wishes: 1,
    };
    let wished = Faults { wishes: 1, ..Faults::default() };
    let short = Bounds { ttl: Ttl::TwoTicks, margin: StopMargin::None, ..small() };
    [
        Bounds { candidates: 1, horizon: None, rates: Rates::Worst, faults: each, ..short },
        Bounds { horizon: Some(2), rates: Rates::Worst, faults: each, ..short },
        Bounds { horizon: Some(4), rates: Rates::Worst, most_faults: 2, faults: each, ..short },
        Bounds { candidates: 3, horizon: Some(1), rates: Rates::Exact, ..small() },
        Bounds { candidates: 3, horizon: Some(2), rates: Rates::Exact, faults: wished, ..short },
    ]
}

/// The states that follow on one.
fn next(
    election: &Election<Candidate>,
    state: &State<Candidate>,
    seen: &mut Seen,
) -> Vec<State<Candidate>> {
    let actions = election.actions(state).into_iter();
    actions.map(|action| election.step(state, action, seen).unwrap()).collect()
}

#[test]
fn equal_fingerprints_have_equal_futures() {
    let mut seen = Seen::default();
    for bounds in every_kind_of_bounds() {
        let election = Election::<Candidate>::new(bounds, bounds.config().unwrap());
        let with_print = |state: State<Candidate>| (election.fingerprint(&state), state);
        let mut known: HashMap<u64, BTreeSet<u64>> = HashMap::new();
        let mut waiting: Vec<_> = election.initial().into_iter().map(with_print).collect();
        let (mut compared, mut drawn) = (0_u32, 0_usize);
        while !waiting.is_empty() && known.len() < 100_000 {
            // Any order, which is the same in each run: the first or the last ones alone would be
            // too much alike.
            drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (own, state) = waiting.swap_remove((drawn >> 33) % waiting.len());
            let next = next(&election, &state, &mut seen);
            let next: Vec<_> = next.into_iter().map(with_print).collect();
            let futures: BTreeSet<u64> = next.iter().map(|(print, _)| *print).collect();
            if let Some(others) = known.get(&own) {
                assert_eq!(&futures, others, "{state:#?}");
                compared += 1;
                continue;
            }
            known.insert(own, futures);
            waiting.extend(next);
        }
        assert!(compared > 500, "only {compared} states were compared");
    }
    let each = Faults {
        duplicates: 1,
        pauses: 1,
        crashes: 1,
        store_losses: 1,
        resigns: 1,
        wishes: 1,
        ..Faults::default()
    };
    let (_, unmet) = seen.split(each);
    assert_eq!(unmet, [""; 0]);
}

#[test]
fn one_candidate_holds_in_runs_of_any_length() {
    let bounds = Bounds { candidates: 1, horizon: None, rates: Rates::Exact, ..small() };
    let report = run(&bounds, 2_000_000, 2).unwrap();
    assert_eq!(report.outcome, Outcome::Complete);
    assert_eq!((report.states, report.transitions, report.depth), (159_034, 320_503, 84));
}

#[test]
fn candidates_start_while_another_one_drains() {
    let bounds = small();
    let election = Election::<Candidate>::new(bounds, bounds.config().unwrap());
    let mut state = election.initial().remove(0);
    assert_eq!(election.actions(&state), [Action::Campaign(0)]);
    // Neither has a deadline: the work of the first drains, and the second has not joined yet.
    let drain_until = Some(Instant::from_nanos(u64::MAX));
    state.nodes[0].work = Some(state::Work { token: Token::FIRST, drain_until });
    assert_eq!(election.actions(&state), [Action::Campaign(1)]);
}

#[test]
fn faults_of_all_kinds_together_are_bounded() {
    let both = Faults { crashes: 1, resigns: 1, ..Faults::default() };
    let states = |most_faults, faults| {
        let bounds = Bounds { candidates: 1, horizon: Some(3), most_faults, faults, ..small() };
        run(&bounds, 2_000_000, 2).unwrap().states
    };
    let none = states(0, both);
    assert_eq!(none, states(1, Faults::default()));
    assert!(none < states(1, both) && states(1, both) < states(2, both));
}

#[test]
fn validity_counted_from_the_reply_is_caught() {
    assert_eq!(broken::<CountedFromTheReply>(&with(Faults::default())), PropertyName::MARGIN_KEPT);
}

#[test]
fn a_missing_drift_allowance_is_caught() {
    let bounds = Bounds { margin: StopMargin::None, ..with(Faults::default()) };
    let trusting = Config::builder(bounds.ttl.length())
        .drift_ppm(1)
        .stop_margin(std::time::Duration::ZERO)
        .granularity(std::time::Duration::from_nanos(1))
        .build()
        .unwrap();
    let property = violation::<Candidate>(&bounds, trusting).property;
    assert!(
        [PropertyName::MARGIN_KEPT, PropertyName::FAIL_CLOSED].contains(&property),
        "{property}"
    );
}

#[test]
fn a_watch_of_half_the_ttl_is_caught() {
    assert_eq!(broken::<WatchesHalfOfTheTtl>(&with(Faults::default())), PropertyName::FAIL_CLOSED);
}

#[test]
fn a_watch_of_half_the_quarantine_is_caught() {
    let bounds = with(Faults { store_losses: 1, ..Faults::default() });
    let property = broken::<WatchesHalfOfTheQuarantine>(&bounds);
    assert_eq!(property, PropertyName::STORE_LOSS_QUARANTINE);
}

#[test]
fn a_stamp_given_twice_is_caught() {
    let twice = Faults { store_losses: 2, ..Faults::default() };
    let bounds = Bounds { ttl: Ttl::TwoTicks, most_faults: 2, ..with(twice) };
    assert_eq!(broken::<GivesAStampTwice>(&bounds), PropertyName::STORE_LOSS_QUARANTINE);
}

#[test]
fn an_ignored_seen_is_caught() {
    let bounds = Bounds { horizon: Some(5), ..small() };
    assert_eq!(broken::<AnyCandidateKnowsTheLastTenure>(&bounds), PropertyName::OWN_LEASE_ONLY);
}

#[test]
fn a_late_renewal_that_counts_is_caught() {
    let bounds = with(Faults { pauses: 1, ..Faults::default() });
    // The machine misses its deadline before the claim comes back, so `not-stuck` fails first.
    assert_eq!(broken::<LateRenewalCounts>(&bounds), judge::NOT_STUCK);
}

#[test]
fn a_release_before_work_drains_is_caught() {
    let bounds = with(Faults { resigns: 1, ..Faults::default() });
    assert_eq!(broken::<ReleasesAtOnce>(&bounds), PropertyName::NO_RELEASE_UNDER_WORK);
}

#[test]
fn a_kept_lease_taken_by_another_is_caught() {
    let bounds = with(Faults { wishes: 1, ..Faults::default() });
    assert_eq!(broken::<TakesWhatIsKept>(&bounds), judge::RESERVED);
}

#[test]
fn tokens_that_start_over_are_caught() {
    let bounds = with(Faults { store_losses: 1, ..Faults::default() });
    assert_eq!(broken::<TokensStartOver>(&bounds), PropertyName::TOKEN_MONOTONIC);
}

#[test]
fn an_end_reported_twice_is_caught() {
    assert_eq!(
        broken::<EndsTwice>(&with(Faults::default())),
        PropertyName::ONE_STEP_DOWN_PER_ELECTION
    );
}

#[test]
fn a_lead_without_a_request_is_caught() {
    assert_eq!(broken::<LeadsUnasked>(&small()), PropertyName::SINGLE_LEADER);
}

#[test]
fn work_that_outlasts_its_lease_is_caught() {
    let bounds = Bounds { ttl: Ttl::TwoTicks, ..with(Faults { resigns: 1, ..Faults::default() }) };
    assert_eq!(broken::<DrainsForLonger>(&bounds), PropertyName::DRAINED_BEFORE_THE_NEXT);
}

/// Five ticks are enough for a loss, its quarantine and the next leader, because the TTL is two
/// ticks.
#[test]
fn a_store_loss_is_waited_out_within_five_ticks() {
    let bounds = Bounds {
        candidates: 1,
        horizon: Some(5),
        ttl: Ttl::TwoTicks,
        faults: Faults { store_losses: 1, ..Faults::default() },
        ..small()
    };
    let report = run(&bounds, 2_000_000, 2).unwrap();
    assert_eq!(report.outcome, Outcome::Complete);
    assert!(report.met.iter().any(|met| met.contains("leads by the grant of a server")));
}
