package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gbroker/pbs/pool/line"
)

// Rules are what the owner of a computer allows.
type Rules struct {
	From, To int           // hours of the day, 0 to 24, between which jobs may run; equal: always. It may go over midnight
	Quiet    time.Duration // after the owner's last activity jobs wait so long
	Load     float64       // of others, for each core, above which jobs wait; 0 is any
	Battery  bool          // jobs may run on battery
}

// Senses are what can be seen of the owner. It is what differs between operating systems; nothing of what
// is typed is among it.
type Senses interface {
	// Touched is a number that changes with each touch of keyboard or mouse.
	Touched() (count uint64, ok bool)
	// Idle tells that the desktop says that nobody is there.
	Idle() (idle, ok bool)
	// Load is the number of processes that want to run, jobs of the pool too, for each core.
	Load() float64
	// Spare is the part of the processors that nobody but jobs of the pool used since it was last asked.
	Spare() (part float64, ok bool)
	// OnBattery tells that there is no other power.
	OnBattery() bool
}

// Desk is the owner of a computer, as the senses show and the rules allow.
type Desk struct {
	Senses Senses
	Rules  Rules
	Pause  string // the file that is there while the owner says pause

	count uint64
	begun bool
	last  time.Time // of activity
}

// Look is asked a few times in a second.
func (d *Desk) Look(now time.Time) Sight {
	s := Sight{Idle: 1}
	if count, ok := d.Senses.Touched(); ok {
		if d.begun && count != d.count {
			d.last = now
		}
		d.count, d.begun = count, true
	}
	if idle, ok := d.Senses.Idle(); ok && !idle {
		d.last = now
	}
	if d.Rules.Load > 0 && d.Senses.Load() > d.Rules.Load {
		d.last = now
	}
	if part, ok := d.Senses.Spare(); ok {
		s.Idle = max(0, min(1, part))
	}
	s.Battery = d.Senses.OnBattery()
	s.Active = !d.last.IsZero() && now.Sub(d.last) < d.Rules.Quiet
	s.Barred = d.barred(now, s.Battery)
	if _, err := os.Stat(d.Pause); !errors.Is(err, fs.ErrNotExist) {
		s.Barred, s.Paused = errPause, true
	}
	return s
}

// What bars jobs from a computer, beside the hours.
var (
	errBattery = errors.New("it runs on battery")
	errPause   = errors.New("its owner said pause")
)

func (d *Desk) barred(now time.Time, battery bool) error {
	r := d.Rules
	switch {
	case !r.in(now.Hour()):
		return fmt.Errorf("its owner gives the hours from %d to %d", r.From, r.To)
	case !r.Battery && battery:
		return errBattery
	}
	return nil
}

func (r *Rules) in(hour int) bool {
	return r.From == r.To || r.From < r.To && hour >= r.From && hour < r.To || r.From > r.To && (hour >= r.From || hour < r.To)
}

// Policy is what the pool is told of the rules, by the clock of this computer.
func (r *Rules) Policy(now time.Time) line.Policy {
	_, offset := now.Zone()
	p := line.Policy{Battery: r.Battery, Offset: int64(offset) * 1000}
	for hour := range 24 {
		if r.in(hour) {
			p.Hours |= 1 << hour
		}
	}
	return p
}

// PauseFile is there while the owner of an agent's computer says pause.
func PauseFile(dir string) string { return filepath.Join(dir, "paused") }

// State is what an agent tells its owner.
type State struct {
	At           time.Time
	Pool         string
	Connected    bool
	Availability line.Availability
	Why          string
	Jobs         []line.Report
}

func stateFile(dir string) string { return filepath.Join(dir, "state.json") }

// tell keeps the state for the owner.
func (a *Agent) tell(s State) {
	s.At, s.Pool = time.Now(), a.client.base
	data, err := json.Marshal(s)
	if err == nil {
		name := stateFile(a.config.Dir)
		if err = os.WriteFile(name+".tmp", data, 0o644); err == nil {
			err = os.Rename(name+".tmp", name)
		}
	}
	if err != nil {
		a.log.Sugar().Warnf("the owner is not told: %v", err)
	}
}

// ReadState is what the agent of a folder told last.
func ReadState(dir string) (s State, err error) {
	data, err := os.ReadFile(stateFile(dir))
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return s, fmt.Errorf("reading what the agent of %s does: %w", dir, err)
	}
	return s, nil
}
