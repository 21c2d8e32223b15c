package subprocess

import "den/internal/place/provider/children"

// started are the shims that this process started, through whichever Provider:
// children are a process's.
var started children.Set
