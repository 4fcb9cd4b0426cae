-- Instances of the version before may go on meanwhile: they do not write these columns.
ALTER TABLE "{schema}".state
    -- That of the task, by which owners have their turns; zeros until an instance of this version has written the row.
    ADD COLUMN owner_key uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    -- What the task keeps, and how much of that is in the sums.
    ADD COLUMN bytes bigint NOT NULL DEFAULT 0,
    ADD COLUMN counted bigint NOT NULL DEFAULT 0;
-- With the end of their time in both, none is read from the table for being over, and neither seems cheaper than the one
-- that has the order which is wanted.
DROP INDEX "{schema}".state_by_attention;
CREATE INDEX state_by_attention ON "{schema}".state (tool, attention, place) INCLUDE (expires)
    WHERE attention IS NOT NULL;
CREATE INDEX state_by_turn ON "{schema}".state (tool, owner_key, attention, place) INCLUDE (expires)
    WHERE attention IS NOT NULL;
CREATE INDEX state_by_owner_expiry ON "{schema}".state (owner_key, expires) WHERE expires IS NOT NULL;

-- What the tasks of an owner keep: the sum of its shards. Under zeros, what all keep, in shards by who writes.
CREATE TABLE "{schema}".kept_bytes (
    owner_key uuid NOT NULL,
    shard smallint NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (owner_key, shard)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- Takes what was counted of removed tasks from the sums, whichever version removes them.
CREATE FUNCTION "{schema}".uncount_bytes() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    UPDATE "{schema}".kept_bytes AS kept SET bytes = kept.bytes - gone.bytes
        FROM (SELECT owner_key, shard, sum(counted)::bigint AS bytes FROM removed WHERE counted <> 0
            GROUP BY owner_key, shard ORDER BY owner_key, shard) AS gone
        WHERE kept.owner_key = gone.owner_key AND kept.shard = gone.shard;
    DELETE FROM "{schema}".kept_bytes AS kept USING (SELECT DISTINCT owner_key, shard FROM removed) AS gone
        WHERE kept.owner_key = gone.owner_key AND kept.shard = gone.shard AND kept.bytes = 0;
    INSERT INTO "{schema}".kept_bytes AS kept (owner_key, shard, bytes)
        SELECT '00000000-0000-0000-0000-000000000000', pg_backend_pid() % 128, -sum(counted)::bigint FROM removed
        HAVING sum(counted) <> 0
        ON CONFLICT (owner_key, shard) DO UPDATE SET bytes = kept.bytes + excluded.bytes;
    RETURN NULL;
END
$body$;
CREATE TRIGGER uncount_bytes AFTER DELETE ON "{schema}".state REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION "{schema}".uncount_bytes();
