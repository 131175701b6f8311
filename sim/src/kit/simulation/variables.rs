//! Variables of the environment for simulations: longer runs in continuous integration, and the run
//! of a failed seed, without a change to the code.

use std::ffi::OsString;

use super::SimulationError;

/// The first seed.
pub const SEED: &str = "TENURE_SIM_SEED";
/// The number of seeds.
pub const RUNS: &str = "TENURE_SIM_RUNS";

/// The number in a variable, if it is set.
pub(super) fn number(
    name: &'static str,
    least: u64,
    read: impl Fn(&str) -> Option<OsString>,
) -> Result<Option<u64>, SimulationError> {
    let Some(value) = read(name) else { return Ok(None) };
    let value = value.to_string_lossy();
    match value.trim().parse() {
        Ok(number) if number >= least => Ok(Some(number)),
        Ok(_) | Err(_) => Err(SimulationError::Variable {
            name,
            value: value.into_owned(),
            least,
            most: u64::MAX,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Result<Option<u64>, SimulationError> {
        number(RUNS, 1, |_| Some(value.into()))
    }

    #[test]
    fn only_numbers_in_range_are_accepted() {
        assert_eq!(read("7").expect("a number"), Some(7));
        assert_eq!(number(RUNS, 1, |_| None).expect("not set"), None);
        for wrong in ["", "0", "-1", "many", "18446744073709551616"] {
            let error = read(wrong).expect_err("no number of runs").to_string();
            let begins =
                format!("TENURE_SIM_RUNS is {wrong:?}, and must be a number from 1 to 1844");
            assert!(error.starts_with(&begins), "{error}");
        }
    }
}
