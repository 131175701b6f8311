//! The rows, their names, and the macro that makes a test of each.

use std::fmt;
use std::str::FromStr;

use super::Harness;
use super::probe::Probe;
use super::rows::{self, Stop};

/// No row has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown row {name:?}; known are {}", Row::ALL.map(Row::name).join(", "))]
pub struct UnknownRow {
    /// The name that was given.
    pub name: String,
}

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

            pub(super) async fn carry_out<H: Harness>(
                self,
                probe: &mut Probe<'_, H>,
            ) -> Result<(), Stop> {
                match self { $($(Self::$row => rows::$file::$name(probe).await,)*)* }
            }
        }

        /// Makes a module of that name with one `#[test]` for each row of the store contract. The second argument makes
        /// a fresh [`Harness`](crate::conformance::Harness) for each test, within a tokio runtime.
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
        acquires_of_one_call_are_judged_alone = AcquiresOfOneCall: "each acquire of a call is answered as if it had been asked alone",
        tokens_are_not_below_the_wall_clock = TokenFloor: "a new token is at least the wall clock in microseconds",
        tokens_increase = TokensIncrease: "each tenure's token is above all earlier ones, whether the last lease was handed back or ran out",
        a_repeated_acquire_keeps_its_token = RepeatedAcquire: "an acquire by the live holder gets the same token, and never shortens the lease",
        candidates_of_one_name_are_different = OneName: "a candidate with the incumbent's name is not the incumbent",
        holders_are_compared_whole = WholeHolders: "a holder that differs from the incumbent in one bit is not the incumbent",
        a_live_lease_is_held = Held: "an acquire by another candidate is refused with the incumbent",
        a_candidate_without_the_last_token_is_stale = Stale: "a vacant lease is not granted to a candidate that does not know the last tenure",
        a_grant_is_above_every_known_token = AboveSeen: "a grant's token is above every token that the candidate knows, also if the store has forgotten it",
        contradicting_settings_are_refused = Contradiction: "an acquire is refused if its TTL is above the incumbent's quarantine, or its quarantine is below the incumbent's TTL",
        the_answer_contains_the_incumbents_ttl = IncumbentTtl: "the incumbent in an answer has the TTL of its last grant or renewal",
        remaining_is_never_above_the_ttl = Remaining: "the remaining time of a lease is never above that lease's own TTL",
    }
    tenure {
        a_renewal_extends_its_own_live_lease = Renewed: "a renewal of the live tenure extends its lease",
        anything_else_is_superseded = Superseded: "a renewal of anything but the live tenure is superseded, and changes nothing",
        an_ended_lease_is_never_resurrected = NoResurrection: "a lease that has run out stays ended, also for its holder",
        a_renewal_never_shortens_a_lease = NeverBack: "a renewal with a shorter TTL does not move the lease's end back",
        renewals_of_one_call_are_judged_alone = RenewalsOfOneCall: "each renewal of a call is answered as if it had been asked alone",
        rivals_renewals_in_one_call_are_told_apart = RivalsOfOneCall: "of renewals for one lease in one call, exactly those of the present tenure are renewed",
        a_release_ends_its_own_live_lease = Released: "a release of the live tenure ends its lease at once",
        anything_else_is_not_held = NotHeld: "a release of anything but the live tenure changes nothing",
        the_least_ttl_is_kept = LeastTtl: "a lease of the least TTL is live at first, and then runs out",
        a_release_sends_a_hint = Hints: "waiting candidates get a hint when the lease is handed back",
    }
    ttl {
        a_ttl_is_not_cut = UncutTtl: "the remaining time of a new lease is its whole TTL, to the granularity that the store declares",
        a_lease_is_live_for_its_ttl = LiveForTtl: "a lease is live until its TTL is over, to the granularity that the store declares",
        the_remaining_time_decreases = RemainingFalls: "the remaining time of a lease decreases",
    }
    observe {
        an_unknown_election_is_vacant = UnknownElection: "an unknown election is vacant for every request",
        names_and_metadata_come_back = Profiles: "names and metadata come back byte for byte, up to the limits",
        elections_do_not_interfere = KeysApart: "requests about one election change no other",
        keys_may_have_any_characters = OddKeys: "keys of any characters and of the greatest length name elections of their own",
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
        a_purge_leaves_live_and_recent_elections = PurgeSpares: "a purge deletes no record of a live election, or of one that has ended recently",
        tokens_increase_after_a_purge = PurgedTokens: "a purge deletes the record of a long-ended election, and the next token is above it all the same",
    }
    notify {
        a_message_reaches_the_leader = Messages: "a message reaches the tenure that holds the lease, whole, in order, and once",
        a_message_never_reaches_another_tenure = OwnMessages: "a message reaches no tenure but the one that held the lease",
        without_a_leader_a_message_is_refused = NoLeader: "a message is refused if the lease is vacant",
    }
    history {
        a_fresh_store_makes_its_first_leader_wait = FreshStore: "a store that has never granted anything makes its first leader wait",
        repeated_grants_carry_the_rest = RepeatedWait: "a repeated grant contains the rest of the quarantine",
        the_quarantine_belongs_to_the_store = StoresWait: "a candidate that is granted a lease within the quarantine waits out the rest, in any election",
        the_quarantine_ends = QuarantineEnds: "a store that has known its history for long enough grants any election at once",
        a_proven_loss_makes_wait = ProvenLoss: "a candidate that knows a later tenure than the store proves a loss, and waits",
        a_restart_makes_wait = Restart: "a server that was replaced keeps the lease, and makes its holder wait",
        the_longest_ttl_is_waited_out = LongestTtl: "within a quarantine, a holder waits at least for the longest TTL that was granted under the prefix",
        a_renewal_begins_the_history = RenewalBegins: "the first renewal at a restarted server begins its history, so that a later grant need not wait",
        a_loss_makes_wait = Loss: "a server that has lost all data makes the next leader wait, under a token above every token that this leader knows",
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

    pub(super) const fn is_about_settings(self) -> bool {
        matches!(self, Self::Contradiction | Self::IncumbentTtl | Self::LongestTtl)
    }

    pub(super) const fn is_about_quarantine(self) -> bool {
        matches!(
            self,
            Self::FreshStore
                | Self::RepeatedWait
                | Self::StoresWait
                | Self::QuarantineEnds
                | Self::ProvenLoss
                | Self::LongestTtl
                | Self::RenewalBegins
                | Self::Restart
                | Self::Loss
        )
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Row {
    type Err = UnknownRow;

    fn from_str(name: &str) -> Result<Self, UnknownRow> {
        let found = Self::ALL.into_iter().find(|row| row.name() == name);
        found.ok_or_else(|| UnknownRow { name: name.to_owned() })
    }
}
