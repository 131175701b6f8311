//! Identities as numbers, as text, and in order.

use std::time::Duration;

use tenure_core::{
    Candidate, Config, HolderId, Input, Instant, Output, Reply, Request, Seed, Token,
};

#[test]
fn a_token_is_a_number_above_zero() {
    assert_eq!(Token::new(0), None);
    assert_eq!(Token::new(1), Some(Token::FIRST));
    let token = Token::new(41).expect("not zero");
    assert_eq!((token.get(), token.next().get()), (41, 42));
    assert_eq!((token.to_string(), format!("{token:?}")), ("41".into(), "#41".into()));
    let last = Token::new(u64::MAX).expect("not zero");
    assert_eq!(last.next(), last);
}

#[test]
fn no_token_is_below_every_token() {
    assert!(None < Some(Token::FIRST));
    assert!(Token::FIRST < Token::FIRST.next());
}

#[test]
fn a_holder_is_128_bits_and_32_digits() {
    let holder = HolderId::from_bits(0x0123_4567_89ab_cdef << 64);
    assert_eq!(holder.to_bits(), 0x0123_4567_89ab_cdef << 64);
    assert_eq!(holder.to_string(), "0123456789abcdef0000000000000000");
    assert_eq!(format!("{holder:?}"), "01234567");
}

#[test]
fn a_seed_is_not_shown() {
    assert_eq!(format!("{:?}", Seed::new(0x5eed)), "Seed(..)");
}

/// The first numbers of `SplitMix64` from 0, as published with it. They are a counter's images under a
/// bijection, which is why no holder comes twice.
#[test]
fn holders_are_drawn_as_published() {
    let published = [0xe220_a839_7b1d_cdaf_u128, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
    let mut candidate = Candidate::new(Config::normal(), Seed::new(0));
    let now = Instant::from_nanos(100_000_000_000);
    for number in published {
        candidate.handle(now, Input::Campaign);
        candidate.handle(now, Input::Admitted);
        let sent = candidate.poll();
        let Some(Output::Send { id, request: Request::Acquire { holder, .. }, .. }) = sent else {
            panic!("an acquire: {sent:?}");
        };
        assert_eq!(holder.to_bits() >> 64, number);
        let held = Reply::Held {
            token: Token::FIRST,
            remaining: Duration::from_secs(1),
            ttl: Duration::from_secs(1),
        };
        for input in [Input::Reply { id, result: Ok(held) }, Input::Resign { again_after: None }] {
            while candidate.poll().is_some() {}
            candidate.handle(now, input);
        }
        while candidate.poll().is_some() {}
    }
}
