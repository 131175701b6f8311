//! Random requests, answered by the store and by the contract's own code.
//!
//! Leases last for hours, so that none ends by itself; time passes only in the mishaps of the harness, at the store and
//! in the model. A store's tokens differ from the model's, so tokens are compared by their order.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::store::{HistoryKind, Promise, Reply, Request};
use tenure::{HolderId, Instant, Token};
use tenure_core::contract::{self, History, Moment, Record};

use super::Stop;
use crate::conformance::probe::{Found, Probe, acquire_after, broken, holder, key};
use crate::conformance::{Harness, Mishap};
use crate::plan::draw::Draw;

const REQUESTS: u32 = 1_000;
const HOUR: Duration = Duration::from_secs(3_600);
/// The tolerance for durations: far more than the row may take, and far less than the difference of any two TTLs.
const ALIKE: Duration = Duration::from_secs(600);

/// Two readings of a store's clock that are so far apart differ.
const CLOCK_MOVES: Duration = Duration::from_millis(2);

/// The token in a request.
#[derive(Clone, Copy)]
enum Named {
    Nothing,
    Last,
    Older,
    /// A token that was never granted.
    Beyond,
}

/// The contract's own code and its state.
#[derive(Clone)]
struct Model {
    records: [Option<Record>; 3],
    history: Option<History>,
    at: Moment,
    /// The store's token for each of the model's. Tokens of different elections are independent.
    tokens: [BTreeMap<Token, Token>; 3],
}

impl Model {
    /// A store without any requests, long enough after 1970 that no quarantine is left.
    fn new(trust_empty_store: bool) -> Self {
        let now = Instant::ORIGIN + HOUR * 1_000;
        let at = Moment { now, identity: 0, trust_empty_store, compares_identity: false };
        Self { records: [None; 3], history: None, at, tokens: Default::default() }
    }

    fn apply(&mut self, election: usize, request: tenure_core::Request) -> tenure_core::Reply {
        self.at.now = self.at.now + Duration::from_millis(1);
        contract::apply(&mut self.records[election], &mut self.history, self.at, request)
    }

    fn suffers(&mut self, mishap: Mishap) {
        match mishap {
            Mishap::LeasesEnd => {
                for record in self.records.iter_mut().flatten() {
                    // So long ago that no candidate waits for it.
                    record.lease_end = Instant::ORIGIN;
                }
            }
            Mishap::OtherServer => self.at.identity += 1,
            Mishap::HistoryLost => self.history = None,
            Mishap::AllLost => (self.records, self.history) = ([None; 3], None),
            Mishap::LongTime => {
                if let Some(history) = &mut self.history {
                    history.known_since = Instant::ORIGIN;
                }
            }
        }
    }

    /// The model without the records that may be deleted, and their number.
    fn without_outdated(&self) -> (Self, u64) {
        let mut after = self.clone();
        let now = self.at.now;
        let deleted = after.records.iter_mut().map(|record| {
            u64::from(contract::purge(record, &mut after.history, now, Duration::ZERO))
        });
        let deleted = deleted.sum();
        (after, deleted)
    }

    /// A token for a request, as the model and as the store know it.
    fn token(&self, election: usize, named: Named) -> Option<(Token, Token)> {
        let tokens = &self.tokens[election];
        // Without a record: the last one that was purged, or lost.
        let last = self.records[election].map(|record| record.token);
        let last = last.or_else(|| tokens.last_key_value().map(|(&token, _)| token));
        let ours = match named {
            Named::Nothing => None,
            Named::Last => last,
            Named::Older => tokens.keys().copied().rfind(|&token| Some(token) < last),
            Named::Beyond => {
                let (&ours, &theirs) = tokens.last_key_value()?;
                let beyond = |token: Token| Token::new(token.get() + 1_000_000_000_000);
                return beyond(ours).zip(beyond(theirs));
            }
        };
        ours.map(|token| (token, tokens[&token]))
    }

    /// Whether both tokens mean the same tenure: a known one, or one in the same place between the known ones.
    fn is_same(&mut self, election: usize, ours: Token, theirs: Token) -> bool {
        let tokens = &mut self.tokens[election];
        if let Some(known) = tokens.get(&ours) {
            return *known == theirs;
        }
        let below = tokens.range(..ours).next_back().is_none_or(|(_, &below)| below < theirs);
        let above = tokens.range(ours..).next().is_none_or(|(_, &above)| theirs < above);
        tokens.insert(ours, theirs);
        below && above
    }

    fn agrees(&mut self, election: usize, ours: tenure_core::Reply, theirs: &Reply) -> bool {
        use tenure_core::Reply as Ours;
        match (ours, theirs) {
            (Ours::Granted { token, wait }, Reply::Granted { token: same, wait: waits }) => {
                self.is_same(election, token, *same)
                    && wait.is_zero() == waits.is_zero()
                    && wait.abs_diff(*waits) < ALIKE
            }
            (Ours::Held { token, remaining, .. }, Reply::Held(incumbent)) => {
                let holder = self.records[election].map(|record| record.holder);
                self.is_same(election, token, incumbent.token)
                    && holder == Some(incumbent.holder)
                    && holder == Some(holder_of(&incumbent.name))
                    && remaining.abs_diff(incumbent.remaining) < ALIKE
            }
            (Ours::Refused { .. }, Reply::Refused { ttl, quarantine }) => {
                ours == Ours::Refused { ttl: *ttl, quarantine: *quarantine }
            }
            (Ours::Stale { last }, Reply::Stale { last: same }) => {
                self.is_same(election, last, *same)
            }
            (Ours::Superseded { last }, Reply::Superseded { last: same }) => match (last, *same) {
                (Some(last), Some(same)) => self.is_same(election, last, same),
                (last, same) => last.is_none() && same.is_none(),
            },
            (Ours::Renewed, Reply::Renewed)
            | (Ours::Released, Reply::Released)
            | (Ours::NotHeld, Reply::NotHeld) => true,
            _ => false,
        }
    }
}

/// The holder of a candidate with the name `worker-` and its number.
fn holder_of(name: &str) -> HolderId {
    holder(name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or_default())
}

/// The same request to the model and to the store.
fn requests(
    model: &Model,
    election: usize,
    draw: &mut Draw,
    (number, contradicts): (u32, bool),
) -> (tenure_core::Request, Request) {
    use Named::{Beyond, Last, Nothing, Older};
    // Different durations. Some contradict each other, if the store refuses that.
    let ttl = HOUR * (2 + number % 5);
    let quarantine = HOUR * if contradicts { draw.pick(&[3, 6, 6, 6, 6, 6, 6, 6]) } else { 6 };
    let asker = draw.pick(&[1, 2, 3]);
    let who: HolderId = holder(asker);
    let named =
        draw.pick(&[Nothing, Nothing, Last, Last, Last, Last, Last, Last, Older, Older, Beyond]);
    let tokens = model.token(election, named);
    // The least token was never granted: a clock or an offset is above it.
    let (token, same) = tokens.unwrap_or((Token::FIRST, Token::FIRST));
    match draw.within(0..=3) {
        0 | 1 => {
            let (seen, same) = tokens.unzip();
            let ours = tenure_core::Request::Acquire { holder: who, seen, ttl, quarantine };
            (ours, acquire_after(asker, same, ttl, quarantine))
        }
        2 => (
            tenure_core::Request::Renew { holder: who, token, ttl },
            Request::Renew { holder: who, token: same, ttl },
        ),
        _ => (
            tenure_core::Request::Release { holder: who, token },
            Request::Release { holder: who, token: same },
        ),
    }
}

/// A mishap in about every sixth step.
fn mishap(draw: &mut Draw) -> Option<Mishap> {
    match draw.within(0..=99) {
        0..=8 => Some(Mishap::LeasesEnd),
        9..=13 => Some(Mishap::LongTime),
        14 => Some(Mishap::OtherServer),
        15 => Some(Mishap::HistoryLost),
        16 => Some(Mishap::AllLost),
        _ => None,
    }
}

/// Purges the store and the model; whether the store has a purge.
///
/// A store may leave all records to a later purge: etcd has no clock for clients, and counts the age from a purge.
async fn purge<H: Harness>(probe: &mut Probe<'_, H>, model: &mut Model) -> Found<bool> {
    // The clock has to be above the last token, also one that counts in milliseconds.
    probe.harness.wait(CLOCK_MOVES).await;
    model.at.now = model.at.now + CLOCK_MOVES;
    let (after, due) = model.without_outdated();
    match probe.purged().await {
        Ok(0) => {}
        Ok(deleted) if deleted == due => *model = after,
        Ok(deleted) => return broken(format!("{deleted} records were deleted instead of {due}")),
        Err(Stop::Skipped(_)) => return Ok(false),
        Err(stop) => return Err(stop),
    }
    Ok(true)
}

pub(crate) async fn random_requests_are_answered_as_by_the_contract<H: Harness>(
    probe: &mut Probe<'_, H>,
) -> Found<()> {
    let elections = [key("a")?, key("b")?, key("c")?];
    let mut model = Model::new(probe.harness.trusts_an_empty_store());
    let mut draw = Draw::new(1, "differential", 0);
    let gives_up_g1 = probe.traits.gives_up.contains(&Promise::SingleLeader);
    let mut purges = true;
    for number in 0..REQUESTS {
        if purges && draw.chance(1, 16) {
            purges = purge(probe, &mut model).await?;
        }
        if let Some(mishap) = mishap(&mut draw)
            && probe.suffers(mishap).await
        {
            model.suffers(mishap);
            // A store that gives up G1 may let a lease go with the connection.
            let begins = probe.traits.renewals_begin_history && !gives_up_g1;
            if mishap.is_about_the_server() && begins {
                // Over the next connection, the next renewal compares the server with the history.
                probe.store = probe.harness.connect().await;
                model.at.compares_identity = true;
            }
        }
        let election = draw.pick(&[0, 1, 2]);
        let job = &elections[election];
        if draw.chance(1, 8) {
            let live = model.records[election].filter(|record| record.is_live(model.at.now));
            match (live, probe.ask_about(job, Request::Observe).await?) {
                (Some(record), Reply::Held(incumbent))
                    if model.is_same(election, record.token, incumbent.token) => {}
                (None, Reply::Vacant) => {}
                (live, answer) => {
                    return broken(format!(
                        "the record is {live:?}, but the answer was {answer:?}"
                    ));
                }
            }
            continue;
        }
        let how = (number, probe.traits.refuses_contradictions);
        let (ours, theirs) = requests(&model, election, &mut draw, how);
        let due = model.apply(election, ours);
        model.at.compares_identity &= due != tenure_core::Reply::Renewed;
        let mut answer = probe.ask_about(job, theirs).await?;
        match (&mut answer, due) {
            (Reply::Granted { wait, .. }, tenure_core::Reply::Granted { wait: due, .. })
                if probe.traits.history == HistoryKind::SharesFate =>
            {
                // Such a store need not make its leaders wait, and may for any time.
                *wait = due;
            }
            (Reply::Held(incumbent), tenure_core::Reply::Held { remaining, .. })
                if gives_up_g1 && incumbent.remaining <= remaining =>
            {
                // The lease may be taken over before it ends, so the answer may name an earlier end.
                incumbent.remaining = remaining;
            }
            _ => {}
        }
        if !model.agrees(election, due, &answer) {
            return Err(Stop::Broken(format!(
                "the answer should be {due:?}, but was {answer:?} (the contract's tokens are other numbers)"
            )));
        }
    }
    Ok(())
}
