package supervise

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// flavour is an implementation of MPI.
type flavour struct {
	name       string
	marks      []string // of them one is in what mpirun --version says
	variations []string // what a document may call it, in lower case
	starters   []string // names of the command, in the order of search
}

var flavours = []flavour{
	{"Open MPI", []string{"Open MPI", "OpenRTE", "PRRTE"}, []string{"openmpi", "open-mpi"}, []string{"mpirun.openmpi", "mpirun"}},
	{"MPICH", []string{"HYDRA", "MPICH"}, []string{"mpich", "mpich1", "mpich2", "mpich3", "mpich4"}, []string{"mpirun.mpich", "mpirun"}},
	{"Intel MPI", []string{"Intel(R) MPI"}, []string{"intelmpi", "intel-mpi"}, []string{"mpirun"}},
}

var anyMPI = flavour{name: "MPI", variations: []string{"mpi"}, starters: []string{"mpirun", "mpirun.openmpi", "mpirun.mpich"}}

// versionTime bounds mpirun --version.
const versionTime = 10 * time.Second

// starter is the command line that starts the program in parallel, up to the program.
func (s *Spec) starter() ([]string, error) {
	wanted, err := s.wantedFlavour()
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range wanted.starters {
		full := s.lookUp(name)
		if full == "" {
			continue
		}
		is, err := identify(full)
		if err != nil {
			found = append(found, err.Error())
			continue
		}
		if wanted.name != anyMPI.name && is.name != wanted.name {
			found = append(found, fmt.Sprintf("%s is %s", full, is.name))
			continue
		}
		return is.command(full, max(s.Demand.Processes(), 1)), nil
	}
	why := "it is on none of the folders of PATH=" + s.Path
	if len(found) > 0 {
		why = strings.Join(found, "; ")
	}
	return nil, fmt.Errorf("mpirun is not installed at site %s: the job asks for %s, and %s", s.Site, s.Program.Parallel, why)
}

func (s *Spec) wantedFlavour() (flavour, error) {
	word := strings.ToLower(s.Program.Parallel)
	for _, f := range append([]flavour{anyMPI}, flavours...) {
		if slices.Contains(f.variations, word) {
			return f, nil
		}
	}
	return flavour{}, fmt.Errorf("site %s cannot run %q programs: it knows MPI, OpenMPI, MPICH and IntelMPI", s.Site, s.Program.Parallel)
}

// lookUp is the full path of a command on the site's PATH, or "".
func (s *Spec) lookUp(name string) string {
	for _, dir := range strings.Split(s.Path, ":") {
		if full := path.Join(dir, name); path.IsAbs(dir) && executable(full) == nil {
			return full
		}
	}
	return ""
}

func (f flavour) command(full string, processes int) []string {
	argv := []string{full}
	if f.name == "Open MPI" {
		// Declared cores may exceed the real ones.
		argv = append(argv, "--oversubscribe")
		if os.Geteuid() == 0 {
			argv = append(argv, "--allow-run-as-root")
		}
	}
	return append(argv, "-n", strconv.Itoa(processes))
}

// identify asks a command for its version.
func identify(full string) (flavour, error) {
	said, err := versionOf(full)
	if err != nil {
		return flavour{}, fmt.Errorf("%s --version: %w", full, err)
	}
	for _, f := range flavours {
		if slices.ContainsFunc(f.marks, func(mark string) bool { return strings.Contains(said, mark) }) {
			return f, nil
		}
	}
	return flavour{}, fmt.Errorf("%s is no MPI that is known here: it says %.80q", full, said)
}

func versionOf(full string) (string, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return "", errors.Join(err, w.Close())
	}
	defer null.Close()
	p, err := os.StartProcess(full, []string{full, "--version"}, &os.ProcAttr{
		Files: []*os.File{null, w, w}, Env: os.Environ(),
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	w.Close()
	if err != nil {
		return "", err
	}
	r.SetReadDeadline(time.Now().Add(versionTime))
	said, err := io.ReadAll(io.LimitReader(r, 64<<10))
	syscall.Kill(-p.Pid, syscall.SIGKILL)
	p.Wait()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "", fmt.Errorf("no answer in %v", versionTime)
	}
	return string(said), err
}
