package store

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"gbroker/grid"
)

// Beside the journal stand two files that stay when it is put back from a backup:
//
//	journal.at     how far it has come, and the highest stamp of an epoch: one line,
//	               "INCARNATION LIFE SEQUENCE STAMP SUM", each in hexadecimal, written over after
//	               each commit. A power cut may lose its last words: that weakens what it is for
//	journal.told   what users were told, for ever: one line "SUM JOB RECORD" for each word, on disk
//	               before it is told. RECORD is that of the journal, without the search and the
//	               certificates; the last word on a job counts. A line that is torn or damaged is
//	               passed over
//
// SUM is the CRC-32C of the rest of the line.
type witness struct {
	at, told *os.File
	read     grid.Witness    // as it was when it was opened
	bytes    int64           // of told
	last     map[string]word // as told was read last; nil where it has grown since
	shorter
}

// Limits of journal.told.
const (
	maxTold      = 4 << 20            // bytes of a line; a record with more outputs goes without them
	keepTold     = grid.ToldFor       // an older backup is not put back
	compactAbove = int64(1 << 20)     // bytes, of which less than half counts: it is written anew, see shorter
	atLine       = 16*3 + 8*2 + 4 + 1 // bytes of journal.at
	toldHeader   = "gbroker told 1\n" // its first line
)

func sumOf(text []byte) uint32 { return crc32.Checksum(text, castagnoli) }

func (w *witness) open(file string) error {
	var err error
	if w.at, err = os.OpenFile(file+".at", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	if w.read, err = readAt(w.at); err != nil {
		return err
	}
	return w.openTold(file + ".told")
}

// readAt reads how far the journal had come; zero where that is not known.
func readAt(f *os.File) (grid.Witness, error) {
	line := make([]byte, atLine)
	n, err := f.ReadAt(line, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return grid.Witness{}, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	var w grid.Witness
	var sum uint32
	p := &w.Position
	if _, err := fmt.Sscanf(string(line[:n]), "%16x %16x %16x %8x %8x\n", &p.Incarnation, &p.Life, &p.Sequence, &w.Stamp, &sum); err != nil || formAt(w) != string(line[:n]) {
		return grid.Witness{}, nil // none yet, or torn in a power cut
	}
	return w, nil
}

func formAt(w grid.Witness) string {
	p := w.Position
	text := fmt.Sprintf("%016x %016x %016x %08x", p.Incarnation, p.Life, p.Sequence, w.Stamp)
	return fmt.Sprintf("%s %08x\n", text, sumOf([]byte(text)))
}

// openTold opens the file, cuts off what a crash has left half written, and writes it anew
// where most of it does not count any more. A long file serves as well: one that cannot be written anew, as on a
// full disk, refuses no start.
func (w *witness) openTold(name string) error {
	var err error
	if w.told, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	unix.Unlink(name + ".new") // half written when a daemon was killed
	last, whole, err := w.lastWords()
	if err != nil {
		return err
	}
	if err := w.told.Truncate(whole); err != nil {
		return err
	}
	w.bytes, w.last = whole, last
	w.limit = limitOf(whole)
	if mostly(last, whole) {
		if err := w.compact(name, last); errors.Is(err, errRenamed) {
			return err
		}
		return nil
	}
	if whole == 0 {
		return w.append([]byte(toldHeader))
	}
	return nil
}

// word is where the last word on a job stands, and what it is in short.
type word struct {
	at, length int64
	is         grid.LastWord
}

// lastWords finds the last word on each job, but for those that are too old, and how far the file is
// whole. A clock may have been wrong: a word is as old as the latest before it, and one of the future is as the word before it.
func (w *witness) lastWords() (last map[string]word, whole int64, err error) {
	return w.lastWordsTo(math.MaxInt64)
}

// lastWordsTo does so as far as that many bytes.
func (w *witness) lastWordsTo(to int64) (last map[string]word, whole int64, err error) {
	last = map[string]word{}
	ended := map[string]grid.Tick{}
	newest, now := grid.Tick(0), grid.InstantOf(time.Now())
	whole, err = w.each(to, func(job string, record []byte, at word) error {
		r, err := decodeRecord(record)
		if err != nil {
			return nil // passed over
		}
		r.Job.ID = grid.JobID(job)
		at.is = r.Word()
		if r.Ended <= now {
			newest = max(newest, r.Ended)
		}
		if last[job], ended[job] = at, newest; r.Ended == 0 {
			delete(ended, job)
		}
		return nil
	})
	for job, at := range ended {
		if at != 0 && at < newest-keepTold {
			delete(last, job)
		}
	}
	return last, whole, err
}

// each reads the lines that are whole in the first bytes, and tells how far the file has such.
func (w *witness) each(to int64, line func(job string, record []byte, at word) error) (whole int64, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(w.told, 0, to), 1<<16)
	for first := true; ; first = false {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return whole, fmt.Errorf("read %s: %w", w.told.Name(), err)
		}
		at := word{at: whole, length: int64(len(text))}
		whole += at.length
		if first && string(text) == toldHeader {
			continue
		}
		if first && bytes.HasPrefix(text, []byte("gbroker told ")) {
			return 0, fmt.Errorf("%w: %s is of a later version", ErrNewer, w.told.Name())
		}
		job, record, is := wordOf(text)
		if !is {
			continue
		}
		if err := line(job, record, at); err != nil {
			return whole, err
		}
	}
}

// wordOf takes a line apart; one that is torn or damaged is none.
func wordOf(line []byte) (job string, record []byte, is bool) {
	sum, rest, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), " ")
	if sum != fmt.Sprintf("%08x", sumOf([]byte(rest))) {
		return "", nil, false
	}
	job, text, _ := strings.Cut(rest, " ")
	return job, []byte(text), true
}

func (w *witness) append(text []byte) error {
	if _, err := w.told.WriteAt(text, w.bytes); err != nil {
		return fmt.Errorf("write %s: %w", w.told.Name(), err)
	}
	if err := w.told.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", w.told.Name(), err)
	}
	w.bytes += int64(len(text))
	w.last = nil
	return nil
}

func (w *witness) close() error {
	var errs []error
	for _, f := range []*os.File{w.at, w.told} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Witness is what the files beside the journal said of it when it was opened.
func (j *Journal) Witness() grid.Witness { return j.witness.read }

// Told reads the last word beside the journal on each job of which want says so, in their order there. Of the
// job the records have the identifier alone.
func (j *Journal) Told(_ context.Context, want func(grid.LastWord) bool) ([]grid.Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.usable()
	var list []grid.Record
	if err == nil {
		list, err = j.witness.wanted(want)
	}
	if err != nil {
		return nil, fmt.Errorf("read what users were told: %w", err)
	}
	return list, nil
}

func (w *witness) wanted(want func(grid.LastWord) bool) (list []grid.Record, err error) {
	last := w.last
	w.last = nil // it is wanted once, at a start
	if last == nil {
		if last, _, err = w.lastWords(); err != nil {
			return nil, err
		}
	}
	jobs := slices.SortedFunc(maps.Keys(last), func(a, b string) int { return cmp.Compare(last[a].at, last[b].at) })
	for _, job := range jobs {
		at := last[job]
		if !want(at.is) {
			continue
		}
		text := make([]byte, at.length)
		if _, err := w.told.ReadAt(text, at.at); err != nil {
			return nil, fmt.Errorf("read %s: %w", w.told.Name(), err)
		}
		_, record, is := wordOf(text)
		if !is {
			continue
		}
		r, err := decodeRecord(record)
		if err != nil {
			continue // passed over: it is the second copy
		}
		r.Job.ID = grid.JobID(job)
		list = append(list, r)
	}
	return list, nil
}

// Tell writes beside the journal how far it is, the highest stamp, and what users are about to be
// told; that is on disk when it returns. After an error the journal is of no more use.
func (j *Journal) Tell(_ context.Context, stamp uint32, records []grid.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	err := j.usable()
	if err == nil {
		err = j.patiently(func() error { return j.tell(stamp, records) })
		if err != nil {
			j.end(fmt.Errorf("%w (%w)", ErrBroken, err))
		}
	}
	if err != nil {
		return fmt.Errorf("write beside %s: %w", j.file, err)
	}
	return nil
}

func (j *Journal) tell(stamp uint32, records []grid.Record) error {
	if _, err := j.witness.at.WriteAt([]byte(formAt(grid.Witness{Position: j.ID(), Stamp: stamp})), 0); err != nil {
		return err
	}
	var text bytes.Buffer
	for i := range records {
		record, err := encodeRecord(&records[i])
		if len(record) > maxTold {
			r := records[i]
			r.Outputs = nil
			record, err = encodeRecord(&r)
		}
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s %s", records[i].Job.ID, record)
		fmt.Fprintf(&text, "%08x %s\n", sumOf([]byte(line)), line)
	}
	if text.Len() == 0 {
		return nil
	}
	if err := j.witness.append(text.Bytes()); err != nil {
		return err
	}
	j.shorten()
	return nil
}
