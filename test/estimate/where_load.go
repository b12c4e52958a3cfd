package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// whereMix tells how the load of the other measurement is drawn, for people.
const whereMix = "half of the work is local: sbatch gets it at its site, and no broker is asked; the other half is handed to the broker of a site drawn by chance. " +
	"Applications, run times, requests and cores as above, of a site of 8 cores for what brokers get; " +
	"gaps are exponential, and all together bring 0.8 times the work that the sites can do"

const (
	whereLoad = 0.8
	// warm is the part of the jobs that comes before those that are judged: of a history that is
	// empty no spread can be told.
	warm = 0.3
)

// drawWhere makes the load of a seed: so many jobs for brokers, and local ones beside.
func drawWhere(seed uint64, jobs int) (all []job) {
	capacity, work := 0, 0.0 // cores, and seconds of one
	for i, c := range clusters {
		capacity += c.size()
		r := rand.New(rand.NewPCG(seed, uint64(100+i)))
		size := cluster{c.name, 1, 8}
		n := jobs / len(clusters)
		if i < jobs%len(clusters) {
			n++
		}
		for _, j := range drawSite(r, i, size, n) {
			work += j.work()
			all = append(all, j)
		}
	}
	span := 2 * work / (whereLoad * float64(capacity)) // seconds in which all come; as much again is local
	r := rand.New(rand.NewPCG(seed, 99))
	for i := range all {
		all[i].at = seconds(span * r.Float64())
	}
	for i, c := range clusters {
		r := rand.New(rand.NewPCG(seed, uint64(200+i)))
		wanted := whereLoad / 2 * span * float64(c.size())
		for had := 0.0; had < wanted; {
			for _, j := range drawSite(r, i, c, 1) {
				j.local, j.at = true, seconds(span*r.Float64())
				had += j.work()
				all = append(all, j)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b job) int { return int(a.at - b.at) })
	return all
}

func (j job) work() float64 { return j.run.Seconds() * float64(j.cores) }

func seconds(s float64) time.Duration { return time.Duration(math.Round(s*1000)) * time.Millisecond }
