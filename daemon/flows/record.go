package flows

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"lukechampine.com/blake3"

	"gbroker/api"
	"gbroker/flow/enact"
	"gbroker/grid"
)

// spec is a workflow as it was handed in.
type spec struct {
	ID         api.FlowID
	User       string
	Submission api.FlowSubmission // of an instance that of its parent, and empty on disk
	At         grid.Tick
	// Of an instance of a periodic workflow.
	Parent api.FlowID `json:",omitempty"`
	Number int        `json:",omitempty"`
	Came   *came      `json:",omitempty"` // the file that began it
	Key    string     `json:",omitempty"` // that the keys of its jobs begin with, in place of its ID
}

// record is how far a workflow is.
type record struct {
	State     string
	Run       int // from 1
	Cancelled bool
	Begun     grid.Tick
	Ended     grid.Tick
	Planned   time.Duration // of this run, first
	Bound     time.Duration
	Plans     int
	Tasks     []enact.Task
	Memo      map[string]grid.JobID // by digest: a job that has ended well
	Files     map[string]string     // hashes, by name
	Periods   *periods              `json:",omitempty"` // of a periodic one
}

// States of a workflow.
const (
	coming  = "coming"
	running = "running"
	ended   = "ended"
)

// folder is where a workflow lies.
func (k *Keeper) folder(id api.FlowID) string {
	return filepath.Join(k.config.Folder, strings.TrimSuffix(strings.TrimPrefix(string(id), string(grid.JobID(id).Site())+"."), ".flow"))
}

// named tells that a folder of this name is one of a workflow.
func (k *Keeper) named(folder string) bool {
	_, err := api.ParseFlowID(string(api.NewFlowID(k.config.Site, folder)))
	return err == nil
}

func (k *Keeper) write(folder, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return k.config.Replace(filepath.Join(folder, name), text, 0o600)
}

// same: as they are on disk.
func same(a, b any) bool {
	x, err := json.Marshal(a)
	y, bad := json.Marshal(b)
	return err == nil && bad == nil && bytes.Equal(x, y)
}

func read(folder, name string, v any) error {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Join(folder, name), err)
	}
	return nil
}

// digestOf is that of a document and its inputs, in the order of their paths.
func digestOf(document string, inputs []string) string {
	h := blake3.New(32, nil)
	fmt.Fprintf(h, "%d\n%s", len(document), document)
	for _, in := range inputs {
		fmt.Fprintf(h, "\n%d\n%s", len(in), in)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// keyOf is what the keys of the jobs of an instance begin with. It is by what makes the instance and not by its ID, so that the same one is found
// by a home that was put back to a time before it.
func keyOf(parent api.FlowID, run, number int, file *copied) string {
	what := fmt.Sprintf("%d period %d", run, number)
	if file != nil {
		x := &file.file
		what = fmt.Sprintf("%d file %d %d %d %s", run, x.Size, x.Modified, x.put, x.name)
	}
	sum := blake3.Sum256([]byte(what))
	return string(parent) + "/" + hex.EncodeToString(sum[:8])
}

// contents is a word for what a file holds.
func contents(f *grid.File) string {
	h := blake3.New(32, nil)
	for _, r := range f.Ranges {
		h.Write(r[:])
	}
	return fmt.Sprintf("%d %s", f.Size, hex.EncodeToString(h.Sum(nil)))
}
