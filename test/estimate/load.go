package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// cluster is a site of the run: nodes of as many cores each.
type cluster struct {
	name         string
	nodes, cores int
}

func (c cluster) size() int { return c.nodes * c.cores }

var clusters = []cluster{{"two", 2, 4}, {"three", 3, 4}, {"five", 5, 4}}

// job is one of the load.
type job struct {
	site        int
	application string
	cores       int
	run         time.Duration // of its program
	minutes     int           // asked for
	at          time.Duration // after the first
	local       bool          // of no broker
}

// mix tells how the load is drawn, for people.
const mix = "each site gets a third of the jobs and has 6 applications, each with a typical run time of 3 to 20 s (log-uniform) " +
	"and a request of 3 to 8 times that, in whole minutes; a job runs for 0.8 to 1.25 times the typical time of its application; " +
	"cores: 60 % up to a quarter of the site, 25 % up to half, 10 % up to all, 5 % all; " +
	"gaps between arrivals are 1 s and an exponential part, and bring 1.3 times the work that the site can do"

const (
	applications = 6
	overload     = 1.3
	// least is the shortest gap: Slurm is not asked about a job while the broker still
	// hands over the one before, of which it knows already.
	least = time.Second
)

// application is what a user runs again and again.
type application struct {
	name    string
	typical float64 // seconds
	minutes int
}

// draw makes the load of a seed, by arrival.
func draw(seed uint64, jobs int) []job {
	var all []job
	for i, c := range clusters {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		n := jobs / len(clusters)
		if i < jobs%len(clusters) {
			n++
		}
		all = append(all, drawSite(r, i, c, n)...)
	}
	slices.SortStableFunc(all, func(a, b job) int { return int(a.at - b.at) })
	return all
}

func drawSite(r *rand.Rand, site int, c cluster, n int) []job {
	var known [applications]application
	for k := range known {
		typical := 3 * math.Pow(20.0/3, r.Float64())
		asked := typical * (3 + 5*r.Float64())
		// The name has no digit: brokers take digits for the number of a run.
		known[k] = application{fmt.Sprintf("app-%c", 'a'+k), typical, max(1, int(math.Ceil(asked/60)))}
	}
	jobs := make([]job, n)
	var work float64 // seconds of the whole site
	for i := range jobs {
		a := known[r.IntN(applications)]
		run := a.typical * (0.8 + 0.45*r.Float64())
		jobs[i] = job{
			site: site, application: a.name, cores: drawCores(r, c.size()), minutes: a.minutes,
			run: time.Duration(run*10) * (time.Second / 10),
		}
		work += jobs[i].run.Seconds() * float64(jobs[i].cores) / float64(c.size())
	}
	gap := max(work/overload/float64(max(n, 1))-least.Seconds(), 0)
	var at float64
	for i := range jobs {
		jobs[i].at = time.Duration(at * float64(time.Second))
		at += least.Seconds() + gap*r.ExpFloat64()
	}
	return jobs
}

func drawCores(r *rand.Rand, size int) int {
	switch p := r.Float64(); {
	case p < 0.60:
		return 1 + r.IntN(max(size/4, 1))
	case p < 0.85:
		return 1 + r.IntN(max(size/2, 1))
	case p < 0.95:
		return 1 + r.IntN(size)
	}
	return size
}
