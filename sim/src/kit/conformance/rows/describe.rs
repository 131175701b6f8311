//! Rows about profiles that are replaced.

use tenure::Token;
use tenure::store::{Profile, Reply, Request, Store, StoreErrorKind};

use super::Stop;
use crate::conformance::probe::{Found, Probe, holder, key, limit, must, profile, release};

fn describe(number: u128, token: Token, version: u64, profile: &Profile) -> Request {
    Request::Describe { holder: holder(number), token, version, profile: profile.clone() }
}

/// A profile with all byte values, of the greatest length, that differs from others at both ends.
fn long_profile(name: &str, byte: u8) -> Found<Profile> {
    let bytes = (0..=u8::MAX).map(|other| other ^ byte).cycle().take(Profile::METADATA_MOST);
    Profile::new(name, bytes.collect::<Vec<_>>()).map_err(limit)
}

async fn shows(
    probe: &mut Probe<'_>,
    (number, token): (u128, Token),
    wanted: &Profile,
    after: &str,
) -> Found<()> {
    probe.is_held_by(number, token).await?;
    let told = probe.look().await?.profile;
    must(told.as_ref() == Some(wanted), || {
        format!("after {after} the incumbent is {told:?}, and not {:?}", wanted.name())
    })
}

pub(crate) async fn older_profiles_change_nothing(probe: &mut Probe<'_>) -> Found<()> {
    let (old, new) = (long_profile("worker-1 of old", 1)?, long_profile("worker-1 of now", 2)?);
    let unknown = describe(1, Token::FIRST, 1, &new);
    let answer = probe.store.call(&key("job")?, unknown.clone()).await;
    if answer.is_err_and(|error| error.kind() == StoreErrorKind::Unsupported) {
        return Err(Stop::Skipped("the store replaces no profiles"));
    }
    probe.expect(unknown, Reply::NotHeld).await?;

    let first = probe.granted(probe.acquire(1, None)).await?;
    let tenure = (1, first);
    probe.expect(describe(1, first, 2, &new), Reply::Described).await?;
    shows(probe, tenure, &new, "a describe").await?;
    for version in [1, 2] {
        probe.expect(describe(1, first, version, &old), Reply::Described).await?;
        shows(probe, tenure, &new, "an older describe").await?;
    }
    let again = probe.granted(probe.acquire(1, None)).await?;
    must(again == first, || format!("the repeated acquire of {first} was granted {again}"))?;
    shows(probe, tenure, &new, "a repeated acquire").await?;
    probe.is_renewed(1, first).await?;
    for (number, token) in [(2, first), (1, first.next()), (2, first.next())] {
        probe.expect(describe(number, token, 9, &old), Reply::NotHeld).await?;
    }
    shows(probe, tenure, &new, "a describe of another tenure").await?;
    let record = probe.is_held_by(1, first).await?;
    probe.expect(describe(1, first, 3, &new), Reply::Described).await?;
    let after = probe.is_held_by(1, first).await?;
    must(after == record, || format!("a describe has changed {record:?} to {after:?}"))?;

    probe.expect(release(1, first), Reply::Released).await?;
    // Whether it is still the record of this tenure then is the store's affair.
    probe.ask(describe(1, first, 4, &old)).await?;
    let shown = probe.look().await?;
    must(shown.incumbent().is_none(), || format!("the lease was given back: {shown:?}"))?;
    let second = probe.granted(probe.acquire(2, Some(first))).await?;
    probe.expect(describe(1, first, 9, &old), Reply::NotHeld).await?;
    shows(probe, (2, second), &profile(2), "a describe of the last tenure").await?;
    // Each tenure counts from 1 anew.
    probe.expect(describe(2, second, 1, &new), Reply::Described).await?;
    shows(probe, (2, second), &new, "the first describe of a tenure").await
}
