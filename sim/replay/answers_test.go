package replay

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/plan"
)

// traces holds logs of real machines, and starts that independent schedulers gave them.
var traces = filepath.Join("..", "..", "..", "shared", "traces")

func needTraces(t testing.TB) {
	t.Helper()
	if _, err := os.Stat(traces); err != nil {
		t.Skipf("there are no logs of real machines beside the repository: %v", err)
	}
}

func policy(t testing.TB, text string) plan.Policy {
	t.Helper()
	p, err := plan.ParsePolicy(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func readLog(t testing.TB, path string, o Options) *Log {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	log, _, err := Read(f, o)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return log
}

func readAll(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if raw, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return string(raw)
}

// compare replays a log and compares the start of every job with an answer.
func compare(t *testing.T, log *Log, p plan.Policy, answer string) {
	t.Helper()
	r, err := Run(t.Context(), log, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteStarts(&out, log, r); err != nil {
		t.Fatal(err)
	}
	got, want := strings.Split(out.String(), "\n"), strings.Split(answer, "\n")
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	wrong := 0
	for i := range got {
		if got[i] != want[i] {
			if wrong++; wrong <= 5 {
				t.Errorf("%q, want %q", got[i], want[i])
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d starts are wrong", wrong, len(log.Jobs))
	}
}

func TestKnownAnswers(t *testing.T) {
	t.Parallel()
	needTraces(t)
	answers, err := filepath.Glob(filepath.Join(traces, "answers", "*.starts.tsv.gz"))
	if err != nil || len(answers) < 18 {
		t.Fatalf("%d answers, %v; want 18", len(answers), err)
	}
	for _, path := range answers {
		name := strings.TrimSuffix(filepath.Base(path), ".starts.tsv.gz")
		machine, kind, _ := strings.Cut(name, ".")
		if rest, ok := strings.CutPrefix(kind, "easy-"); ok {
			kind = "easy:" + strings.ReplaceAll(rest, "-", ":")
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := readLog(t, filepath.Join(traces, machine+".swf.gz"), Options{Partition: Unknown, Limits: true})
			compare(t, log, policy(t, kind), readAll(t, path))
		})
	}
}
