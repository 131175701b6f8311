use super::*;

const OTHER: &[u8] = b"tenure1 cd 5 100 6\nnode-1";
const ONE: &[u8] = b"tenure1 ab 5 100 6\nnode-0";

/// When an event arrived, its key, its value, and its create revision.
type Shown<'a> = (u64, &'a [u8], Option<&'a [u8]>, i64);

fn shown(events: &[Shown<'_>]) -> Vec<Change> {
    let mut state = State::default();
    for (at, key, value, created) in events {
        state.shown(*at, key, *value, *created);
        state.transaction_ended();
    }
    assert_eq!(state.failed, None);
    state.changes
}

fn seen(steps: &[Step]) -> Vec<(u64, Asked, Answer)> {
    steps.iter().map(|step| (step.at, step.request, step.answer)).collect()
}

#[test]
fn grants_and_ends_are_steps() {
    let changes = shown(&[
        (1_000, LEADER, Some(ONE), 7),
        (1_000, QUARANTINE, Some(b""), 7),
        (1_500, LEADER, Some(ONE), 7),
        (2_000, QUARANTINE, None, 0),
        (3_000, LEADER, None, 0),
        (4_000, LEADER, Some(OTHER), 9),
        (5_000, LEADER, None, 0),
    ]);
    let mut answers = Answers::default();
    // The second candidate had its answer before the watch showed the end of the lease before.
    answers.was_granted(109, 2_500, false);
    answers.asked_to_release(109);
    let steps = steps(changes, &answers);
    assert_eq!(
        seen(&steps),
        [
            (1_000, Asked::Acquire { seen: 0 }, Answer::Granted { token: 107, waits: true }),
            (2_500, Asked::Acquire { seen: 107 }, Answer::Granted { token: 109, waits: false }),
            (5_000, Asked::Release { token: 109 }, Answer::Released),
        ]
    );
    let ends: Vec<_> =
        steps.iter().filter_map(|step| step.after).map(|kept| kept.lease_end).collect();
    assert_eq!(ends, [2_500, NO_END, NO_END], "the first lease has ended by itself");
    assert_eq!((steps[0].holder, steps[1].holder), (0xab, 0xcd));
    assert_eq!(steps[2].before, steps[1].after);
}

#[test]
fn a_lease_of_another_holder_is_seen() {
    let changes = shown(&[(1_000, LEADER, Some(ONE), 7), (2_000, LEADER, Some(OTHER), 7)]);
    let steps = steps(changes, &Answers::default());
    assert_eq!(steps.len(), 2);
    assert!(steps[1].before.is_some_and(|before| before.is_live(steps[1].now)));
}

#[test]
fn other_values_are_no_leases() {
    for wrong in [&b""[..], b"tenure2 ab 5 100 6\n", b"tenure1 ab 5 100\n", b"tenure1 x 5 100 6\n"]
    {
        assert_eq!(Leader::read(wrong, 7), None);
        let mut state = State::default();
        state.shown(1, LEADER, Some(wrong), 7);
        assert!(state.failed.is_some());
    }
}

#[test]
fn the_first_watch_that_shows_a_revision_counts() {
    let event = |revision: i64, key: &[u8], value: Option<&[u8]>| KeyChange {
        revision,
        key: key.to_vec(),
        value: value.map(<[u8]>::to_vec),
        created: 7,
    };
    let grant = [event(7, LEADER, Some(ONE)), event(7, QUARANTINE, Some(b""))];
    let ends = [event(8, QUARANTINE, None), event(9, LEADER, None)];
    let mut state = State::default();
    state.shows(1_000, &grant);
    // The second member is late, and ahead afterwards.
    state.shows(1_200, &grant);
    state.shows(2_000, &ends);
    state.shows(2_100, &ends);
    assert_eq!(state.revision, 9);
    let steps = steps(state.changes, &Answers::default());
    let granted = Answer::Granted { token: 107, waits: true };
    assert_eq!(seen(&steps), [(1_000, Asked::Acquire { seen: 0 }, granted)]);
    assert_eq!(steps[0].after.map(|after| after.lease_end), Some(2_000));
}
