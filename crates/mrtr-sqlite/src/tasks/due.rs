//! Work across tasks: those whose runs are due, whose time is over, and which are not kept any longer.

use std::collections::BTreeSet;
use std::time::Duration;

use mrtr_state::Timestamp;
use mrtr_tasks::record::Event;
use mrtr_tasks::store::{
    ACCOUNTS_AT_ONCE, Acquired, AcquiredTask, Choice, EXPIRED_PASSED_OVER, KeptQuestion, PAUSE_BEFORE_UNSEEN, Swept,
    TRIALS_AT_ONCE, Turn, Turns, Wanted,
};
use mrtr_tasks::{Account, TaskId};
use rusqlite::{Params, Row};

use super::head::Head;
use super::statements as sql;
use super::tables::{Failure, Tables};
use crate::schema::{millis, moment};

/// The search for tasks that are not on trial and that a runner may acquire.
struct Claim<'a> {
    wanted: &'a Wanted,
    /// The places of the tasks that run in its instance.
    running: &'a [i64],
    now: Timestamp,
    turns: &'a mut Turns,
    acquired: &'a mut Acquired,
}

/// A task that a runner has to look at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Look {
    attention: Timestamp,
    place: i64,
    expires: Option<Timestamp>,
}

/// The task that a runner has to look at first.
enum First {
    At(Look),
    /// It was not reached: too many tasks before it have expired.
    BehindExpired,
    None,
}

impl First {
    fn among(
        looks: impl Iterator<Item = rusqlite::Result<Look>>,
        running: &[i64],
        now: Timestamp,
    ) -> rusqlite::Result<Self> {
        let mut passed = 0;
        for look in looks {
            let look = look?;
            if look.expires.is_none_or(|expires| expires > now) && !running.contains(&look.place) {
                return Ok(Self::At(look));
            }
            passed += 1;
        }
        Ok(if passed >= passed_over(running) { Self::BehindExpired } else { Self::None })
    }

    fn earlier(self, other: Self) -> Self {
        match (self, other) {
            (Self::At(one), Self::At(other)) => Self::At(one.min(other)),
            (Self::At(look), _) | (_, Self::At(look)) => Self::At(look),
            (Self::BehindExpired, _) | (_, Self::BehindExpired) => Self::BehindExpired,
            (Self::None, Self::None) => Self::None,
        }
    }
}

impl Tables<'_> {
    pub(super) fn acquire(&mut self, wanted: &Wanted) -> Result<Acquired, Failure> {
        let now = self.clock.now();
        let tools: BTreeSet<_> = wanted.tools.iter().map(String::as_str).collect();
        let mut acquired = Acquired::default();
        self.bound_waits(wanted, &tools, now)?;
        let trial = self.first_trial(wanted, &tools, now, &mut acquired.set_aside)?;
        let running = self.places_of(&wanted.running)?;
        let others = self.first_attention(&tools, &running, now)?.filter(|attention| *attention <= now);
        let is_reserved = !self.places(sql::RESERVED, [millis(now)])?.is_empty();
        let due = trial.as_ref().and_then(|head| head.record.due);
        let choice = wanted.choose(due, others, is_reserved, now);
        let mut turns = wanted.turns.clone();
        match (choice, trial) {
            (Choice::Others, _) => {
                let mut claim = Claim { wanted, running: &running, now, turns: &mut turns, acquired: &mut acquired };
                self.acquire_others(&mut claim, &tools)?;
            }
            (Choice::Trial, Some(mut head)) => {
                head.record.apply(wanted.trial_event(), now)?;
                self.keep(&head)?;
                acquired.tasks.push(self.acquired(head)?);
            }
            (Choice::Reserve, Some(mut head)) => {
                head.record.apply(wanted.reserve_event(), now)?;
                head.keep(self.connection)?;
            }
            _ => {}
        }
        acquired.trial_waits = matches!(choice, Choice::Reserve | Choice::Tell);
        let next = self.next_of_accounts(&turns, &tools, &running, now)?.into_iter();
        let next = next.chain(self.next_trial(&tools, &wanted.running, now)?).min().map(|next| next.since(now));
        acquired.next = acquired.next.into_iter().chain(next).min();
        acquired.turn = acquired.turn.or(wanted.turns.after());
        Ok(acquired)
    }

    /// Lets no task wait longer than it was to, if the clock may have been set back.
    fn bound_waits(&mut self, wanted: &Wanted, tools: &BTreeSet<&str>, now: Timestamp) -> Result<(), Failure> {
        for tool in self.watch.unseen(tools) {
            for sql in [sql::WAITING, sql::WAITING_ON_TRIAL] {
                for place in self.places(sql, (tool, millis(now)))? {
                    let mut head = self.head_at(place)?;
                    let before = head.record.clone();
                    // One whose time is over waits for nothing.
                    if head.record.apply(wanted.set_back_event(), now).is_ok() && head.record != before {
                        self.keep(&head)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes tasks that are not on trial, in turns over accounts.
    fn acquire_others(&mut self, claim: &mut Claim<'_>, tools: &BTreeSet<&str>) -> Result<(), Failure> {
        let (most, now) = (claim.wanted.most, claim.now);
        let mut due_tools = BTreeSet::new();
        for &tool in tools {
            let first = self.rows(sql::FIRST, (tool, 1), look)?;
            due_tools.extend(first.first().filter(|look| look.attention <= now).map(|_| tool));
        }
        let mut accounts = self.accounts_after(place_of(claim.turns.after()), &due_tools)?;
        if most > 0 {
            claim.acquired.turn = accounts.last().map(|account| turn_of(*account));
        }
        while !accounts.is_empty() && claim.acquired.tasks.len() < most {
            let mut others = Vec::new();
            for account in accounts {
                if claim.acquired.tasks.len() >= most {
                    break;
                }
                if self.acquire_of(account, claim, &due_tools)? {
                    others.push(account);
                    if claim.acquired.tasks.len() >= most {
                        claim.acquired.turn = Some(turn_of(account));
                    }
                }
            }
            accounts = others;
        }
        Ok(())
    }

    /// Acquires a task of this account, if one is due and it is the account's turn. Returns true if it did.
    fn acquire_of(&mut self, account: i64, claim: &mut Claim<'_>, tools: &BTreeSet<&str>) -> Result<bool, Failure> {
        let name = self.account_name(account)?;
        if !claim.turns.admits(&name) {
            return Ok(false);
        }
        loop {
            let place = match self.first_of(account, tools, claim.running, claim.now)? {
                First::At(look) if look.attention <= claim.now => look.place,
                First::At(_) | First::None => return Ok(false),
                First::BehindExpired => {
                    self.expire_of_account(account, EXPIRED_PASSED_OVER)?;
                    claim.acquired.next = Some(Duration::ZERO);
                    return Ok(false);
                }
            };
            let mut head = self.head_at(place)?;
            head.record.apply(claim.wanted.event(), claim.now)?;
            self.keep(&head)?;
            claim.acquired.set_aside.extend(head.record.set_aside.map(|_| head.record.id));
            // If the event put the task off or put it on trial instead, the next search does not find it here again.
            if head.record.leased_until.is_some() {
                claim.acquired.tasks.push(self.acquired(head)?);
                claim.turns.take(&name);
                return Ok(true);
            }
        }
    }

    /// The accounts that have tasks of these tools which a runner has to look at: from the one behind this turn on, and
    /// then those before it.
    fn accounts_after(&self, turn: i64, tools: &BTreeSet<&str>) -> rusqlite::Result<Vec<i64>> {
        let mut accounts = Vec::new();
        let mut last = turn;
        while let Some(account) = self.next_account(last, tools)?.filter(|_| accounts.len() < ACCOUNTS_AT_ONCE) {
            accounts.push(account);
            last = account;
        }
        last = 0;
        while let Some(account) = self.next_account(last, tools)?.filter(|account| *account <= turn)
            && accounts.len() < ACCOUNTS_AT_ONCE
        {
            accounts.push(account);
            last = account;
        }
        Ok(accounts)
    }

    fn next_account(&self, after: i64, tools: &BTreeSet<&str>) -> rusqlite::Result<Option<i64>> {
        let mut next: Option<i64> = None;
        for tool in tools {
            next = next.into_iter().chain(self.places(sql::NEXT_ACCOUNT, (tool, after))?).min();
        }
        Ok(next)
    }

    fn account_name(&self, account: i64) -> rusqlite::Result<Account> {
        let name: String = self.connection.prepare_cached(sql::ACCOUNT_NAME)?.query_row([account], |row| row.get(0))?;
        Ok(Account::from_kept(name))
    }

    /// The task of an account that a runner has to look at first.
    fn first_of(
        &self,
        account: i64,
        tools: &BTreeSet<&str>,
        running: &[i64],
        now: Timestamp,
    ) -> rusqlite::Result<First> {
        let mut first = First::None;
        for tool in tools {
            let mut statement = self.connection.prepare_cached(sql::FIRST_OF_ACCOUNT)?;
            let looks = statement.query_map((tool, account, passed_over(running)), look)?;
            first = first.earlier(First::among(looks, running, now)?);
        }
        Ok(first)
    }

    /// The time at which a runner has to look at the first task of these tools. It is soon if too many have expired
    /// before it.
    fn first_attention(
        &self,
        tools: &BTreeSet<&str>,
        running: &[i64],
        now: Timestamp,
    ) -> rusqlite::Result<Option<Timestamp>> {
        let mut first: Option<Timestamp> = None;
        for tool in tools {
            let mut statement = self.connection.prepare_cached(sql::FIRST)?;
            let looks = statement.query_map((tool, passed_over(running)), look)?;
            let of_tool = match First::among(looks, running, now)? {
                First::At(look) => Some(look.attention),
                First::BehindExpired => Some(now + PAUSE_BEFORE_UNSEEN),
                First::None => None,
            };
            first = first.into_iter().chain(of_tool).min();
        }
        Ok(first)
    }

    /// The time at which there may be more tasks that are not on trial.
    fn next_of_accounts(
        &self,
        turns: &Turns,
        tools: &BTreeSet<&str>,
        running: &[i64],
        now: Timestamp,
    ) -> rusqlite::Result<Option<Timestamp>> {
        if turns.refused().next().is_none() {
            return self.first_attention(tools, running, now);
        }
        let accounts = self.accounts_after(place_of(turns.after()), tools)?;
        // Those who come later may have something, too.
        let mut next = (accounts.len() == ACCOUNTS_AT_ONCE).then(|| now + PAUSE_BEFORE_UNSEEN);
        for account in accounts {
            if !turns.admits(&self.account_name(account)?) {
                continue;
            }
            let of_account = match self.first_of(account, tools, running, now)? {
                First::At(look) => Some(look.attention),
                First::BehindExpired => Some(now),
                First::None => None,
            };
            next = next.into_iter().chain(of_account).min();
        }
        Ok(next)
    }

    /// Ends tasks of an account whose time is over, at most `most` of them, and returns their number.
    pub(super) fn expire_of_account(&mut self, account: i64, most: usize) -> Result<usize, Failure> {
        let now = self.clock.now();
        let most = limit(most.min(EXPIRED_PASSED_OVER));
        let expired = self.places(sql::EXPIRED_OF_ACCOUNT, (account, millis(now), most))?;
        self.expire(&expired, now)?;
        Ok(expired.len())
    }

    fn expire(&mut self, places: &[i64], now: Timestamp) -> Result<(), Failure> {
        for &place in places {
            let mut head = self.head_at(place)?;
            head.record.apply(Event::Expire, now)?;
            self.keep(&head)?;
        }
        Ok(())
    }

    fn places_of(&self, ids: &[TaskId]) -> rusqlite::Result<Vec<i64>> {
        let mut places = Vec::new();
        for id in ids {
            places.extend(self.places(sql::PLACE, [id.as_bytes()])?);
        }
        Ok(places)
    }

    /// Finds the task on trial that waited longest. It first counts runs on trial that were lost: their tasks are put
    /// off or set aside whether or not a runner can have them.
    fn first_trial(
        &mut self,
        wanted: &Wanted,
        tools: &BTreeSet<&str>,
        now: Timestamp,
        set_aside: &mut Vec<TaskId>,
    ) -> Result<Option<Head>, Failure> {
        let mut first: Option<Head> = None;
        for (_, place) in self.due_trials(tools, &wanted.running, TRIALS_AT_ONCE, now)? {
            let mut head = self.head_at(place)?;
            if head.record.leased_until.is_some() {
                head.record.apply(Event::Lapse, now)?;
                self.keep(&head)?;
                set_aside.extend(head.record.set_aside.map(|_| head.record.id));
                // As it stands in the file from now on.
                head = self.head_at(place)?;
            }
            if !head.record.is_on_trial() {
                // A process of the previous version parked the task, and left it among those on trial.
                head.keep(self.connection)?;
                continue;
            }
            let by_due = |head: &Head| (head.record.due, head.place);
            let waits = head.record.due.is_some_and(|due| due <= now);
            if waits && first.as_ref().is_none_or(|first| by_due(&head) < by_due(first)) {
                first = Some(head);
            }
        }
        Ok(first)
    }

    fn head_at(&self, place: i64) -> rusqlite::Result<Head> {
        self.connection.prepare_cached(sql::HEAD_AT)?.query_row([place], Head::read)
    }

    pub(super) fn sweep(&mut self, most: usize) -> Result<Swept, Failure> {
        let now = self.clock.now();
        let expired = self.places(sql::EXPIRED, (millis(now), limit(most)))?;
        self.expire(&expired, now)?;
        let removable =
            self.rows(sql::REMOVABLE, (millis(now), limit(most)), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        for &(place, owner, account) in &removable {
            self.remove(place, owner, account)?;
        }
        Ok(Swept { expired: expired.len(), removed: removable.len() })
    }

    /// Finds tasks on trial that are due and that the runner does not have, each with the time since which it is due.
    /// Those that waited longest come first.
    fn due_trials(
        &self,
        tools: &BTreeSet<&str>,
        running: &[TaskId],
        most: usize,
        now: Timestamp,
    ) -> rusqlite::Result<Vec<(i64, i64)>> {
        let mut due: Vec<(i64, i64)> = Vec::new();
        for tool in tools {
            // The running ones are left out below, so it reads that many more.
            let of_tool = (tool, millis(now), limit(most.saturating_add(running.len())));
            let found = self.rows(sql::TRIALS, of_tool, |row| Ok((row.get(0)?, row.get(1)?, id(row, 2)?)))?;
            due.extend(found.iter().filter(|found| !running.contains(&found.2)).map(|found| (found.0, found.1)));
        }
        due.sort_unstable();
        due.truncate(most);
        Ok(due)
    }

    /// The time at which a runner has to look at the next task on trial. A task that is due already waits for something
    /// else than time.
    fn next_trial(
        &self,
        tools: &BTreeSet<&str>,
        running: &[TaskId],
        now: Timestamp,
    ) -> rusqlite::Result<Option<Timestamp>> {
        let mut next: Option<i64> = None;
        for tool in tools {
            let of_tool = (tool, millis(now), limit(running.len() + 1));
            let found = self.rows(sql::NEXT_TRIAL, of_tool, |row| Ok((row.get(0)?, id(row, 1)?)))?;
            let first = found.iter().find(|(_, id)| !running.contains(id)).map(|(moment, _)| *moment);
            next = next.into_iter().chain(first).min();
        }
        Ok(next.map(moment))
    }

    fn acquired(&self, head: Head) -> rusqlite::Result<AcquiredTask> {
        let mut entries = self.rows(sql::ENTRIES, [head.place], |row| row.get(0))?;
        let call = if entries.is_empty() { Vec::new() } else { entries.remove(0) };
        let questions = self.rows(sql::QUESTIONS, [head.place], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (open, used) = split(&head.record.open, questions);
        Ok(AcquiredTask { record: head.record, call, entries, open, used })
    }

    fn remove(&self, place: i64, owner: i64, account: i64) -> rusqlite::Result<()> {
        self.run(sql::ERASE_SHOWN, [place])?;
        self.run(sql::REMOVE, [place])?;
        self.run(sql::DROP_OWNER, [owner])?;
        if account == owner { Ok(()) } else { self.run(sql::DROP_OWNER, [account]) }
    }

    fn places(&self, sql: &str, params: impl Params) -> rusqlite::Result<Vec<i64>> {
        self.rows(sql, params, |row| row.get(0))
    }

    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.connection.prepare_cached(sql)?.query_map(params, read)?.collect()
    }
}

/// The questions that are open, in the order in which they were opened, and the keys of the others.
fn split(open_keys: &[String], questions: Vec<(String, Option<Vec<u8>>)>) -> (Vec<KeptQuestion>, Vec<String>) {
    let (mut open, mut used) = (Vec::new(), Vec::new());
    for (key, body) in questions {
        match body {
            Some(body) => open.push(KeptQuestion { key, body }),
            None => used.push(key),
        }
    }
    sort_as_opened(&mut open, open_keys);
    (open, used)
}

fn look(row: &Row<'_>) -> rusqlite::Result<Look> {
    let expires: Option<i64> = row.get(2)?;
    Ok(Look { attention: moment(row.get(0)?), place: row.get(1)?, expires: expires.map(moment) })
}

/// The most tasks that a search passes over before it finds one that a runner may have.
fn passed_over(running: &[i64]) -> i64 {
    limit(EXPIRED_PASSED_OVER + running.len())
}

fn place_of(turn: Option<Turn>) -> i64 {
    turn.map_or(0, |Turn(turn)| i64::try_from(turn).unwrap_or(i64::MAX))
}

fn turn_of(account: i64) -> Turn {
    Turn(u128::from(account.unsigned_abs()))
}

fn id(row: &Row<'_>, column: usize) -> rusqlite::Result<TaskId> {
    Ok(TaskId::from_bytes(row.get(column)?))
}

/// Sorts questions in the order in which they were opened, which the record has.
pub(super) fn sort_as_opened(open: &mut [KeptQuestion], open_keys: &[String]) {
    open.sort_by_key(|question| open_keys.iter().position(|key| *key == question.key));
}

/// A number of rows, as SQLite takes it.
pub(super) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
