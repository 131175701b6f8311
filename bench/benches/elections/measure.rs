//! The measurements of one process: one store, so many elections.

use std::time::{Duration, Instant};

use tenure_bench::Outcome;

use crate::figures::{AfterFault, Figures, Second, Steady};
use crate::group::Group;
use crate::limit;
use crate::meter::{Meter, float};
use crate::place::{Fault, Kind, Place};
use crate::process::{cpu_of, descriptors, own_cpu, resident};
use crate::settings::Settings;

/// With fewer elections, no renew interval is short enough to ask more of a server than it gives.
const ENOUGH_FOR_LIMIT: usize = 1_000;

/// Measures so many elections at a server of their own.
pub(crate) fn measure(kind: Kind, elections: usize, settings: Settings) -> Outcome<Figures> {
    let mut place = Place::start(kind)?;
    let rival = match &place {
        Place::Redis(server) => Some(limit::rate_of_one(server, settings.rival_calls)?),
        _ => None,
    };
    let mut run = Run {
        group: Group::open(place.store(), settings.config, "opener")?,
        meter: Meter::start(place.counter()?),
        settings,
        phases: Vec::new(),
    };
    let (steady, all_led) = run.steady(&place, elections, rival)?;
    let mut faults = Vec::new();
    // What a fault costs can be told only of elections that led before it.
    if settings.with_faults && all_led {
        for &fault in place.faults() {
            let after = run.fault(&mut place, fault)?;
            let recovered = after.lead.all_after.is_some();
            faults.push(after);
            if !recovered {
                break;
            }
        }
    }
    let series = run.series();
    run.group.crash();
    let limit = match (kind, rival) {
        (Kind::Redis, Some(rate)) if elections >= ENOUGH_FOR_LIMIT => {
            Some(limit::measure(elections, rate, settings)?)
        }
        _ => None,
    };
    let store = place.name().to_owned();
    Ok(Figures { store, elections, steady, faults, limit, series })
}

struct Run {
    group: Group,
    meter: Meter,
    settings: Settings,
    /// The name of each phase and when it began.
    phases: Vec<(&'static str, Instant)>,
}

impl Run {
    /// From the start to the end of the steady state; whether all led at its beginning.
    fn steady(
        &mut self,
        place: &Place,
        elections: usize,
        rival: Option<f64>,
    ) -> Outcome<(Steady, bool)> {
        let (memory, one) = (resident()?, descriptors()?);
        self.begin("start");
        let lead = self.group.join(elections, self.settings.bound)?;
        eprintln!("  of {elections}: {lead}");

        // All renew at about the same time. No such time may be at an edge of the measured period.
        std::thread::sleep(self.settings.config.renew_interval() / 2);
        let before = self.group.tokens();
        let server_before = place.pid().map(cpu_of).transpose()?;
        let client_before = self.cpu();
        let began = self.begin("steady");
        std::thread::sleep(self.settings.steady);
        let ended = Instant::now();
        let client = self.cpu().saturating_sub(client_before);
        let server = match (place.pid(), server_before) {
            (Some(pid), Some(before)) => Some(cpu_of(pid)?.saturating_sub(before)),
            _ => None,
        };
        let samples = self.meter.between(began, ended);
        let renewals = samples.renewals();
        let micros =
            |time: Duration| (renewals > 0).then(|| time.as_secs_f64() * 1e6 / float(renewals));
        let steady = Steady {
            lead,
            renewals_a_second: samples.rate(),
            rival,
            worst_second: samples.worst_second(),
            client_micros: micros(client),
            server_micros: server.and_then(micros),
            bytes_each: float(resident()?.saturating_sub(memory)) / float(elections as u64),
            descriptors: [one, descriptors()?],
            lost: self.group.lost_since(&before),
            is_leader_nanos: self.group.is_leader_nanos(),
        };
        Ok((steady, lead.all_after.is_some()))
    }

    fn fault(&mut self, place: &mut Place, fault: Fault) -> Outcome<AfterFault> {
        let before = self.group.tokens();
        let began = self.begin(fault.name());
        place.strike(fault, self.settings.outage)?;
        // A claim that the fault ended ends within a TTL; one that was lost may cost a quarantine
        // more.
        let ttl = self.settings.config.ttl();
        let lead = self.group.settle(ttl, self.settings.bound + 3 * ttl);
        let lost = self.group.lost_since(&before);
        eprintln!("  {}: {lost} lost, {lead}", fault.name());
        Ok(AfterFault {
            fault,
            lost,
            lead,
            worst_second: self.meter.between(began, Instant::now()).worst_second(),
        })
    }

    /// The CPU time of this process without the meter's.
    fn cpu(&self) -> Duration {
        own_cpu().saturating_sub(self.meter.cpu())
    }

    fn begin(&mut self, phase: &'static str) -> Instant {
        let now = Instant::now();
        self.phases.push((phase, now));
        now
    }

    /// The renewals of each second since the start.
    fn series(&self) -> Vec<Second> {
        let Some(&(_, start)) = self.phases.first() else { return Vec::new() };
        let by_second = self.meter.between(start, Instant::now()).by_second();
        let second = |(number, renewals)| {
            let end = start + Duration::from_secs(number as u64 + 1);
            let phase = self.phases.iter().rev().find(|(_, began)| *began < end);
            let phase = phase.map_or("start", |(name, _)| name).to_owned();
            Second { phase, number, renewals }
        };
        by_second.into_iter().enumerate().map(second).collect()
    }
}
