//! The callers that wait for the end of a reservation, which may be held in this process or another.

use std::collections::HashMap;
use std::sync::Arc;

use mrtr_state::single_use::{Reservation, SingleUseError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::tokens;
use crate::writer::VerbError;

#[derive(Default)]
pub(crate) struct Waiting {
    by_fence: HashMap<u64, Crowd>,
    /// The `data_version` that SQLite changes when another connection changes the file.
    version: Option<i64>,
}

/// The callers that wait for the end of one reservation.
struct Crowd {
    reservation: Reservation,
    waiters: Vec<oneshot::Sender<Result<(), SingleUseError>>>,
}

impl Waiting {
    pub(crate) fn is_empty(&self) -> bool {
        self.by_fence.is_empty()
    }

    /// Answers the caller at once if the reservation is not held, and otherwise when it ends.
    pub(crate) fn wait(
        &mut self,
        reservation: Reservation,
        caller: oneshot::Sender<Result<(), SingleUseError>>,
        connection: &Connection,
    ) {
        let result = match tokens::is_held(connection, &reservation) {
            Ok(true) => {
                let crowd =
                    self.by_fence.entry(reservation.fence()).or_insert(Crowd { reservation, waiters: Vec::new() });
                crowd.waiters.push(caller);
                return;
            }
            Ok(false) => Ok(()),
            Err(error) => Err(SingleUseError::store(error)),
        };
        // A caller that no longer wants to know has dropped the other end.
        drop(caller.send(result));
    }

    /// Tells the callers that wait for these reservations, by their fences, that they have ended.
    pub(crate) fn wake(&mut self, ended: &[u64]) {
        for waiter in ended.iter().filter_map(|fence| self.by_fence.remove(fence)).flat_map(|crowd| crowd.waiters) {
            drop(waiter.send(Ok(())));
        }
    }

    /// Looks whether another process ended reservations, and forgets the callers that have gone away.
    pub(crate) fn look_around(&mut self, connection: &Connection) {
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
            if !tokens::is_held(connection, &crowd.reservation)? {
                ended.push(*fence);
            }
        }
        self.wake(&ended);
        Ok(())
    }

    fn fail(&mut self, error: &Arc<rusqlite::Error>) {
        for waiter in self.by_fence.drain().flat_map(|(_, crowd)| crowd.waiters) {
            drop(waiter.send(Err(SingleUseError::store(Arc::clone(error)))));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mrtr_state::single_use::ReserveOutcome;

    use super::super::Tokens;
    use super::*;
    use crate::open::open;
    use crate::schema::Needed;
    use crate::single_use::tests::{NOON, token};

    #[test]
    fn the_file_is_not_watched_once_nobody_waits_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let file = open(&folder.path().join("single-use.sqlite"), Needed::SingleUse(NOON)).unwrap();
        let mut tokens = Tokens { connection: &file.connection, ended: Vec::new() };
        let Ok(ReserveOutcome::Reserved(reservation, _)) = tokens.reserve(&token(NOON), Duration::from_secs(30), NOON)
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
