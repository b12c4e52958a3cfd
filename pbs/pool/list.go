package pool

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
	desks "gbroker/pool"
)

// Listed is a computer with its name, and what is expected of one of its cores.
type Listed struct {
	Name       string
	Registered bool // its agent has run: what it is, is known
	line.Computer
	Forecast desks.Forecast
	Seen     grid.Tick // of the last four weeks, how long the pool watched it
}

// List gives the computers that have joined a pool, by their names. It may be called while the pool runs.
func List(config Config) (list []Listed, err error) {
	config = config.WithDefaults()
	names, err := joined(config.Spool)
	if err != nil {
		return nil, err
	}
	now := control.Now()
	for _, name := range names {
		l := Listed{Name: name}
		data, err := os.ReadFile(filepath.Join(config.Spool, computersFolder, name+recordSuffix))
		if errors.Is(err, os.ErrNotExist) {
			list = append(list, l)
			continue
		}
		if err == nil {
			err = json.Unmarshal(data, &l.Computer)
		}
		if err != nil {
			return nil, fmt.Errorf("reading computer %s of the pool: %w", name, err)
		}
		if l.Forecast, l.Seen, err = foresee(filepath.Join(config.Spool, tapesFolder, name), &l.Computer, config.Presume, now); err != nil {
			return nil, err
		}
		l.Registered = true
		list = append(list, l)
	}
	return list, nil
}

// joined are the names of the computers of a pool: of those that have a certificate, and of those that have registered by one that an older pool gave.
func joined(spool string) (names []string, err error) {
	for _, folder := range []string{namesFolder, computersFolder} {
		list, err := os.ReadDir(filepath.Join(spool, folder))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("reading the computers of the pool: %w", err)
		}
		for _, n := range list {
			name := n.Name()
			if folder == computersFolder {
				name, _ = strings.CutSuffix(name, recordSuffix)
			}
			if grid.CheckName(name) == nil && !isRevoked(spool, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
