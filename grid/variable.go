package grid

import "strings"

// Variables of its environment that a job may set: by which it asks something of a pool of desktops, or is told how it runs.
const (
	// CheckpointVariable says that the job writes a checkpoint, and which file or folder that is, relative to its sandbox.
	CheckpointVariable = "GBROKER_CHECKPOINT"
	// ConfigurationVariable is the name of the configuration in which a task of a workflow runs.
	ConfigurationVariable = "GBROKER_CONFIGURATION"
	// TwiceVariable says, with any value but "" and "0", that the job may run on several computers of a pool at once, of which the first to end it counts.
	TwiceVariable = "GBROKER_TWICE"
	// NetworkVariable asks for the network, with any value but "" and "0".
	NetworkVariable = "GBROKER_NETWORK"
)

// ReservedPrefix is how the broker's own variables begin.
const ReservedPrefix = "GBROKER_"

// IsReserved tells that a job may not set a variable itself.
func IsReserved(variable string) bool {
	return strings.HasPrefix(variable, ReservedPrefix) && variable != CheckpointVariable && variable != TwiceVariable && variable != NetworkVariable && variable != ConfigurationVariable
}
