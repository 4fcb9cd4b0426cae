//! The branches of a run, the questions that hold them, and whether something may begin in one.
//!
//! This is a model without I/O: calls and their places go in, and what may begin comes out.

/// A branch of a run: the handler's body, or a member of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BranchId(usize);

impl BranchId {
    /// The handler's body.
    pub(super) const BODY: Self = Self(0);
}

/// A question that is polled, from its first poll until it is answered or withdrawn. None is used twice in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HoldId(usize);

/// How an unanswered question came to be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PassedOver {
    /// The handler went on without it.
    ByHandler,
    /// A panic took it along, which the handler may have caught.
    ByPanic,
}

/// The branches of a run, each under the one that made it, and the questions that hold them.
#[derive(Debug)]
pub(super) struct Branches<Q> {
    body: Branch,
    /// Most handlers join nothing, and have no others.
    members: Vec<Branch>,
    joins: Vec<Join>,
    /// By their ids; those that hold nothing any more have left their place empty.
    holds: Vec<Option<Hold<Q>>>,
    /// How many questions hold something, and how many of those were passed over.
    held: usize,
    passed_over: usize,
}

#[derive(Debug, Default)]
struct Branch {
    /// The join that it is a member of; the body has none.
    join: Option<usize>,
    /// How many questions were polled in it, and in the branches under it.
    own: usize,
    below: usize,
    /// Whether it lost a race: what it asked is asked no more.
    withdrawn: bool,
}

#[derive(Debug)]
struct Join {
    /// The branch that polled it first.
    parent: BranchId,
    /// Whether that branch was held then, and has not been seen free since.
    made_held: bool,
    /// How many questions were polled in its members and under them.
    within: usize,
}

#[derive(Debug)]
struct Hold<Q> {
    question: Q,
    /// Where it was polled: once in each, and in one at least.
    first: BranchId,
    more: Vec<BranchId>,
    passed_over: Option<PassedOver>,
}

impl<Q> Default for Branches<Q> {
    fn default() -> Self {
        Self {
            body: Branch::default(),
            members: Vec::new(),
            joins: Vec::new(),
            holds: Vec::new(),
            held: 0,
            passed_over: 0,
        }
    }
}

impl<Q> Branches<Q> {
    /// A new branch: of the join that another one is a member of, or of a new join that this branch polls.
    pub(super) fn fork(&mut self, parent: BranchId, beside: Option<BranchId>) -> BranchId {
        let join = beside.and_then(|beside| self.get(beside).join).unwrap_or_else(|| {
            let made_held = !self.observe_free(parent);
            self.joins.push(Join { parent, made_held, within: 0 });
            self.joins.len() - 1
        });
        self.members.push(Branch { join: Some(join), ..Branch::default() });
        BranchId(self.members.len())
    }

    /// Looks whether something besides a question may begin in a branch. A look changes something: a join that is seen
    /// free once is not held as a whole any more.
    pub(super) fn observe_free(&mut self, id: BranchId) -> bool {
        if self.held == 0 && self.joins.is_empty() {
            return true;
        }
        self.passed_over == 0 && self.get(id).below == 0 && !self.observe_held_from_above(id)
    }

    /// Looks whether a question was polled in the branch or in one that it is under, or its join is held as a whole.
    fn observe_held_from_above(&mut self, id: BranchId) -> bool {
        let Branch { join, own, .. } = *self.get(id);
        if own > 0 {
            return true;
        }
        let Some(join) = join else { return false };
        let Join { parent, made_held, within } = self.joins[join];
        if self.observe_held_from_above(parent) {
            return true;
        }
        // What its own members ask holds the branch around it, and not the join.
        let around = self.get(parent).below > within;
        self.joins[join].made_held = made_held && around;
        made_held && around
    }

    /// Takes note that a question was polled: from now on it holds this branch, those under it, and those above.
    pub(super) fn hold(&mut self, at: BranchId, question: Q) -> HoldId {
        self.count(at, |count| *count += 1);
        self.held += 1;
        self.holds.push(Some(Hold { question, first: at, more: Vec::new(), passed_over: None }));
        HoldId(self.holds.len() - 1)
    }

    /// Takes note that a question was polled again, maybe in another branch. False if it holds nothing any more.
    pub(super) fn polled(&mut self, HoldId(id): HoldId, at: BranchId) -> bool {
        let Some(hold) = &mut self.holds[id] else { return false };
        if hold.first != at && !hold.more.contains(&at) {
            hold.more.push(at);
            self.count(at, |count| *count += 1);
        }
        true
    }

    /// A question that holds something.
    pub(super) fn question_mut(&mut self, HoldId(id): HoldId) -> Option<&mut Q> {
        self.holds[id].as_mut().map(|hold| &mut hold.question)
    }

    /// The questions that hold something, in the order in which they were first polled.
    pub(super) fn questions(&self) -> impl Iterator<Item = &Q> {
        self.holds.iter().flatten().map(|hold| &hold.question)
    }

    pub(super) fn held_questions(&self) -> impl Iterator<Item = (HoldId, &Q)> {
        let holds = self.holds.iter().enumerate();
        holds.filter_map(|(id, hold)| Some((HoldId(id), &hold.as_ref()?.question)))
    }

    pub(super) fn holds(&self) -> Vec<HoldId> {
        let live = self.holds.iter().enumerate().filter(|(_, hold)| hold.is_some());
        live.map(|(id, _)| HoldId(id)).collect()
    }

    /// Whether no question holds anything, in whichever branch.
    pub(super) fn is_all_free(&self) -> bool {
        self.held == 0
    }

    /// A question was answered: it holds nothing any more.
    pub(super) fn release(&mut self, HoldId(id): HoldId) -> Option<Q> {
        let Hold { question, first, more, passed_over } = self.holds[id].take()?;
        for at in std::iter::once(first).chain(more) {
            self.count(at, |count| *count -= 1);
        }
        self.held -= 1;
        self.passed_over -= usize::from(passed_over.is_some());
        Some(question)
    }

    /// A question was dropped unanswered, in this branch: nothing begins any more, in whichever branch. False if it held
    /// nothing.
    pub(super) fn pass_over(&mut self, hold: HoldId, at: Option<BranchId>, how: PassedOver) -> bool {
        if let Some(at) = at {
            self.polled(hold, at);
        }
        let Some(hold) = &mut self.holds[hold.0] else { return false };
        if hold.passed_over.replace(how).is_none() {
            self.passed_over += 1;
        }
        true
    }

    /// The questions that were passed over.
    pub(super) fn passed_over(&self) -> impl Iterator<Item = (&Q, PassedOver)> {
        self.holds.iter().flatten().filter_map(|hold| Some((&hold.question, hold.passed_over?)))
    }

    /// A branch lost a race: what was polled in it and under it, and nowhere else, holds nothing any more, and is given
    /// back. What was passed over elsewhere stays so.
    pub(super) fn withdraw(&mut self, branch: BranchId) -> Vec<Q> {
        self.get_mut(branch).withdrawn = true;
        let mut withdrawn = Vec::new();
        for id in 0..self.holds.len() {
            let Some(Hold { first, more, .. }) = &self.holds[id] else { continue };
            let polled_in: Vec<_> = std::iter::once(*first).chain(more.iter().copied()).collect();
            let (gone, stay): (Vec<_>, Vec<_>) = polled_in.into_iter().partition(|at| self.is_withdrawn(*at));
            let [first, more @ ..] = &*stay else {
                withdrawn.extend(self.release(HoldId(id)));
                continue;
            };
            if let Some(hold) = &mut self.holds[id] {
                (hold.first, hold.more) = (*first, more.to_vec());
            }
            for at in gone {
                self.count(at, |count| *count -= 1);
            }
        }
        withdrawn
    }

    /// Whether a branch, or one that it is under, lost a race.
    pub(super) fn is_withdrawn(&self, id: BranchId) -> bool {
        self.up(id).any(|id| self.get(id).withdrawn)
    }

    /// The branch in which code of this one goes on: itself, or the one around it where it lost a race and is polled
    /// all the same.
    pub(super) fn living(&self, id: BranchId) -> BranchId {
        let lost = self.up(id).filter(|id| self.get(*id).withdrawn).last();
        lost.map_or(id, |lost| self.parent(lost).unwrap_or(BranchId::BODY))
    }

    /// A branch, and those that it is under.
    fn up(&self, id: BranchId) -> impl Iterator<Item = BranchId> {
        std::iter::successors(Some(id), |id| self.parent(*id))
    }

    fn parent(&self, id: BranchId) -> Option<BranchId> {
        self.get(id).join.map(|join| self.joins[join].parent)
    }

    /// Counts a question that was polled in a branch, there and on the way up.
    fn count(&mut self, at: BranchId, change: impl Fn(&mut usize)) {
        change(&mut self.get_mut(at).own);
        let mut next = self.get(at).join;
        while let Some(join) = next {
            let Join { parent, within, .. } = &mut self.joins[join];
            change(within);
            let parent = *parent;
            change(&mut self.get_mut(parent).below);
            next = self.get(parent).join;
        }
    }

    fn get(&self, BranchId(id): BranchId) -> &Branch {
        id.checked_sub(1).map_or(&self.body, |place| &self.members[place])
    }

    fn get_mut(&mut self, BranchId(id): BranchId) -> &mut Branch {
        match id.checked_sub(1) {
            Some(place) => &mut self.members[place],
            None => &mut self.body,
        }
    }
}

#[cfg(test)]
mod tests;
