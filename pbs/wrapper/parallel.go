package wrapper

import (
	"fmt"
	"strconv"
	"strings"
)

// kinds is what documents may call an implementation of MPI, in lower case, and what the
// script calls it.
var kinds = map[string]string{
	"mpi":     "mpi",
	"openmpi": "openmpi", "open-mpi": "openmpi",
	"mpich": "mpich", "mpich1": "mpich", "mpich2": "mpich", "mpich3": "mpich", "mpich4": "mpich",
	"intelmpi": "intelmpi", "intel-mpi": "intelmpi",
}

// candidates are the names of the command that starts each kind, in the order of search.
var candidates = map[string]string{
	"mpi":      "mpirun mpirun.openmpi mpirun.mpich",
	"openmpi":  "mpirun.openmpi mpirun",
	"mpich":    "mpirun.mpich mpirun",
	"intelmpi": "mpirun",
}

// parallel sets how a parallel program is started.
func (s Spec) parallel(q *quoter, b *strings.Builder, set func(name, value string)) {
	set("parallel", s.Program.Parallel)
	word := strings.ToLower(s.Program.Parallel)
	kind := kinds[word]
	set("wanted", kind)
	set("candidates", candidates[kind])
	own := s.Starters[word]
	if len(own) == 0 {
		set("own_starter", "")
		return
	}
	set("own_starter", "yes")
	words := ""
	for _, w := range own {
		w = strings.ReplaceAll(w, "{n}", strconv.Itoa(max(s.Processes, 1)))
		w = strings.ReplaceAll(q.word(w), "{hosts}", `'"$hosts"'`)
		words += " " + strings.ReplaceAll(w, "{program}", `'"$program"'`)
	}
	fmt.Fprintf(b, "own() { \"$@\"%s; }\n", words)
}
