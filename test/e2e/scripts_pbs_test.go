package e2e

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/test/cluster"
	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
)

// attributes are what qstat says of all jobs, by their names.
func attributes(t *testing.T, srv *fakebatch.Server, face string) map[string]map[string]string {
	t.Helper()
	args := map[string][]string{"torque": {"-f", "-1"}, "openpbs": {"-x", "-f"}}[face]
	all := map[string]map[string]string{}
	job := map[string]string{}
	for line := range strings.Lines(srv.Run("", "", "qstat", args...).Stdout) {
		name, value, is := strings.Cut(strings.TrimSpace(line), " = ")
		switch {
		case strings.HasPrefix(line, "Job Id"):
			job = map[string]string{}
		case is && name == "Job_Name":
			all[value] = job
		case is:
			job[strings.TrimPrefix(name, "Resource_List.")] = value
		}
	}
	return all
}

// places are the pieces and cores of a job: of TORQUE by its nodes, of OpenPBS by what the server counts.
func places(job map[string]string) (pieces, cores int) {
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	if job["select"] != "" {
		return number(job["nodect"]), number(job["ncpus"])
	}
	if job["nodes"] == "" {
		return max(number(job["procs"]), 1), max(number(job["procs"]), 1)
	}
	for part := range strings.SplitSeq(job["nodes"], "+") {
		words := strings.Split(part, ":")
		n, each := max(number(words[0]), 1), 1
		for _, w := range words[1:] {
			if v, is := strings.CutPrefix(w, "ppn="); is {
				each = number(v)
			}
		}
		pieces, cores = pieces+n, cores+n*each
	}
	return pieces, cores
}

// Scripts of qsub run alike on fakes of TORQUE and OpenPBS, where qsub takes them and where gclient
// does: the same pieces, cores, limits and ends, and they write the same.
func TestPBSScripts(t *testing.T) {
	t.Parallel()
	for _, face := range []string{"torque", "openpbs"} {
		t.Run(face, func(t *testing.T) {
			t.Parallel()
			dir := place(t)
			srv := fakebatch.Start(t, batch.Config{Face: face, Nodes: fakebatch.Nodes(face, 4, 4), MultiReq: true})
			s := newSite(t, dir, face, cluster.Options{Batch: face, Env: []string{"PATH=" + srv.Path()}})
			configure(t, s, "  # refresh: 10s\n", "  refresh: 2s\n")
			start(t, s)
			sees(t, s, map[string]int{face: 16})

			names := slices.DeleteFunc(compared(t, face), func(name string) bool { return strings.HasSuffix(name, "-gpu") }) // the fake has none
			ours := map[string]string{}
			for _, name := range names {
				folder := laid(t, filepath.Join(dir, "direct"), name)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				cmd := exec.CommandContext(ctx, filepath.Join(srv.Bin, "qsub"), "-N", name, name+".sh")
				cmd.Dir = folder
				cmd.Env = []string{"PATH=" + srv.Path(), "HOME=" + folder, "LC_ALL=C", "TZ=UTC", "MODE=fast"}
				out, err := cmd.CombinedOutput()
				cancel()
				if err != nil {
					t.Fatalf("qsub %s: %v: %s", name, err, out)
				}
				gclient := s.Command(t.Context(), "submit", filepath.Join(laid(t, filepath.Join(dir, "ours"), name), name+".sh"))
				gclient.Env = append(gclient.Env, "MODE=fast")
				var said bytes.Buffer
				gclient.Stderr = &said
				text, err := gclient.Output()
				if err != nil {
					t.Fatalf("gclient submit %s: %v: %s", name, err, said.String())
				}
				ours[name] = strings.TrimSpace(string(text))
			}
			for _, name := range names {
				id := grid.AttemptID{Job: grid.JobID(ours[name]), Epoch: grid.Epoch{Term: 1}, Attempt: 1}
				var direct, brokered map[string]string
				eventually(t, name+" is to end", func() bool {
					all := attributes(t, srv, face)
					direct, brokered = all[name], all[id.Tag()]
					return isOver(direct) && isOver(brokered)
				})
				for _, what := range []string{"walltime", "exit_status", "Exit_status"} {
					if direct[what] != brokered[what] {
						t.Errorf("%s: %s is %q by qsub, %q by gclient", name, what, direct[what], brokered[what])
					}
				}
				p, c := places(direct)
				if strings.HasSuffix(name, "-pack") {
					p = 1 // which is all on one node
				}
				if q, d := places(brokered); p != q || c != d {
					t.Errorf("%s: %d pieces and %d cores by qsub, %d and %d by gclient (%s%s, %s%s)", name, p, c, q, d, direct["nodes"], direct["select"], brokered["nodes"], brokered["select"])
				}
				status := awaitEnd(t, s, ours[name])
				came := filepath.Join(dir, "came", name)
				client(t, s, "output", status, came)
				if d, o := written(t, filepath.Join(dir, "direct", name)), written(t, came); d != o && !strings.HasSuffix(name, "-hybrid") { // the fake knows no ompthreads
					t.Errorf("%s writes by qsub\n%q\nand by gclient\n%q", name, d, o)
				}
			}
			byHand := byQsub(t, srv, dir)
			compareOrder(t, dir, byHand, byGclient(t, s, byHand))
		})
	}
}

// isOver tells that a job has ended, by what qstat says of it.
func isOver(job map[string]string) bool { return job["job_state"] == "C" || job["job_state"] == "F" }

// awaitEnd waits for the end of a job at its home.
func awaitEnd(t *testing.T, s site, id string) string {
	t.Helper()
	eventually(t, id+" is to end", func() bool {
		r := s.Client(t.Context(), "wait", id, "--timeout", "30s")
		return !strings.Contains(r.Stderr, "has not ended in time")
	})
	return id
}
