package store

import (
	"context"
	"database/sql"
	"fmt"
)

// migrateEntities gives every line a new checksum, so each has to fit its old one.
func migrateEntities(ctx context.Context, conn *sql.Conn) error {
	for _, t := range []struct{ table, sum string }{{"job", sumOfJob5}, {"document", sumOfDocument5}, {"event", sumOfEvent5}, {"site", sumOfSite5}} {
		var damaged int
		if err := conn.QueryRowContext(ctx, `SELECT count(*) FROM `+t.table+` WHERE sum <> `+t.sum).Scan(&damaged); err != nil {
			return err
		}
		if damaged > 0 {
			return fmt.Errorf("%w: %d lines of the table %s: %w: put a backup in its place", ErrCorrupt, damaged, t.table, errSum)
		}
	}
	var apart int
	err := conn.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM job NOT INDEXED) - (SELECT count(*) FROM job JOIN document ON document.id = job.id)`).Scan(&apart)
	if err == nil && apart != 0 {
		err = fmt.Errorf("%w: records and documents do not belong together: put a backup in its place", ErrCorrupt)
	}
	if err != nil {
		return err
	}
	return statements(schema6)(ctx, conn)
}

// schema6 has one table for the records of all kinds of entities, and one for what was decided
// of them, which until then was written again with each save of a record.
const schema6 = `
CREATE TABLE entity (
	kind   TEXT    NOT NULL, -- job, site
	key    TEXT    NOT NULL, -- what it is called among those of its kind
	user   TEXT    NOT NULL, -- whose it is: the name at its home; '' of nobody's
	state  TEXT    NOT NULL,
	record TEXT    NOT NULL, -- JSON
	sum    INTEGER NOT NULL,
	PRIMARY KEY (kind, key)
);
CREATE INDEX entity_user ON entity (kind, user, key);
INSERT INTO entity SELECT 'job', id, user, state, text, checksum('entity', 'job', id, user, state, text)
	FROM (SELECT id, user, state, json_remove(record, '$.Decisions', '$.Stay') AS text FROM job) ORDER BY id;
INSERT INTO entity SELECT 'site', '', '', '', state, checksum('entity', 'site', '', '', '', state) FROM site;

CREATE TABLE document6 (
	kind TEXT    NOT NULL,
	key  TEXT    NOT NULL,
	text TEXT    NOT NULL, -- JSON
	sum  INTEGER NOT NULL,
	PRIMARY KEY (kind, key),
	FOREIGN KEY (kind, key) REFERENCES entity ON DELETE CASCADE
);
INSERT INTO document6 SELECT 'job', id, job, checksum('document', 'job', id, job) FROM document ORDER BY id;

CREATE TABLE event6 (
	kind  TEXT    NOT NULL,
	key   TEXT    NOT NULL,
	seq   INTEGER NOT NULL,
	at    INTEGER NOT NULL,
	state TEXT    NOT NULL, -- of a job; '' of another
	site  TEXT    NOT NULL,
	term  INTEGER NOT NULL,
	hop   INTEGER NOT NULL,
	why   TEXT    NOT NULL,
	sum   INTEGER NOT NULL,
	PRIMARY KEY (kind, key, seq),
	FOREIGN KEY (kind, key) REFERENCES entity ON DELETE CASCADE
) WITHOUT ROWID;
INSERT INTO event6 SELECT 'job', job, seq, at, state, site, term, hop, why,
	checksum('event', 'job', job, seq, at, state, site, term, hop, why) FROM event ORDER BY job, seq;

CREATE TABLE decision (
	kind     TEXT    NOT NULL,
	key      TEXT    NOT NULL,
	seq      INTEGER NOT NULL,
	stays    INTEGER NOT NULL, -- 1: it left the job where it waits, and goes when another follows
	decision TEXT    NOT NULL, -- JSON
	sum      INTEGER NOT NULL,
	PRIMARY KEY (kind, key, seq),
	FOREIGN KEY (kind, key) REFERENCES entity ON DELETE CASCADE
);
INSERT INTO decision SELECT 'job', id, seq, stays, text, checksum('decision', 'job', id, seq, stays, text) FROM (
	SELECT job.id AS id, d.key + 1 AS seq, 0 AS stays, d.value AS text FROM job, json_each(record, '$.Decisions') AS d WHERE d.key IS NOT NULL
	UNION ALL
	SELECT job.id, coalesce(json_array_length(record, '$.Decisions'), 0) + 1, 1,
		json_set(record -> '$.Stay.Decision', '$.Stays', record ->> '$.Stay.Why')
		FROM job WHERE record ->> '$.Stay' IS NOT NULL
) ORDER BY id, seq;

DROP VIEW jobs;
DROP VIEW history;
DROP TABLE event;
DROP TABLE document;
DROP TABLE job;
DROP TABLE site;
ALTER TABLE document6 RENAME TO document;
ALTER TABLE event6 RENAME TO event;
CREATE TRIGGER event_stays BEFORE UPDATE ON event
	BEGIN SELECT RAISE (ABORT, 'history is append only'); END;
CREATE TRIGGER decision_stays BEFORE UPDATE ON decision
	BEGIN SELECT RAISE (ABORT, 'decisions are append only'); END;
CREATE VIEW jobs AS SELECT key AS id, state,
	CASE record ->> 'Standing' WHEN 1 THEN 'owning' WHEN 2 THEN 'watching' WHEN 3 THEN 'prepared' WHEN 4 THEN 'tombstone' WHEN 5 THEN 'declined' END AS role,
	user, record ->> 'Owner' AS owner,
	CASE record ->> 'Submitted' WHEN 0 THEN NULL ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (record ->> 'Submitted') / 1000.0, 'unixepoch') END AS submitted,
	CASE record ->> 'Ended' WHEN 0 THEN NULL ELSE strftime('%Y-%m-%dT%H:%M:%fZ', (record ->> 'Ended') / 1000.0, 'unixepoch') END AS ended,
	record ->> 'Reason' AS reason
	FROM entity WHERE kind = 'job';
CREATE VIEW history AS SELECT kind, key, seq,
	strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS at,
	state, site, term || '.' || hop AS epoch, why
	FROM event;
`
