package agent

import (
	"os"
	"strings"
	"time"
)

// Scripted is an owner whose doings stand in a file: free, active, battery or paused. Without the file nobody sits here.
type Scripted string

// Look reads the file.
func (s Scripted) Look(time.Time) Sight {
	data, err := os.ReadFile(string(s))
	if err != nil {
		return Sight{Idle: 1}
	}
	switch strings.TrimSpace(string(data)) {
	case "active":
		return Sight{Active: true}
	case "battery":
		return Sight{Barred: errBattery, Battery: true, Idle: 1}
	case "paused":
		return Sight{Barred: errPause, Paused: true}
	}
	return Sight{Idle: 1}
}
