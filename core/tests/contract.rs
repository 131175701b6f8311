//! The store contract, row by row of DESIGN section 4, and the ways in which requests come late or twice.

use std::time::Duration;
use tenure_core::contract::{History, Moment, Record, apply};
use tenure_core::{HolderId, Instant, Reply, Request, Token};

const TTL: Duration = Duration::from_secs(10);
const QUARANTINE: Duration = Duration::from_secs(12);
const ANNA: HolderId = HolderId::from_bits(0xa);
const BERT: HolderId = HolderId::from_bits(0xb);

/// A store, and its clock in seconds; both of them set by hand.
struct Store {
    record: Option<Record>,
    history: Option<History>,
    identity: u128,
    trusted: bool,
    compares: bool,
    at: Instant,
}

impl Store {
    /// Has known its prefix for longer than any quarantine.
    fn whole() -> Self {
        let known_since = Instant::ORIGIN;
        let longest_ttl = Duration::ZERO;
        let history = History { identity: 1, known_since, longest_ttl };
        Self { history: Some(history), ..Self::empty() }
    }

    /// Has never seen its prefix.
    fn empty() -> Self {
        let at = seconds(1_000);
        Self { record: None, history: None, identity: 1, trusted: false, compares: false, at }
    }

    fn at(&mut self, seconds_on_its_clock: u64) -> &mut Self {
        self.at = seconds(seconds_on_its_clock);
        self
    }

    fn ask(&mut self, request: Request) -> Reply {
        let moment = Moment {
            now: self.at,
            identity: self.identity,
            trust_empty_store: self.trusted,
            compares_identity: self.compares,
        };
        apply(&mut self.record, &mut self.history, moment, request)
    }

    fn acquire(&mut self, holder: HolderId, seen: Option<Token>) -> Reply {
        self.ask(Request::Acquire { holder, seen, ttl: TTL, quarantine: QUARANTINE })
    }

    fn granted(&mut self, holder: HolderId, seen: Option<Token>) -> (Token, Duration) {
        match self.acquire(holder, seen) {
            Reply::Granted { token, wait } => (token, wait),
            refused => panic!("not granted: {refused:?}"),
        }
    }

    fn renew(&mut self, holder: HolderId, token: Token) -> Reply {
        self.ask(Request::Renew { holder, token, ttl: TTL })
    }

    fn release(&mut self, holder: HolderId, token: Token) -> Reply {
        self.ask(Request::Release { holder, token })
    }

    fn lease_end(&self) -> Instant {
        self.record.expect("granted before").lease_end
    }

    /// Asks, and shows that nothing was written.
    fn refuses(&mut self, request: Request) -> Reply {
        let before = (self.record, self.history);
        let reply = self.ask(request);
        assert_eq!((self.record, self.history), before, "{request:?} left a trace");
        reply
    }
}

const fn seconds(count: u64) -> Instant {
    Instant::from_nanos(count * 1_000_000_000)
}

/// The token of a first grant at that second: microseconds of the store's clock.
fn micros(seconds: u64) -> Token {
    Token::new(seconds * 1_000_000).expect("not zero")
}

fn release(holder: HolderId, token: Token) -> Request {
    Request::Release { holder, token }
}

fn renew(holder: HolderId, token: Token) -> Request {
    Request::Renew { holder, token, ttl: TTL }
}

fn acquire(holder: HolderId, seen: Option<Token>) -> Request {
    Request::Acquire { holder, seen, ttl: TTL, quarantine: QUARANTINE }
}

#[test]
fn acquire_of_a_key_never_seen_is_granted_with_the_clock_as_token() {
    let mut store = Store::whole();
    assert_eq!(store.granted(ANNA, None), (micros(1_000), Duration::ZERO));
    assert_eq!(store.lease_end(), seconds(1_010));
}

#[test]
fn acquire_by_the_live_holder_keeps_the_token_and_extends() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.at(1_004).granted(ANNA, None), (token, Duration::ZERO));
    assert_eq!(store.lease_end(), seconds(1_014));
}

#[test]
fn acquire_by_the_live_holder_never_shortens() {
    let mut store = Store::whole();
    store.granted(ANNA, None);
    let ttl = Duration::from_secs(1);
    store.ask(Request::Acquire { holder: ANNA, seen: None, ttl, quarantine: QUARANTINE });
    assert_eq!(store.lease_end(), seconds(1_010));
}

#[test]
fn acquire_of_a_live_lease_of_another_is_held() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    let reply = store.at(1_003).refuses(acquire(BERT, Some(token)));
    assert_eq!(reply, Reply::Held { token, remaining: Duration::from_secs(7), ttl: TTL });
}

#[test]
fn a_lease_is_live_until_just_before_its_end() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.at = Instant::from_nanos(seconds(1_010).as_nanos() - 1);
    let remaining = Duration::from_nanos(1);
    assert_eq!(
        store.refuses(acquire(BERT, Some(token))),
        Reply::Held { token, remaining, ttl: TTL }
    );
    assert_eq!(store.at(1_010).granted(BERT, Some(token)).0, micros(1_010));
}

#[test]
fn remaining_is_never_above_the_ttl_when_the_clock_steps_back() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    let reply = store.at(900).refuses(acquire(BERT, None));
    assert_eq!(reply, Reply::Held { token, remaining: TTL, ttl: TTL });
}

#[test]
fn remaining_is_bounded_by_the_ttl_of_that_lease_not_of_the_asker() {
    let mut store = Store::whole();
    let ttl = Duration::from_secs(2);
    store.ask(Request::Acquire { holder: ANNA, seen: None, ttl, quarantine: QUARANTINE });
    let Reply::Held { remaining, .. } = store.at(900).acquire(BERT, None) else {
        panic!("is held")
    };
    assert_eq!(remaining, ttl);
}

#[test]
fn a_renewal_never_moves_the_end_back_when_the_clock_steps_back() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.at(990).renew(ANNA, token), Reply::Renewed);
    assert_eq!(store.lease_end(), seconds(1_010));
}

#[test]
fn acquire_of_a_vacant_lease_without_the_last_token_is_stale() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.at(1_020).refuses(acquire(BERT, None)), Reply::Stale { last: token });
    let older = Token::new(token.get() - 1);
    assert_eq!(store.refuses(acquire(BERT, older)), Reply::Stale { last: token });
}

#[test]
fn acquire_of_a_vacant_lease_with_the_last_token_is_granted_a_higher_one() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.release(ANNA, token);
    // In the same microsecond, where the clock alone would repeat the token.
    assert_eq!(store.granted(BERT, Some(token)), (token.next(), Duration::ZERO));
}

#[test]
fn a_token_increases_when_the_clock_steps_back() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.release(ANNA, token);
    assert_eq!(store.at(500).granted(BERT, Some(token)).0, token.next());
}

#[test]
fn acquire_with_a_higher_token_than_the_stores_proves_a_loss() {
    let mut store = Store::whole();
    let lost = micros(2_000);
    let (token, wait) = store.granted(ANNA, Some(lost));
    assert_eq!((token, wait), (lost.next(), QUARANTINE));
    assert_eq!(store.history.expect("written").known_since, seconds(1_000));
}

#[test]
fn a_proven_loss_outweighs_a_record_that_is_left() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.release(ANNA, token);
    let lost = Token::new(token.get() + 5).expect("not zero");
    assert_eq!(store.granted(BERT, Some(lost)), (lost.next(), QUARANTINE));
}

#[test]
fn a_late_duplicate_of_an_acquire_is_never_granted() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.release(ANNA, token);
    assert_eq!(store.refuses(acquire(ANNA, None)), Reply::Stale { last: token }, "once released");
    let (next, _) = store.granted(BERT, Some(token));
    let reply = store.refuses(acquire(ANNA, None));
    assert!(matches!(reply, Reply::Held { token, .. } if token == next), "while another leads");
    let late = store.at(1_050).refuses(acquire(ANNA, Some(token)));
    assert_eq!(late, Reply::Stale { last: next }, "once the other's lease ended");
}

#[test]
fn a_duplicate_of_an_acquire_while_its_own_lease_is_live_changes_no_token() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.at(1_001).renew(ANNA, token);
    assert_eq!(store.at(1_002).granted(ANNA, None), (token, Duration::ZERO));
}

#[test]
fn renew_extends_exactly_that_tenure() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.at(1_009).renew(ANNA, token), Reply::Renewed);
    assert_eq!(store.lease_end(), seconds(1_019));
}

#[test]
fn renew_of_anything_else_is_superseded() {
    let mut store = Store::whole();
    assert_eq!(store.refuses(renew(ANNA, Token::FIRST)), Reply::Superseded { last: None });
    let (token, _) = store.granted(ANNA, None);
    let over = Reply::Superseded { last: Some(token) };
    assert_eq!(store.refuses(renew(BERT, token)), over, "another holder");
    assert_eq!(store.refuses(renew(ANNA, token.next())), over, "another token");
    assert_eq!(store.at(1_010).refuses(renew(ANNA, token)), over, "an ended lease");
    store.at(1_005).release(ANNA, token);
    assert_eq!(store.refuses(renew(ANNA, token)), over, "a released lease");
}

#[test]
fn release_ends_exactly_that_tenure_once() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.release(ANNA, token), Reply::Released);
    assert_eq!(store.refuses(release(ANNA, token)), Reply::NotHeld);
}

#[test]
fn release_of_anything_else_is_not_held() {
    let mut store = Store::whole();
    assert_eq!(store.refuses(release(ANNA, Token::FIRST)), Reply::NotHeld);
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.refuses(release(BERT, token)), Reply::NotHeld, "another holder");
    assert_eq!(store.refuses(release(ANNA, token.next())), Reply::NotHeld, "another token");
    assert_eq!(store.at(1_010).refuses(release(ANNA, token)), Reply::NotHeld, "an ended lease");
}

#[test]
fn a_late_release_does_not_end_the_next_tenure_of_the_same_holder() {
    let mut store = Store::whole();
    let (first, _) = store.granted(ANNA, None);
    let (second, _) = store.at(1_020).granted(ANNA, Some(first));
    assert_eq!(store.refuses(release(ANNA, first)), Reply::NotHeld);
    assert_eq!(store.renew(ANNA, second), Reply::Renewed);
}

#[test]
fn the_first_leader_of_a_store_that_never_saw_the_prefix_waits() {
    let mut store = Store::empty();
    assert_eq!(store.granted(ANNA, None), (micros(1_000), QUARANTINE));
}

#[test]
fn trust_empty_store_lets_the_first_leader_lead_at_once() {
    let mut store = Store { trusted: true, ..Store::empty() };
    assert_eq!(store.granted(ANNA, None).1, Duration::ZERO);
}

#[test]
fn trust_empty_store_does_not_excuse_a_loss() {
    let mut proven = Store { trusted: true, ..Store::empty() };
    assert_eq!(proven.granted(ANNA, Some(Token::FIRST)).1, QUARANTINE, "the candidate knows more");
    let mut replaced = Store { trusted: true, identity: 2, ..Store::whole() };
    assert_eq!(replaced.granted(ANNA, None).1, QUARANTINE, "another server wrote the history");
}

#[test]
fn a_repeated_grant_carries_what_is_left_of_the_wait() {
    let mut store = Store::empty();
    let (token, _) = store.granted(ANNA, None);
    assert_eq!(store.at(1_005).granted(ANNA, None), (token, Duration::from_secs(7)));
}

#[test]
fn the_quarantine_belongs_to_the_store_and_not_to_the_grant() {
    let mut store = Store::empty();
    let (token, _) = store.granted(ANNA, None);
    store.release(ANNA, token);
    let (next, wait) = store.at(1_004).granted(BERT, Some(token));
    assert_eq!(wait, Duration::from_secs(8), "the next one waits out the rest");
    store.release(BERT, next);
    assert_eq!(store.at(1_012).granted(ANNA, Some(next)).1, Duration::ZERO, "and then nobody does");
}

#[test]
fn a_changed_identity_starts_the_quarantine_at_the_grant_that_finds_it() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.identity = 2;
    assert_eq!(store.at(1_005).renew(ANNA, token), Reply::Renewed, "the leader leads on");
    assert_eq!(store.at(1_020).granted(BERT, Some(token)).1, QUARANTINE);
    let history = History { identity: 2, known_since: seconds(1_020), longest_ttl: TTL };
    assert_eq!(store.history, Some(history));
}

#[test]
fn a_live_holder_that_asks_again_after_a_change_of_identity_waits_too() {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    store.identity = 2;
    assert_eq!(store.at(1_001).granted(ANNA, None), (token, QUARANTINE));
}

#[test]
fn a_key_never_seen_of_a_prefix_long_known_is_granted_at_once() {
    let mut store = Store::whole();
    store.granted(ANNA, None);
    store.record = None;
    assert_eq!(store.granted(BERT, None).1, Duration::ZERO);
}

/// A lease of that TTL, by a candidate that declares that quarantine.
fn lease_of(ttl: u64, quarantine: u64) -> Store {
    let mut store = Store::whole();
    store.ask(asks(ANNA, None, (ttl, quarantine)));
    store
}

fn asks(holder: HolderId, seen: Option<Token>, (ttl, quarantine): (u64, u64)) -> Request {
    let (ttl, quarantine) = (Duration::from_secs(ttl), Duration::from_secs(quarantine));
    Request::Acquire { holder, seen, ttl, quarantine }
}

fn refused(ttl: u64, quarantine: u64) -> Reply {
    let quarantine = Some(Duration::from_secs(quarantine));
    Reply::Refused { ttl: Duration::from_secs(ttl), quarantine }
}

#[test]
fn settings_that_contradict_the_record_are_refused() {
    let mut store = lease_of(10, 12);
    for settings in [(2, 9), (13, 13), (20, 60)] {
        assert_eq!(store.refuses(asks(BERT, None, settings)), refused(10, 12), "{settings:?}");
    }
    for settings in [(2, 10), (12, 12), (10, 60)] {
        let reply = store.refuses(asks(BERT, None, settings));
        assert!(matches!(reply, Reply::Held { .. }), "{settings:?}: {reply:?}");
    }
}

#[test]
fn settings_are_compared_until_nobody_can_wait_with_the_old_ones() {
    let mut store = lease_of(10, 12);
    store.release(ANNA, micros(1_000));
    let other = asks(BERT, Some(micros(1_000)), (2, 9));
    assert_eq!(store.at(1_021).refuses(other), refused(10, 12), "12 s beyond the lease's end");
    assert!(matches!(store.at(1_022).ask(other), Reply::Granted { .. }));
}

#[test]
fn a_record_without_a_quarantine_refuses_by_its_ttl_alone() {
    let mut store = lease_of(10, 12);
    store.record.as_mut().expect("granted").quarantine = None;
    let reply = store.refuses(asks(BERT, None, (2, 9)));
    assert_eq!(reply, Reply::Refused { ttl: TTL, quarantine: None });
    let reply = store.refuses(asks(BERT, None, (60, 60)));
    assert!(matches!(reply, Reply::Held { .. }), "{reply:?}");
}

#[test]
fn the_holder_itself_is_never_refused() {
    let mut store = lease_of(10, 12);
    assert!(matches!(store.ask(asks(ANNA, None, (2, 2))), Reply::Granted { .. }));
}

#[test]
fn the_longest_ttl_ever_granted_is_waited_out() {
    let mut store = lease_of(10, 12);
    store.identity = 2;
    // Nobody is left who waits with the settings of the long lease.
    store.at(1_060);
    let short = |seen| asks(BERT, seen, (2, 3));
    let Reply::Granted { token, wait } = store.ask(short(Some(micros(1_000)))) else {
        panic!("granted")
    };
    assert_eq!(wait, TTL, "and not its own 3 s");
    store.release(BERT, token);
    let reply = store.at(1_064).ask(asks(ANNA, Some(token), (2, 2)));
    assert!(matches!(reply, Reply::Granted { wait, .. } if wait.as_secs() == 6), "{reply:?}");
    assert_eq!(store.history.expect("written").longest_ttl, TTL);
}

#[test]
fn one_ttl_waits_for_no_longer_than_its_quarantine() {
    let mut store = Store::empty();
    assert_eq!(store.granted(ANNA, None).1, QUARANTINE);
    let mut store = Store::whole();
    assert_eq!(store.granted(ANNA, None).1, Duration::ZERO);
}

/// Anna leads at a server that restarts with its data at 1,005.
fn restarted() -> (Store, Token) {
    let mut store = Store::whole();
    let (token, _) = store.granted(ANNA, None);
    (store.identity, store.compares, store.at) = (2, true, seconds(1_005));
    (store, token)
}

#[test]
fn the_first_renewal_at_a_new_server_begins_its_history() {
    let (mut store, token) = restarted();
    assert_eq!(store.renew(ANNA, token), Reply::Renewed);
    let history = History { identity: 2, known_since: seconds(1_015), longest_ttl: TTL };
    assert_eq!(store.history, Some(history), "a TTL from then");
    assert_eq!(store.at(1_008).renew(ANNA, token), Reply::Renewed);
    assert_eq!(store.history, Some(history), "and the next renewal changes nothing");
}

#[test]
fn a_renewal_keeps_the_longest_ttl_and_leaves_it_time() {
    let (mut store, token) = restarted();
    let longest_ttl = Duration::from_secs(60);
    store.history.as_mut().expect("known").longest_ttl = longest_ttl;
    store.renew(ANNA, token);
    let history = History { identity: 2, known_since: seconds(1_065), longest_ttl };
    assert_eq!(store.history, Some(history));
}

#[test]
fn a_renewal_that_does_not_compare_begins_no_history() {
    let (mut store, token) = restarted();
    store.compares = false;
    let before = store.history;
    assert_eq!(store.renew(ANNA, token), Reply::Renewed);
    assert_eq!(store.history, before);
}

#[test]
fn a_refused_renewal_begins_no_history() {
    let (mut store, token) = restarted();
    assert_eq!(store.refuses(renew(BERT, token)), Reply::Superseded { last: Some(token) });
    let late = store.at(1_010).refuses(renew(ANNA, token));
    assert_eq!(late, Reply::Superseded { last: Some(token) });
}

#[test]
fn a_grant_soon_after_a_restart_waits_for_one_quarantine() {
    let (mut store, token) = restarted();
    store.renew(ANNA, token);
    store.at(1_007).release(ANNA, token);
    let (next, wait) = store.granted(BERT, Some(token));
    assert_eq!(wait, QUARANTINE, "known since the grant, not since a time to come");
    assert_eq!(store.history.expect("written").known_since, seconds(1_007));
    store.at(1_012).release(BERT, next);
    assert_eq!(store.granted(ANNA, Some(next)).1, Duration::from_secs(7));
}

#[test]
fn a_handover_long_after_a_restart_waits_for_nothing() {
    let (mut store, token) = restarted();
    store.renew(ANNA, token);
    for at in [1_010, 1_018, 1_026] {
        assert_eq!(store.at(at).renew(ANNA, token), Reply::Renewed);
    }
    store.at(1_026).release(ANNA, token);
    let (next, wait) = store.granted(BERT, Some(token));
    assert_eq!(wait, Duration::from_secs(1), "1,015 and 12");
    store.at(1_027).release(BERT, next);
    assert_eq!(store.granted(ANNA, Some(next)).1, Duration::ZERO);
}
