use super::super::watch::State;
use super::*;

const PAST_OF: &str = "tenure2 a 0123456789abcdef0123456789abcdef 0 5000000000 0 100 5";

fn record_of(granted: u64, holder: &str, number: u64, released: u8) -> String {
    format!(
        "tenure2 {granted} 100 {holder} {number} {released} - 0 5000000000 5000000000 - - 0 9 0 6\nnode-0"
    )
}

fn change(revision: i64, key: &[u8], value: Option<&str>) -> KeyChange {
    let value = value.map(|value| value.as_bytes().to_vec());
    KeyChange { revision, key: key.to_vec(), value }
}

/// The changes that arrived at each time.
fn shown(arrived: &[(u64, &[KeyChange])]) -> State<Elections> {
    let mut state = State::<Elections>::default();
    for (at, changes) in arrived {
        state.shows(*at, changes);
    }
    assert_eq!(state.failed, None);
    state
}

fn seen(steps: &[Step]) -> Vec<(u64, Asked, Answer)> {
    steps.iter().map(|step| (step.at, step.request, step.answer)).collect()
}

/// A grant, the end of its lease by the server, another grant, and its release.
fn two_tenures() -> [Vec<KeyChange>; 5] {
    [
        vec![change(7, LEADER, Some("l")), change(7, RECORD, Some(&record_of(0, "ab", 3, 0)))],
        // Its name has changed, and so has the past.
        vec![change(8, RECORD, Some(&record_of(7, "ab", 3, 0))), change(9, PAST, Some(PAST_OF))],
        vec![change(10, LEADER, None)],
        vec![change(11, LEADER, Some("l")), change(11, RECORD, Some(&record_of(0, "cd", 1, 0)))],
        vec![change(12, LEADER, None), change(12, RECORD, Some(&record_of(11, "cd", 1, 1)))],
    ]
}

#[test]
fn grants_ends_and_releases_are_steps() {
    let changes = two_tenures();
    let times = [1_000, 2_000, 3_000, 4_000, 5_000];
    let arrived: Vec<_> = times.into_iter().zip(changes.iter().map(Vec::as_slice)).collect();
    let mut state = shown(&arrived);
    let mut answers = Answers::default();
    // One was told of the past before the watch showed it, and the second leader of its grant
    // before the end of the lease before.
    answers.told.insert(1_800);
    let request = Asked::Acquire { seen: 107, watched: None };
    answers.was_granted(111, super::super::Grant { at: 2_500, sent_at: 2_400, request });
    let Steps { all: steps, stamped, .. } = state.keys.steps(&answers);
    assert_eq!(stamped, [Stamped { at: 1_800, server: 0, knew_more: false }]);
    let watched = Some(crate::trace::Mark { holder: 0xab, number: 3 });
    assert_eq!(
        seen(&steps),
        [
            (1_000, Asked::Acquire { seen: 0, watched: None }, Answer::Granted { token: 107 }),
            (2_500, Asked::Acquire { seen: 107, watched }, Answer::Granted { token: 111 }),
            (5_000, Asked::Release { token: 111 }, Answer::Released),
        ]
    );
    let ends: Vec<_> =
        steps.iter().filter_map(|step| step.after).map(|kept| kept.ends_at).collect();
    assert_eq!(ends, [Some(2_500), Some(NO_END), Some(NO_END)], "the server has ended the first");
    assert_eq!((steps[0].holder, steps[1].holder), (0xab, 0xcd));
    assert_eq!(steps[2].before, steps[1].after);
}

#[test]
fn a_lease_that_is_live_was_not_watched_by_the_server() {
    let [first, _, _, other, _] = two_tenures();
    let steps = steps(shown(&[(1, &first), (2, &other)]).keys.changes, &Answers::default());
    assert_eq!(steps[1].request, Asked::Acquire { seen: 107, watched: None });
    assert!(steps[1].before.is_some_and(|before| !before.released));
}

#[test]
fn other_values_are_no_records() {
    for wrong in
        ["", "tenure1 ab 5 100 6\n", "tenure2 0 100 x 1 0 - 0 5 5 - - 0 9 0 6\n", "tenure2 a"]
    {
        assert_eq!(key::record(wrong.as_bytes(), 7), None);
        for key in [RECORD, PAST] {
            let mut state = State::<Elections>::default();
            state.shows(1, &[change(7, key, Some(wrong))]);
            assert!(state.failed.is_some());
        }
    }
}

#[test]
fn the_first_watch_that_shows_a_revision_counts() {
    let [grant, more, ends, ..] = two_tenures();
    // The second member is late, and ahead afterwards.
    let ended = [more, ends].concat();
    let state = shown(&[(1_000, &grant), (1_200, &grant), (2_000, &ended), (2_100, &ended)]);
    assert_eq!((state.revision, state.keys.stamped.len()), (10, 1));
    let steps = steps(state.keys.changes, &Answers::default());
    let granted =
        (1_000, Asked::Acquire { seen: 0, watched: None }, Answer::Granted { token: 107 });
    assert_eq!(seen(&steps), [granted]);
    assert_eq!(steps[0].after.map(|after| after.ends_at), Some(Some(2_000)));
}
