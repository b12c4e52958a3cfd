package store

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"modernc.org/sqlite"
)

// Each line of the database has a checksum of its own: CRC-32C over the name of its table
// and all of its other columns, each with its type and length. SQLite keeps none, so that a
// bit which a disk or memory has turned would be read as it is: another peer ID, another
// state. The function checksum reckons it, also in the statements that write.

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// registered makes the function known to the connections that are opened afterwards.
var registered = sync.OnceValue(func() error {
	return sqlite.RegisterDeterministicScalarFunction("checksum", -1, func(_ *sqlite.FunctionContext, values []driver.Value) (driver.Value, error) {
		sum, err := checksum(values)
		return int64(sum), err
	})
})

func checksum(values []driver.Value) (sum uint32, err error) {
	var head [9]byte
	add := func(kind byte, number uint64, content string) {
		head[0] = kind
		binary.BigEndian.PutUint64(head[1:], number)
		sum = crc32.Update(crc32.Update(sum, castagnoli, head[:]), castagnoli, []byte(content))
	}
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			add('n', 0, "")
		case int64:
			add('i', uint64(v), "")
		case string:
			add('t', uint64(len(v)), v)
		case []byte:
			add('b', uint64(len(v)), string(v))
		default:
			return 0, fmt.Errorf("a value of type %T has no checksum", v)
		}
	}
	return sum, nil
}

// errSum tells of a line that does not fit its checksum.
var errSum = errors.New("it does not fit its checksum")

// migrateSums gives each line its checksum.
const migrateSums = `
ALTER TABLE journal  ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE job      ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE document ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE event    ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE peer     ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE site     ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
UPDATE journal  SET sum = ` + sumOfJournal + `;
UPDATE job      SET sum = ` + sumOfJob5 + `;
UPDATE document SET sum = ` + sumOfDocument5 + `;
DROP TRIGGER event_stays;
UPDATE event    SET sum = ` + sumOfEvent5 + `;
CREATE TRIGGER event_stays BEFORE UPDATE ON event
	BEGIN SELECT RAISE (ABORT, 'history is append only'); END;
UPDATE peer     SET sum = ` + "checksum('peer', number, peer, incarnation, sequence)" + `;
UPDATE site     SET sum = ` + sumOfSite5 + `;
`

// The checksums of the tables' lines, of which these are the columns.
const (
	sumOfJournal  = `checksum('journal', incarnation, sequence)`
	sumOfEntity   = `checksum('entity', entity.kind, entity.key, user, entity.state, record)`
	sumOfDocument = `checksum('document', document.kind, document.key, text)`
	sumOfEvent    = `checksum('event', kind, key, seq, at, state, site, term, hop, why)`
	sumOfDecision = `checksum('decision', kind, key, seq, stays, decision)`
	sumOfPeer     = `checksum('peer', number, peer, incarnation, life, sequence)`
	sumOfLife     = `checksum('life', number, life, first)`
)

// The same of the tables that schema 6 has replaced.
const (
	sumOfJob5      = `checksum('job', job.id, home, user, state, standing, submitted, ended, record)`
	sumOfDocument5 = `checksum('document', document.id, document.job)`
	sumOfEvent5    = `checksum('event', job, seq, at, state, site, term, hop, why)`
	sumOfSite5     = `checksum('site', state)`
)
