//! Identities as numbers, as text, and in order.

use crate::sights::{NAME, held};
use tenure_core::{
    Candidate, Config, HolderId, Input, Instant, Output, Request, Seed, StepDownReason, Token,
    TokenError,
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
fn tokens_convert_to_numbers_and_back() {
    for number in [1, 41, i64::MAX.unsigned_abs()] {
        let token = Token::try_from(number).expect("not zero");
        assert_eq!(u64::from(token), number);
        let column = i64::try_from(token).expect("it fits");
        assert_eq!((column.unsigned_abs(), Token::try_from(column)), (number, Ok(token)));
        assert_eq!(token.to_string().parse(), Ok(token));
    }
}

#[test]
fn numbers_that_are_no_tokens_are_refused() {
    let high = Token::new(1 << 63).expect("not zero");
    let error = |result: Result<Token, TokenError>| result.expect_err("refused").to_string();
    assert_eq!(error(Token::try_from(0_u64)), "0 is no token; tokens begin at 1");
    assert_eq!(error(Token::try_from(0_i64)), "0 is no token; tokens begin at 1");
    assert_eq!(
        error(Token::try_from(i64::MIN)),
        format!("{} is no token; tokens begin at 1", i64::MIN)
    );
    assert_eq!(
        i64::try_from(high).expect_err("refused").to_string(),
        "token 9223372036854775808 is above 9223372036854775807, the highest signed number"
    );
    for text in ["", "-1", "1.0", "0x1", " 1", "18446744073709551616"] {
        assert_eq!(
            error(text.parse()),
            "the text is no token: it must be a decimal number from 1 to 18446744073709551615",
            "{text:?}"
        );
    }
    assert_eq!(error("0".parse()), "0 is no token; tokens begin at 1");
}

#[cfg(feature = "serde")]
#[test]
fn tokens_are_numbers_in_json() {
    let token = Token::new(41).expect("not zero");
    assert_eq!(serde_json::to_string(&token).expect("a number"), "41");
    assert_eq!(serde_json::from_str::<Token>("41").expect("a token"), token);
    let zero = serde_json::from_str::<Token>("0").expect_err("refused").to_string();
    assert!(zero.starts_with("0 is no token"), "{zero}");
    assert!(serde_json::from_str::<Token>("-1").is_err());
    let holder = HolderId::from_bits(0x1f);
    let digits = "\"0000000000000000000000000000001f\"";
    assert_eq!(serde_json::to_string(&holder).expect("a text"), digits);
}

#[cfg(feature = "serde")]
#[test]
fn reasons_are_names_in_json() {
    for (reason, name) in [
        (StepDownReason::Expired, "expired"),
        (StepDownReason::Superseded, "superseded"),
        (StepDownReason::Resigned, "resigned"),
        (StepDownReason::RenewFailed, "renew_failed"),
        (StepDownReason::WorkLost, "work_lost"),
        (StepDownReason::Unresponsive, "unresponsive"),
        (StepDownReason::WorkFailed, "work_failed"),
        (StepDownReason::HandedOver, "handed_over"),
    ] {
        assert_eq!(serde_json::to_value(reason).expect("a text"), name);
    }
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

/// The first numbers of `SplitMix64` from 0, as published with it. They are a counter's images
/// under a bijection, which is why no holder comes twice.
#[test]
fn holders_are_drawn_as_published() {
    let published = [0xe220_a839_7b1d_cdaf_u128, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f];
    let mut candidate = Candidate::new(Config::normal(), NAME, Seed::new(0));
    let now = Instant::from_nanos(100_000_000_000);
    for number in published {
        candidate.handle(now, Input::Campaign);
        candidate.handle(now, Input::Admitted);
        let sent = candidate.poll();
        let Some(Output::Send { id, request: Request::Acquire(asks), .. }) = sent else {
            panic!("an acquire: {sent:?}");
        };
        assert_eq!(asks.holder.to_bits() >> 64, number);
        let held = held(Token::FIRST);
        for input in [Input::Reply { id, result: Ok(held) }, Input::Resign { again_after: None }] {
            while candidate.poll().is_some() {}
            candidate.handle(now, input);
        }
        while candidate.poll().is_some() {}
    }
}

#[test]
fn reasons_are_sentences() {
    let all = [
        StepDownReason::Expired,
        StepDownReason::Superseded,
        StepDownReason::Resigned,
        StepDownReason::RenewFailed,
        StepDownReason::WorkLost,
        StepDownReason::Unresponsive,
        StepDownReason::WorkFailed,
        StepDownReason::HandedOver,
    ];
    let shown = all.map(|reason| reason.to_string());
    let expected = [
        "no renewal succeeded in time",
        "the store says that the tenure is over",
        "the candidate was asked to resign",
        "a renewal failed, and the strict policy is set",
        "the leader's work panicked or was dropped",
        "the leader's work gave its watchdog no sign of life in time",
        "the leader's work ended with an error",
        "another candidate was wished for, and asked for the lead",
    ];
    assert_eq!(shown, expected);
}
