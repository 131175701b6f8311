//! Identities as numbers, as text, and in order.

use tenure_core::{HolderId, Seed, Token};

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
