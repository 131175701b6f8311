//! The conformance suite: a right store passes, and each of many wrong ones is found by the row
//! that says what is wrong with it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod objects;
mod swapped;
mod wrong;

use tenure::store::{HistoryKind, Promise, TokenKind};
use tenure_sim::conformance::{
    Broken, Data, Harness, Mishap, Outcome, Row, Unsupported, carry_out, check,
};

use wrong::{Bug, Server};

/// Servers in memory, with a bug or without.
struct InMemory(Server);

impl Harness for InMemory {
    type Store = Server;

    async fn connect(&self) -> Server {
        self.0.connection()
    }

    async fn restart(&self, data: Data) -> Result<(), Unsupported> {
        self.0.replace(data);
        Ok(())
    }

    async fn suffer(&self, mishap: Mishap) -> Result<(), Unsupported> {
        self.0.suffer(mishap);
        Ok(())
    }

    async fn slow(&self, is_slow: bool) -> Result<(), Unsupported> {
        self.0.slow(is_slow);
        Ok(())
    }
}

tenure_sim::conformance!(right, InMemory(Server::new(Bug::None)));

/// The same, where nothing can be done to the data.
struct OutOfReach(Server);

impl Harness for OutOfReach {
    type Store = Server;

    async fn connect(&self) -> Server {
        self.0.connection()
    }
}

tenure_sim::conformance!(right_and_out_of_reach, OutOfReach(Server::new(Bug::None)));

fn ending_leases() -> InMemory {
    InMemory(Server::new(Bug::None).declaring(|traits| traits.ends_leases = true))
}

tenure_sim::conformance!(right_and_ending_leases, ending_leases());

fn run(row: Row, harness: &InMemory) -> Result<Outcome, Broken> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(carry_out(row, harness))
}

/// The rows that find a bug, of those that are due to.
fn finds(bug: Bug, row: Row) {
    match run(row, &InMemory(Server::new(bug))) {
        Err(broken) => {
            assert_eq!(broken.row, row);
            assert!(!broken.transcript.is_empty());
        }
        Ok(outcome) => panic!("{row} does not find {bug:?}: {outcome:?}"),
    }
}

macro_rules! found {
    ($($name:ident: $bug:ident by $($row:ident),+;)*) => {
        $(
            #[test]
            fn $name() {
                $(finds(Bug::$bug, Row::$row);)+
            }
        )*

        #[test]
        fn every_row_finds_something() {
            let found = [$($(Row::$row,)+)*];
            let idle: Vec<Row> = Row::ALL.into_iter().filter(|row| !found.contains(row)).collect();
            assert!(idle.is_empty(), "these rows have found nothing: {idle:?}");
        }
    };
}

// Random requests find all that is wrong in one answer after another, and not in hints, or what
// happens at once.
found! {
    a_store_that_refuses_everybody: NeverGrants by VacantIsGranted, Differential;
    one_that_grants_what_is_held: GrantsWhenHeld by Held, ManyAtOnce, Linearizable, Differential;
    one_that_grants_after_any_watch: AnyMark by Taken, WholeHolders, Differential;
    one_that_compares_holders_of_marks: MarkOfTheHolder by Taken, Differential;
    one_that_compares_numbers_of_marks: MarkOfTheNumber by Taken, WholeHolders, Differential;
    one_whose_leases_nobody_takes: NeverTaken by Taken, TokensIncrease, Contradiction, Differential;
    one_that_ignores_seen: IgnoresSeen by Stale, LateAcquire, Differential;
    one_whose_tokens_stand_still: TokenStandsStill by TokensIncrease, Differential;
    one_whose_tokens_have_no_floor: TokenWithoutFloor by TokenFloor;
    one_whose_tokens_are_not_above_seen: TokenBelowSeen by AboveSeen, Differential;
    one_that_makes_a_retry_a_new_tenure: RetryIsNewTenure by RepeatedAcquire, LostReplies, Differential;
    one_whose_retries_change_settings: RetryChangesSettings by RepeatedAcquire, Differential;
    one_whose_retries_keep_the_mark: RetryKeepsMark by RepeatedAcquire, Differential;
    one_whose_late_retries_count: OlderRetryCounts by RepeatedAcquire, Differential;
    one_that_resurrects: Resurrects by NoResurrection, Differential;
    one_that_ignores_settings: SettingsIgnored by Contradiction, Differential;
    one_that_ignores_reservations: ReservationIgnored by Kept, Differential;
    one_whose_releases_change_marks: ReleaseChangesMark by Kept, Differential;
    one_that_answers_a_call_as_a_whole: OneAnswerForAll by AcquiresOfOneCall, RenewalsOfOneCall, LooksOfOneCall, Differential;
    one_that_answers_renewals_by_their_keys: AnswersByKey by RivalsRenewals, Differential;
    one_that_answers_a_call_backwards: LastOfCallFirst by RivalsAcquires, Differential;
    one_that_renews_nothing: RenewsNothing by Renewed, Superseded, Differential;
    one_that_renews_for_any_token: RenewsAnyToken by Superseded, LateRequests, Differential;
    one_whose_late_renewals_count: OlderRenewalCounts by OlderRenewal, Differential;
    one_that_releases_nothing: ReleasesNothing by Released, Differential;
    one_that_releases_for_anybody: ReleasesForAnybody by NotHeld, Differential;
    one_that_ends_leases_unasked: EndsLeases by StaysHeld;
    one_whose_leases_never_end: NeverEndsLeases by LeastTtl;
    one_that_hints_nobody: HintsNobody by Hints;
    one_that_hints_no_wish: HintsNoWish by Hints;
    one_that_tells_an_ask_for_ever: AskStays by Asked, Differential;
    one_that_tells_an_ask_to_late_renewals: AskIsToldToOlder by Asked, Differential;
    one_that_notes_asks_of_any_tenure: AsksOfAnyToken by Asked, Differential;
    one_that_notes_the_last_ask: LastAskCounts by WishedAsks, Differential;
    one_that_notes_wishes_of_any_tenure: WishesOfAnyToken by Wanted, Differential;
    one_whose_wishes_outlive_a_tenure: WishOutlivesTenure by Wanted, Differential;
    one_that_grants_to_renewals: RenewsUnknown by UnknownElection, Differential;
    one_that_tells_no_settings: TellsNoSettings by Looks, Differential;
    one_that_tells_no_reservation: TellsNoReservation by Looks, Kept, Differential;
    one_that_tells_no_age: TellsNoAge by Age;
    one_whose_looks_renew: LooksRenew by Looks, Differential;
    one_that_shortens_names: ShortensNames by Profiles;
    one_that_compares_no_versions: DescribesAnyVersion by Described;
    one_that_describes_any_tenure: DescribesAnyTenure by Described;
    one_that_counts_on_from_the_last_tenure: VersionsOfAllTenures by Described;
    one_that_describes_nothing: DescribesNothing by Described;
    one_whose_retries_restore_a_profile: RetryDescribes by Described;
    one_with_one_record: OneRecord by KeysApart, Differential;
    one_that_takes_keys_for_alike: KeysAlike by OddKeys;
    one_that_is_stuck_after_a_dropped_request: StuckWhenDropped by Dropped;
    one_that_lets_the_first_lead: FirstLeadsAtOnce by FreshStore, Differential;
    one_that_forgets_watches: WatchIsForgotten by WatchedForAll, Differential;
    one_that_compares_no_stamps: AnyStampCounts by WatchedForAll, Differential;
    one_that_shortens_watches: LastWatchCounts by WatchedForAll, Differential;
    one_whose_leader_need_not_watch: LeaderNeedNotWatch by UnwatchedRefuses, Differential;
    one_that_tells_its_leader_no_stamp: RenewalsTellNoPast by UnwatchedRefuses, Differential;
    one_whose_leader_watches_in_vain: LeaderWatchesInVain by LeaderWatches, Differential;
    one_whose_late_renewals_report_watches: OlderRenewalWatches by LeaderWatches, Differential;
    one_that_forgets_long_ttls: ForgetsLongTtls by LongestTtl, Differential;
    one_that_does_not_see_a_loss: ProofIgnored by ProvenLoss, Differential;
    one_that_compares_no_losses: AnyLossCounts by ProvenLoss, Differential;
    one_that_stamps_unwatched_pasts: StampsForEver by ProvenLoss, Differential;
    one_whose_looks_examine_nothing: LooksExamineNothing by FirstRequest, Differential;
    one_whose_renewals_examine_nothing: RenewalsExamineNothing by FirstRequest, Differential;
    one_whose_stamps_are_made_of_requests: StampsByRequest by StampsDiffer;
    one_that_keeps_its_identity: IdentityKept by Restart, FirstRequest, Differential;
    one_that_starts_again_after_a_loss: TrustsEmpty by Loss, Differential;
    one_that_loses_messages: LosesMessages by Messages;
    one_that_brings_messages_twice: DoublesMessages by Messages;
    one_that_brings_them_to_everybody: TellsEverybody by OwnMessages;
    one_that_sends_them_to_nobody: TellsNobody by NoLeader;
    one_that_compares_names: ComparesNames by OneName;
    one_that_compares_half_a_holder: ShortHolders by WholeHolders;
    one_that_takes_a_timeout_for_a_refusal: TimeoutIsRefusal by SlowServer;
    one_that_purges_held_leases: PurgesLive by PurgeSpares, Differential;
    one_that_purges_renewed_leases: PurgesWithoutMark by PurgeSpares;
    one_whose_purge_deletes_nothing: PurgesNothing by PurgedTokens, Differential;
    one_that_forgets_purged_tokens: PurgeForgetsTokens by PurgedTokens, Differential;
    one_that_lists_held_leases_alone: ListsHeldAlone by Listed;
    one_that_lists_a_step_alone: ListsOneStep by Listed;
}

#[test]
fn what_a_store_declares_not_to_keep_is_skipped_and_told() {
    let skipped = |change: fn(&mut tenure::store::StoreTraits)| -> Vec<Row> {
        let harness = InMemory(Server::new(Bug::None).declaring(change));
        let is_skipped = |row: &Row| matches!(run(*row, &harness), Ok(Outcome::Skipped { .. }));
        // The others take their time, and no store declares anything about them.
        let may_be = |row: &Row| {
            use Row::{Age, Hints, LeastTtl, NoLeader, OlderRenewal, StaysHeld, Taken, TokenFloor};
            let some = [Age, Hints, LeastTtl, NoLeader, OlderRenewal, StaysHeld, Taken, TokenFloor];
            some.contains(row) || PAST.contains(row)
        };
        Row::ALL.into_iter().filter(may_be).filter(is_skipped).collect()
    };
    let and = |row| [row, Row::LeastTtl];
    assert_eq!(skipped(|_| {}), [Row::LeastTtl]);
    assert_eq!(skipped(|traits| traits.push = false), [Row::LeastTtl, Row::Hints]);
    assert_eq!(skipped(|traits| traits.messages = false), [Row::LeastTtl, Row::NoLeader]);
    assert_eq!(skipped(|traits| traits.tokens = TokenKind::Revision), and(Row::TokenFloor));
    let marks = [Row::Taken, Row::OlderRenewal, Row::StaysHeld, Row::Age, Row::LeaderWatches];
    assert_eq!(skipped(|traits| traits.ends_leases = true), marks);
    let of_fate = skipped(|traits| traits.history = HistoryKind::SharesFate);
    assert_eq!(of_fate[1..], PAST);
    assert_eq!(skipped(|traits| traits.history = HistoryKind::Durable)[1..], [Row::Restart]);
    assert_eq!(skipped(|traits| traits.gives_up = &[Promise::StoreLoss])[1..], PAST);
}

const PAST: [Row; 10] = [
    Row::FreshStore,
    Row::WatchedForAll,
    Row::UnwatchedRefuses,
    Row::LeaderWatches,
    Row::LongestTtl,
    Row::ProvenLoss,
    Row::FirstRequest,
    Row::StampsDiffer,
    Row::Restart,
    Row::Loss,
];

/// A row that is no longer tested is noticed, and so is a list that is out of date.
#[test]
fn rows_are_skipped_as_the_harness_says() {
    struct Says(Server, &'static [Row]);

    impl Harness for Says {
        type Store = Server;

        async fn connect(&self) -> Server {
            self.0.connection()
        }

        fn skipped_rows(&self) -> Option<&'static [Row]> {
            Some(self.1)
        }
    }

    let fails = |row, says| {
        let checked = std::panic::catch_unwind(|| {
            check(row, || {
                Says(Server::new(Bug::None).declaring(|traits| traits.push = false), says)
            });
        });
        let why = checked.err()?;
        Some(why.downcast_ref::<String>().unwrap().clone())
    };
    assert_eq!(fails(Row::Hints, &[Row::Hints]), None);
    assert_eq!(fails(Row::Renewed, &[Row::Hints]), None);
    let unlisted = fails(Row::Hints, &[]).unwrap();
    assert!(
        unlisted.contains("Hints is skipped") && unlisted.contains("no wake-ups"),
        "{unlisted}"
    );
    let outdated = fails(Row::Renewed, &[Row::Renewed]).unwrap();
    assert!(outdated.contains("Renewed is not skipped"), "{outdated}");
}

/// The other rows judge such a store as before.
#[test]
fn a_store_without_purge_and_listing_is_skipped_and_told() {
    let harness = || InMemory(Server::new(Bug::None).without_purge_and_listing());
    let (purge, listing) = ("the store declares no purge", "the store declares no listing");
    for (row, why) in
        [(Row::PurgeSpares, purge), (Row::PurgedTokens, purge), (Row::Listed, listing)]
    {
        assert_eq!(run(row, &harness()).unwrap(), Outcome::Skipped { why });
    }
    assert_eq!(run(Row::Differential, &harness()).unwrap(), Outcome::Held);
}

#[test]
fn names_are_unique_and_found() {
    for row in Row::ALL {
        assert_eq!(row.name().parse(), Ok(row));
    }
    "no_such_row".parse::<Row>().unwrap_err();
}
