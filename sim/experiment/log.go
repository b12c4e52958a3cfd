package experiment

import (
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"gbroker/grid"
	"gbroker/sim/brokers"
	"gbroker/sim/replay"
	"gbroker/sim/workload"
)

// logs reads each log once.
type logs struct {
	folder string // from which names are found that begin with no slash
	mu     sync.Mutex
	read   map[string]*replay.Log
}

func newLogs(folder string) *logs { return &logs{folder: folder, read: make(map[string]*replay.Log)} }

// log is a log, normalised as package replay does it, but for jobs that are too large: that is for the sites to say.
func (l *logs) log(name string) (*replay.Log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if log := l.read[name]; log != nil {
		return log, nil
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.folder, path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the log of the workload: %w", err)
	}
	defer file.Close()
	log, _, err := replay.Read(file, replay.Options{Procs: replay.MostProcs, Partition: replay.Unknown, Normalise: true})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	l.read[name] = log
	return log, nil
}

// deal hands the jobs of a log in at the sites. Those that their home can not hold are dropped.
func (l *logs) deal(o log, sites []brokers.Site, parts []part) ([]workload.Job, error) {
	log, err := l.log(o.File)
	if err != nil {
		return nil, err
	}
	home := make(map[int64]int)
	for i, p := range parts {
		home[p.partition] = i
	}
	var jobs []workload.Job
	for i, j := range log.Jobs {
		if o.First > 0 && i == o.First {
			break
		}
		at, ok := i%len(sites), true
		switch o.Deal {
		case "partitions":
			at, ok = home[int64(j.Partition)]
		case "users":
			at = int(mixed(j.User) % uint64(len(sites)))
		}
		if !ok || int(j.Procs) > sites[at].Cores {
			continue
		}
		jobs = append(jobs, workload.Job{
			Arrival: grid.Tick(math.Round(float64(j.Submit) * 1000 / o.SpeedUp)), Home: at, Cores: int(j.Procs),
			Run: grid.Tick(j.Run) * grid.Second, Limit: grid.Tick(j.Limit) * grid.Second, User: known(j.User), Application: known(j.App),
		})
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("%s: no job fits the site at which it would be handed in (deal: %s)", o.File, o.Deal)
	}
	return jobs, nil
}

// mixed spreads the numbers of users, which often follow each other.
func mixed(n int32) uint64 {
	h := fnv.New64a()
	h.Write([]byte(strconv.Itoa(int(n))))
	return h.Sum64()
}

func known(n int32) string {
	if n == replay.Unknown {
		return ""
	}
	return strconv.Itoa(int(n))
}
