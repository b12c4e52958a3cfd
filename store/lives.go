package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"gbroker/grid"
)

// maxLives are kept; the first go first. A position of a life before them counts as one that
// the journal does not reach.
const maxLives = 4096

// begin is a start of the journal: it draws the number of a life, and keeps it.
func (j *Journal) begin(ctx context.Context) error {
	life, err := j.draw(ctx)
	if err != nil {
		return fmt.Errorf("draw a life: %w", err)
	}
	err = j.patiently(func() error {
		return j.transaction(ctx, func() error {
			if _, err := j.conn.ExecContext(ctx, `INSERT INTO life (number, life, first, sum)
			SELECT n, ?1, sequence, checksum('life', n, ?1, sequence) FROM journal, (SELECT coalesce(max(number), 0) + 1 AS n FROM life)`, hex(life)); err != nil {
				return err
			}
			_, err := j.conn.ExecContext(ctx, `DELETE FROM life WHERE number <= (SELECT max(number) FROM life) - ?`, maxLives)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("begin a life: %w", err)
	}
	j.id.Life = life
	return j.loadLives(ctx)
}

// draw draws a number that is later than those of the lives which the journal has, and of the one that the file beside it tells.
func (j *Journal) draw(ctx context.Context) (uint64, error) {
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 0, err
	}
	if err := j.loadLives(ctx); err != nil {
		return 0, err
	}
	known := []uint64{j.witness.read.Position.Life}
	for _, l := range j.lives {
		known = append(known, l.Number)
	}
	return grid.NextLife(grid.InstantOf(time.Now()), binary.BigEndian.Uint32(b[:]), known...), nil
}

func (j *Journal) loadLives(ctx context.Context) error {
	rows, err := j.conn.QueryContext(ctx, `SELECT life, first, sum = `+sumOfLife+` FROM life ORDER BY number`)
	if err != nil {
		return fmt.Errorf("read the lives: %w", err)
	}
	defer rows.Close()
	j.lives = nil
	for rows.Next() {
		var text string
		var l grid.Life
		var sound bool
		if err := rows.Scan(&text, &l.First, &sound); err != nil {
			return fmt.Errorf("read the lives: %w", err)
		}
		if l.Number, err = strconv.ParseUint(text, 16, 64); !sound || err != nil {
			return damaged(j.file, "the life "+text, errSum, fmt.Sprintf("DELETE FROM life WHERE life = %s", quoted(text)))
		}
		j.lives = append(j.lives, l)
	}
	return rows.Err()
}

// Lives are the starts of the journal, the present one last.
func (j *Journal) Lives() []grid.Life { return append([]grid.Life(nil), j.lives...) }
