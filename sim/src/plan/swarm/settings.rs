//! Settings up to the limits of the valid ones: no stop margin, the widest drift bound, the longest
//! timeouts, different TTLs.

use super::Scope;
use crate::plan::Settings;
use crate::plan::draw::Draw;

/// Drift bounds, in parts per million.
const DRIFTS: [u32; 4] = [1_000, 10_000, 30_000, 100_000];

/// The settings that candidates share.
pub(super) fn shared(seed: u64, scope: Scope) -> Settings {
    let mut draw = Draw::new(seed, "settings", 0);
    let ttl_ms = match scope {
        Scope::Model => draw.pick(&[1_000, 3_000, 5_000, 15_000, 30_000, 60_000]),
        Scope::Turmoil => draw.pick(&[1_000, 1_200, 1_500, 2_000, 3_000]),
        Scope::Real(backend) if backend.is_coarse() => draw.pick(&[5_000, 6_000]),
        Scope::Real(_) => draw.pick(&[2_500, 3_000, 4_000]),
    };
    let longest = match scope {
        Scope::Model => ttl_ms * draw.pick(&[1, 1, 2]),
        Scope::Turmoil | Scope::Real(_) => ttl_ms,
    };
    of_ttl(draw, ttl_ms, longest, scope)
}

/// The settings of one candidate that differ from the shared ones: another TTL, as during a
/// roll-out, and perhaps a longer quarantine. Every quarantine covers the longest TTL.
pub(super) fn own(seed: u64, node: u64, shared: Settings, scope: Scope) -> Option<Settings> {
    let differ = Draw::new(seed, "ttls differ", 0).chance(1, 4);
    if !differ {
        return None;
    }
    let mut draw = Draw::new(seed, "own settings", node);
    let quarters = match scope {
        Scope::Model => draw.pick(&[1, 2, 3, 4]),
        Scope::Turmoil | Scope::Real(_) => draw.pick(&[3, 4]),
    };
    let quarantine_ms = shared.quarantine_ms * draw.pick(&[1, 1, 2]);
    let ttl_ms = shared.ttl_ms * quarters / 4;
    let ttl_ms = match scope {
        Scope::Real(backend) if backend.is_coarse() => ttl_ms.next_multiple_of(1_000),
        _ => ttl_ms,
    };
    let settings = of_ttl(draw, ttl_ms, quarantine_ms, scope);
    // All candidates share the drift bound.
    Some(fitted(Settings { drift_ppm: shared.drift_ppm, ..settings }))
}

fn of_ttl(mut draw: Draw, ttl_ms: u64, quarantine_ms: u64, scope: Scope) -> Settings {
    let stop_margin_ms = match scope {
        Scope::Model | Scope::Turmoil => draw.pick(&[0, ttl_ms / 50, ttl_ms / 10, ttl_ms / 5]),
        Scope::Real(backend) if backend.is_coarse() => draw.pick(&[0, ttl_ms / 20, ttl_ms / 10]),
        Scope::Real(_) => draw.pick(&[0, ttl_ms / 20, ttl_ms / 10, ttl_ms / 5]),
    };
    // Much of a lease is not relied on already where it may end too early.
    let is_coarse = matches!(scope, Scope::Real(backend) if backend.is_coarse());
    let drifts = if is_coarse { &DRIFTS[..3] } else { &DRIFTS[..] };
    let renewals = if is_coarse { [4, 6, 6] } else { [3, 4, 6] };
    let drift_ppm = draw.pick(drifts);
    let settings = Settings {
        ttl_ms,
        renew_interval_ms: ttl_ms / draw.pick(&renewals),
        request_timeout_ms: match scope {
            Scope::Model | Scope::Turmoil => ttl_ms / draw.pick(&[2, 2, 10, 20]),
            Scope::Real(_) => ttl_ms / draw.pick(&[2, 8]),
        },
        stop_margin_ms,
        retry_least_ms: (ttl_ms / 150).max(1),
        retry_most_ms: ttl_ms / draw.pick(&[15, 30]),
        poll_bound_ms: ttl_ms / draw.pick(&[1, 1, 2]),
        drain_bound_ms: draw.pick(&[0, ttl_ms / 50, ttl_ms / 4, ttl_ms, 2 * ttl_ms]),
        quarantine_ms,
        granularity_ns: match scope {
            Scope::Model => draw.pick(&[1, 1, 1_000_000]),
            Scope::Turmoil => 1_000_000,
            Scope::Real(backend) => backend.granularity_ms * 1_000_000,
        },
        drift_ppm,
    };
    fitted(settings)
}

/// The settings with the longest request timeout that is valid, up to the given one.
fn fitted(mut settings: Settings) -> Settings {
    let (mut fits, mut least_too_long) = (1, settings.request_timeout_ms + 1);
    while least_too_long - fits > 1 {
        settings.request_timeout_ms = fits.midpoint(least_too_long);
        if settings.config().is_ok() {
            fits = settings.request_timeout_ms;
        } else {
            least_too_long = settings.request_timeout_ms;
        }
    }
    settings.request_timeout_ms = fits;
    settings
}
