// Package faults is pure, and runs what is not.
package faults

import _ "broken/broker"
