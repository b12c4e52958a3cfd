package slurm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
)

// demanded is a demand in sbatch's words: see the package comment.
func demanded(d grid.Demand, parallel bool) ([]string, error) {
	piece, err := uniform(d.Chunks)
	if err != nil {
		return nil, err
	}
	tasks, each := 1, piece.Cores // of each piece, and the CPUs of a task
	if parallel {
		if piece.Processes < 1 || piece.Cores%piece.Processes != 0 {
			return nil, fmt.Errorf("%d processes on %d cores: as Slurm gives each task whole cores, the cores of a piece "+
				"must be a multiple of its processes", piece.Processes, piece.Cores)
		}
		tasks, each = piece.Processes, piece.Cores/piece.Processes
	}
	args := []string{
		"--ntasks=" + strconv.Itoa(piece.Count*tasks),
		"--cpus-per-task=" + strconv.Itoa(each),
	}
	// Pieces of several tasks, and those with other resources, cannot share a node.
	apart := piece.Count == 1 || tasks > 1 || len(piece.Resources) > 0 || d.DistinctNodes
	mebibytes := (piece.Memory + 1<<20 - 1) >> 20
	if apart {
		args = append(args, "--nodes="+strconv.Itoa(piece.Count), "--ntasks-per-node="+strconv.Itoa(tasks))
		if mebibytes > 0 {
			args = append(args, fmt.Sprintf("--mem=%dM", mebibytes))
		}
	} else if mebibytes > 0 {
		args = append(args, fmt.Sprintf("--mem-per-cpu=%dM", (mebibytes+int64(each)-1)/int64(each)))
	}
	if len(piece.Resources) > 0 {
		words, err := resources(piece.Resources)
		if err != nil {
			return nil, err
		}
		args = append(args, "--gres="+words)
	}
	if len(d.Properties) > 0 {
		for _, p := range d.Properties {
			if !word(p, "._-=") {
				return nil, fmt.Errorf("%.60q cannot be a feature of a node", p)
			}
		}
		args = append(args, "--constraint="+strings.Join(d.Properties, "&"))
	}
	if d.Exclusive {
		args = append(args, "--exclusive")
	}
	return args, nil
}

// shapes: Slurm's jobs have tasks of one size. Its heterogeneous jobs are several jobs, which are held, listed and started
// apart, only by its backfill, and of which only one would run the wrapper. Without them --ntasks-per-node is but the most
// of a node: 4+2 may become 3+3.
var shapes = plan.Shapes{Alike: true, WholeAlike: true, Why: "a job of Slurm has pieces of one size; make the processes a multiple of the nodes"}

// uniform is all chunks as one.
func uniform(chunks []grid.Chunk) (grid.Chunk, error) {
	if len(chunks) == 0 {
		return grid.Chunk{}, errors.New("it demands nothing")
	}
	all := chunks[0]
	for _, c := range chunks[1:] {
		if c.Processes != all.Processes || c.Cores != all.Cores || c.Memory != all.Memory || !slices.Equal(c.Resources, all.Resources) {
			return all, errors.New("its pieces are of different sizes: " + shapes.Why)
		}
		all.Count += c.Count
	}
	if all.Count < 1 || all.Count > maxNodes || all.Cores < 1 || all.Cores > 1<<16 || all.Processes < 0 ||
		all.Processes > 1<<16 || all.Memory < 0 || all.Memory > 1<<60 {
		return all, fmt.Errorf("%d pieces of %d processes, %d cores and %d bytes", all.Count, all.Processes, all.Cores, all.Memory)
	}
	return all, nil
}

func resources(list []grid.Resource) (string, error) {
	var words []string
	for _, r := range list {
		if !word(r.Name, "._-:") || r.Amount < 1 || r.Amount > 1<<31 {
			return "", fmt.Errorf("%d of %.60q cannot be a generic resource of Slurm", r.Amount, r.Name)
		}
		words = append(words, r.Name+":"+strconv.FormatInt(r.Amount, 10))
	}
	return strings.Join(words, ","), nil
}

// word tells letters, digits and some more.
func word(s, more string) bool {
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune(more, rune(c)) {
			return false
		}
	}
	return s != "" && len(s) <= maxName
}
