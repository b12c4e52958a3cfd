package grid

import (
	"fmt"
	"slices"
)

// LimitName is one limit of a process.
type LimitName string

// Limits of each process of a program, as setrlimit(2) has them: in bytes, but for counts and seconds.
const (
	LimitCore     LimitName = "core"    // size of a core file
	LimitCPU      LimitName = "cpu"     // seconds of processor time
	LimitData     LimitName = "data"    // data segment
	LimitFile     LimitName = "file"    // size of a file that is written
	LimitFiles    LimitName = "files"   // open files, a count
	LimitLocked   LimitName = "locked"  // locked memory
	LimitMemory   LimitName = "memory"  // memory of its own: data, heap and private mappings
	LimitStack    LimitName = "stack"   // stack
	LimitThreads  LimitName = "threads" // processes and threads of its user at that node, a count
	LimitVirtual  LimitName = "virtual" // address space
	MaxLimitValue           = int64(1) << 60
)

// LimitNames are all of them, in the order in which a program has them.
var LimitNames = []LimitName{
	LimitCore, LimitCPU, LimitData, LimitFile, LimitFiles, LimitLocked, LimitMemory, LimitStack, LimitThreads, LimitVirtual,
}

// Limit caps each process of a program; a value of 0 is a limit too.
type Limit struct {
	Name  LimitName
	Value int64
}

// Limit is the value of a limit of the program, and whether it has that limit.
func (p *Program) Limit(name LimitName) (value int64, has bool) {
	for _, l := range p.Limits {
		if l.Name == name {
			return l.Value, true
		}
	}
	return 0, false
}

// SetLimit gives the program a limit, in the place of one of that name.
func (p *Program) SetLimit(name LimitName, value int64) {
	i, has := slices.BinarySearchFunc(p.Limits, name, func(l Limit, name LimitName) int {
		return slices.Index(LimitNames, l.Name) - slices.Index(LimitNames, name)
	})
	if has {
		p.Limits = slices.Delete(slices.Clone(p.Limits), i, i+1)
	}
	p.Limits = slices.Insert(slices.Clone(p.Limits), i, Limit{name, value})
}

// CheckLimits says why a list is none of limits: one is unknown, out of range, or out of the
// order of LimitNames, in which each stands once at most.
func CheckLimits(list []Limit) error {
	last := -1
	for _, l := range list {
		i := slices.Index(LimitNames, l.Name)
		switch {
		case i < 0:
			return fmt.Errorf("%.40q is no limit of a process: use one of %v", string(l.Name), LimitNames)
		case i <= last:
			return fmt.Errorf("the limit %s does not follow %s: each once, in the order of their names", l.Name, LimitNames[last])
		case l.Value < 0 || l.Value > MaxLimitValue || l.Name == LimitMemory && (l.Value == 0 || l.Value > MaxMemory):
			return fmt.Errorf("the limit %s is %d, which is out of range", l.Name, l.Value)
		}
		last = i
	}
	return nil
}
