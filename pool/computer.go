package pool

import (
	"fmt"
	"slices"

	"gbroker/grid"
)

// Computer is one of a pool.
type Computer struct {
	Name                 string
	Architecture, System string // in JSDL's words
	Cores                int32
	Memory, Disk         int64    // bytes
	Speed                float64  // of one core, relative to the reference
	Users                []string // whom its owner admits; nil is everybody
	Dedicated            bool     // it has no owner
	Forecast             Forecast
	Free                 grid.Tick // when its present job will have ended; 0, or what is past, is free
	// PerCore are its cores where it runs several jobs at a time: when each comes free, the first first, and Free is the first of them.
	// nil runs one job at a time. Tenant is whose jobs it runs then: others wait until all cores are free.
	PerCore []grid.Tick
	Tenant  string
}

// Platform is what a checkpoint that was written on a computer needs of another.
func (c *Computer) Platform() string { return c.Architecture + "/" + c.System }

// Job is one that asks for a computer.
type Job struct {
	Name                 string
	User                 string  // "" is not known: no owner leaves it out for that
	Work                 float64 // seconds of the reference processor that are left
	Architecture, System string  // "" takes any
	Cores                int32
	Memory, Disk         int64     // bytes; 0 asks for none
	LeastSpeed           float64   // 0 takes any
	Deadline             grid.Tick // 0 is none
	Priority             int32     // higher goes first
	Arrival              grid.Tick
	Rerunnable           bool // it may be started again from its beginning
	Checkpoints          bool // it may be stopped, and goes on from its checkpoint
	Twice                bool // it may run on several computers at once: the first end counts
	Whole                bool // nobody else runs on its computer meanwhile
	// Suits tells, by its name, whether a computer has what else the job asks for; nil is that each has.
	Suits     func(computer string) bool
	NotBefore grid.Tick // in a plan it begins no sooner
}

// Cause is why a computer cannot run a job, or why a pool refuses one.
type Cause string

// Causes, in the order in which they are looked at.
const (
	NoArchitecture Cause = "architecture"
	NoSystem       Cause = "system"
	NoUser         Cause = "user"
	NoCores        Cause = "cores"
	NoMemory       Cause = "memory"
	NoDisk         Cause = "disk"
	NoSpeed        Cause = "speed"
	NoRest         Cause = "rest"
	NoTime         Cause = "deadline"
)

// Lacks is what c lacks for a job; "" if it can run it.
func (c *Computer) Lacks(j *Job) Cause {
	switch {
	case j.Architecture != "" && j.Architecture != c.Architecture:
		return NoArchitecture
	case j.System != "" && j.System != c.System:
		return NoSystem
	case c.Users != nil && j.User != "" && !slices.Contains(c.Users, j.User):
		return NoUser
	case j.Cores > c.Cores:
		return NoCores
	case j.Memory > c.Memory:
		return NoMemory
	case j.Disk > c.Disk:
		return NoDisk
	case j.LeastSpeed > c.Speed:
		return NoSpeed
	case j.Suits != nil && !j.Suits(c.Name):
		return NoRest
	}
	return ""
}

// ask says what of a job a cause is about.
func (j *Job) ask(c Cause) string {
	const gib = 1 << 30
	switch c {
	case NoArchitecture:
		return "has the architecture " + j.Architecture
	case NoSystem:
		return "runs the system " + j.System
	case NoUser:
		return fmt.Sprintf("admits the user %q", j.User)
	case NoCores:
		return fmt.Sprintf("has %d cores", j.Cores)
	case NoMemory:
		return fmt.Sprintf("has %.4g GiB of memory", float64(j.Memory)/gib)
	case NoDisk:
		return fmt.Sprintf("has %.4g GiB of disk", float64(j.Disk)/gib)
	case NoSpeed:
		return fmt.Sprintf("has the speed %.4g", j.LeastSpeed)
	case NoRest:
		return "has, and gives its user, all else that it asks for"
	}
	return "is free in time"
}
