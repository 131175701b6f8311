//! Many elections over one connection, each with one candidate.

use std::fmt::{self, Display, Formatter};
use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tenure::store::AnyStore;
use tenure::{Candidate, Config, Elections, Token};
use tenure_bench::Outcome;
use tokio::runtime::{Builder, Runtime};

/// The bound on the first election: a new server's first request creates tables and the like.
const OPENS_WITHIN: Duration = Duration::from_secs(20);
/// Looks at all candidates take at most one part in so many of the time.
const LOOKS: u32 = 50;

/// The key of an election: with as many digits as the numbers that `redis-benchmark` draws.
pub(crate) fn key(number: usize) -> String {
    format!("election-{number:012}")
}

/// The elections of one process and their driver, in a runtime of its own.
pub(crate) struct Group {
    candidates: Vec<Candidate>,
    opener: Candidate,
    elections: Elections,
    config: Config,
    runtime: Runtime,
}

/// The candidates' start as leaders.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Lead {
    /// The number of leaders.
    pub(crate) leading: usize,
    /// After how many seconds all of them led; none if that was not within the bound.
    pub(crate) all_after: Option<f64>,
}

impl Display for Lead {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} lead", self.leading)?;
        self.all_after.map_or(Ok(()), |seconds| write!(formatter, ", all after {seconds:.2} s"))
    }
}

impl Group {
    /// Opens the connection with one election more, which leads when this returns: the store knows
    /// the prefix.
    pub(crate) fn open(store: AnyStore, config: Config, key: &str) -> Outcome<Self> {
        let runtime = Builder::new_multi_thread().enable_all().build()?;
        let elections = Elections::new(store);
        let opener = {
            let _inside = runtime.enter();
            elections.candidate(key).config(config).start()?
        };
        runtime.block_on(async {
            tokio::time::timeout(OPENS_WITHIN, opener.elected())
                .await
                .map_err(|_| format!("the first election had no leader in {OPENS_WITHIN:?}"))??;
            Outcome::Ok(())
        })?;
        Ok(Self { candidates: Vec::new(), opener, elections, config, runtime })
    }

    /// Starts that many candidates, and waits until all lead, at most that long.
    pub(crate) fn join(&mut self, count: usize, bound: Duration) -> Outcome<Lead> {
        let began = Instant::now();
        let _inside = self.runtime.enter();
        for number in 0..count {
            let builder = self.elections.candidate(key(number));
            self.candidates.push(builder.config(self.config).start()?);
        }
        let mut all_after = None;
        while all_after.is_none() && began.elapsed() < bound {
            thread::sleep(self.look(|candidates| {
                if candidates.iter().all(Candidate::is_leader) {
                    all_after = Some(began.elapsed().as_secs_f64());
                }
            }));
        }
        Ok(Lead { leading: self.leading(), all_after })
    }

    /// Waits until all have led for as long as `quiet`, at most as long as `bound`. The time until
    /// all led counts from now.
    pub(crate) fn settle(&self, quiet: Duration, bound: Duration) -> Lead {
        let began = Instant::now();
        let mut all_since = None;
        while began.elapsed() < bound
            && all_since.is_none_or(|since: Instant| since.elapsed() < quiet)
        {
            thread::sleep(self.look(|candidates| {
                let all_lead = candidates.iter().all(Candidate::is_leader);
                all_since = all_lead.then(|| all_since.unwrap_or_else(Instant::now));
            }));
        }
        Lead {
            leading: self.leading(),
            all_after: all_since.map(|since| (since - began).as_secs_f64()),
        }
    }

    /// Looks at the candidates; how long to wait before the next look.
    fn look(&self, look: impl FnOnce(&[Candidate])) -> Duration {
        let began = Instant::now();
        look(&self.candidates);
        (began.elapsed() * LOOKS).max(Duration::from_millis(1))
    }

    pub(crate) fn leading(&self) -> usize {
        self.candidates.iter().filter(|candidate| candidate.is_leader()).count()
    }

    /// The token of each candidate that leads.
    pub(crate) fn tokens(&self) -> Vec<Option<Token>> {
        let token = |candidate: &Candidate| candidate.tenure().map(|tenure| tenure.token());
        self.candidates.iter().map(token).collect()
    }

    /// The number of those leads that have ended.
    pub(crate) fn lost_since(&self, before: &[Option<Token>]) -> usize {
        let pairs = before.iter().zip(self.tokens());
        pairs.filter(|(before, now)| before.is_some() && **before != *now).count()
    }

    /// The time of `is_leader()`, in nanoseconds, asked of one candidate after the other.
    pub(crate) fn is_leader_nanos(&self) -> f64 {
        const CALLS: u32 = 1_000_000;
        let mut candidates = self.candidates.iter().cycle();
        let began = Instant::now();
        for _ in 0..CALLS {
            black_box(candidates.next().map(Candidate::is_leader));
        }
        began.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    }

    /// Ends the driver as a crash does: the leases end by themselves.
    pub(crate) fn crash(self) {
        let Self { candidates, opener, elections, runtime, .. } = self;
        runtime.shutdown_timeout(OPENS_WITHIN);
        drop((candidates, opener, elections));
    }
}
