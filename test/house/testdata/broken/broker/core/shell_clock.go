package core

import clock "time"

// What is called a shell is no less in a pure package; nor does another name of an import hide it.
var now = clock.Now
