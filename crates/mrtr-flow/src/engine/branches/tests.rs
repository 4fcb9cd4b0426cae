//! The branches of a run against the rule that they follow, in its plainest form.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Something that happens in a run. Numbers choose among what there is.
#[derive(Debug, Clone)]
enum Event {
    /// A join of so many members is polled for the first time.
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
        self.questions.iter().filter(|question| !question.over).flat_map(|question| question.polled_in.iter().copied())
    }

    /// Held by a question polled in it, above it or under it; by any that was dropped; or with its whole join, for as
    /// long as the branch around that is held by others than its members.
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
                assert_eq!(self.model.polled(self.holds[question], BranchId(at)), !self.rule.questions[question].over);
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
