-- Times are milliseconds since the Unix epoch, by the clock of this database.

-- What of a task does not change once it is there.
CREATE TABLE "{schema}".task (
    -- Grows with time, so that rows which are needed together lie together.
    place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL,
    -- A digest of the owner, of one short length: the indexes hold this.
    owner_key uuid NOT NULL,
    owner text NOT NULL,
    flow uuid NOT NULL,
    tool text NOT NULL,
    revision integer NOT NULL,
    created bigint NOT NULL,
    poll_interval bigint NOT NULL,
    retention bigint NOT NULL,
    CONSTRAINT task_id UNIQUE (id),
    CONSTRAINT task_flow UNIQUE (owner_key, flow)
);
CREATE INDEX task_by_owner ON "{schema}".task (owner_key, place);

-- What of a task changes with each of its verbs: small rows, apart, since each change writes the row anew.
CREATE TABLE "{schema}".state (
    place bigint PRIMARY KEY,
    -- Counts the changes of this row. A verb writes only if it stands where the verb has read it.
    version bigint NOT NULL,
    -- Which attempt wrote it last, so that one that lost its connection finds out whether it did.
    stamp bigint NOT NULL,
    -- Which of its owner's counters counts it.
    shard smallint NOT NULL,
    tool text NOT NULL,
    updated bigint NOT NULL,
    ttl bigint,
    fence bigint NOT NULL,
    leased_until bigint,
    due bigint,
    run_again boolean NOT NULL,
    progressed boolean NOT NULL,
    lost_runs integer NOT NULL,
    open text[] NOT NULL,
    ended_as text,
    ended bigint,
    -- The number of the last entry.
    last_entry bigint NOT NULL,
    -- These follow from the others, and are here to be searched. A task that waits for answers has no attention; one that
    -- has ended neither that nor an expiry; any other cannot be removed.
    attention bigint,
    expires bigint,
    removable bigint,
    CHECK ((ended_as IS NULL) = (ended IS NULL))
) WITH (
    -- Room on each page for the next version of a row; and dead versions go while they are few, for claiming reads past
    -- those that are left.
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);
CREATE INDEX state_by_attention ON "{schema}".state (tool, attention, place) WHERE attention IS NOT NULL;
CREATE INDEX state_by_expiry ON "{schema}".state (expires, place) WHERE expires IS NOT NULL;
CREATE INDEX state_by_removal ON "{schema}".state (removable, place) WHERE removable IS NOT NULL;

-- How many tasks an owner has that have not ended: the sum of its shards, so that those who create tasks of one owner at
-- once do not wait for each other's commits.
CREATE TABLE "{schema}".open_count (
    owner_key uuid NOT NULL,
    shard smallint NOT NULL,
    open bigint NOT NULL,
    PRIMARY KEY (owner_key, shard)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- What the flow of a task knows, in its order; before all of it, under 0, what was called.
CREATE TABLE "{schema}".entry (
    task bigint NOT NULL,
    number bigint NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (task, number)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
-- What is sealed does not become smaller.
ALTER TABLE "{schema}".entry ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE "{schema}".question (
    task bigint NOT NULL,
    key text NOT NULL,
    -- Null once it is not open any more: the key stays used.
    body bytea,
    PRIMARY KEY (task, key)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE "{schema}".question ALTER COLUMN body SET STORAGE EXTERNAL;

CREATE TABLE "{schema}".shown (
    task bigint PRIMARY KEY,
    message bytea,
    result bytea
);
ALTER TABLE "{schema}".shown ALTER COLUMN message SET STORAGE EXTERNAL;
ALTER TABLE "{schema}".shown ALTER COLUMN result SET STORAGE EXTERNAL;

-- Which tasks changed lately, by the transactions that changed them. Those who listen compare two snapshots, so none is
-- left out in whatever order transactions commit.
CREATE TABLE "{schema}".change (
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    task uuid NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX change_by_xid ON "{schema}".change (xid);

-- Since when tokens are remembered, and the latest issue and the latest end among all that were ever purged.
CREATE TABLE "{schema}".memory (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    since bigint NOT NULL,
    purged_issued bigint NOT NULL DEFAULT 0,
    purged_end bigint NOT NULL DEFAULT 0
);

CREATE SEQUENCE "{schema}".reservation_fence;

CREATE TABLE "{schema}".redemption (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    issued bigint NOT NULL,
    key bytea NOT NULL,
    answers bytea NOT NULL,
    keep_until bigint NOT NULL,
    -- Of the round that has it, or had it last.
    fence bigint NOT NULL,
    -- Which attempt reserved it, so that one that lost its connection finds out whether it did.
    holder bigint NOT NULL,
    -- Null once it was committed or released.
    lapses bigint,
    -- How many marks and records came, and the latest number among those of this fence.
    steps bigint NOT NULL DEFAULT 0,
    stamp bigint NOT NULL DEFAULT 0,
    -- Null until it was committed.
    reply bytea,
    -- Keys are random, and an index on them alone would be written all over.
    CONSTRAINT redemption_token UNIQUE (issued, key),
    CONSTRAINT redemption_fence UNIQUE (fence),
    CHECK (lapses IS NULL OR reply IS NULL)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
ALTER TABLE "{schema}".redemption ALTER COLUMN reply SET STORAGE EXTERNAL;
CREATE INDEX redemption_by_end ON "{schema}".redemption (keep_until);

CREATE TABLE "{schema}".step (
    redemption bigint NOT NULL,
    name text NOT NULL,
    -- Grows in the order in which the steps of a redemption started.
    number bigint GENERATED ALWAYS AS IDENTITY,
    -- Of the verb that wrote it last: an earlier one that comes later changes nothing.
    fence bigint NOT NULL,
    stamp bigint NOT NULL,
    -- Null until it was recorded.
    outcome bytea,
    PRIMARY KEY (redemption, name)
);
ALTER TABLE "{schema}".step ALTER COLUMN outcome SET STORAGE EXTERNAL;
