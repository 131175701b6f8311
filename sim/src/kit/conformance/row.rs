//! The rows, their names, and the macro that makes a test of each.

use super::probe::Probe;
use super::rows::{self, Stop};
use crate::plan::named;

macro_rules! rows {
    ($dollar:tt $($file:ident { $($name:ident = $row:ident: $about:literal,)* })*) => {
        /// One row of the store contract.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Row {
            $($(#[doc = $about] $row,)*)*
        }

        impl Row {
            /// All rows.
            pub const ALL: [Self; [$($(Self::$row,)*)*].len()] = [$($(Self::$row,)*)*];

            /// Its name, which is the name of its test.
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$row => stringify!($name),)*)* }
            }

            /// Its statement.
            pub const fn about(self) -> &'static str {
                match self { $($(Self::$row => $about,)*)* }
            }

            pub(super) async fn carry_out(
                self,
                probe: &mut Probe<'_>,
            ) -> Result<(), Stop> {
                match self { $($(Self::$row => rows::$file::$name(probe).await,)*)* }
            }
        }

        /// Makes a module of that name with one `#[test]` for each row of the store contract. The
        /// second argument makes a fresh [`Harness`](crate::conformance::Harness) for each test,
        /// within a tokio runtime.
        #[macro_export]
        macro_rules! conformance {
            ($dollar name:ident, $dollar harness:expr) => {
                mod $dollar name {
                    #[allow(unused_imports, reason = "the harness may be made without any")]
                    use super::*;

                    $($(
                        #[test]
                        fn $name() {
                            $dollar crate::conformance::check(
                                $dollar crate::conformance::Row::$row,
                                || $dollar harness,
                            );
                        }
                    )*)*
                }
            };
        }
    };
}

rows! { $
    acquire {
        vacant_is_granted = VacantIsGranted: "a vacant lease is granted",
        tokens_are_not_below_the_wall_clock = TokenFloor: "a new token is at least the wall clock in microseconds",
        tokens_increase = TokensIncrease: "each tenure's token is above all earlier ones, whether the last lease was given back or taken",
        a_repeated_acquire_keeps_its_token = RepeatedAcquire: "an acquire by the holder of the lease gets the same token; it changes the mark if its number is higher, and nothing else",
        candidates_of_one_name_are_different = OneName: "a candidate with the incumbent's name is not the incumbent",
        holders_are_compared_whole = WholeHolders: "a holder that differs from the incumbent in one bit is not the incumbent",
        a_lease_is_not_granted_to_others = Held: "an acquire by another candidate is refused with the incumbent",
        a_watched_lease_is_granted = Taken: "a lease is granted to a candidate that has watched its mark, and not to one that has watched another mark",
        a_candidate_without_the_last_token_is_refused = Stale: "a lease that was given back is not granted to a candidate that does not know the last tenure",
        a_grant_is_above_every_known_token = AboveSeen: "a grant's token is above every token that the candidate knows, also if the store has forgotten it",
        contradicting_settings_are_watched = Contradiction: "a lease that was given back is not granted if the TTL is above the record's quarantine, or the quarantine below the record's TTL, unless the mark was watched",
        a_lease_is_kept_for_a_name = Kept: "a lease that was given back to a name is granted to that name, and to others if they have watched its mark, which is that of the last renewal",
    }
    calls {
        acquires_of_one_call_are_judged_alone = AcquiresOfOneCall: "each acquire of a call is answered as if it had been asked alone",
        rivals_acquires_in_one_call_are_told_apart = RivalsAcquires: "of acquires of one lease in one call, the first is granted",
        renewals_of_one_call_are_judged_alone = RenewalsOfOneCall: "each renewal of a call is answered as if it had been asked alone",
        rivals_renewals_in_one_call_are_told_apart = RivalsRenewals: "of renewals for one lease in one call, exactly those of the present tenure are renewed",
        looks_of_one_call_are_judged_alone = LooksOfOneCall: "each look of a call is answered as if it had been asked alone",
    }
    tenure {
        a_renewal_changes_the_mark = Renewed: "a renewal of the present tenure gives the lease its own mark",
        an_older_renewal_changes_nothing = OlderRenewal: "a renewal with a lower number than the lease's is answered as the tenure's, and changes nothing",
        anything_else_is_superseded = Superseded: "a renewal of anything but the present tenure is superseded, and changes nothing",
        an_ended_tenure_is_never_resurrected = NoResurrection: "a lease that was given back stays so, also for its holder",
        no_clock_of_the_store_ends_leases = StaysHeld: "a lease that is not renewed stays held, and can be renewed, until a candidate that has watched it takes it",
        the_least_ttl_is_kept = LeastTtl: "a server that ends leases keeps one of the least TTL at first, and then ends it",
        a_release_ends_its_own_lease = Released: "a release of the present tenure gives its lease back at once",
        anything_else_is_not_held = NotHeld: "a release of anything but the present tenure changes nothing",
        the_age_of_a_mark_is_told = Age: "the answer to a look tells roughly how long ago the lease was renewed",
        wishes_and_releases_send_hints = Hints: "waiting candidates get a hint when another leader is wished for, and when the lease is given back",
    }
    handover {
        a_leader_is_told_who_asks = Asked: "an ask of the present tenure's token is told to the next renewals, until one with a higher number has been told",
        a_wished_candidate_asks_first = WishedAsks: "the ask of a candidate that is wished for is replaced by no other",
        a_wish_lasts_for_a_tenure = Wanted: "a wish of the present tenure's token is told to its renewals until it is taken back or the tenure is over",
    }
    observe {
        an_unknown_election_has_no_record = UnknownElection: "an unknown election has no record, and no request of a tenure makes one",
        looks_tell_the_record = Looks: "looks and observers are told the whole record, and change nothing",
        names_and_metadata_come_back = Profiles: "names and metadata come back byte for byte, up to the limits",
        elections_do_not_interfere = KeysApart: "requests about one election change no other",
        keys_may_have_any_characters = OddKeys: "keys of any characters and of the greatest length name elections of their own",
        elections_are_listed = Listed: "a listing has every election whose lease is held or was given back, and none that nobody has asked about",
    }
    describe {
        older_profiles_change_nothing = Described: "the profile of a leader can be replaced, and neither an older version nor a repeated acquire nor another tenure restores the earlier one",
    }
    messages {
        a_lost_reply_is_harmless = LostReplies: "a request that is sent again because its reply was lost does no harm",
        a_late_duplicate_acquire_is_never_granted = LateAcquire: "a late duplicate of an old acquire is never granted",
        late_requests_of_an_old_tenure_change_nothing = LateRequests: "late renewals and releases of an old tenure do not change the next one",
        a_dropped_request_leaves_the_store_usable = Dropped: "a request that its caller has given up leaves the store usable",
        of_many_at_once_one_is_granted = ManyAtOnce: "of many candidates that ask at once exactly one is granted",
        answers_are_linearizable = Linearizable: "some order of all requests explains all answers",
    }
    slow {
        a_timeout_is_not_a_refusal = SlowServer: "while the server is too slow to answer, a request has no outcome, or its true one",
    }
    differential {
        random_requests_are_answered_as_by_the_contract = Differential: "random requests are answered as by the contract's own code",
    }
    purge {
        a_purge_leaves_leases = PurgeSpares: "a purge deletes no record of a lease that is held and was not watched",
        tokens_increase_after_a_purge = PurgedTokens: "a purge deletes records of leases that were given back or watched, and later tokens are above theirs all the same",
    }
    notify {
        a_message_reaches_the_leader = Messages: "a message reaches the tenure that holds the lease, whole, in order, and once",
        a_message_never_reaches_another_tenure = OwnMessages: "a message reaches no tenure but the one that held the lease",
        without_a_leader_a_message_is_refused = NoLeader: "a message is refused if the lease is vacant",
    }
    past {
        a_fresh_store_grants_nobody_anything = FreshStore: "a store that has never been asked grants nothing until its past was watched",
        a_past_is_watched_for_all = WatchedForAll: "once a candidate has watched a stamp for long enough, nobody else has to, in any election; a watch of another stamp counts for nothing, and no shorter one counts instead",
        an_unwatched_past_refuses_its_leader = UnwatchedRefuses: "while the past is unwatched, also the holder's acquire is refused; its renewals are not, and tell it the stamp",
        a_leader_watches_the_past = LeaderWatches: "a renewal with a higher number than the lease's reports a watch of the past",
        the_longest_ttl_is_watched = LongestTtl: "a past is watched at least for the longest TTL that was granted under the prefix",
        a_proven_loss_begins_another_past = ProvenLoss: "a candidate that knows a later tenure than the store is refused until it says that it has watched this loss; a past that was watched has another stamp then",
        every_first_request_examines_the_server = FirstRequest: "the first request over a connection, of any kind, begins another past if the server is another one",
        no_two_pasts_have_the_same_stamp = StampsDiffer: "a past that begins has a stamp that none had, also by a duplicate of the request that began an earlier one",
        a_restarted_server_has_another_past = Restart: "a server that was replaced keeps the lease, and has another past",
        after_a_loss_nobody_leads_at_once = Loss: "a server that has lost all data grants nothing until its past was watched, and then under a token above every token that this leader knows",
    }
}

impl Row {
    pub(super) const fn is_about_hints(self) -> bool {
        matches!(self, Self::Hints)
    }

    pub(super) const fn is_about_messages(self) -> bool {
        matches!(self, Self::Messages | Self::OwnMessages | Self::NoLeader)
    }

    pub(super) const fn is_about_wall_clock(self) -> bool {
        matches!(self, Self::TokenFloor)
    }

    pub(super) const fn is_about_tokens(self) -> bool {
        matches!(
            self,
            Self::TokenFloor
                | Self::TokensIncrease
                | Self::AboveSeen
                | Self::PurgedTokens
                | Self::Differential
        )
    }

    /// True if it is about marks. A server that ends leases keeps none: renewals leave its records
    /// as they are.
    pub(super) const fn is_about_marks(self) -> bool {
        matches!(
            self,
            Self::Taken
                | Self::OlderRenewal
                | Self::StaysHeld
                | Self::Age
                | Self::Asked
                | Self::LeaderWatches
                | Self::Differential
        )
    }

    pub(super) const fn is_about_a_shared_past(self) -> bool {
        matches!(self, Self::WatchedForAll | Self::LongestTtl)
    }

    pub(super) const fn is_about_the_past(self) -> bool {
        matches!(
            self,
            Self::FreshStore
                | Self::WatchedForAll
                | Self::UnwatchedRefuses
                | Self::LeaderWatches
                | Self::LongestTtl
                | Self::ProvenLoss
                | Self::FirstRequest
                | Self::StampsDiffer
                | Self::Restart
                | Self::Loss
        )
    }
}

named!(Row, "row", Row::ALL, |one| one.name());
