package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/test/cluster"
)

// Two jobs ask for what only the declared nodes of another site have. They go there
// with all they ask for; the second waits for the first, and that site tells how far
// its estimate of the start was off, also after it was killed.
func TestDemandsTravelAndEstimatesAreJudged(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 1, More: machine("x86_64")})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 1, More: machine("arm")})
	config, err := os.ReadFile(b.Config())
	must(t, err)
	declared := strings.Replace(strings.Replace(string(config), "\n  cores: 1\n", "\n", 1), "\n  nodes: 1\n", `
  nodes:
    - {name: big, cores: 1, memory: 64GiB, resources: {"gpu:a100": 2}, speed: 1, properties: [ib]}
  queues: [{name: fast, nodes: [big], limit: 1h}]
`, 1)
	must(t, os.WriteFile(b.Config(), []byte(declared), 0o644))
	start(t, a, b)
	introduce(t, a, b)

	submit := func(name string) string {
		text := strings.NewReplacer(
			"<Resources>", "<Resources><ExclusiveExecution>true</ExclusiveExecution>",
			"</Resources>", `<gb:Resource name="gpu:a100">2</gb:Resource><gb:Property>ib</gb:Property><gb:Queue>fast</gb:Queue></Resources>`,
		).Replace(work{script: "sleep 6", arch: "arm", walltime: 30}.document(name))
		file := filepath.Join(dir, name+".jsdl")
		must(t, os.WriteFile(file, []byte(text), 0o644))
		return strings.TrimSpace(client(t, a, "submit", file))
	}
	first := submit("first")
	reaches(t, a, first, "RUNNING")
	second := submit("second")
	for _, id := range []string{first, second} {
		completed(t, a, id, "b")
		for _, s := range []site{a, b} {
			st := status(t, s, id)
			if d := st.Demand; !d.Exclusive || len(d.Chunks) != 1 || d.Chunks[0].Resources["gpu:a100"] != 2 || len(d.Properties) != 1 || st.Queue != "fast" {
				t.Errorf("%s says that %s asks for %+v in the queue %q", s.Name, id, d, st.Queue)
			}
			if (s == b) != (st.StartEstimateAtQueue != 0) {
				t.Errorf("%s says that %s was expected at %s", s.Name, id, st.StartEstimateAtQueue)
			}
		}
	}

	judged := func(s site) api.Estimates {
		for _, v := range told[[]api.Site](t, s, "sites") {
			if v.Self {
				return *v.Estimates
			}
		}
		return api.Estimates{}
	}
	eventually(t, "b tells of two starts", func() bool { return judged(b).Started == 2 })
	e := judged(b)
	st := status(t, b, second)
	near(t, "the error of the second job's estimate", e.Median, seconds(st.StartEstimateAtQueue)-seconds(st.Started), 0.01)
	if e.Waited != 1 || e.TooEarly != 0 || e.Median < 10 || e.Within60 != 1 { // it was reckoned with 30 s, and the first took 6
		t.Errorf("b says of its estimates: %+v", e)
	}
	if got := judged(a); got.Started != 0 {
		t.Errorf("a, where nothing ran, says: %+v", got)
	}
	b.Kill()
	start(t, b)
	if got := judged(b); got != e {
		t.Errorf("b says of its estimates after a restart: %+v, and before: %+v", got, e)
	}
}
