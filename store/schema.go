package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// application marks the database as a gbroker journal ("gbrk").
const application = 0x6762726b

// migration takes the schema from the version before it to its own, which is its
// place in the list, counted from 1. What was released is never changed.
type migration struct {
	what  string
	apply func(context.Context, *sql.Conn) error
}

var migrations = []migration{
	{"the first schema", statements(schema1)},
	{"a checksum for each line", statements(migrateSums)},
	{"lives of journals", statements(schema3)},
	{"the jobs of a user", statements(`CREATE INDEX job_user ON job (user, id)`)},
	{"kinds of refusals", migrateRefusals},
	{"one table for all entities, and one for decisions", migrateEntities},
}

func statements(text string) func(context.Context, *sql.Conn) error {
	return func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, text)
		return err
	}
}

const schema1 = `
CREATE TABLE journal (
	one         INTEGER PRIMARY KEY CHECK (one = 1),
	incarnation TEXT    NOT NULL, -- 16 hexadecimal digits
	sequence    INTEGER NOT NULL
);
CREATE TABLE job (
	id        TEXT    NOT NULL PRIMARY KEY,
	home      TEXT    NOT NULL, -- peer ID
	user      TEXT    NOT NULL, -- name at home
	state     TEXT    NOT NULL,
	standing  TEXT    NOT NULL, -- what this broker is to the job
	submitted INTEGER NOT NULL,
	ended     INTEGER NOT NULL,
	record    TEXT    NOT NULL  -- JSON
);
CREATE TABLE document (
	id  TEXT NOT NULL PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
	job TEXT NOT NULL -- JSON
);
CREATE TABLE event (
	job   TEXT    NOT NULL REFERENCES job (id) ON DELETE CASCADE,
	seq   INTEGER NOT NULL,
	at    INTEGER NOT NULL,
	state TEXT    NOT NULL,
	site  TEXT    NOT NULL,
	term  INTEGER NOT NULL,
	hop   INTEGER NOT NULL,
	why   TEXT    NOT NULL,
	PRIMARY KEY (job, seq)
) WITHOUT ROWID;
CREATE INDEX event_at ON event (at);
CREATE TRIGGER event_stays BEFORE UPDATE ON event
	BEGIN SELECT RAISE (ABORT, 'history is append only'); END;
CREATE TABLE peer (
	number      INTEGER PRIMARY KEY, -- in the order in which they were first seen
	peer        TEXT    NOT NULL,
	incarnation TEXT    NOT NULL,
	sequence    TEXT    NOT NULL, -- 16 hexadecimal digits: any 64 bits, in order
	UNIQUE (peer, incarnation)
);
CREATE TABLE site (
	one   INTEGER PRIMARY KEY CHECK (one = 1),
	state TEXT    NOT NULL -- JSON
);
CREATE VIEW jobs AS SELECT id, state, standing, user,
	record ->> 'Owner' AS owner,
	CASE submitted WHEN 0 THEN NULL ELSE strftime('%Y-%m-%dT%H:%M:%fZ', submitted / 1000.0, 'unixepoch') END AS submitted,
	CASE ended WHEN 0 THEN NULL ELSE strftime('%Y-%m-%dT%H:%M:%fZ', ended / 1000.0, 'unixepoch') END AS ended,
	record ->> 'Reason' AS reason
	FROM job;
CREATE VIEW history AS SELECT job, seq,
	strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS at,
	state, site, term || '.' || hop AS epoch, why
	FROM event;
`

// schema3 tells branches of one journal apart by the lives in which they grew.
const schema3 = `
CREATE TABLE life (
	number INTEGER PRIMARY KEY, -- in the order of the starts
	life   TEXT    NOT NULL, -- 16 hexadecimal digits
	first  INTEGER NOT NULL, -- the sequence when it began
	sum    INTEGER NOT NULL
);
ALTER TABLE peer RENAME TO peer1;
CREATE TABLE peer (
	number      INTEGER PRIMARY KEY, -- in the order in which they were first seen
	peer        TEXT    NOT NULL,
	incarnation TEXT    NOT NULL,
	life        TEXT    NOT NULL, -- 16 hexadecimal digits; all zero: of a broker that has none
	sequence    TEXT    NOT NULL, -- 16 hexadecimal digits: any 64 bits, in order
	sum         INTEGER NOT NULL,
	UNIQUE (peer, incarnation, life)
);
INSERT INTO peer SELECT number, peer, incarnation, '0000000000000000', sequence,
	checksum('peer', number, peer, incarnation, '0000000000000000', sequence) FROM peer1 ORDER BY number;
DROP TABLE peer1;
UPDATE site SET state = json_remove(state, '$.WentBack');
UPDATE site SET sum = checksum('site', state);
`

// migrate brings the schema to the version of list, one transaction each, and
// makes the journal's identity the first time.
func (j *Journal) migrate(ctx context.Context, list []migration) error {
	version, err := j.version(ctx)
	switch {
	case err != nil:
		return err
	case version > len(list):
		return fmt.Errorf("%w: %s has schema version %d, this gbroker knows versions up to %d: install the newer gbroker again, or put back the copy made before (%s.v%d)",
			ErrNewer, j.file, version, len(list), j.file, len(list))
	case version > 0 && version < len(list):
		if err := j.keep(ctx, version); err != nil {
			return err
		}
	}
	for ; version < len(list); version++ {
		if err := j.step(ctx, version+1, list[version]); err != nil {
			return fmt.Errorf("migrate %s to schema version %d (%s): %w", j.file, version+1, list[version].what, err)
		}
	}
	return nil
}

// version is the schema's; 0 for a database that is still empty.
func (j *Journal) version(ctx context.Context) (int, error) {
	var version, id, tables int
	row := j.conn.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)`)
	if err := row.Scan(&version, &id, &tables); err != nil {
		return 0, fmt.Errorf("read the schema version: %w", err)
	}
	if id != application && (tables > 0 || version != 0) {
		return 0, fmt.Errorf("%w: %s: set data to another folder", ErrForeign, j.file)
	}
	if version < 0 {
		return 0, corrupt(j.file, errors.New("its schema version is negative"))
	}
	return version, nil
}

// keep copies the database before its schema leaves version.
func (j *Journal) keep(ctx context.Context, version int) error {
	name := fmt.Sprintf("%s.v%d", j.file, version)
	err := os.Remove(name)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		_, err = j.conn.ExecContext(ctx, `VACUUM INTO ?`, name)
	}
	if err == nil {
		err = os.Chmod(name, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep a copy of schema version %d: %w", version, err)
	}
	return nil
}

func (j *Journal) step(ctx context.Context, version int, m migration) error {
	return j.transaction(ctx, func() error {
		if err := m.apply(ctx, j.conn); err != nil {
			return err
		}
		if version == 1 {
			if err := j.found(ctx); err != nil {
				return err
			}
		}
		_, err := j.conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, version))
		return err
	})
}

// found gives a new journal its identity.
func (j *Journal) found(ctx context.Context) error {
	var incarnation [8]byte
	if _, err := rand.Read(incarnation[:]); err != nil {
		return fmt.Errorf("make an incarnation: %w", err)
	}
	if _, err := j.conn.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, application)); err != nil {
		return err
	}
	_, err := j.conn.ExecContext(ctx, `INSERT INTO journal (one, incarnation, sequence) VALUES (1, ?, 0)`, fmt.Sprintf("%x", incarnation))
	return err
}

// transaction runs do on the writer's connection, all or nothing.
func (j *Journal) transaction(ctx context.Context, do func() error) error {
	if _, err := j.conn.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	err := do()
	if err == nil {
		_, err = j.conn.ExecContext(ctx, `COMMIT`)
	}
	if err == nil {
		return nil
	}
	// SQLite has rolled back by itself after some errors; the answer then is no news.
	_, _ = j.conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`)
	return err
}
