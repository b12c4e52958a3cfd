//go:build !linux

package agent

import (
	"errors"
	"path/filepath"
	"time"

	"go.uber.org/zap"
)

var errNotHere = errors.New("programs cannot be run on this operating system yet: its Runner is untested and left out")

// Linux says how programs are run where that is known; here it is not.
type Linux struct {
	Supervisor []string
	Account    string
	Apart      bool
	Idle       bool
	Grouped    bool
	Inside     bool
	Logger     *zap.Logger
}

// NewRunner is how programs are run on this system.
func NewRunner(Linux) (Runner, error) { return nil, errNotHere }

func (f Folder) work() string { return filepath.Join(string(f), "work") }
func (f Folder) ctl() string  { return filepath.Join(string(f), "ctl") }

type noSenses struct{}

// NewSenses are those of this computer: none, which counts as an owner who is always there.
func NewSenses() Senses { return noSenses{} }

func (noSenses) Touched() (uint64, bool) { return 0, false }
func (noSenses) Idle() (bool, bool)      { return false, true }
func (noSenses) Load() float64           { return 1 }
func (noSenses) Spare() (float64, bool)  { return 0, true }
func (noSenses) OnBattery() bool         { return true }

var born = time.Now()

// ProcessorTime is, for want of better, the time since this process began.
func ProcessorTime() time.Duration { return time.Since(born) }

// Capacity is not known here.
func Capacity(string) (memory, disk int64) { return 0, 0 }
