package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gbroker/grid"
)

// migrateRefusals gives the refusals in the decisions that are kept their kind: they had the
// mark Passing where a site was so only then, and else nothing. A line that does not fit its
// checksum stays as it is, and is told of when it is read.
func migrateRefusals(ctx context.Context, conn *sql.Conn) error {
	const marked = ` FROM job WHERE instr(record, '"Passing":true') > 0 AND sum = ` + sumOfJob5
	var after, record string
	for {
		err := conn.QueryRowContext(ctx, `SELECT id, record`+marked+` AND id > ? ORDER BY id`, after).Scan(&after, &record)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err == nil {
			record, err = withKinds(record)
		}
		if err == nil {
			_, err = conn.ExecContext(ctx, `UPDATE job SET record = ?2,
				sum = checksum('job', id, home, user, state, standing, submitted, ended, ?2) WHERE id = ?1`, after, record)
		}
		if err != nil {
			return fmt.Errorf("the record of job %s: %w", after, err)
		}
	}
}

// withKinds is a record of version 4 as version 5 has it. Numbers stay as they are written.
func withKinds(record string) (string, error) {
	var tree any
	d := json.NewDecoder(strings.NewReader(record))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return "", err
	}
	markKinds(tree)
	b, err := encode(tree)
	return string(b), err
}

func markKinds(tree any) {
	switch v := tree.(type) {
	case []any:
		for _, e := range v {
			markKinds(e)
		}
	case map[string]any:
		if v["Passing"] == true {
			delete(v, "Passing")
			v["Kind"] = grid.Temporary
		}
		for _, e := range v {
			markKinds(e)
		}
	}
}
