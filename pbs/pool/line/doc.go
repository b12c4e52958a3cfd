// Package line is what a pool of desktops and the agents on its computers say to each other. Agents
// open all connections; a pool never does.
package line
