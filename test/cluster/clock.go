package cluster

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// A daemon asks the kernel's page in its own address space (the vDSO) for the time. One with a clock of its own finds other code there,
// which does the system call and adds what is in a cell behind it to the seconds of the wall clock. The monotonic clock stays as it is, and
// so do the clocks of its jobs.
var clockCode = []byte{
	0xb8, 228, 0, 0, 0, // mov eax, clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi: is it the wall clock?
	0x75, 0x0a, // jne out
	0x48, 0x8b, 0x0d, 6, 0, 0, 0, // mov rcx, [cell]
	0x48, 0x01, 0x0e, // add [rsi], rcx
	0xc3, // out: ret
	0, 0, // and behind it the cell
}

const (
	clockRoom = 8  // of the cell
	vdsoEntry = 33 // of the auxiliary vector: AT_SYSINFO_EHDR
	vdsoSize  = 8192
)

// Clocks tells why daemons can have no clocks of their own here, if so: another processor, or a kernel whose code for that is shorter.
var Clocks = sync.OnceValue(func() error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return errors.New("daemons have clocks of their own on Linux with amd64 alone")
	}
	_, err := clockOf(os.Getpid())
	return err
})

// giveClock gives a process that has just begun, and is stopped and traced by this thread, a clock of its own, and lets it go.
func giveClock(pid int, ahead time.Duration) (cell int64, err error) {
	if err := Clocks(); err != nil {
		return 0, err
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		return 0, fmt.Errorf("the daemon did not stop at its beginning: %v, %w", status, err)
	}
	at, err := clockOf(pid)
	if err == nil {
		_, err = syscall.PtracePokeData(pid, uintptr(at), append(bytes.Clone(clockCode), clockValue(ahead)...))
	}
	return at + int64(len(clockCode)), errors.Join(err, syscall.PtraceDetach(pid))
}

// clockOf is where a process asks for the time.
func clockOf(pid int) (int64, error) {
	vector, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return 0, err
	}
	for ; len(vector) >= 16; vector = vector[16:] {
		if binary.LittleEndian.Uint64(vector) != vdsoEntry {
			continue
		}
		base := binary.LittleEndian.Uint64(vector[8:])
		memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			return 0, fmt.Errorf("reading the vDSO: %w", err)
		}
		defer memory.Close()
		page := make([]byte, vdsoSize)
		if _, err := memory.ReadAt(page, int64(base)); err != nil {
			return 0, fmt.Errorf("reading the vDSO: %w", err)
		}
		file, err := elf.NewFile(bytes.NewReader(page))
		if err != nil {
			return 0, fmt.Errorf("reading the vDSO: %w", err)
		}
		symbols, err := file.DynamicSymbols()
		for _, s := range symbols {
			if s.Name == "__vdso_clock_gettime" && s.Size >= uint64(len(clockCode)+clockRoom) {
				return int64(base + s.Value), nil
			}
		}
		return 0, fmt.Errorf("the vDSO has no clock_gettime with room for another: %w", err)
	}
	return 0, errors.New("this process has no vDSO")
}

// SetClock sets the wall clock of a running daemon with OwnClock so far ahead of this machine's, in whole seconds.
func (s *Site) SetClock(ahead time.Duration) error {
	if s.clockCell == 0 {
		return fmt.Errorf("the daemon of %s was not started with a clock of its own", s.Name)
	}
	memory, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", s.PID()), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("setting the clock of %s: %w", s.Name, err)
	}
	defer memory.Close()
	_, err = memory.WriteAt(clockValue(ahead), s.clockCell)
	return err
}

// clockValue is what the cell holds.
func clockValue(ahead time.Duration) []byte {
	return binary.LittleEndian.AppendUint64(nil, uint64(int64(ahead/time.Second)))
}
