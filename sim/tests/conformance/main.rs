//! The conformance suite: a right store passes, and each of many wrong ones is found by the row that says
//! what is wrong with it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

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
        self.0.clone()
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
        self.0.clone()
    }
}

tenure_sim::conformance!(right_and_out_of_reach, OutOfReach(Server::new(Bug::None)));

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
            assert!(
                !broken.transcript.is_empty() || row == Row::ManyAtOnce || row == Row::Linearizable
            );
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

// Random requests find all that is wrong in one answer after another, and not in times, hints, names or what happens
// at once.
found! {
    a_store_that_refuses_everybody: NeverGrants by VacantIsGranted, Differential;
    one_that_grants_what_is_held: GrantsWhenHeld by Held, ManyAtOnce, Linearizable, Differential;
    one_that_ignores_seen: IgnoresSeen by Stale, LateAcquire, Differential;
    one_whose_tokens_stand_still: TokenStandsStill by TokensIncrease, Differential;
    one_whose_tokens_have_no_floor: TokenWithoutFloor by TokenFloor;
    one_whose_tokens_are_not_above_seen: TokenBelowSeen by AboveSeen, Differential;
    one_that_makes_a_retry_a_new_tenure: RetryIsNewTenure by RepeatedAcquire, LostReplies, Differential;
    one_that_shortens_a_lease_on_retry: RetryShortens by RepeatedAcquire;
    one_that_resurrects: Resurrects by NoResurrection, Differential;
    one_that_moves_an_end_back: MovesEndBack by NeverBack;
    one_that_answers_a_call_as_a_whole: OneAnswerForAll by AcquiresOfOneCall, RenewalsOfOneCall;
    one_that_answers_renewals_by_their_keys: AnswersByKey by RivalsOfOneCall;
    one_that_renews_nothing: RenewsNothing by Renewed, Differential;
    one_that_renews_for_any_token: RenewsAnyToken by Superseded, LateRequests, Differential;
    one_that_tells_too_much_remaining: RemainingAboveTtl by Remaining;
    one_that_releases_nothing: ReleasesNothing by Released, Differential;
    one_that_releases_for_anybody: ReleasesForAnybody by NotHeld, Differential;
    one_whose_leases_never_end: LeasesNeverEnd by LeastTtl;
    one_that_hints_nobody: HintsNobody by Hints;
    one_that_grants_to_renewals: RenewsUnknown by UnknownElection, Differential;
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
    one_that_forgets_the_quarantine: RepeatsWithoutWait by RepeatedWait, Differential;
    one_that_begins_it_anew: QuarantineOfTheGrant by StoresWait, Differential;
    one_that_never_ends_it: QuarantineForEver by QuarantineEnds, Differential;
    one_that_does_not_see_a_loss: ProofIgnored by ProvenLoss, Differential;
    one_that_keeps_its_identity: IdentityKept by Restart, Differential;
    one_that_starts_again_after_a_loss: TrustsEmpty by Loss, Differential;
    one_that_ignores_settings: SettingsIgnored by Contradiction, Differential;
    one_that_tells_no_ttl: TellsNoTtl by IncumbentTtl;
    one_that_forgets_long_ttls: ForgetsLongTtls by LongestTtl;
    one_whose_renewals_compare_nothing: RenewalsCompareNothing by RenewalBegins;
    one_that_loses_messages: LosesMessages by Messages;
    one_that_brings_messages_twice: DoublesMessages by Messages;
    one_that_brings_them_to_everybody: TellsEverybody by OwnMessages;
    one_that_sends_them_to_nobody: TellsNobody by NoLeader;
    one_that_compares_names: ComparesNames by OneName;
    one_that_compares_half_a_holder: ShortHolders by WholeHolders;
    one_that_keeps_whole_seconds: WholeSeconds by UncutTtl, LiveForTtl;
    one_that_keeps_tenths_of_a_second: Tenths by UncutTtl, LiveForTtl;
    one_that_ends_leases_at_whole_seconds: EndsAtWholeSeconds by LiveForTtl;
    one_whose_remaining_stands_still: RemainingIsTtl by RemainingFalls;
    one_that_takes_a_timeout_for_a_refusal: TimeoutIsRefusal by SlowServer;
    one_that_purges_live_elections: PurgesLive by PurgeSpares, Differential;
    one_that_purges_what_has_just_ended: PurgesRecent by PurgeSpares, Differential;
    one_whose_purge_deletes_nothing: PurgesNothing by PurgedTokens;
    one_that_grants_purged_tokens_again: PurgeForgetsTokens by PurgedTokens, Differential;
    one_that_takes_purged_tokens_for_a_loss: PurgeForgetsHistory by PurgedTokens, Differential;
}

#[test]
fn what_a_store_declares_not_to_keep_is_skipped_and_told() {
    let skipped = |change: fn(&mut tenure::store::StoreTraits)| -> Vec<Row> {
        let harness = InMemory(Server::new(Bug::None).declaring(change));
        let is_skipped = |row: &Row| matches!(run(*row, &harness), Ok(Outcome::Skipped { .. }));
        let may_be = |row: &Row| {
            use Row::{Contradiction, IncumbentTtl, LongestTtl, RenewalBegins};
            use Row::{FreshStore, Hints, Loss, ProvenLoss, QuarantineEnds, RepeatedWait, Restart};
            let some = [FreshStore, Hints, Loss, ProvenLoss, QuarantineEnds, RepeatedWait, Restart];
            let others = [Row::StoresWait, Row::TokenFloor, Row::AboveSeen, Row::NoLeader];
            let compared = [Contradiction, IncumbentTtl, LongestTtl, RenewalBegins];
            [&some[..], &others, &compared].iter().any(|rows| rows.contains(row))
        };
        Row::ALL.into_iter().filter(may_be).filter(is_skipped).collect()
    };
    assert_eq!(skipped(|_| {}), []);
    assert_eq!(skipped(|traits| traits.push = false), [Row::Hints]);
    assert_eq!(skipped(|traits| traits.messages = false), [Row::NoLeader]);
    assert_eq!(skipped(|traits| traits.tokens = TokenKind::Revision), [Row::TokenFloor]);
    let compared = [Row::Contradiction, Row::IncumbentTtl, Row::LongestTtl];
    assert_eq!(skipped(|traits| traits.refuses_contradictions = false), compared);
    assert_eq!(skipped(|traits| traits.renewals_begin_history = false), [Row::RenewalBegins]);
    assert_eq!(skipped(|traits| traits.history = HistoryKind::SharesFate).len(), 9);
    assert_eq!(skipped(|traits| traits.history = HistoryKind::Durable), [Row::Restart]);
    assert_eq!(skipped(|traits| traits.gives_up = &[Promise::StoreLoss]).len(), 9);
}

/// A row that is no longer tested is noticed, and so is a list that is out of date.
#[test]
fn rows_are_skipped_as_the_harness_says() {
    struct Says(Server, &'static [Row]);

    impl Harness for Says {
        type Store = Server;

        async fn connect(&self) -> Server {
            self.0.clone()
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
fn a_store_without_purge_is_skipped_and_told() {
    let harness = || InMemory(Server::new(Bug::None).without_purge());
    for row in [Row::PurgeSpares, Row::PurgedTokens] {
        let why = "the store declares no purge";
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
