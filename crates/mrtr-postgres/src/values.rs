//! Values as PostgreSQL has them: ids as `uuid`, moments and durations as milliseconds with a sign.

use std::error::Error;
use std::time::Duration;

use bytes::BytesMut;
use mrtr_state::Timestamp;
use mrtr_tasks::{Account, Owner};
use sha2::{Digest, Sha256};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

/// Sixteen bytes, which PostgreSQL keeps as a `uuid`: shorter than any other type, and an operator can read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id(pub(crate) [u8; 16]);

impl Id {
    /// The id that stands for no owner. Tasks that an earlier version has written have it.
    pub(crate) const ZEROS: Self = Self([0; 16]);

    /// The id by which the indexes know an owner. A reader compares the owner itself too.
    pub(crate) fn of_owner(owner: &Owner) -> Self {
        Self::of_text(owner.as_str())
    }

    /// The id by which the indexes and the counts know an account: that of its owner, where it has no other name.
    pub(crate) fn of_account(account: &Account) -> Self {
        Self::of_text(account.as_str())
    }

    fn of_text(text: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(text).into();
        let mut first = [0; 16];
        first.copy_from_slice(&digest[..16]);
        Self(first)
    }
}

impl ToSql for Id {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    accepts!(UUID);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Id {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw.try_into()?))
    }

    accepts!(UUID);
}

/// PostgreSQL's numbers have a sign; a moment past the largest one counts as that one.
pub(crate) fn millis(moment: Timestamp) -> i64 {
    i64::try_from(moment.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn moment(millis: i64) -> Timestamp {
    Timestamp::from_millis(u64::try_from(millis).unwrap_or(0))
}

pub(crate) fn length(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn duration(millis: i64) -> Duration {
    Duration::from_millis(u64::try_from(millis).unwrap_or(0))
}

/// A number of rows.
pub(crate) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// A number of bytes; one past the largest number counts as that one.
pub(crate) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
