//! A leader hands over to a candidate that is wished for, over the contract, with round trips that
//! take no time.

use std::time::Duration;

use tenure_core::contract::{Moment, Past, Record, apply};
use tenure_core::{
    Candidate, Config, Event, Input, Instant, NameId, Output, Reply, Request, Seed, Stage, Stamp,
    StepDownReason, Token, Wish,
};

const TTL: Duration = Duration::from_secs(15);
const SHORT: Duration = Duration::from_millis(100);

/// One store and its candidates: the name of each is its place.
struct World {
    now: Instant,
    record: Option<Record>,
    past: Option<Past>,
    trusts_empty: bool,
    candidates: Vec<Candidate>,
    /// Work goes on after the end of its claim.
    works_on: bool,
    /// Whose requests are lost.
    cut_off: Option<usize>,
    /// Events and requests, each with its time and candidate.
    events: Vec<(Instant, usize, Event)>,
    requests: Vec<(Instant, usize, Request)>,
}

fn name(place: usize) -> NameId {
    NameId::from_bits(place as u128)
}

impl World {
    fn of(defers: &[Duration]) -> Self {
        let candidate = |(place, defer): (usize, &Duration)| {
            let config = Config::builder(TTL).defer(*defer).build().expect("within the bounds");
            Candidate::new(config, name(place), Seed::new(place as u128))
        };
        Self {
            now: Instant::from_nanos(1_000_000_000_000),
            record: None,
            past: None,
            trusts_empty: true,
            works_on: false,
            cut_off: None,
            candidates: defers.iter().enumerate().map(candidate).collect(),
            events: Vec::new(),
            requests: Vec::new(),
        }
    }

    /// The first one leads, and the others wait.
    fn led(defers: &[Duration]) -> Self {
        let mut world = Self::of(defers);
        for place in 0..defers.len() {
            world.input(place, Input::Campaign);
            world.runs_for(TTL / 100);
        }
        world.runs_for(TTL * 4);
        assert_eq!(world.leader(), Some(0), "{:?}", world.events);
        world
    }

    fn moment(&self) -> Moment {
        let fresh = Stamp::from_bits(7);
        Moment {
            now: self.now,
            identity: 1,
            fresh,
            first: false,
            trust_empty_store: self.trusts_empty,
        }
    }

    fn ask(&mut self, request: Request) -> Reply {
        let moment = self.moment();
        apply(&mut self.record, &mut self.past, moment, request)
    }

    /// Hands an input to a candidate, and answers what it asks. Its work ends as soon as its claim
    /// does.
    fn input(&mut self, place: usize, input: Input) {
        self.candidates[place].handle(self.now, input);
        while let Some(output) = self.candidates[place].poll() {
            match output {
                Output::Event(event) => {
                    self.events.push((self.now, place, event));
                    if matches!(event, Event::SteppedDown { .. }) && !self.works_on {
                        assert_eq!(self.candidates[place].poll(), None);
                        self.input(place, Input::Drained);
                    }
                }
                Output::Send { id, request, .. } => {
                    self.requests.push((self.now, place, request));
                    if self.cut_off == Some(place) {
                        continue;
                    }
                    let result = Ok(self.ask(request));
                    self.input(place, Input::Reply { id, result });
                }
            }
        }
        if self.candidates[place].pending().is_some() {
            self.input(place, Input::Admitted);
        }
    }

    fn runs_for(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some((due, place)) = self.next().filter(|(due, _)| *due <= end) {
            self.now = due;
            self.input(place, Input::Wake);
        }
        self.now = end;
    }

    fn runs_until(&mut self, is_so: impl Fn(&Self) -> bool) {
        let bound = self.now + TTL * 10;
        while !is_so(self) {
            assert!(self.now < bound, "{:?}", self.events);
            self.runs_for(SHORT / 100);
        }
    }

    fn next(&self) -> Option<(Instant, usize)> {
        let due = |(place, one): (usize, &Candidate)| Some((one.deadline()?, place));
        self.candidates.iter().enumerate().filter_map(due).min()
    }

    fn leader(&self) -> Option<usize> {
        self.candidates.iter().position(|one| one.claim(self.now).is_some())
    }

    fn token(&self) -> Token {
        self.record.expect("a record").token
    }

    fn wish(&mut self, wish: Wish) {
        let token = self.token();
        assert_eq!(self.ask(Request::Want { token, wish: Some(wish) }), Reply::Noted);
    }

    fn hint_all(&mut self) {
        for place in 0..self.candidates.len() {
            self.input(place, Input::Hint);
        }
    }

    fn stepped_down(&self) -> Vec<(usize, StepDownReason)> {
        let ended = |(_, place, event): &(Instant, usize, Event)| match event {
            Event::SteppedDown { reason, .. } => Some((*place, *reason)),
            _ => None,
        };
        self.events.iter().filter_map(ended).collect()
    }

    /// The pauses between the requests of one candidate from then on.
    fn pauses(&self, of: usize, since: Instant) -> Vec<Duration> {
        let sent = self.requests.iter().filter(|(at, place, _)| *place == of && *at >= since);
        let times: Vec<Instant> = sent.map(|(at, ..)| *at).collect();
        times.windows(2).map(|two| two[1].since(two[0])).collect()
    }
}

const NOTHING: Duration = Duration::ZERO;

/// The one that is wished for leads after one look and one early renewal, and nobody else in
/// between.
#[test]
fn the_lead_goes_to_the_one_that_is_wished_for() {
    for wished in [1, 2, 3] {
        let mut world = World::led(&[NOTHING; 4]);
        world.runs_for(SHORT);
        world.wish(Wish::Name(name(wished)));
        let (begun, look) = (world.now, world.candidates[0].config().renew_interval());
        while world.leader() != Some(wished) {
            assert!(world.now.since(begun) < look + look / 50 + SHORT, "{:?}", world.events);
            world.runs_for(SHORT / 100);
        }
        assert_eq!(world.stepped_down(), [(0, StepDownReason::HandedOver)]);
        assert_eq!(world.record.expect("a record").wanted, None, "a wish ends with the next grant");
        world.runs_for(TTL * 10);
        assert_eq!(world.leader(), Some(wished), "the lead does not go to and fro");
    }
}

/// With hints, it takes no more than a renewal.
#[test]
fn a_hint_makes_a_handover_prompt() {
    let mut world = World::led(&[NOTHING; 3]);
    world.wish(Wish::Anybody);
    let begun = world.now;
    world.input(0, Input::Admitted);
    world.hint_all();
    world.runs_until(|world| world.leader() != Some(0));
    assert!(world.now.since(begun) <= SHORT);
    world.hint_all();
    assert!(matches!(world.leader(), Some(1 | 2)), "{:?}", world.events);
}

/// A name that nobody has, or the leader's own, costs nobody the lead, and few requests.
#[test]
fn a_name_that_does_not_ask_costs_nothing() {
    for nobody in [0, 9] {
        let mut world = World::led(&[NOTHING; 3]);
        world.wish(Wish::Name(name(nobody)));
        let (begun, before) = (world.now, world.requests.len());
        world.runs_for(TTL * 100);
        assert_eq!((world.leader(), world.stepped_down()), (Some(0), Vec::new()));
        let (sent, looks) = (world.requests.len() - before, 3 * 300);
        assert!(sent < looks + 20, "{sent}");
        let pauses = world.pauses(0, begun);
        assert!(pauses.iter().filter(|pause| **pause < TTL / 3).count() < 10, "{pauses:?}");
    }
}

/// A candidate that asks although nobody wishes for it changes nothing.
#[test]
fn an_ask_without_a_wish_is_none() {
    let mut world = World::led(&[NOTHING; 2]);
    let asked = tenure_core::Asked { name: name(1), defer: NOTHING };
    let token = world.token();
    let ask = Request::Ask { token, asked, seen: Some(token), quarantine: TTL };
    world.ask(ask);
    world.runs_for(TTL * 4);
    assert_eq!((world.leader(), world.stepped_down()), (Some(0), Vec::new()));
}

/// The lease is kept for the one that asked, and for a fifth of the TTL alone: it may be dead by
/// then.
#[test]
fn a_lease_is_kept_for_a_fifth_of_its_ttl() {
    let mut world = World::led(&[NOTHING; 3]);
    // It asks, and is gone.
    let (token, asked) = (world.token(), tenure_core::Asked { name: name(9), defer: NOTHING });
    world.wish(Wish::Name(name(9)));
    world.ask(Request::Ask { token, asked, seen: Some(token), quarantine: TTL });
    world.runs_until(|world| world.leader() != Some(0));
    let ended = world.now;
    world.hint_all();
    world.runs_until(|world| world.leader().is_some());
    let vacant = world.now.since(ended);
    assert!(vacant >= TTL / 5 && vacant < TTL / 5 + SHORT, "{vacant:?}");
    assert_ne!(world.token(), token);
}

/// A leader that resigns while another one is wished for gives the lease back to all, and stays
/// away as it was told.
#[test]
fn a_resignation_does_not_wait_for_an_ask() {
    let mut world = World::led(&[NOTHING; 2]);
    world.wish(Wish::Name(name(1)));
    world.input(0, Input::Resign { again_after: None });
    assert_eq!(world.stepped_down(), [(0, StepDownReason::Resigned)]);
    world.hint_all();
    assert_eq!(world.leader(), Some(1));
}

/// Also if its work was dropped, or it was asked to stop, while the work for that ends.
#[test]
fn a_resignation_after_an_ask_keeps_the_lease_for_the_one_that_asked() {
    for again_after in [None, Some(NOTHING), Some(TTL)] {
        let mut world = World::led(&[NOTHING; 4]);
        world.works_on = true;
        world.wish(Wish::Name(name(2)));
        world.hint_all();
        world.runs_until(|world| world.leader() != Some(0));
        assert_eq!(world.stepped_down(), [(0, StepDownReason::HandedOver)]);
        world.input(0, Input::Resign { again_after });
        world.input(0, Input::Drained);
        let reserved = world.requests.iter().find_map(|(_, place, request)| match request {
            Request::Release { reservation, .. } if *place == 0 => Some(*reservation),
            _ => None,
        });
        let reserved = reserved.expect("a release").expect("a reservation");
        assert_eq!(reserved.name, name(2));
        for place in [1, 3, 2] {
            world.input(place, Input::Hint);
        }
        assert_eq!(world.leader(), Some(2), "{:?}", world.events);
    }
}

/// The store may learn of it late: nobody else could lead meanwhile.
#[test]
fn a_lease_that_is_given_back_after_an_outage_is_kept_for_the_one_that_asked() {
    let mut world = World::led(&[NOTHING; 4]);
    world.works_on = true;
    world.wish(Wish::Name(name(2)));
    world.hint_all();
    world.runs_until(|world| world.leader() != Some(0));
    world.cut_off = Some(0);
    world.input(0, Input::Drained);
    world.runs_until(|world| world.candidates[0].stage() != Stage::Ending);
    assert_eq!(world.leader(), None);
    world.cut_off = None;
    world.works_on = false;
    world.runs_until(|world| world.record.is_some_and(|record| record.released));
    for place in [1, 3, 0, 2] {
        world.input(place, Input::Hint);
    }
    assert_eq!(world.leader(), Some(2), "{:?}", world.events);
}

/// Others go first when the lease was given back, or its leader has crashed; a handover does not
/// wait.
#[test]
fn one_that_defers_leads_if_no_other_can() {
    let defer = Duration::from_secs(4);
    let mut world = World::led(&[NOTHING, defer, NOTHING]);
    world.input(0, Input::Resign { again_after: None });
    world.input(1, Input::Hint);
    assert_eq!(world.leader(), None);
    world.runs_for(SHORT);
    world.input(2, Input::Hint);
    assert_eq!(world.leader(), Some(2));
    world.input(2, Input::Resign { again_after: None });
    world.input(1, Input::Hint);
    let vacant = world.now;
    world.runs_until(|world| world.leader().is_some());
    assert_eq!(world.leader(), Some(1));
    let took = world.now.since(vacant);
    assert!(took >= defer && took < defer + SHORT, "{took:?}");
}

/// Also at an election's first lease, whatever hints come, and after a wait for a past that nobody
/// has watched.
#[test]
fn others_go_first_at_the_first_lease() {
    let defer = Duration::from_secs(4);
    for trusts_empty in [true, false] {
        for others in [0, 1] {
            let mut world = World::of(&[defer, NOTHING]);
            world.trusts_empty = trusts_empty;
            let begun = world.now;
            for place in 0..=others {
                world.input(place, Input::Campaign);
                world.runs_for(SHORT);
            }
            while world.leader().is_none() {
                world.hint_all();
                world.runs_for(SHORT / 100);
            }
            assert_eq!(world.leader(), Some(others), "{trusts_empty}: {:?}", world.events);
            let watch =
                if trusts_empty { NOTHING } else { world.candidates[0].config().quarantine() };
            let took = world.now.since(begun);
            // Only an acquire begins a past, so that a candidate alone lets others go first twice.
            assert!(took < watch + defer * 2 + SHORT * 2, "{trusts_empty}, {others}: {took:?}");
            assert!(others == 1 || took >= defer, "{trusts_empty}: {took:?}");
            assert!(world.requests.len() < 400, "{}", world.requests.len());
        }
    }
}

#[test]
fn one_that_defers_is_handed_the_lead_at_once() {
    let mut world = World::led(&[NOTHING, Duration::from_secs(60)]);
    world.wish(Wish::Name(name(1)));
    let begun = world.now;
    world.runs_until(|world| world.leader() != Some(0));
    world.input(1, Input::Hint);
    assert_eq!(world.leader(), Some(1));
    assert!(world.now.since(begun) < TTL / 2);
}

/// A candidate that would have to watch before it may lead does not ask for the lead.
#[test]
fn one_that_must_watch_first_does_not_ask() {
    let mut world = World::led(&[NOTHING; 1]);
    let contradicting = Config::builder(TTL * 2).build().unwrap();
    world.candidates.push(Candidate::new(contradicting, name(1), Seed::new(9)));
    world.input(1, Input::Campaign);
    world.wish(Wish::Name(name(1)));
    world.runs_for(TTL * 3);
    assert_eq!(world.leader(), Some(0));
    let asks = world.requests.iter().filter(|(.., one)| matches!(one, Request::Ask { .. }));
    assert_eq!(asks.count(), 0);
}

/// The lead and its end are not reported together: work would be told of a renewal under an ended
/// tenure.
#[test]
fn a_renewal_that_ends_the_lead_is_not_reported() {
    let mut world = World::led(&[NOTHING; 2]);
    world.wish(Wish::Name(name(1)));
    world.runs_until(|world| world.leader() != Some(0));
    let ended = world.events.iter().position(|(.., one)| matches!(one, Event::SteppedDown { .. }));
    let (at, ..) = world.events[ended.expect("it was handed over")];
    let renewed = |(when, place, event): &(Instant, usize, Event)| {
        (*when, *place) == (at, 0) && matches!(event, Event::Renewed(_))
    };
    assert!(!world.events.iter().any(renewed), "{:?}", world.events);
}

/// Another candidate may have the leader's name: the lead does not go to itself, and the other
/// one's asks are few.
#[test]
fn a_leader_does_not_hand_over_to_its_own_name() {
    let mut world = World::led(&[NOTHING; 1]);
    let config = Config::builder(TTL).build().expect("within the bounds");
    world.candidates.push(Candidate::new(config, name(0), Seed::new(9)));
    world.input(1, Input::Campaign);
    world.wish(Wish::Name(name(0)));
    world.runs_for(TTL * 10);
    assert_eq!((world.leader(), world.stepped_down()), (Some(0), Vec::new()));
    let asks = world.requests.iter().filter(|(.., one)| matches!(one, Request::Ask { .. }));
    let asks = asks.count();
    assert!(asks > 3 && asks < 50, "{asks}");
}

/// An ask of one that is not the one wished for.
#[test]
fn an_ask_of_another_one_is_none() {
    let mut world = World::led(&[NOTHING; 2]);
    world.wish(Wish::Name(name(9)));
    let (token, asked) = (world.token(), tenure_core::Asked { name: name(1), defer: NOTHING });
    world.ask(Request::Ask { token, asked, seen: Some(token), quarantine: TTL });
    world.runs_for(TTL * 4);
    assert_eq!((world.leader(), world.stepped_down()), (Some(0), Vec::new()));
}
