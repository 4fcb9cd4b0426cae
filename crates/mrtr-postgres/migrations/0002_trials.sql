-- Instances of the version before may go on meanwhile: they do not write these columns.
ALTER TABLE "{schema}".state
    ADD COLUMN counted_losses integer NOT NULL DEFAULT 0,
    -- The fence of the run that was alone: one that another instance has acquired since is not.
    ADD COLUMN alone_fence bigint,
    ADD COLUMN reserved_until bigint,
    ADD COLUMN set_aside bigint,
    -- As attention, of a task on trial, which has no attention.
    ADD COLUMN trial bigint;
CREATE INDEX state_by_trial ON "{schema}".state (tool, trial, place) WHERE trial IS NOT NULL;
CREATE INDEX state_by_reservation ON "{schema}".state (reserved_until) WHERE reserved_until IS NOT NULL;
