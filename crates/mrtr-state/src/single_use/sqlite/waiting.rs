//! The callers that wait for the end of a reservation, which may be held in this process or another.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::super::{Reservation, SingleUseError};
use super::{store_error, table};

#[derive(Default)]
pub(super) struct Waiting {
    by_fence: HashMap<u64, Crowd>,
    /// SQLite changes it when another connection changes the file.
    version: Option<i64>,
}

/// The callers that wait for the end of one reservation.
struct Crowd {
    reservation: Reservation,
    waiters: Vec<oneshot::Sender<Result<(), SingleUseError>>>,
}

impl Waiting {
    pub(super) fn is_empty(&self) -> bool {
        self.by_fence.is_empty()
    }

    /// Answers at once if the reservation is not held; otherwise when it ends.
    pub(super) fn wait(
        &mut self,
        reservation: Reservation,
        caller: oneshot::Sender<Result<(), SingleUseError>>,
        connection: &Connection,
    ) {
        let result = match table::is_held(connection, &reservation) {
            Ok(true) => {
                let crowd =
                    self.by_fence.entry(reservation.fence()).or_insert(Crowd { reservation, waiters: Vec::new() });
                crowd.waiters.push(caller);
                return;
            }
            Ok(false) => Ok(()),
            Err(error) => Err(store_error(error)),
        };
        // A caller that no longer wants to know has dropped the other end.
        drop(caller.send(result));
    }

    /// Tells the callers that wait for these reservations, by their fences, that they have ended.
    pub(super) fn wake(&mut self, ended: &[u64]) {
        for waiter in ended.iter().filter_map(|fence| self.by_fence.remove(fence)).flat_map(|crowd| crowd.waiters) {
            drop(waiter.send(Ok(())));
        }
    }

    /// Looks whether another process ended reservations, and forgets the callers that have gone away.
    pub(super) fn look_around(&mut self, connection: &Connection) {
        self.by_fence.retain(|_, crowd| {
            crowd.waiters.retain(|waiter| !waiter.is_closed());
            !crowd.waiters.is_empty()
        });
        if self.is_empty() {
            return;
        }
        if let Err(error) = self.wake_ended(connection) {
            self.fail(&Arc::new(error));
        }
    }

    fn wake_ended(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let version = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if self.version.replace(version) == Some(version) {
            return Ok(());
        }
        let mut ended = Vec::new();
        for (fence, crowd) in &self.by_fence {
            if !table::is_held(connection, &crowd.reservation)? {
                ended.push(*fence);
            }
        }
        self.wake(&ended);
        Ok(())
    }

    fn fail(&mut self, error: &Arc<rusqlite::Error>) {
        for waiter in self.by_fence.drain().flat_map(|(_, crowd)| crowd.waiters) {
            drop(waiter.send(Err(store_error(Arc::clone(error)))));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::ReserveOutcome;
    use super::super::file;
    use super::super::table::Table;
    use super::*;
    use crate::{AnswersDigest, Timestamp, TokenUse, UseKey};

    #[test]
    fn the_file_is_not_watched_once_nobody_waits_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let now = Timestamp::from_millis(1_785_240_000_000);
        let file = file::open(&folder.path().join("single-use.sqlite"), now).unwrap();
        let mut table = Table { connection: &file.connection, since: file.since, ended: Vec::new() };
        let token_use = TokenUse {
            key: UseKey([1; 32]),
            answers: AnswersDigest::from_bytes([0; 32]),
            issued: now,
            keep_until: now + Duration::from_hours(1),
        };
        let Ok(ReserveOutcome::Reserved(reservation, _)) = table.reserve(&token_use, Duration::from_secs(30), now)
        else {
            panic!("it is new")
        };
        let mut waiting = Waiting::default();
        let (reply, answer) = oneshot::channel();
        waiting.wait(reservation, reply, &file.connection);
        waiting.look_around(&file.connection);
        assert!(!waiting.is_empty(), "the reservation is held");
        drop(answer);
        waiting.look_around(&file.connection);
        assert!(waiting.is_empty());
    }
}
