//! A store's answers, as the contract has them.

use tenure::store::{Reply, Shown};

pub(crate) fn shown(reply: &Reply) -> Option<&Shown> {
    match reply {
        Reply::Not(shown) | Reply::At(shown) => Some(shown),
        _ => None,
    }
}

pub(crate) fn contract_reply(reply: &Reply) -> tenure_core::Reply {
    match reply {
        Reply::Noted => tenure_core::Reply::Noted,
        Reply::NotNoted => tenure_core::Reply::NotNoted,
        other => other.to_contract().unwrap_or_else(|| panic!("{other:?}")),
    }
}
