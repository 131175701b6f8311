use super::*;

const NOW: Instant = Instant::from_nanos(1_000_000_000_000);

/// An admission with the places of its elections.
struct Line {
    admission: Admission,
    places: Vec<Option<Place>>,
}

impl Line {
    fn new() -> Self {
        Self { admission: Admission::default(), places: vec![None; 200] }
    }

    fn set(&mut self, id: ElectionId, pending: Option<Pending>, slack: Slack, lane: Lane) {
        let place = &mut self.places[usize::try_from(id).unwrap()];
        let waiting = pending.map(|pending| Waiting { pending, slack });
        self.admission.set(id, place, waiting, lane);
    }

    fn leaves(&mut self, id: ElectionId, now: Instant) -> CallId {
        self.set(id, None, Slack::default(), Lane::Usual);
        self.admission.leaves(Lane::Usual, "renew", now)
    }
}

fn renewal(ends_in: u64) -> Pending {
    Pending::Renew { valid_until: NOW + Duration::from_secs(ends_in) }
}

/// The slack of a renewal in a hurry.
const HURRY: Slack = Slack { urgent: Duration::from_secs(9), hurry: Duration::from_secs(9) };

#[test]
fn nothing_resumes_by_itself_while_the_window_is_full() {
    let mut line = Line::new();
    for id in 0..200 {
        line.set(id, Some(renewal(60)), Slack::default(), Lane::Usual);
    }
    let mut left = 0;
    while line.admission.next_of(Pending::Renew { valid_until: NOW }, NOW).is_some() {
        left += 1;
    }
    assert!((32..40).contains(&left), "{left}");
    assert!(line.admission.next(NOW).is_none());
    assert_eq!(line.admission.resumes_at(), Some(NOW + Duration::from_millis(10)));
    // An answer comes first, or one more attempt after a while. The driver would not come to rest.
    for _ in 0..100 {
        line.admission.leaves(Lane::Usual, "renew", NOW);
    }
    assert!(line.admission.next(NOW).is_none());
    assert_eq!(line.admission.resumes_at(), Some(NOW + Duration::from_millis(100)));
}

/// The claims of the stuck elections end first. The one that leaves in the silence was answered
/// last.
#[test]
fn stuck_elections_hold_back_no_other() {
    let mut line = Line::new();
    let (stuck, healthy) = (0..20, 20..40);
    for id in stuck.clone().chain(healthy.clone()) {
        let ends_in = if stuck.contains(&id) { 2 } else { 3 };
        line.set(id, Some(renewal(ends_in)), HURRY, Lane::Usual);
    }
    let leave = |line: &mut Line, now| {
        let Next::Request { election, pending: Pending::Renew { .. }, .. } =
            line.admission.next(now)?
        else {
            return None;
        };
        Some((election, line.leaves(election, now)))
    };
    let (mut now, mut flying, mut answered) = (NOW, Vec::new(), 0);
    while answered < 20 {
        flying.extend(std::iter::from_fn(|| leave(&mut line, now)));
        now = match flying.iter().position(|(id, _)| healthy.contains(id)) {
            Some(first) => {
                now = now + Duration::from_millis(1);
                let (_, call) = flying.remove(first);
                line.admission.ended(call, Lane::Usual, now, Some(Duration::from_millis(1)));
                answered += 1;
                now
            }
            None => line.admission.resumes_at().unwrap(),
        };
        assert!(now < NOW + Duration::from_secs(1));
    }
    assert_eq!(flying.len(), 20, "the stuck ones too have left");
}

#[test]
fn an_election_changes_its_lane() {
    let mut line = Line::new();
    for lane in [Lane::Usual, Lane::Stuck, Lane::Usual, Lane::Stuck] {
        line.set(1, Some(renewal(2)), HURRY, lane);
        let lanes = [line.admission.usual.len(), line.admission.stuck.len()];
        let is_stuck = usize::from(lane == Lane::Stuck);
        assert_eq!(lanes, [1 - is_stuck, is_stuck]);
    }
    let next = line.admission.next(NOW);
    assert!(matches!(next, Some(Next::Request { election: 1, alone: true, .. })), "it may hang");
    line.set(1, None, HURRY, Lane::Usual);
    assert!(line.admission.next(NOW).is_none());
}

/// With no renewal to send, it would not come to rest.
#[test]
fn a_full_window_lets_any_request_show_whether_the_store_is_away() {
    let mut line = Line::new();
    for _ in 0..100 {
        line.admission.leaves(Lane::Usual, "renew", NOW);
    }
    line.set(1, Some(Pending::Acquire), Slack::default(), Lane::Usual);
    assert!(line.admission.next(NOW).is_none());
    let later = line.admission.resumes_at().unwrap();
    let next = line.admission.next(later);
    let alone = Next::Request { election: 1, pending: Pending::Acquire, alone: true };
    assert_eq!(next, Some(alone));
}

#[test]
fn stuck_questions_hold_back_no_election() {
    let mut line = Line::new();
    for _ in 0..1_000 {
        line.admission.leaves(Lane::Questions, "question", NOW);
    }
    line.set(1, Some(renewal(2)), HURRY, Lane::Usual);
    assert!(matches!(line.admission.next(NOW), Some(Next::Request { election: 1, .. })));
}

#[test]
fn questions_that_were_given_up_do_not_leave() {
    let mut admission = Admission::default();
    let within = Duration::from_secs(1);
    let question = |id| Question { id, request: "observe", within };
    for id in [7, 8, 9] {
        admission.ask(question(id));
    }
    admission.give_up(7);
    admission.give_up(3);
    assert_eq!(admission.next(NOW), Some(Next::Question(question(8))));
    admission.give_up(9);
    assert!(!admission.has_questions());
    assert_eq!(admission.next(NOW), None);
}
