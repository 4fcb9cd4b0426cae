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

/// The id of a question that is polled, from its first poll until it is answered or withdrawn. No id is used twice in
/// a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HoldId(usize);

/// The reason for which an unanswered question was dropped.
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
    /// The questions, by their ids; those that hold nothing any more have left their place empty.
    holds: Vec<Option<Hold<Q>>>,
    /// The number of questions that hold something. `passed_over` counts those of them that were passed over.
    held: usize,
    passed_over: usize,
}

#[derive(Debug, Default)]
struct Branch {
    /// The join that it is a member of; the body has none.
    join: Option<usize>,
    /// The number of questions that were polled in it. `below` counts those in the branches under it.
    own: usize,
    below: usize,
    /// True if it lost a race: its questions are asked no more.
    withdrawn: bool,
}

#[derive(Debug)]
struct Join {
    /// The branch that polled it first.
    parent: BranchId,
    /// True if that branch was held then, and has not been seen free since.
    made_held: bool,
    /// The number of questions that were polled in its members and under them.
    within: usize,
}

#[derive(Debug)]
struct Hold<Q> {
    question: Q,
    /// The branches in which it was polled, each once: this one and those in `more`.
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
    /// Makes a new branch: beside another member of a join, or in a new join that the parent polls.
    pub(super) fn fork(&mut self, parent: BranchId, beside: Option<BranchId>) -> BranchId {
        let join = beside.and_then(|beside| self.get(beside).join).unwrap_or_else(|| {
            let made_held = !self.observe_free(parent);
            self.joins.push(Join { parent, made_held, within: 0 });
            self.joins.len() - 1
        });
        self.members.push(Branch { join: Some(join), ..Branch::default() });
        BranchId(self.members.len())
    }

    /// Returns true if something besides a question may begin in a branch. The call has an effect: a join that it finds
    /// free once is no longer held as a whole.
    pub(super) fn observe_free(&mut self, id: BranchId) -> bool {
        if self.held == 0 && self.joins.is_empty() {
            return true;
        }
        self.passed_over == 0 && self.get(id).below == 0 && !self.observe_held_from_above(id)
    }

    /// Returns true if a question was polled in the branch or in one that it is under, or if its join is held as a
    /// whole.
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
        // The questions of its own members hold the branch around it, and not the join.
        let around = self.get(parent).below > within;
        self.joins[join].made_held = made_held && around;
        made_held && around
    }

    /// Notes that a question was polled: from now on it holds this branch, those under it, and those above.
    pub(super) fn hold(&mut self, at: BranchId, question: Q) -> HoldId {
        self.count(at, |count| *count += 1);
        self.held += 1;
        self.holds.push(Some(Hold { question, first: at, more: Vec::new(), passed_over: None }));
        HoldId(self.holds.len() - 1)
    }

    /// Notes that a question was polled again, maybe in another branch. Returns false if it holds nothing any more.
    pub(super) fn polled(&mut self, HoldId(id): HoldId, at: BranchId) -> bool {
        let Some(hold) = &mut self.holds[id] else { return false };
        if hold.first != at && !hold.more.contains(&at) {
            hold.more.push(at);
            self.count(at, |count| *count += 1);
        }
        true
    }

    /// Returns a question, if it still holds something.
    pub(super) fn question_mut(&mut self, HoldId(id): HoldId) -> Option<&mut Q> {
        self.holds[id].as_mut().map(|hold| &mut hold.question)
    }

    /// Returns the questions that hold something, in the order in which they were first polled.
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

    /// Returns true if no question holds anything in any branch.
    pub(super) fn is_all_free(&self) -> bool {
        self.held == 0
    }

    /// Notes that a question was answered: it holds nothing any more.
    pub(super) fn release(&mut self, HoldId(id): HoldId) -> Option<Q> {
        let Hold { question, first, more, passed_over } = self.holds[id].take()?;
        for at in std::iter::once(first).chain(more) {
            self.count(at, |count| *count -= 1);
        }
        self.held -= 1;
        self.passed_over -= usize::from(passed_over.is_some());
        Some(question)
    }

    /// Notes that the handler dropped an unanswered question in this branch: then nothing begins any more, in any
    /// branch. Returns false if the question held nothing.
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

    /// Returns the questions that were passed over.
    pub(super) fn passed_over(&self) -> impl Iterator<Item = (&Q, PassedOver)> {
        self.holds.iter().flatten().filter_map(|hold| Some((&hold.question, hold.passed_over?)))
    }

    /// Notes that a branch lost a race: the questions that were polled only in it or under it hold nothing any more,
    /// and are returned. A question that was passed over elsewhere stays passed over.
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

    /// Returns true if the branch, or one that it is under, lost a race.
    pub(super) fn is_withdrawn(&self, id: BranchId) -> bool {
        self.up(id).any(|id| self.get(id).withdrawn)
    }

    /// Returns the branch in which code of this one continues: itself, or the one around it if it lost a race and is
    /// still polled.
    pub(super) fn living(&self, id: BranchId) -> BranchId {
        let lost = self.up(id).filter(|id| self.get(*id).withdrawn).last();
        lost.map_or(id, |lost| self.parent(lost).unwrap_or(BranchId::BODY))
    }

    /// Returns a branch, and those that it is under.
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
mod tests {
    //! The branches of a run against the rule that they follow, in its plainest form.

    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Something that happens in a run. Numbers choose among what there is.
    #[derive(Debug, Clone)]
    enum Event {
        /// A join of this many members is polled for the first time.
        Join(usize, u8),
        /// A question is polled for the first time, or again.
        Ask(usize),
        Poll(usize, usize),
        Answer(usize),
        Drop(usize),
        Lose(usize),
        /// Something is about to begin, which is what the model is for.
        Look(usize),
    }

    fn any_event() -> impl Strategy<Value = Event> {
        let any = || any::<usize>();
        prop_oneof![
            3 => (any(), 1..4_u8).prop_map(|(branch, members)| Event::Join(branch, members)),
            3 => any().prop_map(Event::Ask),
            3 => (any(), any()).prop_map(|(question, branch)| Event::Poll(question, branch)),
            3 => any().prop_map(Event::Answer),
            1 => any().prop_map(Event::Drop),
            2 => any().prop_map(Event::Lose),
            3 => any().prop_map(Event::Look),
        ]
    }

    /// The rule, in sets. Branches are numbered as in the model.
    #[derive(Default)]
    struct Rule {
        parents: Vec<usize>,
        joins: Vec<usize>,
        made_held: Vec<bool>,
        lost: BTreeSet<usize>,
        questions: Vec<Question>,
    }

    #[derive(Default)]
    struct Question {
        polled_in: BTreeSet<usize>,
        dropped: bool,
        over: bool,
    }

    impl Rule {
        fn parent(&self, branch: usize) -> Option<usize> {
            branch.checked_sub(1).map(|place| self.parents[place])
        }

        fn is_under(&self, branch: usize, above: usize) -> bool {
            branch == above || self.parent(branch).is_some_and(|parent| self.is_under(parent, above))
        }

        fn holding(&self) -> impl Iterator<Item = usize> {
            self.questions
                .iter()
                .filter(|question| !question.over)
                .flat_map(|question| question.polled_in.iter().copied())
        }

        /// A branch is held by a question polled in it, above it or under it; by any question that was dropped; or with
        /// its whole join, for as long as other questions than those of its members hold the branch around the join.
        fn observe_held(&mut self, branch: usize) -> bool {
            let dropped = self.questions.iter().any(|question| question.dropped && !question.over);
            dropped || self.holding().any(|at| self.is_under(at, branch)) || self.observe_held_from_above(branch)
        }

        fn observe_held_from_above(&mut self, branch: usize) -> bool {
            if self.holding().any(|at| self.is_under(branch, at)) {
                return true;
            }
            let Some(parent) = self.parent(branch) else { return false };
            if self.observe_held_from_above(parent) {
                return true;
            }
            let join = self.joins[branch - 1];
            let is_of_join = |at: usize| {
                (1..=self.joins.len()).any(|member| self.joins[member - 1] == join && self.is_under(at, member))
            };
            let around = self.holding().any(|at| self.is_under(at, parent) && !is_of_join(at));
            self.made_held[join] &= around;
            self.made_held[join]
        }

        fn living(&self, branch: usize) -> usize {
            let lost = (0..=self.parents.len()).find(|lost| self.lost.contains(lost) && self.is_under(branch, *lost));
            lost.map_or(branch, |lost| self.living(self.parent(lost).unwrap_or(0)))
        }
    }

    /// The rule and the model, side by side.
    #[derive(Default)]
    struct Both {
        rule: Rule,
        model: Branches<usize>,
        holds: Vec<HoldId>,
    }

    impl Both {
        fn branch(&self, chosen: usize) -> usize {
            self.rule.living(chosen % (self.rule.parents.len() + 1))
        }

        fn question(&self, chosen: usize) -> Option<usize> {
            (!self.holds.is_empty()).then(|| chosen % self.holds.len())
        }

        fn happen(&mut self, event: &Event) {
            match *event {
                Event::Join(branch, members) => self.join(self.branch(branch), members),
                Event::Ask(branch) => {
                    let at = self.branch(branch);
                    self.rule.questions.push(Question { polled_in: [at].into(), ..Question::default() });
                    self.holds.push(self.model.hold(BranchId(at), self.holds.len()));
                }
                Event::Poll(question, branch) => {
                    let Some(question) = self.question(question) else { return };
                    let at = self.branch(branch);
                    self.rule.questions[question].polled_in.insert(at);
                    assert_eq!(
                        self.model.polled(self.holds[question], BranchId(at)),
                        !self.rule.questions[question].over
                    );
                }
                Event::Answer(question) => {
                    let Some(question) = self.question(question) else { return };
                    let was_over = std::mem::replace(&mut self.rule.questions[question].over, true);
                    let released = self.model.release(self.holds[question]);
                    assert_eq!(released, (!was_over).then_some(question));
                }
                Event::Drop(question) => {
                    let Some(question) = self.question(question) else { return };
                    self.rule.questions[question].dropped = true;
                    let holds = self.model.pass_over(self.holds[question], None, PassedOver::ByHandler);
                    assert_eq!(holds, !self.rule.questions[question].over);
                }
                Event::Lose(branch) => self.lose(self.branch(branch)),
                Event::Look(branch) => {
                    let at = self.branch(branch);
                    assert_eq!(self.model.observe_free(BranchId(at)), !self.rule.observe_held(at), "branch {at}");
                }
            }
        }

        fn join(&mut self, parent: usize, members: u8) {
            let (join, held) = (self.rule.made_held.len(), self.rule.observe_held(parent));
            self.rule.made_held.push(held);
            let mut first = None;
            for _ in 0..members {
                let branch = self.model.fork(BranchId(parent), first);
                self.rule.parents.push(parent);
                self.rule.joins.push(join);
                assert_eq!(branch, BranchId(self.rule.parents.len()));
                first.get_or_insert(branch);
            }
        }

        /// Takes back what was polled in a branch or under it, and nowhere else.
        fn lose(&mut self, branch: usize) {
            if branch == 0 {
                return;
            }
            self.rule.lost.insert(branch);
            let mut taken_back = Vec::new();
            for number in 0..self.rule.questions.len() {
                let polled_in = self.rule.questions[number].polled_in.clone();
                let stay: BTreeSet<_> = polled_in.into_iter().filter(|at| !self.rule.is_under(*at, branch)).collect();
                let question = &mut self.rule.questions[number];
                if stay.is_empty() && !question.over {
                    question.over = true;
                    taken_back.push(number);
                }
                question.polled_in = stay;
            }
            assert_eq!(self.model.withdraw(BranchId(branch)), taken_back);
        }
    }

    proptest! {
        #[test]
        fn what_may_begin_follows_from_who_polled_what(events in prop::collection::vec(any_event(), 0..60)) {
            let mut both = Both::default();
            for event in &events {
                both.happen(event);
            }
            for branch in 0..=both.rule.parents.len() {
                both.happen(&Event::Look(branch));
            }
        }
    }

    #[test]
    fn members_of_one_join_do_not_hold_each_other_and_what_is_around_them_waits() {
        let mut branches = Branches::default();
        let one = branches.fork(BranchId::BODY, None);
        let two = branches.fork(BranchId::BODY, Some(one));
        let question = branches.hold(one, ());
        assert_eq!([BranchId::BODY, one, two].map(|branch| branches.observe_free(branch)), [false, false, true]);
        let later = branches.fork(BranchId::BODY, None);
        assert!(!branches.observe_free(later), "a join that is first polled in a held branch is held");
        branches.release(question);
        assert!(branches.observe_free(later));
    }
}
