//! A store in the plainest way: a list of rows, looked through for everything.

use std::collections::BTreeMap;
use std::time::Duration;

use mrtr_state::Timestamp;
use mrtr_tasks::record::{Change, Event};
use mrtr_tasks::store::{
    Acquired, AcquiredTask, Answer, Choice, Created, KeptQuestion, KeptTask, NewTask, Recorded, Run, StoreError, Swept,
    Turn, Turns, Wanted,
};
use mrtr_tasks::{Account, End, Owner, TaskId, TaskRecord};

pub(crate) struct Model {
    /// The rows in the order of their creation.
    rows: Vec<Row>,
    /// True if the stores notice that their clock is set back.
    notices: bool,
    last: Timestamp,
    /// The tools whose tasks were looked through since.
    looked_through: Vec<String>,
    /// The order in which accounts have their turns.
    order: Order,
    accounts: BTreeMap<u128, Account>,
}

/// The order of accounts.
#[derive(Clone, Copy)]
#[allow(dead_code, reason = "each of two programs needs one of them")]
pub(crate) enum Order {
    /// The order of their first tasks: accounts that have none any more are forgotten.
    ByCreation,
    By(fn(&Account) -> u128),
}

struct Row {
    record: TaskRecord,
    call: Vec<u8>,
    entries: Vec<Vec<u8>>,
    questions: Vec<(KeptQuestion, bool)>,
    message: Option<Vec<u8>>,
    result: Option<Vec<u8>>,
}

impl Model {
    /// A model of stores that notice, or do not, that their clock is set back.
    pub(crate) fn new(notices: bool, order: Order) -> Self {
        let (last, accounts) = (Timestamp::from_millis(0), BTreeMap::new());
        Self { rows: Vec::new(), notices, last, looked_through: Vec::new(), order, accounts }
    }

    /// Each verb sees the clock.
    pub(crate) fn see(&mut self, now: Timestamp) {
        if now < self.last {
            self.looked_through.clear();
        }
        self.last = now;
    }

    fn bound_waits(&mut self, wanted: &Wanted, now: Timestamp) {
        let looked_through = &self.looked_through;
        let is_new = |tool: &String| wanted.tools.contains(tool) && !looked_through.contains(tool);
        for row in self.rows.iter_mut().filter(|row| is_new(&row.record.tool)) {
            let look = row.record.attention().or(row.record.trial());
            if look.is_some_and(|moment| moment > now) {
                drop(row.apply(wanted.set_back_event(), now));
            }
        }
        self.looked_through.extend(wanted.tools.iter().cloned());
    }

    pub(crate) fn create(&mut self, task: NewTask, most: usize, now: Timestamp) -> Result<Created, StoreError> {
        let NewTask { record, call, entries } = task;
        let mine = |row: &&Row| row.record.owner == record.owner;
        if let Some(row) = self.rows.iter().filter(mine).find(|row| row.record.flow == record.flow) {
            return Ok(Created { record: row.record.clone(), is_new: false });
        }
        let open = |rows: &[Row]| rows.iter().filter(mine).filter(|row| row.record.ended.is_none()).count();
        // The store ends tasks that have expired and are in the way: the oldest first, and no more than it has to.
        while open(&self.rows) >= most {
            let over = |row: &&mut Row| row.record.owner == record.owner && row.is_over(now);
            let Some(row) = self.rows.iter_mut().filter(over).min_by_key(|row| row.record.expires()) else {
                return Err(StoreError::Full);
            };
            row.apply(Event::Expire, now)?;
        }
        if !self.accounts.values().any(|known| *known == record.account) {
            let turn = match self.order {
                Order::ByCreation => self.accounts.last_key_value().map_or(1, |(last, _)| last + 1),
                Order::By(key) => key(&record.account),
            };
            self.accounts.insert(turn, record.account.clone());
        }
        let record = TaskRecord { created: now, updated: now, due: Some(now), ..record };
        let entries = entries.into_iter().collect();
        let (questions, message, result) = (Vec::new(), None, None);
        self.rows.push(Row { record: record.clone(), call, entries, questions, message, result });
        Ok(Created { record, is_new: true })
    }

    pub(crate) fn acquire(&mut self, wanted: &Wanted, now: Timestamp) -> Acquired {
        if self.notices {
            self.bound_waits(wanted, now);
        }
        let mut acquired = Acquired::default();
        let lives = |row: &Row| row.is_free(wanted, now);
        for row in self.rows.iter_mut().filter(|row| lives(row) && row.record.trial().is_some()) {
            if row.apply(Event::Lapse, now).is_ok() && row.record.set_aside.is_some() {
                acquired.set_aside.push(row.record.id);
            }
        }
        let is_reserved = self.rows.iter().any(|row| row.record.reserved_until.is_some_and(|until| until > now));
        let trials = self.rows.iter().enumerate().filter(|(_, row)| lives(row));
        let trials = trials.filter_map(|(at, row)| row.record.trial().filter(|due| *due <= now).map(|due| (due, at)));
        let trial = trials.min();
        let others = self.rows.iter().filter(|row| lives(row)).filter_map(|row| row.record.attention()).min();
        let others = others.filter(|attention| *attention <= now);
        let choice = wanted.choose(trial.map(|(due, _)| due), others, is_reserved, now);
        let mut turns = wanted.turns.clone();
        acquired.turn = turns.after();
        match (choice, trial) {
            (Choice::Others, _) => self.acquire_others(wanted, &mut turns, &mut acquired, now),
            (Choice::Trial, Some((_, at))) => {
                self.rows[at].apply(wanted.trial_event(), now).unwrap();
                acquired.tasks.push(self.rows[at].acquired());
            }
            (Choice::Reserve, Some((_, at))) => self.rows[at].apply(wanted.reserve_event(), now).unwrap(),
            _ => {}
        }
        acquired.trial_waits = matches!(choice, Choice::Reserve | Choice::Tell);
        let looks = self
            .rows
            .iter()
            .filter(|row| lives(row))
            .filter(|row| row.record.attention().is_none() || turns.admits(&row.record.account))
            .filter_map(|row| row.record.attention().or_else(|| row.record.trial().filter(|moment| *moment > now)));
        acquired.next = looks.min().map(|moment| moment.since(now));
        acquired
    }

    /// Takes tasks in turns over accounts, of each the one that waited longest.
    fn acquire_others(&mut self, wanted: &Wanted, turns: &mut Turns, acquired: &mut Acquired, now: Timestamp) {
        let is_due = |record: &TaskRecord| record.attention().is_some_and(|attention| attention <= now);
        let has_due = |tool: &&String| self.rows.iter().any(|row| row.record.tool == **tool && is_due(&row.record));
        let tools: Vec<_> = wanted.tools.iter().filter(has_due).cloned().collect();
        let is_looked_at = |account: &Account| {
            let mut rows =
                self.rows.iter().filter(|row| row.record.account == *account && tools.contains(&row.record.tool));
            rows.any(|row| row.record.attention().is_some())
        };
        let after = turns.after().map_or(0, |Turn(turn)| turn);
        let (behind, ahead): (Vec<_>, Vec<_>) = self.accounts.iter().partition(|(turn, _)| **turn <= after);
        let accounts = ahead.into_iter().chain(behind).filter(|(_, account)| is_looked_at(account));
        let mut accounts: Vec<_> = accounts.map(|(turn, account)| (*turn, account.clone())).collect();
        if wanted.most > 0 {
            acquired.turn = accounts.last().map(|(turn, _)| Turn(*turn)).or(acquired.turn);
        }
        while !accounts.is_empty() {
            accounts.retain(|(turn, account)| {
                if acquired.tasks.len() >= wanted.most || !turns.admits(account) {
                    return false;
                }
                while let Some(row) = first_due(&mut self.rows, account, wanted, now) {
                    row.apply(wanted.event(), now).unwrap();
                    acquired.set_aside.extend(row.record.set_aside.map(|_| row.record.id));
                    if row.record.leased_until.is_some() {
                        acquired.tasks.push(row.acquired());
                        turns.take(account);
                        if acquired.tasks.len() == wanted.most {
                            acquired.turn = Some(Turn(*turn));
                        }
                        return true;
                    }
                }
                false
            });
        }
    }

    pub(crate) fn renew(
        &mut self,
        run: Run,
        lease: Duration,
        message: Option<Vec<u8>>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let row = self.row(run.id, None)?;
        row.apply(Event::Renew { fence: run.fence, lease }, now)?;
        if message.is_some() {
            row.apply(Event::Record { fence: run.fence, change: Change::default() }, now)?;
        }
        row.message = message.or(row.message.take());
        Ok(())
    }

    pub(crate) fn record(&mut self, run: Run, recorded: Recorded, now: Timestamp) -> Result<(), StoreError> {
        self.row(run.id, None)?.record(recorded, now, |change| Event::Record { fence: run.fence, change })
    }

    pub(crate) fn compact(
        &mut self,
        run: Run,
        first: usize,
        entries: Vec<u8>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let row = self.row(run.id, None)?;
        row.record.clone().apply(Event::Renew { fence: run.fence, lease: Duration::ZERO }, now)?;
        let rest = row.entries.split_off(first.min(row.entries.len()));
        if row.entries.is_empty() {
            row.entries = rest;
            return Ok(());
        }
        row.entries = std::iter::once(entries).chain(rest).collect();
        Ok(())
    }

    pub(crate) fn park(
        &mut self,
        run: Run,
        recorded: Recorded,
        look_again: Option<Duration>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let row = self.row(run.id, None)?;
        row.record(recorded, now, |change| Event::Park { fence: run.fence, change, look_again })
    }

    pub(crate) fn finish(&mut self, run: Run, end: End, result: Vec<u8>, now: Timestamp) -> Result<(), StoreError> {
        let row = self.row(run.id, None)?;
        row.apply(Event::Finish { fence: run.fence, end }, now)?;
        row.result = Some(result);
        Ok(())
    }

    pub(crate) fn answer(
        &mut self,
        id: TaskId,
        owner: &Owner,
        answers: Vec<Answer>,
        now: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        let row = self.row(id, Some(owner))?;
        row.apply(Event::Answer { keys: &[] }, now)?;
        let mut answered = Vec::new();
        for Answer { key, entry } in answers {
            if row.record.open.contains(&key) {
                row.apply(Event::Answer { keys: std::slice::from_ref(&key) }, now)?;
                row.close(&key);
                row.entries.push(entry);
                answered.push(key);
            }
        }
        Ok(answered)
    }

    pub(crate) fn ask_anew(
        &mut self,
        id: TaskId,
        owner: &Owner,
        key: &str,
        again: KeptQuestion,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let row = self.row(id, Some(owner))?;
        row.apply(Event::AskAnew { retired: "no key", opened: "no key" }, now)?;
        if row.questions.iter().any(|(known, _)| known.key == again.key) {
            return Err(StoreError::KeyUsed(again.key));
        }
        let is_open = row.record.open.iter().any(|open| open == key);
        if is_open {
            row.apply(Event::AskAnew { retired: key, opened: &again.key }, now)?;
            row.close(key);
            let place = row.questions.iter().position(|(known, _)| known.key == key).unwrap();
            row.questions.insert(place, (again, true));
        }
        Ok(is_open)
    }

    /// Applies a verb that changes nothing but the record.
    pub(crate) fn apply(
        &mut self,
        id: TaskId,
        owner: Option<&Owner>,
        event: Event<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.row(id, owner)?.apply(event, now)
    }

    pub(crate) fn get(&mut self, id: TaskId, owner: Option<&Owner>, now: Timestamp) -> Result<KeptTask, StoreError> {
        let row = self.row(id, owner)?;
        let (record, message, result) = (row.record.clone(), row.message.clone(), row.result.clone());
        Ok(KeptTask { record, now, open: row.open(), message, result })
    }

    pub(crate) fn list(&self, owner: Option<&Owner>) -> Vec<TaskRecord> {
        let mine = |record: &&TaskRecord| owner.is_none_or(|owner| *owner == record.owner);
        self.rows.iter().map(|row| &row.record).filter(mine).cloned().collect()
    }

    pub(crate) fn sweep(&mut self, most: usize, now: Timestamp) -> Swept {
        let mut swept = Swept::default();
        while swept.expired < most {
            let over = |row: &&mut Row| row.is_over(now);
            let Some(row) = self.rows.iter_mut().filter(over).min_by_key(|row| row.record.expires()) else { break };
            row.apply(Event::Expire, now).unwrap();
            swept.expired += 1;
        }
        while swept.removed < most {
            let removable = self.rows.iter().enumerate().filter_map(|(at, row)| Some((row.record.removable()?, at)));
            let Some((_, at)) = removable.filter(|(moment, _)| *moment <= now).min() else { break };
            let Row { record, .. } = self.rows.remove(at);
            if self.rows.iter().all(|row| row.record.owner != record.owner) {
                self.accounts.retain(|_, account| *account != record.account);
            }
            swept.removed += 1;
        }
        swept
    }

    fn row(&mut self, id: TaskId, owner: Option<&Owner>) -> Result<&mut Row, StoreError> {
        let row = self.rows.iter_mut().find(|row| row.record.id == id).ok_or(StoreError::NotFound)?;
        if owner.is_none_or(|owner| *owner == row.record.owner) { Ok(row) } else { Err(StoreError::NotFound) }
    }
}

/// The task of an account that waited longest; of those that waited equally long, the first.
fn first_due<'r>(rows: &'r mut [Row], account: &Account, wanted: &Wanted, now: Timestamp) -> Option<&'r mut Row> {
    let waiting = rows.iter_mut().filter(|row| row.record.account == *account && row.is_free(wanted, now));
    let is_due = |row: &&mut Row| row.record.attention().is_some_and(|attention| attention <= now);
    waiting.filter(is_due).min_by_key(|row| row.record.attention())
}

impl Row {
    /// Returns true if its time is over, and no verb has noticed.
    fn is_over(&self, now: Timestamp) -> bool {
        self.record.ended.is_none() && self.record.end(now).is_some()
    }

    /// Returns true if the runner may have it, some time.
    fn is_free(&self, wanted: &Wanted, now: Timestamp) -> bool {
        let (is_wanted, runs_there) =
            (wanted.tools.contains(&self.record.tool), wanted.running.contains(&self.record.id));
        self.record.end(now).is_none() && is_wanted && !runs_there
    }

    fn apply(&mut self, event: Event<'_>, now: Timestamp) -> Result<(), StoreError> {
        self.record.apply(event, now)?;
        if self.record.ended.is_some() {
            self.entries.clear();
            self.questions.clear();
        }
        Ok(())
    }

    fn record(
        &mut self,
        recorded: Recorded,
        now: Timestamp,
        event: impl FnOnce(Change<'_>) -> Event<'_>,
    ) -> Result<(), StoreError> {
        let Recorded { entries, opened, retired, progressed, lasts, message } = recorded;
        let keys: Vec<_> = opened.iter().map(|question| question.key.clone()).collect();
        let before = self.record.clone();
        self.apply(event(Change { opened: &keys, retired: &retired, progressed, lasts }), now)?;
        let is_used = |(at, key): &(usize, &String)| {
            keys[..*at].contains(key) || self.questions.iter().any(|(known, _)| known.key == **key)
        };
        if let Some((_, key)) = keys.iter().enumerate().find(is_used) {
            self.record = before;
            return Err(StoreError::KeyUsed(key.clone()));
        }
        for key in &retired {
            self.close(key);
        }
        self.questions.extend(opened.into_iter().map(|question| (question, true)));
        self.entries.extend(entries);
        self.message = message.or(self.message.take());
        Ok(())
    }

    fn close(&mut self, key: &str) {
        self.questions.iter_mut().filter(|(known, _)| known.key == key).for_each(|(_, is_open)| *is_open = false);
    }

    fn open(&self) -> Vec<KeptQuestion> {
        self.questions.iter().filter(|(_, is_open)| *is_open).map(|(question, _)| question.clone()).collect()
    }

    fn acquired(&self) -> AcquiredTask {
        let (record, call, entries) = (self.record.clone(), self.call.clone(), self.entries.clone());
        let used = self.questions.iter().filter(|(_, is_open)| !is_open);
        AcquiredTask {
            record,
            call,
            entries,
            open: self.open(),
            used: used.map(|(closed, _)| closed.key.clone()).collect(),
        }
    }
}
