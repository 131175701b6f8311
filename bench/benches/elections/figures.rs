//! Measurements, and their tables.

use std::fmt::Display;

use comfy_table::{CellAlignment, Table};
use serde::{Deserialize, Serialize};

use crate::group::Lead;
use crate::place::Fault;

/// The fewest elections for which a share of the memory or a second's load says something.
const MANY: usize = 100;
/// The fewest elections for which most of the CPU time is spent on renewals.
const MANY_RENEWALS: usize = 1_000;

/// The figures of one process, at one store and with one number of elections.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) store: String,
    pub(crate) elections: usize,
    pub(crate) steady: Steady,
    pub(crate) faults: Vec<AfterFault>,
    pub(crate) limit: Option<Limit>,
    pub(crate) series: Vec<Second>,
}

/// From the start to the steady state.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Steady {
    /// From the start.
    pub(crate) lead: Lead,
    pub(crate) renewals_a_second: f64,
    /// Renewals a second of `redis-benchmark` with the same script.
    pub(crate) rival: Option<f64>,
    /// The most renewals in one second.
    pub(crate) worst_second: u64,
    /// CPU time of a renewal in microseconds; none without renewals.
    pub(crate) client_micros: Option<f64>,
    pub(crate) server_micros: Option<f64>,
    pub(crate) bytes_each: f64,
    /// Descriptors with one election, and with all of them.
    pub(crate) descriptors: [usize; 2],
    pub(crate) lost: usize,
    pub(crate) is_leader_nanos: f64,
}

/// The effect of a server's fault on the elections.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AfterFault {
    pub(crate) fault: Fault,
    pub(crate) lost: usize,
    /// From the end of the fault until all led for good.
    pub(crate) lead: Lead,
    pub(crate) worst_second: u64,
}

/// Elections that need more renewals than the server can carry out.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Limit {
    pub(crate) interval_millis: f64,
    pub(crate) lead: Lead,
    pub(crate) needed: f64,
    pub(crate) renewals_a_second: f64,
    pub(crate) rival: RivalRates,
    /// Renewals in one call of the driver.
    pub(crate) a_call: f64,
    pub(crate) lost: usize,
}

/// Renewals a second of `redis-benchmark`, as many a call as the driver sends.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RivalRates {
    /// The rate for the same leases in each call, which stay in the processor's caches.
    pub(crate) of_one_call: f64,
    /// The rate for as many leases as there are elections, in random order.
    pub(crate) of_all: f64,
}

/// The renewals of one second.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Second {
    pub(crate) phase: String,
    pub(crate) number: usize,
    pub(crate) renewals: u64,
}

/// The tables of all that was measured.
pub(crate) fn tables(all: &[Figures]) -> Vec<Table> {
    let mut steady = table(&[
        "store",
        "elections",
        "all lead, s",
        "renewals/s",
        "redis-benchmark/s",
        "worst second / mean",
        "CPU us, client",
        "server",
        "KiB each",
        "descriptors (of one)",
        "leads lost",
        "is_leader(), ns",
    ]);
    let mut faults = table(&[
        "store",
        "elections",
        "the server was",
        "leads lost",
        "all lead again, s",
        "worst second / mean",
    ]);
    let mut limits = table(&[
        "elections",
        "all lead, s",
        "renew interval, ms",
        "needed/s",
        "renewals/s",
        "redis-benchmark/s, all leases",
        "ratio",
        "leases of one call",
        "ratio",
        "renewals a call",
        "leads lost",
    ]);
    for figures in all {
        steady.add_row(figures.steady_row());
        for fault in &figures.faults {
            faults.add_row(figures.fault_row(fault));
        }
        if let Some(limit) = &figures.limit {
            limits.add_row(figures.limit_row(limit));
        }
    }
    [steady, faults, limits].into_iter().filter(|table| table.row_count() > 0).collect()
}

impl Figures {
    /// CPU time of a renewal at the client; none of too few elections.
    pub(crate) fn client_micros(&self) -> Option<f64> {
        self.of_at_least(MANY_RENEWALS, self.steady.client_micros?)
    }

    /// CPU time of a renewal at the server; none of too few elections.
    pub(crate) fn server_micros(&self) -> Option<f64> {
        self.of_at_least(MANY_RENEWALS, self.steady.server_micros?)
    }

    /// Memory of an election; none of too few elections.
    pub(crate) fn kib_each(&self) -> Option<f64> {
        self.of_at_least(MANY, self.steady.bytes_each / 1024.0)
    }

    fn of_at_least<T>(&self, elections: usize, figure: T) -> Option<T> {
        (self.elections >= elections).then_some(figure)
    }

    fn steady_row(&self) -> Vec<String> {
        let Steady { descriptors: [one, all], .. } = self.steady;
        let steady = &self.steady;
        let tenths = |figure: Option<f64>| optional(figure.map(|figure| format!("{figure:.1}")));
        vec![
            self.store.clone(),
            self.elections.to_string(),
            self.all_lead(steady.lead),
            format!("{:.1}", steady.renewals_a_second),
            optional(steady.rival.map(|rate| format!("{rate:.0}"))),
            self.beside_mean(steady.worst_second),
            tenths(self.client_micros()),
            tenths(self.server_micros()),
            tenths(self.kib_each()),
            format!("{all} ({one})"),
            steady.lost.to_string(),
            format!("{:.1}", steady.is_leader_nanos),
        ]
    }

    fn fault_row(&self, after: &AfterFault) -> Vec<String> {
        vec![
            self.store.clone(),
            self.elections.to_string(),
            after.fault.name().to_owned(),
            after.lost.to_string(),
            self.all_lead(after.lead),
            self.beside_mean(after.worst_second),
        ]
    }

    fn limit_row(&self, limit: &Limit) -> Vec<String> {
        vec![
            self.elections.to_string(),
            self.all_lead(limit.lead),
            format!("{:.1}", limit.interval_millis),
            format!("{:.0}", limit.needed),
            format!("{:.0}", limit.renewals_a_second),
            format!("{:.0}", limit.rival.of_all),
            format!("{:.2}", limit.renewals_a_second / limit.rival.of_all),
            format!("{:.0}", limit.rival.of_one_call),
            format!("{:.2}", limit.renewals_a_second / limit.rival.of_one_call),
            format!("{:.1}", limit.a_call),
            limit.lost.to_string(),
        ]
    }

    fn all_lead(&self, lead: Lead) -> String {
        match lead.all_after {
            Some(seconds) => format!("{seconds:.2}"),
            None => format!("{} of {}", lead.leading, self.elections),
        }
    }

    /// A second's renewals beside those of a mean second in the steady state.
    fn beside_mean(&self, renewals: u64) -> String {
        let mean = self.steady.renewals_a_second;
        if mean <= 0.0 {
            return optional(None);
        }
        optional(self.of_at_least(MANY, format!("{:.1}", crate::meter::float(renewals) / mean)))
    }
}

fn optional(figure: Option<String>) -> String {
    figure.unwrap_or_else(|| "-".to_owned())
}

fn table(header: &[impl Display]) -> Table {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
