//! The branches of a run, and which of them are held by an open question.

/// A branch of a run: the handler's body, or a member of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BranchId(usize);

impl BranchId {
    /// The handler's body.
    pub(super) const BODY: Self = Self(0);
}

/// The branches of a run, each under the one that made it.
#[derive(Debug, Default)]
pub(super) struct Branches {
    body: Branch,
    /// Most handlers join nothing, and have no others.
    members: Vec<Branch>,
}

#[derive(Debug, Default)]
struct Branch {
    /// The branch that made the join; the body has none.
    parent: Option<BranchId>,
    /// How many questions are open in it and in the branches under it.
    open: usize,
    /// Whether the branch that made its join was held already, so that nothing but questions begins here.
    made_held: bool,
    /// Whether it lost a race: what it asked is asked no more.
    withdrawn: bool,
}

impl Branches {
    /// A new branch under another one.
    pub(super) fn fork(&mut self, parent: BranchId) -> BranchId {
        let made_held = self.is_held(parent);
        self.members.push(Branch { parent: Some(parent), open: 0, made_held, withdrawn: false });
        BranchId(self.members.len())
    }

    /// Whether nothing but a question may begin in a branch.
    pub(super) fn is_held(&self, id: BranchId) -> bool {
        let branch = self.get(id);
        branch.open > 0 || branch.made_held
    }

    /// Takes note that a question was opened in a branch: it holds that one, and all that it is under.
    pub(super) fn opened(&mut self, id: BranchId) {
        self.for_each_up(id, |branch| branch.open += 1);
    }

    /// Takes note that a question in a branch is asked no more.
    pub(super) fn closed(&mut self, id: BranchId) {
        self.for_each_up(id, |branch| branch.open -= 1);
    }

    pub(super) fn withdraw(&mut self, id: BranchId) {
        self.get_mut(id).withdrawn = true;
    }

    /// Whether a branch, or one that it is under, lost a race.
    pub(super) fn is_withdrawn(&self, id: BranchId) -> bool {
        std::iter::successors(Some(id), |id| self.get(*id).parent).any(|id| self.get(id).withdrawn)
    }

    /// The branch in which code of this one goes on: itself, or the one around it where it lost a race and is polled
    /// all the same.
    pub(super) fn living(&self, id: BranchId) -> BranchId {
        let up = std::iter::successors(Some(id), |id| self.get(*id).parent);
        let lost = up.filter(|id| self.get(*id).withdrawn).last();
        lost.map_or(id, |lost| self.get(lost).parent.unwrap_or(BranchId::BODY))
    }

    fn for_each_up(&mut self, from: BranchId, change: impl Fn(&mut Branch)) {
        let mut next = Some(from);
        while let Some(id) = next {
            let branch = self.get_mut(id);
            change(branch);
            next = branch.parent;
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
