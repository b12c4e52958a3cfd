package accounts

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/stage"
)

func TestMain(m *testing.M) { Main(m) }

// job is of this process alone: wrappers find what they end by it.
var job = grid.NewJobID("alpha", ulid.Make().String())

// site is a stager of an account of the namespace.
type site struct {
	*stage.Stager
	work, control string
	broken        error // what As says in place of acting
	cut           int   // bytes after which what As sends is cut; 0 is never
}

func open(t *testing.T, root string) *site {
	t.Helper()
	s := &site{}
	var err error
	s.Stager, err = stage.New(stage.Config{
		Root: root, Passable: true, As: s.as,
		Authorize: func(grid.PeerID, grid.JobID, stage.Set) (stage.Grant, error) { return stage.Grant{}, grid.ErrForbidden },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.work, s.control = s.Paths(job)
	return s
}

func (s *site) as(ctx context.Context, account string, stdin io.Reader, out io.Writer, words ...string) error {
	if s.broken != nil {
		return s.broken
	}
	if s.cut > 0 {
		out = &cutter{out, s.cut}
	}
	r, err := command.Runner{}.Run(ctx, command.Call{Name: Program, Args: append([]string{"sandbox"}, words...), As: account, From: stdin, To: out})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("it ends with %d: %s", r.Exit, r.Said())
	}
	return err
}

type cutter struct {
	to   io.Writer
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) > c.left {
		return 0, errors.New("the connection is cut")
	}
	c.left -= len(p)
	return c.to.Write(p)
}

func (s *site) prepare(t *testing.T, j grid.Job) {
	t.Helper()
	if err := s.Prepare(t.Context(), j, true); err != nil {
		t.Fatal(err)
	}
	if err := s.Lend(t.Context(), job, "alice"); err != nil {
		t.Fatal(err)
	}
}

// outputs are these paths, each required, under its own name.
func outputs(paths ...string) (list []grid.Output) {
	for _, p := range paths {
		list = append(list, grid.Output{Path: p, Target: p, Required: true})
	}
	return list
}

func (s *site) collected(t *testing.T, name string) []byte {
	t.Helper()
	r, _, _, err := s.Open(job, stage.Outputs, name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func leftOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// closed is what a program under umask 077 leaves, and some that closes more than that.
const closed = `set -e; umask 077; cd %s
cat in/data > plain; mkdir -m 700 deep; mkdir -m 700 deep/er; echo deep > deep/er/file; chmod 600 deep/er/file
echo none > none; chmod 0 none; mkdir shut; echo shut > shut/file; chmod 0 shut; ln -s deep/er/file link; ln plain other
mkfifo pipe; echo run > run.sh; chmod 700 run.sh`

// What a program makes under another account comes back byte for byte, whatever it has closed; a
// second attempt begins with a fresh sandbox, and nothing is left when the job is gone.
func TestOutputsOfAnotherAccount(t *testing.T) {
	for _, as := range []string{"root", "gbroker"} {
		t.Run(as, func(t *testing.T) {
			if !Inside(t, as) {
				return
			}
			pass(t, filepath.Join(Top, as))
			s := open(t, filepath.Join(Top, as, "jobs"))
			data := make([]byte, 9<<20+1)
			rand.Read(data)
			if _, err := s.Receive(t.Context(), job, "in/data", int64(len(data)), 0o640, 0, bytes.NewReader(data)); err != nil {
				t.Fatal(err)
			}
			m, err := s.Received(job)
			if err != nil {
				t.Fatal(err)
			}
			wanted := outputs("plain", "deep/er/file", "none", "shut/file", "link", "other", "run.sh", "pipe", "gone")
			j := grid.Job{ID: job, Inputs: m, Outputs: wanted, Program: grid.Program{Directory: "made"}}
			for attempt := range 2 {
				s.prepare(t, j)
				Do(t, "alice", "test ! -e "+s.work+"/plain && touch "+s.control+"/.tmp."+fmt.Sprint(attempt)+" && touch "+s.work+"/made/x")
				Do(t, "alice", fmt.Sprintf(closed, s.work))
				if attempt == 0 {
					if err := s.Discard(job, stage.Work); err != nil || len(leftOf(t, s.work)) > 0 {
						t.Fatalf("clearing the sandbox of the first attempt: %v, left %v", err, leftOf(t, s.work))
					}
				}
			}
			if live, err := s.Live(grid.Job{ID: job, Outputs: outputs("plain", "gone")}); err != nil || len(live) != 1 || live[0].Size != int64(len(data)) {
				t.Errorf("while it runs there is %v, %v", live, err)
			}
			for name, want := range map[string]string{"none": "one", "shut/file": "hut", "deep/er/file": "eep"} { // closed to the daemon
				if got, err := s.ReadLive(j, name, 1, 3); err != nil || string(got) != want {
					t.Errorf("while it runs a part of %s is %q, %v", name, got, err)
				}
			}
			if got, err := s.ReadLive(j, "other", 1<<20, 5<<20); err != nil || !bytes.Equal(got, data[1<<20:1<<20+len(got)]) || len(got) < 4<<20 {
				t.Errorf("a long part has %d bytes, %v", len(got), err)
			}
			if got, err := s.ReadLive(j, "pipe", 0, 3); err == nil {
				t.Errorf("a pipe gives %q", got)
			}
			_, missing, err := s.Collect(t.Context(), j)
			if err != nil || fmt.Sprint(missing) != `["pipe" (it is a pipe) "gone"]` {
				t.Fatalf("missing %v, %v", missing, err)
			}
			for name, want := range map[string]string{
				"plain": string(data), "other": string(data), "deep/er/file": "deep\n", "none": "none\n", "shut/file": "shut\n", "link": "deep\n", "run.sh": "run\n",
			} {
				if got := s.collected(t, name); string(got) != want {
					t.Errorf("%s has %d bytes and not %d", name, len(got), len(want))
				}
			}
			if _, _, mode, err := s.Open(job, stage.Outputs, "run.sh"); err != nil || mode != 0o700 {
				t.Errorf("run.sh has the mode %o, %v", mode, err)
			}
			if err := s.Discard(job); err != nil || len(leftOf(t, filepath.Dir(s.work))) > 0 {
				t.Errorf("the job's folder: %v, left %v", err, leftOf(t, filepath.Dir(s.work)))
			}
		})
	}
}

// What a program makes under another account is found by patterns, whatever it has closed.
func TestPatternsOfAnotherAccount(t *testing.T) {
	for _, as := range []string{"root", "gbroker"} {
		t.Run(as, func(t *testing.T) {
			if !Inside(t, as) {
				return
			}
			pass(t, filepath.Join(Top, as))
			s := open(t, filepath.Join(Top, as, "jobs"))
			if _, err := s.Receive(t.Context(), job, "in/data", 4, 0o640, 0, strings.NewReader("data")); err != nil {
				t.Fatal(err)
			}
			m, err := s.Received(job)
			if err != nil {
				t.Fatal(err)
			}
			j := grid.Job{ID: job, Inputs: m, Bring: []grid.Bring{grid.Everything}}
			s.prepare(t, j)
			Do(t, "alice", fmt.Sprintf(closed, s.work)+"; ln -s /etc/passwd outside")
			got, missing, err := s.Collect(t.Context(), j)
			var names []string
			for _, f := range got {
				names = append(names, f.Path)
			}
			if want := "deep/er/file link none other plain run.sh shut/file"; err != nil || len(missing) > 0 || strings.Join(names, " ") != want {
				t.Errorf("%v come, missing %v, %v", names, missing, err)
			}
			if string(s.collected(t, "shut/file")) != "shut\n" {
				t.Error("what it shut has come as something else")
			}
			if err := s.Discard(job); err != nil {
				t.Error(err)
			}
		})
	}
}

// A failure of handing over leaves the only copy where it is, whatever fails, and says why; tried
// again, all is there.
func TestWhatCannotBeHandedOverStays(t *testing.T) {
	if !Inside(t, "gbroker") {
		return
	}
	pass(t, Top+"/gbroker")
	s := open(t, Top+"/gbroker/jobs")
	j := grid.Job{ID: job, Outputs: outputs("a", "b", "c")}
	s.prepare(t, j)
	Do(t, "alice", "umask 077; cd "+s.work+"; echo a > a; seq 200000 > b; mv "+Secret+" c")
	text := Do(t, "alice", "cat "+s.work+"/b") + "\n"
	fails := func(what, why string) {
		t.Helper()
		if _, _, err := s.Collect(t.Context(), j); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", what, err)
		}
		for name, want := range map[string]string{"a": "a", "b": strings.TrimSpace(text)} {
			if got := Do(t, "alice", "cat "+s.work+"/"+name); got != want {
				t.Errorf("%s: %s is gone from the sandbox", what, name)
			}
		}
	}
	s.broken = errors.New("a password is required")
	fails("sudo refuses", "a password is required")
	s.broken, s.cut = nil, 300<<10
	fails("it is cut", "b")
	s.cut = 0
	fails("the account may not read one", `"c": the account cannot hand it over`)
	if got := string(s.collected(t, "b")); got != text {
		t.Errorf("b has %d bytes of %d: it waits for c", len(got), len(text))
	}
	Do(t, "alice", "mv "+s.work+"/c "+Secret)
	if _, missing, err := s.Collect(t.Context(), j); err != nil || fmt.Sprint(missing) != `["c"]` {
		t.Errorf("without it: missing %v, %v", missing, err)
	}
	if got := string(s.collected(t, "a")); got != "a\n" {
		t.Errorf("a is %q", got)
	}
}

// pass lets other accounts through a folder.
func pass(t *testing.T, dir string) {
	t.Helper()
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
}
