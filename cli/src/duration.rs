//! Durations on the command line.

use std::time::Duration;

use clap::ValueEnum;

/// The units of a duration, as in the library's variables.
#[derive(Clone, Copy, ValueEnum)]
enum Unit {
    Ms,
    S,
    M,
    H,
}

/// A whole number with a unit; zero needs none.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let must = || {
        format!("{text:?} must be a whole number with one of the units ms, s, m and h, such as 30s")
    };
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(must)?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| must())?;
    let millis = match Unit::from_str(unit, false).map_err(|_| must())? {
        Unit::Ms => Some(number),
        Unit::S => number.checked_mul(1_000),
        Unit::M => number.checked_mul(60_000),
        Unit::H => number.checked_mul(3_600_000),
    };
    let within = |millis: &u64| *millis <= 1_000 * 3_600_000;
    millis
        .filter(within)
        .map(Duration::from_millis)
        .ok_or_else(|| format!("{text:?} must be at most 1000h"))
}

/// A lead that is kept after its command has ended: for a part of the time to the next run.
pub(crate) fn hold(text: &str) -> Result<Duration, String> {
    let most = Duration::from_secs(24 * 3_600);
    let time = duration(text)?;
    if time.is_zero() || time > most {
        return Err(format!("{text:?} must be more than 0 and at most 24h"));
    }
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hold_has_bounds() {
        assert_eq!(hold("24h"), Ok(Duration::from_secs(86_400)));
        for refused in ["0", "0ms", "25h", "1001h", "soon"] {
            assert!(hold(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn durations_have_units() {
        let read = |text| duration(text).ok().map(|time| time.as_millis());
        let texts = ["0", "0s", "250ms", "3s", "2m", "1000h"];
        let times = [0, 0, 250, 3_000, 120_000, 3_600_000_000].map(Some);
        assert_eq!(texts.map(read), times);
        for refused in ["", "5", "s", "-1s", "1.5s", "3 s", "3S", "1001h", "99999999999999999999s"]
        {
            assert_eq!(read(refused), None, "{refused}");
        }
    }
}
