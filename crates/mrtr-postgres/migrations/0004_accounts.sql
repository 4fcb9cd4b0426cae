-- Instances of the version before may go on meanwhile: a task that they add counts in its owner's account.
ALTER TABLE "{schema}".task
    -- The account in which the task counts, if it is not its owner's.
    ADD COLUMN account text;
-- Recounts the open tasks of such an account: those that an instance of the version before ends, it counts elsewhere.
CREATE INDEX task_by_account ON "{schema}".task (account) WHERE account IS NOT NULL;
COMMENT ON COLUMN "{schema}".state.owner_key IS 'The account in which the task counts, by which turns are given';
COMMENT ON COLUMN "{schema}".open_count.owner_key IS 'An account';
COMMENT ON COLUMN "{schema}".kept_bytes.owner_key IS 'An account';
