package core

import _ "runtime/debug"
