//! Bisection for the magnitude at which a promise begins to break.

use super::magnitudes::Side;

/// Two neighbours: the last magnitude that holds and the first that breaks. `None` if no tried
/// magnitude holds, or if none breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frontier {
    pub(super) holds: Option<u64>,
    pub(super) breaks: Option<u64>,
}

/// Bisects a range. `breaks` must be monotone: it is true for all magnitudes beyond the frontier.
///
/// # Errors
/// Those of `breaks`.
pub(super) fn bisect<E>(
    (least, most): (u64, u64),
    side: Side,
    mut breaks: impl FnMut(u64) -> Result<bool, E>,
) -> Result<Frontier, E> {
    let (harmless, harmful) = match side {
        Side::Above => (least, most),
        Side::Below => (most, least),
    };
    if breaks(harmless)? {
        return Ok(Frontier { holds: None, breaks: Some(harmless) });
    }
    if !breaks(harmful)? {
        return Ok(Frontier { holds: Some(harmful), breaks: None });
    }
    let (mut holding, mut breaking) = (harmless, harmful);
    while holding.abs_diff(breaking) > 1 {
        let middle = holding.midpoint(breaking);
        if breaks(middle)? { breaking = middle } else { holding = middle }
    }
    Ok(Frontier { holds: Some(holding), breaks: Some(breaking) })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn found(range: (u64, u64), side: Side, breaks: impl Fn(u64) -> bool) -> Frontier {
        let result: Result<Frontier, Infallible> = bisect(range, side, |at| Ok(breaks(at)));
        result.unwrap_or_else(|never| match never {})
    }

    #[test]
    fn finds_every_frontier_from_both_sides() {
        for frontier in 1..=20 {
            let above = found((0, 20), Side::Above, |at| at >= frontier);
            assert_eq!(above, Frontier { holds: Some(frontier - 1), breaks: Some(frontier) });
            let below = found((0, 20), Side::Below, |at| at < frontier);
            assert_eq!(below, Frontier { holds: Some(frontier), breaks: Some(frontier - 1) });
        }
    }

    #[test]
    fn without_a_change_there_is_no_frontier() {
        let always = found((3, 9), Side::Above, |_| true);
        assert_eq!(always, Frontier { holds: None, breaks: Some(3) });
        let never = found((3, 9), Side::Above, |_| false);
        assert_eq!(never, Frontier { holds: Some(9), breaks: None });
    }
}
