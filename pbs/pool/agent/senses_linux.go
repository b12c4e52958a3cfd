package agent

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// linuxSenses read /proc, /sys and what logind keeps in /run.
type linuxSenses struct {
	interrupts, loadavg, sessions, power, stat string
	spare, all                                 uint64 // processor time when Spare was last asked
}

// NewSenses are those of this computer.
func NewSenses() Senses {
	return &linuxSenses{
		interrupts: "/proc/interrupts", loadavg: "/proc/loadavg", sessions: "/run/systemd/sessions", power: "/sys/class/power_supply", stat: "/proc/stat",
	}
}

// inputs are words by which a line of /proc/interrupts is of an input device.
var inputs = []string{"i8042", "keyboard", "mouse", "usbhid", "i2c_hid", "elan", "synaptics", "touch"}

// Touched adds up the interrupts of input devices.
func (l *linuxSenses) Touched() (count uint64, ok bool) {
	data, err := os.ReadFile(l.interrupts)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(data)) {
		lower := strings.ToLower(line)
		of := false
		for _, word := range inputs {
			of = of || strings.Contains(lower, word)
		}
		if !of {
			continue
		}
		for _, f := range strings.Fields(line)[1:] {
			n, err := strconv.ParseUint(f, 10, 64)
			if err != nil {
				break
			}
			count, ok = count+n, true
		}
	}
	return count, ok
}

// Idle reads the idle hints of the sessions of logind: nobody is there if all say so.
func (l *linuxSenses) Idle() (idle, ok bool) {
	names, err := filepath.Glob(filepath.Join(l.sessions, "*"))
	if err != nil {
		return false, false
	}
	idle = true
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil || bytes.Contains(data, []byte("CLASS=manager")) || !bytes.Contains(data, []byte("STATE=active")) {
			continue
		}
		for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
			switch lines.Text() {
			case "IDLE_HINT=0":
				idle, ok = false, true
			case "IDLE_HINT=1":
				ok = true
			}
		}
	}
	return idle, ok
}

// Load is the load average of the last minute; the pool's own jobs count, so the owner's limit lies above.
func (l *linuxSenses) Load() float64 {
	data, err := os.ReadFile(l.loadavg)
	if err != nil {
		return 0
	}
	word, _, _ := strings.Cut(string(data), " ")
	n, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return 0
	}
	return n / float64(runtime.NumCPU())
}

// Spare counts what was idle, waited for a disk, or was used by who gives way to others, as jobs of the pool do.
func (l *linuxSenses) Spare() (part float64, ok bool) {
	data, err := os.ReadFile(l.stat)
	if err != nil {
		return 0, false
	}
	first, _, _ := strings.Cut(string(data), "\n")
	var spare, all uint64
	for i, f := range strings.Fields(first) {
		if n, err := strconv.ParseUint(f, 10, 64); err == nil && i <= 8 { // what guests use is in user and nice already
			all += n
			if i == 2 || i == 4 || i == 5 { // nice, idle, iowait
				spare += n
			}
		}
	}
	part = float64(spare-l.spare) / float64(all-l.all)
	ok = all > l.all && l.all > 0 && spare >= l.spare
	if all > l.all {
		l.spare, l.all = spare, all
	}
	return part, ok
}

// OnBattery tells that a battery discharges.
func (l *linuxSenses) OnBattery() bool {
	names, _ := filepath.Glob(filepath.Join(l.power, "*", "status"))
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && strings.TrimSpace(string(data)) == "Discharging" {
			return true
		}
	}
	return false
}

// ProcessorTime is what this process has used.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Capacity is the memory of this computer and the disk that is free in a folder, bytes.
func Capacity(dir string) (memory, disk int64) {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) == nil {
		memory = int64(info.Totalram) * int64(info.Unit)
	}
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) == nil {
		disk = int64(st.Bavail) * st.Bsize
	}
	return memory, disk
}
