package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

func everything(grid.LastWord) bool { return true }

// toldRecord is what is written of an ended job beside the journal.
func toldRecord(n int, s grid.State) grid.Record {
	r := *example(n)
	r.State, r.End, r.Ended = s, s, grid.Tick(1795000000000+n)
	r.Job = grid.Job{ID: idOf(n)}
	return r
}

// The cancel of a group is told under the identifier of its template.
func TestTheCancelOfAGroupStays(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	id := grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV").Template()
	j := mustOpen(t, dir)
	if err := j.Tell(ctx, 5, []grid.Record{{Job: grid.Job{ID: id}, State: grid.Submitted, CancelRequested: true, Ended: 7}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := mustOpen(t, dir).Told(ctx, func(w grid.LastWord) bool { return w.Job == id })
	if err != nil || len(list) != 1 || list[0].Job.ID != id || !list[0].CancelRequested || list[0].Epoch != (grid.Epoch{}) {
		t.Errorf("%+v, %v", list, err)
	}
}

// What users were told outlasts the journal, the last word on each job, and no line that was
// torn or damaged.
func TestWhatWasToldStays(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	j := mustOpen(t, dir)
	for _, r := range []grid.Record{toldRecord(1, grid.Lost), toldRecord(2, grid.Killed), toldRecord(1, grid.Completed), toldRecord(3, grid.Failed)} {
		if err := j.Tell(ctx, 5, []grid.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "journal.told")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "journal.db")); err != nil {
		t.Fatal(err)
	}
	all := []grid.Record{toldRecord(2, grid.Killed), toldRecord(1, grid.Completed), toldRecord(3, grid.Failed)}
	for name, k := range map[string]struct {
		content []byte
		want    []grid.Record
	}{
		"as it was":    {whole, all},
		"torn":         {whole[:len(whole)-20], all[:2]},
		"one bit":      {bytes.Replace(whole, []byte(`"State":`+stateNumber(grid.Killed)), []byte(`"State":`+stateNumber(grid.Failed)), 1), all[1:]},
		"not there":    {nil, nil},
		"another text": {[]byte("hello\nworld\n"), nil},
	} {
		if err := os.WriteFile(file, k.content, 0o600); err != nil {
			t.Fatal(err)
		}
		j := mustOpen(t, dir)
		var words []grid.LastWord
		got, err := j.Told(ctx, func(w grid.LastWord) bool { words = append(words, w); return true })
		if err != nil || !reflect.DeepEqual(got, k.want) {
			t.Errorf("%s: %d told, want %d: %v", name, len(got), len(k.want), err)
		}
		for n, r := range k.want {
			if words[n] != r.Word() {
				t.Errorf("%s: in short %+v", name, words[n])
			}
		}
		if got, err := j.Told(ctx, func(w grid.LastWord) bool { return w.Job == idOf(2) }); err != nil || len(got) > 1 {
			t.Errorf("%s: %d told of one job, %v", name, len(got), err)
		}
		if err := j.Tell(ctx, 5, []grid.Record{toldRecord(9, grid.Completed)}); err != nil {
			t.Fatal(err)
		}
		if got, err := j.Told(ctx, everything); err != nil || len(got) != len(k.want)+1 {
			t.Errorf("%s: one more, and there are %d of %d", name, len(got), len(k.want)+1)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func stateNumber(s grid.State) string { return fmt.Sprint(uint8(s)) }

// A file of a later version is not written over.
func TestWhatALaterVersionTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := mustOpen(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "journal.told")
	if err := os.WriteFile(file, []byte("gbroker told 2\nsomething\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "later version") {
		t.Error(err)
	}
	if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "something") {
		t.Errorf("%q, %v", b, err)
	}
}

// Words that do not count any more go when the file is opened: later ones on the same job, and ends
// long before the last.
func TestWhatWasToldIsWrittenAnew(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	j := mustOpen(t, dir)
	old := toldRecord(1, grid.Completed)
	old.Ended -= keepTold + grid.Day
	list := []grid.Record{old}
	for n := 2; n < 400; n++ {
		for range 8 {
			list = append(list, toldRecord(n, grid.Lost))
		}
	}
	if err := j.Tell(ctx, 5, list); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(filepath.Join(dir, "journal.told"))
	j = mustOpen(t, dir)
	after, err := os.Stat(filepath.Join(dir, "journal.told"))
	if err != nil || after.Size() > before.Size()/4 {
		t.Errorf("%d bytes of %d are left, %v", after.Size(), before.Size(), err)
	}
	if err := j.Tell(ctx, 5, []grid.Record{toldRecord(400, grid.Failed)}); err != nil {
		t.Fatal(err)
	}
	if got, err := j.Told(ctx, everything); err != nil || len(got) != 399 {
		t.Errorf("%d told, %v", len(got), err)
	}
}

// How far the journal had come is not known where the line is torn.
func TestATornWitnessSaysNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j := mustOpen(t, dir)
	if err := j.Tell(t.Context(), 5, nil); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "journal.at")
	line, err := os.ReadFile(file)
	if err != nil || len(line) != atLine {
		t.Fatalf("%q, %v", line, err)
	}
	line[20] ^= 1
	for _, content := range [][]byte{line, line[:30], []byte("x")} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		j := mustOpen(t, dir)
		if w := j.Witness(); w != (grid.Witness{}) {
			t.Errorf("%+v", w)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
