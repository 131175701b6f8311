//! Renewals as parameters of a statement: a list for each column.

use tenure_core::{RequestId, WatchedStamp};
use tokio_postgres::types::ToSql;

use super::value;
use crate::store::{Key, Request, StoreError};
use crate::{HolderId, Token};

#[derive(Clone, Copy)]
pub(super) struct Renewal<'a> {
    pub(super) key: &'a Key,
    pub(super) holder: HolderId,
    pub(super) token: Token,
    pub(super) number: RequestId,
    pub(super) stamp: Option<WatchedStamp>,
}

impl<'a> Renewal<'a> {
    /// The request, if it is one.
    pub(super) fn of((key, request): &'a (Key, Request)) -> Option<Self> {
        let Request::Renew { holder, token, number, stamp } = *request else { return None };
        Some(Self { key, holder, token, number, stamp })
    }
}

#[derive(Default)]
pub(super) struct Columns<'a> {
    keys: Vec<&'a [u8]>,
    holders: Vec<Vec<u8>>,
    tokens: Vec<i64>,
    numbers: Vec<i64>,
    stamps: Vec<Option<Vec<u8>>>,
    watched: Vec<Option<i64>>,
}

impl<'a> Columns<'a> {
    /// # Errors
    /// If the server has no number for a token or a request.
    pub(super) fn of(renewals: &[Renewal<'a>]) -> Result<Self, StoreError> {
        let mut columns = Self::default();
        for renewal in renewals {
            columns.keys.push(renewal.key.as_str().as_bytes());
            columns.holders.push(value::holder(renewal.holder));
            columns.tokens.push(value::token(renewal.token)?);
            columns.numbers.push(value::number(renewal.number)?);
            columns.stamps.push(renewal.stamp.map(|watch| value::stamp(watch.stamp)));
            columns.watched.push(renewal.stamp.map(|watch| value::watched(watch.time)));
        }
        Ok(columns)
    }

    pub(super) fn in_order(&self) -> [&(dyn ToSql + Sync); 6] {
        [&self.keys, &self.holders, &self.tokens, &self.numbers, &self.stamps, &self.watched]
    }
}
